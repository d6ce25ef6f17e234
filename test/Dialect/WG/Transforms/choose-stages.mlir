// RUN: girih-opt %s -wg-choose-stages -mlir-print-debuginfo=false | FileCheck %s

!a = !wg.buffer<128x64xbf16, swizzle = 128>
!big = !wg.buffer<128x256xf32, swizzle = 128>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // 227 KiB hold 14 slots of 16 KiB: four is the most that is taken.
  // CHECK-LABEL: gpu.func @most_is_four
  // CHECK: wg.ring {stages = 4 : i32}
  gpu.func @most_is_four() kernel {
    %r = wg.ring : !wg.ring<[!a]>
    gpu.return
  }

  // (232448 - 131072) / 16400 = 6, shared by two rings.
  // CHECK-LABEL: gpu.func @shared_by_two
  // CHECK-DAG: wg.ring {name = "x", stages = 3 : i32}
  // CHECK-DAG: wg.ring {name = "y", stages = 3 : i32}
  gpu.func @shared_by_two() kernel {
    %out = wg.store_ring {stages = 1 : i32} : !wg.store_ring<!big>
    %x = wg.ring {name = "x"} : !wg.ring<[!a]>
    %y = wg.ring {name = "y"} : !wg.ring<[!a]>
    gpu.return
  }

  // A ring that says how many keeps them, and takes from the others.
  // CHECK-LABEL: gpu.func @own_number
  // CHECK: wg.ring {stages = 12 : i32}
  // CHECK: wg.ring {stages = 2 : i32}
  gpu.func @own_number() kernel {
    %x = wg.ring {stages = 12 : i32} : !wg.ring<[!a]>
    %y = wg.ring : !wg.ring<[!a]>
    gpu.return
  }

  // Nothing fits: one, and wg-allocate-shared says what is too large.
  // CHECK-LABEL: gpu.func @none_fits
  // CHECK: wg.ring {stages = 1 : i32}
  gpu.func @none_fits() kernel {
    %x = wg.ring : !wg.ring<[!big, !big]>
    gpu.return
  }
}
