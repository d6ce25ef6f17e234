// The state of a running launch: clusters, CTAs, warps and what they wait for.
//
// A cluster is the unit of execution: one host thread runs it for a quantum, in which it sees
// global memory as of the quantum's start plus its own writes. Everything in it is decided by its
// own random generator, so a run depends on the seed alone. Writes to global memory, and operations
// on it that order threads, take effect when all clusters have ended their quantum, in cluster
// order.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_MACHINE_MACHINE_H
#define GIRIH_EMULATOR_MACHINE_MACHINE_H

#include "Emulator/Check/Clock.h"
#include "Emulator/Check/DefinedBits.h"
#include "Emulator/Check/Definedness.h"
#include "Emulator/Check/GlobalShadow.h"
#include "Emulator/Check/Shadow.h"
#include "Emulator/Check/SyncPoints.h"
#include "Emulator/Machine/EditedMaps.h"
#include "Emulator/Machine/GlobalMemory.h"
#include "Emulator/Machine/Trace.h"
#include "Emulator/Program/Program.h"
#include "girih/Emulator/MatrixDescriptor.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

namespace girih::emu {

class Cluster;
class Standstill;
struct WgmmaForm;
/// Ends the message of a note of the strict memory model.
constexpr const char *kByTheLetter =
    " (by the letter of the PTX memory model; kernels in practice rely on the order)";
/// "0-3,7" for a mask.
std::string laneText(uint32_t mask);
struct Cta;
struct Warp;
struct AsyncOp;
struct CopyState;
struct WgmmaOp;

constexpr uint32_t kFullMask = ~0u;
/// ptxas reserves the first KiB of shared memory (inferred from section sizes; see docs).
constexpr uint32_t kSharedStart = 0x400;
/// Addresses of other CTAs' shared memory in the shared::cluster window: (rank + 1) << 24 | offset.
constexpr uint32_t kRankShift = 24;

enum class Wait : uint8_t {
  Ready,
  Mbarrier,  ///< `object` is its address, `parity` or `phase` what is waited for
  Barrier,   ///< a named barrier, `object` its number
  Cluster,   ///< the cluster barrier
  Bulk,      ///< bulk groups
  Wgmma,     ///< wgmma groups
  Registers, ///< the register pool
  Ordered,   ///< an operation that takes effect at the commit
  WarpSync,  ///< lanes of a .sync instruction's mask that are not there yet
  Grid,      ///< the end of the grids before this one
};

/// Lanes that execute together.
struct Fragment {
  uint32_t id = 0;
  uint32_t mask = 0;
  uint32_t pc = 0;
  /// Innermost reconvergence, or -1, and its pc (or ~0: of a call, which ends at a return).
  int32_t meet = -1;
  uint32_t meetPc = ~0u;
  /// The innermost call in Warp::calls, or -1.
  int32_t call = -1;
  Wait wait = Wait::Ready;
  uint32_t object = 0;
  uint64_t value = 0;
  /// A try_wait that has used up its time returns false.
  bool timeUp = false;
  /// Number of consecutive polls that found nothing.
  uint32_t polls = 0;
  /// The last instruction that asked whether something has changed, or ~0.
  uint32_t polledPc = ~0u;
  /// How often in a row it has come back there without anything in the cluster having changed.
  uint32_t spins = 0;
  uint64_t polledProgress = 0;
  bool isFresh() const { return polls == 0 && spins == 0; }
};

/// Lanes that parted and shall meet again at `pc`: behind a branch, or behind a call.
struct Meeting {
  uint32_t pc = 0;
  uint32_t mask = 0, arrived = 0;
  int32_t parent = -1;
  bool live = false;
  /// Lanes arrive by returning, not by reaching `pc`: a recursive call passes there too.
  bool ofCall = false;
  /// The call in which they go on.
  int32_t call = -1;
};

/// A call that some lanes of a warp have not returned from.
struct Call {
  uint32_t function = 0; ///< in Kernel::functions
  uint32_t site = 0;     ///< in Kernel::calls
  uint32_t pc = 0;       ///< of the call
  uint32_t lanes = 0;    ///< 0: this entry is free
  int32_t parent = -1;
  int32_t meeting = -1;
  uint32_t stack[32] = {}; ///< each lane's stack pointer before the call
  /// The function's registers before a recursive call, and their undefined lanes.
  std::vector<uint8_t> saved;
  std::vector<uint32_t> savedUndefined;
};

struct BulkGroup {
  uint32_t readsLeft = 0, writesLeft = 0;
};
/// A bulk store as its warp remembers it, until a wait has covered it.
struct BulkRecord {
  uint32_t sequence;
  uint32_t lane;
  std::shared_ptr<BulkGroup> group;
  bool waited = false; ///< its source has been read
  bool done = false;   ///< its destination has been written
  uint32_t pc = 0;
};

/// Bulk groups of the lanes of a warp: the one that is open, and those that were committed.
struct BulkGroups {
  std::shared_ptr<BulkGroup> open[32];
  std::vector<std::shared_ptr<BulkGroup>> committed[32];
};

struct Warp {
  Cta *cta = nullptr;
  uint32_t index = 0;
  uint32_t live = 0;
  uint32_t firstThread = 0;
  std::vector<Fragment> fragments;
  std::vector<Meeting> meetings;
  struct FreeStorage {
    void operator()(void *p) const { std::free(p); }
  };
  std::unique_ptr<uint8_t, FreeStorage> storage; ///< zeroed on demand by the system
  uint8_t *registers = nullptr;
  /// Local memory, `localBytes` for each lane: frames with a place of their own, then the stack.
  std::vector<uint8_t> local;
  uint32_t localBytes = 0;
  uint32_t stack[32] = {}; ///< each lane's stack pointer, an address in local memory
  std::vector<Call> calls;
  /// With checks only.
  Definedness defined;
  DefinedBits localDefined;
  uint32_t registerCount = 0; ///< per thread, as setmaxnreg changes it
  uint32_t setmaxnregs = 0;   ///< executed so far
  uint32_t setmaxnregPc = 0;
  uint32_t clusterArrived = 0; ///< lanes that have arrived in this phase of the cluster barrier
  uint32_t clusterOwed = 0;    ///< lanes that have arrived there and have not waited since

