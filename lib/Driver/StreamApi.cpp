// Entry points: streams and events.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "State.h"

using namespace girih::cuda;

namespace {

/// A live event, or null.
CUevent findEvent(CUevent handle) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  return state.events.count(handle) ? handle : nullptr;
}

std::string text(const void *handle) { return hex(reinterpret_cast<uintptr_t>(handle)); }

} // namespace

#define GIRIH_REQUIRE_EVENT(event)                                                                 \
  if (!findEvent(event))                                                                           \
  GIRIH_REFUSE(CUDA_ERROR_INVALID_HANDLE, text(event) + " is no event")

namespace girih::cuda {

GIRIH_EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_POINTER(stream);
  if (flags > CU_STREAM_NON_BLOCKING)
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE,
                 "flags is " + std::to_string(flags) + ", expected 0 or 1");
  auto created = std::make_shared<CUstream_st>();
  created->flags = flags;
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  state.streams[created.get()] = created;
  *stream = created.get();
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int) {
  return cuStreamCreate(stream, flags);
}

GIRIH_EXPORT CUresult cuStreamDestroy_v2(CUstream handle) {
  GIRIH_REQUIRE_INITIALISED();
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  // Work that waits keeps the stream; it goes when that is done.
  auto found = state.streams.find(handle);
  if (found == state.streams.end())
    GIRIH_REFUSE(CUDA_ERROR_INVALID_HANDLE,
                 text(handle) + " is no stream that cuStreamCreate made");
  std::erase_if(state.destroyed, [](const auto &stream) { return stream.expired(); });
  if (!(found->second->flags & CU_STREAM_NON_BLOCKING))
    state.destroyed.push_back(found->second);
  state.streams.erase(found);
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuStreamQuery(CUstream handle) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_FIND_STREAM(stream, handle);
  State &state = State::get();
  for (WorkQueue::Ticket last : state.lastOf(stream))
    if (!state.queue.isDone(last))
      return CUDA_ERROR_NOT_READY;
  return state.outcomeOf(*stream);
}

GIRIH_EXPORT CUresult cuStreamSynchronize(CUstream handle) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_FIND_STREAM(stream, handle);
  State &state = State::get();
  for (WorkQueue::Ticket last : state.lastOf(stream))
    state.queue.wait(last);
  return state.outcomeOf(*stream);
}

GIRIH_EXPORT CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_FIND_STREAM(stream, handle);
  GIRIH_REQUIRE_EVENT(event);
  std::lock_guard lock(State::get().mutex);
  stream->waits.push_back(event->ticket);
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuEventCreate(CUevent *event, unsigned flags) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_POINTER(event);
  if (flags > (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING))
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE,
                 "flags is " + std::to_string(flags) + ", expected 0 to 3");
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  *event = new CUevent_st{flags, 0, nullptr};
  state.events.insert(*event);
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuEventRecord(CUevent event, CUstream handle) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_FIND_STREAM(stream, handle);
  GIRIH_REQUIRE_EVENT(event);
  State &state = State::get();
  auto when = std::make_shared<std::chrono::steady_clock::time_point>();
  WorkQueue::Ticket ticket =
      state.enqueue(stream, [when] { *when = std::chrono::steady_clock::now(); });
  std::lock_guard lock(state.mutex);
  event->ticket = ticket;
  event->when = when;
  return CUDA_SUCCESS;
}

static WorkQueue::Ticket ticketOf(CUevent event) {
  std::lock_guard lock(State::get().mutex);
  return event->ticket;
}

GIRIH_EXPORT CUresult cuEventQuery(CUevent event) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_EVENT(event);
  State &state = State::get();
  return state.queue.isDone(ticketOf(event)) ? state.enter() : CUDA_ERROR_NOT_READY;
}

GIRIH_EXPORT CUresult cuEventSynchronize(CUevent event) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_EVENT(event);
  State &state = State::get();
  state.queue.wait(ticketOf(event));
  return state.enter();
}

GIRIH_EXPORT CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_POINTER(milliseconds);
  GIRIH_REQUIRE_EVENT(start);
  GIRIH_REQUIRE_EVENT(end);
  if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
    GIRIH_REFUSE(CUDA_ERROR_INVALID_HANDLE, "an event was created with CU_EVENT_DISABLE_TIMING");
  if (!ticketOf(start) || !ticketOf(end))
    GIRIH_REFUSE(CUDA_ERROR_INVALID_HANDLE, "an event has not been recorded");
  State &state = State::get();
  if (!state.queue.isDone(ticketOf(start)) || !state.queue.isDone(ticketOf(end)))
    return CUDA_ERROR_NOT_READY;
  std::lock_guard lock(state.mutex);
  *milliseconds = std::chrono::duration<float, std::milli>(*end->when - *start->when).count();
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  GIRIH_REQUIRE_INITIALISED();
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  if (!state.events.erase(event))
    GIRIH_REFUSE(CUDA_ERROR_INVALID_HANDLE, text(event) + " is no event");
  delete event;
  return CUDA_SUCCESS;
}

} // namespace girih::cuda
