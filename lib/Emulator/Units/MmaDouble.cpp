// mma.sync on f64. Built with -frounding-math: the rounding mode is the instruction's.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator/Units/Mma.h"

#include <cfenv>
#include <cmath>

namespace girih::emu {

void multiplyMmaF64(uint32_t m, uint32_t k, const double *const *a, const double *const *b,
                    double *const *d, int rounding) {
  const int before = std::fegetround();
  std::fesetround(rounding);
  const uint32_t halves = m / 8;
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < 2 * halves; ++i) {
      const uint32_t row = lane / 4, column = 2 * (lane % 4) + i % 2;
      double sum = d[i][lane];
      for (uint32_t at = 0; at < k; ++at)
        sum = std::fma(a[halves * (at / 4) + i / 2][4 * row + at % 4],
                       b[at / 4][4 * column + at % 4], sum);
      d[i][lane] = sum;
    }
  std::fesetround(before);
}

} // namespace girih::emu
