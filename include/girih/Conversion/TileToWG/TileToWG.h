// From the tile phase to the wg phase: passes, and what they do to each kernel as functions to be
// called from C++.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_CONVERSION_TILETOWG_TILETOWG_H
#define GIRIH_CONVERSION_TILETOWG_TILETOWG_H

#include "girih/Dialect/Tile/IR/Tile.h"
#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

namespace girih::wg {

#define GEN_PASS_DECL
#include "girih/Conversion/TileToWG/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "girih/Conversion/TileToWG/Passes.h.inc"

/// What the author of a kernel asks of the passes: a dictionary on the gpu.func.
inline constexpr llvm::StringLiteral kHintsAttr = "girih.hints";
/// The entry of it that holds the location of who asked.
inline constexpr llvm::StringLiteral kHintsLocation = "at";

/// On a wg.specialize whose budgets wg-budget-registers is to derive.
inline constexpr llvm::StringLiteral kDeriveRegistersAttr = "girih.derive_registers";

/// On a tile.reduce or tile.scan, an array of one number for each operand: the elements that leave
/// any others as they are. Of combiners of one op nobody need say it.
inline constexpr llvm::StringLiteral kNeutralAttr = "tile.neutral";

/// Whether a kernel has no roles yet: neither wg.specialize nor a number of threads of its own.
bool isInTilePhase(mlir::gpu::GPUFuncOp kernel);

/// Lets products run under the steps of loops that follow theirs; see `tile-pipeline-products`.
void pipelineProducts(mlir::gpu::GPUFuncOp kernel);

/// Makes the body of a kernel without tile.dot one role; see `tile-specialize`. Fails, with an
/// error, if the kernel's hints cannot be followed.
mlir::LogicalResult specializeWithoutProducts(mlir::gpu::GPUFuncOp kernel);

/// Makes tiles larger whose extents have too few factors of two for all threads to have elements of
/// their own; see `wg-pad-tiles`.
void padTiles(mlir::gpu::GPUFuncOp kernel);

/// Gives every tile of a kernel a layout; see `wg-assign-layouts`. Fails, with an error, where no
/// layout or no conversion does.
mlir::LogicalResult assignLayouts(mlir::gpu::GPUFuncOp kernel,
                                  const AssignLayoutsOptions &options = {});

/// Makes roles of the body of a kernel with products: one that loads what TMA can bring, one that
/// computes; see `tile-specialize`. `keepsOperands`: what every step of a loop multiplies with is
/// kept in registers if they are enough. Fails, with an error, if the kernel's hints cannot be
/// followed.
mlir::LogicalResult specializeProducts(mlir::gpu::GPUFuncOp kernel, bool keepsOperands);

/// Derives the register budgets of the roles that tile-specialize has made; see
/// `wg-budget-registers`. Fails, with an error, if the tiles that a product needs do not fit.
mlir::LogicalResult budgetRegisters(mlir::gpu::GPUFuncOp kernel);

} // namespace girih::wg

#endif // GIRIH_CONVERSION_TILETOWG_TILETOWG_H
