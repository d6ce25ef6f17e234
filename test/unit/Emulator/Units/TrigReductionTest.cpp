// Large angles against the host's binary64 sine, whose own reduction is exact.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator/Units/TrigReduction.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace girih::emu;

namespace {

TEST(TrigReduction, AgreesWithTheHostForLargeAngles) {
  std::mt19937 random(11);
  for (int i = 0; i < 200000; ++i) {
    // From 2^20 to the largest finite number, both signs.
    uint32_t code = 0x49800000u + static_cast<uint32_t>(random()) % (0x7f800000u - 0x49800000u);
    float angle = std::bit_cast<float>(code | static_cast<uint32_t>(random() & 1) << 31);
    ReducedAngle r = reduceAngle(angle);
    ASSERT_LE(std::abs(r.rest), 0.78539816339744831) << angle;
    ASSERT_TRUE(r.quarters == 0 || r.quarters == 1 || r.quarters == 2 || r.quarters == 3) << angle;
    double full = r.rest + r.quarters * 1.57079632679489661923;
    ASSERT_NEAR(std::sin(full), std::sin(static_cast<double>(angle)), 1e-14) << angle;
    ASSERT_NEAR(std::cos(full), std::cos(static_cast<double>(angle)), 1e-14) << angle;
  }
}

TEST(TrigReduction, InfinityAndNanHaveNone) {
  EXPECT_TRUE(std::isnan(reduceAngle(std::numeric_limits<float>::infinity()).rest));
  EXPECT_TRUE(std::isnan(reduceAngle(-std::numeric_limits<float>::infinity()).rest));
  EXPECT_TRUE(std::isnan(reduceAngle(std::numeric_limits<float>::quiet_NaN()).rest));
}

} // namespace
