// Copies: TMA between global and shared memory, and fragments between registers and shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_WGCOPYOPS_TD
#define GIRIH_DIALECT_WG_IR_WGCOPYOPS_TD

include "girih/Dialect/WG/IR/WGTypes.td"

def WG_TmaLoadOp : WG_Op<"tma_load", [AttrSizedOperandSegments,
                                      MemoryEffects<[MemRead<WG_Global>, MemWrite<WG_Shared>, MemWrite<WG_Barrier>,
                                                     MemWrite<WG_AsyncProxy>]>]> {
  let summary = "copies a tile from global memory to a buffer";
  let description = [{
    The indices count elements, in the order of the view's dimensions; elements outside the array read as zero. A buffer
    larger than the view's box takes several copies, the buffer's panels in order. Element type, order and swizzle of
    view and buffer agree. The buffer's dimensions are those two of the view of which a box holds several elements, in
    the view's order; `transposed`: in the other. The copy completes on the full barrier of the slot that the buffer
    belongs to; once rings are lowered, and for buffers outside rings, `barrier(%bar[%i])` says which. The bytes must
    have been expected.

    With `multicast` every CTA of the cluster executes the copy, of the same tile to the same buffer, and each brings an
    equal share of its boxes to all of them: the tile crosses from L2 once. The bytes that each CTA's barrier sees are
    those of the whole buffer. A ring with such a copy spans the cluster: a slot is empty when the readers in every CTA
    have freed it.

    Lowers to: `cp.async.bulk.tensor.2d` (1d to 5d, as the view) `.shared::cluster.global.tile.mbarrier::complete_tx::bytes`
    by one thread, for each box, with `.multicast::cluster` to all CTAs of the cluster where it says so.

    ```mlir
    func.func @load(%A: !wg.view<bf16, box = [64, 64], swizzle = 128>, %row: i32, %col: i32, %bar: !wg.barrier<1>, %i: i32,
                    %buf: !wg.buffer<64x256xbf16, swizzle = 128>) {
      wg.tma_load %A[%row, %col] to %buf barrier(%bar[%i] : !wg.barrier<1>)
          : !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.buffer<64x256xbf16, swizzle = 128>
      return
    }
    ```
  }];
  let arguments = (ins WG_ViewType:$view, Variadic<I32>:$indices, WG_BufferType:$buffer,
                       Optional<WG_BarrierType>:$barrier, Optional<I32>:$barrier_index, UnitAttr:$transposed,
                       UnitAttr:$multicast);
  let assemblyFormat = [{
    $view `[` $indices `]` `to` $buffer (`transposed` $transposed^)? (`multicast` $multicast^)?
    (`barrier` `(` $barrier^ `[` $barrier_index `]` `:` qualified(type($barrier)) `)`)?
    attr-dict `:` qualified(type($view)) `,` qualified(type($buffer))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = !strconcat(WG_Declare.barrierEffects, WG_Declare.asyncEffects, WG_Declare.bufferAccesses, [{
    /// Bytes that the op adds to its barrier: every copy counts its whole box.
    int64_t getBytes();
  }]);
}

def WG_TmaStoreOp : WG_Op<"tma_store", [MemoryEffects<[MemRead<WG_Shared>, MemWrite<WG_Global>,
                                                       MemWrite<WG_AsyncProxy>]>]> {
  let summary = "copies a tile from a buffer to global memory";
  let description = [{
    The indices count elements and name the first of the buffer; elements outside the array are dropped; dimensions as
    for `wg.tma_load`. In a role of
    several warpgroups the buffer is role-wide: each warpgroup stores the rows that it owns, at the indices plus its first
    row, as soon as it has written them. The copy belongs to the bulk group that the next commit closes.

    Lowers to: a proxy fence where generic writes come before it, `bar.sync` of the warpgroup, and
    `cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group` by one thread, for each box.

    ```mlir
    func.func @store(%C: !wg.view<bf16, box = [64, 64], swizzle = 128>, %row: i32, %col: i32,
                     %buf: !wg.buffer<128x64xbf16, swizzle = 128>) {
      wg.tma_store %buf to %C[%row, %col]
          : !wg.buffer<128x64xbf16, swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>
      wg.bulk_commit
      wg.bulk_wait 0
      return
    }
    ```
  }];
  let arguments = (ins WG_BufferType:$buffer, WG_ViewType:$view, Variadic<I32>:$indices);
  let assemblyFormat = "$buffer `to` $view `[` $indices `]` attr-dict `:` qualified(type($buffer)) `,` qualified(type($view))";
  let hasVerifier = 1;
  let extraClassDeclaration = !strconcat(WG_Declare.asyncEffects, WG_Declare.bufferAccesses);
}

def WG_BulkCommitOp : WG_Op<"bulk_commit", [MemoryEffects<[MemRead<WG_AsyncProxy>, MemWrite<WG_AsyncProxy>]>]> {
  let summary = "closes the executing thread's group of TMA stores";
  let description = [{
    The example of `wg.tma_store` has one. `wg.store_commit` becomes one.

    Lowers to: `cp.async.bulk.commit_group`.
  }];
  let assemblyFormat = "attr-dict";
  let extraClassDeclaration = WG_Declare.asyncEffects;
}

def WG_BulkWaitOp : WG_Op<"bulk_wait", [MemoryEffects<[MemRead<WG_AsyncProxy>, MemWrite<WG_AsyncProxy>,
                                                       MemWrite<WG_Shared>, MemWrite<WG_Global>]>]> {
  let summary = "waits until at most N of the executing thread's store groups are in flight";
  let description = [{
    With `read` until their sources have been read, without until their writes are visible to the thread.

    Lowers to: `cp.async.bulk.wait_group` or `.wait_group.read`.

    ```mlir
    func.func @wait() {
      wg.bulk_wait read 1
      wg.bulk_wait 0
      return
    }
    ```
  }];
  let arguments = (ins UnitAttr:$read, ConfinedAttr<I32Attr, [IntNonNegative]>:$in_flight);
  let assemblyFormat = "(`read` $read^)? $in_flight attr-dict";
  let extraClassDeclaration = WG_Declare.asyncEffects;
}

def WG_LocalStoreOp : WG_Op<"local_store", [MemoryEffects<[MemWrite<WG_Shared>]>]> {
  let summary = "writes a tile from registers to a buffer";
  let description = [{
    Each thread writes the elements that it holds, through the generic proxy.

    Lowers to: `stmatrix` for 16-bit elements in accumulator order, vectors of `st.shared` otherwise.

    ```mlir
    #acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}
                      repeat {register: [0,8] x 3}>
    func.func @write(%t: tensor<64x24xbf16, #acc>, %buf: !wg.buffer<64x24xbf16, swizzle = 128>) {
      wg.local_store %t to %buf : tensor<64x24xbf16, #acc>, !wg.buffer<64x24xbf16, swizzle = 128>
      return
    }
    ```
  }];
  let arguments = (ins WG_Tile:$tile, WG_BufferType:$buffer);
  let assemblyFormat = "$tile `to` $buffer attr-dict `:` qualified(type($tile)) `,` qualified(type($buffer))";
  let hasVerifier = 1;
  let extraClassDeclaration = WG_Declare.bufferAccesses;
}

def WG_LocalLoadOp : WG_Op<"local_load", [MemoryEffects<[MemRead<WG_Shared>]>]> {
  let summary = "reads a tile from a buffer into registers";
  let description = [{
    Each thread reads the elements that the result's layout gives it, through the generic proxy.

    Lowers to: `ldmatrix` for 16-bit elements in operand order, vectors of `ld.shared` otherwise.

    ```mlir
    #acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}
                      repeat {register: [0,8] x 3}>
    func.func @read(%buf: !wg.buffer<64x24xbf16, swizzle = 128>) -> tensor<64x24xbf16, #acc> {
      %t = wg.local_load %buf : !wg.buffer<64x24xbf16, swizzle = 128> -> tensor<64x24xbf16, #acc>
      return %t : tensor<64x24xbf16, #acc>
    }
    ```
  }];
  let arguments = (ins WG_BufferType:$buffer);
  let results = (outs WG_Tile:$tile);
  let assemblyFormat = "$buffer attr-dict `:` qualified(type($buffer)) `->` qualified(type($tile))";
  let hasVerifier = 1;
  let extraClassDeclaration = WG_Declare.bufferAccesses;
}

#endif // GIRIH_DIALECT_WG_IR_WGCOPYOPS_TD
