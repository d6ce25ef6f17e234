// wgmma: accumulators, products, waits, and parts of tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_WGMMAOPS_TD
#define GIRIH_DIALECT_WG_IR_WGMMAOPS_TD

include "girih/Dialect/WG/IR/WGTypes.td"

def WG_AccOp : WG_Op<"acc", [Pure, OptionalTypesMatchWith<"the tile is the accumulator's", "accumulator", "from",
                                                          "::llvm::cast<::girih::wg::PendingType>($_self).getTile()">]> {
  let summary = "an accumulator, fresh or with what a tile holds";
  let description = [{
    Its elements are undefined: the first `wg.mma` says `accumulate` with a predicate that is false. With `from(%t)` it
    starts as the tile `%t`, of the accumulator's layout.

    Lowers to: undefined registers, or those of the tile.

    ```mlir
    #acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}
                      repeat {register: [0,8] x 3}>
    func.func @fresh(%t: tensor<64x24xf32, #acc>) -> !wg.pending<tensor<64x24xf32, #acc>> {
      %acc = wg.acc : !wg.pending<tensor<64x24xf32, #acc>>
      %sum = wg.acc from(%t) : !wg.pending<tensor<64x24xf32, #acc>>
      return %acc : !wg.pending<tensor<64x24xf32, #acc>>
    }
    ```
  }];
  let arguments = (ins Optional<WG_Tile>:$from);
  let results = (outs WG_PendingType:$accumulator);
  let assemblyFormat = "(`from` `(` $from^ `)`)? attr-dict `:` qualified(type($accumulator))";
  let builders = [OpBuilder<(ins "::mlir::Type":$type), [{ build($_builder, $_state, type, ::mlir::Value()); }]>];
  let hasVerifier = 1;
}

