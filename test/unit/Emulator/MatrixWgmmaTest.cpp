// wgmma forms beyond dense products from descriptors, which GemmTest and Units/WgmmaTest have:
// sparse A, single bits, A in registers, transposes; and descriptors that are wrong.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MatrixHarness.h"

#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

/// Bytes of shared memory that start at a multiple of 1024, and how the kernel names them.
struct SharedBytes {
  std::vector<uint32_t> words;
  void put(uint32_t byte, uint32_t bitOffset, uint64_t value) {
    const size_t word = byte / 4;
    if (words.size() <= word)
      words.resize(word + 1);
    words[word] |= static_cast<uint32_t>(value) << (byte % 4 * 8 + bitOffset);
  }
};

/// Without a swizzle (PTX ISA 9.0, 9.7.15.5.1.2.1.3): byte of element (row of M or N, column of K).
uint32_t canonical(uint32_t row, uint32_t column, uint32_t bits, bool transposed, uint32_t leading,
                   uint32_t stride) {
  const uint32_t perGranule = 128 / bits;
  if (transposed)
    return row % 8 * 2 + row / 8 * stride + column % 8 * 16 + column / 8 * leading;
  return row % 8 * 16 + row / 8 * stride + column % perGranule * bits / 8 +
         column / perGranule * leading;
}

struct Case {
  std::string a, b, d;
  uint32_t k = 0;
  bool sparse = false, aRegisters = false, transposeA = false, transposeB = false;
  std::string modifiers = {};
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (bool registers : {false, true}) {
    for (bool transpose : {false, true})
      for (const char *type : {"f16", "bf16"}) {
        all.push_back({type, type, "f32", 32, true, registers, transpose && !registers, transpose});
        all.push_back(
            {type, type, "f32", 16, false, registers, transpose && !registers, transpose});
      }
    all.push_back({"f16", "f16", "f16", 32, true, registers});
    all.push_back({"f16", "f16", "f16", 16, false, registers});
    all.push_back({"tf32", "tf32", "f32", 16, true, registers});
    all.push_back({"tf32", "tf32", "f32", 8, false, registers});
    for (const char *d : {"f32", "f16"})
      for (bool sparse : {false, true}) {
        all.push_back({"e4m3", "e5m2", d, sparse ? 64u : 32u, sparse, registers});
        all.push_back({"e5m2", "e5m2", d, sparse ? 64u : 32u, sparse, registers});
      }
    for (bool sparse : {false, true}) {
      all.push_back({"s8", "u8", "s32", sparse ? 64u : 32u, sparse, registers});
      all.push_back(
          {"u8", "s8", "s32", sparse ? 64u : 32u, sparse, registers, false, false, ".satfinite"});
    }
    all.push_back({"b1", "b1", "s32", 256, false, registers});
  }
  return all;
}

