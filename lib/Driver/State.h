// What the driver remembers: the device, the context and its error, handles, and what was found.
// There is one state in a process and it is never destroyed, since other threads and static
// destructors may still call.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_LIB_DRIVER_STATE_H
#define GIRIH_LIB_DRIVER_STATE_H

#include "girih/Driver/CudaDriver.h"
#include "girih/Emulator/Device.h"

#include "Log.h"
#include "Options.h"
#include "WorkQueue.h"

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace girih::cuda {

/// The primary context; there is no other.
struct CUctx_st {};

struct CUfunc_st {
  std::shared_ptr<emu::Module> module; // launches in flight keep it
  const emu::Function *function = nullptr;
  /// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES; a launch may not ask for more.
  int maxDynamicShared = 0;
  bool nonPortableCluster = false;

  const emu::FunctionAttributes &attributes() const { return function->attributes(); }
};

struct CUmod_st {
  std::shared_ptr<emu::Module> module;
  std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};

struct QueuedLaunch; // LaunchApi.cpp's

/// Launches in the order in which they were captured, or an executable graph of them.
struct CUgraph_st {
  std::vector<std::shared_ptr<const QueuedLaunch>> launches;
};

struct CUstream_st {
  unsigned flags = CU_STREAM_DEFAULT;
  std::unique_ptr<CUgraph_st> capture; ///< while launches are captured
  WorkQueue::Ticket last = 0;
  /// Events that the next work waits for.
  std::vector<WorkQueue::Ticket> waits;
  /// A launch on this stream was cancelled and nobody has been told.
  bool cancelled = false;
};

struct CUevent_st {
  unsigned flags = CU_EVENT_DEFAULT;
  WorkQueue::Ticket ticket = 0; // 0: never recorded
  std::shared_ptr<std::chrono::steady_clock::time_point> when;
};

using StreamPtr = std::shared_ptr<CUstream_st>;

class State {
public:
  static State &get();

  /// cuInit.
  CUresult initialise();
  /// CUDA_SUCCESS when cuInit has been called in this process (and not only in its parent).
  CUresult checkInitialised() const;
  /// For calls that need a current context: not initialised, no context, or the error that the
  /// context holds.
  CUresult enter() const;
  /// Why enter or checkInitialised refused.
  static std::string reasonFor(CUresult code);

  // The context of the calling thread; null is none.
  CUcontext current() const;
  bool setCurrent(CUcontext context); // false: not a live context
  bool pushCurrent(CUcontext context);
  CUcontext popCurrent();
  CUcontext retain();
  bool release();
  bool isActive() const;

  /// The device; exists while the context does.
  emu::Device &device() { return *emulator; }

  /// Null and the special names give the default stream; a handle that is no stream gives nullptr.
  StreamPtr findStream(CUstream handle);
  /// Work that waits for its turn on a stream. It does not run if the context has failed by then;
  /// what it throws becomes the context's error.
  WorkQueue::Ticket enqueue(const StreamPtr &stream, std::function<void()> work);
  /// A launch; `start` and `finish` as in WorkQueue::Work, with the same guard.
  WorkQueue::Ticket enqueueLaunch(
      const StreamPtr &stream,
      std::function<std::optional<emu::LaunchId>(WorkQueue::Ticket, std::vector<emu::LaunchId>)>
          start,
      std::function<bool(emu::LaunchResult)> finish);
  /// The tickets that a wait for this stream waits for: its last work and, of the default stream,
  /// that of every stream that did not opt out.
  std::vector<WorkQueue::Ticket> lastOf(const StreamPtr &stream);
  /// enqueue, wait, and the state of the context afterwards.
  CUresult runAndWait(const StreamPtr &stream, std::function<void()> work);
  /// What a stream's query or synchronisation returns when its work is over.
  CUresult outcomeOf(CUstream_st &stream);

  /// The allocation or module variable that holds an address.
  std::optional<emu::AllocationInfo> findMemory(uint64_t address);
  /// True if [address, address + bytes) is device memory that the caller may touch.
  bool isDeviceRange(uint64_t address, uint64_t bytes);

  /// Marks the context as failed and keeps the findings.
  void fail(CUresult code, const std::string &text, const std::string &json);
  /// Adds text to the reports without failing the context (a module that cannot be loaded).
  void addReport(const std::string &text);
  std::string reports() const;
  std::string reportsJson() const;
  /// What the last launch did; see girihEmulatorStatsJson.
  std::string statsJson() const;
  void noteStats(const emu::LaunchStats &stats);
  /// Makes the context usable and forgets the text; the JSON of the last failure stays.
  void clearError();
  void resetError();

  // Cancellation; see girihEmulatorCancel.
  void cancel();
  /// False if the launch with this ticket was cancelled before it began; otherwise it may run and
  /// must poll the flag.
  bool beginLaunch(WorkQueue::Ticket ticket);
  const std::atomic<bool> &cancelFlag() const { return cancelling; }
  void noteCancelled(CUstream_st &stream);

  Options &optionsLocked() { return launchOptions; } // hold `mutex`
  emu::LaunchOptions optionsForLaunch();

  mutable std::mutex mutex; // guards everything below, and handles' fields
  std::set<CUmodule> modules;
  std::map<CUfunction, CUfunc_st *> functions;
  std::map<CUstream, StreamPtr> streams;
  /// Streams whose handles are gone, as long as their work is not done.
  std::vector<std::weak_ptr<CUstream_st>> destroyed;
  std::set<CUevent> events;
  std::set<CUgraph> graphs;
  std::set<CUgraphExec> executables;
  std::map<uint64_t, uint64_t> allocations;
  unsigned contextFlags = 0;

  WorkQueue queue;

private:
  State();
  void destroyContext();
  WorkQueue::Ticket push(const StreamPtr &stream, WorkQueue::Work work);
  std::vector<WorkQueue::Ticket> lastOfLocked(const StreamPtr &stream) const;
  /// Runs something whose errors become the context's.
  void guard(const std::function<void()> &work);

  std::atomic<bool> initialised{false}, cancelling{false};
  std::atomic<CUresult> error{CUDA_SUCCESS};
  std::atomic<int> retained{0};
  CUctx_st primary;
  StreamPtr defaultStream;
  /// Every thread's own default stream (CU_STREAM_PER_THREAD).
  std::map<std::thread::id, StreamPtr> threadStreams;
  std::unique_ptr<emu::Device> emulator;
  Options launchOptions;
  std::string reportText, reportJson = "[]", stats = "{}";
  WorkQueue::Ticket cancelledUpTo = 0;
};

} // namespace girih::cuda

