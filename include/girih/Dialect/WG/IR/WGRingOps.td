// Rings: slots that are filled and drained, as loops and as single steps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_WGRINGOPS_TD
#define GIRIH_DIALECT_WG_IR_WGRINGOPS_TD

include "girih/Dialect/WG/IR/WGTypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def WG_RingOp : WG_Op<"ring", [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a ring of slots filled by TMA and read by wgmma";
  let description = [{
    In the entry block of a kernel. Owns its slots, a full and an empty mbarrier for each, and what follows from its
    uses: the bytes that a full barrier waits for are those of the copies into a slot, the arrivals that an empty one
    counts are those of the warps that read it: of every draining role, or, with `one_reader`, of the one role or
    warpgroup (of a role with `each`) that a slot is for, while the others advance past it. `stages` is the number of
    slots; absent, it is the most that fits in shared memory, at most four. `name` is what messages call it.

    Lowers to: `wg.alloc_buffer` for each buffer of the slot, two `wg.alloc_barrier`, their initialisation by one thread,
    `fence.mbarrier_init.release.cluster` and a barrier of the CTA.

    ```mlir
    func.func @ring() {
      %ring = wg.ring {stages = 4 : i32}
          : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x256xbf16, swizzle = 128>]>
      return
    }
    ```
  }];
  let arguments = (ins OptionalAttr<ConfinedAttr<I32Attr, [IntPositive]>>:$stages, UnitAttr:$one_reader,
                       OptionalAttr<StrAttr>:$name);
  let results = (outs Res<WG_RingType, "", [MemAlloc<WG_Shared>]>:$ring);
  let assemblyFormat = "attr-dict `:` qualified(type($ring))";
}

def WG_StoreRingOp : WG_Op<"store_ring", [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a ring of slots written by a role and stored by TMA";
  let description = [{
    In the entry block of a kernel. There is no mbarrier: a slot is free when the bulk group of its stores has been read.

    Lowers to: `wg.alloc_buffer` with `count` = stages.

    ```mlir
    func.func @store_ring() {
      %out = wg.store_ring {stages = 2 : i32} : !wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>
      return
    }
    ```
  }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntPositive]>:$stages, OptionalAttr<StrAttr>:$name);
  let results = (outs Res<WG_StoreRingType, "", [MemAlloc<WG_Shared>]>:$ring);
  let assemblyFormat = "attr-dict `:` qualified(type($ring))";
}

def WG_CursorOp : WG_Op<"cursor", [Pure]> {
  let summary = "the start of a ring for one of its ends";
  let description = [{
    Slot 0. A `producer` starts in the phase in which empty slots count as freed already, a `consumer` in the phase that
    the first fill completes. Each role that uses a ring takes one and carries it on.

    Lowers to: two constants.

    ```mlir
    func.func @start(%ring: !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>]>) {
      %p = wg.cursor producer %ring : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>]>
      return
    }
    ```
  }];
  let arguments = (ins WG_CursorEnd:$end, WG_AnyRing:$ring);
  let results = (outs WG_CursorType:$cursor);
  let assemblyFormat = "$end $ring attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
}

def WG_AdvanceOp : WG_Op<"advance", [Pure]> {
  let summary = "the next slot, or a later one";
  let description = [{
    After the last slot comes the first, in the other phase. `by(%n)` goes on by that many slots, 0 or more: past those
    that another reader of a ring with `one_reader` gets.

    Lowers to: an addition, a comparison, a select and an exclusive or; with `by`, a division by the number of slots.

    ```mlir
    func.func @next(%ring: !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>]>, %c: !wg.cursor, %steps: i32) -> !wg.cursor {
      %n = wg.advance %ring[%c] : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>]>
      %m = wg.advance %ring[%n] by(%steps) : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>]>
      return %m : !wg.cursor
    }
    ```
  }];
  let arguments = (ins WG_AnyRing:$ring, WG_CursorType:$cursor, Optional<I32>:$by);
  let results = (outs WG_CursorType:$next);
  let assemblyFormat = "$ring `[` $cursor `]` (`by` `(` $by^ `)`)? attr-dict `:` qualified(type($ring))";
  let builders = [
    OpBuilder<(ins "::mlir::Value":$ring, "::mlir::Value":$cursor), [{
      build($_builder, $_state, CursorType::get($_builder.getContext()), ring, cursor, ::mlir::Value());
    }]>,
  ];
  let hasVerifier = 1;
}

/// What the two loops over a ring have in common.
defvar WG_LoopParts = [{
    /// The step's number, the slot's buffers, and the values that the loop carries.
    ::mlir::BlockArgument getStep() { return getBody().front().getArgument(0); }
    ::mlir::Block::BlockArgListType getSlot() {
      return getBody().front().getArguments().slice(1, getRing().getType().getBuffers().size());
    }
    ::mlir::Block::BlockArgListType getIterArgs() {
      return getBody().front().getArguments().drop_front(1 + getRing().getType().getBuffers().size());
    }
    /// What a step hands on.
    ::girih::wg::YieldOp getYield();
  }];

