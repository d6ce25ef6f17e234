// Accumulators of each kind around the kernels of Product.h.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator/Units/BlockProduct.h"

#include "Emulator/Units/Factors.h"

#include <bit>
#include <cmath>

namespace girih::emu {
namespace {

constexpr uint32_t kLanes = 32;
constexpr uint32_t kMaxColumnBlocks = 32;

/// Calls `f` with the planes of each warp, as binary32: an f16 accumulator is widened before and
/// rounded after.
template <typename F>
void forEachWarp(const BlockProduct &p, bool scaleD, uint32_t *const *planes, Isa isa, F f) {
  const uint32_t groups = p.rowBlocks / p.groupBlocks;
  if (p.d != WgmmaAccumulator::F16) {
    for (uint32_t g = 0; g < groups; ++g)
      f(g * p.groupBlocks, planes + g * 2 * p.groupBlocks * p.columnBlocks);
    return;
  }
  const uint32_t packed = p.groupBlocks * p.columnBlocks;
  const ProductKernels &kernels = productKernels(isa);
  alignas(64) float wide[2 * 2 * kMaxColumnBlocks][kLanes];
  uint32_t *widePlanes[2 * 2 * kMaxColumnBlocks];
  // Packed plane b j + r has both columns of what are planes 2 (b j + r) and the next here.
  for (uint32_t i = 0; i < 2 * packed; ++i)
    widePlanes[i] = reinterpret_cast<uint32_t *>(wide[i]);
  for (uint32_t g = 0; g < groups; ++g) {
    uint32_t *const *own = planes + g * packed;
    if (scaleD)
      for (uint32_t i = 0; i < packed; ++i)
        kernels.widenHalves(own[i], wide[2 * i], wide[2 * i + 1]);
    f(g * p.groupBlocks, widePlanes);
    for (uint32_t i = 0; i < packed; ++i)
      kernels.roundHalves(wide[2 * i], wide[2 * i + 1], own[i]);
  }
}

Aligned alignedRounding(const BlockProduct &p) {
  return p.d == WgmmaAccumulator::F16 ? Aligned::F32Odd
         : p.alignedBits < 23         ? Aligned::F32M13
                                      : Aligned::F32;
}
int minExponentD(const BlockProduct &p) { return p.d == WgmmaAccumulator::F16 ? -14 : -126; }

void multiplyBits(const BlockProduct &p, const uint8_t *a, const uint8_t *b, bool scaleD,
                  uint32_t *const *planes, Isa isa) {
  const uint32_t words = p.k / 32;
  auto word = [&](const uint8_t *blocks, uint32_t block, uint32_t w, uint32_t row) {
    uint32_t value;
    std::memcpy(&value, blocks + ((block * words + w) * kBlock + row) * 4, 4);
    return value;
  };
  forEachWarp(p, scaleD, planes, isa, [&](uint32_t first, uint32_t *const *own) {
    for (uint32_t r = 0; r < p.groupBlocks; ++r)
      for (uint32_t j = 0; j < p.columnBlocks; ++j)
        for (uint32_t parity = 0; parity < 2; ++parity) {
          uint32_t *plane = own[2 * p.groupBlocks * j + 2 * r + parity];
          for (uint32_t lane = 0; lane < kLanes; ++lane) {
            uint32_t sum = scaleD ? plane[lane] : 0;
            for (uint32_t w = 0; w < words; ++w) {
              uint32_t x = word(a, first + r, w, lane / 4);
              uint32_t y = word(b, j, w, 4 * parity + lane % 4);
              sum += static_cast<uint32_t>(std::popcount(p.exclusiveOr ? x ^ y : x & y));
            }
            plane[lane] = sum;
          }
        }
  });
}

} // namespace

void multiplyBlocks(const BlockProduct &p, WgmmaNumerics numerics, const uint8_t *a,
                    const uint8_t *b, bool scaleD, uint32_t *const *planes, Isa isa) {
  if (p.a == WgmmaType::B1)
    return multiplyBits(p, a, b, scaleD, planes, isa);
  const bool integers = p.d == WgmmaAccumulator::S32;
  const bool aligned = numerics == WgmmaNumerics::Hopper && !integers;
  FactorBuffer &buffer = FactorBuffer::ofThread();
  buffer.setA(p.a, a, p.rowBlocks, p.k, p.negate, aligned, isa);
  buffer.setB(p.b, b, p.columnBlocks, aligned, isa);
  const Factors &factors = buffer.factors();
  const ProductKernels &kernels = productKernels(isa);
  const Sum sum = !integers ? Sum::F32 : p.satfinite ? Sum::S32Sat : Sum::S32;
  forEachWarp(p, scaleD, planes, isa, [&](uint32_t first, uint32_t *const *own) {
    if (aligned)
      kernels.multiplyAligned(factors, first, p.groupBlocks, p.alignedBits, alignedRounding(p),
                              minExponentD(p), scaleD, own);
    else
      kernels.multiply(factors, first, p.groupBlocks, sum, scaleD, own);
  });
}

void multiplySparseBlocks(const BlockProduct &p, WgmmaNumerics numerics, const uint8_t *a,
                          const bool *stored, const uint8_t *b, bool scaleD,
                          uint32_t *const *planes, Isa isa) {
  // Zeros in the place of what A does not hold change nothing unless B is infinite or NaN there.
  FactorBuffer &buffer = FactorBuffer::ofThread();
  buffer.setA(p.a, a, p.rowBlocks, p.k, p.negate, true, isa);
  buffer.setB(p.b, b, p.columnBlocks, true, isa);
  if (p.d == WgmmaAccumulator::S32 || !buffer.specialB())
    return multiplyBlocks(p, numerics, a, b, scaleD, planes, isa);
  const Factors &f = buffer.factors();
  forEachWarp(p, scaleD, planes, isa, [&](uint32_t first, uint32_t *const *own) {
    for (uint32_t r = 0; r < p.groupBlocks; ++r)
      for (uint32_t j = 0; j < p.columnBlocks; ++j)
        for (uint32_t at = 0; at < 2 * kLanes; ++at) {
          const uint32_t parity = at / kLanes, lane = at % kLanes, row = lane / 4;
          float x[kMaxK], y[kMaxK];
          int32_t ex[kMaxK], ey[kMaxK];
          uint32_t count = 0;
          for (uint32_t i = 0; i < f.k; ++i) {
            if (!stored[((first + r) * kBlock + row) * f.k + i])
              continue;
            const size_t atA =
                size_t(2 * (first + r) + row / 4) * f.k * kVector + i * kVector + 4 * (row % 4);
            const size_t atB = size_t(j) * f.k * kBlock + i * kBlock + 4 * parity + lane % 4;
            x[count] = f.a[atA], ex[count] = f.exponentA[atA];
            y[count] = f.b[atB], ey[count] = f.exponentB[atB];
            ++count;
          }
          uint32_t &word = own[2 * p.groupBlocks * j + 2 * r + parity][lane];
          float sum = scaleD ? std::bit_cast<float>(word) : 0;
          if (numerics == WgmmaNumerics::Hopper)
            sum = alignedElement(x, ex, 1, y, ey, 1, count, sum, p.alignedBits, alignedRounding(p),
                                 minExponentD(p));
          else
            for (uint32_t i = 0; i < count; ++i)
              sum = std::fma(x[i], y[i], sum);
          word = sum == sum ? std::bit_cast<uint32_t>(sum) : 0x7fffffffu;
        }
  });
}

} // namespace girih::emu
