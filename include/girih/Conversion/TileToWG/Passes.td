// Passes that lead from the tile phase to the wg phase, in the order in which the pipeline runs them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_CONVERSION_TILETOWG_PASSES_TD
#define GIRIH_CONVERSION_TILETOWG_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileSpecialize : Pass<"tile-specialize", "::mlir::ModuleOp"> {
  let summary = "Give kernels of the tile phase their roles";
  let description = [{
    A kernel without products becomes one role whose warps share every tile. How many: `warps` of the kernel's
    `girih.hints`, or as many warpgroups, at most four, as leave a thread no more than 32 elements of the largest tile.

    ```mlir
    gpu.func @scale(%p: !llvm.ptr<1>, %n: i32) kernel attributes {girih.hints = {warps = 4 : i32}} {
      %t = tile.load ...
      gpu.return
    }
    // becomes
    gpu.func @scale(%p: !llvm.ptr<1>, %n: i32) kernel attributes {girih.hints = {warps = 4 : i32}} {
      wg.specialize {
        wg.role @main warpgroups(1) {
          %t = tile.load ...
        }
      }
      gpu.return
    }
    ```

    Runs on the module, since what a kernel asks of its caller stands in the host plan. Kernels with a `wg.specialize` or a
    `known_block_size` are in the wg phase already and are left as they are.

    Preconditions: kernels have one block.
  }];
  let dependentDialects = ["::girih::wg::WGDialect"];
}

def VerifyWGPhase : Pass<"verify-wg-phase", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Check that a gpu.module has left the tile phase";
  let description = [{
    Every tile has a layout, and no `tile.dot` is left: the first op of which that is not true is an error at its location.
    Changes nothing.
  }];
}

#endif // GIRIH_CONVERSION_TILETOWG_PASSES_TD
