// RUN: girih-opt %s --wg-assign-layouts --verify-diagnostics --split-input-file

#two = #wg.layout<{register: [[0,1],[0,2],[16,0],[32,0]], lane: [[0,4],[0,8],[0,16],[0,32],[1,0]], warp: [[2,0],[4,0]], warpgroup: [[8,0]]}>
#one = #wg.layout<{register: [[0,1],[0,2],[8,0],[16,0],[32,0]], lane: [[0,4],[0,8],[0,16],[0,32],[1,0]], warp: [[2,0],[4,0]]}>

// A tile of two warpgroups is no tile of one: both ops, where the first element differs, and the way out.
gpu.module @device {
  gpu.func @roles(%a: tensor<64x64xf32, #two>, %b: tensor<64x64xf32, #one>) kernel {
    wg.specialize {
      wg.role @both warpgroups(2) {
        %u = wg.convert_layout %a : tensor<64x64xf32, #two> -> tensor<64x64xf32>
        %n = arith.negf %u : tensor<64x64xf32>
        // expected-note @+1 {{'wg.convert_layout' has it in #wg.layout<{register: [[0,1],[0,2],[8,0]}}
        %v = wg.convert_layout %b : tensor<64x64xf32, #one> -> tensor<64x64xf32>
        // expected-error @+4 {{needs a tile in another layout than it has, and no conversion leads from one to the other: one is shared by 1, the other by 2 of dimension 'warpgroup'}}
        // expected-note @+3 {{it is needed in #wg.layout}}
        // expected-note @+2 {{element (8, 0) sits in warp 0 lane 0 register 4 on the left and in warpgroup 1 warp 0 lane 0 register 0 on the right}}
        // expected-note @+1 {{expected tiles of one role; a tile goes to another role through a buffer or a ring}}
        %w = arith.addf %n, %v : tensor<64x64xf32>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @device {
  gpu.func @unknown(%x: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @+1 {{has a tile without a layout, and wg-assign-layouts has no rule for it; expected a type with #wg.layout}}
    %t = tensor.from_elements %x : tensor<1xi32>
    gpu.return
  }
}
