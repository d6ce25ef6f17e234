// The 64-bit descriptor of a wgmma operand in shared memory, and the walk over the bytes that it
// names. An operand is `mn` rows (64 for A, N for B) of 32 bytes of K: 16 elements of 2 bytes, 8 of
// 4, or 32 of 1.
//
// Source: PTX ISA 9.0, 9.7.15.5.1.2 "Shared Memory Matrix Layout" (strides, canonical layouts)
// and 9.7.15.5.1.2.2 "Matrix Descriptor Format". With T elements in 16 bytes, the canonical layouts
// before the swizzle are, for an element (row r of M or N, column c of K), in bytes from the start
// address, and S the swizzle's span:
//
//   K-major, no swizzle    (r % 8) * 16 + (r / 8) * SBO + (c % T) * size + (c / T) * LBO
//   K-major, S-byte        (r % 8) * S  + (r / 8) * SBO + c * size                        (LBO not
//   used) MN-major, no swizzle   (r % T) * size + (r / T) * SBO + (c % 8) * 16 + (c / 8) * LBO
//   MN-major, S-byte       (r % U) * size + (r / U) * LBO + (c % 8) * S  + (c / 8) * SBO  with U =
//   S / size
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_EMULATOR_MATRIXDESCRIPTOR_H
#define GIRIH_EMULATOR_MATRIXDESCRIPTOR_H

#include "girih/Emulator/Swizzle.h"

#include <cstdint>
#include <string>
#include <vector>

namespace girih::emu {

/// The dimension that is contiguous in memory. MN is what imm-trans-a / imm-trans-b = 1 selects.
enum class Major : uint8_t { K, MN };

/// The fields, in bytes.
struct MatrixDescriptor {
  uint32_t start = 0;      // shared-memory address, a multiple of 16 below 2^18
  uint32_t leading = 0;    // leading dimension byte offset, LBO
  uint32_t stride = 0;     // stride dimension byte offset, SBO
  uint32_t baseOffset = 0; // 0..7
  Swizzle swizzle = Swizzle::None;
};

MatrixDescriptor decodeMatrixDescriptor(uint64_t bits);
/// The inverse; fields are masked as matrix-descriptor-encode does.
uint64_t encodeMatrixDescriptor(const MatrixDescriptor &descriptor);

/// Bytes of K in one row of an operand, whatever the element.
inline constexpr uint32_t kOperandRowBytes = 32;
/// Most rows of an operand (N = 256).
inline constexpr uint32_t kOperandMaxRows = 256;

/// What an instruction reads through a descriptor.
struct OperandShape {
  uint32_t rows = 64;        // 64 for A, N for B: a multiple of 8, at most 256
  uint32_t elementBytes = 2; // 1, 2 or 4
  Major major = Major::K;    // MN only with 2-byte elements
  uint32_t rowBytes =
      kOperandRowBytes; // bytes of K in a row: twice as many for B of a sparse wgmma
};

/// Shared memory as the caller holds it: `data` is the host address of shared-memory address
/// `base`.
struct SharedView {
  const uint8_t *data = nullptr;
  uint32_t base = 0;
  uint32_t size = 0;
};

/// Whole 16-byte granules, contiguous.
struct GranuleRun {
  uint32_t address = 0; // multiple of 16
  uint32_t bytes = 0;   // multiple of 16
};

/// Checks a descriptor against what is documented. Empty, or one sentence with field, value and
/// expectation:
/// - MN-major with elements that are not 2 bytes wide (no such instruction);
/// - the base offset is not the one that the start address asks for: 0 when the pattern starts on
/// its
///   256/512/1024-byte boundary, otherwise (pattern start >> 7) & 7;
/// - reserved bits are set (pass the raw bits);
/// - a granule outside [sharedBase, sharedEnd).
std::string checkMatrixDescriptor(uint64_t bits, const OperandShape &shape, uint32_t sharedBase,
                                  uint32_t sharedEnd);

/// The granules that the instruction reads, neighbours merged, in no particular order; replaces the
/// contents of `runs`. At most 512 granules.
void operandRuns(const MatrixDescriptor &descriptor, const OperandShape &shape,
                 std::vector<GranuleRun> &runs);

/// What an instruction does with a descriptor, worked out once: few descriptors occur, again and
/// again.
struct OperandPlan {
  std::string problem; ///< what checkMatrixDescriptor says
  std::vector<GranuleRun> runs;
  std::vector<uint32_t> granules; ///< addresses in the order in which gatherBlocks reads them
};
/// `evenOdd` is for B: the rows of a block in the order 0, 2, 4, 6, 1, 3, 5, 7.
OperandPlan planOperand(uint64_t bits, const OperandShape &shape, bool evenOdd, uint32_t sharedBase,
                        uint32_t sharedEnd);
/// Gathers the operand as the product takes it: for each block of 8 rows and each k, 8 elements.
/// `shared` is the host address of shared-memory address 0.
void gatherBlocks(const OperandPlan &plan, const OperandShape &shape, bool evenOdd,
                  const uint8_t *shared, uint8_t *blocks);
/// The same from rows of `rowBytes` bytes that are already dense.
void transposeRows(const uint8_t *dense, uint32_t rows, uint32_t rowBytes, uint32_t elementBytes,
                   bool evenOdd, uint8_t *blocks);

/// Gathers the operand: rows * rowBytes bytes, row r of M or N at dense + rowBytes * r, K ascending
/// within it. Returns false, with `dense` unspecified, if a granule lies outside the view
/// (checkMatrixDescriptor says which).
bool gatherOperand(const MatrixDescriptor &descriptor, const OperandShape &shape,
                   const SharedView &shared, uint8_t *dense);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_MATRIXDESCRIPTOR_H
