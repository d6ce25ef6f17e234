// Products and sums that ptxas may fuse.
//
// An add, sub or mul without a rounding modifier "may be optimized aggressively": a mul whose
// result an add or sub takes may become one fused multiply-add, which rounds once (PTX
// ISA 9.0, 9.7.3.3 to 9.7.3.5, 9.7.4.1 to 9.7.4.3). A program must be right either way. This lists
// the pairs, and makes the kernel that fuses all of them.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_PROGRAM_CONTRACTION_H
#define GIRIH_EMULATOR_PROGRAM_CONTRACTION_H

#include "Emulator/Program/Program.h"

namespace girih::emu {

/// A mul and the add or sub that takes its result, in one basic block, with nothing in between that
/// overwrites what the product is made of.
struct ContractiblePair {
  uint32_t mul = 0, add = 0; ///< indices into Kernel::code
  bool second = false;       ///< the product is the second operand of the add or sub
};
std::vector<ContractiblePair> contractiblePairs(const Kernel &kernel);

/// Makes every add and sub of a pair the fused operation. The products stay: others may read them.
void contract(Kernel &kernel, const std::vector<ContractiblePair> &pairs);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_PROGRAM_CONTRACTION_H
