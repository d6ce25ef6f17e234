// Which runs are made: all combinations of small loop counts and branches that tell programs apart;
// and, after a fault, further ones that tell its cause.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_DIALECT_WG_TRANSFORMS_CHECKBARRIERS_EXPLORE_H
#define GIRIH_LIB_DIALECT_WG_TRANSFORMS_CHECKBARRIERS_EXPLORE_H

#include "Machine.h"

namespace girih::wg::check {

/// What a loop count or a branch was taken to be.
struct Choice {
  int32_t form;
  Domain domain;
  llvm::SmallVector<int64_t, 16> values; ///< to be tried, in this order
  size_t index = 0;

  int64_t value() const { return values[index]; }
};

/// A fault and the run that leads to it.
struct Finding {
  FaultClass kind;
  Fault fault;
  /// The op to blame, a warp that executes it, and what else took part.
  mlir::Operation *blamed = nullptr;
  int32_t warp = 0;
  Site other;
  std::vector<Choice> choices;
  std::vector<Blocked> blocked;
  std::vector<Step> trace;
  bool twice = false; ///< `other` is the first of two arrivals
  int64_t missingArrivals = 0, rightArrivals = 0, missingBytes = 0;
};

struct Verdict {
  std::optional<Finding> finding;
  std::optional<Undecided> undecided;
  int64_t runs = 0, steps = 0;
};

/// Runs a kernel for all choices that matter, up to the first fault.
Verdict explore(Model &model, Machine &machine);

/// What lies behind a fault that the last run of `machine` has found; `rerun` repeats that run with
/// other options.
Finding diagnose(Model &model, Machine &machine, const Fault &fault,
                 llvm::function_ref<std::optional<Fault>(const RunOptions &)> rerun);

/// Writes the error, its notes and the schedule.
void report(Model &model, const Machine &machine, const Finding &finding);

} // namespace girih::wg::check

#endif // GIRIH_LIB_DIALECT_WG_TRANSFORMS_CHECKBARRIERS_EXPLORE_H
