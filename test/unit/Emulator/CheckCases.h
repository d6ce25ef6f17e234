// A table of programs, each with the one kind of finding that it must draw, or none.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_TEST_UNIT_EMULATOR_CHECKCASES_H
#define GIRIH_TEST_UNIT_EMULATOR_CHECKCASES_H

#include "KernelHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace girih::emu::test {

struct Case {
  const char *name;
  /// Expected kind; empty: silence.
  const char *kind;
  std::string body;
  KernelSetup setup = {};
  /// Part of the text; of a silent case the kind that it nearly has.
  const char *text = "";
};

/// Runs a case over seeds. A fault must show under all but few of them, silence under all, whatever
/// the adversary.
inline void expectExactly(Case c, int seeds = 20) {
  SCOPED_TRACE(c.name);
  int found = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    c.setup.seed = static_cast<uint64_t>(seed);
    c.setup.threads = 1 + static_cast<unsigned>(seed) % 3;
    if (!*c.kind)
      c.setup.adversary = static_cast<Adversary>(seed % 6);
    Ran ran = run(c.body, c.setup);
    if (!*c.kind) {
      ASSERT_TRUE(ran.result.clean()) << "seed " << seed << "\n" << ran.text();
      continue;
    }
    found += ran.has(c.kind);
    if (ran.has(c.kind))
      EXPECT_THAT(ran.text(), testing::HasSubstr(c.text));
    else if (seed == 0)
      ADD_FAILURE() << "seed 0: " << ran.text();
  }
  if (*c.kind)
    EXPECT_GE(found, seeds - 2);
}

/// The tables; KindsTest.cpp checks that together they cover every kind.
std::vector<Case> checkCases();
std::vector<Case> exitCases();
std::vector<Case> globalRaceCases();
std::vector<Case> laneRaceCases();
std::vector<Case> syncPatternCases();

} // namespace girih::emu::test

#endif // GIRIH_TEST_UNIT_EMULATOR_CHECKCASES_H
