// What layouts cost: accesses to global memory and conversions, in transactions of one warp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_LAYOUTPRICES_H
#define GIRIH_LIB_CONVERSION_TILETOWG_LAYOUTPRICES_H

#include "girih/Dialect/Tile/IR/Tile.h"
#include "girih/Dialect/WG/IR/WG.h"
#include "girih/Layout/ConversionPlan.h"

#include "llvm/ADT/DenseMap.h"

namespace girih::wg {

/// Access of a tile to global memory.
struct GlobalAccess {
  /// Elements that a thread moves at a time.
  int64_t vector = 1;
  /// Sectors of 32 bytes that the warps' instructions touch; what the tile has at the least.
  int64_t sectors = 0, ideal = 0;
  /// What it is worth in transactions: a sector that is loaded again comes from the first cache, at
  /// half of the price.
  int64_t price = 0;
};

/// The cost of a tile in `layout` at a view, counted slot by slot over one warp and scaled to all.
/// Strides other than that of the contiguous dimension are taken to be long. Of warps that hold the
/// same, all load and one stores.
GlobalAccess globalAccess(const Layout &layout, mlir::RankedTensorType tile, tile::ViewType view,
                          bool isStore);

/// The layout in which a tile is moved best: vectors of 16 bytes, or of what alignment and extent
/// allow, along the view's contiguous dimension, lanes beside each other. `warps` is the role's.
LayoutAttr preferredLayout(mlir::RankedTensorType tile, tile::ViewType view, int64_t warps);
/// The same for a tile that no memory is asked about.
LayoutAttr defaultLayout(mlir::RankedTensorType tile, int64_t warps);

/// How a tile of such elements gets from one layout into the other.
girih::Result<ConversionPlan> planOf(LayoutAttr from, LayoutAttr to, mlir::Type elementType);

/// What a conversion costs.
struct ConversionPrice {
  /// Transactions of shared memory of all warps together, as planConversion() counts them.
  int64_t transactions = 0;
  /// Why there is no conversion, if there is none.
  std::string error;
};

/// Prices of conversions, each computed once.
class ConversionPrices {
public:
  const ConversionPrice &of(LayoutAttr from, LayoutAttr to, mlir::Type elementType);

private:
  llvm::DenseMap<std::tuple<LayoutAttr, LayoutAttr, unsigned>, ConversionPrice> known;
};

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_TILETOWG_LAYOUTPRICES_H
