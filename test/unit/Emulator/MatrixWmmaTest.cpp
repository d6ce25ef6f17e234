// wmma in every shape, type and layout: matrices in memory, loaded, multiplied, stored. Which lane
// holds what does not show, so the expected values are those of the matrices alone.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MatrixHarness.h"

#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

struct Case {
  const char *shape;
  uint32_t m, n, k;
  std::string ab, c, d; ///< types
  const char *op = "";
};

std::vector<Case> cases() {
  std::vector<Case> all;
  struct {
    const char *name;
    uint32_t m, n;
  } const shapes[] = {{"m16n16k16", 16, 16}, {"m8n32k16", 8, 32}, {"m32n8k16", 32, 8}};
  for (const auto &s : shapes) {
    for (const char *c : {"f16", "f32"})
      for (const char *d : {"f16", "f32"})
        all.push_back({s.name, s.m, s.n, 16, "f16", c, d});
    all.push_back({s.name, s.m, s.n, 16, "bf16", "f32", "f32"});
    all.push_back({s.name, s.m, s.n, 16, "s8", "s32", "s32"});
    all.push_back({s.name, s.m, s.n, 16, "u8", "s32", "s32", "satfinite"});
  }
  all.push_back({"m16n16k8", 16, 16, 8, "tf32", "f32", "f32"});
  all.push_back({"m8n8k4", 8, 8, 4, "f64", "f64", "f64"});
  all.push_back({"m8n8k32", 8, 8, 32, "s4", "s32", "s32"});
  all.push_back({"m8n8k32", 8, 8, 32, "u4", "s32", "s32", "satfinite"});
  all.push_back({"m8n8k128", 8, 8, 128, "b1", "s32", "s32", "and"});
  all.push_back({"m8n8k128", 8, 8, 128, "b1", "s32", "s32", "xor"});
  return all;
}

/// Number of registers by PTX ISA 9.0, 9.7.14.4.3, "Matrix fragments for WMMA".
uint32_t registers(const Case &test, char part, const std::string &type) {
  const uint32_t rows = part == 'b' ? test.k : test.m, columns = part == 'a' ? test.k : test.n;
  if (type == "f16" && part != 'c')
    return 8;
  return std::max(1u, rows * columns * bitsOf(type) / (type == "f64" ? 64 : 32) / 32);
}

/// The matrix as bytes with the given distance of its rows (or columns), in elements.
std::vector<uint32_t> pack(const Matrix &m, const std::string &type, bool byColumns,
                           uint32_t pitch) {
  const uint32_t lines = byColumns ? m.columns : m.rows, bits = bitsOf(type);
  std::vector<uint32_t> words((size_t(lines) * pitch * bits + 31) / 32 + 1, 0);
  for (uint32_t row = 0; row < m.rows; ++row)
    for (uint32_t column = 0; column < m.columns; ++column) {
      size_t at = byColumns ? size_t(column) * pitch + row : size_t(row) * pitch + column;
      uint64_t value = encode(type, m.at(row, column));
      if (bits == 64) {
        words[2 * at] = static_cast<uint32_t>(value);
        words[2 * at + 1] = static_cast<uint32_t>(value >> 32);
      } else {
        words[at * bits / 32] |= static_cast<uint32_t>(value) << (at * bits % 32);
      }
    }
  words.resize((words.size() + 63) / 64 * 64); // keeps the next matrix aligned
  return words;
}

