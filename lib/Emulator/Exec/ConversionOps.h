// A scalar cvt as the decoder describes it, and the function that executes any of them.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_EXEC_CONVERSIONOPS_H
#define GIRIH_EMULATOR_EXEC_CONVERSIONOPS_H

#include "Emulator/Exec/Lanes.h"
#include "girih/Emulator/FloatFormats.h"

namespace girih::emu {

/// Bits of Instr::sub beside the rounding in its low three bits (Rounding).
enum ConversionModifier : uint8_t {
  kConvertRounding = 7,
  kConvertFtz = 8,
  kConvertSat = 16,
  kConvertSatfinite = 32,
  kConvertRelu = 64,
  kConvertIntegral = 128, ///< .rni and so on
};

/// Converts lane by lane: every pair of types, registers wider than their types included.
/// Instr::target holds the types (destination << 8 | source), width and width2 the registers' sizes
/// (source, destination).
Step convertGeneral(Context &c, const Instr &in);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_EXEC_CONVERSIONOPS_H
