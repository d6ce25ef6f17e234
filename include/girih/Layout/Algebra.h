// What one can compute with layouts: compose, invert, divide, slice, compare, convert. Maps of
// this kind are not closed under every operation (a counter of 22 does not fit panels of 8), so
// each answers with a layout or with a reason.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LAYOUT_ALGEBRA_H
#define GIRIH_LAYOUT_ALGEBRA_H

#include "girih/Layout/Layout.h"

#include <functional>
#include <string>
#include <vector>

namespace girih {

/// Extent of one in dimension.
struct InDim {
  Dim dim;
  int32_t extent;
};

/// Finds the layout that maps as `map` does: every slot of `in` to coordinates of `outDims`.
/// `shape` as in LayoutSpec. Exact: the answer is checked at every slot, and there is a reason when
/// no atom with repeats maps like that.
Result<Layout> fitLayout(const std::vector<InDim> &in, const std::vector<Dim> &outDims,
                         const std::function<Point(const Point &)> &map,
                         std::vector<int32_t> shape = {});

/// x -> outer(inner(x)). The out dimensions of `inner` are the in dimensions of `outer`, and its
/// reach fits.
Result<Layout> compose(const Layout &outer, const Layout &inner);

/// The map back. It inverts the map as far as it reaches (reach(), padding included), since the
/// padding of a shared buffer lies between its elements; refused unless that is one-to-one.
Result<Layout> invert(const Layout &layout);

/// The quotient Q with layout(a + A*q) = atom(a) + shape(atom)*Q(q), where A are the in sizes of
/// the atom: "this layout is this atom at every place Q(q)". Q's coordinates count atoms. The
/// reason of a refusal names a slot that differs.
Result<Layout> divide(const Layout &layout, const Layout &atom);

/// Part of a layout: `layout` is that of the part, element (0, 0) being the part's first; kept[i]
/// is the index along `dim` (register or offset) in the whole layout of the part's index i.
struct Slice {
  Layout layout;
  Dim dim;
  std::vector<int32_t> kept;
};

/// The rows or columns (`axis`) [begin, end) of a layout over (row, col), if registers alone (or
/// offsets alone) decide which of them an index holds: columns [64, 128) of a 64x176 accumulator
/// are registers 32..63 of every thread.
Result<Slice> slice(const Layout &layout, Dim axis, int32_t begin, int32_t end);

/// The first element (in row-major order) that sits in different places, in words: "element (3, 17)
/// sits in warp 0 lane 13 register 5 on the left and in warp 0 lane 14 register 5 on the right".
/// Nothing if there is none.
std::optional<std::string> firstConflict(const Layout &left, const Layout &right);

/// Where an element sits, in words: "warp 0 lane 13 register 5", "offset 137".
std::string describeSlot(const Layout &layout, const Point &slot);

/// What it takes to bring a tile from one register layout into another, the cheapest first.
enum class ConversionKind { None, RegisterPermutation, QuadShuffle, WarpShuffle, SharedMemory };

struct Conversion {
  ConversionKind kind;
  /// Slots whose value comes from another register, lane, warp or warpgroup (the rest stay).
  int64_t moved = 0;
  /// A sentence with the first slot that forces this kind; for error messages and remarks.
  std::string reason;
};

/// Cost of a conversion between two register layouts of one shape.
Result<Conversion> convert(const Layout &from, const Layout &to);

} // namespace girih

#endif // GIRIH_LAYOUT_ALGEBRA_H
