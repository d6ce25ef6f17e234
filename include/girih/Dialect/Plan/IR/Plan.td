// Umbrella of the plan dialect: what mlir-tblgen reads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_PLAN_IR_PLAN_TD
#define GIRIH_DIALECT_PLAN_IR_PLAN_TD

include "girih/Dialect/Plan/IR/PlanOps.td"

#endif // GIRIH_DIALECT_PLAN_IR_PLAN_TD
