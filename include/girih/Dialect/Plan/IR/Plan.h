// The plan dialect in C++: include this one header.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_PLAN_IR_PLAN_H
#define GIRIH_DIALECT_PLAN_IR_PLAN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "girih/Dialect/Plan/IR/PlanDialect.h.inc"
#include "girih/Dialect/Plan/IR/PlanEnums.h.inc"
#include "girih/Dialect/Plan/IR/PlanTypeInterfaces.h.inc"

#define GET_TYPEDEF_CLASSES
#include "girih/Dialect/Plan/IR/PlanTypes.h.inc"

#define GET_OP_CLASSES
#include "girih/Dialect/Plan/IR/PlanOps.h.inc"

#endif // GIRIH_DIALECT_PLAN_IR_PLAN_H
