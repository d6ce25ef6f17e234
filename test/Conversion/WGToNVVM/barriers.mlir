// RUN: girih-opt %s -convert-wg-to-nvvm -mlir-print-debuginfo=false | FileCheck %s

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // CHECK: llvm.mlir.global external @girih_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  // CHECK-LABEL: llvm.func @barriers
  // CHECK-SAME: %[[I:[^:]*]]: i32, %[[P:[^:]*]]: i32
  // The warp's index is broadcast once.
  // CHECK: nvvm.shfl.sync idx
  // CHECK-NOT: nvvm.shfl.sync
  gpu.func @barriers(%i: i32, %p: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // CHECK: %[[BASE:.*]] = llvm.ptrtoint
    // CHECK: %[[BAR:.*]] = llvm.add %[[BASE]], %{{.*}}
    %bar = wg.alloc_barrier {offset = 64 : i32} : !wg.barrier<2>
    // CHECK: "mbarrier.init.shared::cta.b64 [$0], 8;", "r,~{memory}" %[[BAR]]
    // CHECK: "mbarrier.init.shared::cta.b64 [$0], 8;"
    wg.barrier_init %bar count(8) : !wg.barrier<2>
    // CHECK: "fence.mbarrier_init.release.cluster;"
    wg.barrier_init_fence
    // CHECK: %[[OFF:.*]] = llvm.shl %[[I]], %{{.*}} : i32
    // CHECK: %[[AT:.*]] = llvm.add %[[BAR]], %[[OFF]]
    // CHECK: "{\0A.reg .pred done;\0Aagain_${:uid}:\0Ambarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\0A@!done bra again_${:uid};\0A}", "r,r,~{memory}" %[[AT]], %[[P]]
    wg.barrier_wait %bar[%i] parity(%p) : !wg.barrier<2>
    // CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0];"
    wg.barrier_arrive %bar[%i] : !wg.barrier<2>
    // CHECK: "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], 49152;"
    wg.barrier_expect %bar[%i] bytes(49152) : !wg.barrier<2>
    // CHECK: "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$0], 16;"
    wg.barrier_expect_only %bar[%i] bytes(16) : !wg.barrier<2>
    // CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%[[I]], %{{.*}})
    wg.named_barrier_sync %i threads(128)
    // CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%[[I]], %{{.*}})
    wg.named_barrier_arrive %i threads(256)
    // CHECK: "fence.proxy.async.shared::cta;"
    wg.fence_proxy_async
    // CHECK: nvvm.setmaxregister increase 232
    wg.set_registers increase 232
    // CHECK: "@$0 cp.async.bulk.wait_group.read 1;"
    wg.bulk_wait read 1
    // CHECK: llvm.return
    gpu.return
  }

  // Waits of readers that stand one behind the other try again from the first. A phase that may go on without the waiting
  // warp is waited for apart, and so is one behind an arrival.
  // CHECK-LABEL: llvm.func @waits
  // CHECK-SAME: %[[I:[^:]*]]: i32, %[[P:[^:]*]]: i32
  // CHECK: %[[J:.*]] = arith.xori %[[I]], %[[P]]
  // CHECK: "{\0A.reg .pred done;\0Aagain_${:uid}:\0Ambarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\0A@!done bra again_${:uid};\0Ambarrier.try_wait.parity.shared::cta.b64 done, [$2], $3;\0A@!done bra again_${:uid};\0A}", "r,r,r,r,~{memory}" %{{.*}}, %[[P]], %{{.*}}, %[[P]]
  // CHECK: again_${:uid}:\0Ambarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\0A@!done bra again_${:uid};\0A}"
  // CHECK: again_${:uid}:\0Ambarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\0A@!done bra again_${:uid};\0A}"
  // CHECK: "mbarrier.arrive
  // CHECK: again_${:uid}:\0Ambarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\0A@!done bra again_${:uid};\0A}"
  gpu.func @waits(%i: i32, %p: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %bar = wg.alloc_barrier {offset = 64 : i32} : !wg.barrier<2>
    wg.barrier_wait %bar[%i] parity(%p) {held} : !wg.barrier<2>
    %j = arith.xori %i, %p : i32
    wg.barrier_wait %bar[%j] parity(%p) {held} : !wg.barrier<2>
    wg.barrier_wait %bar[%i] parity(%p) : !wg.barrier<2>
    wg.barrier_wait %bar[%i] parity(%p) {held} : !wg.barrier<2>
    wg.barrier_arrive %bar[%i] : !wg.barrier<2>
    wg.barrier_wait %bar[%i] parity(%p) {held} : !wg.barrier<2>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @cluster
  // CHECK-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
  // CHECK-SAME: wg.shared_bytes = 1024 : i32
  gpu.func @cluster() kernel attributes {known_block_size = array<i32: 128, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>, wg.shared_bytes = 1024 : i32} {
    gpu.return
  }
}

// A lane for each CTA of the cluster arrives there; the cluster meets.
gpu.module @clusters [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: llvm.func @cluster
  // CHECK: %[[LANE:.*]] = llvm.and %{{.*}}, %
  // CHECK: %[[HERE:.*]] = llvm.icmp "ult" %[[LANE]], %
  // CHECK: %[[CTA:.*]] = llvm.intr.umin(%[[LANE]], %
  // CHECK: "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r,~{memory}" %{{.*}}, %[[CTA]]
  // CHECK: "@$0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$1];", "b,r,~{memory}" %[[HERE]]
  // CHECK: "barrier.cluster.arrive;\0Abarrier.cluster.wait;"
  gpu.func @cluster(%i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
    %bar = wg.alloc_barrier {offset = 0 : i32} : !wg.barrier<2>
    wg.barrier_arrive_cluster %bar[%i] : !wg.barrier<2>
    wg.cluster_sync
    gpu.return
  }
}
