// RUN: girih-opt %s -wg-lower-turns -split-input-file -verify-diagnostics

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @too_many() kernel {
    %a = wg.turns : !wg.turns<4>
    // expected-error @below {{'wg.turns' op takes the named barriers from 0 on, and there are none below 1; expected fewer turns, or fewer barriers of the kernel's own}}
    %b = wg.turns : !wg.turns<4>
    wg.specialize {
      wg.role @multiply warpgroups(4) {
        wg.take_turn %a : !wg.turns<4>
        wg.take_turn %b : !wg.turns<4>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @taken() kernel {
    // expected-error @below {{'wg.turns' op takes the named barriers from 6 on, and the kernel uses those up to 6; expected fewer turns, or fewer barriers of the kernel's own}}
    %turn = wg.turns : !wg.turns<2>
    %c6 = arith.constant 6 : i32
    wg.specialize {
      wg.role @multiply warpgroups(2) {
        wg.named_barrier_sync %c6 threads(256)
        wg.take_turn %turn : !wg.turns<2>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @unknown(%id: i32) kernel {
    // expected-error @below {{'wg.turns' op takes named barriers, and the kernel uses some whose numbers are not constants; expected constants, so that they can be told apart}}
    %turn = wg.turns : !wg.turns<2>
    wg.specialize {
      wg.role @multiply warpgroups(2) {
        wg.named_barrier_arrive %id threads(256)
        wg.take_turn %turn : !wg.turns<2>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @two_roles() kernel {
    %turn = wg.turns : !wg.turns<2>
    wg.specialize {
      wg.role @one warpgroups(2) {
        // expected-error @below {{takes a turn among the warpgroups of role 'two' in role 'one'; expected a wg.turns for each role}}
        wg.take_turn %turn : !wg.turns<2>
      }
      wg.role @two warpgroups(2) {
        wg.take_turn %turn : !wg.turns<2>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @outside() kernel {
    %turn = wg.turns : !wg.turns<2>
    // expected-error @below {{expected inside a wg.role: turns are those of its warpgroups}}
    wg.pass_turn %turn : !wg.turns<2>
    gpu.return
  }
}
