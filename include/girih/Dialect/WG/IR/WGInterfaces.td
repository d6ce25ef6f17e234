// Three questions that every op of the dialect answers, so that the protocol checker needs no table of ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_WGINTERFACES_TD
#define GIRIH_DIALECT_WG_IR_WGINTERFACES_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// Where memory effects act. They are told apart so that a pass that knows them can be precise; upstream's CSE and LICM
// treat a write to any of them as a reason not to merge or move.
def WG_Global : Resource<"::girih::wg::GlobalResource">;
def WG_Shared : Resource<"::girih::wg::SharedResource">;
def WG_Barrier : Resource<"::girih::wg::BarrierResource">;
def WG_AsyncProxy : Resource<"::girih::wg::AsyncProxyResource">;
/// How the threads of the CTA are set up: roles, register budgets.
def WG_Execution : Resource<"::girih::wg::ExecutionResource">;

def WG_BarrierEffectOpInterface : OpInterface<"BarrierEffectOpInterface"> {
  let cppNamespace = "::girih::wg";
  let description = [{What an op does to barriers: those of a ring's slots, raw ones and named ones.}];
  let methods = [
    InterfaceMethod<"The effects in the order in which they happen.",
                    "::llvm::SmallVector<::girih::wg::BarrierEffect>", "getBarrierEffects", (ins), "",
                    "return {};">,
  ];
}

def WG_AsyncEffectOpInterface : OpInterface<"AsyncEffectOpInterface"> {
  let cppNamespace = "::girih::wg";
  let description = [{Which asynchronous work an op starts, commits to a group, or waits for.}];
  let methods = [
    InterfaceMethod<"The effects in the order in which they happen.",
                    "::llvm::SmallVector<::girih::wg::AsyncEffect>", "getAsyncEffects", (ins), "",
                    "return {};">,
  ];
}

def WG_BufferAccessOpInterface : OpInterface<"BufferAccessOpInterface"> {
  let cppNamespace = "::girih::wg";
  let description = [{Which buffers an op reads or writes, through which proxy, and whether after it has returned.}];
  let methods = [
    InterfaceMethod<"The accesses in operand order.",
                    "::llvm::SmallVector<::girih::wg::BufferAccess>", "getBufferAccesses", (ins), "",
                    "return {};">,
  ];
}

#endif // GIRIH_DIALECT_WG_IR_WGINTERFACES_TD
