// Runs the programs of all warps of a CTA on paper, one schedule, and keeps for every warp what it
// knows of the others' progress (vector clocks). What is not ordered by that knowledge may happen
// in either order on the device. docs/ProtocolChecker.md says why one schedule suffices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_DIALECT_WG_TRANSFORMS_CHECKBARRIERS_MACHINE_H
#define GIRIH_LIB_DIALECT_WG_TRANSFORMS_CHECKBARRIERS_MACHINE_H

#include "Program.h"

#include <limits>

namespace girih::wg::check {

/// Classes of faults, in the order of docs/ProtocolChecker.md.
enum class FaultClass {
  Deadlock,
  LostRelease,
  DoubleRelease,
  WrongParity,
  WrongBytes,
  InFlight,
  MissingFence,
  RegisterBudget,
};
/// "lost-release" and so on.
llvm::StringRef nameOf(FaultClass kind);

/// Where a warp is, or was, at an event.
struct Site {
  int32_t warp = -1;
  const Event *event = nullptr;
};

struct Fault {
  /// What was seen; the class may be another one, once its cause is known.
  enum class What {
    Stuck,        ///< nobody goes on
    Overrun,      ///< a phase may complete before a warp has seen the one before
    TooMany,      ///< more arrivals than a phase has
    Bytes,        ///< bytes that do not add up, with nobody waiting
    ReadEarly,    ///< a buffer read while a copy into it may be under way
    WriteEarly,   ///< a buffer written while it may still be read or filled
    ReadNothing,  ///< a buffer read that nothing has written
    NoFence,      ///< written through the generic proxy, read through the other, no fence between
    NeverWaited,  ///< a copy that is under way when the CTA ends
    NamedThreads, ///< participants of a named barrier disagree about its threads
    Registers,    ///< a change of registers in the wrong direction
  };
  What what;
  Site site = {}, other = {};
  int32_t barrier = -1, phase = 0;
  int32_t slot = -1;
  int64_t have = 0, want = 0;
  int64_t name = -1; ///< of a named barrier
};

/// An arrival that is not wrong by itself, but explains a fault.
struct Suspicion {
  Site site, before;
  int32_t barrier, phase;
};

/// One line of a schedule.
struct Step {
  Site site;
  const Effect *effect;
  int32_t barrier = -1, phase = 0; ///< or the named barrier
  int32_t slot = -1;
  bool blocked = false;
};

/// A warp that waits when nobody goes on.
struct Blocked {
  Site site;
  const Effect *effect;
  int32_t barrier = -1, phase = 0; ///< or the named barrier
};

/// A run is made with something mended, to see whether that is what is wrong.
struct Mending {
  enum class How {
    None,
    Flip,       ///< the wait's other parity
    FromZero,   ///< each phase in turn, from the first
    FromBefore, ///< likewise, from the one that is over at the start
    InTurn,     ///< each phase by one warpgroup, in the order in which they come
    Arrivals,   ///< as many more arrivals of each phase
  };
  How how = How::None;
  mlir::Operation *wait = nullptr;
  int32_t array = -1;
  int64_t more = 0;
};

struct RunOptions {
  Mending mending;
  /// Lets warps that are stuck at mbarriers go on, and reports nothing but who is stuck then.
  bool forgive = false;
  std::vector<Step> *trace = nullptr;
};

class Machine {
public:
  explicit Machine(Model &model);

  /// Runs every warp to its end or to the first fault.
  std::optional<Fault> run(Chooser &chooser, const RunOptions &options);

