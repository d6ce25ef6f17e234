// Tensor maps that a kernel has edited, and who may use them.
//
// Copies read a tensor map through a proxy of its own. A map that a thread has written (with
// tensormap.replace, or tensormap.cp_fenceproxy from shared memory) is seen by a copy only after
// the writer's release, an order from there to the user, and the user's
// fence.proxy.tensormap::generic.acquire on the map's address (PTX ISA 9.0, 9.7.13.4). Edits are
// remembered by the cluster that made them: a use in another cluster is not checked.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_MACHINE_EDITEDMAPS_H
#define GIRIH_EMULATOR_MACHINE_EDITEDMAPS_H

#include "Emulator/Check/Clock.h"

#include <unordered_map>
#include <utility>
#include <vector>

namespace girih::emu {

class EditedMaps {
public:
  struct Edit {
    uint32_t version = 0; ///< counts edits of this address
    uint32_t pc = 0;
    uint16_t rank = 0;
    int16_t warp = -1, lane = -1;
    AgentId agent = 0;
    /// The writer's clock as of its release after the edit; 0 while there was none.
    uint32_t released = 0;
    /// The last version that each warp has acquired.
    std::vector<std::pair<AgentId, uint32_t>> acquired;
  };
  /// What is missing for a use.
  enum class Missing { Nothing, Release, Order, Acquire };

  /// Notes a write of a map in global memory by a thread of the warp `edit.agent`.
  void write(uint64_t address, const Edit &edit) {
    Edit &e = edits[address];
    uint32_t version = e.version + 1;
    std::vector<std::pair<AgentId, uint32_t>> acquired = std::move(e.acquired);
    e = edit;
    e.version = version;
    e.acquired = std::move(acquired);
  }
  /// A release fence covers everything that its warp has edited.
  void release(const Order &order, AgentId agent) {
    for (auto &[address, e] : edits)
      if (e.agent == agent && !e.released)
        e.released = order.seen.get(agent);
  }
  void acquire(const Order &order, AgentId agent, uint64_t address) {
    auto found = edits.find(address);
    // An acquire that is ordered before the release has acquired nothing.
    if (found == edits.end() || missing(found->second, order, agent) != Missing::Acquire)
      return;
    Edit &e = found->second;
    for (auto &[who, version] : e.acquired)
      if (who == agent) {
        version = e.version;
        return;
      }
    e.acquired.push_back({agent, e.version});
  }
  /// The edit of a map and what a use by this warp lacks; null if the map was not edited here.
  const Edit *check(uint64_t address, const Order &order, AgentId agent, Missing &what) const {
    auto found = edits.find(address);
    if (found == edits.end())
      return nullptr;
    what = missing(found->second, order, agent);
    return &found->second;
  }

private:
  static Missing missing(const Edit &e, const Order &order, AgentId agent) {
    if (!e.released)
      return Missing::Release;
    if (order.seen.get(e.agent) < e.released)
      return Missing::Order;
    for (const auto &[who, version] : e.acquired)
      if (who == agent)
        return version == e.version ? Missing::Nothing : Missing::Acquire;
    return Missing::Acquire;
  }
  std::unordered_map<uint64_t, Edit> edits;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_MACHINE_EDITEDMAPS_H