/// For entry points: leaves unless the driver is initialised, or unless a usable context is
/// current.
#define GIRIH_REQUIRE(check)                                                                       \
  do {                                                                                             \
    if (CUresult code = ::girih::cuda::State::get().check(); code != CUDA_SUCCESS)                 \
      GIRIH_REFUSE(code, ::girih::cuda::State::reasonFor(code));                                   \
  } while (false)
#define GIRIH_REQUIRE_INITIALISED() GIRIH_REQUIRE(checkInitialised)
#define GIRIH_REQUIRE_CONTEXT() GIRIH_REQUIRE(enter)

/// For entry points: an argument that must not be null; a stream's handle made a StreamPtr `name`.
#define GIRIH_REQUIRE_POINTER(pointer)                                                             \
  if (!(pointer))                                                                                  \
  GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, #pointer " is null")
#define GIRIH_FIND_STREAM(name, handle)                                                            \
  GIRIH_FIND_ANY_STREAM(name, handle);                                                             \
  if (name->capture)                                                                               \
  GIRIH_REFUSE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,                                              \
               ::girih::cuda::hex(reinterpret_cast<uintptr_t>(handle)) +                           \
                   " is capturing; only launches can be captured")
/// The same, also if the stream captures.
#define GIRIH_FIND_ANY_STREAM(name, handle)                                                        \
  StreamPtr name = ::girih::cuda::State::get().findStream(handle);                                 \
  if (!name)                                                                                       \
  GIRIH_REFUSE(CUDA_ERROR_INVALID_HANDLE,                                                          \
               ::girih::cuda::hex(reinterpret_cast<uintptr_t>(handle)) + " is no stream")

/// Definitions of exported functions; the declarations are in CudaDriver.h.
#define GIRIH_EXPORT extern "C" __attribute__((visibility("default")))

#endif // GIRIH_LIB_DRIVER_STATE_H
