// The ops of a host plan: questions first, then actions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_PLAN_IR_PLANOPS_TD
#define GIRIH_DIALECT_PLAN_IR_PLANOPS_TD

include "girih/Dialect/Plan/IR/PlanTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Plan_HostOp : Plan_Op<"host", [IsolatedFromAbove, NoTerminator, SingleBlock, Symbol]> {
  let summary = "the host's part of a kernel";
  let description = [{
    One per kernel. The block arguments are the caller's arguments in order: arrays, and scalars of an integer or float
    type. Integer types are signless, meaning signed, or unsigned (`ui32`), here and as elements of arrays: the runtime
    checks ranges and element types by them. `arg_names` gives the arguments' names, which messages and the manifest use.
    The body runs from top to bottom at each call; `arith` ops on `i64` are its expressions, and 64-bit overflow is the
    runtime's error.

    Lowers to: nothing on the device; one entry of the manifest.

    ```mlir
    plan.host @scale(%x: !plan.array<f32, rank = 1, contiguous = 0, inout>, %n: i32) attributes {arg_names = ["x", "n"]} {
      %len = plan.dim %x[0] : !plan.array<f32, rank = 1, contiguous = 0, inout>
      %want = arith.extsi %n : i32 to i64
      %ok = arith.cmpi sle, %want, %len : i64
      plan.require %ok, "n is {0}, x has {1} elements: n must not exceed them"(%want, %len)
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$arg_names);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The caller's arguments.
    ::mlir::Block::BlockArgListType getArguments() { return getBody().front().getArguments(); }
  }];
}

class Plan_HostChildOp<string mnemonic, list<Trait> traits = []>
    : Plan_Op<mnemonic, !listconcat(traits, [HasParent<"::girih::plan::HostOp">])>;

def Plan_DimOp : Plan_HostChildOp<"dim", [Pure]> {
  let summary = "an extent of an array";
  let description = [{
    The number of elements along one dimension.

    Lowers to: a step `dim` of the manifest.

    ```mlir
    plan.host @rows(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>) attributes {arg_names = ["a"]} {
      %m = plan.dim %a[0] : !plan.array<bf16, rank = 2, contiguous = 1, in>
    }
    ```
  }];
  let arguments = (ins Plan_ArrayType:$array, I64Attr:$dim);
  let results = (outs Plan_Int:$extent);
  let assemblyFormat = "$array `[` $dim `]` attr-dict `:` qualified(type($array))";
  let hasVerifier = 1;
}

def Plan_StrideOp : Plan_HostChildOp<"stride", [Pure]> {
  let summary = "a stride of an array, in elements";
  let description = [{
    The distance between neighbours along one dimension, in elements; zero for a broadcast dimension, negative for one
    that runs backwards. For the contiguous dimension it is 1.

    Lowers to: a step `stride` of the manifest.

    ```mlir
    plan.host @pitch(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>) attributes {arg_names = ["a"]} {
      %lda = plan.stride %a[0] : !plan.array<bf16, rank = 2, contiguous = 1, in>
    }
    ```
  }];
  let arguments = (ins Plan_ArrayType:$array, I64Attr:$dim);
  let results = (outs Plan_Int:$stride);
  let assemblyFormat = "$array `[` $dim `]` attr-dict `:` qualified(type($array))";
  let hasVerifier = 1;
}

def Plan_QueryOp : Plan_HostChildOp<"query", [Pure]> {
  let summary = "a number that the device tells";
  let description = [{
    `multiprocessor_count`: how many multiprocessors the device of the launch has.

    Lowers to: a step `query` of the manifest.

    ```mlir
    plan.host @grid() attributes {arg_names = []} {
      %sms = plan.query multiprocessor_count
    }
    ```
  }];
  let arguments = (ins Plan_Query:$what);
  let results = (outs Plan_Int:$answer);
  let assemblyFormat = "$what attr-dict";
}

def Plan_ValueOp : Plan_HostChildOp<"value", [Pure]> {
  let summary = "an integer argument as a number of the plan";
  let description = [{
    The value of an integer argument of the call, signed or unsigned, for expressions.

    Lowers to: a step `scalar` of the manifest.

    ```mlir
    plan.host @limit(%n: ui32) attributes {arg_names = ["n"]} {
      %v = plan.value %n : ui32
      %c8 = arith.constant 8 : i64
      %ok = arith.cmpi sle, %v, %c8 : i64
      plan.require %ok, "n is {0}: expected at most 8"(%v)
    }
    ```
  }];
  let arguments = (ins AnyInteger:$argument);
  let results = (outs Plan_Int:$value);
  let assemblyFormat = "$argument attr-dict `:` type($argument)";
}

def Plan_RequireOp : Plan_HostChildOp<"require"> {
  let summary = "a condition that the call must meet";
  let description = [{
    If the condition is false the call fails with the message, in which `{0}`, `{1}`, ... stand for the values in the
    list. `{{` and `}}` are braces themselves. Every value must be used and every placeholder must have a value.

    Lowers to: a step `require` of the manifest.

    ```mlir
    plan.host @agree(%k: i64, %kb: i64) attributes {arg_names = ["k", "kb"]} {
      %eq = arith.cmpi eq, %k, %kb : i64
      plan.require %eq, "a has K = {0}, b has K = {1}: dimensions named K must agree"(%k, %kb)
    }
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$message, Variadic<Plan_Int>:$values);
  let assemblyFormat = "$condition `,` $message (`(` $values^ `)`)? attr-dict";
  let hasVerifier = 1;
}