  AgentId agent = 0, bulkAgent = 0;
  Order order;
  uint32_t clock() const { return order.seen.get(agent); }
  /// Component of the writes of its bulk stores, known to those who waited for them in full.
  AgentId bulkWrites = 0;
  /// Component that counts its initialisations of mbarriers; how many there were, and how many of
  /// them a fence.mbarrier_init has covered.
  AgentId initAgent = 0;
  uint32_t initSequence = 0, initFenced = 0;
  /// What fences of less than the device's scope have covered (Scope::Cta, Scope::Cluster).
  Clock narrowFences[2];
  /// What relaxed and volatile reads have observed, not yet acquired.
  Handover observed;
  /// The same by the letter, which only a fence completes; and what fences of its own have covered.
  WorldPtr observedStrictly;
  Clock fencedStrictly;
  /// The clock up to which all lanes know of each other's accesses, and pairs that know more.
  uint32_t synced = 0;
  std::unique_ptr<LaneClocks> lanes;
  uint32_t syncVersion = 0;
  /// A copy of the order for those who need it later, and the version that it was taken of.
  std::shared_ptr<const Snapshot> snapshot;
  uint32_t snapshotVersion = 0, snapshotRound = 0;
  bool snapshotLogged = false;

  /// Bulk groups; null while there was none, as in most kernels.
  std::unique_ptr<BulkGroups> bulk;
  std::vector<BulkRecord> bulkRecords;
  size_t bulkReadsSettled = 0; ///< records at the front whose waits for the source are known
  uint32_t bulkSequence = 0;

  /// cp.async; null while there was none.
  std::shared_ptr<CopyState> copies;

  // wgmma, as this warp has issued it.
  uint32_t wgmmaIssued = 0;
  std::vector<uint32_t> wgmmaGroups; ///< last operation of each committed group
  struct Pending {
    uint32_t sequence = 0; ///< operation that will write the register; 0 none
    uint32_t element = 0;
    int32_t set = -1;          ///< or the accumulators that it belongs to: theirs counts then
    uint32_t readSequence = 0; ///< operation that reads it as A
    uint32_t writtenEpoch = 0; ///< fence epoch of the last ordinary write
    uint32_t writtenPc = 0;
  };
  std::vector<Pending> tracked;
  /// The registers that are D of some wgmma, together: while `whole`, each of them belongs to the
  /// set, in its place, and was not written by anything else since the operation `sequence`.
  struct Accumulators {
    uint32_t sequence = 0;
    bool whole = false;
  };
  std::vector<Accumulators> accumulators;
  uint32_t pendingSequence(const Pending &p) const {
    return p.set < 0 ? p.sequence : accumulators[static_cast<size_t>(p.set)].sequence;
  }
  /// Takes a register out of its set.
  void detach(Pending &p) {
    if (p.set < 0)
      return;
    Accumulators &set = accumulators[static_cast<size_t>(p.set)];
    p.sequence = set.sequence;
    set.whole = false;
    p.set = -1;
  }
  uint32_t wgmmaWaited = 0; ///< operations up to this one have been waited for
  uint32_t fenceEpoch = 1;  ///< 1 + the number of wgmma.fence executed

