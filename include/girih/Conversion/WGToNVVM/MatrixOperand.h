// How wgmma reads a buffer: the constant part of the 64-bit descriptor, and how far its start
// address moves for a k step or for rows further down.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_CONVERSION_WGTONVVM_MATRIXOPERAND_H
#define GIRIH_CONVERSION_WGTONVVM_MATRIXOPERAND_H

#include "girih/Dialect/WG/IR/WG.h"

#include <cstdint>
#include <optional>

namespace girih::wg {

/// Bytes of K that one wgmma consumes of each row, whatever the element type (PTX
/// ISA 9.0, 9.7.15.2, table of shapes).
inline constexpr int64_t kWgmmaKBytes = 32;

/// A shared-memory operand of wgmma as its descriptor says it (PTX ISA 9.0, 9.7.15.5.1.2.2 "Matrix
/// Descriptor Format"). All distances are in the descriptor's unit of 16 bytes. The start address
/// is absolute, and the swizzle acts on absolute address bits, so moving the start inside a pattern
/// is what a k step does and needs no base offset.
struct MatrixOperand {
  /// Bits 16..29 of the descriptor, in place: the leading dimension's byte offset. Add the start
  /// address (in 16 bytes) to get the low half.
  uint32_t low = 0;
  /// The high half: stride byte offset in bits 32..45, swizzle mode in bits 62..63.
  uint32_t high = 0;
  /// Whether the instruction reads the transpose (imm-trans: the operand is M- or N-major).
  bool transposed = false;
  int64_t kStep = 0, kStepsPerPanel = 0, kPanel = 0, rowStep = 0, rowsPerStep = 1;

  /// Distance of the k-th step of 32 bytes.
  int64_t stepOffset(int64_t k) const {
    return k / kStepsPerPanel * kPanel + k % kStepsPerPanel * kStep;
  }
  /// Distance of row `row` of M (or N), a multiple of 64.
  int64_t rowOffset(int64_t row) const { return row / rowsPerStep * rowStep; }
};

/// Describes `buffer` as an operand whose K dimension is logical dimension `kDim` (1 for A, 0 for
/// B). Nothing for what no descriptor can say: a buffer without swizzle, whose lines are not the
/// core matrices that wgmma reads.
std::optional<MatrixOperand> matrixOperand(BufferType buffer, int64_t kDim);

} // namespace girih::wg

#endif // GIRIH_CONVERSION_WGTONVVM_MATRIXOPERAND_H
