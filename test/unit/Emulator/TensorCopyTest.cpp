// Bulk and tensor copies, reductions and prefetches in every form, tensor maps that a kernel edits,
// and the mistakes that are reported (PTX ISA 9.0, 9.7.9.25.4, 9.7.9.27, 9.7.9.28, 9.7.13.4). Where
// the bytes of a box lie is tested in Units/TmaBoxTest.cpp and Units/Im2colTest.cpp; here a copy's
// rows are compared with what the tensor holds at the coordinates.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelHarness.h"

#include "girih/Emulator/TensorMap.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

constexpr Adversary adversaries[] = {Adversary::None, Adversary::AsyncLate, Adversary::AsyncEarly};

/// A tensor of words in global memory, up to 5-D, 4 elements along each dimension but the first,
/// which has 8. Word i holds i + 1 at first.
struct Tensor {
  uint32_t rank;
  TensorDataType type = TensorDataType::U32;
  bool im2col = false;
  uint32_t box[5] = {4, 2, 2, 2, 2};

  uint64_t size() const {
    uint64_t n = 8;
    for (uint32_t d = 1; d < rank; ++d)
      n *= 4;
    return n;
  }
  uint64_t index(std::vector<int64_t> at) const {
    uint64_t stride = 1, i = 0;
    for (uint32_t d = 0; d < rank; ++d) {
      i += static_cast<uint64_t>(at[d]) * stride;
      stride *= d ? 4 : 8;
    }
    return i;
  }
  void encode(uint64_t address, uint8_t *bytes) const {
    uint64_t dims[5] = {8, 4, 4, 4, 4}, strides[4] = {32, 128, 512, 2048};
    uint32_t steps[5] = {1, 1, 1, 1, 1};
    if (im2col) {
      int lower[3] = {0, 0, 0}, upper[3] = {-1, -1, -1};
      Im2colMapArguments args{static_cast<int>(type),
                              rank,
                              address,
                              dims,
                              strides,
                              lower,
                              upper,
                              4,
                              8,
                              steps,
                              0,
                              0,
                              0,
                              0};
      ASSERT_EQ(encodeIm2col(args, bytes), "");
    } else {
      TiledMapArguments args{
          static_cast<int>(type), rank, address, dims, strides, box, steps, 0, 0, 0, 0};
      ASSERT_EQ(encodeTiled(args, bytes), "");
    }
  }
};

struct TensorRun {
  LaunchResult result;
  std::vector<uint32_t> tensor, out;
  bool has(const std::string &kind) const {
    for (const Finding &f : result.findings)
      if (f.kind == kind)
        return true;
    return false;
  }
  std::string text() const { return result.render(); }
};

/// Runs a body with one thread (or `block`): %rd0 the words of `out`, %rd1 the tensor, %rd2 its map
/// (a parameter), %rd3 a copy of the map in global memory (written by nobody yet); [sm] 2048 bytes
/// of shared memory, %r1 its address; [bar] an mbarrier for one arrival.
TensorRun runTensor(const Tensor &tensor, const std::string &body,
                    Adversary adversary = Adversary::None, uint64_t seed = 0, uint32_t block = 1,
                    uint32_t cluster = 1, uint32_t clusters = 1,
                    uint64_t writtenBytes = UINT64_MAX) {
  Device device;
  std::string text =
      ".version 8.6\n.target sm_90a\n.address_size 64\n"
      ".shared .align 1024 .b8 sm[2048]; .shared .align 128 .b8 smap[128]; .shared .align 8 .b8 "
      "bar[8];\n"
      ".visible .entry k(.param .u64 p_out, .param .u64 p_tensor, .param .align 64 .b8 p_map[128], "
      ".param .u64 p_copy) {\n"
      ".reg .pred %p<10>; .reg .b16 %rs<20>; .reg .b32 %r<40>; .reg .b64 %rd<20>;\n"
      "ld.param.u64 %rd0, [p_out]; ld.param.u64 %rd1, [p_tensor]; mov.b64 %rd2, p_map; "
      "cvta.param.u64 %rd2, %rd2; ld.param.u64 %rd3, [p_copy]; mov.u32 %r0, %tid.x; mov.u32 %r1, "
      "sm; mov.u32 %r2, bar; setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [bar], 1; "
      "bar.sync 0;\n" +
      body + "\n}\n";
  auto module = device.loadModule(text, {"test.ptx", {}});
  uint64_t n = tensor.size();
  std::vector<uint32_t> words(n), out(512);
  for (uint64_t i = 0; i < n; ++i)
    words[i] = static_cast<uint32_t>(i + 1);
  uint64_t tensorAt = device.allocate(n * 4), outAt = device.allocate(2048),
           copyAt = device.allocate(256);
  device.copyToDevice(tensorAt, words.data(), std::min(n * 4, writtenBytes));
  device.copyToDevice(outAt, out.data(), 2048);
  uint8_t params[64 + 128 + 8] = {}, map[128];
  tensor.encode(tensorAt, map);
  device.copyToDevice(copyAt, map, 128);
  std::memcpy(params, &outAt, 8);
  std::memcpy(params + 8, &tensorAt, 8);
  std::memcpy(params + 64, map, 128);
  std::memcpy(params + 192, &copyAt, 8);
  LaunchConfig config;
  config.grid = {cluster * clusters, 1, 1};
  config.block = {block, 1, 1};
  if (cluster > 1)
    config.cluster = Dim3{cluster, 1, 1};
  config.params = params;
  config.paramBytes = sizeof(params);
  config.options.adversary = adversary;
  config.options.seed = seed;
  TensorRun result;
  result.result = device.launch(module->kernel("k"), config);
  result.tensor.resize(n);
  result.out.resize(512);
  device.copyFromDevice(result.tensor.data(), tensorAt, n * 4);
  device.copyFromDevice(result.out.data(), outAt, 2048);
  return result;
}

