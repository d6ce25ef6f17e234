// Checks logs of global accesses, page by page.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Check/GlobalShadow.h"

namespace girih::emu {

GlobalShadow::Page &GlobalShadow::Shard::page(uint64_t number) {
  const uint64_t directory = number / kDirectory;
  if (directory >= directories.size())
    directories.resize(directory + 1);
  if (!directories[directory])
    directories[directory] = std::make_unique<Directory>();
  std::unique_ptr<Page> &page = (*directories[directory])[number % kDirectory];
  if (!page) {
    page = std::make_unique<Page>();
    ++pages;
  }
  return *page;
}

void GlobalShadow::checkRecord(const AccessRecord &record, size_t log, size_t number, size_t job,
                               size_t jobs) {
  uint64_t address = record.address - base, end = address + record.bytes;
  if (jobs > 1 && address >> kPageShift == (end - 1) >> kPageShift &&
      (address >> kPageShift) % kShards % jobs != job)
    return;
  Accessor who;
  who.agent = static_cast<AgentId>(record.epoch.agent);
  who.cluster = record.epoch.cluster;
  who.kind = record.epoch.kind();
  who.order = &record.snapshot->order;
  who.synced = record.snapshot->synced;
  who.lanes = record.snapshot->lanes.get();
  while (address < end) {
    const uint64_t pageNumber = address >> kPageShift;
    const uint64_t pageEnd = std::min(end, (pageNumber + 1) << kPageShift);
    const size_t shardNumber = pageNumber % kShards;
    if (shardNumber % jobs != job) {
      address = pageEnd;
      continue;
    }
    Shard &shard = shards[shardNumber];
    Page &page = shard.page(pageNumber / kShards);
    Access a(who, record.epoch, record.snapshot->order.fencedGlobal, record.write, record.address,
             shard.conflicts);
    while (address < pageEnd) {
      const uint32_t begin = address % History::kLine;
      const uint32_t stop =
          static_cast<uint32_t>(std::min<uint64_t>(begin + (pageEnd - address), History::kLine));
      shard.history.access(page.lines[address / History::kLine % kLines], base + address - begin,
                           begin, stop, a);
      address += stop - begin;
    }
    if (shard.conflicts.empty()) [[likely]]
      continue;
    for (const Conflict &conflict : shard.conflicts) {
      const uint64_t key = uint64_t(conflict.kind) << 56 ^ uint64_t(conflict.scope) << 55 ^
                           uint64_t(conflict.note) << 54 ^ uint64_t(record.epoch.pc) << 24 ^
                           conflict.other.pc;
      auto [entry, fresh] = shard.index.try_emplace(key, shard.found.size());
      if (fresh)
        shard.found.push_back({conflict, record.epoch.movedBy(0), record.write, log, number, 1});
      else
        ++shard.found[entry->second].count;
    }
    shard.conflicts.clear();
  }
}

std::vector<GlobalShadow::Found> GlobalShadow::check(const std::vector<AccessLog *> &logs,
                                                     size_t jobs, const Runner &run) {
  jobs = std::clamp<size_t>(jobs, 1, kShards);
  run(jobs, [&](size_t job) {
    for (size_t log = 0; log < logs.size(); ++log)
      for (size_t i = 0; i < logs[log]->records.size(); ++i)
        checkRecord(logs[log]->records[i], log, i, job, jobs);
  });
  for (AccessLog *log : logs)
    log->clear();
  std::vector<Found> found;
  for (Shard &shard : shards) {
    found.insert(found.end(), shard.found.begin(), shard.found.end());
    shard.found.clear();
    shard.index.clear();
  }
  std::sort(found.begin(), found.end(), [](const Found &a, const Found &b) {
    return std::tuple(a.log, a.record, a.conflict.address) <
           std::tuple(b.log, b.record, b.conflict.address);
  });
  return found;
}

Epoch GlobalShadow::lastWrite(uint64_t address) const {
  address -= base;
  const uint64_t number = address >> kPageShift, inShard = number / kShards;
  const Shard &shard = shards[number % kShards];
  const uint64_t directory = inShard / kDirectory;
  if (directory >= shard.directories.size() || !shard.directories[directory])
    return {};
  const std::unique_ptr<Page> &page = (*shard.directories[directory])[inShard % kDirectory];
  return page ? shard.history.lastWrite(page->lines[address / History::kLine % kLines],
                                        address % History::kLine)
              : Epoch();
}

size_t GlobalShadow::bytes() const {
  size_t total = 0;
  for (const Shard &shard : shards) {
    total += shard.history.bytes() + shard.pages * sizeof(Page);
    for (const auto &directory : shard.directories)
      total += sizeof(directory) + (directory ? sizeof(Directory) : 0);
  }
  return total;
}

uint64_t GlobalShadow::touched() const {
  uint64_t lines = 0;
  for (const Shard &shard : shards)
    for (const auto &directory : shard.directories)
      if (directory)
        for (const std::unique_ptr<Page> &page : *directory)
          if (page)
            for (const History::Line &line : page->lines)
              lines += line.touched();
  return lines * History::kLine;
}

} // namespace girih::emu
