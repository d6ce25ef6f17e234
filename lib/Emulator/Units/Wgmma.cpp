// The product of a wgmma, computed where D lives: registers of 32 lanes. A register of D holds 8
// rows times 4 columns (stride 2), so with A's rows repeated four times over the lanes and B's
// columns eight times, one multiply-add over 32 lanes is one step of k; nothing is moved in or out
// of a matrix.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Emulator/Wgmma.h"

#include "girih/Emulator/FloatFormats.h"

#include <cstring>

namespace girih::emu {
namespace {

constexpr uint32_t kRows = 64;
constexpr uint32_t kRowBytes = 32;
constexpr uint32_t kMaxK = 32;
constexpr uint32_t kMaxColumnBlocks = 32;
constexpr uint32_t kLanes = 32;
constexpr uint32_t kQuarter = 8; // lanes of one vector: two rows times four columns

// Eight and four lanes. A compiler without 256-bit registers splits them; the result is the same.
template <typename T> struct Vectors;
template <> struct Vectors<float> {
  typedef float V8 __attribute__((vector_size(32)));
  typedef float V4 __attribute__((vector_size(16)));
};
template <> struct Vectors<int32_t> {
  typedef uint32_t V8 __attribute__((vector_size(32))); // wraps
  typedef uint32_t V4 __attribute__((vector_size(16)));
};

/// A and B as numbers of the accumulator's kind, arranged for the kernel below.
template <typename T> struct Operands {
  uint32_t k = 0;
  uint32_t columnBlocks = 0;
  alignas(64) T a[kRows / 8][kMaxK][8];        // [8 rows][k][row]
  alignas(64) T b[kMaxColumnBlocks][kMaxK][8]; // [8 columns][k][even columns, odd columns]
};

/// One row of an operand: 32 bytes of K.
union Row {
  uint8_t bytes[kRowBytes];
  uint16_t halves[kRowBytes / 2];
  uint32_t words[kRowBytes / 4];
};

/// Converts one row of K elements.
void widenRow(WgmmaType type, const Row &row, float *out) {
  switch (type) {
  case WgmmaType::F16:
    return f16ToFloat(row.halves, out, 16);
  case WgmmaType::BF16:
    return bf16ToFloat(row.halves, out, 16);
  case WgmmaType::TF32:
    return tf32ToFloat(row.words, out, 8);
  case WgmmaType::E4M3:
    return e4m3ToFloat(row.bytes, out, 32);
  case WgmmaType::E5M2:
    return e5m2ToFloat(row.bytes, out, 32);
  case WgmmaType::S8:
  case WgmmaType::U8:
    return; // integers take the other overload
  }
}
void widenRow(WgmmaType type, const Row &row, int32_t *out) {
  for (uint32_t i = 0; i < kMaxK; ++i)
    out[i] = type == WgmmaType::S8 ? static_cast<int8_t>(row.bytes[i]) : row.bytes[i];
}

/// Four rows of four words, `pitch` words apart, become four columns.
template <typename T>
[[gnu::always_inline]] inline void transpose4(const T *rows, uint32_t pitch, T *columns,
                                              uint32_t columnPitch) {
  using V4 = typename Vectors<T>::V4;
  V4 line[4], pair[4];
  for (uint32_t i = 0; i < 4; ++i)
    std::memcpy(&line[i], rows + i * pitch, sizeof(V4));
  for (uint32_t i = 0; i < 2; ++i) {
    pair[2 * i] = __builtin_shufflevector(line[i], line[i + 2], 0, 4, 1, 5);
    pair[2 * i + 1] = __builtin_shufflevector(line[i], line[i + 2], 2, 6, 3, 7);
  }
  for (uint32_t i = 0; i < 2; ++i) {
    line[2 * i] = __builtin_shufflevector(pair[i], pair[i + 2], 0, 4, 1, 5);
    line[2 * i + 1] = __builtin_shufflevector(pair[i], pair[i + 2], 2, 6, 3, 7);
  }
  for (uint32_t i = 0; i < 4; ++i)
    std::memcpy(columns + i * columnPitch, &line[i], sizeof(V4));
}

template <typename T>
void arrange(const WgmmaOperation &operation, const uint8_t *a, const uint8_t *b,
             Operands<T> &out) {
  out.k = wgmmaK(operation.a);
  out.columnBlocks = operation.n / 8;
  Row row;
  T wide[kMaxK];
  for (uint32_t r = 0; r < kRows; ++r) {
    std::memcpy(&row, a + r * kRowBytes, kRowBytes);
    widenRow(operation.a, row, wide);
    // -(a * b) is (-a) * b, bit for bit; both negations cancel.
    bool negate = operation.negateA != operation.negateB;
    for (uint32_t k = 0; k < out.k; ++k)
      out.a[r / 8][k][r % 8] = negate ? -wide[k] : wide[k];
  }
  alignas(64) T columns[8][kMaxK];
  for (uint32_t block = 0; block < out.columnBlocks; ++block) {
    for (uint32_t c = 0; c < 8; ++c) {
      std::memcpy(&row, b + (8 * block + c) * kRowBytes, kRowBytes);
      widenRow(operation.b, row, columns[c]);
    }
    for (uint32_t parity = 0; parity < 2; ++parity)
      for (uint32_t k = 0; k < out.k; k += 4)
        transpose4(&columns[parity][k], 2 * kMaxK, &out.b[block][k][4 * parity], 8);
  }
}

/// Every NaN becomes 0x7fffffff.
[[gnu::always_inline]] inline void canonicalNan(Vectors<float>::V8 &sum) {
  using Bits = Vectors<int32_t>::V8;
  Bits isNumber = (Bits)(sum == sum);
  sum = (Vectors<float>::V8)(((Bits)sum & isNumber) | (~isNumber & 0x7fffffffu));
}
[[gnu::always_inline]] inline void canonicalNan(Vectors<int32_t>::V8 &) {}

/// D's registers of all columns for 8 rows: `even[j]` and `odd[j]` are the 32 lanes that hold the
/// even and the odd columns of column block j. Adds the products of the rows' block of A in
/// ascending k.
template <typename T>
[[gnu::always_inline]] inline void multiplyRows(const Operands<T> &in, uint32_t rowBlock,
                                                T *const *even, T *const *odd) {
  using V8 = typename Vectors<T>::V8;
  using V4 = typename Vectors<T>::V4;
  alignas(64) T spread[kMaxK][kLanes]; // each row of A in the four lanes that hold its columns
  for (uint32_t k = 0; k < in.k; ++k)
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      spread[k][lane] = in.a[rowBlock][k][lane / 4];

  for (uint32_t j = 0; j < in.columnBlocks; ++j) {
    V8 sumEven[4], sumOdd[4];
    for (uint32_t q = 0; q < 4; ++q) {
      std::memcpy(&sumEven[q], even[j] + q * kQuarter, sizeof(V8));
      std::memcpy(&sumOdd[q], odd[j] + q * kQuarter, sizeof(V8));
    }
    for (uint32_t k = 0; k < in.k; ++k) {
      V4 halfEven, halfOdd;
      std::memcpy(&halfEven, &in.b[j][k][0], sizeof(V4));
      std::memcpy(&halfOdd, &in.b[j][k][4], sizeof(V4));
      V8 columnsEven = __builtin_shufflevector(halfEven, halfEven, 0, 1, 2, 3, 0, 1, 2, 3);
      V8 columnsOdd = __builtin_shufflevector(halfOdd, halfOdd, 0, 1, 2, 3, 0, 1, 2, 3);
      for (uint32_t q = 0; q < 4; ++q) {
        V8 rows;
        std::memcpy(&rows, &spread[k][q * kQuarter], sizeof(V8));
        sumEven[q] = sumEven[q] + rows * columnsEven;
        sumOdd[q] = sumOdd[q] + rows * columnsOdd;
      }
    }
    for (uint32_t q = 0; q < 4; ++q) {
      canonicalNan(sumEven[q]);
      canonicalNan(sumOdd[q]);
      std::memcpy(even[j] + q * kQuarter, &sumEven[q], sizeof(V8));
      std::memcpy(odd[j] + q * kQuarter, &sumOdd[q], sizeof(V8));
    }
  }
}

template <typename T>
using RowKernel = void (*)(const Operands<T> &, uint32_t, T *const *, T *const *);

template <typename T>
void multiplyRowsPortable(const Operands<T> &in, uint32_t rowBlock, T *const *even, T *const *odd) {
  multiplyRows(in, rowBlock, even, odd);
}

#if defined(__x86_64__)
template <typename T>
__attribute__((target("avx2"))) void multiplyRowsAvx2(const Operands<T> &in, uint32_t rowBlock,
                                                      T *const *even, T *const *odd) {
  multiplyRows(in, rowBlock, even, odd);
}
template <typename T> RowKernel<T> chooseKernel() {
  return __builtin_cpu_supports("avx2") ? multiplyRowsAvx2<T> : multiplyRowsPortable<T>;
}
#else
template <typename T> RowKernel<T> chooseKernel() { return multiplyRowsPortable<T>; }
#endif

/// The lanes of D that hold the even (parity 0) or odd columns of column block j, for the given 8
/// rows, when D has 32-bit elements.
uint32_t registerIndex(uint32_t rowBlock, uint32_t j, uint32_t parity) {
  return 4 * j + 2 * (rowBlock % 2) + parity;
}

void multiplyF32(const WgmmaOperation &operation, const Operands<float> &in, bool scaleD,
                 uint32_t *const *registers) {
  static const RowKernel<float> kernel = chooseKernel<float>();
  uint32_t perWarp = accumulatorRegisters(operation);
  float *lanes[2][kMaxColumnBlocks];
  for (uint32_t rowBlock = 0; rowBlock < kRows / 8; ++rowBlock) {
    for (uint32_t j = 0; j < in.columnBlocks; ++j)
      for (uint32_t parity = 0; parity < 2; ++parity) {
        uint32_t *lane0 = registers[(rowBlock / 2) * perWarp + registerIndex(rowBlock, j, parity)];
        lanes[parity][j] = reinterpret_cast<float *>(lane0);
        if (!scaleD)
          std::memset(lane0, 0, 4 * kLanes);
      }
    kernel(in, rowBlock, lanes[0], lanes[1]);
  }
}

void multiplyF16(const WgmmaOperation &operation, const Operands<float> &in, bool scaleD,
                 uint32_t *const *registers) {
  static const RowKernel<float> kernel = chooseKernel<float>();
  uint32_t perWarp = accumulatorRegisters(operation);
  alignas(64) float wide[2][kMaxColumnBlocks][kLanes];
  alignas(64) uint16_t halves[2][kMaxColumnBlocks][kLanes];
  float *lanes[2][kMaxColumnBlocks];
  for (uint32_t j = 0; j < in.columnBlocks; ++j)
    for (uint32_t parity = 0; parity < 2; ++parity)
      lanes[parity][j] = wide[parity][j];
  size_t count = in.columnBlocks * kLanes;
  for (uint32_t rowBlock = 0; rowBlock < kRows / 8; ++rowBlock) {
    // Register 2 j + rowBlock % 2 holds both parities: the even column in the low half.
    auto packed = [&](uint32_t j) {
      return registers[(rowBlock / 2) * perWarp + 2 * j + rowBlock % 2];
    };
    for (uint32_t j = 0; j < in.columnBlocks; ++j)
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        uint32_t word = scaleD ? packed(j)[lane] : 0;
        halves[0][j][lane] = static_cast<uint16_t>(word);
        halves[1][j][lane] = static_cast<uint16_t>(word >> 16);
      }
    for (uint32_t parity = 0; parity < 2; ++parity)
      f16ToFloat(halves[parity][0], wide[parity][0], count);
    kernel(in, rowBlock, lanes[0], lanes[1]);
    for (uint32_t parity = 0; parity < 2; ++parity)
      floatToF16(wide[parity][0], halves[parity][0], count);
    for (uint32_t j = 0; j < in.columnBlocks; ++j)
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        packed(j)[lane] = halves[0][j][lane] | uint32_t(halves[1][j][lane]) << 16;
  }
}

int32_t clampedSum(int32_t a, int32_t b) {
  int64_t sum = int64_t(a) + b;
  return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : static_cast<int32_t>(sum);
}

void multiplyS32(const WgmmaOperation &operation, const Operands<int32_t> &in, bool scaleD,
                 uint32_t *const *registers) {
  static const RowKernel<int32_t> kernel = chooseKernel<int32_t>();
  uint32_t perWarp = accumulatorRegisters(operation);
  bool clamp = operation.satfinite && scaleD;
  alignas(64) int32_t products[2][kMaxColumnBlocks][kLanes];
  int32_t *lanes[2][kMaxColumnBlocks];
  for (uint32_t rowBlock = 0; rowBlock < kRows / 8; ++rowBlock) {
    auto lane0 = [&](uint32_t j, uint32_t parity) {
      return reinterpret_cast<int32_t *>(
          registers[(rowBlock / 2) * perWarp + registerIndex(rowBlock, j, parity)]);
    };
    for (uint32_t j = 0; j < in.columnBlocks; ++j)
      for (uint32_t parity = 0; parity < 2; ++parity) {
        // To clamp, the products (at most 32 of 16 bits) are summed apart and added once.
        lanes[parity][j] = clamp ? products[parity][j] : lane0(j, parity);
        if (clamp || !scaleD)
          std::memset(lanes[parity][j], 0, 4 * kLanes);
      }
    kernel(in, rowBlock, lanes[0], lanes[1]);
    if (!clamp)
      continue;
    for (uint32_t j = 0; j < in.columnBlocks; ++j)
      for (uint32_t parity = 0; parity < 2; ++parity)
        for (uint32_t lane = 0; lane < kLanes; ++lane)
          lane0(j, parity)[lane] = clampedSum(lane0(j, parity)[lane], products[parity][j][lane]);
  }
}

bool isInteger(WgmmaType type) { return type == WgmmaType::S8 || type == WgmmaType::U8; }
bool isFp8(WgmmaType type) { return type == WgmmaType::E4M3 || type == WgmmaType::E5M2; }

} // namespace