  /// Back to the state of a new warp, whose registers and memory Cluster::startWarp sets anew.
  void restart() {
    Warp fresh;
    fresh.storage = std::move(storage);
    fresh.registers = registers;
    fresh.fragments.swap(fragments);
    fresh.fragments.clear();
    fresh.local.swap(local);
    fresh.localDefined.swap(localDefined);
    fresh.defined.swap(defined);
    fresh.tracked.swap(tracked);
    *this = std::move(fresh);
  }
};

struct Mbarrier {
  uint32_t address = 0;
  AgentId agent = 0;
  uint32_t phase = 0;  ///< completed phases
  uint32_t waited = 0; ///< completed phases when somebody last waited with success
  int64_t expected = 0, pending = 0;
  int64_t tx = 0;
  Order arriving, released;
  uint32_t initPc = 0;
  int16_t initWarp = -1;
  AgentId initAgent = 0;
  uint32_t initClock = 0;
  /// The same for those who know that its warp has fenced its initialisations.
  AgentId initFenceAgent = 0;
  uint32_t initSequence = 0;
  struct Arrival {
    uint32_t pc = ~0u;
    int16_t warp = -1;
    int8_t lane = -1;
    uint16_t rank = 0;
    uint32_t phase = 0;
    bool clusterScope = false; ///< says .cluster
  };
  /// What those of its own CTA have handed on, by the letter.
  Clock arrivingLocally, releasedLocally;
  Arrival last, lastExpect;
  Arrival lastCopy; ///< known to have landed by those who saw phase lastCopy.phase complete
  /// Some that have arrived before, each with its last phase: they may be who is missing.
  Arrival arrivers[6];
  void remember(const Arrival &by) {
    last = by;
    last.phase = phase;
    for (Arrival &a : arrivers)
      if (a.pc == ~0u || (a.warp == by.warp && a.rank == by.rank && a.pc == by.pc)) {
        a = last;
        return;
      }
  }
};

/// What barrier.red makes of its predicates.
enum Vote : uint8_t { kVotePopc, kVoteAnd, kVoteOr };

struct NamedBarrier {
  uint32_t expected = 0; ///< threads; 0 when idle
  uint32_t arrived = 0;
  bool wholeCta = false;
  Order order;
  uint32_t pc = 0;
  int16_t warp = -1;
  struct Waiter {
    uint32_t warp, fragment, lanes;
  };
  std::vector<Waiter> waiters;
  /// Lanes of each warp that has arrived in parts (a barrier without .aligned).
  std::vector<std::pair<uint32_t, uint32_t>> parts;
  // barrier.red: threads whose predicate is true, and all that took part.
  uint32_t isTrue = 0, votes = 0;
};

/// The wgmma queue of four warps: operations execute in order of issue.
struct WgmmaQueue {
  AgentId agent = 0;
  std::deque<std::shared_ptr<WgmmaOp>> operations;
  std::vector<std::shared_ptr<WgmmaOp>> spare; ///< executed ones, to be used again
  uint32_t executed = 0;
  /// Host addresses of D's registers, by WgmmaForm::set; filled on first use.
  std::vector<std::vector<uint32_t *>> planes;
};

struct Cta {
  Cluster *cluster = nullptr;
  uint32_t rank = 0;
  Dim3 id;
  std::vector<uint8_t> shared; ///< from address 0
  DefinedBits sharedDefined;   ///< with checks only
  std::unique_ptr<Shadow> shadow;
  std::vector<std::unique_ptr<Warp>> warps;
  std::unordered_map<uint32_t, Mbarrier> mbarriers;
  NamedBarrier barriers[16];
  /// The last access of each warp of another CTA to this one's shared memory.
  struct RemoteAccess {
    AgentId agent;
    uint32_t clock, pc, rank, warp;
    int lane;
    const char *action;
  };
  std::vector<RemoteAccess> remoteAccesses;
  uint32_t usedBarriers = 0; ///< bit per barrier that somebody has arrived at
  std::vector<WgmmaQueue> wgmmaQueues;
  int64_t registerPool = 0;
  uint32_t liveWarps = 0;
  bool dependentsLaunched = false; ///< see Cluster::launchDependents
};

/// CTAs that have finished and whose memory the next ones take over.
class CtaPool {
public:
  std::unique_ptr<Cta> take();
  void give(std::unique_ptr<Cta> cta);

private:
  std::mutex mutex;
  std::vector<std::unique_ptr<Cta>> free;
};

/// A grid as others remember it.
struct GridRecord {
  LaunchId id = 0;
  uint32_t firstCluster = 0;
  uint64_t clusters = 0;
  Dim3 grid, cluster;
  std::string name;
  const Kernel *kernel = nullptr; ///< nullptr once its result was taken
  bool over = false;
  /// Clusters known to be over when it started, and once it is over.
  std::vector<World::Range> atStart, atEnd;
};

/// Where in a grid a CTA is.
Dim3 ctaOf(const Dim3 &grid, const Dim3 &clusterShape, uint64_t cluster, uint32_t rank);
/// One side of a finding, by a thread of any grid.
Site siteIn(const Kernel &kernel, std::string action, uint32_t pc);

/// For Adversary::LanesSingly.
std::vector<bool> branchesOfSingleLanes(const Kernel &kernel);

/// What a launch shares among its clusters; constant while they run.
struct LaunchContext {
  const Kernel *kernel = nullptr;
  GlobalMemory *memory = nullptr;
  CtaPool *pool = nullptr;
  SyncPoints *syncPoints = nullptr; ///< of global memory; used at commits only
  LaunchOptions options;
  Dim3 grid, block, cluster;
  uint32_t threadsPerCta = 0, warpsPerCta = 0, clusterSize = 1;
  uint32_t staticShared = 0, dynamicShared = 0, sharedBytes = 0; ///< sharedBytes: end address
  uint32_t dynamicBase = 0;
  uint32_t launchRegisters = 0;
  uint32_t multiprocessors = 132;
  LaunchId gridId = 0;
  bool traced = false;
  uint32_t ordinal = 0; ///< among the grids that were there when it was enqueued
  /// Everything that this grid waits for in stream order is over; set between rounds.
  bool predecessorsDone = true;
  /// Clusters of grids that may run at the same time are numbered through: this one's begin here.
  uint32_t firstCluster = 0;
  /// The grids that those numbers belong to.
  const std::vector<GridRecord> *grids = nullptr;
  /// With checks: what is known to have happened before the grid started, and after its
  /// griddepcontrol.wait.
  WorldPtr known, awaited;
  /// Of global memory; looked into for reports only.
  const GlobalShadow *shadow = nullptr;
  /// Of Adversary::LanesSingly: branches after which lanes run one at a time.
  std::vector<bool> singly;
  std::vector<uint8_t> params;
  double asyncShare = 0.3; ///< how eagerly asynchronous operations proceed
};

/// What an executing instruction sees.
struct Context {
  Cluster &cluster;
  Cta &cta;
  Warp &warp;
  uint32_t fragment; ///< index in warp.fragments
  uint8_t *registers;
  const uint8_t *constants;
  uint32_t mask;
  uint32_t pc;
  bool committing = false;

