// Histories of a CTA's shared memory. Accesses are checked as they happen: all who can reach it run
// in one cluster, so one after another.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_CHECK_SHADOW_H
#define GIRIH_EMULATOR_CHECK_SHADOW_H

#include "Emulator/Check/History.h"
#include "girih/Emulator/MatrixDescriptor.h"

#include <span>

namespace girih::emu {

class Shadow {
public:
  /// Nothing has been accessed yet.
  void reset(uint32_t size) {
    lines.assign((size + History::kLine - 1) / History::kLine, {});
    history.reset();
  }

  /// Notes an access to `bytes` bytes at `address`, in one run or several, and calls
  /// report(const Conflict &) for what it conflicts with.
  template <typename Report>
  void access(std::span<const GranuleRun> runs, bool write, const Accessor &who, Report &&report) {
    if (runs.empty())
      return;
    Access a(who, epochOf(who), who.order->fenced, write, runs[0].address, conflicts);
    // Copies and products touch many lines in the same way.
    const bool many =
        a.epoch.shift == Epoch::kOneLane && (runs.size() > 1 || runs[0].bytes > 4 * History::kLine);
    if (many) {
      Access::Change changes[Access::kChanges];
      a.changes = changes;
      for (const GranuleRun &run : runs)
        access<true>(run.address, run.bytes, a);
      history.finish(a);
    } else {
      access<false>(runs[0].address, runs[0].bytes, a);
      for (const GranuleRun &run : runs.subspan(1))
        access<false>(run.address, run.bytes, a);
    }
    if (conflicts.empty()) [[likely]]
      return;
    for (const Conflict &conflict : conflicts)
      report(conflict);
    conflicts.clear();
  }
  template <typename Report>
  void access(uint32_t address, uint32_t bytes, bool write, const Accessor &who, Report &&report) {
    const GranuleRun run{address, bytes};
    access(std::span(&run, 1), write, who, report);
  }
  /// Marks bytes as written before everything (mbarrier words).
  void forget(uint32_t address, uint32_t bytes) {
    for (uint32_t end = address + bytes; address < end;) {
      const uint32_t begin = address % History::kLine,
                     stop = std::min(begin + (end - address), History::kLine);
      history.forget(lines[address / History::kLine], begin, stop);
      address += stop - begin;
    }
  }
  /// Bytes of the lines that were accessed.
  uint64_t touched() const {
    return History::kLine *
           static_cast<uint64_t>(std::count_if(lines.begin(), lines.end(),
                                               [](const auto &line) { return line.touched(); }));
  }
  Epoch lastWrite(uint32_t address) const {
    return history.lastWrite(lines[address / History::kLine], address % History::kLine);
  }
  size_t bytes() const { return lines.size() * sizeof(History::Line) + history.bytes(); }

private:
  template <bool many> void access(uint32_t address, uint32_t bytes, Access &a) {
    for (uint32_t end = address + bytes; address < end;) {
      const uint32_t begin = address % History::kLine,
                     stop = std::min(begin + (end - address), History::kLine);
      if constexpr (many)
        history.accessOneOfMany(lines[address / History::kLine], address - begin, begin, stop, a);
      else
        history.access(lines[address / History::kLine], address - begin, begin, stop, a);
      address += stop - begin;
    }
  }

  std::vector<History::Line> lines;
  History history;
  std::vector<Conflict> conflicts;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_CHECK_SHADOW_H
