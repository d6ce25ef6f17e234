// Digits along a dimension; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Layout/Reduction.h"

#include "girih/Layout/Replicas.h"

#include "Memo.h"

#include <algorithm>
#include <bit>

namespace girih {
namespace {

constexpr int32_t kWarpsPerGroup = 4;

/// A digit of an index: index / stride % extent.
struct Digit {
  Dim dim;
  int32_t stride, extent;
};

Point slotAt(Dim dim, int32_t index) {
  Point slot;
  slot[dim] = index;
  return slot;
}

/// The digits of the canonical form, bits of counters apart. A counter that walks on from one
/// dimension of the tile into the next, as over rows that are two dimensions, is one digit for
/// each.
std::vector<Digit> digitsOf(const Layout &layout, const Extents &shape) {
  std::vector<Digit> digits;
  for (Dim dim : {Dim::Register, Dim::Lane, Dim::Warp, Dim::Warpgroup}) {
    int32_t stride = 1;
    auto add = [&](int32_t extent) {
      digits.push_back({dim, stride, extent});
      stride *= extent;
    };
    // How many steps from 0 the digit that begins at `stride` stays in the dimensions of its first.
    auto straight = [&](int32_t extent) {
      Extents first = indexOf(shape, layout.apply(slotAt(dim, stride)));
      for (int32_t count = 2; count < extent; ++count) {
        Extents index = indexOf(shape, layout.apply(slotAt(dim, stride * count)));
        for (size_t i = 0; i < index.size(); ++i)
          if (index[i] != count * first[i])
            return extent % count == 0 ? count : extent;
      }
      return extent;
    };
    for (const Base &base : layout.spec().bases)
      if (base.dim == dim)
        add(2);
    for (const Repeat &repeat : layout.spec().repeats)
      if (repeat.dim == dim)
        for (int32_t left = repeat.extent; left > 1;) {
          bool bits = std::has_single_bit(static_cast<uint32_t>(left));
          int32_t extent = bits ? 2 : straight(left);
          add(extent);
          left /= extent;
        }
  }
  return digits;
}

Result<Reduction> analysed(const Layout &layout, const Extents &shape, int32_t dim) {
  bool whole = shape.size() == 1;
  Result<Layout> reduced = whole ? Result<Layout>(layout) : reduceOf(layout, shape, dim);
  if (!reduced)
    return LayoutError{reduced.error()};
  Result<Layout> replicas = replicasOf(layout);
  if (!replicas)
    return LayoutError{replicas.error()};

  Result<Layout> none = Layout::create({{Dim::Row}, {}, {}, {}});
  Reduction result{{}, {}, whole ? 1 : reduced->inSize(Dim::Register), 0, 0, *none, *none, 1};
  LayoutSpec firstWarp{{Dim::Row}, {}, {}, {}}, laneSlot = firstWarp;
  for (const Digit &digit : digitsOf(layout, shape)) {
    Point slot = slotAt(digit.dim, digit.stride);
    Extents index = indexOf(shape, layout.apply(slot));
    int32_t along = index[static_cast<size_t>(dim)];
    index[static_cast<size_t>(dim)] = 0;
    bool elsewhere = std::any_of(index.begin(), index.end(), [](int32_t x) { return x != 0; });
    bool replica = replicas->apply(slot)[Dim::Row] != 0;
    std::string name =
        "every " + std::to_string(digit.stride) + " of '" + std::string(nameOf(digit.dim)) + "'";
    if (replica && (along || elsewhere))
      return LayoutError{name + " moves to an element that other indices reach together"};
    if (along && elsewhere)
      return LayoutError{name + " moves along dimension " + std::to_string(dim) +
                         " and along another one at once"};
    int32_t factor = digit.dim == Dim::Warpgroup ? kWarpsPerGroup : 1;
    if (along)
      result.digits.push_back({digit.dim == Dim::Warpgroup ? Dim::Warp : digit.dim,
                               digit.stride * factor, digit.extent, along});
    if (digit.dim == Dim::Lane) {
      if (along)
        result.laneBits |= digit.stride;
      if (replica)
        result.laneReplicas |= digit.stride;
      laneSlot.bases.push_back({Dim::Lane, {along || replica ? 0 : result.laneSlots}});
      result.laneSlots *= along || replica ? 1 : 2;
    }
    if (digit.dim == Dim::Warp || digit.dim == Dim::Warpgroup)
      firstWarp.repeats.push_back({digit.dim, {along ? 0 : digit.stride * factor}, digit.extent});
  }
  Result<Layout> first = Layout::create(firstWarp), slot = Layout::create(laneSlot);
  if (!first || !slot)
    return LayoutError{first ? slot.error() : first.error()};
  result.firstWarp = *first;
  result.laneSlot = *slot;

  for (int32_t reg = 0; reg < layout.inSize(Dim::Register); ++reg) {
    Point at = slotAt(Dim::Register, reg);
    if (replicas->apply(at)[Dim::Row] != 0) {
      result.resultOf.push_back(-1);
      continue;
    }
    int32_t number = 0;
    if (!whole) {
      Extents index = indexOf(shape, layout.apply(at)), rest = shape;
      index.erase(index.begin() + dim);
      rest.erase(rest.begin() + dim);
      Point element = elementOf(rest, index);
      while (!(reduced->apply(slotAt(Dim::Register, number)) == element))
        ++number;
    }
    result.resultOf.push_back(number);
  }
  return result;
}

} // namespace

bool Reduction::acrossWarps() const {
  return std::any_of(digits.begin(), digits.end(),
                     [](const DigitAlong &digit) { return digit.dim == Dim::Warp; });
}

Result<Reduction> analyseReduction(const Layout &layout, const Extents &shape, int32_t dim) {
  thread_local detail::Memo<Result<Reduction>> memo;
  return memo.get(detail::Question().add(layout).add(shape).add(dim),
                  [&] { return analysed(layout, shape, dim); });
}

Result<std::vector<DigitAlong>> scanOrder(const Reduction &reduction, int32_t extent) {
  std::vector<DigitAlong> digits = reduction.digits;
  std::sort(digits.begin(), digits.end(),
            [](const DigitAlong &a, const DigitAlong &b) { return a.step < b.step; });
  std::vector<DigitAlong> joined;
  int32_t reached = 1;
  for (const DigitAlong &digit : digits) {
    if (digit.step != reached)
      return LayoutError{"the elements along the dimension are not counted through by registers, "
                         "lanes and warps: after " +
                         std::to_string(reached) + " of them comes a step of " +
                         std::to_string(digit.step)};
    reached *= digit.extent;
    // Warps that follow each other are one digit: they exchange what they have once.
    if (!joined.empty() && digit.dim == Dim::Warp && joined.back().dim == Dim::Warp &&
        joined.back().stride * joined.back().extent == digit.stride)
      joined.back().extent *= digit.extent;
    else
      joined.push_back(digit);
  }
  if (reached != extent)
    return LayoutError{"registers, lanes and warps reach " + std::to_string(reached) +
                       " elements along the dimension of " + std::to_string(extent)};
  return joined;
}

} // namespace girih