  Fragment &frag() { return warp.fragments[fragment]; }
  template <typename T> const T *src(Src operand) const {
    return reinterpret_cast<const T *>(operand >= 0 ? registers + operand : constants + ~operand);
  }
  template <typename T> T *dst(int32_t operand) const {
    return reinterpret_cast<T *>(registers + operand);
  }
  uint32_t &pred(int32_t operand) const {
    return *reinterpret_cast<uint32_t *>(registers + operand);
  }
  uint32_t predSrc(Src operand) const { return *src<uint32_t>(operand); }
  /// Executing lanes in which an operand is undefined; 0 without checks.
  inline uint32_t undefinedLanes(Src operand) const;
  /// The results of an instruction that sets Define::Self: all executing lanes defined, but those
  /// of `undefined`, whose values come from `origin`.
  inline void setDefined(int32_t destination, uint32_t undefined = 0, uint32_t origin = 0) const;
};

class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u + 0x1234567) {}
  uint64_t next() {
    // splitmix64 (public domain, Vigna).
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>((next() >> 32) * bound >> 32); }
  bool chance(double p) { return (next() >> 11) * 0x1.0p-53 < p; }

private:
  uint64_t state;
};

class Cluster {
public:
  Cluster(const LaunchContext &launch, uint64_t linear);
  ~Cluster();

  /// Runs until every thread has exited, nobody can run, the budget is used up, or all wait for the
  /// commit.
  void runQuantum(uint64_t budget);
  /// Applies this quantum's writes and runs the operations that waited for it. Called in cluster
  /// order.
  void commit();
  bool finished() const {
    return stopped || (begun && liveCtas == 0 && !asyncPending() && atCommit.empty());
  }
  /// Where in the grid a CTA of this cluster is; also once it has finished.
  Dim3 ctaId(uint64_t cluster, uint32_t rank) const;

