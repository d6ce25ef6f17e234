// How the elements along one dimension of a tile are spread over registers, lanes and warps: what a
// reduction or a scan along it combines, and where.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LAYOUT_REDUCTION_H
#define GIRIH_LAYOUT_REDUCTION_H

#include "girih/Layout/Shape.h"

namespace girih {

/// A digit of the index of registers, of lanes, or of warps (warp + 4 * warpgroup) that moves along
/// the dimension: index / stride % extent, `step` elements for each count.
struct DigitAlong {
  Dim dim; ///< register, lane, or warp for warps of all warpgroups
  int32_t stride, extent, step;
};

struct Reduction {
  /// The digits, those in registers first, then in lanes, then in warps.
  std::vector<DigitAlong> digits;
  /// By register: the register of reduceOf() that its element contributes to, or -1 if another
  /// register holds the same element. With one dimension there is one result, 0.
  std::vector<int32_t> resultOf;
  int32_t results = 1;
  /// Bits of the lane that hold different elements along the dimension; that hold the same.
  int32_t laneBits = 0, laneReplicas = 0;
  /// Warps that hold different elements along the dimension are told apart by these digits only:
  /// from warp and warpgroup to row, the number that a warp has once they are 0.
  Layout firstWarp;
  /// From lane to row: numbers the lanes that hold different results.
  Layout laneSlot;
  int32_t laneSlots = 1;

  /// Whether warps must exchange partial results.
  bool acrossWarps() const;
};

/// Analyses a tile. Refused if some digit moves along the dimension and another one at once, or if
/// an element is in several threads in a way that no digit alone tells.
Result<Reduction> analyseReduction(const Layout &layout, const Extents &shape, int32_t dim);

/// For a scan: the digits from the one that moves least to the one that moves most, if they count
/// through the dimension in this order.
Result<std::vector<DigitAlong>> scanOrder(const Reduction &reduction, int32_t extent);

} // namespace girih

#endif // GIRIH_LAYOUT_REDUCTION_H
