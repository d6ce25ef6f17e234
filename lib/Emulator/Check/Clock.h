// Vector clocks: who has seen what.
//
// Each warp, each warp's bulk-copy queue, each warpgroup's wgmma queue and each mbarrier has a
// component. A warp's component counts its releases; an mbarrier's counts completed phases, because
// a copy that signals a phase is known to have landed exactly by those who saw the phase complete;
// a queue's counts operations in order of issue.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_CHECK_CLOCK_H
#define GIRIH_EMULATOR_CHECK_CLOCK_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace girih::emu {

using AgentId = uint16_t;

class Clock {
public:
  uint32_t get(AgentId agent) const { return agent < values.size() ? values[agent] : 0; }
  void raise(AgentId agent, uint32_t value) {
    if (agent >= values.size())
      values.resize(agent + 1u);
    values[agent] = std::max(values[agent], value);
  }
  void join(const Clock &other) {
    if (other.values.size() > values.size())
      values.resize(other.values.size());
    for (size_t i = 0; i < other.values.size(); ++i)
      values[i] = std::max(values[i], other.values[i]);
  }

private:
  std::vector<uint32_t> values;
};

/// What happened before a point (`seen`), and the part of it that a proxy fence has since made
/// visible to the asynchronous proxy (`fenced`). Both travel together along every edge.
struct Order {
  Clock seen, fenced;
  void join(const Order &other) {
    seen.join(other.seen);
    fenced.join(other.fenced);
  }
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_CHECK_CLOCK_H
