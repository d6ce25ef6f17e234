// Stores into arrays that the kernel also loads. Of a tile that several threads hold each loads,
// and one stores: that one must not overtake the others, nor they it at the next load.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TileMove.h"

using namespace mlir;

namespace girih::wg {

namespace {

/// The address of the array that a view is a part of.
Value arrayOf(Value view) {
  while (Operation *op = view.getDefiningOp()) {
    if (auto whole = dyn_cast<tile::ViewOp>(op))
      return whole.getPointer();
    if (op->getNumOperands() == 0)
      break;
    view = op->getOperand(0);
  }
  return view;
}

} // namespace

void markInPlaceStores(gpu::GPUFuncOp kernel, const ConversionState &state) {
  llvm::DenseMap<Value, llvm::SmallVector<RankedTensorType, 2>> loaded;
  kernel.walk([&](tile::LoadOp load) {
    loaded[arrayOf(load.getView())].push_back(load.getTile().getType());
  });
  kernel.walk([&](tile::StoreOp store) {
    auto found = loaded.find(arrayOf(store.getView()));
    if (found == loaded.end())
      return;
    RankedTensorType stored = store.getTile().getType();
    // Where each element is one thread's in both, that thread keeps its own order.
    if (llvm::any_of(found->second, [&](RankedTensorType tile) {
          return tile.getEncoding() != stored.getEncoding() ||
                 state.tileAccesses.find(tile)->second->replica;
        }))
      store->setAttr(kInPlaceAttr, UnitAttr::get(store.getContext()));
  });
}

} // namespace girih::wg