  // For the instructions.
  const LaunchContext &launch;
  const Kernel &kernel;
  std::vector<std::unique_ptr<Cta>> ctas;
  Overlay overlay;
  Random random;
  LaunchStats stats;
  uint64_t traceHash = 0;
  /// What printf wrote, and how much more there was than is kept.
  std::string printed;
  uint64_t printedOver = 0;
  std::vector<Finding> findings;
  bool stopped = false;
  Outcome outcome = Outcome::Completed;
  uint64_t progress = 0; ///< counts changes of memory, barrier and asynchronous state
  bool memoryChanged = false;
  uint64_t pollOps = 0; ///< instructions that ask whether something has changed
  /// Null unless the launch is traced.
  std::unique_ptr<TraceRecorder> trace;
  /// Time `now` begins for this cluster; and how far it has come since.
  void startRound(uint64_t now) {
    roundStart = steps;
    if (trace)
      trace->setTime(now, steps);
  }
  uint64_t timeOfRound() const { return steps - roundStart; }
  /// Where each CTA is, by rank.
  std::vector<uint16_t> multiprocessors;
  /// CTAs that have allowed dependent grids to start, or have exited.
  uint32_t dependentsLaunched = 0;
  bool executedLaunchDependents = false;
  EditedMaps maps;

  void hash(uint64_t event) {
    traceHash = (traceHash ^ event) * 0x100000001b3u + (traceHash >> 29);
  }

  // Memory. Addresses are checked; on a fault the finding is reported, the cluster stopped, and
  // false returned.
  bool checkGlobal(const Context &c, uint32_t lane, uint64_t address, uint32_t bytes,
                   const char *what);
  bool globalInBounds(uint64_t address, uint64_t bytes) {
    const AllocationInfo &a = cachedAllocations[address >> 16 & 7];
    if (address - a.address < a.bytes && address - a.address + bytes <= a.bytes) [[likely]]
      return true;
    return findGlobal(address, bytes);
  }
  void readGlobal(uint64_t address, void *data, uint32_t bytes) {
    overlay.read(*launch.memory, address, static_cast<uint8_t *>(data), bytes);
  }
  /// Have all bytes been written, as this cluster sees memory?
  bool globalDefined(uint64_t address, uint64_t bytes) {
    if (launch.memory->allDefined(address, bytes))
      return true;
    if (overlay.empty())
      return false;
    for (uint64_t done = 0; done < bytes; done += 64)
      if (globalUndefined(address + done,
                          static_cast<uint32_t>(std::min<uint64_t>(64, bytes - done))))
        return false;
    return true;
  }
  /// Bit i: byte i from `address` is undefined. At most 64 bytes.
  uint64_t globalUndefined(uint64_t address, uint32_t bytes) {
    uint64_t mask = launch.memory->undefinedMask(address, bytes);
    return mask && !overlay.empty() ? mask & ~overlay.writtenMask(address, bytes) : mask;
  }
  void writeGlobal(uint64_t address, const void *data, uint32_t bytes) {
    if (!committing) {
      overlay.write(address, static_cast<const uint8_t *>(data), bytes);
      return;
    }
    launch.memory->setDefined(address, bytes);
    uint8_t *to = launch.memory->host(address);
    memoryChanged |= std::memcmp(to, data, bytes) != 0;
    std::memcpy(to, data, bytes);
  }
  /// The CTA and offset that a shared::cluster address means; nullptr (reported) if there is none.
  Cta *sharedTarget(const Context &c, uint32_t lane, uint64_t address, uint32_t bytes,
                    uint32_t &offset, const char *what) {
    if (address >= kSharedStart && address + bytes <= c.cta.shared.size()) [[likely]] {
      offset = static_cast<uint32_t>(address);
      return &c.cta;
    }
    return findShared(c, lane, address, bytes, offset, what);
  }
  /// A weak access to one run of shared memory, by lanes from `lane` on that access `laneBytes`
  /// each (32: all access
  /// all bytes; laneBytes 0: the warp as a whole).
  void sharedRead(const Context &c, Cta &target, uint32_t lane, uint32_t offset, uint32_t bytes,
                  uint32_t laneBytes = 0);
  /// `unchanged`: of the bytes that were there.
  void sharedWrite(const Context &c, Cta &target, uint32_t lane, uint32_t offset, uint32_t bytes,
                   uint32_t laneBytes = 0, bool unchanged = false);
  /// A strong access to shared memory by one lane, with AccessFlags.
  void sharedStrong(const Context &c, Cta &target, uint32_t lane, uint32_t offset, uint32_t bytes,
                    uint16_t flags);
  /// An ordinary read of shared memory that nobody has written: a copy in flight may be about to.
  void readUndefinedShared(const Context &c, Cta &target, uint32_t lane, uint32_t offset,
                           uint32_t bytes);
  /// For asynchronous agents.
  void asyncRead(Cta &target, uint32_t offset, uint32_t bytes, const Accessor &who);
  void asyncWrite(Cta &target, uint32_t offset, uint32_t bytes, const Accessor &who);
  void asyncRead(Cta &target, std::span<const GranuleRun> runs, const Accessor &who);
  /// An access to one run of global memory, by lanes from `lane` on that access `laneBytes` each
  /// (bytes == laneBytes: one lane; lane 32: several lanes access the same bytes). Strong accesses
  /// one lane at a time, at the commit; they take effect on the order of threads too.
  void noteGlobal(const Context &c, uint32_t lane, uint64_t address, uint32_t bytes,
                  uint32_t laneBytes, uint16_t flags);
  void noteGlobalAsync(const Accessor &who, const std::shared_ptr<const Snapshot> &snapshot,
                       uint64_t address, uint32_t bytes, bool write);
  AccessLog log;
  /// An access to shared memory of another CTA, or an arrival there.
  void noteRemote(Cta &target, const Warp &warp, uint32_t pc, int lane, const char *action);
  /// Counts what an instruction's lanes ask of the banks and of global memory.
  bool counting() const { return launch.options.counters; }
  void countAccess(const Context &c, uint32_t lanes, AddressSpace space, const uint64_t *address,
                   uint32_t bytes);
  void collectCounters(std::vector<LineCounters> &lines) const;