/// One wgmma of a warpgroup. Descriptors: low 14 bits are added to the address of the bytes.
Ran runWgmma(const std::string &mnemonic, const std::string &afterDescriptors,
             const SharedBytes &shared, uint64_t descriptorA, uint64_t descriptorB,
             const std::vector<uint32_t> &aAndMetadata, bool aRegisters, uint32_t registers,
             Numerics numerics, std::vector<uint32_t> *initial = nullptr) {
  KernelSetup setup;
  setup.block = 128;
  setup.numerics = numerics;
  const uint32_t sharedWords = static_cast<uint32_t>((shared.words.size() + 127) / 128 * 128);
  setup.data = shared.words;
  setup.data.resize(sharedWords);
  setup.data.insert(setup.data.end(), aAndMetadata.begin(), aAndMetadata.end()); // 5 x 128 words
  const uint32_t at = static_cast<uint32_t>(setup.data.size());
  setup.data.resize(at + registers * 128);
  if (initial)
    std::copy(initial->begin(), initial->end(), setup.data.begin() + at);
  const std::string size = std::to_string(std::max<uint32_t>(4 * sharedWords, 1024));
  setup.module = ".shared .align 1024 .b8 buf[" + size + "];";
  std::string body = "mul.wide.u32 %rd11, %r0, 4; add.s64 %rd11, %rd11, %rd0; mov.u32 %r10, buf; "
                     "shl.b32 %r11, %r0, 2; add.u32 %r11, %r11, %r10;\n";
  for (uint32_t word = 0; word < sharedWords; word += 128)
    body += "ld.global.u32 %r12, [%rd11+" + std::to_string(4 * word) + "]; st.shared.u32 [%r11+" +
            std::to_string(4 * word) + "], %r12;\n";
  body += ".reg .b32 a<5>; .reg .b32 d<" + std::to_string(registers) + ">;\n";
  for (uint32_t i = 0; i < 5; ++i)
    body += "ld.global.u32 a" + std::to_string(i) + ", [%rd11+" +
            std::to_string(4 * (sharedWords + 128 * i)) + "];\n";
  for (uint32_t r = 0; r < registers; ++r)
    body += "ld.global.u32 d" + std::to_string(r) + ", [%rd11+" +
            std::to_string(4 * (at + 128 * r)) + "];\n";
  body += "fence.proxy.async; bar.sync 0; shr.u32 %r13, %r10, 4; cvt.u64.u32 %rd13, %r13; add.s64 "
          "%rd14, %rd13, " +
          std::to_string(static_cast<int64_t>(descriptorA)) + "; add.s64 %rd15, %rd13, " +
          std::to_string(static_cast<int64_t>(descriptorB)) +
          "; setp.eq.u32 %p1, %r10, %r10; wgmma.fence.sync.aligned;\n" + mnemonic + " " +
          vectorOf("d", registers) + ", " + (aRegisters ? "{a0, a1, a2, a3}" : "%rd14") +
          ", %rd15, " + afterDescriptors +
          ";\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n";
  for (uint32_t r = 0; r < registers; ++r)
    body += "st.global.u32 [%rd11+" + std::to_string(4 * (at + 128 * r)) + "], d" +
            std::to_string(r) + ";\n";
  Ran ran = run(body, setup);
  ran.out.erase(ran.out.begin(), ran.out.begin() + at);
  return ran;
}

