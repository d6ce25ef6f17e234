// Shared-memory buffers and their swizzles (sources in Shared.h).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Layout/Shared.h"

#include <algorithm>
#include <bit>

namespace girih {
namespace {

/// Lines after which every swizzle pattern repeats: its XOR reads three address bits above the
/// line.
constexpr int32_t kPatternLines = 8;
constexpr int32_t kChunkBytes = 16;

/// Panels of `span` bytes along the contiguous dimension; inside, chunks permuted as `swizzle`
/// says.
Result<Layout> panels(int32_t rows, int32_t cols, int32_t elementBytes, int32_t span,
                      Swizzle swizzle, Dim contiguous) {
  if (contiguous != Dim::Row && contiguous != Dim::Col)
    return LayoutError{"the contiguous dimension of a buffer is row or col"};
  if (elementBytes < 1 || elementBytes > 8 ||
      !std::has_single_bit(static_cast<uint32_t>(elementBytes)))
    return LayoutError{"a buffer has elements of 1, 2, 4 or 8 bytes, found " +
                       std::to_string(elementBytes)};
  if (rows < 1 || cols < 1)
    return LayoutError{"a buffer has at least one row and one column, found " +
                       std::to_string(rows) + "x" + std::to_string(cols)};
  int32_t length = contiguous == Dim::Col ? cols : rows;
  int32_t lines = contiguous == Dim::Col ? rows : cols;
  auto vector = [&](int32_t line, int32_t along) {
    return contiguous == Dim::Col ? std::vector<int32_t>{line, along}
                                  : std::vector<int32_t>{along, line};
  };
  LayoutSpec spec;
  spec.shape = {rows, cols};
  if (span == 0) {
    spec.repeats = {{Dim::Offset, vector(0, 1), length}, {Dim::Offset, vector(1, 0), lines}};
    return Layout::create(spec);
  }
  int32_t width = span / elementBytes;
  int32_t count = (length + width - 1) / width;
  if (count > 1 && lines % kPatternLines != 0)
    return LayoutError{
        "a buffer of " + std::to_string(count) + " panels of " + std::to_string(span) +
        " bytes has a multiple of " + std::to_string(kPatternLines) + " " +
        (contiguous == Dim::Col ? "rows" : "columns") + ", found " + std::to_string(lines)};
  for (int32_t along = 1; along < width; along *= 2)
    spec.bases.push_back({Dim::Offset, vector(0, along)});
  // An offset bit of the line flips the chunk as well: the chunk at offset p of line l is p ^
  // flip(l).
  for (int32_t line = 1; line < kPatternLines; line *= 2) {
    uint32_t address = static_cast<uint32_t>(line * span);
    uint32_t flipped =
        (swizzleAddress(address, swizzle) ^ address) / static_cast<uint32_t>(elementBytes);
    spec.bases.push_back({Dim::Offset, vector(line, static_cast<int32_t>(flipped))});
  }
  spec.repeats.push_back(
      {Dim::Offset, vector(kPatternLines, 0), (lines + kPatternLines - 1) / kPatternLines});
  spec.repeats.push_back({Dim::Offset, vector(0, width), count});
  return Layout::create(spec);
}

} // namespace

std::optional<Swizzle> swizzleOfSpan(int32_t bytes) {
  for (Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
    if (static_cast<int32_t>(swizzle) == bytes)
      return swizzle;
  return std::nullopt;
}

uint32_t swizzleAddress(uint32_t address, Swizzle swizzle) {
  // Bits 7.. select, as many as the span has bits of 16-byte chunks.
  uint32_t chunks = static_cast<uint32_t>(std::max(static_cast<int32_t>(swizzle) / kChunkBytes, 1));
  return address ^ (((address >> 7) & (chunks - 1)) << 4);
}

int32_t swizzleAlignment(Swizzle swizzle) {
  return swizzle == Swizzle::None ? 128 : kPatternLines * static_cast<int32_t>(swizzle);
}

Result<Layout> sharedBuffer(int32_t rows, int32_t cols, int32_t elementBytes, Swizzle swizzle,
                            Dim contiguous) {
  return panels(rows, cols, elementBytes, static_cast<int32_t>(swizzle), swizzle, contiguous);
}

Result<Layout> coreMatrixBuffer(int32_t rows, int32_t cols, int32_t elementBytes, Dim contiguous) {
  return panels(rows, cols, elementBytes, kChunkBytes, Swizzle::None, contiguous);
}

int64_t sharedBytes(const Layout &buffer, int32_t elementBytes) {
  return int64_t(buffer.inSize(Dim::Offset)) * elementBytes;
}

} // namespace girih
