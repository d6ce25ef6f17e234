// Alternate tiles; see the header. Whoever has a tile skips the slots of the others' tiles, so it
// must know how many those are without computing them: the same number for every tile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PingPong.h"
#include "BackwardSlice.h"

using namespace mlir;

namespace girih::wg {

scf::ForOp findTileLoop(gpu::GPUFuncOp kernel) {
  for (auto loop : kernel.getBody().front().getOps<scf::ForOp>()) {
    BackwardSlice slice;
    slice.addValue(loop.getStep());
    if (llvm::any_of(slice.getOps(), [](Operation *op) { return isa<gpu::GridDimOp>(op); }))
      return loop;
  }
  return {};
}

/// Moves scalars out of a loop that are the same at each of its steps.
static void hoistScalars(scf::ForOp loop) {
  for (Operation &op : llvm::make_early_inc_range(loop.getBody()->without_terminator())) {
    bool scalar = op.getNumRegions() == 0 && llvm::none_of(op.getResultTypes(), tile::isTile);
    bool fixed = llvm::all_of(op.getOperands(),
                              [&](Value operand) { return loop.isDefinedOutsideOfLoop(operand); });
    if (scalar && fixed && isPure(&op))
      op.moveBefore(loop);
  }
}

/// Code before or behind the loop over tiles would be executed by each warpgroup.
static std::string checkOutside(gpu::GPUFuncOp kernel, scf::ForOp tiles) {
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (&op == tiles || isa<AllocBufferOp, AllocBarrierOp>(op))
      continue;
    if (op.getNumRegions() || hasEffect<MemoryEffects::Write>(&op))
      return "there is code outside of the loop over tiles, which each warpgroup would execute";
  }
  return {};
}

/// What may depend on the order of the tiles that a CTA computes.
static std::string checkOrder(scf::ForOp tiles) {
  if (!tiles.getInitArgs().empty())
    return "the loop over tiles carries values from one tile to the next";
  std::string why;
  tiles.getBody()->walk([&](Operation *op) {
    auto atomic = dyn_cast<tile::AtomicOp>(op);
    if (isa<tile::SignalOp, tile::AwaitOp>(op) ||
        (atomic && atomic.getOrder() != tile::Order::Relaxed))
      why = "a tile signals or waits, and which tiles of its CTA are done would not be known then";
  });
  return why;
}

Result<PingPong> planPingPong(gpu::GPUFuncOp kernel, const ProductPlan &plan) {
  PingPong made;
  made.tiles = findTileLoop(kernel);
  if (!made.tiles)
    return LayoutError{"each CTA has one tile; expected gr.tiles(..., ctas=gr.sms()) or the like, "
                       "with which CTAs stay"};
  for (const std::string &why : {checkOutside(kernel, made.tiles), checkOrder(made.tiles)})
    if (!why.empty())
      return LayoutError{why};
  if (plan.sections.empty())
    return LayoutError{"no operand comes by TMA, so there is nobody who loads ahead"};

  Block *body = made.tiles.getBody();
  for (const Product &product : plan.products) {
    if (product.unit != ProductUnit::Wgmma)
      return LayoutError{"a product is none of wgmma's, and would not run under a store"};
    for (const ProductOperand *operand : {&product.a, &product.b})
      if (operand->source == OperandSource::Memory)
        return LayoutError{"an operand goes through a buffer that the warpgroups would share"};
    Operation *at = body->findAncestorOpInBlock(*product.dot);
    if (!at)
      return LayoutError{"there is a product outside of the loop over tiles"};
    if (!made.firstProduct || at->isBeforeInBlock(made.firstProduct))
      made.firstProduct = at;
    if (!made.lastProduct || made.lastProduct->isBeforeInBlock(at))
      made.lastProduct = at;
  }

  hoistScalars(made.tiles);
  for (const Section &section : plan.sections) {
    if (section.block == body) {
      made.slots.push_back({section.ring, {}});
      continue;
    }
    auto steps = dyn_cast<scf::ForOp>(section.block->getParentOp());
    auto outside = [&](Value value) { return made.tiles.isDefinedOutsideOfLoop(value); };
    if (!steps || steps->getBlock() != body || !outside(steps.getLowerBound()) ||
        !outside(steps.getUpperBound()) || !outside(steps.getStep()))
      return LayoutError{"how many steps load operands differs from tile to tile, and a warpgroup "
                         "must know what to skip"};
    made.slots.push_back({section.ring, steps});
  }
  return made;
}

} // namespace girih::wg
