// Which state space a generic address belongs to (PTX ISA 9.0, 9.7.9.19 "isspacep").
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../KernelHarness.h"

#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

/// Addresses in %rd5: the answers for const, global, local, shared::cta, shared::cluster and param,
/// as bits 0 to 5.
struct Row {
  const char *address;
  uint32_t spaces;
};
const Row rows[] = {
    {"mov.u64 %rd5, fixed; cvta.const.u64 %rd5, %rd5;", 0x01},
    {"mov.u64 %rd5, var; cvta.global.u64 %rd5, %rd5;", 0x02},
    {"mov.u64 %rd5, %rd0;", 0x02},
    {".local .b8 mine[8]; mov.u64 %rd5, mine; cvta.local.u64 %rd5, %rd5;", 0x04},
    {"mov.u64 %rd5, buf; cvta.shared.u64 %rd5, %rd5;", 0x18},
    {"mov.u64 %rd5, buf; cvta.shared.u64 %rd5, %rd5; mov.u32 %r4, %cluster_ctarank; mapa.u64 %rd5, "
     "%rd5, %r4;",
     0x18},
    {"mov.u64 %rd5, buf; cvta.shared.u64 %rd5, %rd5; mov.u32 %r4, %cluster_ctarank; xor.b32 %r4, "
     "%r4, 1; mapa.u64 %rd5, %rd5, %r4;",
     0x10},
    // Parameters lie in the global window.
    {"mov.u64 %rd5, p_out; cvta.param.u64 %rd5, %rd5;", 0x22},
};
class Spaces : public testing::TestWithParam<size_t> {};
TEST_P(Spaces, OfAnAddress) {
  const Row &row = rows[GetParam()];
  std::string body = std::string(row.address) + " mov.u32 %r9, 0;";
  int bit = 1;
  for (const char *space :
       {"const", "global", "local", "shared::cta", "shared::cluster", "param"}) {
    body += std::string(" isspacep.") + space + " %p2, %rd5; selp.u32 %r8, " + std::to_string(bit) +
            ", 0, %p2; or.b32 %r9, %r9, %r8;";
    bit *= 2;
  }
  Ran ran = run(body + " st.global.u32 [%rd1], %r9;",
                {.grid = 2,
                 .cluster = 2,
                 .module = ".const .align 4 .b8 fixed[8]; .global .align 4 .b8 var[8]; .shared "
                           ".align 4 .b8 buf[8];"});
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[0], row.spaces) << row.address;
  EXPECT_EQ(ran.out[40], row.spaces) << row.address;
}
INSTANTIATE_TEST_SUITE_P(All, Spaces, testing::Range(size_t(0), std::size(rows)));

} // namespace
