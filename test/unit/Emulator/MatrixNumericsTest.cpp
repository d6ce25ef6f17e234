// How exact the tensor core is: fp8 products of K = 4096 with uniform data of one sign, accumulated
// in the tensor core alone or promoted to binary32 every 128. (Data of both signs would hide the
// loss.)
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MatrixHarness.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

constexpr uint32_t kM = 64, kN = 64, kDepth = 4096, kStep = 32;

/// One warpgroup multiplies 64 x 4096 by 4096 x 64 in e4m3, step by step through shared memory. The
/// operands come from memory in the canonical layout, 2048 bytes each a step; D goes to registers
/// that a second set collects every `promote` steps.
std::string kernel(uint32_t promote) {
  const std::string d = vectorOf("d", 32);
  std::string body =
      ".reg .f32 d<32>; .reg .f32 s<32>; mul.wide.u32 %rd11, %r0, 16; add.s64 %rd11, "
      "%rd11, %rd0; mov.u32 %r10, buf; shl.b32 %r11, %r0, 4; add.u32 %r11, %r11, "
      "%r10; shr.u32 %r12, %r10, 4; cvt.u64.u32 %rd13, %r12;"
      // Rows of 16 bytes, 8 of them a core matrix; halves of K 1024 bytes apart.
      "add.s64 %rd14, %rd13, " +
      std::to_string((uint64_t(64) << 16) + (uint64_t(8) << 32)) +
      "; add.s64 %rd15, %rd14, 128; mov.u32 %r20, 0; mov.u32 %r21, 0;\n";
  for (uint32_t i = 0; i < 32; ++i)
    body += "mov.f32 s" + std::to_string(i) + ", 0f00000000; mov.f32 d" + std::to_string(i) +
            ", 0f00000000;";
  body += "STEP: ld.global.v4.b32 {%r1,%r2,%r3,%r4}, [%rd11]; st.shared.v4.b32 [%r11], "
          "{%r1,%r2,%r3,%r4}; ld.global.v4.b32 {%r1,%r2,%r3,%r4}, [%rd11+2048]; st.shared.v4.b32 "
          "[%r11+2048], {%r1,%r2,%r3,%r4}; fence.proxy.async; bar.sync 0; setp.ne.u32 %p1, %r21, 0;"
          "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 " +
          d +
          ", %rd14, %rd15, %p1, 1, 1; wgmma.commit_group.sync.aligned; "
          "wgmma.wait_group.sync.aligned 0; bar.sync 0; add.u32 %r20, %r20, 1; add.u32 %r21, %r21, "
          "1; add.s64 %rd11, %rd11, 4096; setp.lt.u32 %p2, %r21, " +
          std::to_string(promote) + "; @%p2 bra NEXT;\n";
  for (uint32_t i = 0; i < 32; ++i)
    body += "add.rn.f32 s" + std::to_string(i) + ", s" + std::to_string(i) + ", d" +
            std::to_string(i) + ";";
  body += "mov.u32 %r21, 0; NEXT: setp.lt.u32 %p3, %r20, " + std::to_string(kDepth / kStep) +
          "; @%p3 bra STEP; mul.wide.u32 %rd16, %r0, 4; add.s64 %rd16, %rd16, %rd0;\n";
  const uint32_t at = kDepth / kStep * 4096;
  for (uint32_t i = 0; i < 32; ++i)
    body +=
        "st.global.f32 [%rd16+" + std::to_string(at + i * 512) + "], s" + std::to_string(i) + ";";
  return body;
}

