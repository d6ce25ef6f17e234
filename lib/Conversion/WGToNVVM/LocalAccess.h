// How a tile moves between registers and a buffer; girih::Layout works it out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_WGTONVVM_LOCALACCESS_H
#define GIRIH_LIB_CONVERSION_WGTONVVM_LOCALACCESS_H

#include "girih/Conversion/WGToNVVM/ThreadAddress.h"
#include "girih/Dialect/WG/IR/WG.h"
#include "girih/Layout/Access.h"

#include <optional>

namespace girih::wg {

struct LocalAccess {
  std::optional<AddressPlan> addresses;
  int64_t registers = 0; ///< 32-bit registers per instruction
  bool matrix = false;   ///< stmatrix or ldmatrix
  bool trans = false;
};

/// Calls `access` with the address of each instruction's first element (i32) and the constant
/// number of bytes behind it.
void forEachAddress(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer,
                    BufferType type, const LocalAccess &plan, const ThreadPlace &place,
                    llvm::function_ref<void(mlir::Value, int64_t)> access);

/// The cheaper of stmatrix/ldmatrix (if `hasMatrix`) and plain vectors, in wavefronts; matrices if
/// they cost the same, since they need fewer addresses. Fails with an error at `op`.
mlir::FailureOr<LocalAccess> planAccess(mlir::Operation *op, mlir::RankedTensorType tile,
                                        BufferType buffer, bool hasMatrix);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_WGTONVVM_LOCALACCESS_H
