// Bytes of scratch; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/Transforms/Scratch.h"

#include "girih/Dialect/Tile/IR/Tile.h"
#include "girih/Layout/ConversionPlan.h"
#include "girih/Layout/Exchange.h"
#include "girih/Layout/Reduction.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace girih::wg {

int64_t carrierBytes(Type elementType) { return elementType.getIntOrFloatBitWidth() > 32 ? 8 : 4; }

int64_t elementBytes(Type elementType) {
  return std::max<int64_t>(1, elementType.getIntOrFloatBitWidth() / 8);
}

static Extents extentsOf(RankedTensorType tile) {
  return Extents(tile.getShape().begin(), tile.getShape().end());
}

/// Partial results of every warp: one value for each result and lane that holds a different one.
template <typename Op> static FailureOr<int64_t> combiningBytes(Op op, int64_t warps) {
  auto first = cast<RankedTensorType>(op.getTiles().front().getType());
  if (!isTile(first))
    return int64_t{0};
  Result<Reduction> reduction = analyseReduction(getLayout(first).getLayout(), extentsOf(first),
                                                 static_cast<int32_t>(op.getDim()));
  if (!reduction)
    return op.emitOpError("cannot combine elements of this layout: ") << reduction.error();
  if (!reduction->acrossWarps())
    return int64_t{0};
  // A scan has at most a total for each register, which lanes may still be about to join.
  int64_t values = static_cast<int64_t>(reduction->results) * reduction->laneSlots;
  if (std::is_same_v<Op, tile::ScanOp>)
    values = static_cast<int64_t>(reduction->resultOf.size()) * 32;
  int64_t bytes = 0;
  for (Value tile : op.getTiles())
    bytes += carrierBytes(tile::elementTypeOf(tile.getType())) * values;
  return bytes * warps;
}

static FailureOr<int64_t> exchangeBytes(Operation *op, RankedTensorType from, RankedTensorType to) {
  Result<Exchange> exchange =
      planExchange(getLayout(from).getLayout(), getLayout(to).getLayout(),
                   static_cast<int32_t>(elementBytes(from.getElementType())));
  if (!exchange)
    return op->emitOpError("finds no way through shared memory: ") << exchange.error();
  return exchange->bytes;
}

FailureOr<int64_t> scratchBytes(Operation *op, int64_t warps) {
  return llvm::TypeSwitch<Operation *, FailureOr<int64_t>>(op)
      .Case<tile::ReduceOp, tile::ScanOp>(
          [&](auto combine) { return combiningBytes(combine, warps); })
      // What one thread was told, told to all.
      .Case([&](tile::SignalOp signal) -> FailureOr<int64_t> {
        return signal.getOld().use_empty() ? int64_t{0} : int64_t{4};
      })
      .Case([&](tile::AtomicOp atomic) -> FailureOr<int64_t> {
        RankedTensorType tile = atomic.getTile().getType();
        if (atomic.getOld().use_empty() || !isTile(tile) ||
            getLayout(tile).getLayout().isInjective())
          return int64_t{0};
        return exchangeBytes(atomic, tile, tile);
      })
      .Case([&](ConvertLayoutOp convert) -> FailureOr<int64_t> {
        auto from = cast<RankedTensorType>(convert.getSource().getType());
        auto to = cast<RankedTensorType>(convert.getTile().getType());
        if (!isTile(from) || !isTile(to))
          return int64_t{0};
        Result<ConversionPlan> plan =
            planConversion(getLayout(from).getLayout(), getLayout(to).getLayout(),
                           static_cast<int32_t>(elementBytes(from.getElementType())));
        if (plan && (plan->renames || plan->shuffles))
          return int64_t{0};
        return exchangeBytes(convert, from, to);
      })
      .Default([](Operation *) -> FailureOr<int64_t> { return int64_t{0}; });
}

} // namespace girih::wg
