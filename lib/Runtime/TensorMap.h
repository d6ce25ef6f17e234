//===- TensorMap.h - The descriptor that TMA copies an array with
//--------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_LIB_RUNTIME_TENSORMAP_H
#define GIRIH_LIB_RUNTIME_TENSORMAP_H

#include "girih/Runtime/Argument.h"
#include "girih/Runtime/Driver.h"
#include "girih/Runtime/Manifest.h"

namespace girih::runtime {

/// Encodes the tensor map that `step` asks for over `array`, which is the argument for `parameter`
/// and has at least one element. Throws LaunchError with the parameter's name if TMA cannot address
/// the array: a base or a pitch that is not a multiple of 16 bytes, a pitch of 2^40 bytes or more.
cuda::CUtensorMap encodeTensorMap(const Driver &driver, const Step &step,
                                  const Parameter &parameter, const ArrayArgument &array);

} // namespace girih::runtime

#endif // GIRIH_LIB_RUNTIME_TENSORMAP_H
