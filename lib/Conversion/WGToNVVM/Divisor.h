// Which power of two divides a number that is known on the device only: whether a vector that
// starts there is aligned.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_WGTONVVM_DIVISOR_H
#define GIRIH_LIB_CONVERSION_WGTONVVM_DIVISOR_H

#include "mlir/IR/Value.h"

namespace girih::wg {

/// The number of low bits of `value`, an integer, that are known to be zero: through constants,
/// sums, products and shifts, loops and branches. Zero itself has kAllZeros.
int trailingZeros(mlir::Value value);
inline constexpr int kAllZeros = 31;

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_WGTONVVM_DIVISOR_H