  /// After a run: who waits for what.
  const std::vector<Blocked> &blocked() const { return stuck; }
  /// After a run: arrivals that came twice.
  const std::vector<Suspicion> &suspicions() const { return twice; }
  /// After a run: a copy that came before its bytes were expected.
  const std::optional<Fault> &earlyBytes() const { return early; }
  /// Phases of a barrier that have completed.
  int32_t phasesOf(int32_t barrier) const { return barriers[barrier].completed; }
  int64_t pendingBytes(int32_t barrier) const { return barriers[barrier].bytes; }
  int64_t pendingArrivals(int32_t barrier) const {
    return barriers[barrier].count - barriers[barrier].arrived;
  }
  int64_t arrivalsOf(int32_t barrier) const { return barriers[barrier].total; }
  const Event *lastExpect(int32_t barrier) const { return barriers[barrier].expect; }
  /// Bytes that were expected at a barrier, less those that were brought, for each time that some
  /// were expected; and who expected them last.
  int64_t bytesTooMany(int32_t barrier) const {
    return barriers[barrier].tooMany / std::max<int64_t>(1, barriers[barrier].timesExpected);
  }
  const Event *expectsAt(int32_t barrier) const { return barriers[barrier].expects; }
  int32_t numBarriers() const { return static_cast<int32_t>(barriers.size()); }
  /// The program of a warp, and the warp's index in its role.
  const Program &programOf(int32_t warp) const { return *warps[warp].program; }
  int32_t indexOf(int32_t warp) const { return warps[warp].index; }
  int32_t ctaOf(int32_t warp) const { return warps[warp].cta; }
  /// After a run: whether a mended wait has waited for anything.
  bool mendedWaits() const { return mendingWaits; }
  /// After a run: whether a mended wait has let a warp pass a barrier as at the start, where it had
  /// been before.
  bool mendedSkips() const { return mendingSkips; }
  /// Whether all warps of a role have come to their end.
  bool hasEnded(unsigned role) const {
    return llvm::all_of(warps, [&](const Warp &warp) { return warp.role != role || warp.done; });
  }
  /// Why the run could not go on, if it could not.
  const std::optional<Undecided> &undecided() const { return reason; }
  /// Events of all runs so far.
  int64_t steps() const { return allSteps; }

private:
  using Time = int16_t;
  static constexpr uint8_t kElectedLane = 1, kOtherLanes = 2, kAllLanes = 3;

  struct BranchFrame {
    uint8_t outside, other;
    bool divergent;
  };
  struct LoopFrame {
    int64_t left;
    Number step;
  };
  struct Warp {
    const Program *program;
    unsigned role;
    int32_t id, cta, index, warpgroup;
    bool leadsRole, leadsWarpgroup, idle;
    // Of the present run:
    bool done, arrivedNamed;
    uint8_t mask;
    uint32_t effect;
    int32_t pc;
    int64_t threadRegisters;
    int64_t name, generation; ///< of the named barrier that it waits at
    int32_t storesCommitted, productsCommitted;
    std::vector<Number> registers;
    llvm::SmallVector<BranchFrame, 4> branches;
    llvm::SmallVector<LoopFrame, 4> loops;
    std::vector<int32_t> rounds, ordinals; ///< of the while loops; of ops with new results
  };
  struct Barrier {
    int64_t count;
    int64_t arrived, bytes;
    int32_t completed; ///< phases
    int64_t total;     ///< arrivals of all phases
    int32_t inTurn[4]; ///< waits so far of the first, second, ... warp of any warpgroup
    const Event *expect;
    const Event *expects; ///< likewise, of any phase
    int64_t tooMany;      ///< bytes expected in all phases, less those brought
    int64_t timesExpected;
    Site last[2]; ///< whose arrival completed the last phase, and the one before
  };
  /// A warp's last arrival and last wait at a barrier.
  struct Meeting {
    int32_t phase[2]; ///< of the last arrival of each lane class, plus 1
    const Event *event[2];
    Time waited;  ///< the time of a lane of the warp, at its wait for the last phase that
    int32_t lane; ///< completed; -1: none
    const Event *waits;
    int32_t passed; ///< waits of the warp so far
  };
  struct Named {
    int64_t arrived, threads, generation;
    Site first;
  };
  /// One access of a slot that later ones may conflict with.
  struct Access {
    Site site;
    const Effect *effect;
    Box box;
    Time times[2];     ///< of the lane classes, for an access through the generic proxy; -1: not
    int32_t component; ///< of an asynchronous one: what a warp must know,
    Time known;        ///< and how far
    int32_t barrier;
  };
  enum class Progress { Done, Blocked, Fault };

