// Loops and conditions become branches; one that stands behind another in the same block, too.
// RUN: girih-opt %s --pass-pipeline='builtin.module(gpu.module(wg-lower-control-flow))' | FileCheck %s

// CHECK-LABEL: gpu.func @two
// CHECK: cf.cond_br %{{.*}}, ^[[THEN:bb[0-9]+]], ^[[BEHIND:bb[0-9]+]]
// CHECK: ^[[THEN]]:
// CHECK: llvm.store %{{.*}}, %{{.*}} : f32
// CHECK: cf.br ^[[BEHIND]]
// CHECK: ^[[BEHIND]]:
// CHECK: cf.br ^[[HEAD:bb[0-9]+]](%{{.*}}, %{{.*}} : i32, f32)
// CHECK: ^[[HEAD]](%[[I:[0-9]+]]: i32{{.*}}, %[[SUM:[0-9]+]]: f32{{.*}}):
// CHECK: arith.cmpi slt, %[[I]]
// CHECK: cf.cond_br %{{.*}}, ^{{bb[0-9]+}}, ^[[EXIT:bb[0-9]+]]
// CHECK: arith.addf %[[SUM]], %{{.*}}
// CHECK: ^[[EXIT]]:
// CHECK-NEXT: llvm.store %[[SUM]]
gpu.module @device {
  gpu.func @two(%c: i1, %x: f32, %n: i32, %p: !llvm.ptr<1>) kernel {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scf.if %c {
      llvm.store %x, %p : f32, !llvm.ptr<1>
    }
    %sum = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (f32) : i32 {
      %y = scf.if %c -> (f32) {
        scf.yield %x : f32
      } else {
        scf.yield %s : f32
      }
      %next = arith.addf %s, %y : f32
      scf.yield %next : f32
    }
    llvm.store %sum, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @nested
  // CHECK: ^[[OUTER:bb[0-9]+]](%[[I:[0-9]+]]: i32{{.*}}):
  // CHECK: cf.cond_br %{{.*}}, ^{{bb[0-9]+}}(%[[I]] : i32), ^[[END:bb[0-9]+]]
  // CHECK: cf.br ^[[INNER:bb[0-9]+]](
  // CHECK: ^[[INNER]](%[[J:[0-9]+]]: i32{{.*}}):
  // CHECK: cf.cond_br %{{.*}}, ^{{bb[0-9]+}}(%[[J]] : i32), ^{{bb[0-9]+}}
  // CHECK: cf.br ^[[INNER]](
  // CHECK: cf.br ^[[OUTER]](
  // CHECK: ^[[END]]:
  // CHECK-NEXT: llvm.store %[[I]]
  // CHECK-NOT: scf.
  gpu.func @nested(%n: i32, %p: !llvm.ptr<1>) kernel {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %r = scf.while (%i = %zero) : (i32) -> i32 {
      %c = arith.cmpi slt, %i, %n : i32
      scf.condition(%c) %i : i32
    } do {
    ^bb0(%i: i32):
      %s = scf.while (%j = %i) : (i32) -> i32 {
        %c = arith.cmpi slt, %j, %n : i32
        scf.condition(%c) %j : i32
      } do {
      ^bb0(%j: i32):
        %k = arith.addi %j, %one : i32
        scf.yield %k : i32
      }
      %t = arith.addi %s, %one : i32
      scf.yield %t : i32
    }
    llvm.store %r, %p : i32, !llvm.ptr<1>
    gpu.return
  }
}
