// The host threads that run clusters.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_MACHINE_WORKERS_H
#define GIRIH_EMULATOR_MACHINE_WORKERS_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace girih::emu {

/// Runs a number of jobs on a fixed set of threads, the caller's included.
class Workers {
public:
  explicit Workers(unsigned count);
  ~Workers();
  unsigned count() const { return static_cast<unsigned>(threads.size()) + 1; }
  /// Calls job(0) to job(jobs - 1), in any order, and returns when all have.
  void run(size_t jobs, const std::function<void(size_t)> &job);

private:
  void work();
  void loop();

  std::vector<std::thread> threads;
  std::mutex mutex;
  std::condition_variable wake, done;
  const std::function<void(size_t)> *current = nullptr;
  size_t jobCount = 0;
  std::atomic<size_t> next{0};
  unsigned busy = 0;
  uint64_t generation = 0;
  bool quit = false;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_MACHINE_WORKERS_H