class Wmma : public testing::TestWithParam<size_t> {};
TEST_P(Wmma, IntegersAreExact) {
  const Case test = cases()[GetParam()];
  const bool bits = bitsOf(test.ab) < 8;
  std::mt19937 random(static_cast<unsigned>(GetParam()) + 7);
  // Layouts of A, B, C and D; those of sub-byte types are fixed.
  for (uint32_t layouts = 0; layouts < 16; ++layouts) {
    bool byColumns[4] = {(layouts & 1) != 0, (layouts & 2) != 0, (layouts & 4) != 0,
                         (layouts & 8) != 0};
    if (bits && (byColumns[0] || !byColumns[1]))
      continue;
    Matrix a(test.m, test.k), b(test.k, test.n), c(test.m, test.n);
    a.fill(test.ab, random);
    b.fill(test.ab, random);
    c.fill("s32", random);
    // Half of the runs have matrices inside wider ones, and half are in shared memory.
    const bool wide = layouts % 3 == 0, shared = layouts % 2 == 1;
    auto pitch = [&](const Matrix &m, bool columns) {
      return (columns ? m.rows : m.columns) * (wide ? 2 : 1);
    };
    std::vector<uint32_t> data;
    uint32_t at[4];
    const Matrix *matrices[3] = {&a, &b, &c};
    const std::string types[4] = {test.ab, test.ab, test.c, test.d};
    for (int i = 0; i < 3; ++i) {
      at[i] = static_cast<uint32_t>(data.size());
      std::vector<uint32_t> words =
          pack(*matrices[i], types[i], byColumns[i], pitch(*matrices[i], byColumns[i]));
      data.insert(data.end(), words.begin(), words.end());
    }
    at[3] = static_cast<uint32_t>(data.size());
    std::vector<uint32_t> empty =
        pack(Matrix(test.m, test.n), test.d, byColumns[3], pitch(c, byColumns[3]));
    data.insert(data.end(), empty.begin(), empty.end());
    const std::string space = shared ? ".shared" : layouts % 4 == 0 ? "" : ".global";
    const std::string base = shared ? "%r10" : "%rd0";
    std::string body;
    if (shared) // all of it to shared memory first
      body =
          "mov.u32 %r10, buf; mov.u64 %rd5, %rd0; mov.u32 %r11, %r10; mov.u32 %r12, 0; COPY: "
          "shl.b32 %r13, %r0, 2; cvt.u64.u32 %rd6, %r13; add.s64 %rd6, %rd6, %rd5; ld.global.u32 "
          "%r14, [%rd6]; add.u32 %r13, %r13, %r11; st.shared.u32 [%r13], %r14; add.s64 %rd5, "
          "%rd5, 128; add.u32 %r11, %r11, 128; add.u32 %r12, %r12, 32; setp.lt.u32 %p1, %r12, " +
          std::to_string(data.size()) + "; @%p1 bra COPY; bar.warp.sync -1;\n";
    const char *parts[4] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; ++i)
      body += ".reg ." + std::string(types[i] == "f64" ? "b64 " : "b32 ") + parts[i] + "<" +
              std::to_string(registers(test, parts[i][0] == 'd' ? 'c' : parts[i][0], types[i])) +
              ">;\n";
    auto vector = [&](int i) {
      return vectorOf(parts[i], registers(test, i == 3 ? 'c' : parts[i][0], types[i]));
    };
    auto stride = [&](int i) {
      const Matrix &m = i == 3 ? c : *matrices[i];
      // Without an operand the matrix is dense.
      return wide ? ", " + std::to_string(pitch(m, byColumns[i])) : std::string();
    };
    auto layout = [&](int i) { return std::string(byColumns[i] ? ".col." : ".row."); };
    for (int i = 0; i < 3; ++i)
      body += "wmma.load." + std::string(parts[i]) + ".sync.aligned" + layout(i) + test.shape +
              space + "." + types[i] + " " + vector(i) + ", [" + base + "+" +
              std::to_string(4 * at[i]) + "]" + stride(i) + ";\n";
    const std::string op = test.op;
    body += "wmma.mma" + (op == "and" || op == "xor" ? "." + op + ".popc" : "") + ".sync.aligned" +
            layout(0).substr(0, 4) + layout(1) + test.shape + "." + test.d +
            (test.ab == "f16" ? "" : "." + test.ab + "." + test.ab) + "." + test.c +
            (op == "satfinite" ? ".satfinite" : "") + " " + vector(3) + ", " + vector(0) + ", " +
            vector(1) + ", " + vector(2) + ";\n";
    body += "wmma.store.d.sync.aligned" + layout(3) + test.shape + (shared ? ".global" : space) +
            "." + test.d + " [%rd0+" + std::to_string(4 * at[3]) + "], " + vector(3) + stride(3) +
            ";\n";
    Matrix expected = reference(a, b, c, op == "xor");
    KernelSetup setup;
    setup.module = ".shared .align 128 .b8 buf[" + std::to_string(4 * data.size() + 256) + "];";
    setup.data = data;
    setup.numerics = layouts & 1 ? Numerics::Exact : Numerics::Hopper;
    Ran ran = run(body, setup);
    ASSERT_TRUE(ran.result.clean()) << body << ran.text();
    const uint32_t width = bitsOf(test.d);
    for (uint32_t row = 0; row < test.m; ++row)
      for (uint32_t column = 0; column < test.n; ++column) {
        size_t element = byColumns[3] ? size_t(column) * pitch(c, true) + row
                                      : size_t(row) * pitch(c, false) + column;
        const uint32_t *words = ran.out.data() + at[3];
        uint64_t got = width == 64 ? words[2 * element] | uint64_t(words[2 * element + 1]) << 32
                                   : words[element * width / 32] >> (element * width % 32);
        ASSERT_EQ(decodeResult(test.d, width == 16 ? got & 0xffff : got), expected.at(row, column))
            << body << row << "," << column;
      }
  }
}
INSTANTIATE_TEST_SUITE_P(All, Wmma, testing::Range(size_t(0), cases().size()));

