// The choice between registers, shuffles and shared memory; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Layout/ConversionPlan.h"

#include "girih/Layout/Shape.h"

#include "Memo.h"

namespace girih {
namespace {

constexpr int64_t kBarrier = 4;

/// Each element is written once and read by whoever holds it; a barrier before and behind.
int64_t exchangeTransactions(const Layout &from, const Layout &to, int32_t elementBytes) {
  int64_t warps = int64_t{to.inSize(Dim::Warp)} * to.inSize(Dim::Warpgroup);
  int64_t words = (int64_t{to.inSize(Dim::Register)} * elementBytes + 3) / 4;
  int64_t bytes = int64_t{from.rows()} * from.cols() * elementBytes;
  return (bytes + 127) / 128 + words * warps + 2 * kBarrier * warps;
}

Result<ConversionPlan> planned(const Layout &from, const Layout &to, int32_t elementBytes) {
  if (from.outDims() != to.outDims() || from.shape() != to.shape())
    return LayoutError{"the two layouts are of different shapes"};
  for (Dim dim : {Dim::Lane, Dim::Warp, Dim::Warpgroup})
    if (from.inSize(dim) != to.inSize(dim))
      return LayoutError{"one is shared by " + std::to_string(from.inSize(dim)) +
                         ", the other by " + std::to_string(to.inSize(dim)) + " of dimension '" +
                         std::string(nameOf(dim)) + "'"};
  for (const Layout *layout : {&from, &to})
    if (std::optional<std::string> error = layout->tileError(from.rows(), from.cols()))
      return LayoutError{*error};
  ConversionPlan plan;
  if (Result<std::vector<int32_t>> renames = registerSources(from, to)) {
    plan.renames = std::move(*renames);
    return plan;
  }
  plan.transactions = exchangeTransactions(from, to, elementBytes);
  Result<ShufflePlan> shuffles = planShuffles(from, to, elementBytes);
  if (!shuffles)
    return plan;
  int64_t warps = int64_t{to.inSize(Dim::Warp)} * to.inSize(Dim::Warpgroup);
  int64_t transactions = warps * (2 * shuffles->shuffles + shuffles->selections + 1) / 2;
  if (transactions <= plan.transactions) {
    plan.transactions = transactions;
    plan.shuffles = std::move(*shuffles);
  }
  return plan;
}

} // namespace

Result<ConversionPlan> planConversion(const Layout &from, const Layout &to, int32_t elementBytes) {
  thread_local detail::Memo<Result<ConversionPlan>> memo;
  return memo.get(detail::Question().add(from).add(to).add(elementBytes),
                  [&] { return planned(from, to, elementBytes); });
}

} // namespace girih