const char *const names[] = {"", "1d", "2d", "3d", "4d", "5d"};
std::string braces(uint32_t rank, const char *values[]) {
  std::string text = "{";
  for (uint32_t i = 0; i < rank; ++i)
    text += (i ? ", " : "") + std::string(values[i]);
  return text + "}";
}
/// Coordinates (2, 1, 0, 3, -1): the last two lie across the end and before the start.
const char *coordinateText[] = {"2", "1", "0", "3", "-1"};
constexpr int64_t coordinates[] = {2, 1, 0, 3, -1};
const std::string expect = "mbarrier.arrive.expect_tx.shared.b64 _, [bar], ";
const std::string wait = "W: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra W;";
/// Writes `bytes` from shared memory to `out`.
std::string report(uint32_t bytes) {
  return "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], " + std::to_string(bytes) +
         "; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
}
const std::string policy = "createpolicy.fractional.L2::evict_first.b64 %rd9, 1.0;";

/// The words of the box in order, 0 where it leaves the tensor.
std::vector<uint32_t> boxWords(const Tensor &t, const std::vector<uint32_t> &words) {
  std::vector<uint32_t> result;
  uint32_t count[5];
  for (uint32_t d = 0; d < 5; ++d)
    count[d] = d < t.rank ? t.box[d] : 1;
  for (uint32_t e = 0; e < count[4]; ++e)
    for (uint32_t d = 0; d < count[3]; ++d)
      for (uint32_t c = 0; c < count[2]; ++c)
        for (uint32_t b = 0; b < count[1]; ++b)
          for (uint32_t a = 0; a < count[0]; ++a) {
            uint32_t step[] = {a, b, c, d, e};
            std::vector<int64_t> at;
            bool inside = true;
            for (uint32_t i = 0; i < t.rank; ++i) {
              at.push_back(coordinates[i] + step[i]);
              inside &= at[i] >= 0 && at[i] < (i ? 4 : 8);
            }
            result.push_back(inside ? words[t.index(at)] : 0);
          }
  return result;
}
std::vector<uint32_t> ascending(uint64_t n) {
  std::vector<uint32_t> words(n);
  for (uint64_t i = 0; i < n; ++i)
    words[i] = static_cast<uint32_t>(i + 1);
  return words;
}

TEST(TensorCopy, LoadsOfEveryRank) {
  for (uint32_t rank = 1; rank <= 5; ++rank) {
    Tensor t{rank};
    const std::vector<uint32_t> wanted = boxWords(t, ascending(t.size()));
    const std::string operands = " [%r1], [%rd2, " + braces(rank, coordinateText) + "], [%r2]";
    const std::string name = std::string("cp.async.bulk.tensor.") + names[rank];
    for (std::string form :
         {name + ".shared::cluster.global.mbarrier::complete_tx::bytes" + operands + ";",
          name + ".shared::cta.global.tile.mbarrier::complete_tx::bytes" + operands + ";",
          policy + name +
              ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint" +
              operands + ", %rd9;",
          "mov.u16 %rs1, 1;" + name +
              ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster" + operands +
              ", %rs1;",
          policy + "mov.u16 %rs1, 1;" + name +
              ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::"
              "cache_hint" +
              operands + ", %rs1, %rd9;"})
      for (Adversary adversary : adversaries) {
        const uint32_t bytes = static_cast<uint32_t>(wanted.size() * 4);
        TensorRun ran = runTensor(
            t, expect + std::to_string(bytes) + ";" + form + wait + report(bytes), adversary, rank);
        ASSERT_TRUE(ran.result.clean()) << form << ran.text();
        ran.out.resize(wanted.size());
        EXPECT_EQ(ran.out, wanted) << form;
      }
  }
}

/// Shared memory filled with 1000, 1001, ... by the thread, and fenced.
std::string fill(uint32_t words) {
  return "mov.u32 %r5, 0; F: shl.b32 %r6, %r5, 2; add.u32 %r6, %r6, %r1; add.u32 %r7, %r5, 1000; "
         "st.shared.u32 [%r6], %r7; add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, " +
         std::to_string(words) + "; @%p3 bra F; fence.proxy.async.shared::cta;";
}
const std::string done = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";

