// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/CopyAsync.h"
#include "Emulator/Machine/Async.h"
#include "Emulator/Text.h"

#include <algorithm>
#include <cstring>

namespace girih::emu {

bool CopyState::inFlight(uint32_t lane, uint32_t sequence) const {
  for (const Record &r : records)
    if (r.sequence <= sequence && (r.pending >> lane & 1))
      return true;
  return false;
}

uint32_t CopyState::cover(uint32_t lanes, uint32_t sequence) {
  uint32_t known = sequence;
  for (Record &r : records) {
    if (r.sequence > sequence)
      break;
    r.covered |= lanes & r.lanes;
    if (known == sequence && r.covered != r.lanes)
      known = r.sequence - 1;
  }
  size_t done = 0;
  while (done < records.size() && records[done].covered == records[done].lanes &&
         !records[done].pending)
    ++done;
  records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(done));
  return known;
}

bool CopyAsync::writes(const Cta &target, uint32_t offset, uint32_t size) const {
  if (&target != cta)
    return false;
  for (uint32_t m = lanes; m; m &= m - 1) {
    uint32_t at = destination[__builtin_ctz(m)];
    if (offset + size > at && offset < at + bytes)
      return true;
  }
  return false;
}

/// Tells the checks what the pieces of some lanes have read and written, neighbouring ones
/// together.
void CopyAsync::note(Cluster &cluster, uint32_t now) {
  Accessor who = accessor(warp->copies->agent, sequence, AccessKind::CpAsync);
  // A swizzle permutes the pieces of a row among its lanes; in order they are one run again.
  uint64_t pieces[32]; // destination, lane
  uint32_t count = 0, readBytes = 0;
  uint64_t from = 0;
  auto noteRead = [&] {
    if (readBytes)
      cluster.noteGlobalAsync(who, globalSnapshot(), from, readBytes, false);
  };
  for (uint32_t m = now; m; m &= m - 1) {
    const uint32_t lane = static_cast<uint32_t>(__builtin_ctz(m));
    pieces[count++] = uint64_t(destination[lane]) << 5 | lane;
    if (!read[lane])
      continue;
    if (source[lane] != from + readBytes) {
      noteRead();
      from = source[lane];
      readBytes = 0;
      who.lane = static_cast<int>(lane);
    }
    readBytes += read[lane];
  }
  noteRead();
  // In order already where nothing is swizzled, and nearly so where something is.
  for (uint32_t i = 1; i < count; ++i)
    for (uint32_t at = i; at && pieces[at] < pieces[at - 1]; --at)
      std::swap(pieces[at], pieces[at - 1]);
  for (uint32_t i = 0; i < count;) {
    const uint32_t begin = static_cast<uint32_t>(pieces[i] >> 5);
    who.lane = static_cast<int>(pieces[i] & 31);
    uint32_t end = begin + bytes;
    while (++i < count && pieces[i] >> 5 == end)
      end += bytes;
    cluster.asyncWrite(*cta, begin, end - begin, who);
  }
  for (uint32_t m = now; m; m &= m - 1) {
    const uint32_t lane = static_cast<uint32_t>(__builtin_ctz(m));
    passUndefined(cluster, *cta, destination[lane], source[lane], read[lane]);
  }
}

bool CopyAsync::advance(Cluster &cluster) {
  // All that is left, or the pieces of some lanes: mostly of whole rows, which eight lanes copy.
  uint32_t now = lanes;
  if (cluster.random.below(2)) {
    const uint32_t step = cluster.random.below(8) ? 8 : 1;
    uint32_t first = step * cluster.random.below(32 / step),
             count = step * (1 + cluster.random.below(16 / step));
    uint32_t some = (count == 32 ? kFullMask : (1u << count) - 1) << first;
    if (now & some)
      now &= some;
  }
  for (uint32_t m = now; m; m &= m - 1) {
    uint32_t lane = static_cast<uint32_t>(__builtin_ctz(m));
    uint8_t *to = cta->shared.data() + destination[lane];
    if (read[lane] < bytes)
      std::memset(to, 0, bytes);
    if (!read[lane])
      continue;
    if (!cluster.globalInBounds(source[lane], read[lane])) {
      Site here = site(cluster, "cp.async reads");
      here.space = "global";
      here.address = source[lane];
      here.bytes = read[lane];
      cluster.fault("use-after-free", "the source of a cp.async was freed before it was read",
                    {here});
      return true;
    }
    cluster.readGlobal(source[lane], to, read[lane]);
  }
  if (cluster.checking())
    note(cluster, now);
  lanes &= ~now;
  cluster.copyLanded(*warp, sequence, now);
  return !lanes;
}

bool CopyArrival::advance(Cluster &cluster) {
  // Those who see the phase complete know that these copies have landed.
  uint32_t known = warp->copies->cover(lanes, sequence);
  order.seen.raise(warp->copies->agent, known);
  for (uint32_t m = lanes; m; m &= m - 1) {
    uint32_t at = static_cast<uint32_t>(__builtin_ctz(m));
    auto found = cta->mbarriers.find(barrier[at]);
    if (found == cta->mbarriers.end()) {
      cluster.fault("mbarrier-uninitialised",
                    "a cp.async.mbarrier.arrive reaches an mbarrier that is not initialised (any "
                    "more)",
                    {site(cluster, "arrives at " + hex(barrier[at]))});
      return true;
    }
    Mbarrier::Arrival by;
    by.pc = pc;
    by.warp = static_cast<int16_t>(warp->index);
    by.lane = static_cast<int8_t>(at);
    by.rank = static_cast<uint16_t>(cta->rank);
    cluster.mbarrierArrive(*cta, found->second, 1, by, &order);
  }
  return true;
}

void Cluster::copyLanded(Warp &warp, uint32_t sequence, uint32_t lanes) {
  CopyState &copies = *warp.copies;
  for (CopyState::Record &r : copies.records)
    if (r.sequence == sequence)
      r.pending &= ~lanes;
  for (size_t i = 0; i < copies.arrivals.size();) {
    CopyArrival &arrival = *copies.arrivals[i];
    bool waits = false;
    for (uint32_t m = arrival.lanes; m && !waits; m &= m - 1)
      waits = copies.inFlight(static_cast<uint32_t>(__builtin_ctz(m)), arrival.sequence);
    if (waits) {
      ++i;
      continue;
    }
    addAsync(std::move(copies.arrivals[i]));
    copies.arrivals.erase(copies.arrivals.begin() + static_cast<std::ptrdiff_t>(i));
  }
  wakeBulk(warp);
}

} // namespace girih::emu
