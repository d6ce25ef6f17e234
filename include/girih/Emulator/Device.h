// The emulated Hopper device: memory, modules and launches.
//
// A Device executes PTX text for sm_90a as the GPU would, checks it while it runs, and reports what
// it finds. It has no LLVM in it and knows nothing of girih's compiler: everything it does follows
// from the PTX and from bytes in memory. Errors of the caller are thrown as DeviceError; faults of
// the program that runs are findings. A Device may be used from several threads; launches run one
// at a time.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_DEVICE_H
#define GIRIH_EMULATOR_DEVICE_H

#include "girih/Emulator/Finding.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace girih::emu {

enum class ErrorCode {
  InvalidValue,  ///< a size, address or dimension that cannot be
  OutOfMemory,   ///< no room on the device
  NotFound,      ///< no such function or variable
  InvalidPtx,    ///< the text cannot be parsed or uses what is not modelled
  InvalidLaunch, ///< the launch asks for more than the device or the kernel allows
  TooLarge,      ///< a cooperative launch of more CTAs than can be resident
};

/// A mistake of the caller. what() is one message for people.
class DeviceError : public std::runtime_error {
public:
  DeviceError(ErrorCode code, const std::string &message)
      : std::runtime_error(message), errorCode(code) {}
  ErrorCode code() const { return errorCode; }

private:
  ErrorCode errorCode;
};

/// Turns what `.loc` says into the user's lines: (file name as in `.file`, line, column) to text
/// such as "gemm.py:41 in load\ngemm.py:12 in matmul". An empty answer means: print file and line
/// as they are.
using LocationResolver =
    std::function<std::string(std::string_view file, unsigned line, unsigned column)>;

struct ModuleOptions {
  /// For messages; e.g. a file name.
  std::string name = "<ptx>";
  LocationResolver resolveLocation;
  /// Messages that a refusal shows before it only counts; 0 for all of them.
  size_t maxMessages = 20;
};

/// One kernel parameter in the packed buffer: the layout that PTX gives `.param` variables, natural
/// alignment.
struct ParamInfo {
  std::string name;
  uint32_t offset = 0;
  uint32_t size = 0;
  uint32_t alignment = 1;
};

struct FunctionAttributes {
  std::string name;
  std::vector<ParamInfo> params;
  /// Size of the packed parameter buffer.
  uint32_t paramBytes = 0;
  /// Static shared memory, bytes.
  uint32_t sharedBytes = 0;
  /// Local memory per thread, bytes (declared in the PTX; not spills).
  uint32_t localBytes = 0;
  /// `.maxntid`/`.reqntid` product, or 1024.
  uint32_t maxThreadsPerBlock = 1024;
  /// `.reqntid`, if given: the block must be exactly this.
  std::optional<Dim3> requiredBlock;
  /// `.reqnctapercluster`, if given.
  std::optional<Dim3> requiredCluster;
  /// `.maxclusterrank`, or 0: the most CTAs that a cluster may have.
  uint32_t maxClusterSize = 0;
  /// `.explicitcluster`: a launch must say how large its clusters are.
  bool explicitCluster = false;
  /// `.blocksareclusters`: the grid of a launch counts clusters, not CTAs.
  bool blocksAreClusters = false;
  /// `.maxnreg`, or 0. PTX does not say how many registers a function takes.
  uint32_t maxRegisters = 0;
};

/// A mul and an add or sub that ptxas may make one fma of.
struct Contraction {
  unsigned mulLine = 0, addLine = 0; ///< in the PTX
  std::string mul, add;              ///< their text
};

class Module;
/// A kernel of a loaded module. Valid as long as the Module is.
class Function;

enum class Numerics {
  Exact,  ///< one fused multiply-add after the other, in k order
  Hopper, ///< aligned and truncated sums, as measured on the tensor core; docs/Numerics.md
};

/// Who gets to run first. Every adversary is legal; programs must be right under all of them.
enum class Adversary {
  None,           ///< seeded random
  AsyncLate,      ///< asynchronous operations take effect as late as allowed
  AsyncEarly,     ///< as early as allowed
  StarveOne,      ///< one warp, picked by the seed, runs only when nothing else can
  ProducersFirst, ///< low-numbered warps first
  ConsumersFirst, ///< high-numbered warps first
  TxPieces,       ///< copies arrive, and complete their bytes, in as many pieces as they have rows
  CtasReversed,   ///< the last CTA starts, runs and commits first
  LanesSingly,    ///< lanes that part at a branch run one at a time
};

/// How the memory model of PTX is read.
enum class MemoryModel {
  Practice, ///< as production kernels rely on it
  Strict,   ///< what holds in practice only is reported too, as notes
};

/// CTAs by number, x fastest: `first` up to but not including `end`.
struct CtaRange {
  /// As `first` the last CTA of the grid, as `end` one past it.
  static constexpr uint64_t last = ~uint64_t(0);
  uint64_t first = 0, end = last;
};
/// Reads "0:8,100,last" (first and end, one CTA, the last CTA). Throws InvalidValue.
std::vector<CtaRange> parseCtas(std::string_view text);

