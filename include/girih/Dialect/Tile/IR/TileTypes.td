// The type of a view, and the constraints that say what an operand may be.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_TILE_IR_TILETYPES_TD
#define GIRIH_DIALECT_TILE_IR_TILETYPES_TD

include "girih/Dialect/Tile/IR/TileDialect.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Tile_ViewType : TypeDef<Tile_Dialect, "View"> {
  let mnemonic = "view";
  let summary = "a part of global memory: address, extents and strides";
  let description = [{
    `!tile.view<bf16, rank = 2, contiguous = 1, align = 16>`: element type and number of dimensions; optionally the dimension
    whose stride is one element, and the bytes of which the address and all other strides are multiples (a power of two; absent:
    the element's size). Extents and strides are known at run time. An access outside the extents reads a fill value or writes
    nothing.
  }];
  let parameters = (ins "::mlir::Type":$elementType, "int64_t":$rank, "int64_t":$contiguous, "int64_t":$align);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether some dimension is known to have stride 1.
    bool hasContiguous() const { return getContiguous() >= 0; }
    /// Bytes of one element in memory.
    int64_t getElementBytes() const;
  }];
}

/// A tile: a tensor of static shape, with or without a layout.
def Tile_Tile : Type<CPred<"::girih::tile::isTile($_self)">, "a tile (a ranked tensor of static shape)",
                     "::mlir::RankedTensorType">;
/// A tile of booleans, of i32.
def Tile_Mask : Type<And<[Tile_Tile.predicate, CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getElementType().isInteger(1)">]>,
                     "a tile of i1", "::mlir::RankedTensorType">;
def Tile_Indices : Type<And<[Tile_Tile.predicate, CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getElementType().isInteger(32)">]>,
                        "a tile of i32", "::mlir::RankedTensorType">;
/// A number: element of a tile, or the result of reducing all of one.
def Tile_Scalar : AnyTypeOf<[AnySignlessInteger, AnyFloat], "a number">;

def Tile_AtomicKind : I32EnumAttr<"AtomicKind", "what an atomic does with the old and the new value", [
    I32EnumAttrCase<"Add", 0, "add">,
    I32EnumAttrCase<"Min", 1, "min">,
    I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"UMin", 3, "umin">,
    I32EnumAttrCase<"UMax", 4, "umax">,
    I32EnumAttrCase<"And", 5, "and">,
    I32EnumAttrCase<"Or", 6, "or">,
    I32EnumAttrCase<"Xor", 7, "xor">,
    I32EnumAttrCase<"Exchange", 8, "exchange">]> {
  let cppNamespace = "::girih::tile";
}

def Tile_Order : I32EnumAttr<"Order", "the memory order of an access that others synchronise with", [
    I32EnumAttrCase<"Relaxed", 0, "relaxed">,
    I32EnumAttrCase<"Acquire", 1, "acquire">,
    I32EnumAttrCase<"Release", 2, "release">,
    I32EnumAttrCase<"AcqRel", 3, "acq_rel">]> {
  let cppNamespace = "::girih::tile";
}

def Tile_Scope : I32EnumAttr<"Scope", "the threads among which an order holds", [
    I32EnumAttrCase<"Cta", 0, "cta">,
    I32EnumAttrCase<"Cluster", 1, "cluster">,
    I32EnumAttrCase<"Gpu", 2, "gpu">,
    I32EnumAttrCase<"Sys", 3, "sys">]> {
  let cppNamespace = "::girih::tile";
}

#endif // GIRIH_DIALECT_TILE_IR_TILETYPES_TD
