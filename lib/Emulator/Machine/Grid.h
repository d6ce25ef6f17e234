// One launch while it waits and runs: its clusters, and what they have found so far.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_MACHINE_GRID_H
#define GIRIH_EMULATOR_MACHINE_GRID_H

#include "Emulator/Machine/Machine.h"
#include "Emulator/Machine/Occupancy.h"

#include <chrono>
#include <map>
#include <unordered_map>

namespace girih::emu {

class Grid {
  CtaPool pool; // outlives the clusters

public:
  /// Throws InvalidLaunch for a request that no device could serve.
  Grid(const Kernel &kernel, GlobalMemory &memory, const LaunchConfig &config,
       uint32_t multiprocessors, LaunchId id);

  LaunchId id() const { return launch.gridId; }
  const Kernel &kernel() const { return *launch.kernel; }

  enum class State { Waiting, Running, Done };
  State state = State::Waiting;
  /// Launches that come before this one.
  std::vector<LaunchId> after;
  /// This one may start while those still run, once all their CTAs allow it.
  bool programmatic = false;
  /// Some CTA has executed griddepcontrol.launch_dependents.
  bool allowedDependents = false;
  /// Clusters of grids that were over when this one was enqueued.
  std::vector<World::Range> known;
  /// Rounds by which the seed delays the start beside other grids.
  uint32_t delay = 0;

  LaunchContext launch;
  CtaNeeds needs;
  std::unique_ptr<TraceText> trace; ///< null unless it is traced
  std::vector<std::unique_ptr<Cluster>> active;
  LaunchResult result;

  /// Clusters that the launch runs, and has not started yet.
  uint64_t clustersToRun() const { return total; }
  uint64_t clustersLeft() const { return total - started; }
  /// True if clusters of the grid are left out because of LaunchOptions::ctas.
  bool isSample() const { return total < launch.grid.count() / launch.clusterSize; }
  /// The n-th cluster in order of their start.
  uint64_t clusterAt(uint64_t n) const;
  /// Starts the next cluster on these multiprocessors.
  void startCluster(std::vector<uint16_t> numbers);
  /// Every CTA has executed griddepcontrol.launch_dependents or exited.
  bool allowsDependents() const;
  /// Takes over what a cluster has counted and found.
  void collect(Cluster &cluster);
  /// Nothing is left to run or to wait for.
  void finish();

private:
  struct Range {
    uint64_t first, end;
  };
  void chooseClusters();

  std::vector<Range> ranges; ///< clusters to run, ascending
  uint64_t total = 0, started = 0;
  std::chrono::steady_clock::time_point begin;
  /// What printf wrote, by cluster, and how much more there was.
  std::map<uint64_t, std::pair<std::string, uint64_t>> printed;
  std::unordered_map<std::string, size_t> findingIndex;
  std::unordered_map<std::string, unsigned> findingCount;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_MACHINE_GRID_H