class WgmmaForms : public testing::TestWithParam<size_t> {};
TEST_P(WgmmaForms, IntegersAreExact) {
  const Case test = cases()[GetParam()];
  const uint32_t bits = bitsOf(test.a), bitsD = bitsOf(test.d);
  std::mt19937 random(static_cast<unsigned>(GetParam()) + 11);
  const uint32_t selectors = test.sparse && bits > 8 ? 2 : 1;
  for (uint32_t n : {8u, 32u, 144u})
    for (uint32_t selector = 0; selector < selectors; ++selector) {
      Matrix a(64, test.k), b(test.k, n), c(64, n);
      b.fill(test.b, random);
      c.fill("s32", random);
      // Stored elements of A and four-bit groups; of a dense A everything is stored.
      const uint32_t storedK = test.sparse ? test.k / 2 : test.k;
      std::vector<std::vector<uint32_t>> columns(64), groups(64);
      for (uint32_t row = 0; row < 64; ++row)
        for (uint32_t first = 0; first < test.k; first += bits == 32 ? 2 : 4) {
          uint32_t i0 = random() % 3, i1 = i0 + 1 + random() % (3 - i0);
          if (!test.sparse) {
            for (uint32_t i = 0; i < (bits == 32 ? 2u : 4u); ++i)
              columns[row].push_back(first + i);
          } else if (bits == 32) {
            columns[row].push_back(first + i0 % 2);
            groups[row].push_back(i0 % 2 ? 0b1110 : 0b0100);
          } else {
            columns[row].push_back(first + i0);
            columns[row].push_back(first + i1);
            groups[row].push_back(i0 | i1 << 2);
          }
        }
      for (uint32_t row = 0; row < 64; ++row)
        for (uint32_t column : columns[row])
          a.at(row, column) = smallValue(test.a, random);
      // Shared memory: A, then B.
      SharedBytes shared;
      const uint32_t granules = storedK * bits / 128, startB = 64 * 16 * granules;
      const uint32_t leadingA = test.transposeA ? 128 : 1024, strideA = test.transposeA ? 256 : 128;
      const uint32_t kGroups = test.k / 8;
      const uint32_t leadingB = test.transposeB ? 128 : 16 * n,
                     strideB = test.transposeB ? 128 * kGroups : 128;
      for (uint32_t row = 0; row < 64; ++row)
        for (uint32_t i = 0; i < storedK; ++i)
          shared.put(canonical(row, i, bits, test.transposeA, leadingA, strideA),
                     bits == 1 ? i % 8 : 0, encode(test.a, a.at(row, columns[row][i])));
      for (uint32_t column = 0; column < n; ++column)
        for (uint32_t k = 0; k < test.k; ++k)
          shared.put(startB + canonical(column, k, bits, test.transposeB, leadingB, strideB),
                     bits == 1 ? k % 8 : 0, encode(test.b, b.at(k, column)));
      auto descriptor = [](uint32_t start, uint32_t leading, uint32_t stride) {
        return uint64_t(start >> 4) | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32;
      };
      // Registers of A and the metadata.
      std::vector<uint32_t> registers(5 * 128, 0xeeeeeeee);
      for (uint32_t warp = 0; warp < 4; ++warp)
        for (uint32_t lane = 0; lane < 32; ++lane)
          for (uint32_t r = 0; r < 4; ++r) {
            const uint32_t row = 16 * warp + lane / 4 + 8 * (r % 2), perWord = 32 / bits;
            uint32_t word = 0;
            for (uint32_t i = 0; i < perWord; ++i)
              word |= static_cast<uint32_t>(encode(
                          test.a, a.at(row, columns[row][(lane % 4 + 4 * (r / 2)) * perWord + i])))
                      << bits * i;
            registers[r * 128 + warp * 32 + lane] = word;
          }
      if (test.sparse)
        for (uint32_t row = 0; row < 64; ++row)
          for (uint32_t g = 0; g < groups[row].size(); ++g) {
            // 16-bit and tf32: two lanes, half of a row each; 8-bit: four lanes.
            const uint32_t upper = row % 16 / 8, first = row / 16 * 32 + row % 8 * 4;
            const uint32_t lane =
                bits > 8 ? first + 2 * selector + g / 4 : first + 2 * (g / 8) + upper;
            const uint32_t shift = bits > 8 ? 16 * upper + 4 * (g % 4) : 4 * (g % 8);
            uint32_t &word = registers[4 * 128 + lane];
            word = (word & ~(15u << shift)) | groups[row][g] << shift;
          }
      const uint32_t count = n / (bitsD == 16 ? 4 : 2);
      std::vector<uint32_t> d(count * 128);
      auto element = [&](uint32_t row, uint32_t column) -> std::pair<uint32_t *, uint32_t> {
        const uint32_t thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
        const uint32_t index = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
        return {&d[(bitsD == 16 ? index / 2 : index) * 128 + thread],
                bitsD == 16 ? 16 * (index % 2) : 0};
      };
      for (uint32_t row = 0; row < 64; ++row)
        for (uint32_t column = 0; column < n; ++column) {
          auto [word, shift] = element(row, column);
          *word |= static_cast<uint32_t>(encode(test.d, c.at(row, column))) << shift;
        }
      std::string after = test.sparse ? "a4, " + std::to_string(selector) + ", %p1" : "%p1";
      if (test.d != "s32")
        after += ", 1, 1";
      if (bits == 16) {
        if (!test.aRegisters)
          after += test.transposeA ? ", 1" : ", 0";
        after += test.transposeB ? ", 1" : ", 0";
      }
      const std::string mnemonic = "wgmma.mma_async" + std::string(test.sparse ? ".sp" : "") +
                                   ".sync.aligned.m64n" + std::to_string(n) + "k" +
                                   std::to_string(test.k) + test.modifiers + "." + test.d + "." +
                                   test.a + "." + test.b + (bits == 1 ? ".and.popc" : "");
      Matrix expected = reference(a, b, c, false);
      for (Numerics numerics : {Numerics::Exact, Numerics::Hopper}) {
        std::vector<uint32_t> before = d;
        Ran ran = runWgmma(mnemonic, after, shared, descriptor(0, leadingA, strideA),
                           descriptor(startB, leadingB, strideB), registers, test.aRegisters, count,
                           numerics, &before);
        ASSERT_TRUE(ran.result.clean()) << mnemonic << "\n" << ran.text();
        for (uint32_t row = 0; row < 64; ++row)
          for (uint32_t column = 0; column < n; ++column) {
            auto [word, shift] = element(row, column);
            uint32_t got = ran.out[static_cast<size_t>(word - d.data())] >> shift;
            ASSERT_EQ(decodeResult(test.d, bitsD == 16 ? got & 0xffff : got),
                      expected.at(row, column))
                << mnemonic << (test.aRegisters ? " A in registers " : " ") << row << "," << column;
          }
      }
    }
}
INSTANTIATE_TEST_SUITE_P(All, WgmmaForms, testing::Range(size_t(0), cases().size()));

