// The types of a host plan: the arrays that a caller passes and the scratch memory that the runtime owns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_PLAN_IR_PLANTYPES_TD
#define GIRIH_DIALECT_PLAN_IR_PLANTYPES_TD

include "girih/Dialect/Plan/IR/PlanDialect.td"
include "girih/Dialect/Plan/IR/PlanInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Plan_Type<string name, string typeMnemonic> : TypeDef<Plan_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Plan_Access : I32EnumAttr<"Access", "what a kernel does with an array", [
    I32EnumAttrCase<"In", 0, "in">,
    I32EnumAttrCase<"Out", 1, "out">,
    I32EnumAttrCase<"InOut", 2, "inout">]> {
  let cppNamespace = "::girih::plan";
}

def Plan_Query : I32EnumAttr<"Query", "a question to the device", [
    I32EnumAttrCase<"MultiprocessorCount", 0, "multiprocessor_count">]> {
  let cppNamespace = "::girih::plan";
}

def Plan_ArrayType : Plan_Type<"Array", "array"> {
  let summary = "an array in device memory that the caller passes";
  let description = [{
    `!plan.array<bf16, rank = 2, contiguous = 1, aligned, in>`: element type, number of dimensions, the dimension whose
    stride is 1 element, the promise of alignment, and what the kernel does with the contents (`in`, `out`, `inout`).
    Extents and the other strides are known at the call only: extents from 0 to 2^31 - 1, strides that may be zero or
    negative, except that two elements of an array that the kernel writes never share their place.

    `contiguous = N` and `aligned` are promises that the runtime checks at each call. Without the first
    (`!plan.array<f32, rank = 2, in>`, `getContiguous()` is -1) any strides will do. `aligned` says that the address of
    the first element and every stride but the contiguous one are multiples of 16 bytes, as TMA and 16-byte accesses need
    them; strides along which there is one element do not count.
  }];
  let parameters = (ins "::mlir::Type":$elementType, "int64_t":$rank, "int64_t":$contiguous, "bool":$aligned,
                        "Access":$access);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Plan_WorkspaceType : Plan_Type<"Workspace", "workspace"> {
  let summary = "scratch memory in device memory that lives as long as the launches of one call";
}

/// An integer of the plan's expressions.
defvar Plan_Int = I64;

/// Any type that implements TensorMapTypeInterface.
def Plan_TensorMap : Type<CPred<"::llvm::isa<::girih::plan::TensorMapTypeInterface>($_self)">, "a tensor map type",
                          "::mlir::Type">;

#endif // GIRIH_DIALECT_PLAN_IR_PLANTYPES_TD
