// The plain load that starts a loop of compare-and-swap.
//
// The CUDA C++ Programming Guide ("Atomic Functions") builds every atomic that the chip lacks from
//   old = *address; do { assumed = old; old = atomicCAS(address, assumed, f(assumed)); } while ...
// whose first line is an ordinary load and races, by the letter, with the compare-and-swap of
// other threads. A stale value costs a round and nothing else, so such a load counts as relaxed for
// the checks. Other loads of what atomics update are still reported: their value is used as it is.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_PROGRAM_COMPARELOOPS_H
#define GIRIH_EMULATOR_PROGRAM_COMPARELOOPS_H

#include "Emulator/Program/Program.h"

namespace girih::emu {

/// Marks the plain loads whose value, by moves alone, is what an atom.cas compares with.
void markCompareLoops(Kernel &kernel);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_PROGRAM_COMPARELOOPS_H