def WG_FillOp : WG_Op<"fill", [SingleBlockImplicitTerminator<"::girih::wg::YieldOp">, RecursiveMemoryEffects,
                               MemoryEffects<[MemRead<WG_Barrier>, MemWrite<WG_Barrier>]>]> {
  let summary = "fills slots of a ring, one after the other";
  let description = [{
    `count` times: waits for an empty slot, expects the bytes of the copies in the body, runs the body with the step's
    number, the slot's buffers and the values that the loop carries (`iter_args`, as for `wg.drain`), and goes on to the
    next slot. Results: the cursor after the last one, and what the last body yielded.

    Lowers to: an `scf.for` with `wg.acquire`, the body, `wg.publish` and `wg.advance`.

    ```mlir
    func.func @load(%A: !wg.view<bf16, box = [128, 64], swizzle = 128>, %row: i32, %steps: i32,
                    %ring: !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>]>, %p: !wg.cursor) -> !wg.cursor {
      %c64 = arith.constant 64 : i32
      %p1 = wg.fill %ring[%p] count(%steps) as (%k, %sa) : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>]> {
        %col = arith.muli %k, %c64 : i32
        wg.tma_load %A[%row, %col] to %sa
            : !wg.view<bf16, box = [128, 64], swizzle = 128>, !wg.buffer<128x64xbf16, swizzle = 128>
      }
      return %p1 : !wg.cursor
    }
    ```
  }];
  let arguments = (ins WG_RingType:$ring, WG_CursorType:$cursor, I32:$count, Variadic<AnyType>:$inits);
  let results = (outs WG_CursorType:$next, Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = !strconcat(WG_Declare.barrierEffects, WG_LoopParts);
}

def WG_DrainOp : WG_Op<"drain", [SingleBlockImplicitTerminator<"::girih::wg::YieldOp">, RecursiveMemoryEffects,
                                 MemoryEffects<[MemRead<WG_Barrier>, MemWrite<WG_Barrier>, MemWrite<WG_AsyncProxy>]>]> {
  let summary = "reads slots of a ring, one after the other, with work in flight";
  let description = [{
    `count` times: waits for a full slot, runs the body with the step's number, the slot's buffers and the values that
    the loop carries, waits until the wgmma groups of at most `lag` steps are in flight, and frees the slot of the step
    `lag` steps back. After the last step it waits for the rest and frees the last slots. Results: the cursor after the
    last slot and what the last body yielded (the inits where count is 0); pending tiles stay pending, and a `wg.wait
    in_flight(0)` on them then costs nothing. `lag` is less than the ring's stages: a slot that is never freed is never filled again.

    Lowers to: an `scf.for` with `wg.get`, the body, `wg.wait in_flight(lag)` and `wg.free` of the slot `lag` back.

    ```mlir
    #acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}
                      repeat {register: [0,8] x 3, warpgroup: [64,0] x 2}>
    func.func @multiply(%ring: !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>]>,
                        %q: !wg.cursor, %steps: i32) -> tensor<128x24xf32, #acc> {
      %false = arith.constant false
      %true = arith.constant true
      %acc0 = wg.acc : !wg.pending<tensor<128x24xf32, #acc>>
      %q1, %acc1, %w1 = wg.drain %ring[%q] count(%steps) lag(1) as (%k, %sa, %sb) iter_args(%acc = %acc0, %w = %false)
          -> (!wg.pending<tensor<128x24xf32, #acc>>, i1)
          : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>]> {
        %d = wg.mma %sa, %sb, %acc accumulate(%w)
            : !wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>,
              !wg.pending<tensor<128x24xf32, #acc>>
        wg.yield %d, %true : !wg.pending<tensor<128x24xf32, #acc>>, i1
      }
      %t = wg.wait %acc1 in_flight(0) written(%w1)
          : !wg.pending<tensor<128x24xf32, #acc>> -> tensor<128x24xf32, #acc>
      return %t : tensor<128x24xf32, #acc>
    }
    ```
  }];
  let arguments = (ins WG_RingType:$ring, WG_CursorType:$cursor, I32:$count, I32Attr:$lag, Variadic<AnyType>:$inits);
  let results = (outs WG_CursorType:$next, Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = !strconcat(WG_Declare.barrierEffects, WG_Declare.asyncEffects, WG_LoopParts);
}

def WG_YieldOp : WG_Op<"yield", [Pure, Terminator, ParentOneOf<["::girih::wg::FillOp", "::girih::wg::DrainOp"]>]> {
  let summary = "ends a step of wg.fill or wg.drain";
  let description = [{
    Hands the values on that the loop carries; without any it is not written. The example of
    `wg.drain` has one.

    Lowers to: `scf.yield`.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` qualified(type($values)))? attr-dict";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

def WG_AcquireOp : WG_Op<"acquire", [InferTypeOpAdaptor, MemoryEffects<[MemRead<WG_Barrier>, MemWrite<WG_Barrier>, MemWrite<WG_Shared>]>]> {
  let summary = "waits for an empty slot";
  let description = [{
    A producer's. The results are the slot's buffers; copies into them complete on the slot's full barrier, and their
    bytes are expected before they are issued.

    Lowers to: a wait on the empty barrier of the slot, and `mbarrier.arrive.expect_tx` on the full one by one thread.

    ```mlir
    func.func @acquire(%ring: !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>]>, %p: !wg.cursor) {
      %sa = wg.acquire %ring[%p] : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>]>
      wg.publish %ring[%p] : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>]>
      return
    }
    ```
  }];
  let arguments = (ins WG_RingType:$ring, WG_CursorType:$cursor);
  let results = (outs Variadic<WG_BufferType>:$slot);
  let assemblyFormat = "$ring `[` $cursor `]` attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
  let extraClassDeclaration = WG_Declare.barrierEffects;
}

def WG_PublishOp : WG_Op<"publish", [MemoryEffects<[MemRead<WG_Barrier>, MemWrite<WG_Barrier>, MemRead<WG_Shared>]>]> {
  let summary = "says that every copy into a slot has been issued";
  let description = [{
    A producer's, once for each `wg.acquire`. Consumers get the slot when the copies have landed. The example of
    `wg.acquire` has one.

    Lowers to: nothing of its own for copies by TMA, whose bytes were expected with the arrival at `wg.acquire`.
  }];
  let arguments = (ins WG_RingType:$ring, WG_CursorType:$cursor);
  let assemblyFormat = "$ring `[` $cursor `]` attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
  let extraClassDeclaration = WG_Declare.barrierEffects;
}

def WG_GetOp : WG_Op<"get", [InferTypeOpAdaptor, MemoryEffects<[MemRead<WG_Barrier>, MemWrite<WG_Barrier>, MemWrite<WG_Shared>]>]> {
  let summary = "waits for a full slot";
  let description = [{
    A consumer's. The results are the slot's buffers.

    Lowers to: a wait on the full barrier of the slot (`mbarrier.try_wait.parity` in a loop).

    ```mlir
    func.func @get(%ring: !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>]>, %q: !wg.cursor) {
      %sa = wg.get %ring[%q] : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>]>
      wg.free %ring[%q] : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>]>
      return
    }
    ```
  }];
  let arguments = (ins WG_RingType:$ring, WG_CursorType:$cursor);
  let results = (outs Variadic<WG_BufferType>:$slot);
  let assemblyFormat = "$ring `[` $cursor `]` attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
  let extraClassDeclaration = WG_Declare.barrierEffects;
}

def WG_FreeOp : WG_Op<"free", [MemoryEffects<[MemRead<WG_Barrier>, MemWrite<WG_Barrier>, MemWrite<WG_Shared>]>]> {
  let summary = "gives a slot back to the producer";
  let description = [{
    A consumer's: every warp that reads the slot arrives once. It must not run before the wait that retires the last
    wgmma that reads the slot; `wg-check-protocol` checks that. The example of `wg.get` has one.

    Lowers to: `mbarrier.arrive` on the empty barrier of the slot by one lane of each warp.
  }];
  let arguments = (ins WG_RingType:$ring, WG_CursorType:$cursor);
  let assemblyFormat = "$ring `[` $cursor `]` attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
  let extraClassDeclaration = WG_Declare.barrierEffects;
}

def WG_StoreAcquireOp : WG_Op<"store_acquire", [InferTypeOpAdaptor, MemoryEffects<[MemRead<WG_AsyncProxy>, MemWrite<WG_AsyncProxy>, MemWrite<WG_Shared>]>]> {
  let summary = "waits until a slot's last stores have been read";
  let description = [{
    Each warpgroup waits for its own stores. The result is the whole role's buffer, of which the warpgroup owns its rows:
    R/W of them, a multiple of 64.

    Lowers to: `cp.async.bulk.wait_group.read` of stages - 1 by the thread that stores, then `bar.sync` of the warpgroup.

    ```mlir
    func.func @store_slot(%out: !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>, %o: !wg.cursor,
                          %C: !wg.view<bf16, box = [64, 64], swizzle = 128>, %row: i32, %col: i32) {
      %slot = wg.store_acquire %out[%o] : !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>
      wg.tma_store %slot to %C[%row, %col]
          : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>
      wg.store_commit %out[%o] : !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>
      return
    }
    ```
  }];
  let arguments = (ins WG_StoreRingType:$ring, WG_CursorType:$cursor);
  let results = (outs WG_BufferType:$slot);
  let assemblyFormat = "$ring `[` $cursor `]` attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
  let extraClassDeclaration = WG_Declare.asyncEffects;
}

def WG_StoreCommitOp : WG_Op<"store_commit", [MemoryEffects<[MemRead<WG_AsyncProxy>, MemWrite<WG_AsyncProxy>]>]> {
  let summary = "closes the bulk group of a slot's stores";
  let description = [{
    Once for each `wg.store_acquire`, after the slot's stores. The example of `wg.store_acquire` has one.

    Lowers to: `cp.async.bulk.commit_group` by the thread that stores.
  }];
  let arguments = (ins WG_StoreRingType:$ring, WG_CursorType:$cursor);
  let assemblyFormat = "$ring `[` $cursor `]` attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
  let extraClassDeclaration = WG_Declare.asyncEffects;
}

#endif // GIRIH_DIALECT_WG_IR_WGRINGOPS_TD