uint32_t wgmmaElementBytes(WgmmaType type) {
  return type == WgmmaType::TF32 ? 4 : type == WgmmaType::F16 || type == WgmmaType::BF16 ? 2 : 1;
}

uint32_t wgmmaK(WgmmaType type) { return kRowBytes / wgmmaElementBytes(type); }

uint32_t accumulatorRegisters(const WgmmaOperation &operation) {
  return operation.d == WgmmaAccumulator::F16 ? operation.n / 4 : operation.n / 2;
}

std::string checkWgmma(const WgmmaOperation &op) {
  bool integers = isInteger(op.a);
  if (integers != isInteger(op.b) || (!(integers || (isFp8(op.a) && isFp8(op.b))) && op.a != op.b))
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

void multiplyWgmma(const WgmmaOperation &operation, const uint8_t *a, const uint8_t *b, bool scaleD,
                   uint32_t *const *registers) {
  if (operation.d == WgmmaAccumulator::S32) {
    Operands<int32_t> operands;
    arrange(operation, a, b, operands);
    return multiplyS32(operation, operands, scaleD, registers);
  }
  Operands<float> operands;
  arrange(operation, a, b, operands);
  if (operation.d == WgmmaAccumulator::F16)
    return multiplyF16(operation, operands, scaleD, registers);
  multiplyF32(operation, operands, scaleD, registers);
}

} // namespace girih::emu
