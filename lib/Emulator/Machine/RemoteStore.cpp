// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/RemoteStore.h"
#include "Emulator/Text.h"

#include <cstring>

namespace girih::emu {

bool RemoteStore::advance(Cluster &cluster) {
  auto found = target->mbarriers.find(barrier);
  if (found == target->mbarriers.end()) {
    cluster.fault("mbarrier-uninitialised",
                  "an asynchronous store signals an mbarrier that is not initialised (any more)",
                  {site(cluster, "asynchronous store signals " + hex(barrier))});
    return true;
  }
  Mbarrier &mbarrier = found->second;
  uint8_t *to = target->shared.data() + destination;
  if (reduce)
    reduce(to, data, 1);
  else
    std::memcpy(to, data, bytes);
  if (cluster.checking()) {
    // What it writes is known to have landed by those who see this phase complete.
    Accessor who = accessor(mbarrier.agent, mbarrier.phase + 1, AccessKind::StAsync);
    if (reduce)
      who.flags = kAccessWrite | kAccessStrong | kAccessAtomic | accessScope(Scope::Cluster);
    mbarrier.lastCopy = landing(mbarrier.phase + 1);
    cluster.asyncWrite(*target, destination, bytes, who);
    for (uint32_t i = 0; i < bytes; ++i)
      if (undefined >> i & 1)
        target->sharedDefined.clear(destination + i, 1);
  }
  cluster.mbarrierComplete(*target, mbarrier, bytes,
                           site(cluster, "asynchronous store completes bytes"));
  return true;
}

} // namespace girih::emu
