// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions of the host plan; expected values by hand.
#include "../../../lib/Runtime/Arithmetic.h"
#include "Fixture.h"

#include <limits>

using namespace girih::runtime;

namespace {

constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
constexpr int64_t highest = std::numeric_limits<int64_t>::max();

TEST(Arithmetic, Values) {
  EXPECT_EQ(evaluate(StepKind::Add, 2, 3), 5);
  EXPECT_EQ(evaluate(StepKind::Sub, 2, 3), -1);
  EXPECT_EQ(evaluate(StepKind::Mul, -4, 3), -12);
  EXPECT_EQ(evaluate(StepKind::Div, 7, 2), 3);
  EXPECT_EQ(evaluate(StepKind::Div, -7, 2), -3);
  EXPECT_EQ(evaluate(StepKind::Rem, -7, 2), -1);
  EXPECT_EQ(evaluate(StepKind::Min, -7, 2), -7);
  EXPECT_EQ(evaluate(StepKind::Max, -7, 2), 2);
  EXPECT_EQ(evaluate(StepKind::Eq, 2, 2), 1);
  EXPECT_EQ(evaluate(StepKind::Ne, 2, 2), 0);
  EXPECT_EQ(evaluate(StepKind::Lt, -1, 0), 1);
  EXPECT_EQ(evaluate(StepKind::Le, 0, 0), 1);
  EXPECT_EQ(evaluate(StepKind::Gt, 0, 0), 0);
  EXPECT_EQ(evaluate(StepKind::Ge, 0, 1), 0);
  EXPECT_EQ(evaluate(StepKind::And, 6, 3), 2);
  EXPECT_EQ(evaluate(StepKind::Or, 6, 3), 7);
}

TEST(Arithmetic, CeilDivRoundsTowardsPositiveInfinity) {
  EXPECT_EQ(evaluate(StepKind::CeilDiv, 130, 128), 2);
  EXPECT_EQ(evaluate(StepKind::CeilDiv, 128, 128), 1);
  EXPECT_EQ(evaluate(StepKind::CeilDiv, 0, 128), 0);
  EXPECT_EQ(evaluate(StepKind::CeilDiv, -7, 2), -3);
  EXPECT_EQ(evaluate(StepKind::CeilDiv, 7, -2), -3);
  EXPECT_EQ(evaluate(StepKind::CeilDiv, -7, -2), 4);
  EXPECT_EQ(evaluate(StepKind::CeilDiv, highest, 2), highest / 2 + 1);
}

TEST(Arithmetic, NothingWrapsAround) {
  auto message = [](StepKind kind, int64_t a, int64_t b) {
    return messageOf<LaunchError>([&] { evaluate(kind, a, b); });
  };
  EXPECT_EQ(message(StepKind::Add, highest, 1),
            "the launch cannot be computed: 9223372036854775807 + 1 does not fit 64 bits");
  EXPECT_EQ(message(StepKind::Sub, lowest, 1),
            "the launch cannot be computed: -9223372036854775808 - 1 does not fit 64 bits");
  EXPECT_EQ(message(StepKind::Mul, int64_t{1} << 40, int64_t{1} << 40),
            "the launch cannot be computed: 1099511627776 * 1099511627776 does not fit 64 bits");
  EXPECT_EQ(message(StepKind::Div, lowest, -1),
            "the launch cannot be computed: -9223372036854775808 / -1 does not fit 64 bits");
  EXPECT_EQ(message(StepKind::Rem, 5, 0), "the launch cannot be computed: 5 % 0 divides by zero");
  EXPECT_EQ(message(StepKind::CeilDiv, 5, 0),
            "the launch cannot be computed: 5 / 0 divides by zero");
}

} // namespace
