// Parts of calls and of frames that the decoder builds itself.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_EXEC_CALLS_H
#define GIRIH_EMULATOR_EXEC_CALLS_H

#include "Emulator/Program/Decoder.h"

namespace girih::emu {

/// d[0] = s[0] + imm, s[0] being the 64-bit address of a frame: for registers of 4 or 8 bytes.
Instr frameAdd(unsigned width);
/// `ret`, also that at a function's end.
void buildReturn(Decoder &d, int variant);
void buildExit(Decoder &d, int variant);
bool isReturnOrExit(const Instr &instr);
bool isCall(const Instr &instr);
bool isIndexedBranch(const Instr &instr);
/// Calls of what the system provides.
Step systemCall(Context &c, const Instr &in);
/// Do the parameters and results of a declaration fit what the system provides?
bool systemCallFits(SystemCall call, const ptx::Prototype &declared);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_EXEC_CALLS_H
