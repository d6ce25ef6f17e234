// One bit for each byte of a memory: has anything defined been written there? Bytes that are
// undefined in part, as bit-fields are while they are filled, keep their bits in a table beside it.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_CHECK_DEFINEDBITS_H
#define GIRIH_EMULATOR_CHECK_DEFINEDBITS_H

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace girih::emu {

class DefinedBits {
public:
  void reset(uint64_t bytes) {
    words.assign((bytes + 63) / 64, 0);
    partial.clear();
  }
  bool empty() const { return words.empty(); }
  void swap(DefinedBits &other) {
    words.swap(other.words);
    partial.swap(other.partial);
  }

  void set(uint64_t at, uint64_t bytes) {
    forEach(at, bytes, [&](uint64_t &word, uint64_t mask) { word |= mask; });
  }
  void clear(uint64_t at, uint64_t bytes) {
    if (!partial.empty())
      for (uint64_t i = 0; i < bytes; ++i)
        partial.erase(at + i);
    forEach(at, bytes, [&](uint64_t &word, uint64_t mask) { word &= ~mask; });
  }
  /// Are all bytes of the range defined?
  bool all(uint64_t at, uint64_t bytes) const {
    if (at % 64 + bytes <= 64) [[likely]] {
      uint64_t mask = maskOf(at % 64, bytes);
      return (words[at / 64] & mask) == mask;
    }
    bool good = true;
    const_cast<DefinedBits *>(this)->forEach(
        at, bytes, [&](uint64_t &word, uint64_t mask) { good &= (word & mask) == mask; });
    return good;
  }
  /// Bit i: byte at + i is undefined. At most 64 bytes.
  uint64_t undefinedMask(uint64_t at, uint32_t bytes) const {
    uint64_t offset = at % 64, result = words[at / 64] >> offset;
    if (offset + bytes > 64)
      result |= words[at / 64 + 1] << (64 - offset);
    return ~result & maskOf(0, bytes);
  }
  /// Undefined bits of one byte.
  uint8_t undefinedBits(uint64_t at) const {
    if (words[at / 64] >> (at % 64) & 1)
      return 0;
    auto found = partial.find(at);
    return found == partial.end() ? 0xff : found->second;
  }
  void setUndefinedBits(uint64_t at, uint8_t bits) {
    if (!bits)
      return set(at, 1);
    clear(at, 1);
    if (bits != 0xff)
      partial[at] = bits;
  }
  static uint64_t maskOf(uint64_t offset, uint64_t bytes) {
    return (bytes >= 64 ? ~uint64_t(0) : (uint64_t(1) << bytes) - 1) << offset;
  }

private:
  template <typename F> void forEach(uint64_t at, uint64_t bytes, F f) {
    while (bytes) {
      uint64_t offset = at % 64, run = std::min<uint64_t>(64 - offset, bytes);
      f(words[at / 64], maskOf(offset, run));
      at += run;
      bytes -= run;
    }
  }
  std::vector<uint64_t> words;
  /// Read only where the byte's bit is 0, so that set() need not look here.
  std::unordered_map<uint64_t, uint8_t> partial;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_CHECK_DEFINEDBITS_H
