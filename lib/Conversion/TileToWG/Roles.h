// The two roles of a kernel with products.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_ROLES_H
#define GIRIH_LIB_CONVERSION_TILETOWG_ROLES_H

#include "ProductUnit.h"
#include "RoleCloner.h"

namespace girih::wg {

/// A loop as a number of steps from 0.
struct Steps {
  mlir::Value count;
  mlir::Value low, by; ///< null where they are 0 and 1
  /// The loop's index at a step.
  mlir::Value indexAt(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value step) const;
};
Steps stepsOf(mlir::OpBuilder &builder, mlir::scf::ForOp loop,
              llvm::function_ref<mlir::Value(mlir::Value)> mapped);

/// The products of a kernel.
llvm::SmallVector<tile::DotOp> productsOf(mlir::gpu::GPUFuncOp kernel);

/// Rewrites products that no tensor core does, as `choose` has it, as loops over K of column times
/// row; those that are left are `dots` afterwards. Remarks say which unit multiplies, and why.
void expandProducts(mlir::gpu::GPUFuncOp kernel, llvm::SmallVectorImpl<tile::DotOp> &dots,
                    llvm::function_ref<UnitChoice(tile::DotOp)> choose);

/// Repeats the rows of products that have fewer than an instruction of mma.sync; `dots` are the new
/// ones afterwards.
void repeatRowsOfProducts(llvm::MutableArrayRef<tile::DotOp> dots);

/// Ops of a kernel of which each role that needs one gets its own, in order. The others stay before
/// the roles, for all to use: scalars, views and the like that depend on nothing but parameters and
/// each other, and what is allocated in shared memory.
llvm::SetVector<mlir::Operation *> clonedOps(mlir::Block &body);

/// Makes the rings that a plan asks for.
MadeRings makeRings(mlir::OpBuilder &builder, mlir::gpu::GPUFuncOp kernel, const ProductPlan &plan);

/// Takes ops of a block that nothing reads, the last first, inner blocks too.
void dropDead(mlir::Block &block);

/// The teams of a kernel; and what becomes of a kernel that has some, see `tile-specialize`. Fails,
/// with an error, where teams differ, or one of their roles needs what another computes.
llvm::SmallVector<TeamOp> teamsOf(mlir::gpu::GPUFuncOp kernel);
mlir::LogicalResult specializeTeams(mlir::gpu::GPUFuncOp kernel, llvm::ArrayRef<TeamOp> teams);

/// Makes a wg.mma_sync of every product in a role of a kernel that has roles, or a loop where the
/// instruction has no such product.
void multiplyInRoles(mlir::gpu::GPUFuncOp kernel);

/// Writes the role that fills the rings: the ops of `body` that `isCloned` names, as far as loads
/// depend on them.
void buildProducer(mlir::OpBuilder &builder, mlir::Block &body, const ProductPlan &plan,
                   HostSide &host, const MadeRings &made,
                   llvm::function_ref<bool(mlir::Operation *)> isCloned);

/// Writes the role that computes: everything else.
void buildConsumer(mlir::OpBuilder &builder, mlir::Block &body, const ProductPlan &plan,
                   HostSide &host, const MadeRings &made,
                   llvm::function_ref<bool(mlir::Operation *)> isCloned);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_TILETOWG_ROLES_H
