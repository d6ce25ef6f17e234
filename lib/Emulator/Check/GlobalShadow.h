// Histories of global memory, and the log that feeds them.
//
// Clusters run their quantum side by side, so each only logs what it accesses. No order between
// clusters comes into being within a quantum; so afterwards the logs are checked one after another,
// in cluster order, against histories that are split by address: several host threads may work, and
// what is found does not depend on how many.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_CHECK_GLOBALSHADOW_H
#define GIRIH_EMULATOR_CHECK_GLOBALSHADOW_H

#include "Emulator/Check/History.h"

#include <array>
#include <functional>
#include <memory>
#include <unordered_map>

namespace girih::emu {

/// What a warp has seen at some point.
struct Snapshot {
  Order order;
  uint32_t synced = 0;
  std::shared_ptr<const LaneClocks> lanes;
};

struct AccessRecord {
  uint64_t address = 0;
  const Snapshot *snapshot = nullptr;
  Epoch epoch;
  uint32_t bytes = 0;
  bool write = false;
};

/// What a cluster has accessed since the last check.
struct AccessLog {
  std::vector<AccessRecord> records;
  /// Keeps alive what the records name.
  std::vector<std::shared_ptr<const Snapshot>> snapshots;
  uint32_t round = 0; ///< counts clears
  void clear() {
    records.clear();
    snapshots.clear();
    ++round;
  }
};

class GlobalShadow {
public:
  struct Found {
    Conflict conflict;
    Epoch epoch; ///< of the access
    bool write;
    size_t log, record;
    uint64_t count; ///< of conflicts between these two instructions
  };
  using Runner = std::function<void(size_t jobs, const std::function<void(size_t)> &)>;

  /// Device addresses start at `base`.
  explicit GlobalShadow(uint64_t base) : base(base) {}
  /// Checks the logs and clears them. The jobs that `run` is given may run at the same time. The
  /// first conflict between each two instructions is returned, in order of the logs.
  std::vector<Found> check(const std::vector<AccessLog *> &logs, size_t jobs, const Runner &run);
  /// The last write of a byte; clock 0 if it is not known.
  Epoch lastWrite(uint64_t address) const;
  /// Host memory in use, and device memory that it stands for.
  size_t bytes() const;
  uint64_t touched() const;

private:
  static constexpr uint32_t kPageShift = 12, kLines = (1u << kPageShift) / History::kLine;
  static constexpr uint32_t kShards = 16, kDirectory = 256;
  struct Page {
    std::array<History::Line, kLines> lines;
  };
  using Directory = std::array<std::unique_ptr<Page>, kDirectory>;
  /// Every kShards-th page.
  struct Shard {
    History history;
    std::vector<std::unique_ptr<Directory>> directories;
    uint64_t pages = 0;
    std::vector<Conflict> conflicts;
    std::vector<Found> found;
    std::unordered_map<uint64_t, size_t> index; ///< by pair of instructions
    Page &page(uint64_t number);
  };
  void checkRecord(const AccessRecord &record, size_t log, size_t number, size_t job, size_t jobs);

  uint64_t base;
  std::array<Shard, kShards> shards;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_CHECK_GLOBALSHADOW_H
