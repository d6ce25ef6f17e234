// Shared memory: what is allocated, and parts of it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_WGBUFFEROPS_TD
#define GIRIH_DIALECT_WG_IR_WGBUFFEROPS_TD

include "girih/Dialect/WG/IR/WGTypes.td"

def WG_AllocBufferOp : WG_Op<"alloc_buffer", [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "places a buffer, or an array of slots of it, in shared memory";
  let description = [{
    In the entry block of a kernel. `count` (absent: 1) makes an array of slots, each of the buffer's bytes; the result
    is the first, `wg.slot` gives the others. `offset` is the byte offset from the start of dynamic shared memory, which
    `wg-allocate-shared` sets. `name` is what messages call it.

    Lowers to: an address in `.extern .shared`.

    ```mlir
    func.func @buffers() {
      %a = wg.alloc_buffer {count = 4 : i32, name = "a"} : !wg.buffer<128x64xbf16, swizzle = 128>
      return
    }
    ```
  }];
  let arguments = (ins OptionalAttr<ConfinedAttr<I32Attr, [IntPositive]>>:$count,
                       OptionalAttr<ConfinedAttr<I32Attr, [IntNonNegative]>>:$offset, OptionalAttr<StrAttr>:$name);
  let results = (outs Res<WG_BufferType, "", [MemAlloc<WG_Shared>]>:$buffer);
  let assemblyFormat = "attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getSlots() { return getCount().value_or(1); }
    /// Bytes of all slots.
    int64_t getTotalBytes() { return getSlots() * getBuffer().getType().getBytes(); }
  }];
}

def WG_AllocBarrierOp : WG_Op<"alloc_barrier", [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "places an array of mbarriers in shared memory";
  let description = [{
    In the entry block of a kernel; `offset` and `name` as for `wg.alloc_buffer`. The barriers must be initialised.

    Lowers to: an address in `.extern .shared`, 8 bytes a barrier.

    ```mlir
    func.func @barriers() {
      %full = wg.alloc_barrier {name = "full"} : !wg.barrier<4>
      return
    }
    ```
  }];
  let arguments = (ins OptionalAttr<ConfinedAttr<I32Attr, [IntNonNegative]>>:$offset, OptionalAttr<StrAttr>:$name);
  let results = (outs Res<WG_BarrierType, "", [MemAlloc<WG_Shared>]>:$barrier);
  let assemblyFormat = "attr-dict `:` qualified(type($barrier))";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getTotalBytes() { return getBarrier().getType().getCount() * 8; }
  }];
}

def WG_SlotOp : WG_Op<"slot", [Pure, AllTypesMatch<["buffers", "slot"]>]> {
  let summary = "one slot of an array of buffers";
  let description = [{
    The operand is the result of a `wg.alloc_buffer` with a `count`; the index must be less than that.

    Lowers to: address arithmetic.

    ```mlir
    func.func @pick(%i: i32) {
      %a = wg.alloc_buffer {count = 4 : i32} : !wg.buffer<128x64xbf16, swizzle = 128>
      %slot = wg.slot %a[%i] : !wg.buffer<128x64xbf16, swizzle = 128>
      return
    }
    ```
  }];
  let arguments = (ins WG_BufferType:$buffers, I32:$index);
  let results = (outs WG_BufferType:$slot);
  let assemblyFormat = "$buffers `[` $index `]` attr-dict `:` qualified(type($buffers))";
  let hasVerifier = 1;
}

def WG_SubbufferOp : WG_Op<"subbuffer", [Pure]> {
  let summary = "a part of a buffer";
  let description = [{
    The tile of the result's shape that starts at an element of the source; offsets are literals or values. Element
    type, order and swizzle stay. Offsets are multiples of 8 along the slower dimension (one swizzle atom) and of one
    span along the faster; the result lies inside the source and does not cross from one panel into part of another.

    Lowers to: address arithmetic.

    ```mlir
    func.func @narrow(%slot: !wg.buffer<128x64xbf16, swizzle = 128>, %row: i32) {
      %last = wg.subbuffer %slot[0, 0]
          : !wg.buffer<128x64xbf16, swizzle = 128> -> !wg.buffer<128x48xbf16, swizzle = 128>
      %mine = wg.subbuffer %slot[%row, 0]
          : !wg.buffer<128x64xbf16, swizzle = 128> -> !wg.buffer<64x64xbf16, swizzle = 128>
      return
    }
    ```
  }];
  let arguments = (ins WG_BufferType:$source, Variadic<I32>:$offsets, DenseI64ArrayAttr:$static_offsets);
  let results = (outs WG_BufferType:$part);
  let assemblyFormat = [{
    $source custom<Offsets>($offsets, $static_offsets) attr-dict `:` qualified(type($source)) `->` qualified(type($part))
  }];
  let hasVerifier = 1;
}

#endif // GIRIH_DIALECT_WG_IR_WGBUFFEROPS_TD
