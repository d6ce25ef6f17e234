// What the tests of matrix instructions share: matrices of small integers, their encoding in each
// element type, and kernels that bring the registers of a warp from memory and back.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_TEST_UNIT_EMULATOR_MATRIXHARNESS_H
#define GIRIH_TEST_UNIT_EMULATOR_MATRIXHARNESS_H

#include "KernelHarness.h"

#include "girih/Emulator/FloatFormats.h"

#include <random>
#include <string>
#include <vector>

namespace girih::emu::test {

inline uint32_t bitsOf(const std::string &type) {
  return type == "f64"                                      ? 64
         : type == "f32" || type == "tf32" || type == "s32" ? 32
         : type == "f16" || type == "bf16"                  ? 16
         : type == "s4" || type == "u4"                     ? 4
         : type == "b1"                                     ? 1
                                                            : 8;
}

/// The bits of a small integer in an element type.
inline uint64_t encode(const std::string &type, int value) {
  const float v = static_cast<float>(value);
  if (type == "f64")
    return std::bit_cast<uint64_t>(static_cast<double>(value));
  if (type == "f32" || type == "tf32")
    return std::bit_cast<uint32_t>(v);
  if (type == "f16")
    return floatToF16(v);
  if (type == "bf16")
    return floatToBf16(v);
  if (type == "e4m3")
    return floatToE4m3(v);
  if (type == "e5m2")
    return floatToE5m2(v);
  const uint32_t bits = bitsOf(type);
  return static_cast<uint32_t>(value) & (bits == 32 ? ~0u : (1u << bits) - 1);
}
inline double decodeResult(const std::string &type, uint64_t bits) {
  if (type == "f64")
    return std::bit_cast<double>(bits);
  if (type == "f32")
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (type == "f16")
    return f16ToFloat(static_cast<uint16_t>(bits));
  return static_cast<int32_t>(bits);
}

/// Small integers that the type has: -2 to 2, 0 to 3, or single bits.
inline int smallValue(const std::string &type, std::mt19937 &random) {
  if (type == "b1")
    return static_cast<int>(random() % 2);
  if (type[0] == 'u')
    return static_cast<int>(random() % 4);
  return static_cast<int>(random() % 5) - 2;
}

struct Matrix {
  uint32_t rows = 0, columns = 0;
  std::vector<int> values;
  Matrix(uint32_t rows, uint32_t columns)
      : rows(rows), columns(columns), values(size_t(rows) * columns) {}
  int &at(uint32_t row, uint32_t column) { return values[size_t(row) * columns + column]; }
  int at(uint32_t row, uint32_t column) const { return values[size_t(row) * columns + column]; }
  void fill(const std::string &type, std::mt19937 &random) {
    for (int &v : values)
      v = smallValue(type, random);
  }
};

/// C + A B in integers; of single bits the bits that are set in a & b, or in a ^ b.
inline Matrix reference(const Matrix &a, const Matrix &b, const Matrix &c, bool exclusiveOr) {
  Matrix d(c.rows, c.columns);
  for (uint32_t i = 0; i < c.rows; ++i)
    for (uint32_t j = 0; j < c.columns; ++j) {
      int sum = c.at(i, j);
      for (uint32_t k = 0; k < a.columns; ++k)
        sum += exclusiveOr ? a.at(i, k) ^ b.at(k, j) : a.at(i, k) * b.at(k, j);
      d.at(i, j) = sum;
    }
  return d;
}

/// A register file: element `index` of lane `lane`, elements packed into registers of 32 (or 64)
/// bits, low first.
struct Lanes {
  uint32_t registers, registerBits;
  std::vector<uint32_t> words; ///< [register][lane][word]
  Lanes(uint32_t registers, uint32_t registerBits)
      : registers(registers), registerBits(registerBits),
        words(size_t(registers) * 32 * registerBits / 32) {}
  void set(uint32_t lane, uint32_t index, uint32_t bits, uint64_t value) {
    const uint32_t perRegister = registerBits / bits;
    size_t at = (size_t(index / perRegister) * 32 + lane) * registerBits / 32;
    if (bits == 64) {
      words[at] = static_cast<uint32_t>(value);
      words[at + 1] = static_cast<uint32_t>(value >> 32);
      return;
    }
    words[at] |= static_cast<uint32_t>(value) << bits * (index % perRegister);
  }
  uint64_t get(uint32_t lane, uint32_t index, uint32_t bits) const {
    const uint32_t perRegister = registerBits / bits;
    size_t at = (size_t(index / perRegister) * 32 + lane) * registerBits / 32;
    if (bits == 64)
      return words[at] | uint64_t(words[at + 1]) << 32;
    return words[at] >> bits * (index % perRegister) & (bits == 32 ? ~0u : (1u << bits) - 1);
  }
};

/// "{a0, a1, ...}"
inline std::string vectorOf(const std::string &prefix, uint32_t count) {
  std::string text = "{";
  for (uint32_t i = 0; i < count; ++i)
    text += (i ? ", " : "") + prefix + std::to_string(i);
  return text + "}";
}
/// Declarations of registers `prefix`0... and loads of theirs from word `word` of the buffer on.
inline std::string loadRegisters(const std::string &prefix, const Lanes &lanes, uint32_t word) {
  const std::string type = lanes.registerBits == 64 ? "b64" : "b32";
  std::string text =
      ".reg ." + type + " " + prefix + "<" + std::to_string(lanes.registers) + ">;\n";
  for (uint32_t r = 0; r < lanes.registers; ++r)
    text += "ld.global." + type + " " + prefix + std::to_string(r) + ", [" +
            (lanes.registerBits == 64 ? "%rd12" : "%rd11") + "+" +
            std::to_string(4 * (word + r * lanes.registerBits)) + "];\n";
  return text;
}
inline std::string storeRegisters(const std::string &prefix, const Lanes &lanes, uint32_t word) {
  const std::string type = lanes.registerBits == 64 ? "b64" : "b32";
  std::string text;
  for (uint32_t r = 0; r < lanes.registers; ++r)
    text += "st.global." + type + " [" + (lanes.registerBits == 64 ? "%rd12" : "%rd11") + "+" +
            std::to_string(4 * (word + r * lanes.registerBits)) + "], " + prefix +
            std::to_string(r) + ";\n";
  return text;
}
/// %rd11 and %rd12: the buffer, offset by the lane's 32-bit or 64-bit slot.
inline const char *laneBases() {
  return "and.b32 %r30, %r0, 31; mad.wide.u32 %rd11, %r30, 4, %rd0; mad.wide.u32 %rd12, %r30, 8, "
         "%rd0;\n";
}

/// Where an element of a fragment belongs.
struct At {
  uint32_t row, column;
};
/// Row and column of element `i`; g is groupID, t threadID_in_group.
using Formula = At (*)(uint32_t g, uint32_t t, uint32_t i);

inline At accumulator16(uint32_t g, uint32_t t, uint32_t i) {
  return {i < 2 ? g : g + 8, t * 2 + (i & 1)};
}
inline At accumulator8(uint32_t g, uint32_t t, uint32_t i) { return {g, t * 2 + (i & 1)}; }

/// Runs one instruction on the registers; D comes back in `d`.
inline Ran runOn(const std::string &instruction, const std::vector<const Lanes *> &operands,
                 Lanes &d, Numerics numerics) {
  std::vector<uint32_t> data;
  std::string body = laneBases();
  const char *names[] = {"a", "b", "c", "e"};
  for (size_t i = 0; i < operands.size(); ++i) {
    body += loadRegisters(names[i], *operands[i], static_cast<uint32_t>(data.size()));
    data.insert(data.end(), operands[i]->words.begin(), operands[i]->words.end());
  }
  const uint32_t at = static_cast<uint32_t>(data.size());
  data.resize(at + d.words.size());
  body += ".reg ." + std::string(d.registerBits == 64 ? "b64" : "b32") + " d<" +
          std::to_string(d.registers) + ">;\n" + instruction + "\n" + storeRegisters("d", d, at);
  KernelSetup setup;
  setup.data = data;
  setup.numerics = numerics;
  Ran ran = run(body, setup);
  std::copy(ran.out.begin() + at, ran.out.end(), d.words.begin());
  return ran;
}

} // namespace girih::emu::test

#endif // GIRIH_TEST_UNIT_EMULATOR_MATRIXHARNESS_H
