// The thread that runs what streams were given. One queue serves all streams, first come first
// served: the device runs one launch at a time, and any order that keeps each stream's own order is
// one that a GPU may choose. Waiting for an event of another stream is then always over by the time
// its turn comes.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_LIB_DRIVER_WORKQUEUE_H
#define GIRIH_LIB_DRIVER_WORKQUEUE_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

namespace girih::cuda {

class WorkQueue {
public:
  /// Numbers pieces of work in the order in which they run; the first is 1.
  using Ticket = uint64_t;

  /// Gives work to the thread, which starts at the first call and lives as long as the process.
  Ticket push(std::function<void(Ticket)> work);
  bool isDone(Ticket ticket) const;
  void wait(Ticket ticket) const;
  /// The last ticket given out; 0 at first.
  Ticket lastPushed() const;

private:
  void run();

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::deque<std::function<void(Ticket)>> waiting;
  Ticket pushed = 0, done = 0;
};

} // namespace girih::cuda

#endif // GIRIH_LIB_DRIVER_WORKQUEUE_H
