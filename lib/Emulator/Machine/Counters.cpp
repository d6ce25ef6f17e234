// Bank conflicts and uncoalesced accesses, counted per instruction.
//
// Shared memory has 32 banks of 4 bytes and serves 128 bytes at a time: accesses of 4 bytes and
// less by 32 lanes together, of 8 by 16, of 16 by 8. A pass takes one word from each bank; lanes
// that name the same word share it. Global memory moves sectors of 32 bytes.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Address.h"

#include <algorithm>

namespace girih::emu {

namespace {
/// Passes of lanes that are served together.
uint32_t passes(const uint64_t *words, uint32_t count) {
  uint64_t seen[32][32];
  uint32_t used[32] = {}, most = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t bank = words[i] % 32;
    if (std::find(seen[bank], seen[bank] + used[bank], words[i]) != seen[bank] + used[bank])
      continue;
    if (used[bank] == 32)
      continue;
    seen[bank][used[bank]++] = words[i];
    most = std::max(most, used[bank]);
  }
  return most;
}
} // namespace

void Cluster::countAccess(const Context &c, uint32_t lanesMask, AddressSpace space,
                          const uint64_t *address, uint32_t bytes) {
  if (counters.empty())
    counters.resize(kernel.code.size());
  AccessCount &count = counters[c.pc];
  uint64_t sectors[32 * 5], starts[32];
  uint32_t sectorCount = 0, globals = 0;
  uint64_t words[32];
  uint32_t wordCount = 0, group = ~0u;
  bool shared = false;
  auto flush = [&] {
    if (wordCount) {
      count.sharedPasses += passes(words, wordCount);
      ++count.sharedIdeal;
    }
    wordCount = 0;
  };
  const uint32_t together = bytes >= 16 ? 8 : bytes >= 8 ? 16 : 32;
  for (uint32_t m = lanesMask; m; m &= m - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint64_t a = address[lane];
    const AddressSpace where = classify(space, a);
    if (where == AddressSpace::Shared) {
      shared = true;
      if (lane / together != group || wordCount + std::max(1u, bytes / 4) > 32)
        flush();
      group = lane / together;
      for (uint32_t w = 0; w < std::max(1u, bytes / 4) && wordCount < 32; ++w)
        words[wordCount++] = a / 4 + w;
    } else if (where == AddressSpace::Global) {
      starts[globals++] = a;
      for (uint64_t s = a / 32; s <= (a + bytes - 1) / 32; ++s)
        sectors[sectorCount++] = s;
    }
  }
  flush();
  if (globals) {
    std::sort(sectors, sectors + sectorCount);
    std::sort(starts, starts + globals);
    const auto distinct =
        static_cast<uint32_t>(std::unique(sectors, sectors + sectorCount) - sectors);
    const auto lanes = static_cast<uint32_t>(std::unique(starts, starts + globals) - starts);
    count.globalSectors += distinct;
    count.globalIdeal += std::min(distinct, std::max(1u, (lanes * bytes + 31) / 32));
  }
  count.executions += shared || globals;
}

void Cluster::collectCounters(std::vector<LineCounters> &lines) const {
  for (uint32_t pc = 0; pc < counters.size(); ++pc) {
    const AccessCount &count = counters[pc];
    if (!count.executions)
      continue;
    const InstrInfo &info = kernel.info[pc];
    auto at = std::lower_bound(
        lines.begin(), lines.end(), pc,
        [](const LineCounters &line, uint32_t value) { return line.instruction < value; });
    if (at == lines.end() || at->instruction != pc) {
      at = lines.insert(at, LineCounters());
      at->instruction = pc;
      at->ptxLine = info.line;
      at->ptxText = info.text;
      at->source = kernel.module->source(info.location);
    }
    at->executions += count.executions;
    at->sharedPasses += count.sharedPasses;
    at->sharedIdeal += count.sharedIdeal;
    at->globalSectors += count.globalSectors;
    at->globalIdeal += count.globalIdeal;
  }
}

} // namespace girih::emu
