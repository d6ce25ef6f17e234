// Structured sparsity of A.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator/Units/Sparse.h"

#include <algorithm>
#include <cstring>

namespace girih::emu {
namespace {

/// Lane and first bit of a group.
struct Place {
  uint32_t lane, shift;
};
Place place(const SparseFormat &format, uint32_t row, uint32_t group) {
  const uint32_t first = 4 * (row % 8), upper = row / 8;
  if (format.groups == 4)
    return {first + format.selector, 16 * upper + 4 * group};
  if (format.groups == 8 && format.elementBits >= 16)
    return {first + 2 * format.selector + group / 4, 16 * upper + 4 * (group % 4)};
  if (format.groups == 8)
    return {first + 2 * format.selector + upper, 4 * group};
  return {first + 2 * (group / 8) + upper, 4 * (group % 8)};
}

} // namespace

uint32_t sparseGroup(const SparseFormat &format, const uint32_t *metadata, uint32_t row,
                     uint32_t group) {
  Place at = place(format, row, group);
  return metadata[at.lane] >> at.shift & 15;
}

uint32_t sparseLane(const SparseFormat &format, uint32_t row, uint32_t group) {
  return place(format, row, group).lane;
}

bool sparseGroupValid(const SparseFormat &format, uint32_t bits, bool ordered) {
  if (format.elementBits == 32)
    return bits == 0b0100 || bits == 0b1110;
  const uint32_t first = bits & 3, second = bits >> 2;
  return ordered ? first < second : first != second;
}

uint32_t badSparseLanes(const SparseFormat &format, const uint32_t *metadata, bool ordered) {
  uint32_t bad = 0;
  for (uint32_t row = 0; row < 16; ++row)
    for (uint32_t group = 0; group < format.groups; ++group)
      if (!sparseGroupValid(format, sparseGroup(format, metadata, row, group), ordered))
        bad |= 1u << sparseLane(format, row, group);
  return bad;
}

void spreadSparse(const SparseFormat &format, const uint32_t *metadata, uint32_t elementBytes,
                  uint32_t k, const uint8_t *packed, uint8_t *spread, bool *stored) {
  constexpr uint32_t kRows = 16;
  std::memset(spread, 0, size_t(kRows) * k * elementBytes);
  std::fill(stored, stored + size_t(kRows) * k, false);
  // Elements that one index places: pairs of four-bit integers move together.
  const uint32_t unit = format.elementBits == 4 ? 2 : 1;
  const uint32_t units = format.elementBits == 32 ? 1 : 2, chunk = 2 * units;
  for (uint32_t row = 0; row < kRows; ++row)
    for (uint32_t group = 0; group < format.groups; ++group) {
      const uint32_t bits = sparseGroup(format, metadata, row, group);
      for (uint32_t i = 0; i < units; ++i) {
        const uint32_t index = units == 1 ? bits >> 3 : bits >> 2 * i & 3;
        const uint32_t to = row * k + (group * chunk + index) * unit;
        std::memcpy(spread + size_t(to) * elementBytes,
                    packed + size_t(row * k / 2 + (group * units + i) * unit) * elementBytes,
                    size_t(unit) * elementBytes);
        std::fill(stored + to, stored + to + unit, true);
      }
    }
}

} // namespace girih::emu