  // Order.
  void tick(Warp &warp) {
    const uint32_t next = warp.clock() + 1;
    warp.order.seen.raise(warp.agent, next);
    if (strict())
      warp.order.strict.raise(warp.agent, next);
  }
  bool strict() const { return launch.options.model == MemoryModel::Strict && checking(); }
  AgentId newAgent() { return agents++; }

  /// The warp has waited for what others did before.
  void acquire(Warp &warp, const Order &order);
  /// A wait for an mbarrier, which acquires at the scope of the CTA unless it says .cluster.
  void acquire(Warp &warp, const Mbarrier &barrier, bool clusterScope);
  void acquire(Warp &warp, const Handover &observed);
  /// A fence or barrier completes the relaxed reads before it.
  void acquireObserved(Warp &warp);
  void fence(Warp &warp, Scope scope);
  /// These lanes know of each other's accesses from now on.
  void warpSync(Warp &warp, uint32_t lanes);
  const std::shared_ptr<const Snapshot> &snapshotOf(Warp &warp);
  Accessor accessorOf(const Context &c, uint32_t lane, uint32_t laneBytes = 0,
                      uint16_t flags = 0) const;

  // Barriers.
  void mbarrierInit(const Context &c, uint32_t lane, Cta &target, uint32_t offset, uint32_t count);
  /// The barrier at an address; nullptr (reported) if there is none.
  Mbarrier *mbarrier(const Context &c, uint32_t lane, Cta &target, uint32_t offset,
                     const char *what);
  void mbarrierArrive(Cta &target, Mbarrier &barrier, int64_t count, const Mbarrier::Arrival &by,
                      const Order *order);
  /// Takes `count` arrivals from all later phases.
  void mbarrierDrop(Cta &target, Mbarrier &barrier, int64_t count, const Mbarrier::Arrival &by);
  void mbarrierExpect(Cta &target, Mbarrier &barrier, int64_t bytes, const Mbarrier::Arrival &by);
  void mbarrierComplete(Cta &target, Mbarrier &barrier, int64_t bytes, const Site &by);
  void mbarrierStore(Cta &target, const Mbarrier &barrier);
  /// `votes`: for barrier.red, the lanes whose predicate is true; otherwise null.
  Step namedBarrier(Context &c, uint32_t id, uint32_t threads, bool wait, bool aligned,
                    const uint32_t *votes = nullptr);
  Step setmaxnreg(Context &c, uint32_t count, bool increase);
  Step clusterArrive(Context &c, bool release);
  Step clusterWait(Context &c);

  // Dependent grids (9.7.13.13).
  void launchDependents(Cta &cta) {
    executedLaunchDependents = true;
    letDependents(cta);
  }
  void letDependents(Cta &cta);
  Step waitForGrids(Context &c);
  /// Does a thread wait for the end of other grids?
  bool waitsForGrid() const;
  void wakeGrid();
  /// Time passes without anything happening: clocks leap, and suspended waits give up.
  void jumpAhead();
  /// Suspended waits return without success. True if there is one.
  bool expireWaits();
  /// The number of this cluster among those of all grids.
  uint32_t worldId() const { return launch.firstCluster + static_cast<uint32_t>(linear); }

  // Asynchronous operations.
  void issueWgmma(Context &c, const WgmmaForm &form);
  Step waitWgmma(Context &c, uint32_t keep);
  void addAsync(std::unique_ptr<AsyncOp> op);
  /// In how many pieces a copy arrives, at most.
  uint32_t copyPieces() {
    return launch.options.adversary == Adversary::TxPieces ? 256 : 1 + random.below(4);
  }
  void wakeBulk(Warp &warp);
  /// Pieces of a cp.async have landed.
  void copyLanded(Warp &warp, uint32_t sequence, uint32_t lanes);
  void wakeWgmma(Cta &cta, uint32_t group);
  void settleBulk(Warp &warp);
  void drainWgmma(Cta &cta, uint32_t group, uint32_t sequence);
  void wakeRegisters(Cta &cta);

