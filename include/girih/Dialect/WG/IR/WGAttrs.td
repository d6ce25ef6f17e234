// Attributes and enumerations of the wg dialect.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_WGATTRS_TD
#define GIRIH_DIALECT_WG_IR_WGATTRS_TD

include "girih/Dialect/WG/IR/WGDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

def WG_LayoutAttr : AttrDef<WG_Dialect, "Layout", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "which element of a tile sits in which register, lane, warp and warpgroup";
  let description = [{
    The encoding of a tile's tensor type, every element of which sits in some register: a `girih::Layout` in its written form (docs/Layout.md has the grammar), a
    linear map over GF(2) on an atom, then repeats of any extent. A tile of one dimension is one row; of three or more, the
    leading ones count as rows, in row-major order. The accumulator of two warpgroups for 128x24:

    ```mlir
    #acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}
                      repeat {register: [0,8] x 3, warpgroup: [64,0] x 2}>
    ```
  }];
  let parameters = (ins AttrParameter<"::girih::Layout", "the layout", "const ::girih::Layout &">:$layout);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Number of warpgroups among which the tile is split.
    int64_t getWarpgroups() const;
    /// Number of elements that one thread holds.
    int64_t getElementsPerThread() const;
  }];
}

def WG_CursorEnd : I32EnumAttr<"CursorEnd", "which end of a ring a cursor walks", [
    I32EnumAttrCase<"Producer", 0, "producer">,
    I32EnumAttrCase<"Consumer", 1, "consumer">]> {
  let cppNamespace = "::girih::wg";
}

def WG_RegisterChange : I32EnumAttr<"RegisterChange", "direction of setmaxnreg", [
    I32EnumAttrCase<"Increase", 0, "increase">,
    I32EnumAttrCase<"Decrease", 1, "decrease">]> {
  let cppNamespace = "::girih::wg";
}

#endif // GIRIH_DIALECT_WG_IR_WGATTRS_TD
