// RUN: girih-opt %s --tile-specialize --split-input-file --verify-diagnostics

gpu.module @device {
  // expected-error @+1 {{the hint warps is 3 : i32; expected 1, 2 or a multiple of 4 up to 32 (whole warpgroups)}}
  gpu.func @hinted() kernel attributes {girih.hints = {warps = 3 : i32}} {
    gpu.return
  }
}

// -----

gpu.module @device {
  // expected-error @+1 {{the hint stages is for kernels with products, and this one has none; expected only warps}}
  gpu.func @staged() kernel attributes {girih.hints = {stages = 3 : i32}} {
    gpu.return
  }
}

// -----

gpu.module @device {
  // expected-error @+1 {{has several blocks; expected structured control flow (scf)}}
  gpu.func @blocks() kernel {
    cf.br ^next
  ^next:
    gpu.return
  }
}
