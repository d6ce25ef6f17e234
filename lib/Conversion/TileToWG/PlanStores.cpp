// Which stores of a kernel with products go out through shared memory by TMA.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProductPlan.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace girih::wg {

/// Whether a product takes part in a value: then it has an accumulator's layout.
static bool comesFromProduct(Value value, llvm::SmallPtrSetImpl<Value> &seen) {
  if (!tile::isTile(value.getType()) || !seen.insert(value).second)
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
    OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr;
    OpOperand *yielded = loop ? loop.getTiedLoopYieldedValue(argument) : nullptr;
    return (init && comesFromProduct(init->get(), seen)) ||
           (yielded && comesFromProduct(yielded->get(), seen));
  }
  Operation *op = value.getDefiningOp();
  if (isa<tile::DotOp, TeamOp>(op))
    return true;
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    OpOperand *yielded =
        loop.getTiedLoopYieldedValue(loop.getTiedLoopRegionIterArg(cast<OpResult>(value)));
    return yielded && comesFromProduct(yielded->get(), seen);
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    return comesFromProduct(branch.thenYield().getOperand(number), seen) ||
           comesFromProduct(branch.elseYield().getOperand(number), seen);
  }
  return llvm::any_of(op->getOperands(),
                      [&](Value operand) { return comesFromProduct(operand, seen); });
}

/// Why a store stays one of registers; empty if it goes out by TMA, as `plan` says.
static std::string planStore(tile::StoreOp store, const HostSide &host, int64_t warpgroups,
                             StorePlan &plan) {
  RankedTensorType type = store.getTile().getType();
  llvm::SmallPtrSet<Value, 8> seen;
  if (!comesFromProduct(store.getTile(), seen))
    return "no product takes part in it";
  if (type.getRank() != 2)
    return "it has " + std::to_string(type.getRank()) + " dimensions";
  int64_t bits = getStorageBits(type.getElementType());
  if (bits != 16 && bits != 32)
    return "its elements have " + std::to_string(bits) + " bits";
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  if (rows % (64 * warpgroups) || rows / warpgroups > 256 || columns % 8)
    return "its rows do not fall into 64 for each warpgroup";
  Result<ArrayPlace> place = findArray(store.getView(), store.getIndices(), host);
  if (!place)
    return place.error();
  if (place->getType().getContiguous() != place->dims[1])
    return "it is stored by columns";
  // 128 bytes of a row at a time: the widest swizzle, and one panel.
  int64_t chunk = 128 * 8 / bits;
  plan.store = store;
  for (auto [dim, slice] : llvm::enumerate(place->slices))
    if (slice)
      plan.sliced.push_back(static_cast<int64_t>(dim));
  plan.place = std::move(*place);
  plan.slot = BufferType::get({rows, std::min(chunk, columns)}, type.getElementType(),
                              columns < chunk ? swizzleFor(columns * bits / 8) : 128);
  if (columns < chunk && !plan.slot.getSwizzle())
    plan.slot = BufferType::get({rows, columns}, type.getElementType(), 128);
  return {};
}

void planStores(gpu::GPUFuncOp kernel, const HostSide &host, ProductPlan &plan) {
  kernel.walk([&](tile::StoreOp store) {
    if (store->getParentOfType<TeamOp>())
      return; // its role does what its author says
    StorePlan planned;
    std::string why = planStore(store, host, plan.warpgroups, planned);
    if (!why.empty()) {
      emitRemark(store.getLoc(), "stores from registers: ") << why;
      return;
    }
    auto ring = llvm::find(plan.storeRings, planned.slot);
    planned.ring = ring - plan.storeRings.begin();
    if (ring == plan.storeRings.end())
      plan.storeRings.push_back(planned.slot);
    emitRemark(store.getLoc(), "stores ")
        << host.nameOf(planned.place.array) << " by TMA, in chunks of "
        << planned.slot.getShape()[1] << " columns"
        << (planned.sliced.empty()
                ? ""
                : " where the tile lies inside its slice; beyond its end TMA would write to the "
                  "neighbours, and a tile there is stored from registers");
    plan.stores.push_back(std::move(planned));
  });
}

} // namespace girih::wg