  // Lanes.
  /// True when all live lanes of `members` are here; otherwise the fragment waits for them.
  /// `join`: lanes that came on other ways may execute it with these, which adds them to `c.mask`.
  bool gatherLanes(Context &c, uint32_t members, bool join = true);
  void diverge(Context &c, uint32_t taken, uint32_t target);
  void exitLanes(Context &c, uint32_t lanes);

  // Findings.
  Site site(std::string action, uint32_t pc, uint32_t rank, int warp, int lane) const;
  Site here(const Context &c, std::string action, int lane = -1) const {
    return site(std::move(action), c.pc, c.cta.rank, static_cast<int>(c.warp.index), lane);
  }
  // Calls.
  /// The lanes of `c.mask` call functions of the kernel: lane i Kernel::functions[function[i]].
  /// Returns Step::Jumped, or Step::Block after a fault.
  Step enterCall(Context &c, uint32_t site, const uint32_t *function);
  Step leaveCall(Context &c);
  /// Takes memory from a lane's stack; false (reported) if there is none left.
  bool pushStack(Context &c, uint32_t lane, uint64_t bytes, uint32_t alignment, uint32_t &address);
  /// Address of a function's frame in a lane's local memory.
  uint32_t frameOf(const Warp &warp, const KernelFunction &function, uint32_t lane) const {
    if (function.frameRegister == kNone)
      return function.frameBase;
    uint64_t base;
    std::memcpy(&base, warp.registers + function.frameRegister + lane * 8, 8);
    return static_cast<uint32_t>(base);
  }
  // The heap of device code; at the commit only.
  uint64_t heapAllocate(uint64_t bytes) { return launch.memory->heapAllocate(bytes); }
  bool heapFree(Context &c, uint32_t lane, uint64_t address);
  /// Whoever reads the clock may be waiting for it to advance.
  uint64_t readClock() {
    ++pollOps;
    return stats.warpInstructions + ++clockReads + timeJumped;
  }

  /// Adds a finding, or counts it if the same kind was reported at the same places.
  void report(const char *kind, std::string message, std::vector<Site> sites, std::string hint = {},
              uint64_t count = 1, Severity severity = Severity::Error);
  void fault(const char *kind, std::string message, std::vector<Site> sites, std::string hint = {});
  void reportConflict(Cta &target, const Conflict &conflict, const Accessor &who, bool isWrite);
  void reportGlobalConflict(const GlobalShadow::Found &found);

  /// Undefined operands of the instruction at hand: reports those that matter, and passes the rest
  /// on to the results. Called before it executes.
  void passUndefined(Context &c, const Instr &in, uint32_t lanes);
  void reportUndefined(const Context &c, std::string what, uint32_t lane, uint32_t origin);

  /// Faults of barriers that show in who waits for them.
  void reportWaitFaults();
  /// Says who waits where, and for what.
  void describeWaits(Standstill &out);
  /// Who has accessed global memory, in this grid or another.
  Site epochSite(const Epoch &epoch, std::string action, int lane) const;

