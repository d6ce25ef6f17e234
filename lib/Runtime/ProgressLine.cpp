//===- ProgressLine.cpp - A line that says how far a long emulated run has come
//------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "ProgressLine.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace girih::runtime {
namespace {

constexpr std::chrono::milliseconds after(2000), every(500);

bool isWanted() {
  const char *asked = std::getenv("GIRIH_PROGRESS");
  return asked && *asked ? std::strcmp(asked, "0") != 0 : isatty(STDERR_FILENO) != 0;
}

} // namespace

ProgressLine::ProgressLine(const Driver &driver, const std::string *name)
    : driver(driver), name(name), next(begin + after) {
  if (!driver.isEmulated() || !isWanted())
    return;
  if (std::optional<Driver::Progress> progress = driver.progress()) {
    wanted = true;
    instructionsBefore = progress->warpInstructions;
  }
}

void ProgressLine::update() {
  Clock::time_point now = Clock::now();
  if (!wanted || now < next)
    return;
  next = now + every;
  Driver::Progress progress = *driver.progress();
  double millions = static_cast<double>(progress.warpInstructions - instructionsBefore) / 1e6;
  double seconds = std::chrono::duration<double>(now - begin).count();
  std::fprintf(stderr,
               "\rgirih: %s: %llu of %llu CTAs done, %.1f million warp instructions, %.0f s\033[K",
               name ? name->c_str() : "running", static_cast<unsigned long long>(progress.ctasDone),
               static_cast<unsigned long long>(progress.ctas), millions, seconds);
  std::fflush(stderr);
  shown = true;
}

void ProgressLine::clear() {
  if (shown)
    std::fprintf(stderr, "\r\033[K");
  shown = false;
}

} // namespace girih::runtime
