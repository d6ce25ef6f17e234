// A kernel that prints or asserts gets memory for it, and writes records there.
// RUN: girih-opt %s --split-input-file --wg-collect-records=limit=100 --mlir-print-debuginfo=false | FileCheck %s
// RUN: girih-opt %s --split-input-file --wg-collect-records=limit=100 --convert-wg-to-nvvm --mlir-print-debuginfo=false | FileCheck %s --check-prefix=NVVM

// CHECK: gpu.func @show(%{{.*}}: i32, %{{.*}}: i1, %{{.*}}: !llvm.ptr<1>) kernel attributes
// CHECK-SAME: wg.records = array<i64: 2, 100>
// CHECK: tile.print "n" %{{.*}} {wg.site = 0 : i32, wg.unsigned} : i32
// CHECK: tile.assert %{{.*}}, "n must be positive" {wg.site = 1 : i32} : i1
// CHECK: plan.host @show(%[[N:.*]]: i32, %[[OK:.*]]: i1)
// CHECK: %[[R:.*]] = plan.records 100 : !plan.workspace
// CHECK-NEXT: plan.launch @device::@show grid(%{{.*}}) args(%[[N]], %[[OK]], %[[R]]) : i32, i1, !plan.workspace
// CHECK-NEXT: plan.print %[[R]][0], "n", [] : ui32
// CHECK-NEXT: plan.assert %[[R]][1], "n must be positive"

// One thread records a number that all have: place, room, and five stores. NVVM has no tile ops left.
// NVVM: llvm.func @show(%{{.*}}: i32, %{{.*}}: i1, %[[MEMORY:.*]]: !llvm.ptr<1>)
// NVVM: llvm.atomicrmw add %[[MEMORY]], %{{.*}} syncscope("device") monotonic : !llvm.ptr<1>, i32
// NVVM: llvm.icmp "ult"
// NVVM-NOT: tile.
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  gpu.func @show(%n: i32, %ok: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    tile.print "n" %n {wg.unsigned} : i32
    tile.assert %ok, "n must be positive" : i1
    gpu.return
  }
}
plan.host @show(%n: i32, %ok: i1) attributes {arg_names = ["n", "ok"]} {
  %c1 = arith.constant 1 : i64
  plan.launch @device::@show grid(%c1, %c1, %c1) args(%n, %ok) : i32, i1
}
