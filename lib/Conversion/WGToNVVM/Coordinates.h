// Where the elements that a thread holds lie in a tile of any rank: for each dimension one value
// per thread, and per register some bits to flip and a constant to add.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_WGTONVVM_COORDINATES_H
#define GIRIH_LIB_CONVERSION_WGTONVVM_COORDINATES_H

#include "girih/Conversion/WGToNVVM/ThreadAddress.h"
#include "girih/Layout/Shape.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace girih::wg {

/// One dimension of a tile. The coordinate of register r is (flips(thread) ^ steps[r].flip) +
/// sums(thread) + steps[r].add.
struct Coordinate {
  struct Step {
    int32_t flip = 0, add = 0;
    bool operator==(const Step &other) const { return flip == other.flip && add == other.add; }
  };
  /// From lane, warp and warpgroup to row.
  std::optional<Layout> flips, sums;
  llvm::SmallVector<Step> steps;
  /// Log2 of a power of two that divides flips(thread) and sums(thread) for all threads.
  int threadZeros = 0;
};

/// All dimensions of a tile of this shape and layout. A refusal says what has no form.
Result<std::vector<Coordinate>> coordinatesOf(const Layout &layout, const Extents &shape);

/// The extents of a tile.
Extents extentsOf(mlir::RankedTensorType tile);

/// The coordinates of one dimension as values, made when they are asked for.
class CoordinateValues {
public:
  /// The coordinates plus `start` (i32), or themselves if it is null.
  CoordinateValues(mlir::OpBuilder &builder, mlir::Location loc, const Coordinate &coordinate,
                   const ThreadPlace &place, mlir::Value start);

  /// i32: that of register `reg`.
  mlir::Value at(mlir::OpBuilder &builder, size_t reg);
  /// i32: what registers with this `flip` have before their constant is added.
  mlir::Value base(mlir::OpBuilder &builder, int32_t flip);
  const Coordinate::Step &step(size_t reg) const { return coordinate.steps[reg]; }

private:
  mlir::Location loc;
  const Coordinate &coordinate;
  mlir::Value flips, rest; // either may be null
  llvm::DenseMap<std::pair<int32_t, int32_t>, mlir::Value> known;
};

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_WGTONVVM_COORDINATES_H
