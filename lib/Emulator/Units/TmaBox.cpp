// Where the bytes of a TMA box lie.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Emulator/TmaBox.h"

#include <cstring>

namespace girih::emu {

TmaBox::TmaBox(const TensorMap &tensorMap, const int32_t *coordinates, uint32_t sharedAddress,
               const uint16_t *offsets)
    : map(tensorMap), mode(tensorMap.swizzle), shared(sharedAddress), rows(1),
      width(tensorMap.boxDims[0] * tensorMap.elementBytes()) {
  pitch = mode == Swizzle::None ? width : std::max(width, swizzleSpan(mode));
  counts.fill(1);
  for (uint32_t d = 0; d < map.rank; ++d) {
    origin[d] = coordinates[d];
    if (d > 0) {
      counts[d] = map.boxCount(d);
      rows *= counts[d];
    }
  }
  if (map.kind == TensorMapKind::Im2col)
    layPixels(offsets);
}

TmaRow TmaBox::row(uint32_t index) const {
  if (map.kind == TensorMapKind::Im2col)
    return pixelRow(index);
  TmaRow row;
  row.width = width;
  row.shared = shared + index * pitch;
  row.skip = width;

  int64_t address = static_cast<int64_t>(map.globalAddress);
  for (uint32_t d = 1; d < map.rank; ++d) {
    uint32_t step = index;
    if (d + 1 < map.rank) {
      step = index % counts[d];
      index /= counts[d];
    }
    int64_t position = origin[d] + int64_t(step) * map.elementStrides[d];
    if (position < 0 || position >= static_cast<int64_t>(map.dims[d]))
      return row;
    address += position * static_cast<int64_t>(map.strides[d]);
  }

  innerRow(row, address);
  return row;
}

void TmaBox::innerRow(TmaRow &row, int64_t address) const {
  int64_t first = std::max<int64_t>(0, -origin[0]);
  int64_t last = std::min<int64_t>(map.boxDims[0], static_cast<int64_t>(map.dims[0]) - origin[0]);
  if (first >= last)
    return;
  int64_t size = map.elementBytes();
  row.skip = static_cast<uint32_t>(first * size);
  row.bytes = static_cast<uint32_t>((last - first) * size);
  row.global = static_cast<uint64_t>(address + (origin[0] + first) * size);
}

void TmaBox::loadRow(const TmaRow &row, const uint8_t *source, uint8_t *sharedBytes0) const {
  if (row.bytes == 128 && row.width == 128 && mode == Swizzle::B128 && row.shared % 128 == 0) {
    // The most frequent row: all of its granules are permuted by one number.
    uint8_t *to = sharedBytes0 + row.shared;
    const uint32_t turn = (row.shared >> 3) & swizzleMask(mode);
    for (uint32_t offset = 0; offset < 128; offset += 16)
      std::memcpy(to + (offset ^ turn), source + offset, 16);
    return;
  }
  if (row.bytes == row.width && mode != Swizzle::None && row.shared % 16 == 0) {
    for (uint32_t offset = 0; offset < row.width; offset += 16)
      std::memcpy(sharedBytes0 + swizzleAddress(row.shared + offset, mode), source + offset, 16);
    return;
  }
  runsOfRow(row, [&](const TmaRun &run) {
    if (run.inBounds)
      std::memcpy(sharedBytes0 + run.shared, source + (run.global - row.global), run.bytes);
    else
      fillOutOfBounds(sharedBytes0 + run.shared, run.bytes);
  });
}

void TmaBox::storeRow(const TmaRow &row, const uint8_t *sharedBytes0, uint8_t *destination) const {
  if (row.bytes == row.width && mode != Swizzle::None && row.shared % 16 == 0) {
    for (uint32_t offset = 0; offset < row.width; offset += 16)
      std::memcpy(destination + offset, sharedBytes0 + swizzleAddress(row.shared + offset, mode),
                  16);
    return;
  }
  runsOfRow(row, [&](const TmaRun &run) {
    if (run.inBounds)
      std::memcpy(destination + (run.global - row.global), sharedBytes0 + run.shared, run.bytes);
  });
}

void TmaBox::fillOutOfBounds(uint8_t *destination, uint32_t count) const {
  if (map.fill == TensorFill::Zero) {
    std::memset(destination, 0, count);
    return;
  }
  // The chip's "special NaN" is not documented bit by bit; the canonical NaN that PTX uses for the
  // type (all bits but the sign) stands in for it. Runs begin and end between elements, so whole
  // elements are written.
  uint32_t size = map.elementBytes();
  for (uint32_t at = 0; at < count; ++at)
    destination[at] = at % size == size - 1 ? 0x7f : 0xff;
}

std::string checkTmaBox(const TmaBox &box, uint32_t sharedBase, uint32_t sharedEnd) {
  auto text = [](uint64_t value) { return std::to_string(value); };
  if (box.sharedBegin() % 128)
    return "the shared-memory address of a tensor copy is " + text(box.sharedBegin()) +
           "; it must be a multiple of 128";
  uint64_t end = uint64_t(box.sharedBegin()) + box.sharedBytes();
  if (box.sharedBegin() < sharedBase || end > sharedEnd)
    return "the box covers shared-memory bytes " + text(box.sharedBegin()) + " to " + text(end) +
           " (" + text(box.rowCount()) + " rows of " + text(box.rowPitch()) +
           " bytes), but shared memory is " + text(sharedBase) + " to " + text(sharedEnd);
  return {};
}

} // namespace girih::emu
