// Where diverged lanes meet again: the immediate post-dominator of each branch.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_PROGRAM_CONTROLFLOW_H
#define GIRIH_EMULATOR_PROGRAM_CONTROLFLOW_H

#include "Emulator/Program/Program.h"

namespace girih::emu {

enum class Flow : uint8_t {
  Next,
  Branch, ///< to Instr::target
  Table,  ///< to one of Kernel::branchTables[Instr::imm]
  Exit,   ///< ends the function: ret, exit
};
/// What the instruction does to control flow; known by its exec function.
Flow flowOf(const Instr &instr);

/// For every instruction that branches: the instruction at which its ways meet; code.size()
/// where they do not before the function's end, and for all other instructions.
std::vector<uint32_t> reconvergencePoints(const Kernel &kernel);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_PROGRAM_CONTROLFLOW_H
