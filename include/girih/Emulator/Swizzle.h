// The swizzle that TMA and wgmma apply to shared-memory addresses, shared by both so that there is
// one definition of it. It permutes the 16-byte granules of a row by XOR with the row's number
// inside the pattern, and it works on the bits of the absolute shared-memory address: where a tile
// starts does not matter, only where each byte lies.
//
// Source: PTX ISA 9.0, 5.5.7 "Swizzling Modes" and 9.7.15.5.1.2.1.3 "Canonical Layouts", which
// write the three modes as Swizzle<1,4,3>, <2,4,3> and <3,4,3>: B bits from bit 4 up are XORed with
// the B bits from bit 7 up.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_EMULATOR_SWIZZLE_H
#define GIRIH_EMULATOR_SWIZZLE_H

#include <cstdint>

namespace girih::emu {

/// Width in bytes of the span whose 16-byte granules are permuted; the value is that width (0:
/// none).
enum class Swizzle : uint8_t { None = 0, B32 = 32, B64 = 64, B128 = 128 };

/// Bytes of a row of the pattern; 16 without a swizzle (one granule).
constexpr uint32_t swizzleSpan(Swizzle mode) {
  return mode == Swizzle::None ? 16 : static_cast<uint32_t>(mode);
}

/// Address bits 4.. that the mode changes.
constexpr uint32_t swizzleMask(Swizzle mode) {
  return mode == Swizzle::B128  ? 0x70u
         : mode == Swizzle::B64 ? 0x30u
         : mode == Swizzle::B32 ? 0x10u
                                : 0u;
}

/// Bytes after which the pattern repeats: 256, 512 and 1024 (PTX ISA 9.0, 9.7.15.5.1.2.2, table of
/// pattern starts); 16 without a swizzle.
constexpr uint32_t swizzlePeriod(Swizzle mode) {
  return mode == Swizzle::None ? 16 : 8 * static_cast<uint32_t>(mode);
}

/// Where the byte that would lie at `address` without a swizzle lies with it. An involution.
constexpr uint32_t swizzleAddress(uint32_t address, Swizzle mode) {
  return address ^ ((address >> 3) & swizzleMask(mode));
}

/// "none", "32B", "64B" or "128B", for messages.
constexpr const char *swizzleName(Swizzle mode) {
  return mode == Swizzle::B128  ? "128B"
         : mode == Swizzle::B64 ? "64B"
         : mode == Swizzle::B32 ? "32B"
                                : "none";
}

} // namespace girih::emu

#endif // GIRIH_EMULATOR_SWIZZLE_H
