// Register layouts by name, from the figures of the PTX ISA (sections in Fragments.h).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Layout/Fragments.h"

#include <algorithm>
#include <bit>

namespace girih {
namespace {

bool isOneOf(int32_t value, std::initializer_list<int32_t> values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

void addBases(LayoutSpec &spec, Dim dim, std::initializer_list<std::vector<int32_t>> vectors) {
  for (const std::vector<int32_t> &vector : vectors)
    spec.bases.push_back({dim, vector});
}

/// Four lanes share 8 rows of 16 bytes, each lane with 32 bits of a row: the shape that all
/// fragments are made of.
LayoutSpec quadAtom(int32_t elementBits) {
  LayoutSpec spec;
  int32_t perLane = 32 / elementBits;
  for (int32_t col = 1; col < perLane; col *= 2)
    spec.bases.push_back({Dim::Register, {0, col}});
  addBases(spec, Dim::Lane, {{0, perLane}, {0, 2 * perLane}, {1, 0}, {2, 0}, {4, 0}});
  return spec;
}

/// Sixteen rows per warp, 64 per warpgroup, m64 blocks of a warpgroup in registers, then warpgroups
/// down the rows.
void addRows(LayoutSpec &spec, int32_t rows, int32_t warpgroups) {
  addBases(spec, Dim::Warp, {{16, 0}, {32, 0}});
  spec.repeats.push_back({Dim::Register, {64, 0}, rows / (64 * warpgroups)});
  spec.repeats.push_back({Dim::Warpgroup, {rows / warpgroups, 0}, warpgroups});
}

std::string rowsError(const char *what, int32_t rows, int32_t warpgroups) {
  if (warpgroups < 1)
    return std::string(what) + " needs at least one warpgroup, found " + std::to_string(warpgroups);
  if (rows < 1 || rows % (64 * int64_t(warpgroups)) != 0)
    return std::string(what) + " of " + std::to_string(warpgroups) +
           " warpgroups has a multiple of " + std::to_string(64 * int64_t(warpgroups)) +
           " rows, found " + std::to_string(rows);
  return {};
}

} // namespace

Result<Layout> wgmmaAccumulator(int32_t rows, int32_t cols, int32_t warpgroups) {
  if (std::string error = rowsError("a wgmma accumulator", rows, warpgroups); !error.empty())
    return LayoutError{error};
  if (cols < 8 || cols % 8 != 0)
    return LayoutError{"a wgmma accumulator has a multiple of 8 columns, found " +
                       std::to_string(cols)};
  LayoutSpec spec = quadAtom(16);
  spec.bases.insert(spec.bases.begin() + 1, {Dim::Register, {8, 0}});
  spec.repeats.push_back({Dim::Register, {0, 8}, cols / 8});
  addRows(spec, rows, warpgroups);
  return Layout::create(spec);
}

Result<Layout> wgmmaOperandA(int32_t rows, int32_t k, int32_t elementBits, int32_t warpgroups) {
  if (std::string error = rowsError("a wgmma operand", rows, warpgroups); !error.empty())
    return LayoutError{error};
  if (!isOneOf(elementBits, {8, 16, 32}))
    return LayoutError{"a wgmma operand has elements of 8, 16 or 32 bits, found " +
                       std::to_string(elementBits)};
  int32_t step = 256 / elementBits;
  if (k < step || k % step != 0)
    return LayoutError{"a wgmma operand of " + std::to_string(elementBits) +
                       "-bit elements has a multiple of " + std::to_string(step) +
                       " columns, found " + std::to_string(k)};
  LayoutSpec spec = quadAtom(elementBits);
  addBases(spec, Dim::Register, {{8, 0}, {0, step / 2}});
  spec.repeats.push_back({Dim::Register, {0, step}, k / step});
  addRows(spec, rows, warpgroups);
  return Layout::create(spec);
}

Result<Layout> matrixFragment(int32_t elementBits, bool trans) {
  return ldmatrixFragment(1, elementBits, trans);
}

Result<Layout> ldmatrixFragment(int32_t count, int32_t elementBits, bool trans) {
  if (!isOneOf(count, {1, 2, 4}))
    return LayoutError{"ldmatrix and stmatrix move 1, 2 or 4 matrices, found " +
                       std::to_string(count)};
  if (!isOneOf(elementBits, {8, 16, 32}))
    return LayoutError{"a matrix has elements of 8, 16 or 32 bits, found " +
                       std::to_string(elementBits)};
  if (trans && elementBits != 16)
    return LayoutError{"ldmatrix and stmatrix transpose elements of 16 bits, found " +
                       std::to_string(elementBits)};
  LayoutSpec spec = quadAtom(elementBits);
  if (trans)
    for (Base &base : spec.bases)
      std::swap(base.to[0], base.to[1]);
  spec.repeats.push_back({Dim::Register, {8, 0}, count});
  return Layout::create(spec);
}

Result<Layout> rowBlocked(int32_t rows, int32_t cols, int32_t vector, int32_t warps,
                          int32_t warpgroups) {
  if (vector < 1 || !std::has_single_bit(static_cast<uint32_t>(vector)))
    return LayoutError{"a vector of a row has a power of two of elements, found " +
                       std::to_string(vector)};
  if (!isOneOf(warps, {1, 2, 4}) || warpgroups < 1)
    return LayoutError{"a tile is shared by 1, 2 or 4 warps of at least one warpgroup, found " +
                       std::to_string(warps) + " of " + std::to_string(warpgroups)};
  if (rows < 1 || cols < 1 || cols % vector != 0)
    return LayoutError{"a row of " + std::to_string(cols) +
                       " elements is no whole number of vectors of " + std::to_string(vector)};
  int32_t vectors = cols / vector;
  int32_t across = std::min(
      32, vectors & -vectors); // lanes along a row: the power of two in the number of vectors
  int32_t lines = 32 / across;
  int32_t pass = lines * warps * warpgroups;
  if (rows % pass != 0)
    return LayoutError{"one pass of all threads takes " + std::to_string(pass) + " rows of " +
                       std::to_string(cols) + " elements, and " + std::to_string(rows) +
                       " rows are no multiple of that"};
  LayoutSpec spec;
  spec.repeats = {{Dim::Register, {0, 1}, vector},
                  {Dim::Register, {0, vector * across}, vectors / across},
                  {Dim::Register, {pass, 0}, rows / pass},
                  {Dim::Lane, {0, vector}, across},
                  {Dim::Lane, {1, 0}, lines},
                  {Dim::Warp, {lines, 0}, warps},
                  {Dim::Warpgroup, {lines * warps, 0}, warpgroups}};
  return Layout::create(spec);
}

} // namespace girih
