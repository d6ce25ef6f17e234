// Types of the wg dialect, and the constraints that say what an operand may be.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_WGTYPES_TD
#define GIRIH_DIALECT_WG_IR_WGTYPES_TD

include "girih/Dialect/Plan/IR/PlanInterfaces.td"
include "girih/Dialect/WG/IR/WGAttrs.td"
include "mlir/IR/AttrTypeBase.td"

class WG_Type<string name, string typeMnemonic, list<Trait> traits = []> : TypeDef<WG_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def WG_BufferType : WG_Type<"Buffer", "buffer"> {
  let summary = "a tile's place in shared memory";
  let description = [{
    `!wg.buffer<128x64xbf16, swizzle = 128>`: shape, element type, and optionally `order = [0, 1]` (dimensions from the
    fastest to the slowest; row-major, `[1, 0]`, is not written) and `swizzle` (span in bytes: 32, 64 or 128; 0, which
    is not written, stores rows one after the other).

    With a swizzle the tile is stored as panels of one span along the fastest dimension, one panel after the other, which
    is what TMA writes box by box and what a wgmma descriptor walks; the last panel may be narrower and keeps the full
    pitch. So `!wg.buffer<64x256xbf16, swizzle = 128>` is four panels of 64 rows of 128 bytes.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        ArrayRefParameter<"int64_t">:$order, "int64_t":$swizzle);
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType,
                                        "int64_t":$swizzle), [{
      return $_get(elementType.getContext(), shape, elementType, ::llvm::ArrayRef<int64_t>{1, 0}, swizzle);
    }]>,
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The dimension whose neighbours are neighbours in memory.
    int64_t getFastestDim() const { return getOrder().front(); }
    bool isRowMajor() const { return getFastestDim() == 1; }
    /// Extent along the fastest dimension, and along the other one.
    int64_t getInnerExtent() const { return getShape()[getFastestDim()]; }
    int64_t getOuterExtent() const { return getShape()[1 - getFastestDim()]; }
    int64_t getElementBits() const;
    /// Distance in bytes between neighbours along the slower dimension: the span, or the inner extent without swizzle.
    int64_t getPitchBytes() const;
    /// Elements along the fastest dimension in one panel.
    int64_t getPanelExtent() const;
    int64_t getNumPanels() const;
    /// Bytes of one panel and of the whole buffer, padding included.
    int64_t getPanelBytes() const { return getOuterExtent() * getPitchBytes(); }
    int64_t getBytes() const { return getNumPanels() * getPanelBytes(); }
    /// What the swizzle pattern needs: 8 rows of a span, at least 128 (PTX ISA 9.0, 5.5.7 and 9.7.15.5.1).
    int64_t getAlignment() const { return getSwizzle() ? 8 * getSwizzle() : 128; }
  }];
}

def WG_ViewType : WG_Type<"View", "view", [DeclareTypeInterfaceMethods<Plan_TensorMapTypeInterface>]> {
  let summary = "a tensor map: global memory as TMA copies see it";
  let description = [{
    `!wg.view<bf16, box = [128, 64], swizzle = 128>`: element type, the box that one copy moves, `order` and `swizzle`
    as for a buffer. A kernel receives it by value. A copy into a buffer that is larger than the box is made of several,
    in the order of the buffer's panels. Up to five dimensions; a box that is copied to or from a buffer has one element
    in all but two of them.
  }];
  let parameters = (ins "::mlir::Type":$elementType, ArrayRefParameter<"int64_t">:$box,
                        ArrayRefParameter<"int64_t">:$order, "int64_t":$swizzle);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getBox().size(); }
    int64_t getFastestDim() const { return getOrder().front(); }
    /// The other dimension of which a box holds more than one element; without any, the second of the order; -1 for a
    /// view of one dimension.
    int64_t getSlowDim() const;
    /// Copies that fill `buffer`, whose panels the box covers.
    int64_t getNumCopies(::girih::wg::BufferType buffer) const;
    /// Bytes that one copy adds to its barrier, the part out of range of the array included.
    int64_t getBoxBytes() const;
  }];
}

def WG_RingType : WG_Type<"Ring", "ring"> {
  let summary = "slots of buffers with their full and empty barriers";
  let description = [{
    `!wg.ring<[!wg.buffer<...>, !wg.buffer<...>]>`: what one slot holds. A producer fills slots, consumers drain them;
    the number of slots is an attribute of `wg.ring`.
  }];
  let parameters = (ins ArrayRefParameter<"::girih::wg::BufferType">:$buffers);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of one slot, each buffer rounded up to the alignment of the strictest.
    int64_t getSlotBytes() const;
  }];
}

def WG_StoreRingType : WG_Type<"StoreRing", "store_ring"> {
  let summary = "slots of a buffer on its way out to global memory";
  let description = [{
    `!wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>`: a slot is written by a role and read by TMA stores. The
    buffer is role-wide: warpgroup w of W owns the rows from w*R/W to (w+1)*R/W and stores them by itself, so no
    barrier spans warpgroups. A slot is free again when the bulk group of its stores has been read.
  }];
  let parameters = (ins "::girih::wg::BufferType":$buffer);
  let assemblyFormat = "`<` qualified($buffer) `>`";
}

def WG_CursorType : WG_Type<"Cursor", "cursor"> {
  let summary = "a place in a ring: slot index and phase";
  let description = [{
    A value, carried through every enclosing loop and never derived from an induction variable, so that a ring keeps its
    phase over loops that run any number of times. It becomes two `i32`.
  }];
}

def WG_TurnsType : WG_Type<"Turns", "turns"> {
  let summary = "whose turn it is among the warpgroups of a role";
  let description = [{`!wg.turns<2>`: two warpgroups take turns, warpgroup 0 first.}];
  let parameters = (ins "int64_t":$warpgroups);
  let assemblyFormat = "`<` $warpgroups `>`";
  let genVerifyDecl = 1;
}

def WG_BarrierType : WG_Type<"Barrier", "barrier"> {
  let summary = "an array of mbarriers in shared memory";
  let description = [{`!wg.barrier<4>`: four mbarrier objects of 64 bits each.}];
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
  let genVerifyDecl = 1;
}

def WG_PendingType : WG_Type<"Pending", "pending"> {
  let summary = "a tile that an asynchronous wgmma is still writing";
  let description = [{
    `!wg.pending<tensor<128x256xf32, #acc>>`: only `wg.mma` and `wg.wait` take it; any other reader is a type error.
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $tile `>`";
  let genVerifyDecl = 1;
}

/// A tile in registers.
def WG_Tile : Type<CPred<"::girih::wg::isTile($_self)">,
                   "a tile (a ranked tensor with a #wg.layout encoding; a pending tile becomes one through wg.wait)",
                   "::mlir::RankedTensorType">;
/// A ring or a store ring.
def WG_AnyRing : AnyTypeOf<[WG_RingType, WG_StoreRingType], "a ring or a store ring">;

#endif // GIRIH_DIALECT_WG_IR_WGTYPES_TD
