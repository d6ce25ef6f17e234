// The plan dialect itself: what it is for and what every op of it shares.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_PLAN_IR_PLANDIALECT_TD
#define GIRIH_DIALECT_PLAN_IR_PLANDIALECT_TD

include "mlir/IR/DialectBase.td"
include "mlir/IR/OpBase.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::girih::plan";
  let summary = "What the host does before and for a launch";
  let description = [{
    A host plan says, in integer expressions over the arguments of a kernel and over questions to the device, which
    conditions the arguments must meet, which tensor maps to build, which scratch memory to allocate and which launches
    to make. It is not compiled: it goes through every phase of the compiler untouched, the manifest of a package stores
    it, and the runtime interprets it at each call.

    Expressions are ops of `arith` on `i64`; the plan adds the questions (`plan.dim`, `plan.stride`, `plan.query`) and
    the actions (`plan.require`, `plan.tensor_map`, `plan.workspace`, `plan.launch`). RationalePlan.md says why.
  }];
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let extraClassDeclaration = [{
    void registerTypes();
  }];
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;

#endif // GIRIH_DIALECT_PLAN_IR_PLANDIALECT_TD
