//===- FloatBits.h - Numbers as bits of a floating-point type
//------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_LIB_RUNTIME_FLOATBITS_H
#define GIRIH_LIB_RUNTIME_FLOATBITS_H

#include "girih/Runtime/DType.h"

namespace girih::runtime {

/// The bits of the `type` (f64, f32, f16 or bf16) that is nearest to `number`, ties to even; an
/// infinity beyond the largest finite one. A NaN becomes the positive quiet one.
uint64_t floatBits(DType type, double number);

/// Whether a finite `number` would become an infinity.
bool overflows(DType type, double number);

/// The number that bits of a floating-point type (those above, e4m3, e5m2) stand for.
double floatValue(DType type, uint64_t bits);

} // namespace girih::runtime

#endif // GIRIH_LIB_RUNTIME_FLOATBITS_H