/// 1 - 2 <x, y> / (|x|^2 + |y|^2) against float64 on the quantised operands.
double distance(uint32_t promote, Numerics numerics) {
  std::mt19937 random(12);
  auto uniform = [&] { return static_cast<double>(random()) * 0x1p-32; };
  auto quantise = [&](uint32_t rows) {
    std::vector<double> values(size_t(rows) * kDepth);
    double largest = 0;
    for (double &v : values)
      largest = std::max(largest, v = uniform());
    std::vector<uint8_t> codes;
    for (double v : values) // a scale for the tensor: its largest value becomes 448
      codes.push_back(floatToE4m3(static_cast<float>(v / largest * 448)));
    return codes;
  };
  const std::vector<uint8_t> a = quantise(kM), b = quantise(kN);
  KernelSetup setup;
  setup.block = 128;
  setup.numerics = numerics;
  setup.module = ".shared .align 1024 .b8 buf[4096];";
  const uint32_t words = kDepth / kStep * 1024;
  setup.data.resize(words + 32 * 128);
  uint8_t *bytes = reinterpret_cast<uint8_t *>(setup.data.data());
  for (uint32_t k = 0; k < kDepth; ++k)
    for (uint32_t row = 0; row < 64; ++row) {
      const uint32_t within = row % 8 * 16 + row / 8 * 128 + k % 16 + k % kStep / 16 * 1024;
      bytes[k / kStep * 4096 + within] = a[size_t(row) * kDepth + k];
      bytes[k / kStep * 4096 + 2048 + within] = b[size_t(row) * kDepth + k];
    }
  Ran ran = run(kernel(promote), setup);
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  double xy = 0, xx = 0, yy = 0;
  for (uint32_t row = 0; row < kM; ++row)
    for (uint32_t column = 0; column < kN; ++column) {
      double sum = 0;
      for (uint32_t k = 0; k < kDepth; ++k)
        sum += double(e4m3ToFloat(a[size_t(row) * kDepth + k])) *
               e4m3ToFloat(b[size_t(column) * kDepth + k]);
      const uint32_t thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
      const uint32_t index = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
      const double got = std::bit_cast<float>(ran.out[words + index * 128 + thread]);
      xy += sum * got;
      xx += sum * sum;
      yy += got * got;
    }
  return 1 - 2 * xy / (xx + yy);
}

TEST(MatrixNumerics, Fp8LosesBitsUnlessPromoted) {
  const uint32_t never = kDepth / kStep, every128 = 128 / kStep;
  EXPECT_GT(distance(never, Numerics::Hopper), 1e-3);
  EXPECT_LT(distance(every128, Numerics::Hopper), 1e-4);
  EXPECT_LT(distance(never, Numerics::Exact), 1e-4);
  EXPECT_LT(distance(every128, Numerics::Exact), 1e-4);
}

TEST(MatrixNumerics, DefaultIsHopper) { EXPECT_EQ(LaunchOptions().numerics, Numerics::Hopper); }

// mma.sync on 8-bit floats is made of f16 products on sm_90a: it keeps what wgmma drops.
TEST(MatrixNumerics, Fp8OfOneWarpKeepsMore) {
  // A row (1, 2^-5, 0, ...) by a column (1, 2^-9, ...): 1 + 2^-14, below 13 fraction bits.
  Lanes a(4, 32), b(2, 32), c(4, 32), d(4, 32);
  for (uint32_t lane = 0; lane < 32; lane += 4) {
    a.set(lane, 0, 8, floatToE4m3(1));
    a.set(lane, 1, 8, floatToE4m3(0x1p-5f));
    b.set(lane, 0, 8, floatToE4m3(1));
    b.set(lane, 1, 8, floatToE4m3(0x1p-9f));
  }
  std::vector<uint32_t> data;
  std::string body = laneBases() + loadRegisters("a", a, 0);
  data.insert(data.end(), a.words.begin(), a.words.end());
  body += loadRegisters("b", b, static_cast<uint32_t>(data.size()));
  data.insert(data.end(), b.words.begin(), b.words.end());
  body += loadRegisters("c", c, static_cast<uint32_t>(data.size()));
  data.insert(data.end(), c.words.begin(), c.words.end());
  const uint32_t at = static_cast<uint32_t>(data.size());
  data.resize(at + d.words.size());
  body += ".reg .b32 d<4>; mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {d0,d1,d2,d3}, "
          "{a0,a1,a2,a3}, {b0,b1}, {c0,c1,c2,c3};" +
          storeRegisters("d", d, at);
  Ran ran = run(body, {.numerics = Numerics::Hopper, .data = data});
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(std::bit_cast<float>(ran.out[at]), 1 + 0x1p-14f);
}

} // namespace
