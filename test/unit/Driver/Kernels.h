// PTX that the driver's tests run, written by hand.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_TEST_UNIT_DRIVER_KERNELS_H
#define GIRIH_TEST_UNIT_DRIVER_KERNELS_H

namespace girih::cuda {

/// add(a, b, c, n): c[i] = a[i] + b[i] for i < n; one thread an element. Its store carries location
/// number 2.
inline constexpr const char *addPtx = R"(
.version 8.0
.target sm_90a
.address_size 64
.file 1 "add"

.visible .entry add(.param .u64 add_param_0, .param .u64 add_param_1,
                    .param .u64 add_param_2, .param .u32 add_param_3)
{
  .reg .pred %p<2>;
  .reg .f32 %f<4>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<12>;
  .loc 1 2 1
  ld.param.u64 %rd1, [add_param_0];
  ld.param.u64 %rd2, [add_param_1];
  ld.param.u64 %rd3, [add_param_2];
  ld.param.u32 %r1, [add_param_3];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd4, %rd1;
  cvta.to.global.u64 %rd5, %rd2;
  cvta.to.global.u64 %rd6, %rd3;
  mul.wide.u32 %rd7, %r5, 4;
  add.s64 %rd8, %rd4, %rd7;
  add.s64 %rd9, %rd5, %rd7;
  add.s64 %rd10, %rd6, %rd7;
  ld.global.f32 %f1, [%rd8];
  ld.global.f32 %f2, [%rd9];
  add.f32 %f3, %f1, %f2;
  .loc 1 5 2
  st.global.f32 [%rd10], %f3;
DONE:
  ret;
}
)";

/// copy(from, to, x, y): one thread moves a box of 32 x 16 words from one tensor map to the other
/// through shared memory.
inline constexpr const char *copyPtx = R"(
.version 8.0
.target sm_90a
.address_size 64

.visible .entry copy(.param .align 64 .b8 copy_param_0[128], .param .align 64 .b8 copy_param_1[128],
                     .param .u32 copy_param_2, .param .u32 copy_param_3)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  .shared .align 1024 .b8 tile[2048];
  .shared .align 8 .b64 full;
  mov.b64 %rd1, copy_param_0;
  cvta.param.u64 %rd2, %rd1;
  mov.b64 %rd3, copy_param_1;
  cvta.param.u64 %rd4, %rd3;
  ld.param.u32 %r1, [copy_param_2];
  ld.param.u32 %r2, [copy_param_3];
  mov.u32 %r3, tile;
  mov.u32 %r4, full;
  mbarrier.init.shared::cta.b64 [%r4], 1;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 2048;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
      [%r3], [%rd2, {%r1, %r2}], [%r4];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r4], 0;
  @!%p1 bra WAIT;
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd4, {%r1, %r2}], [%r3];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
}
)";

/// count(n): one thread counts to n.
inline constexpr const char *countPtx = R"(
.version 8.0
.target sm_90a
.address_size 64

.visible .entry count(.param .u64 count_param_0)
{
  .reg .pred %p<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [count_param_0];
  mov.u64 %rd2, 0;
AGAIN:
  add.s64 %rd2, %rd2, 1;
  setp.lt.u64 %p1, %rd2, %rd1;
  @%p1 bra AGAIN;
  ret;
}
)";

/// shape(): a kernel with requirements: 64 threads, 1024 bytes of static shared memory.
inline constexpr const char *shapePtx = R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .global .align 4 .b8 table[64];

.visible .entry shape()
.reqntid 64, 1, 1
{
  .reg .b32 %r<4>;
  .shared .align 16 .b8 buffer[1024];
  mov.u32 %r1, buffer;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r2, 4, %r1;
  st.shared.u32 [%r3], %r2;
  ret;
}
)";

} // namespace girih::cuda

#endif // GIRIH_TEST_UNIT_DRIVER_KERNELS_H