TEST(TensorCopy, StoresOfEveryRank) {
  for (uint32_t rank = 1; rank <= 5; ++rank) {
    Tensor t{rank};
    const std::string operands = " [%rd2, " + braces(rank, coordinateText) + "], [%r1]";
    const std::string name =
        std::string("cp.async.bulk.tensor.") + names[rank] + ".global.shared::cta";
    uint32_t count = 1;
    for (uint32_t d = 0; d < rank; ++d)
      count *= t.box[d];
    for (std::string form :
         {name + ".bulk_group" + operands + ";", name + ".tile.bulk_group" + operands + ";",
          policy + name + ".bulk_group.L2::cache_hint" + operands + ", %rd9;"}) {
      TensorRun ran = runTensor(t, fill(count) + form + done);
      ASSERT_TRUE(ran.result.clean()) << form << ran.text();
      std::vector<uint32_t> box = boxWords(t, ran.tensor);
      for (uint32_t i = 0; i < count; ++i)
        EXPECT_TRUE(box[i] == 0 || box[i] == 1000 + i) << form << " " << i;
      uint64_t changed = 0, inside = 0;
      for (uint64_t i = 0; i < t.size(); ++i)
        changed += ran.tensor[i] != i + 1;
      for (uint32_t w : box)
        inside += w != 0;
      EXPECT_EQ(changed, inside) << form;
    }
  }
}

TEST(TensorCopy, ReductionsByTheTypeOfTheMap) {
  struct Row {
    const char *op;
    TensorDataType type;
    uint32_t memory, operand, result;
  };
  auto f = [](float v) { return std::bit_cast<uint32_t>(v); };
  for (Row row : {Row{"add", TensorDataType::U32, 5, 7, 12},
                  {"add", TensorDataType::S32, 5, 0xfffffff0, 0xfffffff5},
                  {"min", TensorDataType::S32, 5, 0xfffffff0, 0xfffffff0},
                  {"min", TensorDataType::U32, 5, 0xfffffff0, 5},
                  {"max", TensorDataType::S32, 5, 0xfffffff0, 5},
                  {"max", TensorDataType::U32, 5, 0xfffffff0, 0xfffffff0},
                  {"inc", TensorDataType::U32, 5, 5, 0},
                  {"inc", TensorDataType::U32, 5, 6, 6},
                  {"dec", TensorDataType::U32, 0, 6, 6},
                  {"and", TensorDataType::U32, 12, 10, 8},
                  {"or", TensorDataType::U32, 12, 10, 14},
                  {"xor", TensorDataType::S32, 12, 10, 6},
                  {"add", TensorDataType::F32, f(1.5f), f(2.25f), f(3.75f)},
                  {"add", TensorDataType::F32, 5, 0, 0}, // subnormal: flushed
                  {"add", TensorDataType::F32Ftz, f(1.5f), f(2.25f), f(3.75f)},
                  {"add", TensorDataType::F16, 0x3c003c00, 0x40003c00, 0x42004000},
                  {"min", TensorDataType::F16, 0x3c004000, 0x40003c00, 0x3c003c00},
                  {"max", TensorDataType::BF16, 0x3f804000, 0x40003f80, 0x40004000}})
    for (std::string form : {"", ".tile"}) {
      Tensor t{1, row.type};
      const bool half = row.type == TensorDataType::F16 || row.type == TensorDataType::BF16;
      t.box[0] = half ? 8 : 4; // 16 bytes
      TensorRun ran = runTensor(
          t, "st.global.u32 [%rd1], " + std::to_string(row.memory) + "; st.shared.v4.u32 [sm], {" +
                 std::to_string(row.operand) + ", 0, 0, 0}; fence.proxy.async; " + policy +
                 "cp.reduce.async.bulk.tensor.1d.global.shared::cta." + row.op + form +
                 (form.empty() ? ".bulk_group [%rd2, {0}], [%r1];"
                               : ".bulk_group.L2::cache_hint [%rd2, {0}], [%r1], %rd9;") +
                 done);
      ASSERT_TRUE(ran.result.clean()) << row.op << ran.text();
      EXPECT_EQ(ran.tensor[0], row.result) << row.op;
    }
  for (auto [op, type] : {std::pair{"add", TensorDataType::F64},
                          {"min", TensorDataType::F32},
                          {"inc", TensorDataType::S32},
                          {"and", TensorDataType::F32},
                          {"add", TensorDataType::U8},
                          {"add", TensorDataType::S64}}) {
    Tensor t{1, type};
    t.box[0] = 16;
    TensorRun ran = runTensor(t, std::string("cp.reduce.async.bulk.tensor.1d.global.shared::cta.") +
                                     op + ".bulk_group [%rd2, {0}], [%r1];" + done);
    EXPECT_TRUE(ran.has("tensor-copy-invalid")) << op << ran.text();
  }
}

