// Numbering of the slots that hold one element; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Layout/Replicas.h"

#include "Enumerate.h"
#include "Memo.h"

#include <algorithm>

namespace girih {
namespace {

/// Vectors over GF(2), to tell one that those before it span.
class Span {
public:
  explicit Span(size_t coordinates) : coordinates(coordinates) {}

  /// Adds a vector; false if it is in the span already.
  bool add(const std::vector<int32_t> &vector) {
    std::vector<int32_t> rest = vector;
    for (const std::vector<int32_t> &known : basis) {
      auto [coordinate, bit] = leading(known);
      if (rest[coordinate] >> bit & 1)
        for (size_t i = 0; i < coordinates; ++i)
          rest[i] ^= known[i];
    }
    if (std::all_of(rest.begin(), rest.end(), [](int32_t x) { return x == 0; }))
      return false;
    basis.push_back(rest);
    return true;
  }

private:
  /// The highest bit of the first coordinate that is not zero.
  static std::pair<size_t, int> leading(const std::vector<int32_t> &vector) {
    for (size_t i = 0; i < vector.size(); ++i)
      for (int bit = 30; bit >= 0; --bit)
        if (vector[i] >> bit & 1)
          return {i, bit};
    return {0, 0};
  }

  size_t coordinates;
  std::vector<std::vector<int32_t>> basis;
};

Result<Layout> numbered(const Layout &layout) {
  LayoutSpec spec;
  spec.outDims = {Dim::Row};
  int32_t copies = 1;
  Span span(layout.outDims().size());
  for (const Base &base : layout.spec().bases) {
    bool fresh = span.add(base.to);
    spec.bases.push_back({base.dim, {fresh ? 0 : copies}});
    copies *= fresh ? 1 : 2;
  }
  for (const Repeat &repeat : layout.spec().repeats) {
    bool fresh =
        std::any_of(repeat.step.begin(), repeat.step.end(), [](int32_t x) { return x != 0; });
    spec.repeats.push_back({repeat.dim, {fresh ? 0 : copies}, repeat.extent});
    copies *= fresh ? 1 : repeat.extent;
  }
  Result<Layout> replicas = Layout::create(spec);
  if (!replicas)
    return replicas;
  // Both maps have the same slots, in the same order of visit.
  std::vector<uint8_t> owns;
  detail::forEachSlot(replicas->spec(), [&](const Point &, const Point &number) {
    owns.push_back(number[Dim::Row] == 0);
  });
  detail::Numbering numbering(layout);
  std::vector<uint8_t> owners(numbering.count(), 0);
  size_t slot = 0;
  detail::forEachSlot(layout.spec(), [&](const Point &, const Point &element) {
    if (owns[slot++] && numbering.contains(element))
      owners[numbering.of(element)] += owners[numbering.of(element)] < 2;
  });
  if (std::any_of(owners.begin(), owners.end(), [](uint8_t count) { return count != 1; }))
    return LayoutError{"which slots hold the same element has no form of an atom with repeats"};
  return replicas;
}

} // namespace

Result<Layout> replicasOf(const Layout &layout) {
  thread_local detail::Memo<Result<Layout>> memo;
  return memo.get(detail::Question().add(layout), [&] { return numbered(layout); });
}

} // namespace girih
