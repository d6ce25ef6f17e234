// Atomics and reductions: a row per operation and type, with values worked out from the formulas of
// PTX ISA 9.0, 9.7.13.5, over the spaces, semantics and scopes; vectors against the host's own
// 16-bit and 32-bit arithmetic.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelHarness.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

constexpr uint64_t f(float v) { return std::bit_cast<uint32_t>(v); }
constexpr uint64_t d(double v) { return std::bit_cast<uint64_t>(v); }
constexpr uint64_t kMinus1 = ~uint64_t(0);

/// memory = op(memory, b[, c]); the registers' class is the prefix of their names.
struct Row {
  const char *op;
  const char *reg;
  uint64_t memory, b, c, result;
  bool isRed = true;
};
const Row rows[] = {
    {"add.u32", "r", 0xffffffff, 2, 0, 1},
    {"add.s32", "r", 0x7fffffff, 1, 0, 0x80000000},
    {"add.u64", "rd", kMinus1, 2, 0, 1},
    {"add.f32", "f", f(1.0f), f(0x1p-24f), 0, f(1.0f)}, // a tie goes to even
    {"add.f32", "f", f(1.5f), f(2.25f), 0, f(3.75f)},
    {"add.f64", "fd", d(1.0), d(0x1p-53), 0, d(1.0)},
    {"add.noftz.f16", "rs", 0x0001, 0x0001, 0, 0x0002}, // subnormals are kept
    {"add.noftz.bf16", "rs", 0x3f80, 0x4000, 0, 0x4040},
    {"add.noftz.f16x2", "r", 0x3c004000, 0x40003c00, 0, 0x42004200},
    {"add.noftz.bf16x2", "r", 0x3f800001, 0x40000001, 0, 0x40400002},
    {"min.u32", "r", 0xfffffff9, 2, 0, 2},
    {"min.s32", "r", 0xfffffff9, 2, 0, 0xfffffff9},
    {"max.u32", "r", 0xfffffff9, 2, 0, 0xfffffff9},
    {"max.s32", "r", 0xfffffff9, 2, 0, 2},
    {"min.u64", "rd", kMinus1, 2, 0, 2},
    {"min.s64", "rd", kMinus1, 2, 0, kMinus1},
    {"max.u64", "rd", kMinus1, 2, 0, kMinus1},
    {"max.s64", "rd", kMinus1, 2, 0, 2},
    {"inc.u32", "r", 4, 5, 0, 5},
    {"inc.u32", "r", 5, 5, 0, 0},
    {"inc.u32", "r", 9, 5, 0, 0},
    {"dec.u32", "r", 4, 5, 0, 3},
    {"dec.u32", "r", 0, 5, 0, 5},
    {"dec.u32", "r", 9, 5, 0, 5},
    {"and.b32", "r", 0xff00, 0x0ff0, 0, 0x0f00},
    {"or.b32", "r", 0xff00, 0x0ff0, 0, 0xfff0},
    {"xor.b32", "r", 0xff00, 0x0ff0, 0, 0xf0f0},
    {"and.b64", "rd", 0xff00000000000000, 0x0ff0000000000000, 0, 0x0f00000000000000},
    {"or.b64", "rd", 0xff00000000000000, 0x0ff0000000000000, 0, 0xfff0000000000000},
    {"xor.b64", "rd", 0xff00000000000000, 0x0ff0000000000000, 0, 0xf0f0000000000000},
    {"exch.b32", "r", 7, 9, 0, 9, false},
    {"exch.b64", "rd", 7, kMinus1, 0, kMinus1, false},
    {"cas.b32", "r", 7, 7, 9, 9, false},
    {"cas.b32", "r", 7, 6, 9, 7, false},
    {"cas.b64", "rd", kMinus1, kMinus1, 9, 9, false},
    {"cas.b16", "rs", 7, 7, 9, 9, false},
    {"cas.b16", "rs", 7, 6, 9, 7, false},
};

