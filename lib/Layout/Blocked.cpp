// Layouts for coalesced access; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Layout/Blocked.h"

#include <algorithm>
#include <numeric>

namespace girih {
namespace {

/// Shares out a tile: each part of the hardware takes a factor of what is left of a dimension.
class Shares {
public:
  explicit Shares(const Extents &shape) : left(shape), step(shape.size(), 1), stride(shape.size()) {
    int32_t rows = 1;
    for (size_t i = shape.size() - 1; i-- > 0; rows *= shape[i])
      stride[i] = rows;
    spec.shape = {rows, shape.back()};
  }

  /// `count` indices of `dim` walk along dimension i of the tile.
  void take(Dim dim, size_t i, int32_t count) {
    bool isCol = i + 1 == left.size();
    spec.repeats.push_back({dim, {isCol ? 0 : step[i] * stride[i], isCol ? step[i] : 0}, count});
    step[i] *= count;
    left[i] /= count;
  }

  /// `count` indices of `dim` walk along the dimensions in this order, as far as they divide; those
  /// that are left over hold the same.
  void spread(Dim dim, const std::vector<size_t> &order, int32_t count) {
    for (size_t i : order) {
      int32_t factor = std::gcd(count, left[i]);
      take(dim, i, factor);
      count /= factor;
    }
    spec.repeats.push_back({dim, {0, 0}, count});
  }

  /// All that is left, in registers.
  void rest(const std::vector<size_t> &order) {
    for (size_t i : order)
      take(Dim::Register, i, left[i]);
  }

  LayoutSpec spec;

private:
  Extents left;
  std::vector<int32_t> step, stride;
};

} // namespace

static std::optional<LayoutError> threadsError(int32_t warps, int32_t warpgroups) {
  if ((warps == 1 || warps == 2 || warps == 4) && warpgroups >= 1)
    return std::nullopt;
  return LayoutError{"a tile is shared by 1, 2 or 4 warps of at least one warpgroup, found " +
                     std::to_string(warps) + " of " + std::to_string(warpgroups)};
}

Result<Layout> blocked(const Extents &shape, int32_t fastest, int32_t vector, int32_t warps,
                       int32_t warpgroups) {
  if (shape.empty() || fastest < 0 || fastest >= static_cast<int32_t>(shape.size()))
    return LayoutError{"a tile of " + std::to_string(shape.size()) +
                       " dimensions has no dimension " + std::to_string(fastest)};
  size_t fast = static_cast<size_t>(fastest);
  if (vector < 1 || shape[fast] % vector != 0)
    return LayoutError{"an extent of " + std::to_string(shape[fast]) +
                       " is no whole number of vectors of " + std::to_string(vector)};
  if (auto error = threadsError(warps, warpgroups))
    return *error;
  std::vector<size_t> order = {fast};
  for (size_t i = shape.size(); i-- > 0;)
    if (i != fast)
      order.push_back(i);
  std::vector<size_t> slowestFirst(order.rbegin(), order.rend());

  Shares shares(shape);
  shares.take(Dim::Register, fast, vector);
  shares.spread(Dim::Lane, order, 32);
  shares.spread(Dim::Warp, slowestFirst, warps);
  shares.spread(Dim::Warpgroup, slowestFirst, warpgroups);
  shares.rest(order);
  return Layout::create(shares.spec);
}

Result<Layout> innermost(const Extents &shape, int32_t group, int32_t warps, int32_t warpgroups) {
  if (auto error = threadsError(warps, warpgroups))
    return *error;
  if (shape.empty() || group < 1 || shape.back() % group != 0)
    return LayoutError{"the last extent is no multiple of " + std::to_string(group)};
  Shares shares(shape);
  std::vector<size_t> last = {shape.size() - 1}, all;
  for (size_t i = shape.size(); i-- > 0;)
    all.push_back(i);
  for (auto [dim, count] :
       {std::pair(Dim::Lane, 32), {Dim::Warp, warps}, {Dim::Warpgroup, warpgroups}}) {
    int32_t taken = std::gcd(group, count);
    shares.take(dim, last.front(), taken);
    shares.spread(dim, {}, count / taken);
    group /= taken;
  }
  shares.rest(all);
  return Layout::create(shares.spec);
}

} // namespace girih
