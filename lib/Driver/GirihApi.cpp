// Entry points that only the emulated device has: what it found, progress, cancellation, options.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "State.h"

#include "girih/Emulator/Progress.h"

#include <algorithm>
#include <cstring>

namespace girih::cuda {

/// Copies as much as fits with a terminating zero; returns the whole length.
static size_t copyOut(const std::string &from, char *text, size_t capacity) {
  if (text && capacity > 0) {
    size_t length = std::min(from.size(), capacity - 1);
    std::memcpy(text, from.data(), length);
    text[length] = '\0';
  }
  return from.size();
}

GIRIH_EXPORT size_t girihEmulatorReports(char *text, size_t capacity) {
  State &state = State::get();
  size_t length = copyOut(state.reports(), text, capacity);
  if (length > 0 && length < capacity)
    state.clearError();
  return length;
}

GIRIH_EXPORT size_t girihEmulatorReportsJson(char *text, size_t capacity) {
  return copyOut(State::get().reportsJson(), text, capacity);
}

GIRIH_EXPORT size_t girihEmulatorStatsJson(char *text, size_t capacity) {
  return copyOut(State::get().statsJson(), text, capacity);
}

GIRIH_EXPORT void girihEmulatorProgress(uint64_t *ctasDone, uint64_t *ctas,
                                        uint64_t *warpInstructions) {
  const emu::Progress &progress = emu::Progress::get();
  *ctasDone = progress.ctasDone;
  *ctas = progress.ctas;
  *warpInstructions = progress.warpInstructions;
}

GIRIH_EXPORT void girihEmulatorResetError() { State::get().resetError(); }

GIRIH_EXPORT void girihEmulatorCancel() { State::get().cancel(); }

GIRIH_EXPORT CUresult girihEmulatorSetOption(const char *name, const char *value) {
  if (!name || !value)
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, "name or value is null");
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  if (std::strcmp(name, "sms") == 0 && state.isActive())
    GIRIH_REFUSE(CUDA_ERROR_NOT_PERMITTED,
                 "the number of multiprocessors cannot change while a context exists");
  if (std::string wrong = state.optionsLocked().set(name, value); !wrong.empty())
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, std::string(name) + " = \"" + value + "\": " + wrong);
  return CUDA_SUCCESS;
}

} // namespace girih::cuda
