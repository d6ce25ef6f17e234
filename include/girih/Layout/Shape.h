// What an operation on the shape of a tile makes of its layout: reducing, expanding, broadcasting,
// transposing, reshaping, joining and splitting move no element to another thread if the result
// has the layout that stands here. docs/Layout.md has the table.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LAYOUT_SHAPE_H
#define GIRIH_LAYOUT_SHAPE_H

#include "girih/Layout/Layout.h"

#include <functional>
#include <vector>

namespace girih {

/// Extents of a tile, or an index into one, slowest dimension first. A layout knows rows and
/// columns only: a tile of one dimension is one row; of three or more, the leading dimensions count
/// as rows, in row-major order.
using Extents = std::vector<int32_t>;

/// The element (row, col) of an index into a tile of this shape.
Point elementOf(const Extents &shape, const Extents &index);
/// The index of an element (row, col).
Extents indexOf(const Extents &shape, const Point &element);
/// The same into a vector that is there already: for loops over all elements.
void indexInto(Extents &index, const Extents &shape, const Point &element);

// Each takes the source's layout and shape. A refusal says what of the map has no form.

/// Without dimension `dim`, all of whose elements have been combined: the lanes, warps and
/// warpgroups that held different elements along it all hold the result; registers that would hold
/// a result twice are gone, the first of each stays. The tile has at least two dimensions.
Result<Layout> reduceOf(const Layout &layout, const Extents &shape, int32_t dim);
/// With a dimension of extent 1 in front of dimension `dim` of the source (or as the last one).
Result<Layout> expandOf(const Layout &layout, const Extents &shape, int32_t dim);
/// Dimensions of extent 1 repeated: every thread holds in more registers all the copies of what it
/// has; the first registers are those of the source.
Result<Layout> broadcastOf(const Layout &layout, const Extents &shape, const Extents &result);
/// The other way around: the layout that the source of a broadcast to `layout` (of shape `result`)
/// needs so that each thread has what it repeats.
Result<Layout> broadcastSourceOf(const Layout &layout, const Extents &result,
                                 const Extents &source);
/// Dimension i of the result is dimension order[i] of the source.
Result<Layout> transposeOf(const Layout &layout, const Extents &shape,
                           const std::vector<int32_t> &order);
/// The same elements in row-major order.
Result<Layout> reshapeOf(const Layout &layout, const Extents &shape, const Extents &result);
/// Two tiles as the places of a new last dimension of extent 2, which is the fastest register bit.
Result<Layout> joinOf(const Layout &layout, const Extents &shape);
/// One place of the last dimension, of extent 2. Refused unless every thread holds both places.
Result<Layout> splitOf(const Layout &layout, const Extents &shape);

/// The coordinate along `dim` as a layout with the one out dimension row.
Result<Layout> coordinateOf(const Layout &layout, const Extents &shape, int32_t dim);

/// For every register of `result`, the register of `source` that holds the element `from(element)`
/// in the same thread, whichever thread that is. Refused, with the first element that sits
/// elsewhere, if there is none. Without `from`: the same element. `name` tells one `from` from
/// another: where layouts and names are equal, the answer is.
Result<std::vector<int32_t>>
registerSources(const Layout &source, const Layout &result,
                const std::function<Point(const Point &)> &from = nullptr,
                const std::vector<int32_t> &name = {});

} // namespace girih

#endif // GIRIH_LAYOUT_SHAPE_H
