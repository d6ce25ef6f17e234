//===- Progress.h - How far the launches that run have come
//--------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For whoever waits and wants to see that something happens. Counted over all devices of the
// process; readable from any thread.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_EMULATOR_PROGRESS_H
#define GIRIH_EMULATOR_PROGRESS_H

#include <atomic>
#include <cstdint>

namespace girih::emu {

struct Progress {
  std::atomic<uint64_t> ctasDone = 0, ctas = 0; ///< of the launches that have begun and not ended
  std::atomic<uint64_t> warpInstructions = 0;   ///< since the process began

  static Progress &get();
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_PROGRESS_H
