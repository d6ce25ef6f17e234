// Fragments of mma.sync to dense rows, and the products that the host computes on them.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator/Units/Mma.h"

#include "Emulator/Units/BlockProduct.h"
#include "Emulator/Units/Sparse.h"
#include "girih/Emulator/FloatFormats.h"
#include "girih/Emulator/MatrixDescriptor.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace girih::emu {
namespace {

constexpr uint32_t kLanes = 32;
constexpr uint32_t kMaxRows = 32;
constexpr uint32_t kMaxRowBytes = 128;

bool isFp8(MmaType type) { return type == MmaType::E4M3 || type == MmaType::E5M2; }

/// The type that the blocks hold: four-bit integers are widened to bytes.
WgmmaType blockType(MmaType type) {
  switch (type) {
  case MmaType::F16:
    return WgmmaType::F16;
  case MmaType::BF16:
    return WgmmaType::BF16;
  case MmaType::TF32:
    return WgmmaType::TF32;
  case MmaType::E4M3:
    return WgmmaType::E4M3;
  case MmaType::E5M2:
    return WgmmaType::E5M2;
  case MmaType::S8:
  case MmaType::S4:
    return WgmmaType::S8;
  case MmaType::U8:
  case MmaType::U4:
    return WgmmaType::U8;
  case MmaType::B1:
    return WgmmaType::B1;
  }
  return WgmmaType::F16;
}
uint32_t blockElementBytes(MmaType type) {
  return type == MmaType::B1 ? 4 : std::max(8u, mmaElementBits(type)) / 8;
}

void widenFourBit(MmaType type, const uint8_t *from, uint8_t *to, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    for (uint32_t half = 0; half < 2; ++half) {
      uint8_t value = from[i] >> (4 * half) & 15;
      to[2 * i + half] = type == MmaType::S4 && value >= 8 ? value | 0xf0 : value;
    }
}

/// f16 of every code of an 8-bit format; all are exact.
const std::array<uint16_t, 256> &halvesOf(MmaType type) {
  auto make = [](auto widen) {
    std::array<uint16_t, 256> table;
    for (uint32_t code = 0; code < 256; ++code)
      table[code] = floatToF16(widen(static_cast<uint8_t>(code)));
    return table;
  };
  static const auto e4m3 = make([](uint8_t code) { return e4m3ToFloat(code); });
  static const auto e5m2 = make([](uint8_t code) { return e5m2ToFloat(code); });
  return type == MmaType::E4M3 ? e4m3 : e5m2;
}

BlockProduct blockProduct(const MmaOperation &op) {
  BlockProduct product;
  product.a = blockType(op.a);
  product.b = blockType(op.b);
  product.d = op.d;
  product.k = op.k;
  product.rowBlocks = op.m / 8;
  product.columnBlocks = op.n / 8;
  product.groupBlocks = op.m == 8 ? 1 : 2;
  product.satfinite = op.satfinite;
  product.exclusiveOr = op.exclusiveOr;
  return product;
}

/// Rows of elements as blocks, multiplied.
void multiplyRows(const BlockProduct &product, WgmmaNumerics numerics, uint32_t rowBytes,
                  uint32_t elementBytes, const uint8_t *a, const bool *stored, const uint8_t *b,
                  bool scaleD, uint32_t *const *d, Isa isa) {
  alignas(64) uint8_t blocksA[kMaxRows * kMaxRowBytes], blocksB[kMaxRows * kMaxRowBytes];
  transposeRows(a, product.rowBlocks * 8, rowBytes, elementBytes, false, blocksA);
  transposeRows(b, product.columnBlocks * 8, rowBytes, elementBytes, true, blocksB);
  if (stored)
    multiplySparseBlocks(product, numerics, blocksA, stored, blocksB, scaleD, d, isa);
  else
    multiplyBlocks(product, numerics, blocksA, blocksB, scaleD, d, isa);
}

/// 8-bit floats as the chip has them: mma.sync on them is two products on f16 (what the assembler
/// emits for sm_90a shows it), of the pairs of K that come first in each word and of the others;
/// C is added at the end, rounded to nearest.
void multiplyFp8Hopper(const MmaOperation &op, const uint8_t *a, const bool *stored,
                       const uint8_t *b, uint32_t *const *d, Isa isa) {
  const uint32_t half = op.k / 2;
  // Sparse: whole chunks of four elements.
  const uint32_t run = op.sparse ? 4 : 2;
  uint32_t storage[4][kLanes] = {}, *sums[4] = {storage[0], storage[1], storage[2], storage[3]};
  BlockProduct product = blockProduct(op);
  product.a = product.b = WgmmaType::F16;
  product.k = half;
  for (uint32_t part = 0; part < 2; ++part) {
    alignas(16) uint16_t x[16 * 64], y[8 * 64];
    bool kept[16 * 64];
    for (uint32_t i = 0; i < half; ++i) {
      const uint32_t from = 2 * run * (i / run) + run * part + i % run;
      for (uint32_t row = 0; row < 16; ++row) {
        x[row * half + i] = halvesOf(op.a)[a[row * op.k + from]];
        kept[row * half + i] = !stored || stored[row * op.k + from];
      }
      for (uint32_t column = 0; column < 8; ++column)
        y[column * half + i] = halvesOf(op.b)[b[column * op.k + from]];
    }
    multiplyRows(product, WgmmaNumerics::Hopper, 2 * half, 2, reinterpret_cast<uint8_t *>(x),
                 stored ? kept : nullptr, reinterpret_cast<uint8_t *>(y), part > 0, sums, isa);
  }
  for (uint32_t r = 0; r < mmaRegistersD(op); ++r)
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      uint32_t &word = d[r][lane];
      if (op.d == WgmmaAccumulator::F32) {
        float sum = std::bit_cast<float>(word) + std::bit_cast<float>(sums[r][lane]);
        word = sum == sum ? std::bit_cast<uint32_t>(sum) : 0x7fffffffu;
        continue;
      }
      uint32_t result = 0;
      for (uint32_t shift = 0; shift < 32; shift += 16)
        result |= uint32_t(floatToF16(f16ToFloat(static_cast<uint16_t>(word >> shift)) +
                                      f16ToFloat(static_cast<uint16_t>(sums[r][lane] >> shift))))
                  << shift;
      word = result;
    }
}

} // namespace