struct LaunchOptions {
  uint64_t seed = 0;
  /// Host threads. The result and the trace do not depend on it.
  unsigned threads = 1;
  Adversary adversary = Adversary::None;
  Numerics numerics = Numerics::Hopper;
  /// Off: no race, definedness or register checks (out of bounds and deadlock are always found).
  bool checks = true;
  MemoryModel model = MemoryModel::Practice;
  /// Count bank conflicts and uncoalesced accesses per instruction (LaunchResult::lines).
  bool counters = false;
  /// Fuse the products and sums that ptxas may fuse (Function::contractions); by default each
  /// rounds on its own, as the text says.
  bool contract = false;
  /// Findings described in full per kind; more are only counted.
  unsigned maxFindingsPerKind = 4;
  /// Runs only the clusters that these CTAs belong to; all of them if empty. Who waits for a CTA
  /// that is left out waits forever.
  std::vector<CtaRange> ctas;
  /// Where to write a trace for Perfetto: a file, or what receives its text. A file that an earlier
  /// launch on the device has written gets a number before its extension.
  std::string trace;
  std::function<void(std::string_view)> traceSink;
  /// Events of a trace; the rest is left out, with a note.
  uint64_t traceEvents = 200000;
  /// Polled at least every 100 ms; when it becomes true the launch stops with Outcome::Cancelled.
  const std::atomic<bool> *cancel = nullptr;
};

/// An adversary as people write it, with a line that explains it.
struct AdversaryName {
  Adversary value;
  const char *name;
  const char *summary;
};
/// All adversaries, None ("none") first.
const std::vector<AdversaryName> &adversaryNames();

/// Sets seed, adversary, numerics, model, checks or contract from text, as environment variables
/// and command lines give them. Returns an empty string, or what was expected; "expected one of the
/// options" and their names for an option that does not exist.
std::string setLaunchOption(LaunchOptions &options, std::string_view name, std::string_view value);

struct LaunchConfig {
  Dim3 grid, block;
  /// Overrides the kernel's own cluster shape when given; {1,1,1} is no cluster.
  std::optional<Dim3> cluster;
  uint32_t dynamicSharedBytes = 0;
  /// Packed parameters: FunctionAttributes::paramBytes bytes, each at its offset.
  const void *params = nullptr;
  size_t paramBytes = 0;
  /// All CTAs must be able to be resident at the same time; otherwise TooLarge is thrown.
  bool cooperative = false;
  /// May start when all CTAs of the launches before it have executed
  /// griddepcontrol.launch_dependents or exited; griddepcontrol.wait waits for their end.
  bool programmatic = false;
  LaunchOptions options;
};

/// Numbers launches in the order in which they were enqueued.
using LaunchId = uint64_t;

/// What fits on the device at once.
struct Occupancy {
  uint32_t ctasPerMultiprocessor = 0;
  uint32_t clusters = 0;
};

enum class Outcome {
  Completed, ///< every thread exited (findings may still exist)
  Faulted,   ///< stopped: illegal address, trap, ...
  Deadlock,  ///< stopped: nobody could make progress
  Cancelled, ///< stopped by LaunchOptions::cancel
};

struct LaunchStats {
  uint64_t warpInstructions = 0;
  uint64_t threadInstructions = 0;
  uint64_t rounds = 0;
  uint64_t tmaLoads = 0, tmaStores = 0, wgmmas = 0;
  /// Bytes that asynchronous copies have moved; those of a multicast count once for each target.
  uint64_t tmaBytes = 0;
  /// Host memory of the histories that race checks keep, and the device memory that they stand for
  /// (lines of 128 bytes that were accessed): of global memory, and of the one CTA whose shared
  /// memory took most.
  uint64_t shadowBytes = 0, touchedBytes = 0;
  /// Host time. No part of what a seed repeats.
  double seconds = 0;

  /// One JSON object with these fields in snake case.
  std::string json() const;
};

/// What one instruction has asked of memory, with LaunchOptions::counters.
struct LineCounters {
  uint32_t instruction = 0; ///< position in the kernel
  unsigned ptxLine = 0;
  std::string ptxText, source;
  uint64_t executions = 0; ///< by warps
  /// Passes over the banks of shared memory, and how many would do without conflicts.
  uint64_t sharedPasses = 0, sharedIdeal = 0;
  /// Sectors of 32 bytes of global memory, and how many would do for as many distinct bytes.
  uint64_t globalSectors = 0, globalIdeal = 0;
};

struct LaunchResult {
  Outcome outcome = Outcome::Completed;
  std::vector<Finding> findings;
  /// Order-sensitive hash of every executed event; equal for equal seeds whatever the number of
  /// threads.
  uint64_t traceHash = 0;
  LaunchStats stats;
  /// What printf wrote: cluster by cluster in their order, whatever the order in which they ran. At
  /// most 1 MiB; the last line says how much more there was.
  std::string printed;
  std::vector<LineCounters> lines;

