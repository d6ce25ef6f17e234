// Writes a launch as a trace for Perfetto or chrome://tracing.
//
// Time is counted in instructions of a cluster; rounds begin for all clusters at the same time.
// Each CTA is a process; each warp a thread, and so is each of its parts while it is divergent;
// further threads are the copies and each warpgroup's wgmma queue. Clusters record while they run,
// and the records are made text in order of clusters between rounds, so that a trace does not
// depend on the number of host threads either.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_MACHINE_TRACE_H
#define GIRIH_EMULATOR_MACHINE_TRACE_H

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace girih::emu {

struct Kernel;
struct Fragment;
class Cluster;
enum class Wait : uint8_t;

/// Threads of a CTA's process.
struct TraceTrack {
  static constexpr uint32_t copies = 100000, wgmma = 100001;
  /// A warp, or the part of it that begins with `lane`.
  static uint32_t warp(uint32_t index) { return index * 33; }
  static uint32_t part(uint32_t index, uint32_t lane) { return index * 33 + 1 + lane; }
};

struct TraceEvent {
  enum class Kind : uint8_t { Run, Wait, Unit, FlowStart, FlowEnd } kind;
  Wait wait;
  uint32_t rank, track;
  uint32_t pc;
  uint64_t begin, end;
  uint64_t detail; ///< what is waited for, or the number of a flow
  uint64_t value;
};

/// What one cluster records in a round.
class TraceRecorder {
public:
  /// The time at which this cluster's next instruction runs; set between rounds.
  void setTime(uint64_t now, uint64_t steps) { offset = now - steps; }

  /// A fragment has run from step `begin` to `end`, and this is its state now; nullptr: it is gone.
  void ran(uint32_t rank, uint32_t warp, uint32_t id, bool whole, uint32_t lane, uint32_t pc,
           uint64_t begin, uint64_t end, const Fragment *now);
  /// Who acts: what is released from now on is released by it.
  void act(uint32_t rank, uint32_t track, uint64_t step) { actor = {rank, track, step + offset}; }
  /// A copy's piece or a wgmma.
  void unit(uint32_t rank, uint32_t track, uint32_t pc, uint64_t step);
  /// A barrier completes, or a group, or the like.
  void released(Wait wait, uint32_t rank, uint64_t object);

  std::vector<TraceEvent> events;

private:
  struct Actor {
    uint32_t rank = 0, track = 0;
    uint64_t time = 0;
  };
  struct Open {
    uint32_t track = 0, pc = 0;
    uint64_t since = 0;
    bool waits = false;
    Wait wait{};
    uint64_t object = 0, value = 0;
    uint64_t seen = 0; ///< releases before the wait began
  };
  struct Release {
    Actor by;
    uint64_t number = 0;
  };
  static uint64_t key(Wait wait, uint32_t rank, uint64_t object) {
    return uint64_t(wait) << 56 ^ uint64_t(rank) << 48 ^ object;
  }

  uint64_t offset = 0, releases = 0;
  Actor actor;
  std::unordered_map<uint64_t, Open> open; ///< by rank, warp and fragment
  std::unordered_map<uint64_t, Release> lastRelease;
};

/// The text of a launch's trace.
class TraceText {
public:
  TraceText(const Kernel &kernel, uint64_t limit) : kernel(kernel), limit(limit) {}
  /// Takes over what a cluster has recorded.
  void take(const Cluster &cluster, TraceRecorder &recorder);
  /// The whole JSON document.
  std::string finish() const;

private:
  void add(std::string event);
  void nameTracks(const Cluster &cluster, const TraceEvent &event);
  const std::string &sourceOf(uint32_t pc);

  const Kernel &kernel;
  uint64_t limit, count = 0, left = 0;
  std::string text;
  std::map<std::pair<uint64_t, uint32_t>, bool> named;
  std::map<uint32_t, std::string> sources;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_MACHINE_TRACE_H
