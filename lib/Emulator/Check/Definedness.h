// Which lanes of a warp's registers hold undefined values, and where those came from.
//
// A register has one bit for each lane, set while the lane's value is undefined in any byte. Only
// for lanes that are undefined in part (a pair of which one half was written) are the bytes kept,
// beside the bits. Copies carry undefinedness along; it is reported where it could matter: in an
// address, a branch, an operand of a barrier or of a matrix instruction, or a store to global
// memory.
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
  Bytes,      ///< byte by byte: moves, xor, not
  And,        ///< byte by byte, and a defined zero byte (a false predicate) decides
  Or,         ///< byte by byte, and a defined 0xff byte (a true predicate) decides
  Select,     ///< s[2] chooses s[0] or s[1]
  Pack,       ///< the elements of the list, low one first
  Unpack,     ///< the source's pieces to the elements of the list
  ShiftLeft,  ///< whole bytes move with the bits
  ShiftRight, ///< the same
  Extend,     ///< the low bytes of the source; what is added to them is their sign or zero
  Warp,       ///< every lane's result depends on the operands of all executing lanes
};

/// Registers are named by their slot: offset in the register file / 64.
constexpr uint32_t kDefinedSlot = 0, kSinkSlot = 1;
inline uint32_t slotOf(int32_t operand) {
  return operand >= 0 ? static_cast<uint32_t>(operand) / 64 : kDefinedSlot;
}
/// Where a value that never was written comes from.
constexpr uint32_t kNeverWritten = ~0u;

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
  /// Undefined bytes of a lane, one bit each.
  uint16_t bytes(uint32_t slot, uint32_t lane) const {
    if (!(undefined[slot] >> lane & 1))
      return 0;
    if (partial.empty())
      return 0xffff;
    auto found = partial.find(slot);
    return found == partial.end() ? 0xffff : found->second[lane];
  }
  void setBytes(uint32_t slot, uint32_t lane, uint16_t undefinedBytes, uint16_t allBytes,
                uint32_t origin) {
    const uint32_t bit = 1u << lane;
    if (!undefinedBytes) {
      undefined[slot] &= ~bit;
      return;
    }
    undefined[slot] |= bit;
    origins[slot] = origin;
    auto found = partial.find(slot);
    if (found == partial.end()) {
      if (undefinedBytes == allBytes)
        return;
      found = partial.emplace(slot, std::array<uint16_t, 32>()).first;
      found->second.fill(0xffff);
    }
    found->second[lane] = undefinedBytes == allBytes ? uint16_t(0xffff) : undefinedBytes;
  }
  void setUndefined(uint32_t slot, uint32_t mask, uint32_t origin) {
    if (!mask)
      return;
    undefined[slot] |= mask;
    origins[slot] = origin;
    if (!partial.empty())
      if (auto found = partial.find(slot); found != partial.end())
        for (uint32_t m = mask; m; m &= m - 1)
          found->second[static_cast<std::size_t>(__builtin_ctz(m))] = 0xffff;
  }

private:
  std::vector<uint32_t> undefined, origins;
  std::unordered_map<uint32_t, std::array<uint16_t, 32>> partial;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_CHECK_DEFINEDNESS_H
