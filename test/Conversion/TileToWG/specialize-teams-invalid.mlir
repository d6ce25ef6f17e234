// RUN: girih-opt %s --tile-specialize --split-input-file --verify-diagnostics

gpu.module @device {
  gpu.func @others() kernel {
    // expected-note @+1 {{the other one is here}}
    wg.team {
      wg.role @all warpgroups(1) {
        wg.give
      }
    }
    // expected-error @+1 {{'wg.team' op has other roles than another one of the kernel: expected all of 4 warps, which executes the rest; found all of 8 warps, which executes the rest}}
    wg.team {
      wg.role @all warpgroups(2) {
        wg.give
      }
    }
    gpu.return
  }
}

// -----

gpu.module @device {
  // expected-error @+1 {{the hint stages is for kernels whose roles passes choose, and this one calls a @wg.function (wg.team), which says its own; expected no hint}}
  gpu.func @hinted() kernel attributes {girih.hints = {stages = 3 : i32}} {
    wg.team {
      wg.role @all warpgroups(1) {
        wg.give
      }
    }
    gpu.return
  }
}

// -----

gpu.module @device {
  gpu.func @of_a_team() kernel {
    // expected-error @+1 {{role 'help' needs what a @wg.function gives, which only the role that executes the rest of the kernel has; expected numbers that follow from parameters, and from arrays that the kernel does not write}}
    %n = wg.team -> i32 {
      wg.role @help warps(1) {
      }
      wg.role @all warpgroups(1) {
        %c = arith.constant 1 : i32
        wg.give %c : i32
      }
    }
    %m = wg.team -> i32 {
      wg.role @help warps(1) {
        %d = arith.addi %n, %n : i32
      }
      wg.role @all warpgroups(1) {
        wg.give %n : i32
      }
    }
    gpu.return
  }
}

// -----

gpu.module @device {
  gpu.func @tiles() kernel {
    %t = tile.iota dim(0) : tensor<64xi32>
    wg.team {
      wg.role @help warps(1) {
        // expected-error @+1 {{role 'help' needs a tile from outside of its @wg.function, which only}}
        tile.print "t" %t : tensor<64xi32>
      }
      wg.role @all warpgroups(1) {
        wg.give
      }
    }
    gpu.return
  }
}
