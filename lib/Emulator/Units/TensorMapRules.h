// What the driver's functions require of a tensor map's arguments, for the encoder and for maps
// that a kernel has edited.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_EMULATOR_UNITS_TENSORMAPRULES_H
#define GIRIH_EMULATOR_UNITS_TENSORMAPRULES_H

#include "girih/Emulator/TensorMap.h"

namespace girih::emu {

/// Empty, or a sentence about the first argument that is wrong.
std::string checkTiled(const TiledMapArguments &arguments);
std::string checkIm2col(const Im2colMapArguments &arguments);

Swizzle swizzleFromCode(int code);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_UNITS_TENSORMAPRULES_H
