// Visits every slot of a layout. The atom and the repeats of each dimension are tabulated first, so
// that a slot costs one XOR and one addition per dimension: checks over whole tiles stay far below
// a millisecond. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_LAYOUT_ENUMERATE_H
#define GIRIH_LIB_LAYOUT_ENUMERATE_H

#include "girih/Layout/Layout.h"

#include <vector>

namespace girih::detail {

inline Point xorOf(const Point &a, const Point &b) {
  Point result;
  for (size_t i = 0; i < result.at.size(); ++i)
    result.at[i] = a.at[i] ^ b.at[i];
  return result;
}

inline Point sumOf(const Point &a, const Point &b) {
  Point result;
  for (size_t i = 0; i < result.at.size(); ++i)
    result.at[i] = a.at[i] + b.at[i];
  return result;
}

/// Names coordinates in the order of `dims`.
inline Point toPoint(const std::vector<Dim> &dims, const std::vector<int32_t> &values) {
  Point point;
  for (size_t i = 0; i < dims.size(); ++i)
    point[dims[i]] = values[i];
  return point;
}

/// The parts of the map that belong to one in dimension, for every index of it.
struct DimTable {
  Dim dim;
  std::vector<Point> flip, add;
};

/// One table per in dimension with more than one index, in the order of the enum.
std::vector<DimTable> tabulate(const LayoutSpec &spec);

namespace impl {
template <class Fn>
void walk(const std::vector<DimTable> &tables, size_t level, const Point &flip, const Point &add,
          Point &slot, Fn &fn) {
  const DimTable &table = tables[level];
  for (size_t i = 0; i < table.flip.size(); ++i) {
    slot[table.dim] = static_cast<int32_t>(i);
    if (level == 0)
      fn(static_cast<const Point &>(slot),
         sumOf(xorOf(flip, table.flip[i]), sumOf(add, table.add[i])));
    else
      walk(tables, level - 1, xorOf(flip, table.flip[i]), sumOf(add, table.add[i]), slot, fn);
  }
}
} // namespace impl

/// fn(slot, element) for every slot, the first in dimension (register, offset, row) varying
/// fastest.
template <class Fn> void forEachSlot(const LayoutSpec &spec, Fn fn) {
  std::vector<DimTable> tables = tabulate(spec);
  Point slot;
  if (tables.empty())
    fn(static_cast<const Point &>(slot), Point());
  else
    impl::walk(tables, tables.size() - 1, Point(), Point(), slot, fn);
}

/// Row-major index of an element of a layout, for tables over its shape.
inline int64_t linearIndex(const Layout &layout, const Point &element) {
  int64_t index = 0;
  for (size_t i = 0; i < layout.outDims().size(); ++i)
    index = index * layout.shape()[i] + element[layout.outDims()[i]];
  return index;
}

inline int64_t numElements(const Layout &layout) {
  int64_t count = 1;
  for (int32_t extent : layout.shape())
    count *= extent;
  return count;
}

/// The same map written with as few bases as possible: only those that a swizzle needs (and those
/// below them) stay, all others become repeats, merged as far as they go. In this form slicing is
/// arithmetic on the counters.
LayoutSpec toCounters(const LayoutSpec &spec);

/// The canonical form: counters, of which leading ones of a power of two join the atom where XOR
/// and sum agree.
LayoutSpec canonical(const LayoutSpec &spec);

} // namespace girih::detail

#endif // GIRIH_LIB_LAYOUT_ENUMERATE_H
