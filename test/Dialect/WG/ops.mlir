// Forms that the examples of the ODS descriptions (../ods-examples.test) leave out.
// RUN: girih-opt %s --mlir-print-debuginfo=false | FileCheck %s
// RUN: girih-opt %s --mlir-print-debuginfo=false --mlir-print-op-generic | girih-opt --mlir-print-debuginfo=false | FileCheck %s
// RUN: girih-opt %s | FileCheck %s --check-prefix=LOC

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
#a = #wg.layout<{register: [[0,1],[8,0],[0,8]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,16] x 4}>
!ring = !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>]>

// A whole number of warpgroups is printed as such, however it was written; attributes follow the size.
// CHECK-LABEL: @roles
func.func @roles() {
  // CHECK: wg.specialize {
  // CHECK-NEXT: wg.role @a warpgroups(1) {
  // CHECK: wg.role @b warps(5) attributes {note = "x"} {
  // LOC: wg.role @a
  // LOC: } loc(#
  wg.specialize {
    wg.role @a warps(4) {
    }
    wg.role @b warps(5) attributes {note = "x"} {
    }
  }
  return
}

// CHECK-LABEL: @each
func.func @each() {
  wg.specialize {
    // CHECK: wg.role @load warps(1) registers(40) {
    wg.role @load warps(1) registers(40) {
    }
    // CHECK: wg.role @multiply warpgroups(2) each registers(232) {
    wg.role @multiply warpgroups(2) each registers(232) {
    }
  }
  return
}

// CHECK-LABEL: @one_reader
func.func @one_reader(%n: i32) {
  // CHECK: wg.ring {one_reader, stages = 4 : i32}
  %r = wg.ring {stages = 4 : i32, one_reader} : !ring
  %q = wg.cursor consumer %r : !ring
  // CHECK: wg.advance %{{.*}}[%{{.*}}] by(%{{.*}}) : !wg.ring
  %q1 = wg.advance %r[%q] by(%n) : !ring
  return
}

// A slot of two buffers gives two values; a loop that fills may carry values; without any its yield is not written.
// CHECK-LABEL: @rings
func.func @rings(%n: i32) {
  // CHECK: %[[RING:.*]] = wg.ring {name = "tiles", stages = 4 : i32} : !wg.ring<
  %r = wg.ring {stages = 4 : i32, name = "tiles"} : !ring
  %p = wg.cursor producer %r : !ring
  %q = wg.cursor consumer %r : !ring
  // CHECK: %{{.*}}:2 = wg.acquire %[[RING]][%{{.*}}] : !wg.ring<
  %a, %b = wg.acquire %r[%p] : !ring
  wg.publish %r[%p] : !ring
  // CHECK: wg.fill %[[RING]][%{{.*}}] count(%{{.*}}) as (%{{.*}}, %{{.*}}, %{{.*}}) iter_args(%[[X:.*]] = %{{.*}}) -> (i32) : !wg.ring<{{.*}}> {
  // CHECK-NEXT: wg.yield %[[X]] : i32
  %p1, %x = wg.fill %r[%p] count(%n) as (%k, %sa, %sb) iter_args(%c = %n) -> (i32) : !ring {
    wg.yield %c : i32
  }
  // CHECK: wg.fill %[[RING]][%{{.*}}] count(%{{.*}}) as (%{{.*}}, %{{.*}}, %{{.*}}) : !wg.ring<{{.*}}> {
  // CHECK-NEXT: }
  %p2 = wg.fill %r[%p1] count(%n) as (%k, %sa, %sb) : !ring {
  }
  // CHECK: wg.drain %[[RING]][%{{.*}}] count(%{{.*}}) lag(0) as (%{{.*}}, %{{.*}}, %{{.*}}) : !wg.ring<{{.*}}> {
  // CHECK-NEXT: }
  %q1 = wg.drain %r[%q] count(%n) lag(0) as (%k, %sa, %sb) : !ring {
  }
  return
}

// Operand A from registers; the accumulator of an earlier product, without a predicate.
// CHECK-LABEL: @from_registers
func.func @from_registers(%a: tensor<64x64xbf16, #a>, %b: !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>,
                          %c: !wg.pending<tensor<64x24xf32, #acc>>) {
  // CHECK: wg.mma %{{.*}}, %{{.*}}, %{{.*}} : tensor<64x64xbf16, #{{.*}}>, !wg.buffer<{{.*}}>, !wg.pending<tensor<64x24xf32, #{{.*}}>>
  %d = wg.mma %a, %b, %c : tensor<64x64xbf16, #a>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>,
                           !wg.pending<tensor<64x24xf32, #acc>>
  return
}