TEST(TensorCopy, Im2colLoadsStoresAndReductions) {
  // 4 channels of 8 pixels; the box of bases leaves out the last row and column, offsets reach
  // them.
  for (uint32_t rank = 3; rank <= 5; ++rank) {
    Tensor t{rank, TensorDataType::U32, true};
    const char *zero[] = {"0", "0", "0", "0", "0"};
    const char *offsetText[] = {"%rs1", "%rs2", "%rs3"};
    std::vector<uint32_t> wanted, atBase;
    int64_t base[3] = {0, 0, 0}, image = 0;
    for (int pixel = 0; pixel < 8; ++pixel) {
      for (int64_t c = 0; c < 4; ++c) {
        std::vector<int64_t> at{c}, plain{c};
        for (uint32_t d = 0; d + 2 < rank; ++d) {
          at.push_back(base[d] + (d == 0));
          plain.push_back(base[d]);
        }
        at.push_back(image);
        plain.push_back(image);
        wanted.push_back(static_cast<uint32_t>(t.index(at) + 1));
        atBase.push_back(static_cast<uint32_t>(t.index(plain)));
      }
      uint32_t d = 0;
      for (; d + 2 < rank && ++base[d] > 2; ++d)
        base[d] = 0;
      image += d + 2 == rank;
    }
    const std::string coords = braces(rank, zero), offsets = braces(rank - 2, offsetText);
    const std::string setup =
        "mov.u16 %rs1, 1; mov.u16 %rs2, 0; mov.u16 %rs3, 0;" + policy + "mov.u16 %rs4, 1;";
    const std::string name = std::string("cp.async.bulk.tensor.") + names[rank];
    for (std::string form :
         {name + ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd2, " +
              coords + "], [%r2], " + offsets + ";",
          name +
              ".shared::cta.global.im2col.mbarrier::complete_tx::bytes.L2::cache_hint [%r1], "
              "[%rd2, " +
              coords + "], [%r2], " + offsets + ", %rd9;",
          name +
              ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster "
              "[%r1], [%rd2, " +
              coords + "], [%r2], " + offsets + ", %rs4;",
          name +
              ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster.L2::"
              "cache_hint [%r1], [%rd2, " +
              coords + "], [%r2], " + offsets + ", %rs4, %rd9;"}) {
      TensorRun ran = runTensor(t, setup + expect + "128;" + form + wait + report(128));
      ASSERT_TRUE(ran.result.clean()) << form << ran.text();
      ran.out.resize(32);
      EXPECT_EQ(ran.out, wanted) << form;
    }
    TensorRun stored =
        runTensor(t, fill(32) + name + ".global.shared::cta.im2col_no_offs.bulk_group [%rd2, " +
                         coords + "], [%r1];" + done);
    ASSERT_TRUE(stored.result.clean()) << stored.text();
    TensorRun reduced =
        runTensor(t, fill(32) + "cp.reduce.async.bulk.tensor." + names[rank] +
                         ".global.shared::cta.add.im2col_no_offs.bulk_group [%rd2, " + coords +
                         "], [%r1];" + done);
    ASSERT_TRUE(reduced.result.clean()) << reduced.text();
    for (uint32_t i = 0; i < 32; ++i) {
      EXPECT_EQ(stored.tensor[atBase[i]], 1000 + i);
      EXPECT_EQ(reduced.tensor[atBase[i]], 1000 + i + atBase[i] + 1);
    }
    TensorRun prefetched = runTensor(
        t, setup + "cp.async.bulk.prefetch.tensor." + names[rank] + ".L2.global.im2col [%rd2, " +
               coords + "], " + offsets + "; cp.async.bulk.prefetch.tensor." + names[rank] +
               ".L2.global.im2col.L2::cache_hint [%rd2, " + coords + "], " + offsets + ", %rd9;");
    EXPECT_TRUE(prefetched.result.clean()) << prefetched.text();
  }
}

TEST(BulkCopy, EveryDirection) {
  // Rank 0 acts; the words arrive in rank 1 where it says so, which reports them.
  struct Row {
    const char *text;
    bool remote;
  };
  for (Row row :
       {Row{"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd1], 32, "
            "[%r11];",
            true},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r1], "
         "[%rd1], 32, [%r2], %rd9;",
         false},
        {"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 32, [%r2];",
         false},
        {"cp.async.bulk.weak.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r1], "
         "[%rd1], 32, [%r2], %rd9;",
         false},
        {"mov.u16 %rs1, 2; "
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
         "[%r1], [%rd1], 32, [%r2], %rs1;",
         true},
        {"mov.u16 %rs1, 2; "
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::"
         "cache_hint [%r1], [%rd1], 32, [%r2], %rs1, %rd9;",
         true},
        {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r10], [%r12], "
         "32, [%r11];",
         true}})
    for (Adversary adversary : adversaries) {
      const std::string waiter = row.remote ? "1" : "0";
      TensorRun ran = runTensor(
          Tensor{1},
          policy +
              "add.u32 %r12, %r1, 512; mov.u32 %r13, 0; L: shl.b32 %r14, %r13, 2; add.u32 %r15, "
              "%r14, %r12; add.u32 %r16, %r13, 1; st.shared.u32 [%r15], %r16; add.u32 %r13, %r13, "
              "1; setp.lt.u32 %p3, %r13, 8; @%p3 bra L; fence.proxy.async; "
              "mapa.shared::cluster.u32 %r10, %r1, 1; mapa.shared::cluster.u32 %r11, %r2, 1; "
              "mov.u32 %r20, %cluster_ctarank; barrier.cluster.arrive; barrier.cluster.wait; "
              "setp.eq.u32 %p4, %r20, " +
              waiter + "; @%p4 " + expect +
              "32; setp.eq.u32 %p5, "
              "%r20, 0; @!%p5 bra SKIP;" +
              row.text + "SKIP: @!%p4 bra OUT;" + wait + report(32) +
              "OUT: barrier.cluster.arrive; barrier.cluster.wait;",
          adversary, 1, 1, 2);
      ASSERT_TRUE(ran.result.clean()) << row.text << ran.text();
      ran.out.resize(8);
      EXPECT_EQ(ran.out, ascending(8)) << row.text;
    }
}

