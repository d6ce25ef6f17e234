// What combines elements of tiles: casts, products, reductions, scans; and what tells the user about them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_TILE_IR_TILECOMPUTEOPS_TD
#define GIRIH_DIALECT_TILE_IR_TILECOMPUTEOPS_TD

include "girih/Dialect/Tile/IR/TileTypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

def Tile_Rounding : I32EnumAttr<"Rounding", "rounding of a conversion", [
    I32EnumAttrCase<"NearestEven", 0, "rn">,
    I32EnumAttrCase<"TowardZero", 1, "rz">,
    I32EnumAttrCase<"Up", 2, "rp">,
    I32EnumAttrCase<"Down", 3, "rm">]> {
  let cppNamespace = "::girih::tile";
}

def Tile_Precision : I32EnumAttr<"Precision", "how a product takes its operands", [
    I32EnumAttrCase<"Exact", 0, "exact">,
    I32EnumAttrCase<"TF32", 1, "tf32">]> {
  let cppNamespace = "::girih::tile";
}

def Tile_CastOp : Tile_Op<"cast", [Pure]> {
  let summary = "converts numbers to another type";
  let description = [{
    Of tiles or scalars. `unsigned_source` and `unsigned_result` say that an integer type is unsigned. To a float: rounded, to
    nearest even unless `rounding` says otherwise; beyond the largest finite value infinity, or with `saturate` (always for
    e4m3 and e5m2) the largest finite value. Float to integer: toward zero unless `rounding` says otherwise, clamped to the range,
    NaN to 0, as PTX's cvt does. Integer to integer: extended or cut off, with `saturate` clamped. To i1: whether it is not 0.

    ```mlir
    func.func @down(%t: tensor<64x32xf32>) -> tensor<64x32xf8E4M3FN> {
      %u = tile.cast %t : tensor<64x32xf32> to tensor<64x32xf8E4M3FN>
      return %u : tensor<64x32xf8E4M3FN>
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[Tile_Tile, Tile_Scalar]>:$source, OptionalAttr<Tile_Rounding>:$rounding,
                       UnitAttr:$saturate, UnitAttr:$unsigned_source, UnitAttr:$unsigned_result);
  let results = (outs AnyTypeOf<[Tile_Tile, Tile_Scalar]>:$result);
  let assemblyFormat = "$source (`rounding` $rounding^)? (`saturate` $saturate^)? attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def Tile_DeviceCallOp : Tile_Op<"device_call", [Elementwise, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls a device function for each element";
  let description = [{
    The function is written in CUDA C++: an `llvm.func` declaration in the same gpu.module with the attribute `girih.cuda`, a dictionary of
    `source` (the user's text), `file` and `line` (where it begins) and `wrapper` (a function of C linkage under the symbol's
    name that calls it). Its parameters and result are i32, i64, f32 and f64; narrower integers and floats of 16 bits
    are passed as the bits of an i32 ([Compile.md](../Compile.md)). What it does besides is unknown, so calls are neither moved nor merged.

    No wgmma may be in flight where it stands: a call keeps its values in the registers that calls have.

    ```mlir
    gpu.module @device {
      llvm.func @half(f32) -> f32 attributes {girih.cuda = {source = "float half_of(float x) { return x / 2; }", file = "a.py", line = 3 : i64,
          wrapper = "float half(float a) { return half_of(a); }"}}
      func.func @halved(%t: tensor<64x32xf32>) -> tensor<64x32xf32> {
        %h = tile.device_call @half(%t) : (tensor<64x32xf32>) -> tensor<64x32xf32>
        return %h : tensor<64x32xf32>
      }
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyTypeOf<[Tile_Tile, Tile_Scalar]>>:$arguments);
  let results = (outs AnyTypeOf<[Tile_Tile, Tile_Scalar]>:$result);
  let assemblyFormat = "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $result)";
}

def Tile_InlinePtxOp : Tile_Op<"inline_ptx", [Elementwise, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "PTX of the user's for each element";
  let description = [{
    In `text`, %0 is the result, %1 and so on are the operands, %% is a per cent sign. Registers are of the type's class: f32, f64, b16 (f16,
    bf16 and i16), b32, b64; there are none for 8 and 1 bits. With `pure` it only computes its result; without, calls are neither moved
    nor merged.

    ```mlir
    func.func @reciprocal(%t: tensor<64x32xf32>) -> tensor<64x32xf32> {
      %r = tile.inline_ptx "rcp.approx.ftz.f32 %0, %1;"(%t) pure : (tensor<64x32xf32>) -> tensor<64x32xf32>
      return %r : tensor<64x32xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$text, Variadic<AnyTypeOf<[Tile_Tile, Tile_Scalar]>>:$arguments, UnitAttr:$pure);
  let results = (outs AnyTypeOf<[Tile_Tile, Tile_Scalar]>:$result);
  let assemblyFormat = "$text `(` $arguments `)` (`pure` $pure^)? attr-dict `:` functional-type($arguments, $result)";
  let hasVerifier = 1;
}

def Tile_DotOp : Tile_Op<"dot", [Pure]> {
  let summary = "a matrix product, with what it is added to";
  let description = [{
    M x K times K x N, plus the accumulator if there is one. f16 or bf16 or e4m3/e5m2 operands with an f32 accumulator; i8 with
    i32 (`unsigned_a`, `unsigned_b`: u8); f32 with f32, in `tf32` precision on tensor cores or exact. A dot without an accumulator is an
    accumulation of its own: no pass merges it into a sum, since for fp8 that would lose bits (promotion).

    In the tile phase only.

    ```mlir
    func.func @product(%a: tensor<64x32xbf16>, %b: tensor<32x16xbf16>, %c: tensor<64x16xf32>) -> tensor<64x16xf32> {
      %d = tile.dot %a, %b, %c : tensor<64x32xbf16>, tensor<32x16xbf16> -> tensor<64x16xf32>
      return %d : tensor<64x16xf32>
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$a, Tile_Tile:$b, Optional<Tile_Tile>:$accumulator,
                       DefaultValuedAttr<Tile_Precision, "::girih::tile::Precision::Exact">:$precision,
                       UnitAttr:$unsigned_a, UnitAttr:$unsigned_b);
  let results = (outs Tile_Tile:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

class Tile_CombiningOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat(traits, [SingleBlockImplicitTerminator<"::girih::tile::YieldOp">, SameVariadicOperandSize,
                                             RecursiveMemoryEffects])> {
  let regions = (region SizedRegion<1>:$combiner);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Tile_ReduceOp : Tile_CombiningOp<"reduce"> {
  let summary = "combines the elements along a dimension";
  let description = [{
    The region combines two partial results, scalars, one of each operand, and yields as many; it must be associative and
    commutative. Operands agree in shape. The results lack the dimension; of rank 1 they are scalars.

    ```mlir
    func.func @sums(%t: tensor<64x32xf32>) -> tensor<64xf32> {
      %s = tile.reduce %t dim(1) : tensor<64x32xf32> -> tensor<64xf32> {
      ^bb0(%x: f32, %y: f32):
        %z = arith.addf %x, %y : f32
        tile.yield %z : f32
      }
      return %s : tensor<64xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_Tile>:$tiles, I64Attr:$dim);
  let results = (outs Variadic<AnyTypeOf<[Tile_Tile, Tile_Scalar]>>:$results);
}

def Tile_ScanOp : Tile_CombiningOp<"scan"> {
  let summary = "every partial result of combining the elements along a dimension";
  let description = [{
    Element i is the combination of elements 0 to i, or of i to the last with `reverse`. The region as for `tile.reduce`, its
    first arguments being what comes first (with `reverse`: last); associative, not necessarily commutative.

    ```mlir
    func.func @running(%t: tensor<64x32xf32>) -> tensor<64x32xf32> {
      %s = tile.scan %t dim(1) : tensor<64x32xf32> -> tensor<64x32xf32> {
      ^bb0(%x: f32, %y: f32):
        %z = arith.addf %x, %y : f32
        tile.yield %z : f32
      }
      return %s : tensor<64x32xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_Tile>:$tiles, I64Attr:$dim, UnitAttr:$reverse);
  let results = (outs Variadic<Tile_Tile>:$results);
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ParentOneOf<["::girih::tile::ReduceOp", "::girih::tile::ScanOp"]>]> {
  let summary = "what a combiner yields";
  let description = [{
    The example of `tile.reduce` has one.
  }];
  let arguments = (ins Variadic<Tile_Scalar>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

def Tile_AssertOp : Tile_Op<"assert"> {
  let summary = "fails the call with a message unless a condition holds";
  let description = [{
    A scalar, or a tile all of whose elements must hold. The kernel goes on; the call fails when it has run, with the first failures.

    ```mlir
    func.func @check(%ok: i1) {
      tile.assert %ok, "n must be positive" : i1
      return
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[I1, Tile_Mask]>:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict `:` type($condition)";
}

def Tile_PrintOp : Tile_Op<"print"> {
  let summary = "hands numbers to the host, which prints them";
  let description = [{
    Scalars or tiles, where the scalar `where` or each element of the mask `where` is true. Records go to a buffer of the host
    plan; the runtime sorts and formats them, so that the text is the same on every device.

    ```mlir
    func.func @show(%t: tensor<64xf32>, %here: i1) {
      tile.print "t" %t where(%here) : tensor<64xf32>, i1
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$prefix, AnyTypeOf<[Tile_Tile, Tile_Scalar]>:$value, Optional<AnyTypeOf<[I1, Tile_Mask]>>:$where);
  let assemblyFormat = "$prefix $value (`where` `(` $where^ `)`)? attr-dict `:` type($value) (`,` type($where)^)?";
}

#endif // GIRIH_DIALECT_TILE_IR_TILECOMPUTEOPS_TD
