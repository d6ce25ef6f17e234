// One product of the tensor core on operands in blocks, for wgmma and mma.sync: D in planes of 32
// lanes, in either numerics, with each kind of accumulator.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_EMULATOR_UNITS_BLOCKPRODUCT_H
#define GIRIH_EMULATOR_UNITS_BLOCKPRODUCT_H

#include "Emulator/Units/Isa.h"
#include "girih/Emulator/Wgmma.h"

namespace girih::emu {

struct BlockProduct {
  WgmmaType a = WgmmaType::BF16, b = WgmmaType::BF16;
  WgmmaAccumulator d = WgmmaAccumulator::F32;
  uint32_t k = 16;           ///< elements; 64 bits a piece for B1
  uint32_t rowBlocks = 8;    ///< of 8 rows
  uint32_t columnBlocks = 1; ///< of 8 columns
  uint32_t groupBlocks = 2;  ///< row blocks of one warp: 2, or 1 for the shapes with 8 rows
  bool negate = false;
  bool satfinite = false;
  bool exclusiveOr = false; ///< B1: .xor.popc rather than .and.popc
  /// Fraction bits that the alignment of WgmmaNumerics::Hopper keeps.
  int alignedBits = 25;
};

/// D (+)= A B. `a` and `b` are operands as gatherBlocks makes them, B with even columns first.
/// `planes` are those of all warps one after the other: with 32-bit elements, plane 2 groupBlocks j
/// + 2 r + parity of a warp holds, for row block r and column block j, row lane / 4 and column 2
/// (lane % 4) + parity; with an f16 accumulator, plane groupBlocks j + r holds both columns.
void multiplyBlocks(const BlockProduct &product, WgmmaNumerics numerics, const uint8_t *a,
                    const uint8_t *b, bool scaleD, uint32_t *const *planes, Isa isa);

/// The same for a sparse A that has been spread out: `stored[row * k + i]` says whether A holds an
/// element there. An element that it does not hold takes no part, whatever B has there.
void multiplySparseBlocks(const BlockProduct &product, WgmmaNumerics numerics, const uint8_t *a,
                          const bool *stored, const uint8_t *b, bool scaleD,
                          uint32_t *const *planes, Isa isa);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_UNITS_BLOCKPRODUCT_H
