// Differences between layouts, in words and in cost.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Layout/Algebra.h"

#include "Enumerate.h"

#include <algorithm>

namespace girih {
namespace {

/// The slots of every element: those of element i are slots[start[i]] .. slots[start[i+1]-1], in
/// the order of visit.
struct SlotsByElement {
  std::vector<Point> slots;
  std::vector<size_t> start;

  explicit SlotsByElement(const Layout &layout) {
    detail::Numbering numbering(layout);
    start.resize(numbering.count() + 1, 0);
    detail::forEachSlot(layout.spec(), [&](const Point &, const Point &element) {
      if (numbering.contains(element))
        ++start[numbering.of(element) + 1];
    });
    for (size_t i = 1; i < start.size(); ++i)
      start[i] += start[i - 1];
    slots.resize(start.back());
    std::vector<size_t> next(start.begin(), start.end() - 1);
    detail::forEachSlot(layout.spec(), [&](const Point &slot, const Point &element) {
      if (numbering.contains(element))
        slots[next[numbering.of(element)]++] = slot;
    });
  }
};

std::string elementText(const Layout &layout, size_t index) {
  std::string text;
  for (size_t i = layout.shape().size(); i-- > 0; index /= static_cast<size_t>(layout.shape()[i]))
    text = std::to_string(index % static_cast<size_t>(layout.shape()[i])) +
           (text.empty() ? "" : ", ") + text;
  return "element (" + text + ")";
}

std::string shapeText(const Layout &layout) {
  std::string text;
  for (int32_t extent : layout.shape())
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

std::optional<std::string> shapeConflict(const Layout &left, const Layout &right) {
  if (left.outDims() != right.outDims())
    return "the two layouts lead to different dimensions";
  if (left.shape() != right.shape())
    return "the left is of " + shapeText(left) + " elements, the right of " + shapeText(right);
  return std::nullopt;
}

ConversionKind kindOf(const Point &from, const Point &to) {
  if (from[Dim::Warp] != to[Dim::Warp] || from[Dim::Warpgroup] != to[Dim::Warpgroup])
    return ConversionKind::SharedMemory;
  if (from[Dim::Lane] / 4 != to[Dim::Lane] / 4)
    return ConversionKind::WarpShuffle;
  if (from[Dim::Lane] != to[Dim::Lane])
    return ConversionKind::QuadShuffle;
  return from[Dim::Register] == to[Dim::Register] ? ConversionKind::None
                                                  : ConversionKind::RegisterPermutation;
}

} // namespace

std::string describeSlot(const Layout &layout, const Point &slot) {
  if (layout.inSize(Dim::Offset) > 1)
    return "offset " + std::to_string(slot[Dim::Offset]);
  std::string text;
  if (layout.inSize(Dim::Warpgroup) > 1)
    text = "warpgroup " + std::to_string(slot[Dim::Warpgroup]) + " ";
  return text + "warp " + std::to_string(slot[Dim::Warp]) + " lane " +
         std::to_string(slot[Dim::Lane]) + " register " + std::to_string(slot[Dim::Register]);
}

std::optional<std::string> firstConflict(const Layout &left, const Layout &right) {
  if (left == right)
    return std::nullopt;
  if (std::optional<std::string> conflict = shapeConflict(left, right))
    return conflict;
  SlotsByElement ours(left), theirs(right);
  for (size_t element = 0; element + 1 < ours.start.size(); ++element) {
    size_t l = ours.start[element], r = theirs.start[element];
    size_t lEnd = ours.start[element + 1], rEnd = theirs.start[element + 1];
    while (l < lEnd && r < rEnd && ours.slots[l] == theirs.slots[r])
      ++l, ++r;
    if (l == lEnd && r == rEnd)
      continue;
    auto place = [](const Layout &layout, const SlotsByElement &table, size_t at, size_t end,
                    size_t begin) {
      if (at < end)
        return "in " + describeSlot(layout, table.slots[at]);
      return std::string(at > begin ? "nowhere else" : "nowhere");
    };
    return elementText(left, element) + " sits " + place(left, ours, l, lEnd, ours.start[element]) +
           " on the left and " + place(right, theirs, r, rEnd, theirs.start[element]) +
           " on the right";
  }
  return std::nullopt;
}

Result<Conversion> convert(const Layout &from, const Layout &to) {
  if (std::optional<std::string> conflict = shapeConflict(from, to))
    return LayoutError{*conflict};
  if (from.inSize(Dim::Offset) > 1 || to.inSize(Dim::Offset) > 1)
    return LayoutError{
        "a conversion is between register layouts; an offset is a place in shared memory"};
  Conversion result{ConversionKind::None, 0, "every element is where it is needed"};
  if (from == to)
    return result;
  SlotsByElement sources(from);
  detail::Numbering numbering(to);
  std::string error;
  detail::forEachSlot(to.spec(), [&](const Point &slot, const Point &element) {
    if (!numbering.contains(element))
      return;
    size_t index = numbering.of(element);
    size_t begin = sources.start[index], end = sources.start[index + 1];
    if (begin == end) {
      if (error.empty())
        error = elementText(from, index) + " sits in no slot of the layout to convert from";
      return;
    }
    size_t best = begin;
    for (size_t i = begin; i < end; ++i)
      if (kindOf(sources.slots[i], slot) < kindOf(sources.slots[best], slot))
        best = i;
    ConversionKind kind = kindOf(sources.slots[best], slot);
    result.moved += kind != ConversionKind::None;
    if (kind > result.kind) {
      result.kind = kind;
      result.reason = elementText(to, index) + " moves from " +
                      describeSlot(from, sources.slots[best]) + " to " + describeSlot(to, slot);
    }
  });
  if (!error.empty())
    return LayoutError{error};
  return result;
}

} // namespace girih
