// Where a cursor of a ring comes from.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_CURSORORIGIN_H
#define GIRIH_DIALECT_WG_IR_CURSORORIGIN_H

#include "girih/Dialect/WG/IR/WG.h"

#include <optional>

namespace girih::wg {

/// Follows a cursor back through `wg.advance`, `wg.fill`, `wg.drain`, loops and branches to the
/// `wg.cursor` at which it starts. Nothing if the way leads out of what the function knows, a
/// function's argument for one.
std::optional<CursorOp> findCursorOrigin(mlir::Value cursor);

/// Fails, with a message at `op` and a note at the cursor's start, if the cursor is known to be one
/// of another ring or of the other end.
mlir::LogicalResult verifyCursor(mlir::Operation *op, mlir::Value ring, mlir::Value cursor,
                                 std::optional<CursorEnd> end);

} // namespace girih::wg

#endif // GIRIH_DIALECT_WG_IR_CURSORORIGIN_H
