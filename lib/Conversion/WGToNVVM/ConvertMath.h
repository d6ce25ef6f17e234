// Functions of the math dialect on scalars that have an instruction, or a sequence of them, of
// their own; the rest are calls of libdevice.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_WGTONVVM_CONVERTMATH_H
#define GIRIH_LIB_CONVERSION_WGTONVVM_CONVERTMATH_H

#include "mlir/Transforms/DialectConversion.h"

namespace girih::wg {

/// exp2, sin and cos of f32, f16 and bf16. They win over upstream's.
void populateMathPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_WGTONVVM_CONVERTMATH_H