uint32_t mmaElementBits(MmaType type) {
  switch (type) {
  case MmaType::F16:
  case MmaType::BF16:
    return 16;
  case MmaType::TF32:
    return 32;
  case MmaType::S4:
  case MmaType::U4:
    return 4;
  case MmaType::B1:
    return 1;
  default:
    return 8;
  }
}
uint32_t mmaRegistersA(const MmaOperation &op) {
  return op.m * op.k * mmaElementBits(op.a) / (op.sparse ? 2 : 1) / 32 / kLanes;
}
uint32_t mmaRegistersB(const MmaOperation &op) {
  return op.n * op.k * mmaElementBits(op.b) / 32 / kLanes;
}
uint32_t mmaRegistersD(const MmaOperation &op) {
  return op.m * op.n / kLanes / (op.d == WgmmaAccumulator::F16 ? 2 : 1);
}

namespace {
SparseFormat sparseFormat(const MmaOperation &op) {
  const uint32_t bits = mmaElementBits(op.a);
  const uint32_t chunk = bits == 32 ? 2 : bits == 4 ? 8 : 4;
  return {op.k / chunk, bits, op.selector};
}
} // namespace

uint32_t badMetadata(const MmaOperation &op, const uint32_t *metadata, bool ordered) {
  return badSparseLanes(sparseFormat(op), metadata, ordered);
}

void multiplyMma(const MmaOperation &op, WgmmaNumerics numerics, const uint32_t *const *a,
                 const uint32_t *const *b, const uint32_t *metadata, uint32_t *const *d, Isa isa) {
  const uint32_t bits = mmaElementBits(op.a), halves = op.m / 8;
  const uint32_t wordsB = op.k * bits / 32, wordsA = op.sparse ? wordsB / 2 : wordsB;
  if (!op.sparse && bits != 4 && !(isFp8(op.a) && numerics == WgmmaNumerics::Hopper)) {
    // A register is 8 rows (or columns) of 16 bytes already.
    alignas(64) uint8_t blocksA[16 * kMaxRowBytes], blocksB[8 * kMaxRowBytes];
    const uint32_t elementBytes = blockElementBytes(op.a);
    for (uint32_t r = 0; r < mmaRegistersA(op); ++r)
      transposeRows(reinterpret_cast<const uint8_t *>(a[r]), 8, 16, elementBytes, false,
                    blocksA + r % halves * 8 * wordsB * 4 + r / halves * 128);
    for (uint32_t r = 0; r < mmaRegistersB(op); ++r)
      transposeRows(reinterpret_cast<const uint8_t *>(b[r]), 8, 16, elementBytes, true,
                    blocksB + r * 128);
    return multiplyBlocks(blockProduct(op), numerics, blocksA, blocksB, true, d, isa);
  }
  alignas(64) uint32_t rowsA[16 * kMaxRowBytes / 4], rowsB[8 * kMaxRowBytes / 4];
  for (uint32_t r = 0; r < mmaRegistersA(op); ++r)
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      rowsA[(lane / 4 + 8 * (r % halves)) * wordsA + lane % 4 + 4 * (r / halves)] = a[r][lane];
  for (uint32_t r = 0; r < mmaRegistersB(op); ++r)
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      rowsB[lane / 4 * wordsB + lane % 4 + 4 * r] = b[r][lane];
  const uint8_t *denseA = reinterpret_cast<const uint8_t *>(rowsA);
  const uint8_t *denseB = reinterpret_cast<const uint8_t *>(rowsB);
  if (!op.sparse)
    return multiplyDense(op, numerics, denseA, denseB, d, isa);
  alignas(64) uint8_t wideA[16 * kMaxRowBytes], wideB[8 * kMaxRowBytes], spread[16 * kMaxRowBytes];
  bool stored[16 * kMaxRowBytes];
  if (bits == 4) {
    widenFourBit(op.a, denseA, wideA, size_t(16) * wordsA * 4);
    widenFourBit(op.b, denseB, wideB, size_t(8) * wordsB * 4);
    denseA = wideA;
    denseB = wideB;
  }
  const uint32_t elementBytes = blockElementBytes(op.a);
  spreadSparse(sparseFormat(op), metadata, elementBytes, op.k, denseA, spread, stored);
  if (isFp8(op.a) && numerics == WgmmaNumerics::Hopper)
    return multiplyFp8Hopper(op, spread, stored, denseB, d, isa);
  multiplyRows(blockProduct(op), numerics, op.k * elementBytes, elementBytes, spread, stored,
               denseB, true, d, isa);
}

