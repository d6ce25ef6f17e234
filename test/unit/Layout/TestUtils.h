// Words that the layout tests share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_TEST_UNIT_LAYOUT_TESTUTILS_H
#define GIRIH_TEST_UNIT_LAYOUT_TESTUTILS_H

#include "girih/Layout/Layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace girih {

/// The layout, or a test failure with the reason why there is none.
inline Layout get(const Result<Layout> &result) {
  if (result)
    return *result;
  ADD_FAILURE() << "no layout: " << result.error();
  return *Layout::create({});
}

inline Point thread(int warpgroup, int warp, int lane, int reg) {
  Point point;
  point[Dim::Warpgroup] = warpgroup;
  point[Dim::Warp] = warp;
  point[Dim::Lane] = lane;
  point[Dim::Register] = reg;
  return point;
}

inline Point offset(int at) {
  Point point;
  point[Dim::Offset] = at;
  return point;
}

inline void PrintTo(const Point &point, std::ostream *os) {
  for (Dim dim : kAllDims)
    if (point[dim])
      *os << nameOf(dim) << " " << point[dim] << " ";
}

inline void PrintTo(const Layout &layout, std::ostream *os) { *os << layout.str(); }

/// fn(slot) for every place of a layout, by plain counting.
template <class Fn> void forEverySlot(const Layout &layout, Fn fn) {
  Point slot;
  for (int64_t i = 0; i < layout.numSlots(); ++i) {
    int64_t rest = i;
    for (Dim dim : layout.inDims()) {
      slot[dim] = static_cast<int32_t>(rest % layout.inSize(dim));
      rest /= layout.inSize(dim);
    }
    fn(static_cast<const Point &>(slot));
  }
}

} // namespace girih

#endif // GIRIH_TEST_UNIT_LAYOUT_TESTUTILS_H
