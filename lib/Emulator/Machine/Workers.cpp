// The pool: threads sleep between rounds and take jobs one by one.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Workers.h"

namespace girih::emu {

Workers::Workers(unsigned count) {
  for (unsigned i = 1; i < count; ++i)
    threads.emplace_back([this] { loop(); });
}

Workers::~Workers() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    quit = true;
    ++generation;
  }
  wake.notify_all();
  for (std::thread &t : threads)
    t.join();
}

void Workers::run(size_t jobs, const std::function<void(size_t)> &job) {
  if (threads.empty() || jobs < 2) {
    for (size_t i = 0; i < jobs; ++i)
      job(i);
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    current = &job;
    jobCount = jobs;
    next = 0;
    busy = static_cast<unsigned>(threads.size());
    ++generation;
  }
  wake.notify_all();
  work();
  std::unique_lock<std::mutex> lock(mutex);
  done.wait(lock, [this] { return busy == 0; });
}

void Workers::work() {
  for (size_t i; (i = next.fetch_add(1)) < jobCount;)
    (*current)(i);
}

void Workers::loop() {
  uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex);
      wake.wait(lock, [&] { return generation != seen; });
      seen = generation;
      if (quit)
        return;
    }
    work();
    std::lock_guard<std::mutex> lock(mutex);
    if (--busy == 0)
      done.notify_one();
  }
}

} // namespace girih::emu
