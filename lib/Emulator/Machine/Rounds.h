// The rounds in which the grids of a device run.
//
// In a round every resident cluster runs for a quantum, side by side on the host's threads; then
// all commit in order of grids and clusters. CTAs take the place of those that have finished, grids
// start when those before them are over. All of it is decided here, on one thread, so that a run
// depends on the seeds alone.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_MACHINE_ROUNDS_H
#define GIRIH_EMULATOR_MACHINE_ROUNDS_H

#include "Emulator/Machine/Grid.h"
#include "Emulator/Machine/Workers.h"

#include <map>
#include <optional>

namespace girih::emu {

class Rounds {
public:
  explicit Rounds(uint32_t multiprocessors) : chip(multiprocessors) {}

  /// Grids run in order of their numbers, as far as they wait for each other or for room.
  void add(std::unique_ptr<Grid> grid);
  /// One round. False when every grid is done.
  bool step();
  /// The result of a grid that is done; it is forgotten then.
  std::optional<LaunchResult> take(LaunchId id);
  bool isDone(LaunchId id) const;
  /// Ends all grids that are not done.
  void cancelAll();

private:
  bool startGrids();
  void begin(Grid &grid);
  void checkRaces(const std::vector<Cluster *> &active, unsigned threads);
  GridRecord *recordOf(LaunchId id);
  void placeClusters();
  bool predecessorsDone(const Grid &grid) const;
  bool runClusters();
  void settle(bool changed);
  void endGrid(Grid &grid);
  void giveUp();
  void writeTrace(Grid &grid);

  std::map<LaunchId, std::unique_ptr<Grid>> grids;
  // What checks remember of global memory, while there are grids that could race.
  std::vector<GridRecord> records;
  SyncPoints syncPoints;
  std::unique_ptr<GlobalShadow> shadow;
  Multiprocessors chip;
  std::unique_ptr<Workers> workers;
  /// Rounds in a row in which nothing has changed, and whether time has jumped since.
  uint32_t idleRounds = 0;
  bool jumped = false;
  /// Of traces.
  uint64_t now = 0;
  std::map<std::string, unsigned> traceFiles; ///< how often each was written
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_MACHINE_ROUNDS_H