  Time *clockOf(int32_t lane) { return &clocks[static_cast<size_t>(lane) * stride]; }
  Time *accumOf(int32_t barrier) { return &accum[static_cast<size_t>(barrier) * stride]; }
  Time *releasedOf(int32_t barrier) { return &released[static_cast<size_t>(barrier) * stride]; }
  int32_t fenceOf(int32_t lane) const { return 2 * numWarps + lane; }
  int32_t storesOf(int32_t warp) const { return 4 * numWarps + warp; }
  int32_t productsOf(int32_t warp) const { return 5 * numWarps + warp; }
  int32_t phaseOf(int32_t barrier) const { return 6 * numWarps + barrier; }
  void join(Time *to, const Time *from) const;
  void tick(int32_t lane);

  void reset();
  Progress runWarp(Warp &warp);
  Progress runEvent(Warp &warp, const Event &event);
  Progress runEffect(Warp &warp, const Event &event, const Effect &effect);
  bool performs(const Warp &warp, Issuer issuer) const;
  int64_t threadsOf(const Warp &warp, Issuer issuer) const;
  std::optional<int32_t> barrierOf(Warp &warp, const Effect &effect);
  /// What an event does to one barrier, by number.
  using Signal = Progress (Machine::*)(Warp &, const Event &, const Effect &, int32_t);
  /// Does it to the barrier of the warp's CTA, or to that of every CTA.
  Progress onEach(Warp &warp, const Event &event, const Effect &effect, Signal signal);
  Progress arriveAt(Warp &warp, const Event &event, const Effect &effect, int32_t id);
  Progress countBytes(Warp &warp, const Event &event, const Effect &effect, int32_t id);
  Progress accessSlot(Warp &warp, const Event &event, const Effect &effect, Access next,
                      int32_t slot);
  /// The barriers, or slots, of that local number that an effect concerns: the CTA's own, or those
  /// of all.
  auto everywhere(const Warp &warp, const Effect &effect, int32_t id, int32_t count) const {
    int32_t from = effect.everyCta ? 0 : warp.cta, to = effect.everyCta ? model.ctas : from + 1;
    return llvm::map_range(llvm::seq(from, to), [=](int32_t cta) { return cta * count + id; });
  }
  std::optional<int64_t> numberOf(Warp &warp, int32_t place, const Event &event,
                                  llvm::StringRef what);
  Progress wait(Warp &warp, const Event &event, const Effect &effect);
  Progress arrive(Warp &warp, const Event &event, const Effect &effect);
  Progress expectOrComplete(Warp &warp, const Event &event, const Effect &effect);
  Progress completePhase(Warp &warp, const Event &event, int32_t barrier);
  Progress named(Warp &warp, const Event &event, const Effect &effect);
  Progress access(Warp &warp, const Event &event, const Effect &effect);
  Progress changeRegisters(Warp &warp, const Event &event, const Effect &effect);
  Progress atEnd();
  bool conflicts(const Warp &warp, const Event &event, const Access &next, const Access &before);
  Progress fail(Fault fault);
  Progress giveUp(mlir::Operation *op, std::string why);
  void note(const Warp &warp, const Event &event, const Effect &effect, int32_t barrier,
            int32_t phase, int32_t slot = -1, bool isBlocked = false);
  bool forgiveSome();
  std::vector<Blocked> findStuck(std::vector<Step> *trace);

  Model &model;
  int32_t numWarps = 0, stride = 0;
  std::vector<Warp> warps;
  std::vector<Event> budgets; ///< the change of registers at each role's start
  std::vector<Barrier> barriers;
  std::vector<Meeting> meetings;
  std::vector<Named> names;
  std::vector<Time> clocks, accum, released, namedAccum;
  std::vector<llvm::SmallVector<Access, 12>> slots;
  std::vector<char> filled;
  llvm::SmallVector<int64_t, 2> freeRegisters; ///< of each CTA

  Chooser *chooser = nullptr;
  RunOptions options;
  std::optional<Fault> fault, early;
  std::optional<Undecided> reason;
  std::vector<Blocked> stuck;
  std::vector<Suspicion> twice;
  std::vector<int32_t> forgiven; ///< warps whose next wait passes
  bool notesBlocked = false, mendingWaits = false, mendingSkips = false;
  int64_t runSteps = 0, allSteps = 0;
};

} // namespace girih::wg::check

#endif // GIRIH_LIB_DIALECT_WG_TRANSFORMS_CHECKBARRIERS_MACHINE_H