def WG_MmaOp : WG_Op<"mma", [AllTypesMatch<["accumulator", "result"]>,
                             MemoryEffects<[MemRead<WG_Shared>, MemRead<WG_AsyncProxy>, MemWrite<WG_AsyncProxy>]>]> {
  let summary = "starts a matrix product";
  let description = [{
    D = A * B + C for A of M x K from a buffer or a tile in registers, B of K x N from a buffer, and the pending C; the
    result is pending. With `accumulate(%p)`, `%p` false gives D = A * B. M is 64 for each warpgroup of the accumulator,
    or a multiple of that, N a multiple of 8 up to 256 (for integers of 8 bits: of 16 beyond 32). Each op is one group:
    `wg.wait in_flight(n)` counts them.

    | A and B | accumulator | K a multiple of |
    |---|---|---|
    | bf16, or f16 | f32 | 16 |
    | tf32, or f32 read as tf32 (its low 13 bits do not count) | f32 | 8 |
    | e4m3 or e5m2, each its own | f32 | 32 |
    | i8, with `unsigned_a` or `unsigned_b` u8 | i32 | 32 |

    Only operands of 16 bits may be stored with M or N as the fastest dimension.

    Lowers to: `wgmma.fence`, a `wgmma.mma_async.sync.aligned` for each 64 rows and 32 bytes of K, `wgmma.commit_group`
    (PTX ISA 9.0, 9.7.15).

    ```mlir
    #acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}
                      repeat {register: [0,8] x 3}>
    func.func @product(%a: !wg.buffer<64x64xbf16, swizzle = 128>, %b: !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>)
        -> tensor<64x24xf32, #acc> {
      %false = arith.constant false
      %c = wg.acc : !wg.pending<tensor<64x24xf32, #acc>>
      %d = wg.mma %a, %b, %c accumulate(%false)
          : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>,
            !wg.pending<tensor<64x24xf32, #acc>>
      %t = wg.wait %d in_flight(0) : !wg.pending<tensor<64x24xf32, #acc>> -> tensor<64x24xf32, #acc>
      return %t : tensor<64x24xf32, #acc>
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[WG_BufferType, WG_Tile]>:$a, WG_BufferType:$b, WG_PendingType:$accumulator,
                       Optional<I1>:$accumulate, UnitAttr:$unsigned_a, UnitAttr:$unsigned_b);
  let results = (outs WG_PendingType:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $accumulator (`accumulate` `(` $accumulate^ `)`)? attr-dict
    `:` qualified(type($a)) `,` qualified(type($b)) `,` qualified(type($accumulator))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = !strconcat(WG_Declare.asyncEffects, WG_Declare.bufferAccesses, [{
    /// Extents of the product.
    int64_t getM() { return getAccumulator().getType().getTile().getDimSize(0); }
    int64_t getN() { return getAccumulator().getType().getTile().getDimSize(1); }
    int64_t getK() { return getB().getType().getShape()[0]; }
    /// The element type of A.
    ::mlir::Type getAElementType();
  }]);
}

def WG_WaitOp : WG_Op<"wait", [AttrSizedOperandSegments,
                               MemoryEffects<[MemRead<WG_AsyncProxy>, MemWrite<WG_AsyncProxy>, MemWrite<WG_Shared>]>]> {
  let summary = "waits for wgmma groups";
  let description = [{
    Until at most `in_flight` of the warpgroup's groups are in flight. With `derive` the number is not the author's to
    count: `wg-derive-waits` makes it the largest with which the operands' groups are done. Each pending operand becomes a result: the tile, if
    its group is among those that are done, or a pending tile again. `written(%p)`: if `%p` is false at run time no
    `wg.mma` wrote the operands, and the tiles are zero.

    Lowers to: `wgmma.wait_group.sync.aligned`, which takes and returns every register of the operands.

    ```mlir
    #acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}
                      repeat {register: [0,8] x 3}>
    func.func @wait(%s: !wg.pending<tensor<64x24xf32, #acc>>, %o: !wg.pending<tensor<64x24xf32, #acc>>, %w: i1) {
      %t, %p = wg.wait %s, %o in_flight(1)
          : !wg.pending<tensor<64x24xf32, #acc>>, !wg.pending<tensor<64x24xf32, #acc>>
            -> tensor<64x24xf32, #acc>, !wg.pending<tensor<64x24xf32, #acc>>
      %u = wg.wait %p in_flight(0) written(%w) : !wg.pending<tensor<64x24xf32, #acc>> -> tensor<64x24xf32, #acc>
      return
    }
    ```
  }];
  let arguments = (ins Variadic<WG_PendingType>:$pending, ConfinedAttr<I32Attr, [IntNonNegative]>:$in_flight,
                       Optional<I1>:$written, UnitAttr:$derive);
  let results = (outs Variadic<AnyTypeOf<[WG_Tile, WG_PendingType]>>:$results);
  let assemblyFormat = [{
    $pending `in_flight` `(` $in_flight `)` (`derive` $derive^)? (`written` `(` $written^ `)`)? attr-dict
    `:` qualified(type($pending)) `->` qualified(type($results))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = WG_Declare.asyncEffects;
}

def WG_SliceOp : WG_Op<"slice", [Pure]> {
  let summary = "a part of a tile, without moving an element";
  let description = [{
    The tile of the result's shape that starts at the offsets. Every thread must hold the elements of the part already,
    in the order of the result's layout: the op costs nothing.

    Lowers to: a choice of registers.

    ```mlir
    #acc48 = #wg.layout<{register: [[0,1],[8,0],[0,8]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}
                        repeat {register: [0,16] x 3}>
    #acc24 = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}
                        repeat {register: [0,8] x 3}>
    func.func @half(%t: tensor<64x48xf32, #acc48>) -> tensor<64x24xf32, #acc24> {
      %h = wg.slice %t[0, 24] : tensor<64x48xf32, #acc48> -> tensor<64x24xf32, #acc24>
      return %h : tensor<64x24xf32, #acc24>
    }
    ```
  }];
  let arguments = (ins WG_Tile:$source, DenseI64ArrayAttr:$offsets);
  let results = (outs WG_Tile:$part);
  let assemblyFormat = "$source custom<StaticOffsets>($offsets) attr-dict `:` qualified(type($source)) `->` qualified(type($part))";
  let hasVerifier = 1;
}

def WG_ConvertLayoutOp : WG_Op<"convert_layout", [Pure]> {
  let summary = "the same tile with its elements in other places";
  let description = [{
    A side without a layout is not decided yet: `wg-assign-layouts` gives it one, that of the other side if nothing speaks
    against it, and takes the op away where both sides are alike. With `free` they must be: a conversion that would cost
    an instruction is an error.

    Lowers to: nothing, a permutation of registers, shuffles within a warp, or a trip through shared memory, whichever is the
    cheapest that does it (docs/Layout.md).

    ```mlir
    #acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
    #rows = #wg.layout<{register: [[0,1],[0,2]], lane: [[0,4],[1,0],[2,0],[4,0],[8,0]], warp: [[16,0],[32,0]]}>
    func.func @coalesced(%t: tensor<64x8xf32, #acc>) -> tensor<64x8xf32, #rows> {
      %u = wg.convert_layout %t : tensor<64x8xf32, #acc> -> tensor<64x8xf32, #rows>
      return %u : tensor<64x8xf32, #rows>
    }
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$source, UnitAttr:$free);
  let results = (outs AnyStaticShapeTensor:$tile);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($tile)";
  let hasVerifier = 1;
}

#endif // GIRIH_DIALECT_WG_IR_WGMMAOPS_TD
