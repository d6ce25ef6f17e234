//===- Device.cpp - Memory, waiting and launches on the chosen device
//----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Runtime/Device.h"

#include "ProgressLine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <pthread.h>
#include <set>
#include <thread>

namespace girih::runtime {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

namespace {

// A kernel that takes a few microseconds must not cost a sleep; one that takes seconds must not
// cost a core.
constexpr microseconds spinFor(50), longestPause(1000);
// Half a second is what a user may wait after Ctrl-C; a twentieth leaves room for the rest.
constexpr microseconds askEvery(50000);

/// Set in the children of a process that has a device.
std::atomic<bool> forked = false;

void checkForked() {
  if (forked.load(std::memory_order_relaxed))
    throw DeviceError(
        "this process was forked from one that had used the device, and no CUDA driver works in "
        "such "
        "a child: fork before the first array or launch, or start processes with spawn "
        "(multiprocessing.set_start_method(\"spawn\"))");
}

/// Whether a result says that a kernel that ran has failed.
bool isKernelFault(cuda::CUresult result) {
  switch (result) {
  case cuda::CUDA_ERROR_ILLEGAL_ADDRESS:
  case cuda::CUDA_ERROR_LAUNCH_TIMEOUT:
  case cuda::CUDA_ERROR_ASSERT:
  case cuda::CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case cuda::CUDA_ERROR_MISALIGNED_ADDRESS:
  case cuda::CUDA_ERROR_LAUNCH_FAILED:
    return true;
  default:
    return false;
  }
}

} // namespace

Device::Device(std::unique_ptr<Driver> driver) : cuda(std::move(driver)) {
  cuda->check(cuda->cuDevicePrimaryCtxRetain(&context, cuda->device()),
              "the device's context cannot be created");
  cuda->check(cuda->cuDeviceGetAttribute(
                  &multiprocessors, cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, cuda->device()),
              "the device does not say how many multiprocessors it has");
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
}

Device &Device::get() {
  static std::mutex choosing;
  static std::atomic<Device *> chosen = nullptr;
  if (Device *device = chosen.load(std::memory_order_acquire))
    return *device;
  std::lock_guard<std::mutex> lock(choosing);
  if (!chosen.load(std::memory_order_relaxed))
    chosen.store(new Device(Driver::open(DriverOptions::fromEnvironment())),
                 std::memory_order_release);
  return *chosen.load(std::memory_order_relaxed);
}

const std::string *Device::intern(const std::string &name) {
  static std::mutex mutex;
  static auto *names = new std::set<std::string>;
  std::lock_guard<std::mutex> lock(mutex);
  return &*names->insert(name).first;
}

void Device::check(cuda::CUresult result, const std::string &what) const {
  const std::string *name = launchedLast.load(std::memory_order_relaxed);
  if (cuda->isEmulated() || !isKernelFault(result) || !name)
    return cuda->check(result, what);
  throw DeviceError(
      "a kernel failed on " + cuda->deviceName() + ", where " + *name +
      " was launched last: " + cuda->describe(result) + "\n  to see why: " + *name +
      ".record(\"case.girih\") in Python before the call, then python -m girih.replay "
      "case.girih runs it on the emulated device");
}

void Device::enter() const {
  checkForked();
  cuda->check(cuda->cuCtxSetCurrent(context), "the device's context cannot be made current");
}

uint64_t Device::allocate(size_t bytes) const {
  Turn turn = takeTurn();
  enter();
  cuda::CUdeviceptr address = 0;
  // cuMemAlloc refuses 0 bytes, and an empty array still needs an address of its own.
  cuda->check(cuda->cuMemAlloc_v2(&address, std::max<size_t>(bytes, 1)),
              "no room on the device for " + std::to_string(bytes) + " bytes");
  return address;
}

void Device::free(uint64_t address) const noexcept {
  // What fails here is a consequence of an earlier error that has been reported. What a forked
  // process holds belongs to its parent.
  if (!forked.load(std::memory_order_relaxed) &&
      cuda->cuCtxSetCurrent(context) == cuda::CUDA_SUCCESS)
    cuda->cuMemFree_v2(address);
}

void Device::copyToDevice(uint64_t destination, const void *source, size_t bytes) const {
  if (bytes == 0)
    return;
  Turn turn = takeTurn();
  enter();
  check(cuda->cuMemcpyHtoD_v2(destination, source, bytes), "copying to the device failed");
}

void Device::copyToHost(void *destination, uint64_t source, size_t bytes) const {
  if (bytes == 0)
    return;
  Turn turn = takeTurn();
  enter();
  check(cuda->cuMemcpyDtoH_v2(destination, source, bytes), "copying from the device failed");
}

void Device::copyOnDevice(uint64_t destination, uint64_t source, size_t bytes) const {
  if (bytes == 0)
    return;
  Turn turn = takeTurn();
  enter();
  check(cuda->cuMemcpyDtoD_v2(destination, source, bytes), "copying on the device failed");
}

void Device::fillWithZeros(uint64_t address, size_t bytes, cuda::CUstream stream) const {
  if (bytes == 0)
    return;
  Turn turn = takeTurn();
  enter();
  check(cuda->cuMemsetD8Async(address, 0, bytes, stream), "filling with zeros failed");
}

Device::Turn Device::takeTurn(const Interrupted &interrupted) const {
  checkForked(); // a lock that another thread held at the fork stays locked
  Turn turn(launching, std::defer_lock);
  if (cuda->isEmulated())
    while (!turn.try_lock_for(askEvery))
      if (interrupted && interrupted())
        break;
  return turn;
}

Wait Device::synchronize(cuda::CUstream stream, const Interrupted &interrupted) const {
  Turn turn = takeTurn(interrupted);
  if (!isMine(turn))
    return Wait::Stopped;
  enter();
  Clock::time_point start = Clock::now(), nextQuestion = start + askEvery;
  microseconds pause(0);
  bool stopped = false;
  ProgressLine line(*cuda, launchedLast.load(std::memory_order_relaxed));
  for (;;) {
    cuda::CUresult result = cuda->cuStreamQuery(stream);
    if (result != cuda::CUDA_ERROR_NOT_READY) {
      if (stopped) {
        line.clear();
        // The outcome of what the user gave up on is no longer of interest; where it was, is.
        if (std::string where = cuda->takeReports(); !where.empty())
          std::fprintf(stderr, "girih: stopped\n%s\n", where.c_str());
        return Wait::Stopped;
      }
      cuda->throwFindings();
      check(result, "the device stopped the kernel");
      return Wait::Done;
    }
    line.update();
    Clock::time_point now = Clock::now();
    if (interrupted && !stopped && now >= nextQuestion) {
      if (interrupted()) {
        stopped = true;
        if (!cuda->cancel())
          return Wait::Stopped;
      }
      nextQuestion = now + askEvery;
    }
    if (now - start > spinFor) {
      pause = std::min(longestPause, pause + microseconds(20));
      std::this_thread::sleep_for(pause);
    }
  }
}

void Device::announce() const {
  std::call_once(announced, [this] { std::fprintf(stderr, "%s\n", cuda->announcement().c_str()); });
}

} // namespace girih::runtime
