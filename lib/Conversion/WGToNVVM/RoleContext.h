// Where an op stands at run time: the values that tell one thread of a role from another. They are
// computed once per kernel and role, before any op is converted, so that the warp's index is
// broadcast once and elect.sync asked once.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_WGTONVVM_ROLECONTEXT_H
#define GIRIH_LIB_CONVERSION_WGTONVVM_ROLECONTEXT_H

#include "girih/Conversion/WGToNVVM/ThreadAddress.h"
#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace girih::wg {

struct RoleContext {
  int64_t first = 0;   ///< first warpgroup in the CTA
  int64_t warps = 0;   ///< warps that execute the body
  int64_t ctas = 1;    ///< CTAs of a cluster
  bool each = false;   ///< every warpgroup executes the body for itself
  bool single = false; ///< one lane alone executes the body
  int64_t barrier = 0; ///< named barrier at which the body's warps meet; of `each`, the first one's
  ThreadPlace place;   ///< lane, warp of the warpgroup, warpgroup of the role
  /// i1, null in a single lane: one lane of each warp; one thread of each warpgroup; one thread of
  /// the role (of each warpgroup, if each acts for itself).
  mlir::Value elected, groupLeader, leader;

  /// Warps that execute the body together, and over which its tiles are spread.
  int64_t warpsTogether() const { return each ? 4 : warps; }
  /// Warpgroups that share the rows of a TMA store: those of the role, unless it is no whole number
  /// of them or each acts for itself.
  int64_t storingGroups() const { return warps % 4 == 0 && !each ? warps / 4 : 1; }
};

class RoleContexts {
public:
  /// Creates the values for all roles of `kernel`, and replaces gpu.subgroup_id and wg.elect. Fails
  /// with an error if the CTA's size is not known.
  mlir::LogicalResult prepare(mlir::gpu::GPUFuncOp kernel);
  /// The context of the role around `op`, or of the whole CTA.
  const RoleContext &of(mlir::Operation *op) const;

private:
  /// Chooses barriers at which the warps of each role can meet.
  mlir::LogicalResult giveBarriers(mlir::gpu::GPUFuncOp kernel,
                                   llvm::ArrayRef<mlir::scf::IfOp> branches, int64_t warpgroups);
  RoleContext create(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value thread,
                     mlir::Value warp, mlir::Region &region, int64_t first, int64_t warps,
                     bool each, bool single);

  /// By the scf.if of a role; and by the name of a kernel without roles, which stays when the
  /// kernel's op is replaced.
  llvm::DenseMap<mlir::Operation *, RoleContext> roles;
  llvm::StringMap<RoleContext> kernels;
};

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_WGTONVVM_ROLECONTEXT_H
