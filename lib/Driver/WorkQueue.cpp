// The queue's thread.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "WorkQueue.h"

#include <algorithm>
#include <thread>

namespace girih::cuda {

namespace {
/// So much work is not kept waiting for somebody to ask.
constexpr size_t kMostWaiting = 4096;
} // namespace

WorkQueue::Ticket WorkQueue::push(Work work, std::vector<Ticket> after) {
  std::lock_guard lock(mutex);
  Item &item = waiting.emplace_back();
  item.ticket = ++pushed;
  item.work = std::move(work);
  item.after = std::move(after);
  if (waiting.size() >= kMostWaiting)
    letRunLocked();
  return item.ticket;
}

void WorkQueue::letRunLocked() {
  target = pushed;
  // Detached: the queue is never destroyed, and a process may end while a launch runs.
  if (!started)
    std::thread([this] { run(); }).detach();
  started = true;
  changed.notify_all();
}

bool WorkQueue::isDone(Ticket ticket) {
  std::lock_guard lock(mutex);
  if (!doneLocked(ticket))
    letRunLocked();
  return doneLocked(ticket);
}

void WorkQueue::wait(Ticket ticket) {
  std::unique_lock lock(mutex);
  if (!doneLocked(ticket))
    letRunLocked();
  changed.wait(lock, [&] { return doneLocked(ticket); });
}

WorkQueue::Ticket WorkQueue::lastPushed() const {
  std::lock_guard lock(mutex);
  return pushed;
}

void WorkQueue::run() {
  for (;;) {
    std::deque<Item> batch;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return !waiting.empty() && waiting.front().ticket <= target; });
      while (!waiting.empty() && waiting.front().ticket <= target) {
        batch.push_back(std::move(waiting.front()));
        waiting.pop_front();
      }
    }
    runBatch(std::move(batch));
  }
}

void WorkQueue::finished(Item &item) {
  item.state = Item::Done;
  item.work = Work(); // what it holds is released before anyone hears that it is done
  std::lock_guard lock(mutex);
  doneBeyond.insert(item.ticket);
  while (doneBeyond.erase(doneUpTo + 1))
    ++doneUpTo;
  changed.notify_all();
}

void WorkQueue::runBatch(std::deque<Item> batch) {
  for (;;) {
    bool moved = startReady(batch);
    auto running = std::find_if(batch.begin(), batch.end(),
                                [](const Item &item) { return item.state == Item::Running; });
    if (running != batch.end()) {
      running->work.step();
      moved |= takeResults(batch);
    } else if (!moved) {
      return; // everything is done
    }
  }
}

/// Does the host work and starts the launches whose turn has come. True if there was any.
bool WorkQueue::startReady(std::deque<Item> &batch) {
  bool any = false;
  for (Item &item : batch) {
    if (item.state != Item::Waiting)
      continue;
    bool ready = true;
    std::vector<emu::LaunchId> launches;
    for (Ticket ticket : item.after) {
      if (ticket < batch.front().ticket)
        continue; // of an earlier batch
      const Item &before = batch[ticket - batch.front().ticket];
      // A launch may be given to the device behind others that it has.
      ready &= before.state == Item::Done || (item.work.start && before.state == Item::Running);
      launches.insert(launches.end(), before.launches.begin(), before.launches.end());
    }
    if (!ready)
      continue;
    any = true;
    std::sort(launches.begin(), launches.end());
    launches.erase(std::unique(launches.begin(), launches.end()), launches.end());
    if (item.work.start) {
      item.id = item.work.start(item.ticket, launches);
      if (item.id) {
        item.launches = {*item.id};
        item.state = Item::Running;
        continue;
      }
    } else {
      item.work.run(item.ticket);
    }
    item.launches = std::move(launches);
    finished(item);
  }
  return any;
}

bool WorkQueue::takeResults(std::deque<Item> &batch) {
  bool any = false;
  for (Item &item : batch) {
    if (item.state != Item::Running)
      continue;
    std::optional<emu::LaunchResult> result = item.work.device().take(*item.id);
    if (!result)
      continue;
    any = true;
    if (!item.work.finish(std::move(*result)))
      item.work.device().cancelAll();
    finished(item);
  }
  return any;
}

} // namespace girih::cuda
