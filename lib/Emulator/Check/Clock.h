// Vector clocks: who has seen what.
//
// Each warp, each warp's bulk-copy queue, each warpgroup's wgmma queue and each mbarrier has a
// component. A warp's component counts its releases; an mbarrier's counts completed phases, because
// a copy that signals a phase is known to have landed exactly by those who saw the phase complete;
// a queue's counts operations in order of issue.
//
// Components of the own cluster are dense, because they change all the time; what is known of other
// clusters comes through global memory only, and travels as pointers to what they once published.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_CHECK_CLOCK_H
#define GIRIH_EMULATOR_CHECK_CLOCK_H

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace girih::emu {

using AgentId = uint16_t;

/// What has been published about several clusters. Immutable, so clusters share it.
class World {
public:
  using Values = std::shared_ptr<const std::vector<uint32_t>>;
  struct Part {
    uint32_t cluster;
    Values values;
  };
  /// Clusters, from `first` to before `end`, that are over and of which everything is known.
  struct Range {
    uint32_t first, end;
    bool operator==(const Range &) const = default;
  };
  explicit World(std::vector<Part> parts, std::vector<Range> over = {})
      : parts(std::move(parts)), over(std::move(over)) {}
  /// The components of a cluster; nullptr if nothing is known of it.
  const std::vector<uint32_t> *find(uint32_t cluster) const {
    for (const Range &range : over)
      if (cluster - range.first < range.end - range.first)
        return &everything();
    auto at = std::lower_bound(parts.begin(), parts.end(), cluster,
                               [](const Part &p, uint32_t c) { return p.cluster < c; });
    return at != parts.end() && at->cluster == cluster ? at->values.get() : nullptr;
  }
  const std::vector<Part> &all() const { return parts; }
  const std::vector<Range> &allOver() const { return over; }

private:
  static const std::vector<uint32_t> &everything();

  std::vector<Part> parts; ///< by cluster, ascending
  std::vector<Range> over;
};
using WorldPtr = std::shared_ptr<const World>;

/// What either knows; either may be null.
WorldPtr joinWorlds(const WorldPtr &a, const WorldPtr &b);

class Clock {
public:
  uint32_t get(AgentId agent) const { return agent < values.size() ? values[agent] : 0; }
  /// A component of any cluster.
  uint32_t get(uint32_t cluster, uint32_t own, AgentId agent) const {
    if (cluster == own)
      return get(agent);
    const std::vector<uint32_t> *other = others ? others->find(cluster) : nullptr;
    return other && agent < other->size() ? (*other)[agent] : 0;
  }
  void raise(AgentId agent, uint32_t value) {
    if (agent >= values.size())
      values.resize(agent + 1u);
    values[agent] = std::max(values[agent], value);
    ++changes;
  }
  void join(const Clock &other) {
    if (other.values.size() > values.size())
      values.resize(other.values.size());
    for (size_t i = 0; i < other.values.size(); ++i)
      values[i] = std::max(values[i], other.values[i]);
    if (other.others && other.others != others)
      others = joinWorlds(others, other.others);
    ++changes;
  }
  /// Takes over what was published, by this cluster (`own`) or another.
  void join(const WorldPtr &world, uint32_t own);
  /// As others may come to know it.
  WorldPtr publish(uint32_t own) const;
  bool empty() const { return values.empty() && !others; }
  /// Grows with every change, so that a copy knows when it is out of date.
  uint32_t version() const { return changes; }

private:
  std::vector<uint32_t> values;
  WorldPtr others;
  uint32_t changes = 0;
};

/// What happened before a point (`seen`) and parts of it: what a proxy fence has since made visible
/// to the asynchronous proxy (`fenced` of shared memory, `fencedGlobal`), and what a fence has
/// since made visible to the whole device (`published`), which is what a relaxed write that comes
/// later hands on. All travel together along every edge. `strict` is what happened before by the
/// letter of the memory model, of the components of warps; kept only where that is asked for.
struct Order {
  Clock seen, fenced, fencedGlobal, published, strict;
  void join(const Order &other) {
    seen.join(other.seen);
    fenced.join(other.fenced);
    if (!other.fencedGlobal.empty())
      fencedGlobal.join(other.fencedGlobal);
    if (!other.published.empty())
      published.join(other.published);
    if (!other.strict.empty())
      strict.join(other.strict);
  }
  uint32_t version() const {
    return seen.version() + fenced.version() + fencedGlobal.version() + published.version() +
           strict.version();
  }
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_CHECK_CLOCK_H