unsigned widthOf(const std::string &reg) {
  return reg == "rs" ? 2 : reg == "r" || reg == "f" ? 4 : 8;
}
uint64_t masked(uint64_t v, unsigned width) {
  return width == 8 ? v : v & ((uint64_t(1) << 8 * width) - 1);
}
std::vector<uint32_t> words(std::initializer_list<uint64_t> values) {
  std::vector<uint32_t> out;
  for (uint64_t v : values) {
    out.push_back(static_cast<uint32_t>(v));
    out.push_back(static_cast<uint32_t>(v >> 32));
  }
  return out;
}
uint64_t longAt(const Ran &ran, size_t index) {
  return ran.out[2 * index] | uint64_t(ran.out[2 * index + 1]) << 32;
}

/// Memory at 0, b at 8, c at 16, the old value at 24.
Ran runRow(const Row &row, const std::string &instruction, const std::string &space) {
  const std::string type = widthOf(row.reg) == 2 ? "u16" : widthOf(row.reg) == 4 ? "b32" : "b64";
  const std::string reg = row.reg;
  std::string body = "ld.global." + type + " %" + reg + "1, [%rd0+8]; ld.global." + type + " %" +
                     reg + "2, [%rd0+16];";
  std::string address = "%rd0";
  if (space != "global") {
    body += "ld.global.u64 %rd5, [%rd0]; st.shared.u64 [cell], %rd5;";
    address = space == "shared" || space == "shared::cta" ? "cell" : "%r7";
    body += "mov.u32 %r6, cell; mapa.shared::cluster.u32 %r7, %r6, 0; cvt.u64.u32 %rd6, %r6;"
            "cvta.shared.u64 %rd7, %rd6;";
    if (space == "generic")
      address = "%rd7";
  }
  body += replaced(instruction, "ADDRESS", address);
  if (space != "global")
    body += "ld.shared.u64 %rd5, [cell]; st.global.u64 [%rd0], %rd5;";
  return run(body, {.block = 1,
                    .module = ".shared .align 16 .b8 cell[16];",
                    .data = words({row.memory, row.b, row.c, 0})});
}

