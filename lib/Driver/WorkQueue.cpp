// The queue's thread.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "WorkQueue.h"

#include <thread>

namespace girih::cuda {

WorkQueue::Ticket WorkQueue::push(std::function<void(Ticket)> work) {
  std::lock_guard lock(mutex);
  // Detached: the queue is never destroyed, and a process may end while a launch runs.
  if (pushed == 0)
    std::thread([this] { run(); }).detach();
  waiting.push_back(std::move(work));
  changed.notify_all();
  return ++pushed;
}

bool WorkQueue::isDone(Ticket ticket) const {
  std::lock_guard lock(mutex);
  return done >= ticket;
}

void WorkQueue::wait(Ticket ticket) const {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done >= ticket; });
}

WorkQueue::Ticket WorkQueue::lastPushed() const {
  std::lock_guard lock(mutex);
  return pushed;
}

void WorkQueue::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return !waiting.empty(); });
    std::function<void(Ticket)> work = std::move(waiting.front());
    waiting.pop_front();
    Ticket ticket = done + 1;
    lock.unlock();
    work(ticket);
    work = nullptr; // what it holds is released before anyone hears that it is done
    lock.lock();
    done = ticket;
    changed.notify_all();
  }
}

} // namespace girih::cuda
