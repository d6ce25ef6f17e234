// The remainder of a large angle after whole quarter turns.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_UNITS_TRIGREDUCTION_H
#define GIRIH_EMULATOR_UNITS_TRIGREDUCTION_H

namespace girih::emu {

struct ReducedAngle {
  double rest = 0;     ///< in [-pi/4, pi/4]; NaN for infinities and NaN
  double quarters = 0; ///< whole quarter turns modulo 4
};

/// For |angle| >= 2^20, infinity and NaN. Exact to far beyond binary64, by a product with the bits
/// of 2/pi that matter (Payne and Hanek).
ReducedAngle reduceAngle(float angle);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_UNITS_TRIGREDUCTION_H
