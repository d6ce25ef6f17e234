// What a cluster knows of other grids (griddepcontrol), and what happens when time passes.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Machine.h"

namespace girih::emu {

void Cluster::letDependents(Cta &cta) {
  if (cta.dependentsLaunched)
    return;
  cta.dependentsLaunched = true;
  ++dependentsLaunched;
  ++progress;
}

Step Cluster::waitForGrids(Context &c) {
  if (!launch.predecessorsDone) {
    c.frag().wait = Wait::Grid;
    return Step::Block;
  }
  // Their memory operations are performed and visible.
  if (checking() && launch.awaited) {
    Order &order = c.warp.order;
    for (Clock *clock : {&order.seen, &order.fencedGlobal, &order.published})
      clock->join(launch.awaited, worldId());
    if (strict())
      order.strict.join(launch.awaited, worldId());
    ++c.warp.syncVersion;
  }
  return Step::Next;
}

bool Cluster::waitsForGrid() const {
  for (const auto &cta : ctas)
    for (const auto &warp : cta->warps)
      for (const Fragment &f : warp->fragments)
        if (f.wait == Wait::Grid)
          return true;
  return false;
}

void Cluster::wakeGrid() {
  for (const auto &cta : ctas)
    for (const auto &warp : cta->warps)
      for (Fragment &f : warp->fragments)
        if (f.wait == Wait::Grid)
          f.wait = Wait::Ready;
}

void Cluster::jumpAhead() {
  // Ten seconds at a billion instructions each.
  timeJumped += 10'000'000'000;
  for (const auto &cta : ctas)
    for (const auto &warp : cta->warps)
      for (Fragment &f : warp->fragments)
        f.polledPc = ~0u; // from now on: who polls still
  expireWaits();
}

bool Cluster::expireWaits() {
  bool any = false;
  for (const auto &cta : ctas)
    for (const auto &warp : cta->warps)
      for (Fragment &f : warp->fragments)
        if (f.wait == Wait::Mbarrier) {
          f.wait = Wait::Ready;
          f.timeUp = true;
          any = true;
        }
  return any;
}

} // namespace girih::emu
