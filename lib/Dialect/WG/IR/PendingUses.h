// Who may read a pending tile.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_DIALECT_WG_IR_PENDINGUSES_H
#define GIRIH_LIB_DIALECT_WG_IR_PENDINGUSES_H

#include "girih/Dialect/WG/IR/WG.h"

namespace girih::wg {

/// Fails at the first user of `pending` that is neither an op that takes pending tiles nor one that
/// hands them on. The ops that make pending tiles call it, so it is reached before the user's own
/// verifier complains of a type.
mlir::LogicalResult verifyPendingUses(mlir::Value pending);

} // namespace girih::wg

#endif // GIRIH_LIB_DIALECT_WG_IR_PENDINGUSES_H
