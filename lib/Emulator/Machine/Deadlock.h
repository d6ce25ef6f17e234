// When nobody can go on: who waits on what, and who could have released it.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_MACHINE_DEADLOCK_H
#define GIRIH_EMULATOR_MACHINE_DEADLOCK_H

#include "Emulator/Machine/Grid.h"

#include <map>

namespace girih::emu {

/// What the threads of one or several clusters wait for. Bounded: warps that wait at the same place
/// for the same thing are shown once.
class Standstill {
public:
  /// What makes two waits the same.
  using Key = std::pair<uint64_t, uint64_t>;
  /// Adds a wait. True: it is new, and shown at `site`, so what explains it may follow.
  bool wait(const Key &key, Site site);
  /// One more side of the last wait; `once`: the same explanation is not given twice.
  void explain(const std::string &once, Site site);
  /// What a reader sees first.
  void summarise(const std::string &text);

  unsigned waiting = 0; ///< warps, and parts of them
  unsigned running = 0; ///< of these, those that do not wait for anything recognised
  /// With the number of warps that each stands for.
  std::vector<Site> sites() const;
  const std::string &summary() const { return text; }

private:
  struct Entry {
    Site site;
    unsigned count;
  };
  std::vector<Entry> entries;
  std::map<Key, size_t> index;
  std::map<std::string, bool> explained;
  std::string text;
};

/// Notes, in a grid that is being cancelled, where its warps are.
void noteWhereStopped(Grid &grid);

/// Reports, in each grid that is under way, a deadlock of all of them together.
void reportStandstill(const std::map<LaunchId, std::unique_ptr<Grid>> &grids);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_MACHINE_DEADLOCK_H
