// What must be over when a CTA exits, because its shared memory goes: copies into and out of it,
// and accesses of other CTAs of the cluster. Over is what the CTA's own threads know to be over,
// not what happened to be.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Async.h"
#include "Emulator/Machine/Machine.h"
#include "Emulator/Text.h"

namespace girih::emu {

void Cluster::noteRemote(Cta &target, const Warp &warp, uint32_t pc, int lane, const char *action) {
  const Cta::RemoteAccess access{warp.agent, warp.clock(), pc,    warp.cta->rank,
                                 warp.index, lane,         action};
  for (Cta::RemoteAccess &other : target.remoteAccesses)
    if (other.agent == access.agent) {
      other = access;
      return;
    }
  target.remoteAccesses.push_back(access);
}

void Cluster::checkExit(Cta &cta) {
  Clock seen = exitKnown;
  for (const auto &warp : cta.warps)
    seen.join(warp->order.seen);
  // 7.1: shared memory of a CTA lives as long as the CTA.
  for (const Cta::RemoteAccess &access : cta.remoteAccesses)
    if (seen.get(access.agent) < access.clock)
      report(
          "cluster-exit",
          "a CTA exits while another one of its cluster may still access its shared memory: "
          "nothing orders the exit after the access",
          {site(access.action, access.pc, access.rank, static_cast<int>(access.warp), access.lane),
           site("exits", exitPc, cta.rank, -1, -1)},
          "let all CTAs of the cluster meet at a cluster barrier "
          "after their last access");
  const char *loadHint = "wait for the copy's mbarrier phase before the last thread exits";
  for (const auto &[offset, b] : cta.mbarriers)
    if (b.lastCopy.pc != ~0u && seen.get(b.agent) < b.lastCopy.phase)
      report("async-exit",
             "a CTA exits and none of its threads has waited for an asynchronous copy into its "
             "shared memory",
             {site("asynchronous copy signals mbarrier " + hex(offset), b.lastCopy.pc,
                   b.lastCopy.rank, b.lastCopy.warp, b.lastCopy.lane),
              site("exits", exitPc, cta.rank, -1, -1)},
             loadHint);
  for (const auto &op : async)
    if (op->fills(cta))
      report("async-exit",
             "a CTA exits while an asynchronous copy into its shared memory is in flight",
             {op->site(*this, "asynchronous copy"), site("exits", exitPc, cta.rank, -1, -1)},
             loadHint);
  for (const auto &warp : cta.warps)
    for (const BulkRecord &record : warp->bulkRecords)
      if (!record.waited) {
        report("async-exit",
               "a CTA exits while an asynchronous store may still read its shared memory",
               {site("asynchronous store", record.pc, cta.rank, static_cast<int>(warp->index),
                     static_cast<int>(record.lane)),
                site("exits", exitPc, cta.rank, -1, -1)},
               "the thread that issues it waits with cp.async.bulk.wait_group.read 0 before it "
               "exits");
        break;
      }
}

} // namespace girih::emu
