// How a tile moves between registers and a buffer; girih::Layout works it out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_WGTONVVM_LOCALACCESS_H
#define GIRIH_LIB_CONVERSION_WGTONVVM_LOCALACCESS_H

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

/// The cheaper of stmatrix/ldmatrix (if `hasMatrix`) and plain vectors, in wavefronts; matrices if
/// they cost the same, since they need fewer addresses. Fails with an error at `op`.
mlir::FailureOr<LocalAccess> planAccess(mlir::Operation *op, mlir::RankedTensorType tile,
                                        BufferType buffer, bool hasMatrix);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_WGTONVVM_LOCALACCESS_H