TEST(BulkCopy, WhatNobodyHasWrittenStaysUndefinedInTheCopy) {
  // Of the tensor's words only the first two are written.
  const std::string head = "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;";
  const std::string tail =
      "W: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra W; ld.shared.u32 %r5, [sm+";
  for (const char *copy :
       {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sm], [%rd1], 16, "
        "[bar];",
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [sm], "
        "[%rd2, {%r0}], [bar];"})
    for (uint32_t word = 0; word < 4; ++word) {
      SCOPED_TRACE(std::string(copy) + " word " + std::to_string(word));
      TensorRun ran = runTensor(
          {1}, head + copy + tail + std::to_string(4 * word) + "]; st.global.u32 [%rd0], %r5;",
          Adversary::None, 0, 1, 1, 1, 8);
      EXPECT_EQ(ran.has("undefined-value"), word >= 2) << ran.text();
      if (word < 2) {
        EXPECT_TRUE(ran.result.clean()) << ran.text();
        EXPECT_EQ(ran.out[0], word + 1);
      }
    }
}
TEST(BulkCopy, IgnoresBytesThatMayNotExist) {
  // 4 bytes at the start and 12 at the end are ignored.
  TensorRun ran = runTensor(
      Tensor{1},
      fill(8) + expect +
          "32; mov.u32 %r8, 4; "
          "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [%r1], "
          "[%rd1], 32, %r8, 12, [%r2];" +
          wait +
          "ld.shared.u32 %r9, [sm+4]; st.global.u32 [%rd0], %r9; ld.shared.u32 %r9, "
          "[sm+16]; st.global.u32 [%rd0+4], %r9;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[0], 2u);
  EXPECT_EQ(ran.out[1], 5u);
  // What was ignored is indeterminate.
  TensorRun used =
      runTensor(Tensor{1}, expect +
                               "32; cp.async.bulk.shared::cta.global.mbarrier::"
                               "complete_tx::bytes.ignore_oob [%r1], [%rd1], 32, 4, 0, [%r2];" +
                               wait + "ld.shared.u32 %r9, [sm]; st.global.u32 [%rd0], %r9;");
  EXPECT_TRUE(used.has("undefined-value")) << used.text();
  TensorRun many = runTensor(
      Tensor{1}, expect + "32; cp.async.bulk.shared::cta.global.mbarrier::"
                          "complete_tx::bytes.ignore_oob [%r1], [%rd1], 32, 16, 0, [%r2];");
  EXPECT_TRUE(many.has("bulk-copy-invalid")) << many.text();
}

TEST(BulkReduction, EveryOperationAndType) {
  struct Row {
    const char *op, *type;
    uint64_t memory, operand, result;
    bool shared; ///< also between CTAs
  };
  auto f = [](float v) { return uint64_t(std::bit_cast<uint32_t>(v)); };
  auto d = [](double v) { return std::bit_cast<uint64_t>(v); };
  const uint64_t m1 = ~uint64_t(0), w1 = 0xffffffff;
  for (Row row : {Row{"add", "u32", 5, 7, 12, true},
                  {"add", "s32", 5, w1, 4, true},
                  {"add", "u64", 5, m1, 4, true},
                  {"add", "f32", f(1), f(2), f(3), false},
                  {"add", "f32", 9, 0, 0, false},
                  {"add", "f64", d(1), d(2), d(3), false},
                  {"add.noftz", "f16", 0x3c00, 0x4000, 0x4200, false},
                  {"add.noftz", "bf16", 0x0001, 0x0001, 0x0002, false},
                  {"min", "u32", 5, w1, 5, true},
                  {"min", "s32", 5, w1, w1, true},
                  {"max", "u32", 5, w1, w1, true},
                  {"max", "s32", 5, w1, 5, true},
                  {"min", "u64", 5, m1, 5, false},
                  {"min", "s64", 5, m1, m1, false},
                  {"max", "u64", 5, m1, m1, false},
                  {"max", "s64", 5, m1, 5, false},
                  {"min", "f16", 0x3c00, 0xc000, 0xc000, false},
                  {"max", "bf16", 0x3f80, 0x4000, 0x4000, false},
                  {"inc", "u32", 5, 5, 0, true},
                  {"dec", "u32", 5, 3, 3, true},
                  {"and", "b32", 12, 10, 8, true},
                  {"or", "b32", 12, 10, 14, true},
                  {"xor", "b32", 12, 10, 6, true},
                  {"and", "b64", m1, uint64_t(1) << 40, uint64_t(1) << 40, false},
                  {"or", "b64", 1, uint64_t(1) << 40, (uint64_t(1) << 40) + 1, false},
                  {"xor", "b64", m1, 1, m1 - 1, false}}) {
    const std::string suffix = std::string(".") + row.op + "." + row.type;
    const std::string values = "mov.u64 %rd5, " + std::to_string(row.memory) + "; mov.u64 %rd6, " +
                               std::to_string(row.operand) + "; mov.u64 %rd7, 0;";
    for (std::string hint : {"", ".L2::cache_hint"})
      for (Adversary adversary : adversaries) {
        TensorRun ran = runTensor(Tensor{1},
                                  values + policy +
                                      "st.global.u64 [%rd1], %rd5; st.global.u64 [%rd1+8], %rd7; "
                                      "st.shared.v2.u64 [sm], {%rd6, %rd7}; fence.proxy.async;"
                                      "cp.reduce.async.bulk.global.shared::cta.bulk_group" +
                                      hint + suffix + " [%rd1], [%r1], 16" +
                                      (hint.empty() ? ";" : ", %rd9;") + done,
                                  adversary);
        ASSERT_TRUE(ran.result.clean()) << suffix << ran.text();
        EXPECT_EQ(ran.tensor[0] | uint64_t(ran.tensor[1]) << 32, row.result) << suffix;
      }
    if (!row.shared)
      continue;
    TensorRun ran = runTensor(
        Tensor{1},
        values +
            "mov.u32 %r20, %cluster_ctarank; setp.eq.u32 %p4, %r20, 1; @%p4 st.shared.v2.u64 [sm], "
            "{%rd5, %rd7}; @!%p4 st.shared.v2.u64 [sm], {%rd6, %rd7};"
            "fence.proxy.async; mapa.shared::cluster.u32 %r10, %r1, 1; mapa.shared::cluster.u32 "
            "%r11, %r2, 1; @%p4 " +
            expect +
            "16; barrier.cluster.arrive; barrier.cluster.wait;"
            "@%p4 bra TAKE; "
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes" +
            suffix + " [%r10], [%r1], 16, [%r11]; bra OUT; TAKE:" + wait +
            "ld.shared.u64 %rd8, [sm]; st.global.u64 [%rd0], %rd8; OUT: barrier.cluster.arrive; "
            "barrier.cluster.wait;",
        Adversary::None, 0, 1, 2);
    ASSERT_TRUE(ran.result.clean()) << suffix << ran.text();
    EXPECT_EQ(ran.out[0] | uint64_t(ran.out[1]) << 32, row.result) << suffix;
  }
}

TEST(BulkReduction, ClustersAddIntoTheSameMemory) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    TensorRun ran = runTensor(
        Tensor{1},
        "mov.u32 %r5, 1; st.shared.v4.u32 [sm], {%r5, %r5, %r5, %r5}; fence.proxy.async;"
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16;"
        "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%rd2, {0}], [%r1];" +
            done,
        Adversary::None, seed, 1, 1, 40);
    ASSERT_TRUE(ran.result.clean()) << ran.text();
    for (uint32_t i = 0; i < 4; ++i)
      EXPECT_EQ(ran.tensor[i], i + 1 + 80);
  }
}

