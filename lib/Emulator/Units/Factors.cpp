// Widening of the tensor core's formats, and what the kernels need to know about the values.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator/Units/Factors.h"

#include "girih/Emulator/FloatFormats.h"

#include <algorithm>
#include <bit>
#include <memory>

namespace girih::emu {
namespace {

void widen(WgmmaType type, const uint8_t *from, float *to, size_t count) {
  switch (type) {
  case WgmmaType::F16:
    return f16ToFloat(reinterpret_cast<const uint16_t *>(from), to, count);
  case WgmmaType::BF16:
    return bf16ToFloat(reinterpret_cast<const uint16_t *>(from), to, count);
  case WgmmaType::TF32:
    return tf32ToFloat(reinterpret_cast<const uint32_t *>(from), to, count);
  case WgmmaType::E4M3:
    return e4m3ToFloat(from, to, count);
  case WgmmaType::E5M2:
    return e5m2ToFloat(from, to, count);
  case WgmmaType::S8:
    for (size_t i = 0; i < count; ++i)
      to[i] = static_cast<int8_t>(from[i]);
    return;
  case WgmmaType::U8:
    for (size_t i = 0; i < count; ++i)
      to[i] = from[i];
    return;
  case WgmmaType::B1:
    return; // has no factors; see BitProduct.cpp
  }
}

/// Exponent of the smallest normal number: subnormal numbers are aligned by it.
int32_t minExponent(WgmmaType type) {
  switch (type) {
  case WgmmaType::F16:
  case WgmmaType::E5M2:
    return -14;
  case WgmmaType::E4M3:
    return -6;
  default:
    return -126;
  }
}

/// Least and largest exponent of the numbers that are not 0.
void range(const float *from, size_t count, int32_t &least, int32_t &most) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t magnitude = std::bit_cast<uint32_t>(from[i]) & 0x7fffffff;
    if (!magnitude || magnitude >= 0x7f800000)
      continue;
    int32_t exponent = static_cast<int32_t>(magnitude >> 23) - 127;
    // A subnormal number may be as small as 2^-149.
    least = std::min(least, exponent == -127 ? -149 : exponent);
    most = std::max(most, exponent);
  }
}

} // namespace

FactorBuffer &FactorBuffer::ofThread() {
  thread_local std::unique_ptr<FactorBuffer> buffer = std::make_unique<FactorBuffer>();
  return *buffer;
}

void FactorBuffer::setA(WgmmaType type, const uint8_t *blocks, uint32_t count, uint32_t k,
                        bool negate, bool exponents, Isa isa) {
  const size_t size = size_t(count) * k * kBlock;
  const ProductKernels &kernels = productKernels(isa);
  widen(type, blocks, rows, size);
  if (negate)
    for (size_t i = 0; i < size; ++i)
      rows[i] = -rows[i];
  kernels.spread(rows, a, count, k);
  if (exponents) {
    kernels.exponents(rows, rowExponents, size, minExponent(type));
    kernels.spread(reinterpret_cast<const float *>(rowExponents), reinterpret_cast<float *>(ea),
                   count, k);
  }
  result.k = k;
  result.rowBlocks = count;
  result.a = a;
  result.exponentA = ea;
}

void FactorBuffer::setB(WgmmaType type, const uint8_t *blocks, uint32_t count, bool exponents,
                        Isa isa) {
  const size_t size = size_t(count) * result.k * kBlock;
  widen(type, blocks, b, size);
  if (exponents)
    productKernels(isa).exponents(b, eb, size, minExponent(type));
  result.columnBlocks = count;
  result.b = b;
  result.exponentB = eb;
  result.productsFit = true;
  if (isa == Isa::Plain && (type == WgmmaType::BF16 || type == WgmmaType::TF32)) {
    int32_t leastA = 0, mostA = 0, leastB = 0, mostB = 0;
    range(rows, size_t(result.rowBlocks) * result.k * kBlock, leastA, mostA);
    range(b, size, leastB, mostB);
    result.productsFit = leastA + leastB >= -126 && mostA + mostB + 2 <= 127;
  }
}

bool FactorBuffer::specialB() const {
  const size_t size = size_t(result.columnBlocks) * result.k * kBlock;
  bool special = false;
  for (size_t i = 0; i < size; ++i)
    special |= (std::bit_cast<uint32_t>(b[i]) & 0x7fffffff) >= 0x7f800000;
  return special;
}

} // namespace girih::emu
