// Special registers (PTX ISA 9.0, chapter 10): a row per register with the value that the launch
// gives it, and those that are refused.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;
using testing::HasSubstr;

namespace {

struct Row {
  const char *name;
  uint32_t value; ///< in thread 37 of CTA 3
};

// Grid 4, block 64, clusters of 2, 132 multiprocessors, 256 bytes of dynamic and none of static
// shared memory.
const Row rows[] = {
    {"%tid.x", 37},
    {"%tid.y", 0},
    {"%tid.z", 0},
    {"%ntid.x", 64},
    {"%ntid.y", 1},
    {"%ntid.z", 1},
    {"%laneid", 5},
    {"%warpid", 1},
    {"%nwarpid", 2},
    {"%ctaid.x", 3},
    {"%ctaid.y", 0},
    {"%ctaid.z", 0},
    {"%nctaid.x", 4},
    {"%nctaid.y", 1},
    {"%nctaid.z", 1},
    {"%smid", 3},
    {"%nsmid", 132},
    {"%is_explicit_cluster", 1},
    {"%clusterid.x", 1},
    {"%clusterid.y", 0},
    {"%clusterid.z", 0},
    {"%nclusterid.x", 2},
    {"%nclusterid.y", 1},
    {"%nclusterid.z", 1},
    {"%cluster_ctaid.x", 1},
    {"%cluster_ctaid.y", 0},
    {"%cluster_ctaid.z", 0},
    {"%cluster_nctaid.x", 2},
    {"%cluster_nctaid.y", 1},
    {"%cluster_nctaid.z", 1},
    {"%cluster_ctarank", 1},
    {"%cluster_nctarank", 2},
    {"%lanemask_eq", 1u << 5},
    {"%lanemask_lt", 0x1f},
    {"%lanemask_le", 0x3f},
    {"%lanemask_gt", 0xffffffc0},
    {"%lanemask_ge", 0xffffffe0},
    {"%dynamic_smem_size", 256},
    {"%total_smem_size", 256},
    {"%aggr_smem_size", 1280}, // with the KiB that the system keeps
    {"%reserved_smem_offset_begin", 0},
    {"%reserved_smem_offset_end", 1024},
    {"%reserved_smem_offset_cap", 1024},
    {"%gridid", 1},  // the device's first launch
    {"%envreg2", 0}, // set by the driver, for cooperative launches only
};

TEST(SpecialRegister, Values) {
  for (const Row &row : rows) {
    Ran ran = run(std::string("mov.u32 %r9, ") + row.name + "; st.global.u32 [%rd1], %r9;",
                  {.grid = 4, .block = 64, .cluster = 2, .dynamicShared = 256});
    EXPECT_TRUE(ran.result.clean()) << row.name << ran.text();
    EXPECT_EQ(ran.out[3 * 64 + 37], row.value) << row.name;
  }
}

TEST(SpecialRegister, OtherOperandsOfMoveAndConversion) {
  Ran ran =
      run("cvt.u64.u32 %rd3, %laneid; mov.u64 %rd4, %gridid; mov.u64 %rd5, "
          "%current_graph_exec; add.u64 %rd3, %rd3, %rd5; shl.b64 %rd4, %rd4, 8; add.u64 %rd3, "
          "%rd3, %rd4; cvt.u32.u64 %r9, %rd3; add.u32 %r9, %r9, WARP_SZ; st.global.u32 [%rd1], "
          "%r9;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[7], 7u + 256 + 32);
}

TEST(SpecialRegister, ClocksAdvance) {
  for (const char *pair :
       {"mov.u32 %r5, %clock; mov.u32 %r6, %clock; sub.u32 %r9, %r6, %r5;",
        "mov.u64 %rd5, %clock64; mov.u64 %rd6, %clock64; sub.u64 %rd5, %rd6, "
        "%rd5; cvt.u32.u64 %r9, %rd5;",
        "mov.u64 %rd5, %globaltimer; mov.u64 %rd6, %globaltimer; sub.u64 %rd5, "
        "%rd6, %rd5; cvt.u32.u64 %r9, %rd5;",
        "mov.u32 %r5, %globaltimer_lo; mov.u32 %r6, %globaltimer_lo; sub.u32 %r9, "
        "%r6, %r5; mov.u32 %r7, %globaltimer_hi; mov.u64 %rd5, %globaltimer; shr.u64 %rd5, "
        "%rd5, 32; cvt.u32.u64 %r8, %rd5; sub.u32 %r8, %r8, %r7; add.u32 %r9, %r9, %r8; "
        "mov.u32 %r8, %clock_hi; add.u32 %r9, %r9, %r8;"}) {
    Ran ran = run(std::string(pair) + "st.global.u32 [%rd1], %r9;");
    EXPECT_TRUE(ran.result.clean()) << ran.text();
    EXPECT_GT(ran.out[0], 0u) << pair;
    EXPECT_LT(ran.out[0], 1u << 20) << pair;
  }
  // A wait that ends by the clock alone ends.
  Ran ran = run("mov.u64 %rd5, %clock64; L: mov.u64 %rd6, %clock64; sub.u64 %rd7, %rd6, %rd5; "
                "setp.lt.u64 %p0, %rd7, 1000; @%p0 bra L;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
}

TEST(SpecialRegister, Refused) {
  auto load = [](const std::string &body) { return refusal(kernelText(body, {})); };
  EXPECT_THAT(load("mov.u32 %r1, %envreg32;"), HasSubstr("'%envreg32' is not modelled"));
  EXPECT_THAT(load("mov.u32 %r1, %pm0;"), HasSubstr("there are no performance counters"));
  EXPECT_THAT(load("mov.u32 %r1, %clock64;"), HasSubstr("'%clock64' has 64 bits, 32 are needed"));
  EXPECT_THAT(load("mov.u64 %rd1, %tid.x;"), HasSubstr("'%tid.x' has 32 bits, 64 are needed"));
  EXPECT_THAT(load("mov.u32 %r1, %nonsense;"),
              HasSubstr("special register '%nonsense' is not modelled"));
  EXPECT_THAT(load("mov.u32 %tid.x, 1;"), HasSubstr("the destination must be a register"));
}

} // namespace
