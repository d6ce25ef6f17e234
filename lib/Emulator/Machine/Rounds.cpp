// Who runs in a round, what happens after it, and when it is given up.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Rounds.h"

#include "Emulator/Machine/Deadlock.h"

#include "girih/Emulator/Progress.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace girih::emu {

namespace {
/// Instructions of a cluster between two commits.
constexpr uint64_t kQuantum = 20000;
/// Rounds without any change of memory, barriers or copies after which time jumps ahead, and after
/// which the grids are given up. Loops that ask a bounded number of times come to an end meanwhile.
constexpr uint32_t kIdleRounds = 100, kIdleRoundsAfterJump = 500;
} // namespace

Progress &Progress::get() {
  static Progress progress;
  return progress;
}

GridRecord *Rounds::recordOf(LaunchId id) {
  for (GridRecord &record : records)
    if (record.id == id)
      return &record;
  return nullptr;
}

namespace {
World::Range clustersOf(const GridRecord &record) {
  return {record.firstCluster, record.firstCluster + static_cast<uint32_t>(record.clusters)};
}
void append(std::vector<World::Range> &to, const std::vector<World::Range> &ranges) {
  for (const World::Range &range : ranges)
    if (std::find(to.begin(), to.end(), range) == to.end())
      to.push_back(range);
}
WorldPtr worldOf(const std::vector<World::Range> &over) {
  return over.empty() ? nullptr : std::make_shared<const World>(std::vector<World::Part>(), over);
}
} // namespace

void Rounds::add(std::unique_ptr<Grid> grid) {
  const LaunchId id = grid->id();
  // Half of the seeds let a grid start at once beside others, the rest some rounds later.
  grid->launch.ordinal = static_cast<uint32_t>(grids.size());
  Random random(grid->launch.options.seed * 0x2545f4914f6cdd1du ^ grids.size());
  grid->delay = random.below(2) ? random.below(8) : 0;
  // The host has seen the end of these.
  for (const GridRecord &record : records)
    if (record.over && !grids.contains(record.id))
      append(grid->known, {clustersOf(record)});
  grids[id] = std::move(grid);
}

bool Rounds::isDone(LaunchId id) const {
  auto found = grids.find(id);
  return found == grids.end() || found->second->state == Grid::State::Done;
}

std::optional<LaunchResult> Rounds::take(LaunchId id) {
  auto found = grids.find(id);
  if (found == grids.end() || found->second->state != Grid::State::Done)
    return std::nullopt;
  LaunchResult result = std::move(found->second->result);
  grids.erase(found);
  if (GridRecord *record = recordOf(id))
    record->kernel = nullptr; // its module may go now
  return result;
}

void Rounds::endGrid(Grid &grid) {
  const bool cancelled =
      grid.result.outcome == Outcome::Cancelled ||
      std::any_of(grid.active.begin(), grid.active.end(), [](const auto &cluster) {
        return cluster->stopped && cluster->outcome == Outcome::Cancelled;
      });
  if (cancelled)
    noteWhereStopped(grid);
  if (grid.state == Grid::State::Running) {
    const uint64_t all = grid.clustersToRun() * grid.launch.clusterSize;
    const uint64_t open = (grid.clustersLeft() + grid.active.size()) * grid.launch.clusterSize;
    Progress::get().ctas -= all;
    Progress::get().ctasDone -= all - open;
  }
  for (const std::unique_ptr<Cluster> &cluster : grid.active) {
    grid.collect(*cluster);
    chip.release(grid.needs, cluster->multiprocessors);
  }
  if (grid.launch.options.checks && shadow) {
    grid.result.stats.shadowBytes += shadow->bytes();
    grid.result.stats.touchedBytes += shadow->touched();
  }
  grid.finish();
  if (GridRecord *record = recordOf(grid.id()))
    record->over = true;
  idleRounds = 0;
  if (grid.trace)
    writeTrace(grid);
}

void Rounds::writeTrace(Grid &grid) {
  const LaunchOptions &options = grid.launch.options;
  const std::string text = grid.trace->finish();
  if (options.traceSink)
    options.traceSink(text);
  if (options.trace.empty())
    return;
  std::filesystem::path path = options.trace;
  if (const unsigned number = ++traceFiles[options.trace]; number > 1)
    path.replace_extension("." + std::to_string(number) + path.extension().string());
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw DeviceError(ErrorCode::InvalidValue, "the trace cannot be written to " + path.string());
}

