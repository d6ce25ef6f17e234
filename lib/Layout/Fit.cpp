// Recovers the atom and the repeats of a map that is given point by point. Composition, inverse
// and quotient compute their maps slot by slot, which is exact, and ask here for the form; a map
// that has none is refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Layout/Algebra.h"

#include "Enumerate.h"

namespace girih {
namespace {

std::vector<int32_t> coordinates(const std::vector<Dim> &dims, const Point &point) {
  std::vector<int32_t> result;
  for (Dim dim : dims)
    result.push_back(point[dim]);
  return result;
}

Point scaled(const Point &point, int32_t factor) {
  Point result = point;
  for (int32_t &x : result.at)
    x *= factor;
  return result;
}

/// The most low bits of an index that act linearly over GF(2).
int linearBits(const std::vector<Point> &values) {
  int bits = 0;
  for (size_t half = 1; values.size() % (2 * half) == 0; half *= 2, ++bits)
    for (size_t i = 0; i < half; ++i)
      if (!(values[half + i] == detail::xorOf(values[half], values[i])))
        return bits;
  return bits;
}

/// Reads values as counters, each the longest run of its step that divides what is left. False if
/// there is none.
bool addCounters(std::vector<Point> values, Dim dim, LayoutSpec &spec) {
  while (values.size() > 1) {
    size_t run = 1;
    while (run < values.size() && values[run] == scaled(values[1], static_cast<int32_t>(run)))
      ++run;
    while (values.size() % run != 0)
      --run;
    if (run == 1)
      return false;
    spec.repeats.push_back({dim, coordinates(spec.outDims, values[1]), static_cast<int32_t>(run)});
    std::vector<Point> rest;
    for (size_t i = 0; i < values.size(); i += run)
      rest.push_back(values[i]);
    values = std::move(rest);
  }
  return true;
}

/// A candidate from what each dimension does alone; whether they act independently is checked by
/// the caller.
std::optional<LayoutSpec> guess(const std::vector<InDim> &in, const std::vector<Dim> &outDims,
                                const std::vector<std::vector<Point>> &alone, bool withAtom) {
  LayoutSpec spec;
  spec.outDims = outDims;
  for (size_t d = 0; d < in.size(); ++d) {
    int bits = withAtom ? linearBits(alone[d]) : 0;
    for (int bit = 0; bit < bits; ++bit)
      spec.bases.push_back({in[d].dim, coordinates(outDims, alone[d][size_t(1) << bit])});
    std::vector<Point> rest;
    for (size_t i = 0; i < alone[d].size(); i += size_t(1) << bits)
      rest.push_back(alone[d][i]);
    if (!addCounters(std::move(rest), in[d].dim, spec))
      return std::nullopt;
  }
  return spec;
}

} // namespace

Result<Layout> fitLayout(const std::vector<InDim> &in, const std::vector<Dim> &outDims,
                         const std::function<Point(const Point &)> &map,
                         std::vector<int32_t> shape) {
  if (Point origin = map(Point()); !(origin == Point()))
    return LayoutError{"the map does not start at zero"};
  std::vector<std::vector<Point>> alone;
  for (const InDim &dim : in) {
    alone.emplace_back();
    for (int32_t i = 0; i < dim.extent; ++i) {
      Point slot;
      slot[dim.dim] = i;
      alone.back().push_back(map(slot));
    }
  }
  for (bool withAtom : {true, false}) {
    std::optional<LayoutSpec> spec = guess(in, outDims, alone, withAtom);
    if (!spec)
      continue;
    bool exact = true;
    detail::forEachSlot(*spec, [&](const Point &slot, const Point &element) {
      exact = exact && map(slot) == element;
    });
    if (!exact)
      continue;
    spec->shape = std::move(shape);
    return Layout::create(*spec);
  }
  return LayoutError{"the map is no power-of-two atom with repeats"};
}

} // namespace girih
