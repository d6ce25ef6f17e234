// The driver's state.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "State.h"

#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <thread>
#include <utility>
#include <vector>

namespace girih::cuda {
namespace {

// As with NVIDIA's driver, a child process cannot use what its parent began: the queue's thread is
// not there.
std::atomic<bool> forked{false};

std::vector<CUcontext> &contextStack() {
  static thread_local std::vector<CUcontext> stack;
  return stack;
}

/// A process that ends during a launch must not tear down what the launch uses.
void stopAtExit() {
  if (forked)
    return;
  State &state = State::get();
  state.cancel();
  WorkQueue::Ticket last = state.queue.lastPushed();
  for (int tries = 0; tries < 200 && !state.queue.isDone(last); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

} // namespace

State::State() : defaultStream(std::make_shared<CUstream_st>()) {}

State &State::get() {
  static State *state = new State;
  return *state;
}

CUresult State::initialise() {
  std::lock_guard lock(mutex);
  if (forked)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (initialised)
    return CUDA_SUCCESS;
  if (std::string wrong = launchOptions.readEnvironment(); !wrong.empty()) {
    // Said even without GIRIH_LOG: a result code cannot carry it.
    std::fprintf(stderr, "girih: %s\n", wrong.c_str());
    return CUDA_ERROR_INVALID_VALUE;
  }
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
  std::atexit(stopAtExit);
  initialised = true;
  return CUDA_SUCCESS;
}

CUresult State::checkInitialised() const {
  return initialised && !forked ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult State::enter() const {
  if (CUresult code = checkInitialised(); code != CUDA_SUCCESS)
    return code;
  if (!current() || !isActive())
    return CUDA_ERROR_INVALID_CONTEXT;
  return error;
}

std::string State::reasonFor(CUresult code) {
  if (code == CUDA_ERROR_NOT_INITIALIZED)
    return forked ? "this process was forked from one that used the driver; use it in one of the "
                    "two only"
                  : "cuInit has not been called";
  if (code == CUDA_ERROR_INVALID_CONTEXT)
    return "no context is current in this thread (cuDevicePrimaryCtxRetain, then cuCtxSetCurrent)";
  return "an earlier launch failed; its findings are in girihEmulatorReports";
}

CUcontext State::current() const {
  return contextStack().empty() ? nullptr : contextStack().back();
}

bool State::setCurrent(CUcontext context) {
  if (context && (context != &primary || !isActive()))
    return false;
  std::vector<CUcontext> &stack = contextStack();
  if (!stack.empty())
    stack.pop_back();
  if (context)
    stack.push_back(context);
  return true;
}

bool State::pushCurrent(CUcontext context) {
  if (context != &primary || !isActive())
    return false;
  contextStack().push_back(context);
  return true;
}

CUcontext State::popCurrent() {
  CUcontext top = current();
  if (top)
    contextStack().pop_back();
  return top;
}

CUcontext State::retain() {
  std::lock_guard lock(mutex);
  if (!emulator) {
    emu::DeviceOptions options;
    options.multiprocessors = launchOptions.multiprocessors;
    emulator = std::make_unique<emu::Device>(options);
  }
  ++retained;
  return &primary;
}

bool State::release() {
  if (retained == 0)
    return false;
  if (retained == 1)
    destroyContext();
  --retained;
  return true;
}

bool State::isActive() const { return retained > 0; }

void State::destroyContext() {
  queue.wait(queue.lastPushed());
  std::lock_guard lock(mutex);
  for (CUmodule module : modules)
    delete module;
  for (CUevent event : events)
    delete event;
  modules.clear();
  functions.clear();
  events.clear();
  streams.clear();
  threadStreams.clear();
  destroyed.clear();
  allocations.clear();
  emulator.reset();
  error = CUDA_SUCCESS;
}

StreamPtr State::findStream(CUstream handle) {
  uintptr_t number = reinterpret_cast<uintptr_t>(handle);
  if (!handle || number == streamLegacy)
    return defaultStream;
  std::lock_guard lock(mutex);
  if (number == streamPerThread) {
    StreamPtr &own = threadStreams[std::this_thread::get_id()];
    if (!own)
      own = std::make_shared<CUstream_st>();
    return own;
  }
  auto found = streams.find(handle);
  return found == streams.end() ? nullptr : found->second;
}

// The default stream and those that did not opt out wait for each other (CUDA driver API, "Stream
// synchronization behavior").
std::vector<WorkQueue::Ticket> State::lastOfLocked(const StreamPtr &stream) const {
  std::vector<WorkQueue::Ticket> tickets{stream->last};
  if (stream == defaultStream) {
    for (const auto &[handle, other] : streams)
      if (!(other->flags & CU_STREAM_NON_BLOCKING))
        tickets.push_back(other->last);
    for (const auto &[thread, other] : threadStreams)
      tickets.push_back(other->last);
    for (const std::weak_ptr<CUstream_st> &weak : destroyed)
      if (StreamPtr other = weak.lock())
        tickets.push_back(other->last);
  }
  return tickets;
}

std::vector<WorkQueue::Ticket> State::lastOf(const StreamPtr &stream) {
  std::lock_guard lock(mutex);
  return lastOfLocked(stream);
}

WorkQueue::Ticket State::push(const StreamPtr &stream, WorkQueue::Work work) {
  std::lock_guard lock(mutex);
  std::vector<WorkQueue::Ticket> after = lastOfLocked(stream);
  if (stream != defaultStream && !(stream->flags & CU_STREAM_NON_BLOCKING))
    after.push_back(defaultStream->last);
  after.insert(after.end(), stream->waits.begin(), stream->waits.end());
  stream->waits.clear();
  return stream->last = queue.push(std::move(work), std::move(after));
}

void State::guard(const std::function<void()> &work) {
  try {
    work();
  } catch (const emu::DeviceError &failure) {
    fail(CUDA_ERROR_LAUNCH_FAILED, failure.what(), "[]");
  } catch (const std::bad_alloc &) {
    fail(CUDA_ERROR_OUT_OF_MEMORY, "this machine has no memory left for the emulated device", "[]");
  }
}

WorkQueue::Ticket State::enqueue(const StreamPtr &stream, std::function<void()> work) {
  WorkQueue::Work item;
  // The work keeps the stream, which may be destroyed before its turn comes.
  item.run = [this, stream, work = std::move(work)](WorkQueue::Ticket) {
    if (error == CUDA_SUCCESS)
      guard(work);
  };
  return push(stream, std::move(item));
}

WorkQueue::Ticket State::enqueueLaunch(
    const StreamPtr &stream,
    std::function<std::optional<emu::LaunchId>(WorkQueue::Ticket, std::vector<emu::LaunchId>)>
        start,
    std::function<bool(emu::LaunchResult)> finish) {
  WorkQueue::Work item;
  item.start = [this, stream, start = std::move(start)](WorkQueue::Ticket ticket,
                                                        std::vector<emu::LaunchId> after) {
    std::optional<emu::LaunchId> id;
    if (error == CUDA_SUCCESS)
      guard([&] { id = start(ticket, std::move(after)); });
    return id;
  };
  item.device = [this]() -> emu::Device & { return device(); };
  item.step = [this] { guard([this] { device().step(); }); };
  item.finish = [this, finish = std::move(finish)](emu::LaunchResult result) {
    // After the first failure the others end without a report.
    return error == CUDA_SUCCESS && finish(std::move(result));
  };
  return push(stream, std::move(item));
}

CUresult State::runAndWait(const StreamPtr &stream, std::function<void()> work) {
  queue.wait(enqueue(stream, std::move(work)));
  return error;
}

CUresult State::outcomeOf(CUstream_st &stream) {
  if (error != CUDA_SUCCESS)
    return error;
  std::lock_guard lock(mutex);
  return std::exchange(stream.cancelled, false) ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS;
}

std::optional<emu::AllocationInfo> State::findMemory(uint64_t address) {
  {
    std::lock_guard lock(mutex);
    auto next = allocations.upper_bound(address);
    if (next != allocations.begin()) {
      auto [begin, size] = *std::prev(next);
      if (address - begin < size)
        return emu::AllocationInfo{begin, size};
    }
  }
  // A variable of a module. The device answers between launches only.
  return device().findAllocation(address);
}

bool State::isDeviceRange(uint64_t address, uint64_t bytes) {
  std::optional<emu::AllocationInfo> found = findMemory(address);
  return found && bytes <= found->bytes && address - found->address <= found->bytes - bytes;
}

void State::fail(CUresult code, const std::string &text, const std::string &json) {
  std::lock_guard lock(mutex);
  reportText += (reportText.empty() ? "" : "\n\n") + text;
  reportJson = json;
  error = code;
}

void State::addReport(const std::string &text) {
  std::lock_guard lock(mutex);
  // The findings of a launch whose text has been taken do not belong to this.
  if (reportText.empty())
    reportJson = "[]";
  reportText += (reportText.empty() ? "" : "\n\n") + text;
}

std::string State::reports() const {
  std::lock_guard lock(mutex);
  return reportText;
}

std::string State::reportsJson() const {
  std::lock_guard lock(mutex);
  return reportJson;
}

std::string State::statsJson() const {
  std::lock_guard lock(mutex);
  return stats;
}

void State::noteStats(const emu::LaunchStats &last) {
  std::lock_guard lock(mutex);
  stats = last.json();
}

void State::clearError() {
  std::lock_guard lock(mutex);
  reportText.clear();
  error = CUDA_SUCCESS;
}

void State::resetError() {
  clearError();
  std::lock_guard lock(mutex);
  reportJson = "[]";
}

void State::cancel() {
  std::lock_guard lock(mutex);
  cancelledUpTo = queue.lastPushed();
  cancelling = true;
}

bool State::beginLaunch(WorkQueue::Ticket ticket) {
  std::lock_guard lock(mutex);
  if (ticket <= cancelledUpTo)
    return false;
  cancelling = false;
  return true;
}

void State::noteCancelled(CUstream_st &stream) {
  std::lock_guard lock(mutex);
  stream.cancelled = true;
}

emu::LaunchOptions State::optionsForLaunch() {
  std::lock_guard lock(mutex);
  return launchOptions.forLaunch();
}

} // namespace girih::cuda
