// What is fixed about an mma or wmma instruction; Instr::imm indexes Kernel::mmas.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_EXEC_MMAFORM_H
#define GIRIH_EMULATOR_EXEC_MMAFORM_H

#include "Emulator/Program/Program.h"
#include "Emulator/Units/Mma.h"

namespace girih::emu {

struct MmaForm {
  MmaOperation operation;
  QuadPairOperation quadPairs;
  std::vector<Src> a, b, c;
  std::vector<int32_t> d;
  Src metadata = kNone;
  bool orderedMetadata = false;
  int rounding = 0; ///< f64: a mode of std::fesetround
};

/// The type that a modifier names, of an element of A or B. False: none.
bool mmaType(ptx::Type type, MmaType &out);
/// The numbers of ".m16n8k16". False: no shape.
bool mmaShape(std::string_view modifier, uint32_t &m, uint32_t &n, uint32_t &k);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_EXEC_MMAFORM_H
