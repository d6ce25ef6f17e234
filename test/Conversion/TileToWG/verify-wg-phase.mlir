// RUN: girih-opt %s --verify-wg-phase --split-input-file --verify-diagnostics

gpu.module @device {
  gpu.func @product(%a: tensor<64x32xbf16>, %b: tensor<32x16xbf16>) {
    // expected-error @+1 {{is left in the wg phase; expected tile-specialize to have made a wg.mma or wg.mma_sync of it}}
    %d = tile.dot %a, %b : tensor<64x32xbf16>, tensor<32x16xbf16> -> tensor<64x16xf32>
    gpu.return
  }
}

// -----

gpu.module @device {
  gpu.func @open() kernel {
    // expected-error @+1 {{has a tile without a layout in the wg phase, 'tensor<64xi32>'; expected wg-assign-layouts to have given it one}}
    %t = tile.iota dim(0) : tensor<64xi32>
    gpu.return
  }
}

// -----

gpu.module @device {
  gpu.func @team() {
    // expected-error @+1 {{is left in the wg phase; expected tile-specialize to have made roles of it, in a kernel that has none yet}}
    wg.team {
      wg.role @all warpgroups(1) {
        wg.give
      }
    }
    gpu.return
  }
}
