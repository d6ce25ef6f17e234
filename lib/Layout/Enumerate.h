// Visits every slot of a layout. The atom and the repeats are tabulated digit by digit first, so
// that a slot costs an XOR and an addition: a pass over a whole tile takes a fraction of a
// millisecond.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

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

/// One digit of a slot: all bases of a dimension together, or one repeat. Its count i stands for
/// i * stride of the dimension and contributes flip[i] to the XOR and add[i] to the sum.
struct Digit {
  Dim dim;
  int32_t stride;
  std::vector<Point> flip, add;
};

/// The digits of a layout, in the order of the dimensions, fastest first.
std::vector<Digit> digitsOf(const LayoutSpec &spec);

namespace impl {
template <class Fn>
void walk(const std::vector<Digit> &digits, size_t level, const Point &flip, const Point &add,
          Point slot, Fn &fn) {
  const Digit &digit = digits[level];
  for (size_t i = 0; i < digit.flip.size(); ++i) {
    Point flipped = xorOf(flip, digit.flip[i]), added = sumOf(add, digit.add[i]);
    if (level == 0)
      fn(static_cast<const Point &>(slot), sumOf(flipped, added));
    else
      walk(digits, level - 1, flipped, added, slot, fn);
    slot[digit.dim] += digit.stride;
  }
}
} // namespace impl

/// fn(slot, element) for every slot, the first in dimension (register, offset, row) varying
/// fastest.
template <class Fn> void forEachSlot(const LayoutSpec &spec, Fn fn) {
  std::vector<Digit> digits = digitsOf(spec);
  if (digits.empty())
    fn(Point(), Point());
  else
    impl::walk(digits, digits.size() - 1, Point(), Point(), Point(), fn);
}

/// Row-major numbers for the elements of a shape.
class Numbering {
public:
  explicit Numbering(const Layout &layout) : dims(layout.outDims()), extents(layout.shape()) {}

  bool contains(const Point &element) const {
    for (size_t i = 0; i < dims.size(); ++i)
      if (element[dims[i]] >= extents[i])
        return false;
    return true;
  }
  size_t of(const Point &element) const {
    size_t number = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      number = number * static_cast<size_t>(extents[i]) + static_cast<size_t>(element[dims[i]]);
    return number;
  }
  size_t count() const {
    size_t count = 1;
    for (int32_t extent : extents)
      count *= static_cast<size_t>(extent);
    return count;
  }

private:
  std::vector<Dim> dims;
  std::vector<int32_t> extents;
};

/// The same map written with as few bases as possible: only those that a swizzle needs (and those
/// below them) stay, all others become repeats, merged as far as they go. In this form slicing is
/// arithmetic on the counters.
LayoutSpec toCounters(const LayoutSpec &spec);

/// The canonical form: counters, of which leading ones of a power of two join the atom where XOR
/// and sum agree.
LayoutSpec canonical(const LayoutSpec &spec);

} // namespace girih::detail

#endif // GIRIH_LIB_LAYOUT_ENUMERATE_H
