// The kernels of Product.h, compiled for each instruction set, and the element that they leave out.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator/Units/Product.h"

#include "girih/Emulator/FloatFormats.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace girih::emu {

// Attributes on functions rather than options on files; see Exec/Targets.h.
namespace plain {
namespace {
#define GIRIH_FUSED 0
#define GIRIH_ROWS 1
#define GIRIH_ALIGNED_ROWS 2
#define GIRIH_COLUMNS 2
#include "Emulator/Units/ProductKernels.h"
#undef GIRIH_FUSED
#undef GIRIH_ROWS
#undef GIRIH_ALIGNED_ROWS
#undef GIRIH_COLUMNS
} // namespace
} // namespace plain

#if defined(__x86_64__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt"))),       \
                             apply_to = function)
namespace avx2 {
namespace {
#define GIRIH_FUSED 1
#define GIRIH_ROWS 2
#define GIRIH_ALIGNED_ROWS 2
#define GIRIH_COLUMNS 2
#include "Emulator/Units/ProductKernels.h"
#undef GIRIH_ROWS
#undef GIRIH_ALIGNED_ROWS
#undef GIRIH_COLUMNS
} // namespace
} // namespace avx2
#pragma clang attribute pop

#pragma clang attribute push(                                                                      \
    __attribute__((target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,"         \
                          "avx512vl,avx512cd"))),                                                  \
    apply_to = function)
namespace avx512 {
namespace {
#define GIRIH_ALIGNED_ROWS 4
#define GIRIH_ROWS 4
#define GIRIH_COLUMNS 4
#include "Emulator/Units/ProductKernels.h"
} // namespace
} // namespace avx512
#pragma clang attribute pop
#endif

const ProductKernels &productKernels(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::Avx512)
    return avx512::kernels;
  if (isa == Isa::Avx2)
    return avx2::kernels;
#endif
  return plain::kernels;
}

float alignedElement(const float *a, const int32_t *exponentA, uint32_t strideA, const float *b,
                     const int32_t *exponentB, uint32_t strideB, uint32_t k, float d, int bits,
                     Aligned rounding, int minExponentD) {
  double plain = d;
  int largest = d == 0 ? kExponentOfZero : std::max(std::ilogb(d), minExponentD);
  for (uint32_t i = 0; i < k; ++i) {
    plain += double(a[i * strideA]) * b[i * strideB];
    largest = std::max(largest, exponentA[i * strideA] + exponentB[i * strideB]);
  }
  if (plain != plain)
    return std::bit_cast<float>(0x7fffffffu);
  if (std::isinf(plain))
    return static_cast<float>(plain);
  double sum = std::trunc(std::ldexp(double(d), bits - largest));
  for (uint32_t i = 0; i < k; ++i)
    sum += std::trunc(std::ldexp(double(a[i * strideA]) * b[i * strideB], bits - largest));
  double total = std::ldexp(sum, largest - bits);
  if (std::abs(total) >= 0x1p128)
    return static_cast<float>(total);
  float nearest = static_cast<float>(total);
  uint32_t word = std::bit_cast<uint32_t>(nearest);
  if (std::abs(double(nearest)) > std::abs(total))
    --word;
  if (rounding == Aligned::F32M13)
    word &= ~0x3ffu;
  if (rounding == Aligned::F32Odd)
    word |= double(nearest) != total;
  return std::bit_cast<float>(word);
}

} // namespace girih::emu
