// RUN: girih-opt %s -wg-lower-roles -verify-diagnostics

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @two() kernel {
    wg.specialize {
      wg.role @a warps(1) {
      }
    }
    // expected-error @below {{is the second of the kernel; expected one, since it decides the CTA's size}}
    wg.specialize {
      wg.role @b warps(1) {
      }
    }
    gpu.return
  }
}
