// The bytes that one TMA copy touches: a box of a tensor at signed coordinates, as rows and
// as runs of bytes that are contiguous on both sides. The caller moves the bytes, in any order and
// in any number of pieces; this file says only where they are.
//
// Shared memory holds the rows of the box one after the other, dimension 1 fastest, swizzled on
// absolute address bits. A row is as wide as the box's dimension 0 or, when the swizzle's span is
// wider, as that span: the CUDA C++ Programming Guide 13.0 ("The Swizzle Modes", Considerations)
// asks for room for the full swizzle width then, and the XOR of 16-byte granules with the row
// number (Table "Swizzle Pattern Pointer Offset", where the row of a 128-byte line is counted from
// the absolute address) needs it; that the rows are spaced by the span is inferred. Sources: PTX
// ISA 9.0, 5.5.3 "Tiled mode" and 5.5.7 "Swizzling Modes"; CUDA driver API, cuTensorMapEncodeTiled.
//
// A copy in im2col mode (PTX ISA 9.0, 5.5.4) has the same shape: a row is the channels of a pixel.
// Pixels follow each other along W, then H, D and N, each inside the box between the map's corners,
// which the instruction's offsets shift.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_EMULATOR_TMABOX_H
#define GIRIH_EMULATOR_TMABOX_H

#include "girih/Emulator/TensorMap.h"

#include <algorithm>

namespace girih::emu {

/// One line of the box along dimension 0. The bytes [0, skip) and [skip + bytes, width) are out of
/// bounds.
struct TmaRow {
  uint64_t global = 0; // address of the first byte in bounds; meaningless when bytes is 0
  uint32_t skip = 0;   // bytes of the row before it
  uint32_t bytes = 0;  // bytes in bounds, 0 when the whole row lies outside
  uint32_t width = 0;  // bytes of the row, in bounds or not
  uint32_t shared = 0; // shared-memory address of the row's first byte, before the swizzle
};

/// Bytes contiguous in shared memory and, when in bounds, in global memory.
struct TmaRun {
  uint64_t global = 0; // 0 when not in bounds
  uint32_t shared = 0; // shared-memory address, swizzled
  uint32_t bytes = 0;  // at most 16 with a swizzle, and then inside one 16-byte granule
  bool inBounds = false;
};

/// A box of `map` at `coordinates` (rank entries, elements, may lie outside on either side) and at
/// `sharedAddress` (128-byte aligned, which `checkTmaBox` verifies).
class TmaBox {
public:
  /// `offsets`: of an im2col load, one for each dimension but the first and the last; null: zero.
  TmaBox(const TensorMap &map, const int32_t *coordinates, uint32_t sharedAddress,
         const uint16_t *offsets = nullptr);

  /// Lines along dimension 0.
  uint32_t rowCount() const { return rows; }
  /// Line `index`, dimension 1 fastest.
  TmaRow row(uint32_t index) const;
  /// Bytes that complete_tx counts: the whole box, out-of-bounds part included, padding of rows
  /// not.
  uint64_t bytes() const { return static_cast<uint64_t>(rows) * width; }
  /// First shared-memory address, and bytes up to the end of the last row, padding included. The
  /// swizzle permutes granules inside spans that start at multiples of their size, so it never
  /// leaves this range.
  uint32_t sharedBegin() const { return shared; }
  uint32_t sharedBytes() const { return rows * pitch; }
  /// Distance of two rows in shared memory: the row's bytes, or the swizzle's span when that is
  /// wider.
  uint32_t rowPitch() const { return pitch; }
  Swizzle swizzle() const { return mode; }

  /// Of an im2col copy: empty, or which coordinate lies outside the box of the corners, or which
  /// offset is too large.
  std::string checkPixels() const;

  /// Calls `visit(const TmaRun &)` for every run of a row, in order of dimension 0. A store skips
  /// runs that are not in bounds; a load fills them (fillOutOfBounds).
  template <typename Visitor> void runsOfRow(const TmaRow &row, Visitor &&visit) const {
    uint32_t end = row.skip + row.bytes;
    uint32_t offset = 0;
    while (offset < row.width) {
      bool in = offset >= row.skip && offset < end;
      uint32_t stop = offset < row.skip ? row.skip : in ? end : row.width;
      uint32_t address = row.shared + offset;
      if (mode != Swizzle::None)
        stop = std::min(stop, offset + 16 - (address & 15));
      visit(TmaRun{in ? row.global + (offset - row.skip) : 0, swizzleAddress(address, mode),
                   stop - offset, in});
      offset = stop;
    }
  }
  /// All runs of rows [first, last).
  template <typename Visitor> void runs(uint32_t first, uint32_t last, Visitor &&visit) const {
    for (uint32_t index = first; index < last; ++index)
      runsOfRow(row(index), visit);
  }
  template <typename Visitor> void runs(Visitor &&visit) const { runs(0, rows, visit); }

  /// Copies or fills the whole of a row into `sharedBytes0`, the host address of shared-memory
  /// address 0, from `source`, the host address of row.global (unused when row.bytes is 0).
  void loadRow(const TmaRow &row, const uint8_t *source, uint8_t *sharedBytes0) const;
  /// Copies the in-bounds part of a row to `destination`, the host address of row.global.
  void storeRow(const TmaRow &row, const uint8_t *sharedBytes0, uint8_t *destination) const;
  /// Writes the fill value for `count` out-of-bounds bytes of a run.
  void fillOutOfBounds(uint8_t *destination, uint32_t count) const;

private:
  TmaRow pixelRow(uint32_t index) const;
  /// Fills in what of the row's dimension 0 lies inside the tensor; `address` is that of element 0.
  void innerRow(TmaRow &row, int64_t address) const;
  void layPixels(const uint16_t *given);

  TensorMap map;
  std::array<int64_t, kMaxTensorRank> origin{};
  std::array<uint32_t, kMaxTensorRank> counts{};
  /// Im2col: bounds of the box by dimension, before the offsets are added.
  std::array<int64_t, kMaxTensorRank> lower{}, upper{}, offset{};
  Swizzle mode;
  uint32_t shared, rows, width, pitch;
};

/// What a copy of this box requires of its shared-memory side: 128-byte alignment of the address
/// and all bytes inside [sharedBase, sharedEnd). Empty, or a sentence with the values.
std::string checkTmaBox(const TmaBox &box, uint32_t sharedBase, uint32_t sharedEnd);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_TMABOX_H
