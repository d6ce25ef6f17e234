// Passes that lead from the tile phase to the wg phase, in the order in which the pipeline runs them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_CONVERSION_TILETOWG_PASSES_TD
#define GIRIH_CONVERSION_TILETOWG_PASSES_TD

include "mlir/Pass/PassBase.td"

def TilePipelineProducts : Pass<"tile-pipeline-products", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Let the second of two chained products run under the step after its own";
  let description = [{
    In a loop whose step has a product, something computed from it, and a product of that (attention: scores, softmax,
    weighted values), tensor cores idle while the rest computes, and the other way round. The second product of a step
    moves into the next one, behind the first product there: both are started, and the second one need not be done before
    what depends on its sum. The first step stands before the loop without it, and the last product behind; a loop that
    runs no time gives what it starts with.

    ```mlir
    %r:2 = scf.for %j = %low to %high step %c1 iter_args(%sum = %sum0, %top = %top0) {
      %s = tile.dot %q, %k_j
      %top1, %p, %shrink = ...%s, %top...
      %o = arith.mulf %sum, %shrink
      %sum1 = tile.dot %p, %v_j, %o
      scf.yield %sum1, %top1
    }
    // becomes
    %any = arith.cmpi slt, %low, %high
    %r:2 = scf.if %any {
      %s = tile.dot %q, %k_low
      %top1, %p, %shrink = ...%s, %top0...
      %o = arith.mulf %sum0, %shrink
      %l:3 = scf.for %j = %low + 1 to %high step %c1 iter_args(%o_ = %o, %top = %top1, %p_ = %p) {
        %s = tile.dot %q, %k_j
        %sum = tile.dot %p_, %v_(j-1), %o_             // in flight until %sum is read
        %top1, %p, %shrink = ...%s, %top...
        %o = arith.mulf %sum, %shrink
        scf.yield %o, %top1, %p
      }
      %sum = tile.dot %l#2, %v_(high-1), %l#0
      scf.yield %sum, %l#1
    } else {
      scf.yield %sum0, %top0
    }
    ```

    A remark says where it does so; and of every other loop with two products in its step, why not. Of several loops that
    continue each other's sums, as those of blocks with and without a mask, the one with the shortest step is taken: the step
    stands in the code once more.

    Preconditions: none; kernels that are in the wg phase already are left as they are.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

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

    A kernel with products gets a role that loads and a role that computes. A load that only products read, of a view that
    leads to an array of the caller which is contiguous along one of the tile's dimensions and aligned, becomes a TMA copy:
    the kernel gets a tensor map, which the host plan makes, and the role @load (one warp) a clone of the control flow
    around the load and of the numbers that its place depends on. Loads of one block that the same products read share the
    slots of a ring. A loop whose products all add to what it carries becomes a `wg.fill` in the one role and a `wg.drain`
    with one step in flight in the other; everywhere else the role @compute gets a slot before its first reader, waits for
    a product where its result is used first, or at the end of the block, and gives the slot back after that. Products that
    stand one behind the other get their slots before the first. What TMA cannot do (a remark at the load says why) is loaded
    by the role @compute, and put into a buffer of its own before the product: rows that are listed, slices of K and the
    like as loads whose tiles are stored at once, which `convert-wg-to-nvvm` makes copies by cp.async. An operand A that is
    computed stays in registers. One of 16 bits that every step of a loop reads is loaded from its slot into registers before
    (`keep-operands`), if they are enough beside what the loop's products need. A store of what products gave, in rows, goes out in chunks of 128 bytes of a row through a
    store ring; one to a slice, whose end TMA does not know, if the tile lies inside it, and else from registers.

    ```mlir
    %acc = scf.for %k = %c0 to %steps step %c1 iter_args(%x = %zero) -> (tensor<128x256xf32>) : i32 {
      %a = tile.load %A[%row, %i] ...
      %b = tile.load %B[%i, %col] ...
      %y = tile.dot %a, %b, %x : tensor<128x64xbf16>, tensor<64x256xbf16> -> tensor<128x256xf32>
      scf.yield %y : tensor<128x256xf32>
    }
    // becomes
    wg.role @load warps(1) {
      %p1 = wg.fill %a_b[%p] count(%steps) as (%k, %sa, %sb) : ... {
        wg.tma_load %mapA[%row, %i] to %sa : ...
        wg.tma_load %mapB[%i, %col] to %sb : ...
      }
    }
    wg.role @compute warpgroups(2) {
      %acc = wg.acc : !wg.pending<tensor<128x256xf32, #acc>>
      %q1, %r, %w1 = wg.drain %a_b[%q] count(%steps) lag(1) as (%k, %sa, %sb) iter_args(%x = %acc, %w = %false) -> ... {
        %y = wg.mma %sa, %sb, %x accumulate(%w) : ...
        wg.yield %y, %true : ...
      }
      %t = wg.wait %r in_flight(0) written(%w1) : ...
    }
    ```

    Which unit multiplies: `wg.mma` if the types are its own, M is a multiple of 64, N of 8 (of integers beyond 32: of 16) up to 256 and K of
    32 bytes. Else `wg.mma_sync`, which has f64 as well, if M is a multiple of 16, N of 8 and K of an instruction's: it reads
    slots of rings into registers, what the role has loaded itself by way of a buffer, takes what is computed from where it is
    (and bytes that lie along M or N, which no instruction transposes), and is never in flight. 1, 2, 4 or 8 rows are repeated to 16, and one of the equal results is taken. Else (f32 without tf32, other extents) a loop over K of column
    times row in registers. A remark says so where it is not the first, and why. Products in roles that a kernel has
    already become `wg.mma_sync`, or a loop.

    A kernel with a `wg.team` gets the roles of its teams: the one that gives their results executes all of the kernel, the
    others their parts of the teams, what control flow around these needs, and nothing else. Cursors of rings are carried from
    one execution of a team to the next.

    ```mlir
    scf.for %tile = %first to %last step %ctas : i32 {
      %sum = wg.team -> tensor<128x256xf32> {
        wg.role @load warps(1) {
          %p = wg.cursor producer %ring : ...
          %p1 = wg.fill %ring[%p] ...
          wg.keep %ring[%p1] : ...
        }
        wg.role @multiply warpgroups(2) {
          ...
          wg.give %acc : tensor<128x256xf32>
        }
      }
      tile.store %sum, %C[%row, %column] : ...
    }
    // becomes
    wg.specialize {
      wg.role @load warps(1) {
        %p = wg.cursor producer %ring : ...
        %p9 = scf.for %tile = %first to %last step %ctas iter_args(%p0 = %p) -> (!wg.cursor) : i32 {
          %p1 = wg.fill %ring[%p0] ...
          scf.yield %p1 : !wg.cursor
        }
      }
      wg.role @multiply warpgroups(2) {
        scf.for ... {
          ...
          tile.store %acc, %C[%row, %column] : ...
        }
      }
    }
    ```

    The warpgroups of @compute share the rows of each tile (cooperative), or each has every n-th tile of a CTA that stays
    (pingpong, `each`): it skips the slots of the others' tiles and takes turns at multiplying and at storing, so that one
    multiplies while another stores. That needs a loop over tiles whose step is the number of CTAs (`gpu.grid_dim`), in
    which everything happens, and as many slots for every tile.

    ```mlir
    %mine = wg.warpgroup_index : i32
    %q0 = wg.advance %a_b[%q] by(%mine * %steps) : ...
    scf.for %t = %first + %mine * %ctas to %tiles step 2 * %ctas iter_args(%q1 = %q0, ...) {
      wg.take_turn %multiplying : !wg.turns<2>
      %q2, %r, %w1 = wg.drain %a_b[%q1] count(%steps) lag(1) as (%k, %sa, %sb) ... {
        ...
        scf.if %last { wg.pass_turn %multiplying : !wg.turns<2> }
      }
      %q3 = wg.advance %a_b[%q2] by(%steps) : ...
      %t = wg.wait ...
      wg.take_turn %storing : !wg.turns<2>
      ... // the chunks of the tile
      wg.pass_turn %storing : !wg.turns<2>
    }
    ```

    Without a hint the form is pingpong where tiles of 64 rows leave one warpgroup alone with a CTA's products, and
    cooperative elsewhere; a remark at a loop over tiles says which. In a kernel with a `known_cluster_size`, a load whose
    place does not depend on the CTA's number in its cluster becomes a multicast copy, of which each CTA brings its share; if
    there is none, that is an error.

    Hints: `warps` (4, 8 or 12) of the role that computes, `stages` of rings in loops, `roles` ("cooperative" or "pingpong"),
    and `at`, the location of who gave them, which errors name. Tiles stay without a layout, but for those that wgmma
    prescribes; `wg.convert_layout` stands where the two meet. Roles stay without budgets: see `wg-budget-registers`.

    Runs on the module, since what a kernel asks of its caller stands in the host plan. Kernels with a `wg.specialize` or a
    `known_block_size` are in the wg phase already and are left as they are, but for products in roles.

    Preconditions: kernels have one block.
  }];
  let options = [
    Option<"keepOperands", "keep-operands", "bool", "true",
           "Load operands that every step of a loop reads into registers, if they fit">,
  ];
  let dependentDialects = ["::girih::wg::WGDialect", "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

def PadTiles : Pass<"wg-pad-tiles", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Make tiles larger whose extents would leave threads without elements";
  let description = [{
    Layouts share out factors of two: of a tile of 1000 elements 8 threads would hold 125 each, and all others the same again.
    Here the extent becomes 1024, and 128 threads hold 8 elements. Loads and stores keep the true extents as their `part`;
    gathers, scatters, atomics, prints and assertions are masked. A reduction along such an extent gets the neutral element
    of its combiner behind the true one (known for combiners of one op, else as `tile.neutral` says, an array of one number
    for each operand), a scan needs nothing unless it goes in reverse.

    ```mlir
    %t = tile.load %x[%i] : !x -> tensor<1000xf32>
    %s = tile.reduce %t dim(0) : tensor<1000xf32> -> f32 { maximum }
    // becomes
    %t = tile.load %x[%i] part [1000] : !x -> tensor<1024xf32>
    %j = tile.iota dim(0) : tensor<1024xi32>
    %in = arith.cmpi slt, %j, %c1000 : tensor<1024xi32>
    %u = arith.select %in, %t, %minus_infinity : tensor<1024xi1>, tensor<1024xf32>
    %s = tile.reduce %u dim(0) : tensor<1024xf32> -> f32 { maximum }
    ```

    Extents up to 128 become powers of two, those above multiples of 64 or 128. All tiles of a kernel with such an extent
    change, or none: a remark names the op that has no form for them (a reduction by a function of the user's, a reshape, a
    division of integers, what has a layout already).

    Preconditions: kernels have roles, or a `known_block_size`. Kernels with a `tile.dot` are left as they are.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def AssignLayouts : Pass<"wg-assign-layouts", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Give every tile a layout";
  let description = [{
    A layout spreads from where it is known: through ops that work element by element, what loops and branches carry, and
    by the rules of docs/Layout.md through reductions, broadcasts and other changes of shape. It is known first where a type
    states it (accumulators, operands of wgmma, whatever the author of wg code wrote), then at accesses to global memory,
    those in loops and of large tiles first: vectors of 16 bytes along the contiguous dimension, lanes beside each other. The
    rest gets the same as if it were loaded.

    Constants, splats and iotas belong to the op that uses them. Where a value has one layout and a use needs another, the
    value is computed anew or converted, whichever takes fewer transactions of shared memory; an access that would touch
    more sectors of memory than a conversion costs has its tile converted. A conversion stands where the value is made,
    outside of loops that only use it.

    ```mlir
    %t = tile.load %x[%i, %j] : !tile.view<f32, rank = 2, contiguous = 1, align = 16> -> tensor<64x64xf32>
    %u = tile.transpose %t [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %u, %y[%j, %i] : tensor<64x64xf32>, !tile.view<f32, rank = 2, contiguous = 1, align = 16>
    // becomes
    %t = tile.load %x[%i, %j] : ... -> tensor<64x64xf32, #rows>
    %u = tile.transpose %t [1, 0] : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #columns>
    %v = wg.convert_layout %u : tensor<64x64xf32, #columns> -> tensor<64x64xf32, #rows>
    tile.store %v, %y[%j, %i] : tensor<64x64xf32, #rows>, ...
    ```

    Remarks say how each access moves its tile, and where a conversion stands, what it costs and which element forces it.

    Preconditions: kernels have roles, or a `known_block_size`. Kernels with a `tile.dot` are left as they are. Tiles that
    have a layout keep it; `wg.convert_layout` ops that turn out to convert nothing are taken away.
  }];
  let options = [
    Option<"alternatives", "alternatives", "unsigned", "3",
           "How many accesses to memory are tried as the one whose layout comes first">,
    Option<"convertAccesses", "convert-accesses", "bool", "true",
           "Convert tiles of accesses that would touch more sectors of memory than a conversion costs">,
    Option<"computeAnew", "compute-anew", "bool", "true",
           "Compute tiles in a second layout where that is cheaper than to convert them">,
  ];
  let dependentDialects = ["::girih::wg::WGDialect"];
}

def BudgetRegisters : Pass<"wg-budget-registers", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Derive the register budgets of roles from what is alive in them";
  let description = [{
    Of the roles that `tile-specialize` has made (their `wg.specialize` says `girih.derive_registers`) each gets a budget. What a
    thread holds is added up at every product: the accumulators, operands in registers, and all tiles that are used
    after it as well; constants and repeated rows or columns cost nothing. 24 registers beside are for addresses and cursors.
    In a role that loads for others it is what is alive at a copy, and 16 beside. A role that loads gets that, rounded
    up to 8, or 32 where the products can spare it; the role that multiplies the rest of what the launch allots, up to 240; what
    is then left over makes the former's budget up to 40. If a product's tiles do not fit, that is an error at the product that adds up, line by line, who holds what.

    ```mlir
    wg.specialize {
      wg.role @load warps(1) { ... }
      wg.role @compute warpgroups(2) { ... }
    } {girih.derive_registers}
    // becomes
    wg.specialize {
      wg.role @load warps(1) registers(40) { ... }
      wg.role @compute warpgroups(2) registers(232) { ... }
    }
    ```

    Remarks say each role's budget, where it holds most, and what.

    Preconditions: every tile has a layout. A `wg.specialize` of one role is checked only: it has what the launch allots.
  }];
}

def VerifyWGPhase : Pass<"verify-wg-phase", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Check that a gpu.module has left the tile phase";
  let description = [{
    Every tile has a layout, and no `tile.dot` is left: the first op of which that is not true is an error at its location.
    Changes nothing.
  }];
}

#endif // GIRIH_CONVERSION_TILETOWG_PASSES_TD
