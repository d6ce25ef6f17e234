// What of a kernel's body a set of values depends on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_BACKWARDSLICE_H
#define GIRIH_LIB_CONVERSION_TILETOWG_BACKWARDSLICE_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseSet.h"

#include <functional>

namespace girih::wg {

/// Grows by ops and values; goes value by value through structured control flow, so that a loop is
/// in it without the accumulators that it carries.
class BackwardSlice {
public:
  BackwardSlice() = default;
  /// Goes no further than the ops that `isEnd` names, and leaves them out.
  explicit BackwardSlice(std::function<bool(mlir::Operation *)> isEnd) : isEnd(std::move(isEnd)) {}

  void addOp(mlir::Operation *op);
  void addValue(mlir::Value value);

  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  /// Whether a value that a structured op carries is in it: result `index` of an scf.for or scf.if,
  /// what goes into an scf.while, what its scf.condition hands on.
  bool carries(mlir::Operation *op, unsigned index) const { return carried.contains({op, index}); }
  const llvm::DenseSet<mlir::Operation *> &getOps() const { return ops; }

private:
  void addCarried(mlir::Operation *op, unsigned index);

  std::function<bool(mlir::Operation *)> isEnd;
  llvm::DenseSet<mlir::Operation *> ops;
  llvm::DenseSet<mlir::Value> values;
  llvm::DenseSet<std::pair<mlir::Operation *, unsigned>> carried;
};

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_TILETOWG_BACKWARDSLICE_H