void Rounds::begin(Grid &grid) {
  std::vector<World::Range> known = grid.known, awaited;
  for (LaunchId id : grid.after) {
    const GridRecord *before = recordOf(id);
    if (!before)
      continue; // over before everything that is remembered
    // A grid that started early knows what its predecessor knew at its start; the rest comes with
    // griddepcontrol.wait.
    auto found = grids.find(id);
    const bool early =
        grid.programmatic &&
        (!before->over || (found != grids.end() && found->second->allowedDependents));
    append(known, early ? before->atStart : before->atEnd);
    append(early ? awaited : known, before->atEnd);
    append(early ? awaited : known, {clustersOf(*before)});
  }
  // What all that remains has seen the end of need not be remembered.
  const bool fresh =
      std::all_of(records.begin(), records.end(),
                  [&](const GridRecord &r) {
                    return r.over &&
                           std::find(known.begin(), known.end(), clustersOf(r)) != known.end();
                  }) &&
      std::none_of(grids.begin(), grids.end(), [&](const auto &entry) {
        return entry.second.get() != &grid && entry.second->state != Grid::State::Done;
      });
  if (fresh) {
    records.clear();
    known.clear();
    awaited.clear();
    syncPoints = SyncPoints();
  }
  if (fresh || !shadow)
    shadow = std::make_unique<GlobalShadow>(kGlobalBase);
  GridRecord record;
  record.id = grid.id();
  record.grid = grid.launch.grid;
  record.cluster = grid.launch.cluster;
  record.clusters = record.grid.count() / record.cluster.count();
  record.firstCluster = records.empty() ? 0 : clustersOf(records.back()).end;
  record.name = grid.kernel().attributes.name;
  record.kernel = &grid.kernel();
  record.atStart = known;
  record.atEnd = known;
  append(record.atEnd, awaited);
  grid.launch.firstCluster = record.firstCluster;
  grid.launch.grids = &records;
  grid.launch.known = worldOf(known);
  grid.launch.awaited = worldOf(awaited);
  grid.launch.syncPoints = &syncPoints;
  grid.launch.shadow = shadow.get();
  grid.launch.predecessorsDone = predecessorsDone(grid);
  records.push_back(std::move(record));
  Progress::get().ctas += grid.clustersToRun() * grid.launch.clusterSize;
  grid.state = Grid::State::Running;
}

void Rounds::checkRaces(const std::vector<Cluster *> &active, unsigned threads) {
  std::vector<Cluster *> checked;
  std::vector<AccessLog *> logs;
  for (Cluster *cluster : active)
    if (cluster->checking()) {
      checked.push_back(cluster);
      logs.push_back(&cluster->log);
    }
  if (logs.empty())
    return;
  for (const GlobalShadow::Found &found :
       shadow->check(logs, threads, [&](size_t jobs, const std::function<void(size_t)> &job) {
         workers->run(jobs, job);
       }))
    checked[found.log]->reportGlobalConflict(found);
}

void Rounds::cancelAll() {
  for (auto &[id, grid] : grids) {
    if (grid->state == Grid::State::Done)
      continue;
    if (grid->result.outcome == Outcome::Completed)
      grid->result.outcome = Outcome::Cancelled;
    endGrid(*grid);
  }
}

bool Rounds::predecessorsDone(const Grid &grid) const {
  return std::all_of(grid.after.begin(), grid.after.end(), [&](LaunchId id) { return isDone(id); });
}

/// True if a grid is under way.
bool Rounds::startGrids() {
  bool running = false;
  for (auto &[id, grid] : grids) {
    if (grid->state == Grid::State::Waiting) {
      bool ready = true;
      for (LaunchId before : grid->after) {
        auto found = grids.find(before);
        if (found == grids.end())
          continue;
        const Grid &other = *found->second;
        if (other.state == Grid::State::Done && other.result.outcome != Outcome::Completed) {
          // What it would read was never written.
          grid->result.outcome = other.result.outcome;
          grid->finish();
          break;
        }
        ready &= grid->programmatic ? other.allowsDependents() : other.state == Grid::State::Done;
      }
      if (grid->state == Grid::State::Done || !ready)
        continue;
      // Alone there is nothing to be late for.
      if (running && grid->delay) {
        --grid->delay;
        continue;
      }
      begin(*grid);
    }
    if (grid->state == Grid::State::Running)
      running = true;
  }
  return running;
}

void Rounds::placeClusters() {
  for (auto &[id, grid] : grids) {
    if (grid->state != Grid::State::Running)
      continue;
    while (grid->clustersLeft()) {
      std::vector<uint16_t> numbers(grid->launch.clusterSize);
      // CTAs of later grids come after all of this one's.
      if (!chip.place(grid->needs, numbers))
        return;
      grid->startCluster(std::move(numbers));
    }
  }
}