TEST(TensorCopy, PrefetchesOfEveryForm) {
  for (uint32_t rank = 1; rank <= 5; ++rank) {
    const std::string name =
        std::string("cp.async.bulk.prefetch.tensor.") + names[rank] + ".L2.global";
    const std::string place = " [%rd2, " + braces(rank, coordinateText) + "]";
    TensorRun ran = runTensor(
        Tensor{rank}, policy + name + place + ";" + name + ".tile" + place + ";" + name +
                          ".tile.L2::cache_hint" + place +
                          ", %rd9;"
                          "cp.async.bulk.prefetch.L2.global [%rd1], 32; "
                          "cp.async.bulk.prefetch.L2.global.L2::cache_hint [%rd1], 16, %rd9;"
                          "prefetch.tensormap [%rd2];");
    EXPECT_TRUE(ran.result.clean()) << ran.text();
  }
}

// Maps that a kernel edits.

/// One warp: lane 0 copies the map to shared memory and edits it there; the warp copies it to
/// global memory and, in between as given, uses it: the tensor is 2-D with its base 32 words
/// further on.
std::string edited(const std::string &after) {
  return "mov.u32 %r5, smap; @!%p1 bra EDITED; mov.u32 %r6, 0; C: cvt.u64.u32 %rd6, %r6; add.u64 "
         "%rd7, %rd2, %rd6; ld.u32 %r7, [%rd7]; add.u32 %r8, %r5, %r6; st.shared.u32 [%r8], %r7; "
         "add.u32 %r6, %r6, 4; setp.lt.u32 %p3, %r6, 128; @%p3 bra C; add.u64 %rd8, %rd1, 32; "
         "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r5], %rd8; "
         "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r5], 1, 3; EDITED: "
         "bar.warp.sync -1;" +
         after + "@!%p1 bra OUT;" + expect +
         "32; cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], "
         "[%rd3, "
         "{0, 0}], [%r2];" +
         wait + report(32) + "OUT:";
}
const std::string publish = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release."
                            "gpu.sync.aligned [%rd3], "
                            "[%r5], 128;";
