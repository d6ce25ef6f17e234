// The two roles of a kernel with products.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_ROLES_H
#define GIRIH_LIB_CONVERSION_TILETOWG_ROLES_H

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

/// Rewrites products that wgmma cannot do as loops over K of column times row.
void expandProducts(mlir::gpu::GPUFuncOp kernel);

/// Repeats the rows of products that have fewer than 64, a power of two.
void repeatRowsOfProducts(mlir::gpu::GPUFuncOp kernel);

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
