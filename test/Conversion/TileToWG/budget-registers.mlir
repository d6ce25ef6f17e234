// RUN: girih-opt %s --wg-budget-registers --verify-diagnostics | FileCheck %s

// A role that loads and carries 12 numbers of 64 bits meanwhile: with a cursor, the slot and the loop's counter that is more
// than the 40 registers that it gets otherwise. Roles that say nothing of deriving stay as they are.
// CHECK-LABEL: gpu.func @many_numbers
// CHECK: wg.role @load warps(1) registers(48)
// CHECK: wg.role @compute warpgroups(1) registers(240)
// CHECK-NOT: girih.derive_registers
// CHECK-LABEL: gpu.func @written_by_hand
// CHECK: wg.role @load warps(1) {
!buffer = !wg.buffer<64x64xbf16, swizzle = 128>
!ring = !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  gpu.func @many_numbers(%map: !view, %n: i32, %x: i64) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = wg.ring {stages = 2 : i32} : !ring
    wg.specialize {
      wg.role @load warps(1) {
        %p = wg.cursor producer %ring : !ring
        %r:13 = scf.for %i = %c0 to %n step %c1 iter_args(%q = %p, %a0 = %x, %a1 = %x, %a2 = %x, %a3 = %x, %a4 = %x, %a5 = %x, %a6 = %x, %a7 = %x, %a8 = %x, %a9 = %x, %a10 = %x, %a11 = %x) -> (!wg.cursor, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64) : i32 {
          %s = wg.acquire %ring[%q] : !ring
          // expected-remark @+1 {{role 'load' has 48 registers a thread; most are alive here: 28 of numbers, 16 beside}}
          wg.tma_load %map[%c0, %i] to %s : !view, !buffer
          wg.publish %ring[%q] : !ring
          %next = wg.advance %ring[%q] : !ring
          scf.yield %next, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11, %a0 : !wg.cursor, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64
        }
      }
      // expected-remark @+1 {{role 'compute' has 240 registers a thread}}
      wg.role @compute warpgroups(1) {
      }
    } {girih.derive_registers}
    gpu.return
  }

  gpu.func @written_by_hand(%map: !view) kernel {
    wg.specialize {
      wg.role @load warps(1) {
      }
      wg.role @compute warpgroups(1) {
      }
    }
    gpu.return
  }
}
