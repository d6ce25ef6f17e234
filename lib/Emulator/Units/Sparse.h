// Structured sparsity of A: where its elements belong, from metadata in registers.
//
// PTX ISA 9.0, 9.7.14.6.1 and 9.7.15.6.1 "Sparse matrix storage". Of each chunk of a row (4
// elements; 2 of tf32; 8 four-bit ones, taken in pairs) half is stored, and four bits say which:
// two indices of two bits, or for tf32 0b0100 (the first) or 0b1110 (the second). Sixteen of these
// four-bit groups of a row make the unit below: with S such groups in a row of A,
//   S = 4    one lane of each four holds row l / 4 in its low and row l / 4 + 8 in its high half;
//            the selector says which lane
//   S = 8    two lanes, 2 selector and the next. 16-bit and tf32 elements: the first lane holds the
//            first four groups of both rows, as above, the second lane the others. 8-bit and 4-bit:
//            the first lane holds row l / 4, the second row l / 4 + 8
//   S = 16   four lanes (8-bit and 4-bit): lanes 0 and 1 the first 8 groups of row l / 4 and l / 4
//   +
//            8, lanes 2 and 3 the others
// The ISA shows this in figures 119 to 147 only.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_EMULATOR_UNITS_SPARSE_H
#define GIRIH_EMULATOR_UNITS_SPARSE_H

#include <cstdint>

namespace girih::emu {

/// The metadata of one warp: 16 rows of A.
struct SparseFormat {
  uint32_t groups = 8;       ///< four-bit groups in a row: 4, 8 or 16
  uint32_t elementBits = 16; ///< of A: 4, 8, 16 or 32 (tf32)
  uint32_t selector = 0;
};

/// The four bits of group `group` of row `row` (0..15); `metadata` are the 32 lanes of the
/// register.
uint32_t sparseGroup(const SparseFormat &format, const uint32_t *metadata, uint32_t row,
                     uint32_t group);
/// Lane that holds it.
uint32_t sparseLane(const SparseFormat &format, uint32_t row, uint32_t group);
/// Whether the four bits mean something.
bool sparseGroupValid(const SparseFormat &format, uint32_t bits, bool ordered);

/// Lanes that hold four bits which mean nothing.
uint32_t badSparseLanes(const SparseFormat &format, const uint32_t *metadata, bool ordered);

/// Spreads 16 rows of stored elements (4-bit ones as bytes) to twice their length, zeros between;
/// `stored[row * k + i]` says where. `elementBytes` 1, 2 or 4; `k` elements a row afterwards.
void spreadSparse(const SparseFormat &format, const uint32_t *metadata, uint32_t elementBytes,
                  uint32_t k, const uint8_t *packed, uint8_t *spread, bool *stored);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_UNITS_SPARSE_H
