// cp.async without .bulk: copies of 4 to 16 bytes a thread from global to shared memory, which land
// at moments that the scheduler picks between their issue and their wait (PTX ISA 9.0,
// 9.7.9.25.3). They go through the generic proxy.
//
// Groups belong to threads, but a warp mostly acts as one. So copies are numbered by the
// instruction that issued them for some lanes of a warp, and a thread's group is the number up to
// which it covers copies.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_MACHINE_COPYASYNC_H
#define GIRIH_EMULATOR_MACHINE_COPYASYNC_H

#include "Emulator/Machine/Async.h"

namespace girih::emu {

/// One cp.async of a warp: a piece for each lane that executed it.
struct CopyAsync : AsyncOp {
  uint32_t sequence = 0;
  uint32_t lanes = 0; ///< whose pieces have not landed
  uint32_t bytes = 0; ///< of a piece in shared memory
  uint32_t destination[32];
  uint64_t source[32];
  uint8_t read[32]; ///< bytes of a piece that come from global memory; the rest is zero

  bool advance(Cluster &cluster) override;
  bool writes(const Cta &target, uint32_t offset, uint32_t size) const override;

private:
  void note(Cluster &cluster, uint32_t now);
};

/// A cp.async.mbarrier.arrive of a warp: arrives for each lane once that lane's copies have landed.
struct CopyArrival : AsyncOp {
  uint32_t sequence = 0;
  uint32_t lanes = 0;
  uint32_t barrier[32];

  bool advance(Cluster &cluster) override;
};

/// The copies of a warp, as its threads count them.
struct CopyState {
  struct Record {
    uint32_t sequence;
    uint32_t lanes;       ///< that issued it
    uint32_t pending;     ///< of these, whose pieces have not landed
    uint32_t covered = 0; ///< of these, that have waited for it or have an mbarrier tell
  };
  std::vector<Record> records; ///< in order; those that are done with have gone
  uint32_t issued = 0;
  /// For each lane, the last copy of each committed group that no wait has covered.
  std::vector<uint32_t> groups[32];
  AgentId agent = 0;
  std::vector<std::unique_ptr<CopyArrival>> arrivals; ///< that wait for copies

  /// Has a lane a piece in flight among the copies up to `sequence`?
  bool inFlight(uint32_t lane, uint32_t sequence) const;
  /// The lanes of `lanes` are done with their copies up to `sequence`: what is the last copy such
  /// that it and all before it are known to have landed?
  uint32_t cover(uint32_t lanes, uint32_t sequence);
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_MACHINE_COPYASYNC_H