const std::string acquire = "fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;";

TEST(TensorMapEdit, IsUsedAfterItsFences) {
  Tensor t{2};
  for (std::string scope : {"cta", "cluster", "gpu", "sys"}) {
    std::string pub = publish, acq = acquire;
    pub.replace(pub.find(".gpu"), 4, "." + scope);
    acq.replace(acq.find(".gpu"), 4, "." + scope);
    TensorRun ran = runTensor(t, edited(pub + acq), Adversary::None, 1, 32);
    ASSERT_TRUE(ran.result.clean()) << ran.text();
    for (uint32_t i = 0; i < 8; ++i)
      EXPECT_EQ(ran.out[i], 8 + 8 * (i / 4) + i % 4 + 1);
  }
  TensorRun noAcquire = runTensor(t, edited(publish), Adversary::None, 1, 32);
  EXPECT_TRUE(noAcquire.has("tensormap-fence")) << noAcquire.text();
  TensorRun early = runTensor(t, edited(acquire + publish), Adversary::None, 1, 32);
  EXPECT_TRUE(early.has("tensormap-fence")) << early.text();
}

TEST(TensorMapEdit, InGlobalMemoryNeedsARelease) {
  Tensor t{2};
  auto use = [&](const std::string &fences) {
    return runTensor(
        t, "add.u64 %rd8, %rd1, 32; tensormap.replace.tile.global_address.global.b1024.b64 "
           "[%rd3], %rd8;" +
               fences + expect +
               "32; cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes "
               "[%r1], [%rd3, {0, 0}], [%r2];" +
               wait + report(32));
  };
  TensorRun right = use("fence.proxy.tensormap::generic.release.gpu;" + acquire);
  ASSERT_TRUE(right.result.clean()) << right.text();
  EXPECT_EQ(right.out[0], 9u);
  EXPECT_TRUE(use(acquire).has("tensormap-fence"));
  EXPECT_TRUE(use("fence.proxy.tensormap::generic.release.gpu;").has("tensormap-fence"));
}

TEST(TensorMapEdit, EveryFieldAndSpace) {
  // Units/Im2colTest.cpp says what the fields do; here each form is executed.
  std::string text = "mov.u32 %r6, 2; mov.u64 %rd6, 64; cvt.u64.u32 %rd7, %r1;";
  for (std::string space : {".global", ""}) {
    const std::string at = ".b1024";
    auto op = [&](const std::string &field, const std::string &type, const std::string &rest) {
      text +=
          "tensormap.replace.tile." + field + space + at + "." + type + " [%rd3], " + rest + ";";
    };
    op("global_address", "b64", "%rd1");
    op("rank", "b32", "1");
    op("rank", "b32", "%r6");
    op("box_dim", "b32", "1, %r6");
    op("global_dim", "b32", "1, 4");
    op("global_stride", "b64", "1, %rd6");
    op("element_stride", "b32", "1, 1");
    op("elemtype", "b32", "2");
    op("interleave_layout", "b32", "0");
    op("swizzle_mode", "b32", "0");
    op("fill_mode", "b32", "0");
  }
  TensorRun ran = runTensor(Tensor{2}, text);
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  for (const char *wrong :
       {"tensormap.replace.tile.elemtype.global.b1024.b32 [%rd0], 16;",
        "tensormap.replace.tile.elemtype.global.b1024.b32 [%rd0], %r1;",
        "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%rd0], 4;",
        "tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%rd0], 1;",
        "tensormap.replace.tile.global_stride.global.b1024.b64 [%rd0], 4, %rd1;",
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu."
        "sync.aligned [%rd0], [%r0], 64;"})
    EXPECT_NE(refusal(kernelText(wrong, {})), "") << wrong;
}

// Mistakes.

const std::string load2d =
    "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes ";
