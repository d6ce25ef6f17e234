// RUN: girih-opt %s -convert-wg-to-nvvm -mlir-print-debuginfo=false | FileCheck %s

// One elect.sync for a role, at its start and so outside its loops; the tensor maps are prefetched by the thread that
// uses them. A role in one lane asks nothing more.
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: llvm.func @roles
  // CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx
  // CHECK-NOT: nvvm.shfl.sync
  gpu.func @roles(%A: !wg.view<bf16, box = [64, 64], swizzle = 128>, %n: i32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %bar = wg.alloc_barrier {offset = 8192 : i32} : !wg.barrier<1>
    %buf = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x64xbf16, swizzle = 128>
    %id = gpu.subgroup_id : index
    %warp = arith.index_cast %id : index to i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    // CHECK: scf.if
    scf.if %first {
      // CHECK: nvvm.elect.sync
      %e = wg.elect : i1
      // CHECK: scf.if
      scf.if %e {
        // CHECK: "prefetch.tensormap [$0];"
        // CHECK-NOT: nvvm.elect.sync
        // CHECK: "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {$2, $3}], [$4];"
        wg.tma_load %A[%n, %n] to %buf barrier(%bar[%c0] : !wg.barrier<1>) : !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.buffer<64x64xbf16, swizzle = 128>
      } {wg.role = {first = 0 : i32, name = "load", single = true, warps = 1 : i32}}
    }
    %second = arith.cmpi ult, %warp, %c1 : i32
    // CHECK: scf.if
    scf.if %second {
      // CHECK: %[[E:.*]] = nvvm.elect.sync
      // CHECK: llvm.and %{{.*}}, %[[E]]
      // CHECK: %[[LEADER:.*]] = llvm.and %{{.*}}, %[[E]]
      // CHECK: "@$0 prefetch.tensormap [$1];", "b,l,~{memory}" %[[LEADER]]
      // CHECK: scf.for
      // CHECK-NOT: nvvm.elect.sync
      // CHECK: scf.if %[[E]]
      scf.for %k = %c0 to %n step %c1 : i32 {
        %mine = wg.elect : i1
        scf.if %mine {
          wg.barrier_arrive %bar[%c0] : !wg.barrier<1>
        }
        wg.tma_store %buf to %A[%n, %k] : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>
      }
    } {wg.role = {first = 1 : i32, name = "work", single = false, warps = 4 : i32}}
    gpu.return
  }
}
