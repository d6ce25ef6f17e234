// Composition, inverse, quotient and slices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Layout/Algebra.h"

#include "Enumerate.h"

#include <algorithm>

namespace girih {
namespace {

std::vector<InDim> insOf(const Layout &layout) {
  std::vector<InDim> ins;
  for (Dim dim : layout.inDims())
    ins.push_back({dim, layout.inSize(dim)});
  return ins;
}

std::string pointText(const Point &point, const std::vector<Dim> &dims) {
  std::string text;
  for (Dim dim : dims)
    text += (text.empty() ? "" : " ") + std::string(nameOf(dim)) + " " + std::to_string(point[dim]);
  return text;
}

} // namespace

Result<Layout> compose(const Layout &outer, const Layout &inner) {
  for (Dim dim : outer.inDims())
    if (!std::count(inner.outDims().begin(), inner.outDims().end(), dim))
      return LayoutError{"the outer layout has indices of '" + std::string(nameOf(dim)) +
                         "', which the inner one does not lead to"};
  for (Dim dim : inner.outDims())
    if (inner.reach(dim) > outer.inSize(dim))
      return LayoutError{"the inner layout reaches " + std::string(nameOf(dim)) + " " +
                         std::to_string(inner.reach(dim) - 1) + ", but the outer one has " +
                         std::to_string(outer.inSize(dim))};
  return fitLayout(insOf(inner), outer.outDims(),
                   [&](const Point &slot) { return outer.apply(inner.apply(slot)); });
}

Result<Layout> invert(const Layout &layout) {
  std::vector<InDim> ins;
  int64_t elements = 1;
  for (Dim dim : layout.outDims()) {
    ins.push_back({dim, layout.reach(dim)});
    elements *= layout.reach(dim);
  }
  if (layout.inDims().empty())
    return LayoutError{"a layout of one slot has no inverse to name"};
  auto indexOf = [&](const Point &element) {
    int64_t index = 0;
    for (Dim dim : layout.outDims())
      index = index * layout.reach(dim) + element[dim];
    return static_cast<size_t>(index);
  };
  bool bijective = elements == layout.numSlots();
  std::vector<Point> back(bijective ? static_cast<size_t>(elements) : 0);
  std::vector<uint8_t> seen(back.size(), 0);
  if (bijective)
    detail::forEachSlot(layout.spec(), [&](const Point &slot, const Point &element) {
      size_t index = indexOf(element);
      bijective = bijective && !seen[index];
      seen[index] = 1;
      back[index] = slot;
    });
  if (!bijective)
    return LayoutError{"the layout is not one-to-one, so it has no inverse"};
  return fitLayout(ins, layout.inDims(),
                   [&](const Point &element) { return back[indexOf(element)]; });
}

Result<Layout> divide(const Layout &layout, const Layout &atom) {
  if (layout.outDims() != atom.outDims())
    return LayoutError{"the layout and the atom lead to different dimensions"};
  auto indivisible = [](Dim dim, int32_t whole, int32_t part) {
    return LayoutError{"the layout has " + std::to_string(whole) + " of '" +
                       std::string(nameOf(dim)) + "', which is no multiple of the atom's " +
                       std::to_string(part)};
  };
  std::vector<InDim> ins;
  for (Dim dim : kAllDims) {
    if (layout.inSize(dim) % atom.inSize(dim) != 0)
      return indivisible(dim, layout.inSize(dim), atom.inSize(dim));
    ins.push_back({dim, layout.inSize(dim) / atom.inSize(dim)});
  }
  std::vector<int32_t> shape;
  for (Dim dim : layout.outDims()) {
    if (layout.outSize(dim) % atom.outSize(dim) != 0)
      return indivisible(dim, layout.outSize(dim), atom.outSize(dim));
    shape.push_back(layout.outSize(dim) / atom.outSize(dim));
  }

  auto quotient = [&](const Point &count) {
    Point slot = count;
    for (Dim dim : layout.inDims())
      slot[dim] *= atom.inSize(dim);
    Point element = layout.apply(slot);
    for (Dim dim : layout.outDims())
      element[dim] /= atom.outSize(dim);
    return element;
  };
  // Atom by atom, from the first: a slot of that one says more than one of a later atom.
  LayoutSpec counting;
  for (const InDim &in : ins)
    counting.repeats.push_back({in.dim, {0, 0}, in.extent});
  std::string error;
  detail::forEachSlot(counting, [&](const Point &count, const Point &) {
    if (!error.empty())
      return;
    Point place = quotient(count);
    for (Dim dim : layout.outDims())
      place[dim] *= atom.outSize(dim);
    detail::forEachSlot(atom.spec(), [&](const Point &inside, const Point &element) {
      Point slot = inside, expected = detail::sumOf(place, element);
      for (Dim dim : layout.inDims())
        slot[dim] += count[dim] * atom.inSize(dim);
      Point found = layout.apply(slot);
      if (error.empty() && !(expected == found))
        error = describeSlot(layout, slot) + " holds " + pointText(found, layout.outDims()) +
                ", the atom asks for " + pointText(expected, layout.outDims()) + " there";
    });
  });
  if (!error.empty())
    return LayoutError{error};
  return fitLayout(ins, layout.outDims(), quotient, shape);
}

Result<Slice> slice(const Layout &layout, Dim axis, int32_t begin, int32_t end) {
  auto axisAt = std::find(layout.outDims().begin(), layout.outDims().end(), axis);
  if (axisAt == layout.outDims().end())
    return LayoutError{"the layout does not lead to '" + std::string(nameOf(axis)) + "'"};
  size_t coordinate = static_cast<size_t>(axisAt - layout.outDims().begin());
  std::string range =
      std::string(nameOf(axis)) + "s [" + std::to_string(begin) + ", " + std::to_string(end) + ")";
  if (begin < 0 || begin >= end || end > layout.outSize(axis))
    return LayoutError{range + " are no part of the " + std::to_string(layout.outSize(axis)) + " " +
                       std::string(nameOf(axis)) + "s of the layout"};

  LayoutSpec spec = detail::toCounters(layout.spec());
  spec.shape = layout.shape();
  spec.shape[coordinate] = end - begin;
  Dim dim = layout.inSize(Dim::Offset) > 1 ? Dim::Offset : Dim::Register;
  // The counters along the axis, the widest step first. Each is fixed or cut; the cut ends it.
  std::vector<size_t> counters;
  for (size_t i = 0; i < spec.repeats.size(); ++i)
    if (spec.repeats[i].step[coordinate] > 0)
      counters.push_back(i);
  std::sort(counters.begin(), counters.end(), [&](size_t a, size_t b) {
    return spec.repeats[a].step[coordinate] > spec.repeats[b].step[coordinate];
  });
  std::vector<int32_t> first(spec.repeats.size(), 0);
  std::vector<int32_t> extents;
  for (const Repeat &repeat : spec.repeats)
    extents.push_back(repeat.extent);
  int32_t low = begin, high = end;
  int32_t below = layout.reach(axis); // what the counters that are left span
  for (size_t i : counters) {
    bool whole = low == 0 && (high == below || end == layout.outSize(axis));
    if (whole)
      break;
    Repeat &counter = spec.repeats[i];
    int32_t step = counter.step[coordinate];
    below -= step * (counter.extent - 1);
    if (counter.dim != dim)
      return LayoutError{range + " are not held by " + std::string(nameOf(dim)) +
                         "s alone: every " + std::to_string(step) + " " +
                         std::string(nameOf(axis)) + "s the " + std::string(nameOf(counter.dim)) +
                         " changes"};
    if (below > step)
      return LayoutError{range + " cannot be cut: groups of " + std::to_string(below) + " " +
                         std::string(nameOf(axis)) + "s start every " + std::to_string(step) +
                         " and overlap"};
    bool endsWhole = high % step == 0 || end == layout.outSize(axis);
    if (low % step == 0 && endsWhole) {
      first[i] = low / step;
      counter.extent = (high + step - 1) / step - first[i];
      low = 0;
      high = below;
      break;
    }
    if (low / step != (high - 1) / step)
      return LayoutError{range + " cut through groups of " + std::to_string(step) +
                         " that stay together"};
    first[i] = low / step;
    counter.extent = 1;
    low -= first[i] * step;
    high -= first[i] * step;
  }
  if (low != 0 || (high != below && end != layout.outSize(axis)))
    return LayoutError{range + " cut through the atom of the layout"};

  Slice result{layout, dim, {}};
  // Old indices, digit by digit: the bases of the dimension first, which are all kept.
  int32_t stride = 1;
  result.kept = {0};
  auto digit = [&](int32_t from, int32_t count, int32_t extent) {
    std::vector<int32_t> next;
    for (int32_t k = from; k < from + count; ++k)
      for (int32_t index : result.kept)
        next.push_back(index + k * stride);
    result.kept = std::move(next);
    stride *= extent;
  };
  for (const Base &base : spec.bases)
    if (base.dim == dim)
      digit(0, 2, 2);
  for (size_t i = 0; i < spec.repeats.size(); ++i)
    if (spec.repeats[i].dim == dim)
      digit(first[i], spec.repeats[i].extent, extents[i]);
  Result<Layout> part = Layout::create(spec);
  if (!part)
    return LayoutError{part.error()};
  result.layout = *part;
  return result;
}

} // namespace girih
