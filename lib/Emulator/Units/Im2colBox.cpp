// Which pixels an im2col copy moves (PTX ISA 9.0, 5.5.4).
//
// The base of the filter walks through the box between the corners, W fastest, each dimension by
// its traversal stride; past the end of a row it starts again at the lower corner of the next. The
// offsets say which of the filter's elements is meant: they shift the box and what walks in it. An
// image that ends is followed by the next one; the traversal stride does not apply to images.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Emulator/TmaBox.h"

namespace girih::emu {

void TmaBox::layPixels(const uint16_t *given) {
  rows = map.pixels;
  for (uint32_t d = 1; d + 1 < map.rank; ++d) {
    lower[d] = map.lowerCorner[d - 1];
    upper[d] = static_cast<int64_t>(map.dims[d]) - 1 + map.upperCorner[d - 1];
    offset[d] = given ? given[d - 1] : 0;
  }
}

TmaRow TmaBox::pixelRow(uint32_t index) const {
  TmaRow row;
  row.width = width;
  row.shared = shared + index * pitch;
  row.skip = width;

  // Steps along W; what goes past the end carries over to H, and so on.
  int64_t steps = index, address = static_cast<int64_t>(map.globalAddress);
  bool inside = true;
  for (uint32_t d = 1; d + 1 < map.rank; ++d) {
    const int64_t stride = map.elementStrides[d];
    const int64_t fromHere = (upper[d] - origin[d]) / stride + 1;
    const int64_t whole = (upper[d] - lower[d]) / stride + 1;
    int64_t base, carry = 0;
    if (steps < fromHere) {
      base = origin[d] + steps * stride;
    } else {
      steps -= fromHere;
      base = lower[d] + steps % whole * stride;
      carry = 1 + steps / whole;
    }
    const int64_t position = base + offset[d];
    inside &= position >= 0 && position < static_cast<int64_t>(map.dims[d]);
    address += position * static_cast<int64_t>(map.strides[d]);
    steps = carry;
  }
  const uint32_t last = map.rank - 1;
  const int64_t image = origin[last] + steps;
  inside &= image >= 0 && image < static_cast<int64_t>(map.dims[last]);
  address += image * static_cast<int64_t>(map.strides[last]);
  if (inside)
    innerRow(row, address);
  return row;
}

std::string TmaBox::checkPixels() const {
  if (map.kind != TensorMapKind::Im2col)
    return {};
  // 5.5.4.1: offsets have 16, 8 or 5 bits.
  const int64_t limit = map.rank == 3 ? 65536 : map.rank == 4 ? 256 : 32;
  for (uint32_t d = 1; d + 1 < map.rank; ++d) {
    if (origin[d] < lower[d] || origin[d] > upper[d])
      return "coordinate " + std::to_string(d) + " of an im2col copy is " +
             std::to_string(origin[d]) + ", outside the map's pixel box, " +
             std::to_string(lower[d]) + " to " + std::to_string(upper[d]);
    if (offset[d] >= limit)
      return "the im2col offset of dimension " + std::to_string(d) + " is " +
             std::to_string(offset[d]) + "; for rank " + std::to_string(map.rank) +
             " it must be less than " + std::to_string(limit);
  }
  return {};
}

} // namespace girih::emu
