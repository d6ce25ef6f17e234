// What a thread holds in registers at a place of a role: the values that are made before and used
// from there on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_LIVEREGISTERS_H
#define GIRIH_LIB_CONVERSION_TILETOWG_LIVEREGISTERS_H

#include "girih/Dialect/WG/IR/WG.h"

namespace girih::wg {

/// A value and the registers of 32 bits that it takes of each thread.
struct LiveValue {
  mlir::Value value;
  int64_t registers;
};

/// The values that are alive while `op`, inside a role, is executed, its operands included. What
/// costs no registers of its own is left out: constants, and rows or columns repeated to a tile.
llvm::SmallVector<LiveValue> liveAt(mlir::Operation *op);

/// The sum of their registers.
int64_t sumOf(llvm::ArrayRef<LiveValue> values);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_TILETOWG_LIVEREGISTERS_H