  /// Ran to its end without an error; there may be notes.
  bool clean() const {
    for (const Finding &f : findings)
      if (f.severity == Severity::Error)
        return false;
    return outcome == Outcome::Completed;
  }
  /// All findings as text for people, separated by blank lines.
  std::string render() const;
  /// The counters as a table for people, instructions that waste most first; empty without them.
  std::string renderCounters() const;
};

/// Memory that the device knows about.
struct AllocationInfo {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

struct DeviceOptions {
  uint32_t multiprocessors = 132;
  uint64_t memoryBytes = uint64_t(64) << 30;
};

/// Limits of the emulated chip (H200; CUDA C++ Programming Guide 13, table "Technical
/// Specifications per Compute Capability", column 9.0).
struct DeviceLimits {
  static constexpr uint32_t maxThreadsPerBlock = 1024;
  static constexpr uint32_t maxThreadsPerSm = 2048;
  static constexpr uint32_t maxBlocksPerSm = 32;
  static constexpr uint32_t registersPerSm = 65536;
  static constexpr uint32_t sharedPerBlock = 227 * 1024;
  static constexpr uint32_t sharedPerSm = 228 * 1024;
  static constexpr uint32_t reservedShared = 1024;
  static constexpr uint32_t maxClusterSize = 16;
};

class Device {
public:
  explicit Device(const DeviceOptions &options = {});
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  const DeviceOptions &options() const;

  /// Returns the address of `bytes` (at least 1) fresh bytes, aligned to 512, contents undefined
  /// (filled with a pattern). Throws OutOfMemory.
  uint64_t allocate(uint64_t bytes);
  /// Frees what allocate returned. Throws InvalidValue for any other address.
  void free(uint64_t address);
  /// The live allocation that holds `address`.
  std::optional<AllocationInfo> findAllocation(uint64_t address) const;
  uint64_t bytesAllocated() const;

  /// Copies and fills check that the device range lies in one live allocation; otherwise
  /// InvalidValue.
  void copyToDevice(uint64_t destination, const void *source, uint64_t bytes);
  void copyFromDevice(void *destination, uint64_t source, uint64_t bytes) const;
  void copyOnDevice(uint64_t destination, uint64_t source, uint64_t bytes);
  /// Writes `count` elements of `elementBytes` (1, 2 or 4) bytes.
  void fill(uint64_t destination, uint32_t value, unsigned elementBytes, uint64_t count);

  /// Parses and decodes a module and places its `.global` and `.const` variables. Throws InvalidPtx
  /// with every problem found: "name:line: message" lines with the instruction's text.
  std::shared_ptr<Module> loadModule(std::string_view ptx, const ModuleOptions &options = {});

  /// Adds a launch to those that run when step is called. It starts when the launches `after` are
  /// over (see LaunchConfig::programmatic); if one of them did not complete, it does not run and
  /// has the same outcome. Launches that do not wait for each other run side by side as far as they
  /// fit. The module must live, and memory that a launch uses must not be freed, until all are
  /// over.
  LaunchId enqueue(const Function &function, const LaunchConfig &config,
                   std::vector<LaunchId> after = {});
  /// Runs every resident CTA for a while. False when no launch is left to run. Not together with
  /// launch in another thread.
  bool step();
  /// The result of an enqueued launch once it is over, handed out once.
  std::optional<LaunchResult> take(LaunchId id);
  /// Ends all launches that are not over, with Outcome::Cancelled.
  void cancelAll();

  /// What fits on the device; nothing for what cannot be launched.
  Occupancy occupancy(const Function &function, uint32_t threads, uint32_t dynamicSharedBytes,
                      uint32_t clusterSize = 1) const;

  /// Runs a kernel to completion. Throws InvalidLaunch for an impossible request; faults of the
  /// program are in the result.
  LaunchResult launch(const Function &function, const LaunchConfig &config);

  struct Impl;
  Impl &impl() { return *state; }

private:
  std::unique_ptr<Impl> state;
};

class Module {
public:
  virtual ~Module() = default;
  /// Names of the kernels (`.entry`), in order of appearance.
  virtual std::vector<std::string> kernels() const = 0;
  /// Throws NotFound with the names that exist.
  virtual const Function &kernel(std::string_view name) const = 0;
  /// A `.global` or `.const` variable; nullopt if there is none of that name.
  virtual std::optional<AllocationInfo> variable(std::string_view name) const = 0;
};

class Function {
public:
  virtual ~Function() = default;
  virtual const FunctionAttributes &attributes() const = 0;
  /// The products and sums without a rounding modifier that ptxas may fuse, so that a result on the
  /// chip may differ from that of the two instructions. LaunchOptions::contract fuses them.
  virtual std::vector<Contraction> contractions() const = 0;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_DEVICE_H
