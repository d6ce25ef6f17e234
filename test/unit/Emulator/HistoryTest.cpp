// Histories of memory against a model that remembers every access to every byte: both must find the
// first conflict at the same access, whatever the sizes, lines, splits and merges before it.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Check/Shadow.h"

#include <gtest/gtest.h>

#include <random>

namespace girih::emu {
namespace {

constexpr uint32_t kBytes = 512, kAgents = 5;

struct Remembered {
  AgentId agent;
  uint32_t clock;
  bool write, strong;
};

TEST(History, AgreesWithAModelThatForgetsNothing) {
  std::mt19937 random(7);
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  int conflicts = 0, silent = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    Shadow shadow;
    shadow.reset(kBytes);
    std::vector<std::vector<Remembered>> model(kBytes);
    Order orders[kAgents];
    for (AgentId i = 0; i < kAgents; ++i)
      orders[i].seen.raise(i, 1);
    // Some trials synchronise nearly always, so that long histories build up.
    const uint32_t syncs = 1 + below(12);
    const bool often = below(2) == 0;
    bool found = false;
    for (int step = 0; step < 80 && !found; ++step) {
      const AgentId agent = static_cast<AgentId>(below(kAgents));
      for (uint32_t s = below(syncs); s > 0; --s) {
        const AgentId from = static_cast<AgentId>(below(kAgents));
        orders[agent].join(orders[from]);
        orders[from].seen.raise(from, orders[from].seen.get(from) + 1);
      }
      if (often && below(40) != 0)
        for (AgentId from = 0; from < kAgents; ++from)
          if (from != agent) {
            orders[agent].join(orders[from]);
            orders[from].seen.raise(from, orders[from].seen.get(from) + 1);
          }
      // One run, or several.
      const bool strong = below(6) == 0, write = below(3) == 0;
      std::vector<GranuleRun> runs;
      for (uint32_t r = strong ? 1 : 1 + below(3) * below(3); r > 0; --r) {
        const uint32_t size = strong ? 1u << below(4) : 1u << below(10);
        const uint32_t alignment = std::min(size, 1u << below(8));
        const uint32_t at = below((kBytes - size) / alignment + 1) * alignment;
        runs.push_back({at, size});
      }
      Accessor who;
      who.agent = agent;
      who.clock = orders[agent].seen.get(agent);
      who.order = &orders[agent];
      who.flags = strong ? kAccessStrong | accessScope(Scope::Gpu) : 0;
      bool expected = false, got = false;
      for (const GranuleRun &run : runs)
        for (uint32_t byte = run.address; byte < run.address + run.bytes; ++byte)
          for (const Remembered &other : model[byte])
            expected |= (other.write || write) && !(other.strong && strong) &&
                        other.agent != agent && orders[agent].seen.get(other.agent) < other.clock;
      for (const GranuleRun &run : runs)
        for (uint32_t byte = run.address; byte < run.address + run.bytes; ++byte)
          model[byte].push_back({agent, who.clock, write, strong});
      shadow.access(runs, write, who, [&](const Conflict &conflict) {
        got = true;
        // What it names is there.
        bool known = false;
        for (const Remembered &other : model[conflict.address])
          known |= other.agent == conflict.other.agent && other.clock == conflict.other.clock;
        EXPECT_TRUE(known);
      });
      ASSERT_EQ(got, expected) << "trial " << trial << " step " << step;
      found = got;
    }
    ++(found ? conflicts : silent);
  }
  // Both ends were reached.
  EXPECT_GT(conflicts, 500);
  EXPECT_GT(silent, 50);
}

TEST(History, SharesWhatLinesHaveInCommon) {
  Shadow shadow;
  shadow.reset(64 * 1024);
  Order order;
  order.seen.raise(1, 1);
  Accessor who;
  who.agent = 1;
  who.clock = 1;
  who.order = &order;
  auto none = [](const Conflict &) { ADD_FAILURE(); };
  const size_t before = shadow.bytes();
  shadow.access(0, 64 * 1024, true, who, none);
  EXPECT_LE(shadow.bytes() - before, 64u); // one entry for 512 lines
  who.agent = 2;
  order.seen.raise(2, 1);
  shadow.access(0, 64 * 1024, false, who, none);
  EXPECT_LE(shadow.bytes() - before, 128u);
  EXPECT_EQ(shadow.touched(), 64u * 1024);
}

TEST(History, ForgetsWhatIsOverwritten) {
  Shadow shadow;
  shadow.reset(4096);
  Order order;
  Accessor who;
  who.order = &order;
  auto none = [](const Conflict &) { ADD_FAILURE(); };
  size_t after = 0;
  for (uint32_t round = 1; round <= 1000; ++round) {
    // Words of many writers, then one of the whole: the entries of a round are used again.
    for (AgentId agent = 1; agent <= 32; ++agent) {
      who.agent = agent;
      who.clock = round;
      for (uint32_t line = 0; line < 32; ++line)
        shadow.access(line * 128 + (agent - 1u) * 4, 4, true, who, none);
      order.seen.raise(agent, round);
    }
    who.agent = 40;
    who.clock = round;
    shadow.access(0, 4096, true, who, none);
    order.seen.raise(40, round);
    if (round == 10)
      after = shadow.bytes();
  }
  // How much lines share differs a little from round to round.
  EXPECT_LE(shadow.bytes(), 2 * after);
}

} // namespace
} // namespace girih::emu