class Atomics : public testing::TestWithParam<size_t> {};
TEST_P(Atomics, FollowTheFormula) {
  const Row &row = rows[GetParam()];
  const std::string reg = row.reg, op = row.op;
  const unsigned width = widthOf(reg);
  const bool compare = op.substr(0, 3) == "cas";
  for (std::string space : {"global", "shared", "shared::cta", "shared::cluster", "generic"}) {
    const std::string dot = space == "generic" ? "" : "." + space;
    const std::string store = width == 2 ? "u16" : width == 4 ? "b32" : "b64";
    const std::string operands = "[ADDRESS], %" + reg + "1" + (compare ? ", %" + reg + "2;" : ";");
    Ran ran = runRow(row,
                     "atom" + dot + "." + op + " %" + reg + "9, " + operands + " st.global." +
                         store + " [%rd0+24], %" + reg + "9;",
                     space);
    ASSERT_TRUE(ran.result.clean()) << op << " " << space << "\n" << ran.text();
    EXPECT_EQ(longAt(ran, 0), masked(row.result, width) | (row.memory & ~masked(kMinus1, width)))
        << op << " " << space;
    EXPECT_EQ(longAt(ran, 3), masked(row.memory, width)) << op << " " << space;
    if (!row.isRed)
      continue;
    for (std::string form : {"red" + dot + "." + op + " ", "atom" + dot + "." + op + " _, "}) {
      Ran reduced = runRow(row, form + operands, space);
      ASSERT_TRUE(reduced.result.clean()) << form << "\n" << reduced.text();
      EXPECT_EQ(longAt(reduced, 0),
                masked(row.result, width) | (row.memory & ~masked(kMinus1, width)))
          << form;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, Atomics, testing::Range(size_t(0), std::size(rows)));

TEST(Atomic, EverySemanticsAndScopeLoads) {
  for (std::string scope : {"", ".cta", ".cluster", ".gpu", ".sys"}) {
    for (std::string semantics : {"", ".relaxed", ".acquire", ".release", ".acq_rel"}) {
      Ran ran = run("atom" + semantics + scope +
                        ".global.add.u32 %r9, [%rd0], 3;"
                        "atom.global" +
                        scope + ".add" + semantics +
                        ".u32 %r9, [%rd0], %r9;"
                        "createpolicy.fractional.L2::evict_first.b64 %rd5, 0.5;"
                        "atom" +
                        semantics + scope + ".global.add.L2::cache_hint.u32 %r9, [%rd0], 1, %rd5;",
                    {.block = 1, .data = {4}});
      EXPECT_TRUE(ran.result.clean()) << ran.text();
      EXPECT_EQ(ran.out[0], 4u + 3 + 4 + 1) << semantics << scope;
    }
    for (std::string semantics : {"", ".relaxed", ".release"}) {
      Ran ran =
          run("red" + semantics + scope + ".global.add.u32 [%rd0], 3;", {.block = 1, .data = {4}});
      EXPECT_EQ(ran.out[0], 7u);
    }
  }
}

TEST(Atomic, RefusesWhatPtxDoesNotHave) {
  // What the assembler rejects for sm_90a.
  for (const char *text :
       {"atom.global.exch.u32 %r9, [%rd0], %r1;", "atom.global.add.s64 %rd5, [%rd0], %rd5;",
        "atom.global.inc.u64 %rd5, [%rd0], %rd5;", "atom.global.min.f32 %f1, [%rd0], %f1;",
        "atom.global.add.f16 %rs1, [%rd0], %rs1;", "red.acquire.gpu.global.add.u32 [%rd0], %r1;",
        "atom.sc.gpu.global.add.u32 %r9, [%rd0], %r1;", "red.global.exch.b32 [%rd0], %r1;",
        "atom.shared.add.v2.f32 {%f1, %f2}, [%r1], {%f1, %f2};",
        "red.global.v8.f32.add [%rd0], {%f0,%f1,%f2,%f3,%f0,%f1,%f2,%f3};",
        "multimem.red.global.add.u32 [%rd0], %r1;"})
    EXPECT_NE(refusal(kernelText(text, {})), "") << text;
}

TEST(Atomic, AdditionOfFloatsFlushesOnGlobalMemoryOnly) {
  // 9.7.13.5: subnormal inputs and results become zero of their sign, on global memory.
  const uint32_t subnormal = 0x00000005, negative = 0x80000005;
  for (auto [memory, operand, global] : {std::tuple<uint32_t, uint32_t, uint32_t>{subnormal, 0, 0},
                                         {negative, 0x80000000, 0x80000000},
                                         {0x00800000, 0x80800001, 0x80000000}}) {
    Ran ran = run(
        "ld.global.f32 %f1, [%rd0+4]; red.global.add.f32 [%rd0], %f1;"
        "ld.global.f32 %f2, [%rd0+8]; st.shared.f32 [cell], %f2; red.shared.add.f32 "
        "[cell], %f1; ld.shared.f32 %f2, [cell]; st.global.f32 [%rd0+8], %f2;",
        {.block = 1, .module = ".shared .align 4 .b8 cell[4];", .data = {memory, operand, memory}});
    EXPECT_EQ(ran.out[0], global);
    EXPECT_EQ(std::bit_cast<float>(ran.out[2]),
              std::bit_cast<float>(memory) + std::bit_cast<float>(operand));
  }
}

TEST(Atomic, Exchanges128Bits) {
  for (std::string space : {".global", ".shared", ""}) {
    std::string address = space == ".shared" ? "cell" : "%rd0";
    Ran ran = run(
        "{ .reg .b128 %q<4>; ld.global.u64 %rd2, [%rd0]; ld.global.u64 %rd3, [%rd0+8];"
        "mov.u64 %rd4, 77; mov.u64 %rd5, 88; mov.b128 %q1, {%rd4, %rd5}; mov.b128 %q2, "
        "{%rd2, %rd3}; mov.b128 %q3, {%rd5, %rd4};"
        "st.shared.u64 [cell], %rd2; st.shared.u64 [cell+8], %rd3;"
        "atom" +
            space + ".exch.b128 %q0, [" + address +
            "], %q1; mov.b128 {%rd6, %rd7}, %q0;"
            "st.global.u64 [%rd0+16], %rd6; st.global.u64 [%rd0+24], %rd7;"
            "atom" +
            space + ".cas.b128 %q0, [" + address +
            "], %q2, %q3;" // no match
            "atom" +
            space + ".cas.b128 %q0, [" + address + "], %q1, %q3;" +
            (space == ".shared" ? "ld.shared.u64 %rd2, [cell]; ld.shared.u64 %rd3, [cell+8];"
                                  "st.global.u64 [%rd0], %rd2; st.global.u64 [%rd0+8], %rd3;"
                                : "") +
            "}",
        {.block = 1, .module = ".shared .align 16 .b8 cell[16];", .data = words({11, 22, 0, 0})});
    ASSERT_TRUE(ran.result.clean()) << ran.text();
    EXPECT_EQ(longAt(ran, 0), 88u) << space;
    EXPECT_EQ(longAt(ran, 1), 77u);
    EXPECT_EQ(longAt(ran, 2), 11u);
    EXPECT_EQ(longAt(ran, 3), 22u);
  }
}

/// bf16 by its definition: the nearest of the 16-bit prefixes, ties to even.
uint16_t toBrain(float v) {
  uint32_t bits = std::bit_cast<uint32_t>(v), low = bits & 0xffff, high = bits >> 16;
  return static_cast<uint16_t>(high + (low > 0x8000 || (low == 0x8000 && (high & 1))));
}
float fromBrain(uint16_t v) { return std::bit_cast<float>(uint32_t(v) << 16); }

TEST(Atomic, VectorsWorkByElement) {
  struct Shape {
    const char *type;
    unsigned count, elementBytes;
  };
  for (Shape shape : {Shape{"f32", 2, 4},
                      {"f32", 4, 4},
                      {"f16", 2, 2},
                      {"f16", 4, 2},
                      {"f16", 8, 2},
                      {"bf16", 2, 2},
                      {"bf16", 4, 2},
                      {"bf16", 8, 2},
                      {"f16x2", 2, 4},
                      {"f16x2", 4, 4},
                      {"bf16x2", 2, 4},
                      {"bf16x2", 4, 4}}) {
    const std::string type = shape.type, vector = ".v" + std::to_string(shape.count);
    const bool isFloat = type == "f32", brain = type[0] == 'b';
    const char *reg = isFloat ? "%f" : shape.elementBytes == 2 ? "%rs" : "%r1";
    const std::string move = isFloat ? "f32" : shape.elementBytes == 2 ? "b16" : "b32";
    for (std::string op : {"add", "min", "max"}) {
      if (isFloat && op != "add")
        continue;
      // Two halves of 32 bytes each: memory, operands; the old values go to the third.
      std::vector<uint32_t> data(32);
      std::vector<uint16_t> halves(32);
      for (size_t i = 0; i < 16; ++i) {
        float a = 0.37f * static_cast<float>(i) - 2, b = 1.9f - 0.61f * static_cast<float>(i % 7);
        if (isFloat) {
          data[i % 8] = std::bit_cast<uint32_t>(0.37f * static_cast<float>(i % 8) - 2);
          data[8 + i % 8] = std::bit_cast<uint32_t>(1.9f - 0.61f * static_cast<float>(i % 8));
          continue;
        }
        halves[i] = brain ? toBrain(a) : std::bit_cast<uint16_t>(static_cast<_Float16>(a));
        halves[16 + i] = brain ? toBrain(b) : std::bit_cast<uint16_t>(static_cast<_Float16>(b));
      }
      if (!isFloat)
        std::memcpy(data.data(), halves.data(), 64);
      std::string load, list, results, store;
      for (unsigned i = 0; i < shape.count; ++i) {
        std::string in = reg + std::to_string(i),
                    out = reg + std::to_string(i + (isFloat || shape.elementBytes == 2 ? 8 : 4));
        load += "ld.global." + move + " " + in + ", [%rd0+" +
                std::to_string(32 + i * shape.elementBytes) + "];";
        store += "st.global." + move + " [%rd0+" + std::to_string(64 + i * shape.elementBytes) +
                 "], " + out + ";";
        list += (i ? "," : "") + in;
        results += (i ? "," : "") + out;
      }
      const std::string noftz = isFloat ? "" : ".noftz";
      for (std::string form : {"atom.global" + vector + "." + type + "." + op + noftz + " {" +
                                   results + "}, [%rd0], {" + list + "};" + store,
                               "red.relaxed.gpu.global." + op + noftz + vector + "." + type +
                                   " [%rd0], {" + list + "};"}) {
        Ran ran = run(load + form, {.block = 1, .data = data});
        ASSERT_TRUE(ran.result.clean()) << form << "\n" << ran.text();
        const unsigned bytes = shape.count * shape.elementBytes;
        std::vector<uint32_t> wanted = data;
        if (isFloat) {
          for (unsigned i = 0; i < shape.count; ++i)
            wanted[i] = std::bit_cast<uint32_t>(std::bit_cast<float>(data[i]) +
                                                std::bit_cast<float>(data[8 + i]));
        } else {
          std::vector<uint16_t> out = halves;
          for (unsigned i = 0; i < bytes / 2; ++i) {
            if (brain) {
              float a = fromBrain(halves[i]), b = fromBrain(halves[16 + i]);
              out[i] = toBrain(op == "add" ? a + b : op == "min" ? std::min(a, b) : std::max(a, b));
            } else {
              auto a = std::bit_cast<_Float16>(halves[i]),
                   b = std::bit_cast<_Float16>(halves[16 + i]);
              _Float16 r = op == "add" ? a + b : (a < b) == (op == "min") ? a : b;
              out[i] = std::bit_cast<uint16_t>(r);
            }
          }
          std::memcpy(wanted.data(), out.data(), 64);
        }
        if (form[0] == 'a')
          std::memcpy(wanted.data() + 16, data.data(), bytes);
        EXPECT_EQ(ran.out, wanted) << form;
      }
    }
  }
}

TEST(Atomic, LanesAndCtasAddUpAtEveryWidth) {
  // 64 CTAs of 32 threads add their 16-bit ones into four neighbouring halves.
  Ran ran =
      run("mov.b16 %rs1, 0x3c00; and.b32 %r1, %r0, 3; mul.wide.u32 %rd5, %r1, 2; add.u64 %rd5, "
          "%rd5, %rd0; red.global.add.noftz.f16 [%rd5], %rs1;",
          {.grid = 64, .data = {0, 0}});
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[0], 0x60006000u); // 512 = 0x6000
  EXPECT_EQ(ran.out[1], 0x60006000u);
}

TEST(Atomic, FaultsNameTheSpace) {
  Ran vector = run("mov.u32 %r6, cell; cvt.u64.u32 %rd6, %r6; cvta.shared.u64 %rd7, %rd6;"
                   "red.v2.f32.add [%rd7], {%f1, %f2};",
                   {.block = 1, .module = ".shared .align 16 .b8 cell[16];"});
  EXPECT_TRUE(vector.has("atomic-space")) << vector.text();
  Ran misaligned = run("red.global.add.u32 [%rd0+2], 1;", {.block = 2});
  EXPECT_TRUE(misaligned.has("misaligned")) << misaligned.text();
}

} // namespace
