// The product of one wgmma.mma_async on dense operands: D (64 x N) = A (64 x K) * B (K x N) [+ D],
// with D in the registers of four warps. Operands come from gatherOperand (shared memory) or
// gatherFragmentA (registers).
//
// Numbers, mode Exact: the products of one element of D are added in ascending k, each by one fused
// multiply-add in binary32 rounded to nearest even, starting from D, or from +0 when scale-d is 0.
// Every element of D is one such chain, so the result depends neither on the vector width nor on
// the host: without a fused multiply-add the products, which fit binary32, are rounded nowhere, and
// those that do not fit take the C library's fma. A NaN result is the canonical 0x7fffffff, so that
// no host's choice of payload shows. With an f16 accumulator the chain runs in binary32 and is
// rounded to f16 once, at the end of the instruction. Integers add exactly in 32 bits; they wrap,
// or clamp at the end with .satfinite.
//
// Mode Hopper: docs/Numerics.md.
//
// Source of layouts: PTX ISA 9.0, 9.7.15.5.1.1 "Register Fragments", figures for m64nNk16, m64nNk8
// and m64nNk32 (A and D). Lane l of warp w holds, of D, in 32-bit register i: row 16 w + l / 4 + 8
// ((i / 2) % 2), column 8 (i / 4) + 2 (l % 4) + i % 2; with an f16 accumulator, register i holds
// the elements 2 i and 2 i + 1 of that list.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_EMULATOR_WGMMA_H
#define GIRIH_EMULATOR_WGMMA_H

#include <cstdint>
#include <string>

namespace girih::emu {

enum class WgmmaType : uint8_t { F16, BF16, TF32, E4M3, E5M2, S8, U8, B1 };
enum class WgmmaAccumulator : uint8_t { F32, F16, S32 };
/// How the products of an instruction are added; see the head of this file.
enum class WgmmaNumerics : uint8_t { Exact, Hopper };

/// Everything about an instruction but its operands.
struct WgmmaOperation {
  uint32_t n = 8; // 8..256, a multiple of 8
  WgmmaType a = WgmmaType::BF16;
  WgmmaType b = WgmmaType::BF16;
  WgmmaAccumulator d = WgmmaAccumulator::F32;
  bool negateA = false; // imm-scale-a = -1, floating point only
  bool negateB = false;
  bool satfinite = false; // integers only
  bool sparse = false;    // A holds half of its elements, and K is twice as large
};

/// Bytes of an element: 1, 2 or 4; 1 for single bits, eight of which make a byte.
uint32_t wgmmaElementBytes(WgmmaType type);
/// K of the instruction's shape: 32 bytes' worth.
uint32_t wgmmaK(WgmmaType type);
inline uint32_t wgmmaK(const WgmmaOperation &operation) {
  return (operation.sparse ? 2 : 1) * wgmmaK(operation.a);
}
/// 32-bit registers of D in each lane: N / 2, or N / 4 with an f16 accumulator.
uint32_t accumulatorRegisters(const WgmmaOperation &operation);
/// Empty, or why PTX has no such instruction (type combination, N, negation of integers).
std::string checkWgmma(const WgmmaOperation &operation);

/// Row and column of an element of D.
struct FragmentElement {
  uint8_t row = 0;
  uint8_t column = 0;
};
/// Element number `index` (0 .. N/2 - 1, in the order of the vector expression) of D in `lane` of
/// `warp` (0..3).
constexpr FragmentElement accumulatorElement(uint32_t warp, uint32_t lane, uint32_t index) {
  return {static_cast<uint8_t>(16 * warp + lane / 4 + 8 * ((index / 2) % 2)),
          static_cast<uint8_t>(8 * (index / 4) + 2 * (lane % 4) + index % 2)};
}

/// A from registers: `registers[4 * warp + r]` points at the 32 lanes of register r of that warp.
/// Writes 64 rows of 32 bytes, as gatherOperand does.
void gatherFragmentA(const uint32_t *const *registers, uint8_t *dense);

/// The product. `a` and `b` are dense operands: 64 and N rows of 32 bytes. `registers[R * warp +
/// r]`, with R = accumulatorRegisters, points at the 32 lanes (contiguous 32-bit words) of register
/// r of that warp; pointers must be distinct. With `scaleD` false D is overwritten, whatever it
/// held.
void multiplyWgmma(const WgmmaOperation &operation, const uint8_t *a, const uint8_t *b, bool scaleD,
                   uint32_t *const *registers, WgmmaNumerics numerics = WgmmaNumerics::Exact);
/// The same on operands that gatherBlocks or transposeRows has arranged; single bits as elements of
/// 32.
void multiplyWgmmaBlocks(const WgmmaOperation &operation, WgmmaNumerics numerics, const uint8_t *a,
                         const uint8_t *b, bool scaleD, uint32_t *const *registers);
/// With a sparse A: 64 dense rows of what it stores. `metadata` points at the 32 lanes of the
/// register of each warp; `selector` is sp-sel. B has been arranged, 64 bytes of K a row.
void multiplySparseWgmma(const WgmmaOperation &operation, WgmmaNumerics numerics, const uint8_t *a,
                         const uint32_t *const *metadata, uint32_t selector, const uint8_t *b,
                         bool scaleD, uint32_t *const *registers);
/// Lanes of a warp whose metadata name positions that PTX does not allow (9.7.15.6.1).
uint32_t badWgmmaMetadata(const WgmmaOperation &operation, uint32_t selector,
                          const uint32_t *metadata);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_WGMMA_H
