// RUN: girih-opt %s -wg-lower-turns -split-input-file -mlir-print-debuginfo=false | FileCheck %s

// Two turns among two warpgroups take barriers 6 and 7, then 4 and 5. At the role's start warpgroup 1 arrives for
// warpgroup 0, who has the first turn.
// CHECK-LABEL: gpu.func @alternate
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @alternate() kernel {
    // CHECK-NOT: wg.turns
    %one = wg.turns : !wg.turns<2>
    %two = wg.turns : !wg.turns<2>
    wg.specialize {
      // CHECK: wg.role @multiply
      wg.role @multiply warpgroups(2) each {
        // CHECK: %[[W:.*]] = wg.warpgroup_index
        // CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[W]], %c1
        // CHECK: %[[C4:.*]] = arith.constant 4 : i32
        // CHECK: %[[TWO:.*]] = arith.addi %[[W]], %[[C4]]
        // CHECK: %[[AFTER:.*]] = arith.addi %[[TWO]], %
        // CHECK: %[[NEXT:.*]] = arith.select %[[LAST]], %[[C4]], %[[AFTER]]
        // CHECK: scf.if %[[LAST]] {
        // CHECK-NEXT: wg.named_barrier_arrive %[[C4]] threads(256)
        // CHECK: %[[C6:.*]] = arith.constant 6 : i32
        // CHECK: %[[ONE:.*]] = arith.addi %{{.*}}, %[[C6]]
        // CHECK: wg.named_barrier_arrive %[[C6]] threads(256)
        // CHECK: wg.named_barrier_sync %[[ONE]] threads(256)
        wg.take_turn %one : !wg.turns<2>
        // CHECK-NEXT: wg.named_barrier_arrive %{{.*}} threads(256)
        wg.pass_turn %one : !wg.turns<2>
        // CHECK-NEXT: wg.named_barrier_sync %[[TWO]] threads(256)
        wg.take_turn %two : !wg.turns<2>
        // CHECK-NEXT: wg.named_barrier_arrive %[[NEXT]] threads(256)
        wg.pass_turn %two : !wg.turns<2>
      }
    }
    gpu.return
  }
}

// -----

// Three warpgroups meet with 256 threads each time: the one whose turn it is and the one before.
// CHECK-LABEL: gpu.func @three
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @three() kernel {
    %turn = wg.turns : !wg.turns<3>
    wg.specialize {
      wg.role @multiply warpgroups(3) {
        // CHECK: %[[C5:.*]] = arith.constant 5 : i32
        // CHECK: wg.named_barrier_arrive %[[C5]] threads(256)
        // CHECK: wg.named_barrier_sync %{{.*}} threads(256)
        wg.take_turn %turn : !wg.turns<3>
        // CHECK: wg.named_barrier_arrive %{{.*}} threads(256)
        wg.pass_turn %turn : !wg.turns<3>
      }
    }
    gpu.return
  }
}

// -----

// Turns that nobody takes cost nothing; the kernel's own barriers stay its own.
// CHECK-LABEL: gpu.func @beside
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @beside() kernel {
    %none = wg.turns : !wg.turns<8>
    %turn = wg.turns : !wg.turns<2>
    %c5 = arith.constant 5 : i32
    wg.specialize {
      wg.role @multiply warpgroups(2) {
        // CHECK: arith.constant 6 : i32
        // CHECK: wg.named_barrier_sync %c5{{.*}} threads(256)
        wg.named_barrier_sync %c5 threads(256)
        wg.take_turn %turn : !wg.turns<2>
        wg.pass_turn %turn : !wg.turns<2>
      }
    }
    gpu.return
  }
}
