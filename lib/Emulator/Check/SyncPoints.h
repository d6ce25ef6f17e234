// What strong writes to memory hand on to the strong reads that see them (PTX ISA 9.0, 8.7, 8.8).
//
// A location carries the releases that a read of its present value observes: those of the last
// write, and of the atomics that came after it, because each of these read what it replaced. A
// release reaches a reader when the scopes of both include the other's thread.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_CHECK_SYNCPOINTS_H
#define GIRIH_EMULATOR_CHECK_SYNCPOINTS_H

#include "Emulator/Check/Access.h"

#include <unordered_map>

namespace girih::emu {

/// An order that travels between clusters; `fenced` is of global memory.
struct Handover {
  WorldPtr seen, fenced, strict;
  bool empty() const { return !seen; }
  void join(const Handover &other) {
    seen = joinWorlds(seen, other.seen);
    fenced = joinWorlds(fenced, other.fenced);
    strict = joinWorlds(strict, other.strict);
  }
};

class SyncPoints {
public:
  struct Thread {
    uint32_t cluster, rank;
  };
  /// What a read of `scope` by this thread observes.
  Handover observe(uint64_t location, Scope scope, Thread by) const {
    Handover result;
    auto found = locations.find(location);
    if (found == locations.end())
      return result;
    if (scope >= Scope::Gpu)
      result = found->second.device;
    for (const Release &release : found->second.releases)
      if (meets(std::min(release.scope, scope), release.by, by) &&
          (scope < Scope::Gpu || release.scope < Scope::Gpu))
        result.join(release.order);
    return result;
  }
  /// A write, which replaces what was there, or an atomic, which adds to it.
  void write(uint64_t location, bool atomic) {
    if (!atomic && !locations.empty())
      locations.erase(location);
  }
  void release(uint64_t location, Scope scope, Thread by, const Handover &order) {
    Location &at = locations[location];
    if (scope >= Scope::Gpu)
      at.device.join(order);
    for (Release &other : at.releases)
      if (other.scope == scope && other.by.cluster == by.cluster && other.by.rank == by.rank) {
        other.order.join(order);
        return;
      }
    at.releases.push_back({scope, by, order});
  }
  static bool meets(Scope narrow, Thread a, Thread b) {
    return narrow >= Scope::Gpu ||
           (a.cluster == b.cluster && (narrow == Scope::Cluster || a.rank == b.rank));
  }

private:
  struct Release {
    Scope scope;
    Thread by;
    Handover order;
  };
  struct Location {
    Handover device; ///< all releases at the scope of the device or more
    std::vector<Release> releases;
  };
  std::unordered_map<uint64_t, Location> locations;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_CHECK_SYNCPOINTS_H
