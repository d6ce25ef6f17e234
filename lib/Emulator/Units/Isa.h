// Which instruction set of the host the hot loops use.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_UNITS_ISA_H
#define GIRIH_EMULATOR_UNITS_ISA_H

#include <cstdint>

namespace girih::emu {

enum class Isa : uint8_t { Plain, Avx2, Avx512 };

/// The best that this machine has, or what GIRIH_EMULATOR_ISA=plain|avx2|avx512 asks for if the
/// machine has it. Decided once per process. Results do not depend on it.
Isa activeIsa();

} // namespace girih::emu

#endif // GIRIH_EMULATOR_UNITS_ISA_H