TEST(Wmma, UndefinedSharedMemoryIsFollowedToTheProduct) {
  Ran ran = run(".reg .b32 a<4>; .reg .b32 b<4>; .reg .f32 c<8>; mov.u32 %r10, buf; "
                "wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 {a0,a1,a2,a3}, [%r10];"
                "wmma.load.b.sync.aligned.col.m16n16k16.shared.bf16 {b0,b1,b2,b3}, [%r10];"
                "mov.f32 c0, 0f00000000; mov.f32 c1, c0; mov.f32 c2, c0; mov.f32 c3, c0; mov.f32 "
                "c4, c0; mov.f32 c5, c0; mov.f32 c6, c0; mov.f32 c7, c0;"
                "wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 "
                "{c0,c1,c2,c3,c4,c5,c6,c7}, {a0,a1,a2,a3}, {b0,b1,b2,b3}, "
                "{c0,c1,c2,c3,c4,c5,c6,c7};",
                {.module = ".shared .align 128 .b8 buf[512];"});
  EXPECT_TRUE(ran.has("undefined-value")) << ran.text();
}

TEST(Wmma, OutOfBounds) {
  Ran ran = run(".reg .b32 a<4>; wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 {a0,a1,a2,a3}, "
                "[%rd0+16];",
                {.data = std::vector<uint32_t>(128)});
  EXPECT_TRUE(ran.has("global-out-of-bounds")) << ran.text();
}

TEST(Wmma, RacesOnGlobalMemory) {
  // Two warps store a tile each; %rd2 is where.
  auto store = [](const std::string &place) {
    return run(
        ".reg .f32 c<8>; mov.f32 c0, 0f3f800000; mov.f32 c1, c0; mov.f32 c2, c0; mov.f32 c3, c0; "
        "mov.f32 c4, c0; "
        "mov.f32 c5, c0; mov.f32 c6, c0; mov.f32 c7, c0; mov.b64 %rd2, %rd0; shr.u32 %r1, %r0, 5;" +
            place +
            "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd2], {c0,c1,c2,c3,c4,c5,c6,c7};",
        {.block = 64, .data = std::vector<uint32_t>(512)});
  };
  Ran one = store("");
  EXPECT_TRUE(one.has("global-race")) << one.text();
  Ran two = store("mul.wide.u32 %rd3, %r1, 1024; add.u64 %rd2, %rd2, %rd3;");
  EXPECT_TRUE(two.result.clean()) << two.text();
}

} // namespace
