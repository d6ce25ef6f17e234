// Says what is wrong between two accesses to global memory.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Machine.h"
#include "Emulator/Text.h"

namespace girih::emu {

namespace {
/// The grid that a cluster belongs to.
const GridRecord *gridOf(const LaunchContext &launch, uint32_t cluster) {
  if (launch.grids)
    for (const GridRecord &record : *launch.grids)
      if (cluster - record.firstCluster < record.clusters)
        return &record;
  return nullptr;
}
} // namespace

Site Cluster::epochSite(const Epoch &e, std::string action, int lane) const {
  const GridRecord *record = gridOf(launch, e.cluster);
  Site s;
  if (!record || record->id == launch.gridId)
    s = siteIn(kernel, std::move(action), static_cast<uint32_t>(e.pc));
  else if (record->kernel)
    s = siteIn(*record->kernel,
               "in kernel " + record->name + ", launch " + std::to_string(record->id) + ", " +
                   action,
               static_cast<uint32_t>(e.pc));
  else
    s.action = "in kernel " + record->name + ", an earlier launch, " + action;
  if (record)
    s.cta = ctaOf(record->grid, record->cluster, e.cluster - record->firstCluster,
                  static_cast<uint32_t>(e.rank));
  s.warp = static_cast<int>(e.warp);
  s.lane = lane;
  return s;
}

void Cluster::reportGlobalConflict(const GlobalShadow::Found &found) {
  const Conflict &conflict = found.conflict;
  const Epoch &other = conflict.other, &mine = found.epoch;
  auto sideOf = [&](const Epoch &e, bool wrote, int lane) {
    std::string action = e.atomic ? "atomically updated" : accessName(e.kind(), wrote);
    Site s = epochSite(e, std::move(action), lane);
    s.space = "global";
    s.address = conflict.address;
    s.bytes = conflict.bytes;
    return s;
  };
  const bool otherWrote = conflict.kind != ConflictKind::WriteAfterRead;
  std::vector<Site> sites{sideOf(mine, found.write, conflict.lane),
                          sideOf(other, otherWrote, conflict.otherLane)};
  const std::string where = "global memory at " + hex(conflict.address);
  const Severity severity = conflict.note ? Severity::Note : Severity::Error;
  const char *letter = conflict.note ? kByTheLetter : "";
  if (conflict.kind == ConflictKind::MissingProxyFence) {
    report("missing-proxy-fence",
           where +
               (found.write
                    ? " was accessed ordinarily and is written by an asynchronous copy"
                    : " was written by ordinary stores and is read by an asynchronous copy") +
               " without fence.proxy.async between them" + letter,
           std::move(sites),
           "every writer executes fence.proxy.async after its stores and before it signals the "
           "thread that issues the copy",
           found.count, severity);
    return;
  }
  const bool sameWarp = mine.cluster == other.cluster && mine.agent == other.agent;
  const bool sameCta = mine.cluster == other.cluster && mine.rank == other.rank;
  std::string message =
      where + (conflict.kind == ConflictKind::WriteAfterWrite
                   ? " is written twice and nothing orders the writes"
               : conflict.kind == ConflictKind::ReadAfterWrite
                   ? " is read while nothing orders the read after the write"
                   : " is overwritten while nothing orders the write after a read");
  std::string hint;
  const GridRecord *otherGrid = gridOf(launch, other.cluster);
  if (otherGrid && otherGrid->id != launch.gridId) {
    message += ": the two launches may run at the same time, and nothing that one has waited for "
               "puts the other before it";
    hint =
        "put both into one stream, let one wait for an event of the other, or, in a programmatic "
        "dependent launch, execute griddepcontrol.wait before the access";
  } else if (conflict.scope) {
    message += ": both are strong, but the scope of one leaves the other thread out";
    hint = sameCta ? "widen the scope"
                   : "threads of different CTAs need scope .gpu (or .cluster "
                     "within a cluster)";
  } else if ((other.kind() == AccessKind::TmaStore && otherWrote) ||
             (mine.kind() == AccessKind::TmaStore && found.write)) {
    message += ": the bulk store takes effect at any time until it is known to be complete";
    hint =
        "wait for its completion (cp.async.bulk.wait_group without .read) before others are told";
  } else if (sameWarp) {
    message +=
        ": the lanes of a warp are threads of their own, and no bar.warp.sync or barrier lies "
        "between";
    hint = "put __syncwarp() (bar.warp.sync) between the two";
  } else if (sameCta) {
    message += ": no barrier, and no release and acquire at scope .cta or wider, between";
    hint = "put a barrier between the two";
  } else {
    message += ": no release and acquire at scope ." +
               std::string(mine.cluster == other.cluster ? "cluster" : "gpu") + " or wider between";
    hint =
        "the first side needs a fence (__threadfence) or a release before its signal, the second "
        "an acquire or a fence after it has seen the signal";
  }
  if (!conflict.scope && (!otherGrid || otherGrid->id == launch.gridId) &&
      (mine.strong || other.strong) && !sameWarp)
    hint += "; an atomic or volatile access does not order an ordinary one";
  report("global-race", message + letter, std::move(sites), std::move(hint), found.count, severity);
}

} // namespace girih::emu
