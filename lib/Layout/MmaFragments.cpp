// Fragments of mma.sync, from the figures of the PTX ISA (sections in the header).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Layout/MmaFragments.h"

#include <numeric>

namespace girih {
namespace {

constexpr int32_t kRows = 16, kCols = 8;

std::string multipleError(const char *what, int32_t found, int32_t of) {
  if (found >= of && found % of == 0)
    return {};
  return "a product of mma.sync has a multiple of " + std::to_string(of) + " " + what + ", found " +
         std::to_string(found);
}

/// Why there is no such product; empty if there is.
std::string shareError(const MmaShare &share, int32_t elementBits) {
  if ((share.warps != 1 && share.warps != 2 && share.warps != 4) || share.warpgroups < 1)
    return "a tile is shared by 1, 2 or 4 warps of at least one warpgroup, found " +
           std::to_string(share.warps) + " of " + std::to_string(share.warpgroups);
  if (elementBits != 8 && elementBits != 16 && elementBits != 32 && elementBits != 64)
    return "an operand of mma.sync has elements of 8, 16, 32 or 64 bits, found " +
           std::to_string(elementBits);
  for (std::string error :
       {multipleError("rows", share.rows, kRows), multipleError("columns", share.cols, kCols)})
    if (!error.empty())
      return error;
  return {};
}

/// How many warps of a warpgroup, and how many warpgroups, have rows of their own, and columns.
struct Split {
  int32_t warpRows, warpCols, groupRows, groupCols;

  explicit Split(const MmaShare &share) {
    int32_t rows = share.rows / kRows, cols = share.cols / kCols;
    warpRows = std::gcd(rows, share.warps);
    groupRows = std::gcd(rows / warpRows, share.warpgroups);
    warpCols = std::gcd(cols, share.warps / warpRows);
    int32_t left = share.warpgroups / groupRows;
    groupCols = std::gcd(cols / warpCols, left & -left);
  }
};

/// Four lanes share a line of 16 bytes (of 32 with 64-bit elements), eight of them a block:
/// elements of a line are along `along`, lines along the other dimension.
LayoutSpec quads(int32_t elementBits, Dim along) {
  LayoutSpec spec;
  auto add = [&](Dim dim, int32_t within, int32_t line) {
    spec.bases.push_back(
        {dim, along == Dim::Col ? std::vector{line, within} : std::vector{within, line}});
  };
  int32_t perLane = elementBits < 32 ? 32 / elementBits : 1;
  for (int32_t element = 1; element < perLane; element *= 2)
    add(Dim::Register, element, 0);
  add(Dim::Lane, perLane, 0);
  add(Dim::Lane, 2 * perLane, 0);
  for (int32_t line : {1, 2, 4})
    add(Dim::Lane, 0, line);
  return spec;
}

/// The blocks of rows of a thread, and those of other warps and warpgroups.
void addRows(LayoutSpec &spec, const MmaShare &share, const Split &split) {
  int32_t step = kRows * split.warpRows;
  spec.repeats.push_back({Dim::Register, {step, 0}, share.rows / split.groupRows / step});
}

/// The blocks of columns of a thread.
void addCols(LayoutSpec &spec, const MmaShare &share, const Split &split) {
  int32_t step = kCols * split.warpCols * split.groupCols;
  spec.repeats.push_back({Dim::Register, {0, step}, share.cols / step});
}

/// Where the tiles of other warps and warpgroups begin; an operand knows only one of the two
/// directions.
void addWarps(LayoutSpec &spec, const MmaShare &share, const Split &split, bool hasRows,
              bool hasCols) {
  auto add = [&](Dim dim, int32_t rowStep, int32_t rows, int32_t colStep, int32_t cols,
                 int32_t all) {
    spec.repeats.push_back({dim, {hasRows ? rowStep : 0, 0}, rows});
    spec.repeats.push_back({dim, {0, hasCols ? colStep : 0}, cols});
    spec.repeats.push_back({dim, {0, 0}, all / rows / cols});
  };
  add(Dim::Warp, kRows, split.warpRows, kCols, split.warpCols, share.warps);
  add(Dim::Warpgroup, share.rows / split.groupRows, split.groupRows, kCols * split.warpCols,
      split.groupCols, share.warpgroups);
}

} // namespace

int32_t mmaDepth(int32_t elementBits) { return elementBits == 64 ? 8 : 256 / elementBits; }

/// Why an operand cannot be shared so; empty if it can.
static std::string operandError(const MmaShare &share, int32_t elementBits) {
  std::string error = shareError(share, elementBits);
  return error.empty() ? multipleError("elements of K", share.depth, mmaDepth(elementBits)) : error;
}

Result<Layout> mmaAccumulator(const MmaShare &share) {
  if (std::string error = shareError(share, 32); !error.empty())
    return LayoutError{error};
  Split split(share);
  LayoutSpec spec = quads(16, Dim::Col); // two columns of a row in each lane
  spec.bases.insert(spec.bases.begin() + 1, {Dim::Register, {8, 0}});
  addCols(spec, share, split);
  addRows(spec, share, split);
  addWarps(spec, share, split, true, true);
  return Layout::create(spec);
}

Result<Layout> mmaOperandA(const MmaShare &share, int32_t elementBits) {
  int32_t step = mmaDepth(elementBits);
  if (std::string error = operandError(share, elementBits); !error.empty())
    return LayoutError{error};
  Split split(share);
  LayoutSpec spec = quads(elementBits, Dim::Col);
  spec.bases.push_back({Dim::Register, {8, 0}});
  spec.bases.push_back({Dim::Register, {0, step / 2}});
  spec.repeats.push_back({Dim::Register, {0, step}, share.depth / step});
  addRows(spec, share, split);
  addWarps(spec, share, split, true, false);
  return Layout::create(spec);
}

Result<Layout> mmaOperandB(const MmaShare &share, int32_t elementBits) {
  int32_t step = mmaDepth(elementBits);
  if (std::string error = operandError(share, elementBits); !error.empty())
    return LayoutError{error};
  Split split(share);
  LayoutSpec spec = quads(elementBits, Dim::Row);
  spec.bases.push_back({Dim::Register, {step / 2, 0}});
  spec.repeats.push_back({Dim::Register, {step, 0}, share.depth / step});
  addCols(spec, share, split);
  addWarps(spec, share, split, false, true);
  return Layout::create(spec);
}

} // namespace girih
