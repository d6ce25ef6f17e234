// What wgmma.mma_async computes: which types there are, where A's registers go, and the product of
// 64 rows on the kernels that it shares with mma.sync.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Emulator/Wgmma.h"

#include "Emulator/Units/BlockProduct.h"
#include "Emulator/Units/Sparse.h"
#include "girih/Emulator/MatrixDescriptor.h"

#include <cstring>

namespace girih::emu {
namespace {

constexpr uint32_t kRows = 64;
constexpr uint32_t kRowBytes = 32;
constexpr uint32_t kLanes = 32;

bool isInteger(WgmmaType type) {
  return type == WgmmaType::S8 || type == WgmmaType::U8 || type == WgmmaType::B1;
}
bool isFp8(WgmmaType type) { return type == WgmmaType::E4M3 || type == WgmmaType::E5M2; }

} // namespace

uint32_t wgmmaElementBytes(WgmmaType type) {
  return type == WgmmaType::TF32 ? 4 : type == WgmmaType::F16 || type == WgmmaType::BF16 ? 2 : 1;
}

uint32_t wgmmaK(WgmmaType type) {
  return type == WgmmaType::B1 ? 8 * kRowBytes : kRowBytes / wgmmaElementBytes(type);
}

uint32_t accumulatorRegisters(const WgmmaOperation &operation) {
  return operation.d == WgmmaAccumulator::F16 ? operation.n / 4 : operation.n / 2;
}

std::string checkWgmma(const WgmmaOperation &op) {
  bool integers = isInteger(op.a);
  if (integers != isInteger(op.b) || (op.a == WgmmaType::B1) != (op.b == WgmmaType::B1) ||
      (!(integers || (isFp8(op.a) && isFp8(op.b))) && op.a != op.b))
    return "wgmma takes A and B of the same type; only e4m3 with e5m2 and s8 with u8 may be mixed";
  if (op.n < 8 || op.n > 256 || op.n % 8)
    return "wgmma has N = " + std::to_string(op.n) + "; it must be a multiple of 8, 8 to 256";
  // PTX ISA 9.0, 9.7.15.2 "Matrix Shape": integers have N = 8, 16, 24, 32, then multiples of 16.
  if (integers && op.n > 32 && op.n % 16)
    return "wgmma on integers has N = " + std::to_string(op.n) +
           "; above 32 it must be a multiple of 16";
  if (integers != (op.d == WgmmaAccumulator::S32))
    return integers ? "wgmma on integers accumulates in s32 only"
                    : "wgmma on floating-point types does not accumulate in s32";
  if (op.d == WgmmaAccumulator::F16 && (op.a == WgmmaType::BF16 || op.a == WgmmaType::TF32))
    return "wgmma on bf16 or tf32 accumulates in f32 only";
  if (integers && (op.negateA || op.negateB))
    return "wgmma on integers cannot negate its operands";
  if (op.a == WgmmaType::B1 && op.satfinite)
    return "wgmma on single bits has no .satfinite";
  if (!integers && op.satfinite)
    return "wgmma on floating-point types has no .satfinite";
  return {};
}

void gatherFragmentA(const uint32_t *const *registers, uint8_t *dense) {
  for (uint32_t warp = 0; warp < 4; ++warp)
    for (uint32_t r = 0; r < 4; ++r) {
      const uint32_t *lanes = registers[4 * warp + r];
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        uint32_t row = 16 * warp + lane / 4 + 8 * (r % 2);
        std::memcpy(dense + row * kRowBytes + 4 * (lane % 4) + 16 * (r / 2), &lanes[lane], 4);
      }
    }
}

namespace {
BlockProduct blockProduct(const WgmmaOperation &operation) {
  BlockProduct product;
  product.a = operation.a;
  product.b = operation.b;
  product.d = operation.d;
  product.k = wgmmaK(operation);
  product.columnBlocks = operation.n / 8;
  product.negate = operation.negateA != operation.negateB;
  product.satfinite = operation.satfinite;
  product.alignedBits = isFp8(operation.a) ? 13 : 25;
  return product;
}
SparseFormat sparseFormat(const WgmmaOperation &operation, uint32_t selector) {
  const uint32_t bits = 8 * wgmmaElementBytes(operation.a);
  return {wgmmaK(operation) / (bits == 32 ? 2 : 4), bits, selector};
}
} // namespace

void multiplyWgmmaBlocks(const WgmmaOperation &operation, WgmmaNumerics numerics, const uint8_t *a,
                         const uint8_t *b, bool scaleD, uint32_t *const *registers) {
  multiplyBlocks(blockProduct(operation), numerics, a, b, scaleD, registers, activeIsa());
}

void multiplySparseWgmma(const WgmmaOperation &operation, WgmmaNumerics numerics, const uint8_t *a,
                         const uint32_t *const *metadata, uint32_t selector, const uint8_t *b,
                         bool scaleD, uint32_t *const *registers) {
  const uint32_t k = wgmmaK(operation), elementBytes = wgmmaElementBytes(operation.a);
  alignas(64) uint8_t spread[kRows * 2 * kRowBytes], blocks[kRows * 2 * kRowBytes];
  bool stored[kRows * 2 * kRowBytes];
  for (uint32_t warp = 0; warp < 4; ++warp)
    spreadSparse(sparseFormat(operation, selector), metadata[warp], elementBytes, k,
                 a + warp * 16 * kRowBytes, spread + warp * 16 * 2 * kRowBytes,
                 stored + warp * 16 * k);
  transposeRows(spread, kRows, 2 * kRowBytes, elementBytes, false, blocks);
  multiplySparseBlocks(blockProduct(operation), numerics, blocks, stored, b, scaleD, registers,
                       activeIsa());
}

uint32_t badWgmmaMetadata(const WgmmaOperation &operation, uint32_t selector,
                          const uint32_t *metadata) {
  return badSparseLanes(sparseFormat(operation, selector), metadata, false);
}

void multiplyWgmma(const WgmmaOperation &operation, const uint8_t *a, const uint8_t *b, bool scaleD,
                   uint32_t *const *registers, WgmmaNumerics numerics) {
  alignas(64) uint8_t blocksA[kRows * kRowBytes], blocksB[kOperandMaxRows * kRowBytes];
  const uint32_t elementBytes = operation.a == WgmmaType::B1 ? 4 : wgmmaElementBytes(operation.a);
  transposeRows(a, kRows, kRowBytes, elementBytes, false, blocksA);
  transposeRows(b, operation.n, kRowBytes, elementBytes, true, blocksB);
  multiplyWgmmaBlocks(operation, numerics, blocksA, blocksB, scaleD, registers);
}

} // namespace girih::emu
