// What mma.sync, mma.sp and wmma.mma compute, on registers of one warp.
//
// Fragments (PTX ISA 9.0, 9.7.14.5.1 to 9.7.14.5.14; 9.7.14.6.2 for sparse A). All shapes with N =
// 8 but m8n8k4 are one rule. Packed along K, a row of A or a column of B is a row of 32-bit words
// (or of f64). Lane l holds, in register r of A, word l % 4 + 4 (r / (M / 8)) of row l / 4 + 8 (r %
// (M / 8)); in register r of B word l % 4 + 4 r of column l / 4; and of C and D, in element i, row
// l / 4 + 8 (i / 2), column 2 (l % 4) + i % 2. Sparse A has half as many words, in the same places.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_EMULATOR_UNITS_MMA_H
#define GIRIH_EMULATOR_UNITS_MMA_H

#include "Emulator/Units/Isa.h"
#include "girih/Emulator/Wgmma.h"

#include <cstdint>

namespace girih::emu {

/// Elements of A or B, four-bit integers included.
enum class MmaType : uint8_t { F16, BF16, TF32, E4M3, E5M2, S8, U8, S4, U4, B1 };
uint32_t mmaElementBits(MmaType type);

struct MmaOperation {
  uint32_t m = 16, n = 8, k = 16; ///< wmma has n = 16 and 32 too
  MmaType a = MmaType::F16, b = MmaType::F16;
  WgmmaAccumulator d = WgmmaAccumulator::F32;
  bool satfinite = false;
  bool exclusiveOr = false; ///< single bits: .xor.popc
  bool sparse = false;
  uint32_t selector = 0; ///< which lanes of four hold the metadata
};

/// 32-bit registers of A, B and D in each lane.
uint32_t mmaRegistersA(const MmaOperation &operation);
uint32_t mmaRegistersB(const MmaOperation &operation);
uint32_t mmaRegistersD(const MmaOperation &operation);

/// Lanes whose metadata name positions that PTX does not allow (an index twice, or, of tf32, a
/// value that is neither 0b0100 nor 0b1110). With `ordered`, indices must ascend.
uint32_t badMetadata(const MmaOperation &operation, const uint32_t *metadata, bool ordered);

/// D = A B + C for the shapes with N = 8. Every pointer is to the 32 lanes of a register; `d` holds
/// C before. `metadata` is of sparse operations.
void multiplyMma(const MmaOperation &operation, WgmmaNumerics numerics, const uint32_t *const *a,
                 const uint32_t *const *b, const uint32_t *metadata, uint32_t *const *d, Isa isa);

/// The same on dense operands: m rows and n columns, each packed along K.
void multiplyDense(const MmaOperation &operation, WgmmaNumerics numerics, const uint8_t *a,
                   const uint8_t *b, uint32_t *const *d, Isa isa);

/// f64 (9.7.14.5.2, 9.7.14.5.3): fused multiply-adds in ascending k. `rounding` is a mode of
/// std::fesetround.
void multiplyMmaF64(uint32_t m, uint32_t k, const double *const *a, const double *const *b,
                    double *const *d, int rounding);

/// m8n8k4 on f16: four products at once, each by 8 lanes (9.7.14.5.1).
struct QuadPairOperation {
  bool rowA = true, rowB = false; ///< layouts
  bool f32D = true, f32C = true;
};
void multiplyQuadPairs(const QuadPairOperation &operation, const uint32_t *const *a,
                       const uint32_t *const *b, const uint32_t *const *c, uint32_t *const *d);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_UNITS_MMA_H
