//===- ProgressLine.h - A line that says how far a long emulated run has come
//--------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_LIB_RUNTIME_PROGRESSLINE_H
#define GIRIH_LIB_RUNTIME_PROGRESSLINE_H

#include "girih/Runtime/Driver.h"

#include <chrono>

namespace girih::runtime {

/// Shows, on a terminal, a line about the launches of an emulated device that takes more than two
/// seconds, and takes it away at the end. GIRIH_PROGRESS=0 turns it off, GIRIH_PROGRESS=1 shows it
/// where stderr is no terminal, too.
class ProgressLine {
public:
  /// `name`: the program, or null.
  ProgressLine(const Driver &driver, const std::string *name);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;

  /// To be called again and again.
  void update();
  /// Takes the line away, for other text.
  void clear();

private:
  using Clock = std::chrono::steady_clock;
  const Driver &driver;
  const std::string *name;
  Clock::time_point begin = Clock::now(), next;
  uint64_t instructionsBefore = 0;
  bool wanted = false, shown = false;
};

} // namespace girih::runtime

#endif // GIRIH_LIB_RUNTIME_PROGRESSLINE_H