def Plan_TensorMapOp : Plan_HostChildOp<"tensor_map", [Pure]> {
  let summary = "a tensor map over an array";
  let description = [{
    Builds the 128 bytes that TMA instructions take (`cuTensorMapEncodeTiled`): base address, extents and strides from
    the array, element type, box, order and swizzle from the result type. The array has one to five dimensions, and its
    contiguous one must be the first of the map's order. The runtime checks what only a call can tell: a base and pitches
    that are multiples of 16 bytes.

    Lowers to: a step `tensor_map` of the manifest; the map is passed by value as a `__grid_constant__` parameter.

    ```mlir
    plan.host @map(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>) attributes {arg_names = ["a"]} {
      %va = plan.tensor_map %a : !plan.array<bf16, rank = 2, contiguous = 1, in>
              -> !wg.view<bf16, box = [128, 64], swizzle = 128>
    }
    ```
  }];
  let arguments = (ins Plan_ArrayType:$array);
  let results = (outs Plan_TensorMap:$map);
  let assemblyFormat = "$array attr-dict `:` qualified(type($array)) `->` qualified(type($map))";
  let hasVerifier = 1;
}

def Plan_WorkspaceOp : Plan_HostChildOp<"workspace"> {
  let summary = "scratch memory for the launches of this call";
  let description = [{
    Allocates that many bytes of device memory, 256-byte aligned, and releases them after the launches; with the unit
    attribute `zero` they are cleared first. A kernel receives the address.

    Lowers to: a step `workspace` of the manifest.

    ```mlir
    plan.host @scratch(%n: i64) attributes {arg_names = ["n"]} {
      %flags = plan.workspace %n {zero} : !plan.workspace
    }
    ```
  }];
  let arguments = (ins Plan_Int:$bytes, UnitAttr:$zero);
  let results = (outs Plan_WorkspaceType:$memory);
  let assemblyFormat = "$bytes attr-dict `:` qualified(type($memory))";
}

def Plan_RecordsOp : Plan_HostChildOp<"records"> {
  let summary = "memory in which kernels leave notes for the host";
  let description = [{
    A cleared workspace for up to `limit` records, which the runtime reads when the launches of the call have run;
    `plan.print` and `plan.assert` say what it makes of them. A kernel takes a place with an atomic addition to the first
    32-bit word, and if the old value is below the limit writes record number that: 32 bytes each, from byte 16 on. A
    record is six words and a value of 64 bits:

    | bytes | |
    |---|---|
    | 0 to 3 | the site: which `plan.print` or `plan.assert` the record is for |
    | 4 to 7 | the CTA: x + gridDim.x · (y + gridDim.y · z) |
    | 8 to 11 | the element, counted row-major; 0 for a scalar |
    | 12 to 15 | 0 |
    | 16 to 23 | the value's bits, extended with zeros |
    | 24 to 31 | 0 |

    Lowers to: a step `records` of the manifest. A GPU's call returns when its records are read.

    ```mlir
    gpu.module @device {
      gpu.func @noisy(%notes: !llvm.ptr<1>) kernel {
        gpu.return
      }
    }
    plan.host @noisy(%n: i64) attributes {arg_names = ["n"]} {
      %notes = plan.records 1000 : !plan.workspace
      plan.launch @device::@noisy grid(%n, %n, %n) args(%notes) : !plan.workspace
      plan.print %notes[0], "x", [64, 32] : f32
      plan.assert %notes[1], "n must be positive"
    }
    ```
  }];
  let arguments = (ins I64Attr:$limit);
  let results = (outs Plan_WorkspaceType:$memory);
  let assemblyFormat = "$limit attr-dict `:` qualified(type($memory))";
  let hasVerifier = 1;
}

