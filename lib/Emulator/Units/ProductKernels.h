// The kernels of Product.h for one instruction set: Product.cpp includes this file once for each,
// in a namespace and under code generation of its own, with GIRIH_FUSED saying whether the set has
// a fused multiply-add and GIRIH_ROWS and GIRIH_COLUMNS how large a block of D its registers hold.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// No include guard: see above.

typedef float V16 __attribute__((vector_size(64)));
typedef int32_t I16 __attribute__((vector_size(64)));
typedef uint32_t U16 __attribute__((vector_size(64)));
typedef float V8 __attribute__((vector_size(32)));
typedef int32_t I8 __attribute__((vector_size(32)));
typedef double D8 __attribute__((vector_size(64)));
typedef int64_t L8 __attribute__((vector_size(64)));
typedef float V4 __attribute__((vector_size(16)));
typedef int32_t I4 __attribute__((vector_size(16)));

template <typename V> [[gnu::always_inline]] inline void load(V &v, const void *from) {
  std::memcpy(&v, from, sizeof(V));
}
template <typename V> [[gnu::always_inline]] inline void store(const V &v, void *to) {
  std::memcpy(to, &v, sizeof(V));
}
/// Four columns, for each of four rows.
[[gnu::always_inline]] inline void loadColumns(V16 &v, const float *from) {
  V4 four;
  load(four, from);
  v = __builtin_shufflevector(four, four, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
}
[[gnu::always_inline]] inline void loadColumns(I16 &v, const int32_t *from) {
  I4 four;
  load(four, from);
  v = __builtin_shufflevector(four, four, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
}

void exponents(const float *from, int32_t *to, size_t count, int32_t least) {
  for (size_t i = 0; i < count; ++i) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(from[i]) & 0x7fffffff;
    int32_t exponent = static_cast<int32_t>(magnitude >> 23) - 127;
    exponent = exponent < least ? least : exponent;
    exponent = exponent == 128 ? kExponentOfSpecial : exponent;
    to[i] = magnitude == 0 ? kExponentOfZero : exponent;
  }
}

void spread(const float *rows, float *out, uint32_t blocks, uint32_t k) {
  for (uint32_t block = 0; block < blocks; ++block)
    for (uint32_t i = 0; i < k; ++i) {
      V8 eight;
      load(eight, rows + (block * k + i) * kBlock);
      V16 low =
          __builtin_shufflevector(eight, eight, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
      V16 high =
          __builtin_shufflevector(eight, eight, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7);
      store(low, out + ((2 * block) * k + i) * kVector);
      store(high, out + ((2 * block + 1) * k + i) * kVector);
    }
}

/// Where vector r (half a row block) and column vector c (half a column block) of a block of D
/// lie.
[[gnu::always_inline]] inline uint32_t *place(uint32_t *const *planes, uint32_t rowBlocks,
                                              uint32_t r, uint32_t c) {
  return planes[2 * rowBlocks * (c / 2) + 2 * (r / 2) + c % 2] + (r % 2) * kVector;
}

template <uint32_t R, uint32_t C>
[[gnu::always_inline]] inline void multiplyTile(const float *a, const float *b, uint32_t k,
                                                uint32_t r0, uint32_t rowBlocks, Sum sum,
                                                bool scaleD, uint32_t *const *planes) {
  V16 acc[R][C];
  bool fromD = scaleD && sum == Sum::F32;
  for (uint32_t r = 0; r < R; ++r)
    for (uint32_t c = 0; c < C; ++c) {
      acc[r][c] = V16{};
      if (fromD)
        load(acc[r][c], place(planes, rowBlocks, r0 + r, c));
    }
  const size_t pitchA = size_t(k) * kVector, pitchB = size_t(k) * kBlock;
  const float *row = a + r0 * pitchA;
  for (const float *column = b, *const end = b + pitchB; column < end;
       column += kBlock, row += kVector) {
    V16 rows[R];
#pragma clang loop unroll(full)
    for (uint32_t r = 0; r < R; ++r)
      load(rows[r], row + r * pitchA);
#pragma clang loop unroll(full)
    for (uint32_t c = 0; c < C; ++c) {
      V16 columns;
      loadColumns(columns, column + (c / 2) * pitchB + (c % 2) * 4);
#pragma clang loop unroll(full)
      for (uint32_t r = 0; r < R; ++r)
#if GIRIH_FUSED
        acc[r][c] = __builtin_elementwise_fma(rows[r], columns, acc[r][c]);
#else
        acc[r][c] = acc[r][c] + rows[r] * columns;
#endif
    }
  }
  for (uint32_t r = 0; r < R; ++r)
    for (uint32_t c = 0; c < C; ++c) {
      uint32_t *to = place(planes, rowBlocks, r0 + r, c);
      if (sum == Sum::F32) {
        // Every NaN becomes 0x7fffffff.
        U16 isNumber = (U16)(acc[r][c] == acc[r][c]);
        store((((U16)acc[r][c]) & isNumber) | (~isNumber & 0x7fffffffu), to);
        continue;
      }
      // Sums of products of 8-bit integers are exact in binary32.
      U16 products = (U16) __builtin_convertvector(acc[r][c], I16), old{}, total;
      if (scaleD)
        load(old, to);
      total = old + products;
      if (sum == Sum::S32Sat) {
        // Overflow: the operands have one sign and the sum the other.
        U16 wrapped = (U16)((I16)(~(old ^ products) & (old ^ total)) >> 31);
        U16 limit = (U16)((I16)old >> 31) ^ 0x7fffffffu;
        total = (total & ~wrapped) | (limit & wrapped);
      }
      store(total, to);
    }
}

template <uint32_t R, uint32_t C>
[[gnu::always_inline]] inline uint32_t multiplyColumns(const Factors &f, const float *a, uint32_t j,
                                                       uint32_t rowBlocks, Sum sum, bool scaleD,
                                                       uint32_t *const *planes) {
  for (; j + C / 2 <= f.columnBlocks; j += C / 2)
    for (uint32_t r = 0; r < 2 * rowBlocks; r += R)
      multiplyTile<R, C>(a, f.b + size_t(j) * f.k * kBlock, f.k, r, rowBlocks, sum, scaleD,
                         planes + 2 * rowBlocks * j);
  return j;
}

#if !GIRIH_FUSED
/// One element at a time: products that are not exact in binary32 need a fused multiply-add.
void multiplySlowly(const Factors &f, const float *a, uint32_t rowBlocks, bool scaleD,
                    uint32_t *const *planes) {
  for (uint32_t r = 0; r < 2 * rowBlocks; ++r)
    for (uint32_t c = 0; c < 2 * f.columnBlocks; ++c)
      for (uint32_t lane = 0; lane < kVector; ++lane) {
        uint32_t *to = place(planes, rowBlocks, r, c) + lane;
        float sum = 0;
        if (scaleD)
          std::memcpy(&sum, to, 4);
        for (uint32_t i = 0; i < f.k; ++i)
          sum = std::fma(a[(r * f.k + i) * kVector + lane],
                         f.b[((c / 2) * f.k + i) * kBlock + (c % 2) * 4 + lane % 4], sum);
        *to = sum == sum ? std::bit_cast<uint32_t>(sum) : 0x7fffffffu;
      }
}
#endif

void multiply(const Factors &f, uint32_t first, uint32_t rowBlocks, Sum sum, bool scaleD,
              uint32_t *const *planes) {
  const float *a = f.a + size_t(first) * 2 * f.k * kVector;
#if !GIRIH_FUSED
  if (!f.productsFit)
    return multiplySlowly(f, a, rowBlocks, scaleD, planes);
#endif
  uint32_t j = 0;
  if (rowBlocks == 2) {
    j = multiplyColumns<GIRIH_ROWS, GIRIH_COLUMNS>(f, a, j, rowBlocks, sum, scaleD, planes);
    multiplyColumns<GIRIH_ROWS, 2>(f, a, j, rowBlocks, sum, scaleD, planes);
  } else {
    multiplyColumns<1, 2>(f, a, j, rowBlocks, sum, scaleD, planes);
  }
}

/// Exponents outside these give scale factors or products outside binary32.
constexpr int32_t kLowExponent = -100, kHighExponent = 120;

/// Adds the products of steps `first` to `last`, in units of 1 / scale, cut off towards zero, which
/// is what the alignment shifter does.
template <uint32_t R>
[[gnu::always_inline]] inline void addAligned(const float *a, const float *b, uint32_t k,
                                              uint32_t r0, uint32_t first, uint32_t last,
                                              const V16 (&scale)[R], I16 (&sum)[R]) {
  const size_t pitch = size_t(k) * kVector;
  const float *row = a + r0 * pitch + size_t(first) * kVector;
  const float *column = b + size_t(first) * kBlock, *const end = b + size_t(last) * kBlock;
  for (; column < end; column += kBlock, row += kVector) {
    V16 columns;
    loadColumns(columns, column);
#pragma clang loop unroll(full)
    for (uint32_t r = 0; r < R; ++r) {
      V16 rows;
      load(rows, row + r * pitch);
      sum[r] += __builtin_convertvector(rows * columns * scale[r], I16);
    }
  }
}

/// An integer below 2^31 - 2^8 in magnitude times a power of two, rounded.
[[gnu::always_inline]] inline V16 roundAligned(const I16 &total, const I16 &exponent,
                                               Aligned rounding) {
  V16 nearest = __builtin_convertvector(total, V16);
  I16 back = __builtin_convertvector(nearest, I16);
  // Signs of differences rather than comparisons: those would go through mask registers.
  I16 tooLarge = (__builtin_elementwise_abs(total) - __builtin_elementwise_abs(back)) >> 31;
  I16 cut = (I16)nearest + tooLarge; // one less in magnitude
  if (rounding == Aligned::F32M13)
    cut &= ~int32_t(0x3ff);
  if (rounding == Aligned::F32Odd)
    cut |= (back != total) & 1;
  return (V16)cut * (V16)((exponent + 127) << 23);
}

/// The same of two integers whose sum needs more than 32 bits.
[[gnu::always_inline]] inline V16 roundAlignedWide(const D8 (&totals)[2], const I16 &exponent,
                                                   Aligned rounding) {
  V8 halves[2];
  for (uint32_t h = 0; h < 2; ++h) {
    I8 e = h ? __builtin_shufflevector(exponent, exponent, 8, 9, 10, 11, 12, 13, 14, 15)
             : __builtin_shufflevector(exponent, exponent, 0, 1, 2, 3, 4, 5, 6, 7);
    L8 power = (__builtin_convertvector(e, L8) + 1023) << 52;
    D8 total = totals[h] * (D8)power;
    V8 nearest = __builtin_convertvector(total, V8);
    D8 back = __builtin_convertvector(nearest, D8);
    constexpr int64_t kMagnitude = INT64_MAX;
    L8 tooLarge = ((L8)back & kMagnitude) > ((L8)total & kMagnitude);
    I8 cut = (I8)nearest + __builtin_convertvector(tooLarge, I8);
    if (rounding == Aligned::F32M13)
      cut &= ~int32_t(0x3ff);
    if (rounding == Aligned::F32Odd)
      cut |= __builtin_convertvector((L8)(back != total), I8) & 1;
    halves[h] = (V8)cut;
  }
  return __builtin_shufflevector(halves[0], halves[1], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
                                 14, 15);
}

/// The aligned sum of R vectors of rows and one of columns.
template <uint32_t R>
[[gnu::always_inline]] inline void
alignedTile(const Factors &f, const float *a, const int32_t *ea, const float *b, const int32_t *eb,
            uint32_t r0, uint32_t c, uint32_t rowBlocks, int bits, Aligned rounding,
            int minExponentD, bool scaleD, uint32_t *const *planes) {
  const uint32_t k = f.k;
  V16 d[R], scale[R];
  I16 largest[R];
  for (uint32_t r = 0; r < R; ++r) {
    d[r] = V16{};
    if (scaleD)
      load(d[r], place(planes, rowBlocks, r0 + r, c));
    U16 magnitude = (U16)d[r] & 0x7fffffffu;
    I16 exponent = (I16)(magnitude >> 23) - 127;
    exponent = __builtin_elementwise_max(exponent, I16{} + minExponentD);
    I16 isZero = (I16)(magnitude - 1u) >> 31;
    largest[r] = (exponent & ~isZero) | ((I16{} + kExponentOfZero) & isZero);
  }
  const size_t pitch = size_t(k) * kVector;
  const int32_t *row = ea + r0 * pitch;
  for (const int32_t *column = eb, *const end = eb + size_t(k) * kBlock; column < end;
       column += kBlock, row += kVector) {
    I16 columns;
    loadColumns(columns, column);
#pragma clang loop unroll(full)
    for (uint32_t r = 0; r < R; ++r) {
      I16 rows;
      load(rows, row + r * pitch);
      largest[r] = __builtin_elementwise_max(largest[r], rows + columns);
    }
  }
  I16 exponent[R], sum[R], outside[R];
  V16 result[R];
  for (uint32_t r = 0; r < R; ++r) {
    I16 unit = __builtin_elementwise_min(
        __builtin_elementwise_max(largest[r], I16{} + kLowExponent), I16{} + kHighExponent);
    scale[r] = (V16)((bits + 127 - unit) << 23);
    exponent[r] = unit - bits;
    sum[r] = __builtin_convertvector(d[r] * scale[r], I16);
    outside[r] = ((kHighExponent - largest[r]) |
                  ((largest[r] - kLowExponent) & (kExponentOfZero / 2 - largest[r]))) >>
                 31;
  }
  // A product is below 2^(bits + 2) units: 8 of them and D fit 32 bits when `bits` is 25.
  const uint32_t chunk = bits > 16 ? 8 : k;
  addAligned<R>(a, b, k, r0, 0, chunk < k ? chunk : k, scale, sum);
  if (k <= 2 * chunk) {
    I16 second[R];
    for (uint32_t r = 0; r < R; ++r)
      second[r] = I16{};
    addAligned<R>(a, b, k, r0, chunk, k, scale, second);
    for (uint32_t r = 0; r < R; ++r) {
      I16 total = (I16)((U16)sum[r] + (U16)second[r]);
      constexpr uint32_t kMost = 0x7fffff00;
      I16 tooWide = (((sum[r] ^ total) & (second[r] ^ total)) |
                     (I16)(kMost - (U16)__builtin_elementwise_abs(total))) >>
                    31;
      outside[r] |= tooWide;
      result[r] = roundAligned(total & ~tooWide, exponent[r], rounding);
    }
  } else {
    D8 wide[R][2];
    for (uint32_t r = 0; r < R; ++r)
      wide[r][0] = wide[r][1] = D8{};
    for (uint32_t start = chunk;; start += chunk) {
      for (uint32_t r = 0; r < R; ++r) {
        wide[r][0] += __builtin_convertvector(
            __builtin_shufflevector(sum[r], sum[r], 0, 1, 2, 3, 4, 5, 6, 7), D8);
        wide[r][1] += __builtin_convertvector(
            __builtin_shufflevector(sum[r], sum[r], 8, 9, 10, 11, 12, 13, 14, 15), D8);
        sum[r] = I16{};
      }
      if (start >= k)
        break;
      addAligned<R>(a, b, k, r0, start, start + chunk < k ? start + chunk : k, scale, sum);
    }
    for (uint32_t r = 0; r < R; ++r)
      result[r] = roundAlignedWide(wide[r], exponent[r], rounding);
  }
  I16 any = outside[0];
  for (uint32_t r = 1; r < R; ++r)
    any |= outside[r];
  for (uint32_t r = 0; r < R; ++r)
    store(result[r], place(planes, rowBlocks, r0 + r, c));
  if (__builtin_reduce_or(any) == 0) [[likely]]
    return;
  for (uint32_t r = 0; r < R; ++r) {
    uint32_t *to = place(planes, rowBlocks, r0 + r, c);
    int32_t leftOut[kVector];
    float old[kVector], values[kVector];
    store(outside[r], leftOut);
    store(d[r], old);
    store(result[r], values);
    for (uint32_t lane = 0; lane < kVector; ++lane)
      if (leftOut[lane])
        values[lane] = alignedElement(
            a + (r0 + r) * k * kVector + lane, ea + (r0 + r) * k * kVector + lane, kVector,
            b + lane % 4, eb + lane % 4, kBlock, k, old[lane], bits, rounding, minExponentD);
    std::memcpy(to, values, sizeof(values));
  }
}

template <uint32_t R>
void alignedRows(const Factors &f, uint32_t first, uint32_t rowBlocks, int bits, Aligned rounding,
                 int minExponentD, bool scaleD, uint32_t *const *planes) {
  const float *a = f.a + size_t(first) * 2 * f.k * kVector;
  const int32_t *ea = f.exponentA + size_t(first) * 2 * f.k * kVector;
  for (uint32_t c = 0; c < 2 * f.columnBlocks; ++c) {
    size_t column = size_t(c / 2) * f.k * kBlock + (c % 2) * 4;
    for (uint32_t r = 0; r < 2 * rowBlocks; r += R)
      alignedTile<R>(f, a, ea, f.b + column, f.exponentB + column, r, c, rowBlocks, bits, rounding,
                     minExponentD, scaleD, planes);
  }
}

void multiplyAligned(const Factors &f, uint32_t first, uint32_t rowBlocks, int bits,
                     Aligned rounding, int minExponentD, bool scaleD, uint32_t *const *planes) {
  if (rowBlocks == 2)
    alignedRows<GIRIH_ALIGNED_ROWS>(f, first, rowBlocks, bits, rounding, minExponentD, scaleD,
                                    planes);
  else
    alignedRows<2>(f, first, rowBlocks, bits, rounding, minExponentD, scaleD, planes);
}

#if GIRIH_FUSED
typedef _Float16 H16 __attribute__((vector_size(32)));
typedef uint16_t W16 __attribute__((vector_size(32)));
void widenHalves(const uint32_t *packed, float *even, float *odd) {
  for (uint32_t lane = 0; lane < 2 * kVector; lane += kVector) {
    U16 words;
    load(words, packed + lane);
    store(__builtin_convertvector((H16) __builtin_convertvector(words, W16), V16), even + lane);
    store(__builtin_convertvector((H16) __builtin_convertvector(words >> 16, W16), V16),
          odd + lane);
  }
}
void roundHalves(const float *even, const float *odd, uint32_t *packed) {
  for (uint32_t lane = 0; lane < 2 * kVector; lane += kVector) {
    V16 low, high;
    load(low, even + lane);
    load(high, odd + lane);
    U16 lowBits = __builtin_convertvector((W16) __builtin_convertvector(low, H16), U16);
    U16 highBits = __builtin_convertvector((W16) __builtin_convertvector(high, H16), U16);
    store(lowBits | highBits << 16, packed + lane);
  }
}
#else
void widenHalves(const uint32_t *packed, float *even, float *odd) {
  uint16_t low[2 * kVector], high[2 * kVector];
  for (uint32_t lane = 0; lane < 2 * kVector; ++lane) {
    low[lane] = static_cast<uint16_t>(packed[lane]);
    high[lane] = static_cast<uint16_t>(packed[lane] >> 16);
  }
  f16ToFloat(low, even, 2 * kVector);
  f16ToFloat(high, odd, 2 * kVector);
}
void roundHalves(const float *even, const float *odd, uint32_t *packed) {
  uint16_t low[2 * kVector], high[2 * kVector];
  floatToF16(even, low, 2 * kVector);
  floatToF16(odd, high, 2 * kVector);
  for (uint32_t lane = 0; lane < 2 * kVector; ++lane)
    packed[lane] = low[lane] | uint32_t(high[lane]) << 16;
}
#endif

constexpr ProductKernels kernels = {exponents,       spread,      multiply,
                                    multiplyAligned, widenHalves, roundHalves};