struct BadDescriptor {
  const char *name;
  uint64_t a, b; ///< added to the start address / 16
  const char *message;
};
TEST(WgmmaDescriptors, EachErrorIsAFinding) {
  SharedBytes shared;
  shared.words.resize(4096 / 4);
  constexpr uint64_t plain = uint64_t(1024 >> 4) << 16 | uint64_t(128 >> 4) << 32;
  constexpr uint64_t plainB =
      uint64_t(2048 >> 4) | uint64_t(128 >> 4) << 16 | uint64_t(128 >> 4) << 32;
  constexpr uint64_t b128 = uint64_t(1) << 62 | uint64_t(1024 >> 4) << 32;
  const std::string mnemonic = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16";
  const std::vector<uint32_t> registers(5 * 128);
  auto with = [&](uint64_t a, uint64_t b) {
    std::vector<uint32_t> zeros(4 * 128);
    return runWgmma(mnemonic, "%p1, 1, 1, 0, 0", shared, a, b, registers, false, 4, Numerics::Exact,
                    &zeros);
  };
  EXPECT_TRUE(with(plain, plainB).result.clean()) << with(plain, plainB).text();
  for (const BadDescriptor &row : {
           BadDescriptor{"reserved bits", plain | uint64_t(1) << 14, plainB, "no meaning"},
           BadDescriptor{"reserved bits of B", plain, plainB | uint64_t(1) << 52, "no meaning"},
           BadDescriptor{"base offset without swizzle", plain | uint64_t(3) << 49, plainB,
                         "without a swizzle it must be 0"},
           BadDescriptor{"base offset of a swizzle", b128 | uint64_t(2) << 49, plainB,
                         "the base offset is 2"},
           BadDescriptor{"crosses a row of the swizzle", b128 + 7, plainB, "must not cross"},
           BadDescriptor{"out of shared memory", plain, plainB + uint64_t(0x3000),
                         "shared memory is"},
           BadDescriptor{"stride out of shared memory", plain + (uint64_t(0x3000) << 32), plainB,
                         "shared memory is"},
       }) {
    Ran ran = with(row.a, row.b);
    EXPECT_TRUE(ran.has("wgmma-descriptor")) << row.name << "\n" << ran.text();
    EXPECT_NE(ran.text().find(row.message), std::string::npos) << row.name << "\n" << ran.text();
    EXPECT_EQ(ran.result.outcome, Outcome::Faulted) << row.name;
  }
}

TEST(WgmmaDescriptors, LanesThatDisagree) {
  Ran ran = run("mov.u32 %r10, buf; shr.u32 %r13, %r10, 4; cvt.u64.u32 %rd13, %r13; cvt.u64.u32 "
                "%rd14, %r0; add.s64 %rd14, %rd14, %rd13; wgmma.fence.sync.aligned; setp.ne.u32 "
                "%p1, %r10, %r10; mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; "
                "mov.f32 %f4, %f1; wgmma.fence.sync.aligned; "
                "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd13, "
                "%rd14, %p1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; "
                "wgmma.wait_group.sync.aligned 0;",
                {.block = 128, .module = ".shared .align 1024 .b8 buf[8192];"});
  EXPECT_TRUE(ran.has("wgmma-mismatch")) << ran.text();
}

TEST(WgmmaSparse, MetadataWithoutMeaning) {
  SharedBytes shared;
  shared.words.resize(8192 / 4);
  constexpr uint64_t a = uint64_t(1024 >> 4) << 16 | uint64_t(128 >> 4) << 32;
  constexpr uint64_t b = uint64_t(2048 >> 4) | uint64_t(128 >> 4) << 16 | uint64_t(128 >> 4) << 32;
  auto with = [&](uint32_t word) {
    std::vector<uint32_t> registers(5 * 128, word), zeros(4 * 128);
    return runWgmma("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16",
                    "a4, 1, %p1, 1, 1, 0, 0", shared, a, b, registers, false, 4, Numerics::Exact,
                    &zeros);
  };
  EXPECT_TRUE(with(0x4949e4d8).result.clean()) << with(0x4949e4d8).text();
  EXPECT_TRUE(with(0x49495444).has("sparse-metadata"));
}

} // namespace