  bool checking() const { return launch.options.checks; }
  uint64_t linearId() const { return linear; }

private:
  bool findGlobal(uint64_t address, uint64_t bytes);
  Cta *findShared(const Context &c, uint32_t lane, uint64_t address, uint32_t bytes,
                  uint32_t &offset, const char *what);
  void orderStrong(const Context &c, SyncPoints &points, uint64_t location, uint16_t flags);
  Accessor sharedAccessor(const Context &c, uint32_t lane, uint32_t bytes,
                          uint32_t laneBytes) const;
  void checkExit(Cta &cta);
  void syncLanes(Warp &warp, uint32_t clock);
  bool asyncPending() const;
  /// Is there something that only the commit can do?
  bool waitsForCommit() const { return !ordered.empty() || !atCommit.empty(); }
  Warp *pickWarp(bool &polling);
  Fragment *findFragment(Warp &warp, uint32_t id);
  void removeFragment(Warp &warp, uint32_t index);
  bool allBlocked(const Warp &warp) const;
  void begin();
  void retire();
  void startCta(Cta &cta, uint32_t rank);
  void startWarp(Cta &cta, Warp &warp, uint32_t index);
  void runSteps(uint64_t budget);
  bool runWarp(Warp &warp, uint32_t burst);
  /// The fragment of a warp that runs next; ~0 if none can.
  uint32_t chooseFragment(const Warp &warp);
  /// Does a thread ask for what other clusters, or time, may bring?
  bool anySpins() const;
  void splitLanes(Warp &warp, uint32_t fragment);
  void arriveAtMeeting(Warp &warp, uint32_t fragmentIndex);
  bool joinLanes(Context &c, uint32_t members, uint32_t fragment);
  int32_t newMeeting(Warp &warp, const Meeting &meeting);
  /// A fragment of the lanes that go on from a meeting.
  Fragment goOn(const Warp &warp, const Meeting &meeting, uint32_t lanes);
  /// The pc at which the lanes of a fragment stop for a meeting.
  static uint32_t meetPcOf(const Warp &warp, int32_t meeting) {
    if (meeting < 0 || warp.meetings[static_cast<size_t>(meeting)].ofCall)
      return ~0u;
    return warp.meetings[static_cast<size_t>(meeting)].pc;
  }
  void completeMeetings(Warp &warp);
  bool releaseMeetings();
  /// Checks and moves around registers of wgmma operations in flight. True: a rename, nothing left
  /// to execute.
  bool checkTracked(Context &c, const Instr &instr);
  void checkAligned(Context &c);
  void fillSpecials(Cta &cta, Warp &warp);
  std::string waitText(const Cta &cta, const Warp &warp, const Fragment &fragment) const;
  /// What an instruction that asks again and again asks for; empty if that is not known.
  std::string pollText(Cta &cta, Warp &warp, const Fragment &fragment, Site &writer);
  void explainWait(Standstill &out, Cta &cta, Warp &warp, const Fragment &fragment);
  bool advanceAsync();
  bool runWgmma(Cta &cta, uint32_t group);
  bool unstick();
  void reportDeadlock();
  void barrierComplete(Cta &cta, uint32_t id);
  /// Lanes that have exited are waited for no longer.
  void barrierLanesExited(Warp &warp);
  void mbarrierMaybeComplete(Cta &target, Mbarrier &barrier);
  void warpExited(Warp &warp);
  void ctaFinished(Cta &cta);
  void checkLeftArrivals(const Cta &cta);
  void checkSetmaxnreg(const Cta &cta);
  std::string describeMbarrier(const Cta &cta, const Mbarrier &barrier) const;

  uint64_t linear;
  bool begun = false;
  uint32_t liveCtas = 0;
  AgentId agents = 0;
  uint32_t exitPc = 0; ///< of the last lanes that exited
  struct AccessCount {
    uint64_t executions = 0, sharedPasses = 0, sharedIdeal = 0, globalSectors = 0, globalIdeal = 0;
  };
  std::vector<AccessCount> counters; ///< by instruction
  uint32_t nextFragment = 1;
  uint64_t clockReads = 0;
  std::vector<std::unique_ptr<AsyncOp>> async;
  std::vector<std::unique_ptr<AsyncOp>> atCommit; ///< asynchronous operations that end there
  struct OrderedOp {
    uint32_t rank, warp, fragment;
  };
  std::vector<OrderedOp> ordered;
  std::unordered_map<std::string, size_t> findingIndex;
  std::unordered_map<std::string, unsigned> findingCount;
  std::unordered_map<uint64_t, size_t> conflictIndex;
  bool committing = false;
  uint64_t idlePolls = 0, idleProgress = 0;
  uint64_t timeJumped = 0;
  uint64_t roundStart = 0;
  uint64_t steps = 0, budgetEnd = 0;
  uint64_t stuckProgress = ~uint64_t(0);
  uint32_t expiries = 0; ///< of waits, since then
  /// Allocations that were touched last: a kernel alternates between a few.
  AllocationInfo cachedAllocations[8];
  uint64_t seenHeapChanges = 0;
  void forgetAllocations() {
    std::fill(std::begin(cachedAllocations), std::end(cachedAllocations), AllocationInfo());
    seenHeapChanges = launch.memory->heapChanges;
  }
  // Cluster barrier.
  void clusterMaybeComplete();
  Order clusterOrder, clusterReleased;
  SyncPoints sharedPoints;
  /// What comes before an arrival at the cluster barrier, released or not, is over when those exit
  /// who have waited: enough to keep shared memory alive.
  Clock exitArriving, exitKnown;
  uint32_t starved = 0;
};

inline uint32_t Context::undefinedLanes(Src operand) const {
  return cluster.checking() && operand >= 0 ? warp.defined.lanes(slotOf(operand)) & mask : 0;
}
inline void Context::setDefined(int32_t destination, uint32_t undefined, uint32_t origin) const {
  if (!cluster.checking() || destination < 0)
    return;
  warp.defined.setDefined(slotOf(destination), mask);
  warp.defined.setUndefined(slotOf(destination), undefined & mask, origin);
}

} // namespace girih::emu

#endif // GIRIH_EMULATOR_MACHINE_MACHINE_H
