// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Async.h"
#include "Emulator/Text.h"

#include <cstring>

namespace girih::emu {

namespace {
/// A map's memory must be there while a copy uses it.
bool checkRow(Cluster &cluster, const AsyncOp &op, uint64_t address, uint32_t bytes, bool isWrite) {
  if (bytes == 0 || cluster.globalInBounds(address, bytes))
    return true;
  Site here = op.site(cluster, isWrite ? "asynchronous store writes" : "asynchronous copy reads");
  here.space = "global";
  here.address = address;
  here.bytes = bytes;
  cluster.fault(
      "global-out-of-bounds",
      "an asynchronous copy touches global memory at " + hex(address) + " that is not allocated",
      {here},
      "check the tensor map's base address, sizes and strides, or the byte count of the bulk copy");
  return false;
}
} // namespace

bool CopyToShared::signals(const Cta &target, uint32_t offset) const {
  if (offset != barrier)
    return false;
  for (const Cta *t : targets)
    if (t == &target)
      return true;
  return false;
}

bool CopyToShared::writes(const Cta &target, uint32_t offset, uint32_t size) const {
  uint32_t begin = box ? box->sharedBegin() : destination,
           length = box ? box->sharedBytes() : bytes;
  if (offset + size <= begin || offset >= begin + length)
    return false;
  for (const Cta *t : targets)
    if (t == &target)
      return true;
  return false;
}

void passUndefined(Cluster &cluster, Cta &target, uint32_t offset, uint64_t address,
                   uint32_t bytes) {
  if (!bytes || cluster.globalDefined(address, bytes)) [[likely]]
    return;
  for (uint32_t done = 0; done < bytes; done += 64) {
    const uint32_t run = std::min(64u, bytes - done);
    for (uint64_t m = cluster.globalUndefined(address + done, run); m; m &= m - 1)
      target.sharedDefined.clear(offset + done + static_cast<uint32_t>(__builtin_ctzll(m)), 1);
  }
}

bool CopyToShared::moveRows(Cluster &cluster, Cta &target, uint32_t first, uint32_t last,
                            const Accessor &who) {
  std::vector<uint8_t> buffer;
  for (uint32_t r = first; r < last; ++r) {
    TmaRow row = box->row(r);
    if (!checkRow(cluster, *this, row.global, row.bytes, false))
      return false;
    const uint8_t *source = nullptr;
    // A multicast reads once, for its first target.
    if (&target == targets[0] && cluster.checking())
      cluster.noteGlobalAsync(who, globalSnapshot(), row.global, row.bytes, false);
    if (row.bytes) {
      if (cluster.overlay.empty()) {
        source = cluster.launch.memory->host(row.global);
      } else {
        buffer.resize(row.bytes);
        cluster.readGlobal(row.global, buffer.data(), row.bytes);
        source = buffer.data();
      }
    }
    box->loadRow(row, source, target.shared.data());
    if (cluster.checking() && row.width != box->rowPitch())
      box->runsOfRow(
          row, [&](const TmaRun &run) { cluster.asyncWrite(target, run.shared, run.bytes, who); });
  }
  if (cluster.checking() && map.boxCount(0) * map.elementBytes() == box->rowPitch())
    cluster.asyncWrite(target, box->sharedBegin() + first * box->rowPitch(),
                       (last - first) * box->rowPitch(), who);
  for (uint32_t r = first; r < last && cluster.checking(); ++r)
    if (TmaRow row = box->row(r); row.bytes && !cluster.globalDefined(row.global, row.bytes))
      box->runsOfRow(row, [&](const TmaRun &run) {
        if (run.inBounds)
          passUndefined(cluster, target, run.shared, run.global, run.bytes);
      });
  return true;
}

bool CopyToShared::moveBytes(Cluster &cluster, Cta &target, uint32_t first, uint32_t last,
                             const Accessor &who) {
  uint32_t begin = first * 128, end = std::min(bytes, last * 128);
  uint8_t *to = target.shared.data() + destination + begin;
  const uint32_t count = end - begin;
  if (sourceCta) {
    uint32_t from = static_cast<uint32_t>(source) + begin;
    if (cluster.checking())
      cluster.asyncRead(*sourceCta, from, count, who);
    const uint8_t *data = sourceCta->shared.data() + from;
    if (reduce) {
      // The two may overlap by mistake.
      std::vector<uint8_t> operand(data, data + count);
      Accessor atomic = who;
      atomic.kind = AccessKind::TmaReduce;
      atomic.flags = kAccessStrong | kAccessAtomic | accessScope(Scope::Gpu);
      if (cluster.checking()) {
        cluster.asyncRead(target, destination + begin, count, atomic);
        atomic.flags |= kAccessWrite;
        cluster.asyncWrite(target, destination + begin, count, atomic);
      }
      reduce(to, operand.data(), count / element);
      return true;
    }
    std::memmove(to, data, count);
  } else {
    // Bytes that may not exist are left alone: what a copy makes of them is indeterminate.
    const uint32_t skip = begin == 0 ? ignoreLeft : 0, drop = end == bytes ? ignoreRight : 0;
    const uint32_t some = count > skip + drop ? count - skip - drop : 0;
    if (!checkRow(cluster, *this, source + begin + skip, some, false))
      return false;
    if (&target == targets[0] && cluster.checking())
      cluster.noteGlobalAsync(who, globalSnapshot(), source + begin + skip, some, false);
    if (some)
      cluster.readGlobal(source + begin + skip, to + skip, some);
    if (cluster.checking()) {
      cluster.asyncWrite(target, destination + begin, count, who);
      passUndefined(cluster, target, destination + begin + skip, source + begin + skip, some);
      if (skip)
        target.sharedDefined.clear(destination + begin, skip);
      if (drop)
        target.sharedDefined.clear(destination + end - drop, drop);
    }
    return true;
  }
  if (cluster.checking())
    cluster.asyncWrite(target, destination + begin, count, who);
  return true;
}

bool CopyToShared::advance(Cluster &cluster) {
  uint32_t total = units(), step = (total + pieces - 1) / pieces;
  uint32_t first = next, last = std::min(total, next + step);
  for (Cta *target : targets) {
    auto found = target->mbarriers.find(barrier);
    if (found == target->mbarriers.end()) {
      cluster.fault("mbarrier-uninitialised",
                    "an asynchronous copy signals an mbarrier that is not initialised (any more)",
                    {site(cluster, "asynchronous copy signals " + hex(barrier))});
      return true;
    }
    Mbarrier &mbarrier = found->second;
    // What the copy writes is known to have landed by those who see this phase complete.
    Accessor who = accessor(mbarrier.agent, mbarrier.phase + 1, AccessKind::TmaLoad);
    mbarrier.lastCopy = landing(mbarrier.phase + 1);
    if (!(box ? moveRows(cluster, *target, first, last, who)
              : moveBytes(cluster, *target, first, last, who)))
      return true;
    uint64_t moved = box ? uint64_t(last - first) * (box->bytes() / total)
                         : std::min(bytes, last * 128) - first * 128;
    cluster.stats.tmaBytes += moved;
    cluster.mbarrierComplete(*target, mbarrier, static_cast<int64_t>(moved),
                             site(cluster, "asynchronous copy completes bytes"));
  }
  next = last;
  return next >= total;
}

void CopyToGlobal::readSource(Cluster &cluster) {
  Accessor who = accessor(warp->bulkAgent, sequence, AccessKind::TmaStore);
  if (!box) {
    if (cluster.checking())
      cluster.asyncRead(*cta, source, bytes, who);
    staging.assign(cta->shared.data() + source, cta->shared.data() + source + bytes);
    return;
  }
  uint32_t width = static_cast<uint32_t>(box->bytes() / box->rowCount());
  staging.resize(box->bytes());
  for (uint32_t r = 0; r < box->rowCount(); ++r) {
    TmaRow row = box->row(r);
    if (!row.bytes)
      continue;
    box->storeRow(row, cta->shared.data(), staging.data() + uint64_t(r) * width);
    if (!cluster.checking())
      continue;
    if (row.bytes == box->rowPitch())
      cluster.asyncRead(*cta, row.shared, row.bytes, who);
    else
      box->runsOfRow(row, [&](const TmaRun &run) {
        if (run.inBounds)
          cluster.asyncRead(*cta, run.shared, run.bytes, who);
      });
  }
}

void CopyToGlobal::write(Cluster &cluster, const Accessor &who, uint64_t address,
                         const uint8_t *data, uint32_t size) {
  cluster.noteGlobalAsync(who, globalSnapshot(), address, size, true);
  if (!reduce) {
    cluster.writeGlobal(address, data, size);
    return;
  }
  std::vector<uint8_t> memory(size);
  cluster.readGlobal(address, memory.data(), size);
  reduce(memory.data(), data, size / element);
  cluster.writeGlobal(address, memory.data(), size);
}

void CopyToGlobal::writeDestination(Cluster &cluster) {
  Accessor who =
      accessor(warp->bulkWrites, sequence, reduce ? AccessKind::TmaReduce : AccessKind::TmaStore);
  // 9.7.9.25.4.2: each element is reduced with .relaxed.gpu.
  if (reduce)
    who.flags = kAccessWrite | kAccessStrong | kAccessAtomic | accessScope(Scope::Gpu);
  if (!box) {
    if (checkRow(cluster, *this, destination, bytes, true))
      write(cluster, who, destination, staging.data(), bytes);
    return;
  }
  uint32_t width = static_cast<uint32_t>(box->bytes() / box->rowCount());
  for (uint32_t r = 0; r < box->rowCount(); ++r) {
    TmaRow row = box->row(r);
    if (!row.bytes)
      continue;
    if (!checkRow(cluster, *this, row.global, row.bytes, true))
      return;
    write(cluster, who, row.global, staging.data() + uint64_t(r) * width, row.bytes);
  }
}

bool CopyToGlobal::advance(Cluster &cluster) {
  if (!hasRead) {
    readSource(cluster);
    hasRead = true;
    --group->readsLeft;
    cluster.wakeBulk(*warp);
    return false;
  }
  if (!reduce)
    commit(cluster);
  return true;
}

void CopyToGlobal::commit(Cluster &cluster) {
  writeDestination(cluster);
  cluster.stats.tmaBytes += box ? box->bytes() : bytes;
  --group->writesLeft;
  cluster.wakeBulk(*warp);
}

} // namespace girih::emu
