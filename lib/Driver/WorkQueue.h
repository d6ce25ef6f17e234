// What streams were given to do, and the thread that does it.
//
// Nothing runs until somebody waits or asks: then everything that was given until that moment runs
// as one batch, launches side by side as far as streams and events allow, copies and other host
// work between the rounds of the device. So what runs beside what depends on the order of the
// program's calls alone, and not on how fast this thread is.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_LIB_DRIVER_WORKQUEUE_H
#define GIRIH_LIB_DRIVER_WORKQUEUE_H

#include "girih/Emulator/Device.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

namespace girih::cuda {

class WorkQueue {
public:
  /// Numbers pieces of work in the order in which they were given; the first is 1.
  using Ticket = uint64_t;

  /// Host work has `run`; a launch has the other four.
  struct Work {
    std::function<void(Ticket)> run;
    /// Gives the launch to the device, behind the launches named. nullopt: it does not run.
    std::function<std::optional<emu::LaunchId>(Ticket, std::vector<emu::LaunchId>)> start;
    std::function<emu::Device &()> device;
    /// Runs a round of the device.
    std::function<void()> step;
    /// Takes the result. False: everything else that runs shall end.
    std::function<bool(emu::LaunchResult)> finish;
  };

  /// Adds work that comes after the work of other tickets (0 is none).
  Ticket push(Work work, std::vector<Ticket> after);
  /// Is it done? If not, everything pushed so far shall run.
  bool isDone(Ticket ticket);
  /// Lets everything pushed so far run and waits for one of it.
  void wait(Ticket ticket);
  /// The last ticket given out; 0 at first.
  Ticket lastPushed() const;

private:
  struct Item {
    Ticket ticket = 0;
    Work work;
    std::vector<Ticket> after;
    enum { Waiting, Running, Done } state = Waiting;
    std::optional<emu::LaunchId> id;
    /// The launches that must be over before this work is.
    std::vector<emu::LaunchId> launches;
  };
  bool doneLocked(Ticket ticket) const { return ticket <= doneUpTo || doneBeyond.contains(ticket); }
  void letRunLocked();
  void run();
  void runBatch(std::deque<Item> batch);
  bool startReady(std::deque<Item> &batch);
  bool takeResults(std::deque<Item> &batch);
  void finished(Item &item);

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::deque<Item> waiting;
  Ticket pushed = 0, target = 0; ///< target: up to which everything shall run
  Ticket doneUpTo = 0;
  std::set<Ticket> doneBeyond;
  bool started = false;
};

} // namespace girih::cuda

#endif // GIRIH_LIB_DRIVER_WORKQUEUE_H