void multiplyDense(const MmaOperation &op, WgmmaNumerics numerics, const uint8_t *a,
                   const uint8_t *b, uint32_t *const *d, Isa isa) {
  const uint32_t bits = mmaElementBits(op.a);
  alignas(64) uint8_t wideA[kMaxRows * kMaxRowBytes], wideB[kMaxRows * kMaxRowBytes];
  if (bits == 4) {
    widenFourBit(op.a, a, wideA, size_t(op.m) * op.k / 2);
    widenFourBit(op.b, b, wideB, size_t(op.n) * op.k / 2);
    a = wideA;
    b = wideB;
  }
  if (isFp8(op.a) && numerics == WgmmaNumerics::Hopper)
    return multiplyFp8Hopper(op, a, nullptr, b, d, isa);
  const uint32_t rowBytes = op.k * std::max(bits, bits == 4 ? 8u : bits) / 8;
  multiplyRows(blockProduct(op), numerics, rowBytes, blockElementBytes(op.a), a, nullptr, b, true,
               d, isa);
}

void multiplyQuadPairs(const QuadPairOperation &op, const uint32_t *const *a,
                       const uint32_t *const *b, const uint32_t *const *c, uint32_t *const *d) {
  auto half = [](const uint32_t *const *registers, uint32_t lane, uint32_t i) {
    return f16ToFloat(static_cast<uint16_t>(registers[i / 2][lane] >> 16 * (i % 2)));
  };
  for (uint32_t pair = 0; pair < 4; ++pair) {
    float x[8][4], y[4][8], sum[8][8];
    auto element = [&](bool f32, uint32_t lane, uint32_t i) -> float & {
      const uint32_t upper = lane >= 16 ? 4 : 0;
      if (f32)
        return sum[(lane & 1) + (i & 2) + upper][(i & 4) + (lane & 2) + (i & 1)];
      return sum[lane % 4 + upper][i];
    };
    auto lanes = [&](auto f) {
      for (uint32_t i = 0; i < 4; ++i) {
        f(4 * pair + i);
        f(16 + 4 * pair + i);
      }
    };
    lanes([&](uint32_t lane) {
      const uint32_t own = lane % 4, upper = lane >= 16 ? 4 : 0;
      for (uint32_t i = 0; i < 4; ++i) {
        (op.rowA ? x[own + upper][i] : x[i + upper][own]) = half(a, lane, i);
        (op.rowB ? y[own][i + upper] : y[i][own + upper]) = half(b, lane, i);
      }
      for (uint32_t i = 0; i < 8; ++i)
        element(op.f32C, lane, i) = op.f32C ? std::bit_cast<float>(c[i][lane]) : half(c, lane, i);
    });
    for (auto &row : sum)
      for (uint32_t column = 0; column < 8; ++column)
        for (uint32_t k = 0; k < 4; ++k)
          row[column] = std::fma(x[&row - sum][k], y[k][column], row[column]);
    lanes([&](uint32_t lane) {
      for (uint32_t i = 0; i < 8; ++i) {
        const float value = element(op.f32D, lane, i);
        if (op.f32D) {
          d[i][lane] = value == value ? std::bit_cast<uint32_t>(value) : 0x7fffffffu;
          continue;
        }
        uint32_t &word = d[i / 2][lane];
        const uint32_t shift = 16 * (i % 2);
        word = (word & ~(0xffffu << shift)) | uint32_t(floatToF16(value)) << shift;
      }
    });
  }
}

} // namespace girih::emu
