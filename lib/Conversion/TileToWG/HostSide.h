// What the host plan passes to a kernel, and tensor maps added to both.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_HOSTSIDE_H
#define GIRIH_LIB_CONVERSION_TILETOWG_HOSTSIDE_H

#include "girih/Dialect/WG/IR/WG.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

namespace girih::wg {

/// The launch of a kernel in the host plan: what each parameter of the kernel is there.
class HostSide {
public:
  explicit HostSide(mlir::gpu::GPUFuncOp kernel);

  /// Whether one launch, and only one, names the kernel.
  bool isKnown() const { return launch != nullptr; }
  /// What the launch passes for a value of the kernel that is one of its parameters; null for any
  /// other value.
  mlir::Value passedFor(mlir::Value value) const;

  /// Whether a value of the kernel is the extent (or the stride in elements) of a dimension of an
  /// array of the plan, or of another array that the plan requires to agree.
  bool isExtent(mlir::Value value, mlir::Value array, int64_t dim) const;
  bool isStride(mlir::Value value, mlir::Value array, int64_t dim) const;

  /// The parameter that holds a tensor map of that type over an array; a new one at first.
  mlir::BlockArgument addTensorMap(mlir::Value array, ViewType type);
  /// Takes parameters that nothing reads from the kernel and the launch.
  void dropUnusedParameters();

  /// What the caller calls an array or a number of the plan.
  std::string nameOf(mlir::Value array) const;

private:
  /// A dimension of an array: the argument's number and the dimension.
  using Extent = std::pair<unsigned, int64_t>;
  std::optional<Extent> extentOf(mlir::Value planValue) const;

  // Handles of ops have no const methods.
  mutable mlir::gpu::GPUFuncOp kernel;
  mutable plan::LaunchOp launch;
  llvm::EquivalenceClasses<Extent> equal;
  llvm::MapVector<std::pair<mlir::Value, mlir::Type>, mlir::BlockArgument> maps;
};

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_TILETOWG_HOSTSIDE_H
