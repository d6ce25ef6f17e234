// The operations of atomics and reductions on bytes.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Emulator/Reduction.h"

#include "girih/Emulator/FloatFormats.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace girih::emu {
namespace {

/// Zero of the same sign for a subnormal.
float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

template <ReduceOp op, typename T> T combineInteger(T old, T b) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
  case ReduceOp::Add:
    return static_cast<T>(static_cast<U>(old) + static_cast<U>(b));
  case ReduceOp::Min:
    return std::min(old, b);
  case ReduceOp::Max:
    return std::max(old, b);
  case ReduceOp::Inc:
    return old >= b ? T(0) : static_cast<T>(old + 1);
  case ReduceOp::Dec:
    return old == 0 || old > b ? b : static_cast<T>(old - 1);
  case ReduceOp::And:
    return old & b;
  case ReduceOp::Or:
    return old | b;
  case ReduceOp::Xor:
    return old ^ b;
  }
}

/// min and max as the instructions define them: a NaN loses, and -0 is less than +0.
template <ReduceOp op> float extreme(float a, float b) {
  if (std::isnan(a))
    return b;
  if (std::isnan(b))
    return a;
  bool aLess = a < b || (a == b && std::signbit(a));
  return aLess == (op == ReduceOp::Min) ? a : b;
}

/// A type of 16 bits: one value at a time through binary32, whose sum of two such values rounds
/// once more without harm (24 bits are more than twice 11, plus two).
struct Half {
  static float read(uint16_t bits) { return f16ToFloat(bits); }
  static uint16_t write(float value) { return floatToF16(value); }
};
struct Brain {
  static float read(uint16_t bits) { return bf16ToFloat(bits); }
  static uint16_t write(float value) { return floatToBf16(value); }
};
template <ReduceOp op, typename Format> uint16_t combineShort(uint16_t old, uint16_t b) {
  float x = Format::read(old), y = Format::read(b);
  if constexpr (op == ReduceOp::Add)
    return Format::write(x + y);
  if (std::isnan(x) && std::isnan(y))
    return 0x7fff;
  return Format::write(extreme<op>(x, y));
}

template <typename T, T (*combine)(T, T)>
void loop(uint8_t *memory, const uint8_t *operand, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    T old, b;
    std::memcpy(&old, memory + i * sizeof(T), sizeof(T));
    std::memcpy(&b, operand + i * sizeof(T), sizeof(T));
    old = combine(old, b);
    std::memcpy(memory + i * sizeof(T), &old, sizeof(T));
  }
}

template <typename T> T addFloat(T old, T b) { return old + b; }
float addFlushed(float old, float b) { return flushed(flushed(old) + flushed(b)); }

template <typename T> ReduceFn integerFn(ReduceOp op) {
  switch (op) {
  case ReduceOp::Add:
    return loop<T, combineInteger<ReduceOp::Add, T>>;
  case ReduceOp::Min:
    return loop<T, combineInteger<ReduceOp::Min, T>>;
  case ReduceOp::Max:
    return loop<T, combineInteger<ReduceOp::Max, T>>;
  case ReduceOp::Inc:
    return std::is_same_v<T, uint32_t> ? loop<T, combineInteger<ReduceOp::Inc, T>> : nullptr;
  case ReduceOp::Dec:
    return std::is_same_v<T, uint32_t> ? loop<T, combineInteger<ReduceOp::Dec, T>> : nullptr;
  case ReduceOp::And:
    return loop<T, combineInteger<ReduceOp::And, T>>;
  case ReduceOp::Or:
    return loop<T, combineInteger<ReduceOp::Or, T>>;
  case ReduceOp::Xor:
    return loop<T, combineInteger<ReduceOp::Xor, T>>;
  }
}
template <typename Format> ReduceFn shortFn(ReduceOp op) {
  switch (op) {
  case ReduceOp::Add:
    return loop<uint16_t, combineShort<ReduceOp::Add, Format>>;
  case ReduceOp::Min:
    return loop<uint16_t, combineShort<ReduceOp::Min, Format>>;
  case ReduceOp::Max:
    return loop<uint16_t, combineShort<ReduceOp::Max, Format>>;
  default:
    return nullptr;
  }
}

} // namespace

ReduceFn reduction(ReduceOp op, ReduceType type, bool flush) {
  switch (type) {
  case ReduceType::U32:
    return integerFn<uint32_t>(op);
  case ReduceType::S32:
    return integerFn<int32_t>(op);
  case ReduceType::U64:
    return integerFn<uint64_t>(op);
  case ReduceType::S64:
    return integerFn<int64_t>(op);
  case ReduceType::F16:
    return shortFn<Half>(op);
  case ReduceType::BF16:
    return shortFn<Brain>(op);
  case ReduceType::F32:
    return op != ReduceOp::Add ? nullptr
           : flush             ? loop<float, addFlushed>
                               : loop<float, addFloat<float>>;
  case ReduceType::F64:
    return op == ReduceOp::Add ? loop<double, addFloat<double>> : nullptr;
  }
  return nullptr;
}

} // namespace girih::emu
