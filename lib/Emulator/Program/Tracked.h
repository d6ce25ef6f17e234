// Which registers hold what wgmma instructions read and write, and which instructions name them.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_PROGRAM_TRACKED_H
#define GIRIH_EMULATOR_PROGRAM_TRACKED_H

#include "Emulator/Program/Program.h"

namespace girih::emu {

/// Declares a register that a wgmma uses; uses of it are checked while the wgmma is in flight.
void trackRegister(Kernel &kernel, int32_t offset);
/// Once all code is there: also tracks what plain moves connect to such registers, and notes at
/// every instruction which of them it reads and writes.
void collectTracked(Kernel &kernel);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_PROGRAM_TRACKED_H