TEST(TensorCopy, MistakesAreReported) {
  Tensor tiled{2}, im2col{3, TensorDataType::U32, true};
  const std::string load = expect + "32;" + load2d;
  struct Row {
    const char *kind;
    const Tensor &tensor;
    std::string text;
  };
  for (const Row &row :
       {Row{"tensor-copy-invalid", tiled,
            expect + "32; cp.async.bulk.tensor.3d.shared::cta.global.mbarrier::complete_tx::bytes "
                     "[%r1], [%rd2, {0, 0, 0}], [%r2];"},
        {"tensor-copy-invalid", im2col,
         expect + "32; cp.async.bulk.tensor.3d.shared::cta.global.mbarrier::complete_tx::bytes "
                  "[%r1], [%rd2, {0, 0, 0}], [%r2];"},
        {"tensor-copy-invalid", tiled,
         "cp.async.bulk.prefetch.tensor.3d.L2.global [%rd2, {0, 0, 0}];"},
        {"tensor-copy-invalid", im2col,
         "mov.u16 %rs1, 0; cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%rd2, {0, 3, 0}], "
         "{%rs1};"},
        {"tensor-copy-invalid", tiled, load + "[%r1+64], [%rd2, {0, 0}], [%r2];"},
        {"tensor-map-invalid", tiled, load + "[%r1], [%rd2+32, {0, 0}], [%r2];"},
        {"tensor-map-invalid", tiled, load + "[%r1], [%rd1, {0, 0}], [%r2];"},
        {"tensor-map-invalid", tiled,
         "mov.u64 %rd5, smap; cvta.shared.u64 %rd5, %rd5;" + load +
             "[%r1], [%rd5, {0, 0}], [%r2];"},
        {"tensor-map-invalid", tiled,
         "mov.u32 %r5, 9; tensormap.replace.tile.element_stride.global.b1024.b32 [%rd3], 1, %r5; "
         "fence.proxy.tensormap::generic.release.gpu; fence.proxy.tensormap::generic.acquire.gpu "
         "[%rd3], 128;" +
             load + "[%r1], [%rd3, {0, 0}], [%r2];"},
        {"tensor-map-invalid", tiled, "tensormap.replace.tile.rank.global.b1024.b32 [%rd1], 1;"},
        {"tensor-map-invalid", tiled, "tensormap.replace.tile.rank.b1024.b32 [%rd2], 1;"},
        {"multicast-mask", tiled,
         "mov.u16 %rs1, 4; "
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
         "[%r1], [%rd1], 32, [%r2], %rs1;"},
        {"bulk-copy-invalid", tiled, "cp.async.bulk.prefetch.L2.global [%rd1], 8;"},
        {"bulk-copy-invalid", tiled, "cp.async.bulk.prefetch.L2.global [%rd1+8], 16;"},
        {"bulk-copy-invalid", tiled,
         "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 24;"},
        {"bulk-copy-invalid", tiled,
         expect + "32; cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                  "[%r1], [%r1+512], 32, [%r2];"},
        {"global-out-of-bounds", tiled, "cp.async.bulk.prefetch.L2.global [%rd1+1048576], 16;"},
        {"missing-proxy-fence", tiled,
         "st.shared.v4.u32 [sm], {%r1, %r1, %r1, %r1}; "
         "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16;" +
             done},
        {"async-overwrite", tiled,
         "st.shared.v4.u32 [sm], {%r1, %r1, %r1, %r1}; fence.proxy.async; "
         "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16; "
         "cp.async.bulk.commit_group; st.shared.u32 [sm], %r1; cp.async.bulk.wait_group 0;"},
        {"uninitialised-shared", tiled,
         "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16;" + done}}) {
    TensorRun ran = runTensor(row.tensor, row.text);
    EXPECT_TRUE(ran.has(row.kind)) << row.kind << ": " << row.text << "\n" << ran.text();
  }
}

TEST(TensorCopy, RefusesWhatPtxDoesNotHave) {
  for (const char *text :
       {"cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes.cta_group::1 "
        "[%r0], [%rd0, {%r1,%r2}], [%r3];",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes "
        "[%r0], [%rd0, {%r1,%r2,%r3,%r4,%r5}], [%r3];",
        "cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r0], "
        "[%rd0, {%r1,%r2}], [%r3];",
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r0], "
        "[%rd0, {%r1,%r2,%r4,%r5}], [%r3];",
        "cp.async.bulk.prefetch.tensor.4d.L2.global.im2col_no_offs [%rd0, {%r1,%r2,%r3,%r4}];",
        "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd0], [%r3], %r1, %rs0;",
        "cp.async.bulk.shared::cta.shared::cta.mbarrier::complete_tx::bytes [%r0], [%r3], %r1, "
        "[%r2];",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%rd0], [%r1], %r2;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s64 [%rd0], [%r1], %r2;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32 [%rd0], [%r1], %r2;",
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.f32 "
        "[%r0], [%r1], %r2, [%r3];",
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.min.s64 "
        "[%r0], [%r1], %r2, [%r3];"})
    EXPECT_NE(refusal(kernelText(text, {})), "") << text;
}

TEST(CopyForms, OfPublicKernelsLoad) {
  std::ifstream file(GIRIH_EMULATOR_INPUTS "/copy_forms.ptx");
  std::stringstream text;
  text << file.rdbuf();
  ASSERT_GT(text.str().size(), 4000u);
  EXPECT_EQ(refusal(text.str()), "");
}

} // namespace
