// Which lanes of a warp's registers hold undefined values, and where those came from.
//
// A register has one bit for each lane, set while the lane's value is undefined in any bit. Only
// for lanes that are undefined in part (a pair of which one half was written, a bit-field) are the
// bits of the value kept, beside them. Copies carry undefinedness along; it is reported where it
// could matter: in an address, a branch, an operand of a barrier or of a matrix instruction, or a
// store to global memory.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_CHECK_DEFINEDNESS_H
#define GIRIH_EMULATOR_CHECK_DEFINEDNESS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace girih::emu {

/// How an instruction's results depend on undefined operands.
enum class Define : uint8_t {
  Any,        ///< a result is undefined in a lane where any operand is
  Self,       ///< the instruction says so itself (results from memory or from other lanes)
  Bits,       ///< bit by bit: moves, xor, not, lop3
  And,        ///< bit by bit, and a defined zero decides
  Or,         ///< bit by bit, and a defined one decides
  Select,     ///< s[2] chooses s[0] or s[1]
  Pack,       ///< the elements of the list, low one first
  Unpack,     ///< the source's pieces to the elements of the list
  ShiftLeft,  ///< s[0] by s[1]
  ShiftRight, ///< the same
  Extend,     ///< the low bits of the source; what is added to them is their sign or zero
  Extract,    ///< bfe: s[0] from s[1], s[2] bits
  Insert,     ///< bfi: s[0] into s[1] at s[2], s[3] bits
  Permute,    ///< prmt: bytes of s[0] and s[1] that s[2] names
  Warp,       ///< every lane's result depends on the operands of all executing lanes
};

/// Registers are named by their slot: offset in the register file / 64.
constexpr uint32_t kDefinedSlot = 0, kSinkSlot = 1;
inline uint32_t slotOf(int32_t operand) {
  return operand >= 0 ? static_cast<uint32_t>(operand) / 64 : kDefinedSlot;
}
/// Where a value that never was written comes from.
constexpr uint32_t kNeverWritten = ~0u;

/// The bits of one lane of a register.
using ValueBits = unsigned __int128;
/// `count` low bits.
inline ValueBits lowBits(uint32_t count) {
  return count >= 128 ? ~ValueBits(0) : (ValueBits(1) << count) - 1;
}
/// All bits of a register of `width` bytes; a predicate, whose width is 1, has one.
inline ValueBits bitsOfWidth(uint32_t width) { return width == 1 ? 1 : lowBits(8 * width); }

class Definedness {
public:
  /// All registers but the reserved slots undefined, never written.
  void reset(uint32_t slots) {
    undefined.assign(slots, ~0u);
    undefined[kDefinedSlot] = 0;
    origins.assign(slots, kNeverWritten);
    partial.clear();
  }
  void swap(Definedness &other) {
    undefined.swap(other.undefined);
    origins.swap(other.origins);
    partial.swap(other.partial);
  }
  uint32_t *lanes() { return undefined.data(); }
  uint32_t lanes(uint32_t slot) const { return undefined[slot]; }
  uint32_t origin(uint32_t slot) const { return origins[slot]; }
  void setDefined(uint32_t slot, uint32_t mask) { undefined[slot] &= ~mask; }
  /// Undefined bits of a lane; all ones where nothing is known of parts.
  ValueBits bits(uint32_t slot, uint32_t lane) const {
    if (!(undefined[slot] >> lane & 1))
      return 0;
    if (partial.empty())
      return ~ValueBits(0);
    auto found = partial.find(slot);
    return found == partial.end() ? ~ValueBits(0) : found->second[lane];
  }
  /// `all`: the bits that the register has.
  void setBits(uint32_t slot, uint32_t lane, ValueBits undefinedBits, ValueBits all,
               uint32_t origin) {
    const uint32_t bit = 1u << lane;
    undefinedBits &= all;
    if (!undefinedBits) {
      undefined[slot] &= ~bit;
      return;
    }
    undefined[slot] |= bit;
    origins[slot] = origin;
    auto found = partial.find(slot);
    if (found == partial.end()) {
      if (undefinedBits == all)
        return;
      found = partial.emplace(slot, std::array<ValueBits, 32>()).first;
      found->second.fill(~ValueBits(0));
    }
    found->second[lane] = undefinedBits == all ? ~ValueBits(0) : undefinedBits;
  }
  /// The same by bytes, one bit each: a byte is undefined if any bit of it is.
  uint16_t bytes(uint32_t slot, uint32_t lane) const {
    const ValueBits value = bits(slot, lane);
    uint16_t result = 0;
    for (uint32_t i = 0; i < 16; ++i)
      result |= static_cast<uint16_t>(uint32_t((value >> (8 * i) & 0xff) != 0) << i);
    return result;
  }
  void setBytes(uint32_t slot, uint32_t lane, uint16_t undefinedBytes, uint16_t allBytes,
                uint32_t origin) {
    auto spread = [](uint16_t bytes) {
      ValueBits value = 0;
      for (uint32_t i = 0; i < 16; ++i)
        if (bytes >> i & 1)
          value |= ValueBits(0xff) << (8 * i);
      return value;
    };
    setBits(slot, lane, spread(undefinedBytes), spread(allBytes), origin);
  }
  void setUndefined(uint32_t slot, uint32_t mask, uint32_t origin) {
    if (!mask)
      return;
    undefined[slot] |= mask;
    origins[slot] = origin;
    if (!partial.empty())
      if (auto found = partial.find(slot); found != partial.end())
        for (uint32_t m = mask; m; m &= m - 1)
          found->second[static_cast<std::size_t>(__builtin_ctz(m))] = ~ValueBits(0);
  }

private:
  std::vector<uint32_t> undefined, origins;
  std::unordered_map<uint32_t, std::array<ValueBits, 32>> partial;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_CHECK_DEFINEDNESS_H
