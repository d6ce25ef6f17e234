// Words for a result code. The driver interface returns numbers only; with GIRIH_LOG=1 every
// refused call says on stderr which argument was wrong.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_LIB_DRIVER_LOG_H
#define GIRIH_LIB_DRIVER_LOG_H

#include "girih/Driver/CudaDriver.h"

#include <string>

namespace girih::cuda {

/// "CUDA_ERROR_INVALID_VALUE", or nullptr for a code that this library does not know.
const char *errorName(CUresult code);
/// The driver's short description of the code, or nullptr.
const char *errorText(CUresult code);

/// Prints "girih: <function>: CUDA_ERROR_...: <reason>" if GIRIH_LOG asks for it; returns `code`.
CUresult refuse(CUresult code, const char *function, const std::string &reason);

std::string hex(uint64_t value);

} // namespace girih::cuda

/// For entry points: leaves with a code and the reason.
#define GIRIH_REFUSE(code, reason) return ::girih::cuda::refuse(code, __func__, reason)

#endif // GIRIH_LIB_DRIVER_LOG_H
