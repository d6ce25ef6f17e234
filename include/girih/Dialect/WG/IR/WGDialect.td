// The wg dialect itself: what it is for and what every op of it shares.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_WGDIALECT_TD
#define GIRIH_DIALECT_WG_IR_WGDIALECT_TD

include "girih/Dialect/WG/IR/WGInterfaces.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"

def WG_Dialect : Dialect {
  let name = "wg";
  let cppNamespace = "::girih::wg";
  let summary = "Who does what, when and from which buffer in a CTA of a Hopper kernel";
  let description = [{
    The level at which a kernel's roles, shared-memory rings, TMA copies, wgmma and barriers are said. A kernel is a
    `gpu.func` with the attribute `kernel`; scalars are `i32` and predicates `i1`, and they are uniform over a warp. A
    tile is a ranked tensor whose encoding, `#wg.layout`, says which element sits in which register, lane, warp and
    warpgroup of the role, so `arith` and `math` apply as they are. Only buffers, views, rings, cursors, barriers and
    pending tiles are types of the dialect's own.

    Everything asynchronous is a statement: a `wg.mma` yields a *pending* tile that only another `wg.mma` or a `wg.wait`
    takes; a slot of a ring is waited for, used and freed. Every op says by three interfaces what it does to barriers,
    which asynchronous work it starts or retires and which buffers it touches through which proxy, and by its memory
    effects what a generic pass may move. RationaleWG.md says why things are as they are.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::scf::SCFDialect",
                           "::girih::plan::PlanDialect"];
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
  }];
}

/// Every op answers the three questions; the interfaces' defaults answer "nothing".
class WG_Op<string mnemonic, list<Trait> traits = []>
    : Op<WG_Dialect, mnemonic,
         !listconcat([WG_BarrierEffectOpInterface, WG_AsyncEffectOpInterface, WG_BufferAccessOpInterface], traits)>;

/// Declarations of the interface methods, for ops that do something.
class WG_Declares {
  code barrierEffects = [{
    /// What this op does to barriers.
    ::llvm::SmallVector<::girih::wg::BarrierEffect> getBarrierEffects();
  }];
  code asyncEffects = [{
    /// Which asynchronous work this op starts or retires.
    ::llvm::SmallVector<::girih::wg::AsyncEffect> getAsyncEffects();
  }];
  code bufferAccesses = [{
    /// Which buffers this op touches.
    ::llvm::SmallVector<::girih::wg::BufferAccess> getBufferAccesses();
  }];
}
def WG_Declare : WG_Declares;

#endif // GIRIH_DIALECT_WG_IR_WGDIALECT_TD