bool Rounds::step() {
  if (!startGrids())
    return false;
  placeClusters();
  const bool changed = runClusters();
  settle(changed);
  return true;
}

/// Runs one quantum of every resident cluster and commits. True if anything has changed that
/// somebody may be waiting for.
bool Rounds::runClusters() {
  std::vector<Cluster *> active;
  std::vector<uint64_t> polls;
  uint64_t before = 0, after = 0, instructions = 0;
  unsigned threads = 1;
  for (auto &[id, grid] : grids) {
    if (grid->state != Grid::State::Running)
      continue;
    ++grid->result.stats.rounds;
    threads = std::max(threads, grid->launch.options.threads);
    for (const std::unique_ptr<Cluster> &cluster : grid->active) {
      active.push_back(cluster.get());
      polls.push_back(cluster->pollOps);
      before += cluster->progress;
      instructions -= cluster->stats.warpInstructions;
    }
  }
  if (!workers || workers->count() != threads)
    workers = std::make_unique<Workers>(threads);
  for (Cluster *cluster : active)
    cluster->startRound(now);
  workers->run(active.size(), [&](size_t i) { active[i]->runQuantum(kQuantum); });
  uint64_t longest = 0;
  for (const Cluster *cluster : active)
    longest = std::max(longest, cluster->timeOfRound());
  now += longest;
  bool changed = false;
  for (Cluster *cluster : active) {
    cluster->memoryChanged = false;
    cluster->commit();
    changed |= cluster->memoryChanged;
    after += cluster->progress;
    instructions += cluster->stats.warpInstructions;
  }
  Progress::get().warpInstructions += instructions;
  checkRaces(active, threads);
  // Who does not even ask is computing.
  for (size_t i = 0; i < active.size(); ++i)
    changed |= active[i]->pollOps == polls[i] && !active[i]->waitsForGrid();
  return changed || before != after;
}

/// What the round has brought to an end, and what that lets go on.
void Rounds::settle(bool changed) {
  for (auto &[id, grid] : grids) {
    if (grid->state != Grid::State::Running)
      continue;
    bool stop = false;
    for (const std::unique_ptr<Cluster> &cluster : grid->active) {
      stop |= cluster->stopped;
      if (grid->trace)
        grid->trace->take(*cluster, *cluster->trace);
    }
    if (stop) {
      endGrid(*grid);
      changed = true;
      continue;
    }
    size_t kept = 0;
    for (std::unique_ptr<Cluster> &cluster : grid->active) {
      if (!cluster->finished()) {
        grid->active[kept++] = std::move(cluster);
        continue;
      }
      grid->collect(*cluster);
      Progress::get().ctasDone += grid->launch.clusterSize;
      chip.release(grid->needs, cluster->multiprocessors);
      changed = true;
    }
    grid->active.resize(kept);
    // In stream order a grid is over only when those before it are.
    if (!kept && !grid->clustersLeft() && predecessorsDone(*grid)) {
      endGrid(*grid);
      changed = true;
    }
  }
  for (auto &[id, grid] : grids)
    if (grid->state == Grid::State::Running && !grid->launch.predecessorsDone &&
        predecessorsDone(*grid)) {
      grid->launch.predecessorsDone = true;
      changed = true;
      for (const std::unique_ptr<Cluster> &cluster : grid->active)
        cluster->wakeGrid();
    }
  if (changed) {
    idleRounds = 0;
    jumped = false;
    return;
  }
  ++idleRounds;
  if (!jumped && idleRounds > kIdleRounds) {
    jumped = true;
    idleRounds = 0;
    for (auto &[id, grid] : grids)
      for (const std::unique_ptr<Cluster> &cluster : grid->active)
        cluster->jumpAhead();
    return;
  }
  if (jumped)
    for (auto &[id, grid] : grids)
      for (const std::unique_ptr<Cluster> &cluster : grid->active)
        cluster->expireWaits();
  if (jumped && idleRounds > kIdleRoundsAfterJump)
    giveUp();
}

void Rounds::giveUp() {
  reportStandstill(grids);
  for (auto &[id, grid] : grids)
    if (grid->state == Grid::State::Running) {
      if (grid->result.outcome == Outcome::Completed)
        grid->result.outcome = Outcome::Deadlock;
      endGrid(*grid);
    }
}

} // namespace girih::emu