def Plan_PrintOp : Plan_HostChildOp<"print"> {
  let summary = "prints the records of a site";
  let description = [{
    One line for each record, `x[3, 5] = 1.5 (cta 2)`: the label, the element's index in the given shape (none for a
    scalar), the value as a number of the type. Records of all sites are sorted by CTA, then by how often the CTA came by,
    then by site and element, so the text is the same whatever ran beside what. What found no place is counted in a last
    line.

    Lowers to: a step `print` of the manifest.

    The example of `plan.records` has one.
  }];
  let arguments = (ins Plan_WorkspaceType:$records, I64Attr:$site, StrAttr:$label, DenseI64ArrayAttr:$shape,
                       TypeAttr:$elementType);
  let assemblyFormat = "$records `[` $site `]` `,` $label `,` $shape attr-dict `:` $elementType";
  let hasVerifier = 1;
}

def Plan_AssertOp : Plan_HostChildOp<"assert"> {
  let summary = "makes a record of a site the error of the call";
  let description = [{
    If a kernel left a record for the site, the call fails with the message, at the op's location. Of several such records
    the first counts, in the order of `plan.print`.

    Lowers to: a step `assert` of the manifest.

    The example of `plan.records` has one.
  }];
  let arguments = (ins Plan_WorkspaceType:$records, I64Attr:$site, StrAttr:$message);
  let assemblyFormat = "$records `[` $site `]` `,` $message attr-dict";
  let hasVerifier = 1;
}

def Plan_LaunchOp : Plan_HostChildOp<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "launches a kernel";
  let description = [{
    Launches a `gpu.func` with the attribute `kernel` on a grid of that many CTAs along x, y and z; a grid with a zero
    extent launches nothing. Arguments: a tensor map for a parameter of that same type, an integer or float for a
    parameter of that same type (an `i64` expression becomes an `i32` through `arith.trunci`, and the runtime refuses a
    value that does not fit; an unsigned argument of the call goes to the signless type of its width), an array or a
    workspace for a pointer to global memory (`!llvm.ptr<1>`), which then holds the address of the first element. Block
    size, shared memory and cluster follow from the kernel.

    Lowers to: a step `launch` of the manifest, `cuLaunchKernelEx` at the call.

    ```mlir
    gpu.module @device {
      gpu.func @fill(%view: !wg.view<bf16, box = [128, 64], swizzle = 128>, %n: i32) kernel {
        gpu.return
      }
    }
    plan.host @fill(%a: !plan.array<bf16, rank = 2, contiguous = 1, out>) attributes {arg_names = ["a"]} {
      %m = plan.dim %a[0] : !plan.array<bf16, rank = 2, contiguous = 1, out>
      %c1 = arith.constant 1 : i64
      %m32 = arith.trunci %m : i64 to i32
      %va = plan.tensor_map %a : !plan.array<bf16, rank = 2, contiguous = 1, out>
              -> !wg.view<bf16, box = [128, 64], swizzle = 128>
      plan.launch @device::@fill grid(%m, %c1, %c1) args(%va, %m32) : !wg.view<bf16, box = [128, 64], swizzle = 128>, i32
    }
    ```

    A kernel without TMA takes the address, the extents and the strides that it needs:

    ```mlir
    gpu.module @device {
      gpu.func @negate(%x: !llvm.ptr<1>, %n: i32, %step: i64) kernel {
        gpu.return
      }
    }
    plan.host @negate(%x: !plan.array<f32, rank = 1, inout>) attributes {arg_names = ["x"]} {
      %n = plan.dim %x[0] : !plan.array<f32, rank = 1, inout>
      %step = plan.stride %x[0] : !plan.array<f32, rank = 1, inout>
      %c1 = arith.constant 1 : i64
      %c128 = arith.constant 128 : i64
      %ctas = arith.ceildivsi %n, %c128 : i64
      %n32 = arith.trunci %n : i64 to i32
      plan.launch @device::@negate grid(%ctas, %c1, %c1) args(%x, %n32, %step) : !plan.array<f32, rank = 1, inout>, i32, i64
    }
    ```
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Plan_Int:$gridX, Plan_Int:$gridY, Plan_Int:$gridZ,
                       Variadic<AnyType>:$args);
  let assemblyFormat = [{
    $kernel `grid` `(` $gridX `,` $gridY `,` $gridZ `)` (`args` `(` $args^ `)` `:` qualified(type($args)))? attr-dict
  }];
}

#endif // GIRIH_DIALECT_PLAN_IR_PLANOPS_TD
