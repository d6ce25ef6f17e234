// How a type of another dialect says that it is a tensor map, so that the plan need not know that dialect.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_PLAN_IR_PLANINTERFACES_TD
#define GIRIH_DIALECT_PLAN_IR_PLANINTERFACES_TD

include "mlir/IR/OpBase.td"

def Plan_TensorMapTypeInterface : TypeInterface<"TensorMapTypeInterface"> {
  let cppNamespace = "::girih::plan";
  let description = [{
    A type whose values are tensor maps (`CUtensorMap`). Dimensions and strides come from the array at launch; what is
    fixed when the kernel is compiled is what this interface tells.
  }];
  let methods = [
    InterfaceMethod<"The element type.", "::mlir::Type", "getElementType">,
    InterfaceMethod<"Extents of one copy, in the order of the array's dimensions.",
                    "::llvm::ArrayRef<int64_t>", "getBox">,
    InterfaceMethod<"Dimensions from the fastest to the slowest; the first has stride 1.",
                    "::llvm::ArrayRef<int64_t>", "getOrder">,
    InterfaceMethod<"The swizzle's span in bytes: 0 (none), 32, 64 or 128.", "int64_t", "getSwizzle">,
  ];
}

#endif // GIRIH_DIALECT_PLAN_IR_PLANINTERFACES_TD
