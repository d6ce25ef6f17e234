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

// -----

#huge = #wg.layout<{register: [[0,1],[0,2],[0,4],[0,8],[0,16],[0,32],[0,64],[0,128],[0,256],[0,512],[0,1024]], lane: [[0,2048],[0,4096],[0,8192],[0,16384],[0,32768]], warp: [[0,65536],[0,131072]]}>
gpu.module @device {
  gpu.func @huge(%x: f32) {
    // What is the same everywhere costs no registers.
    %t = tensor.splat %x : tensor<262144xf32, #huge>
    // expected-error @+1 {{this tile takes 2048 registers of each thread, which has 255; expected a smaller tile, or more warps: gr.tiles(..., warps=8)}}
    %u = arith.addf %t, %t : tensor<262144xf32, #huge>
    gpu.return
  }
}
