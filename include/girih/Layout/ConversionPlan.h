// The cheapest way of a tile from one register layout into another, and what it costs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LAYOUT_CONVERSIONPLAN_H
#define GIRIH_LAYOUT_CONVERSIONPLAN_H

#include "girih/Layout/Shuffle.h"

namespace girih {

/// Without `renames` and `shuffles` the tile goes through shared memory, as planExchange() says.
struct ConversionPlan {
  /// By register of the result: the register of the same thread that it is.
  std::optional<std::vector<int32_t>> renames;
  std::optional<ShufflePlan> shuffles;
  /// What all warps together spend, in accesses of one warp to shared memory: a shuffle counts as
  /// one, a selection as half of one, a barrier of a warp as four.
  int64_t transactions = 0;
};

/// Refused if the layouts are of different shapes or threads, or one misses an element.
/// `elementBytes` is 1, 2, 4 or 8.
Result<ConversionPlan> planConversion(const Layout &from, const Layout &to, int32_t elementBytes);

} // namespace girih

#endif // GIRIH_LAYOUT_CONVERSIONPLAN_H
