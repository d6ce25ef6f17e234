// Pieces of the texts of findings.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_LIB_EMULATOR_TEXT_H
#define GIRIH_LIB_EMULATOR_TEXT_H

#include <cstdint>
#include <cstdio>
#include <string>

namespace girih::emu {

/// An address or offset as people read it: "0x2400".
inline std::string hex(uint64_t value) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "0x%llx", static_cast<unsigned long long>(value));
  return buffer;
}

} // namespace girih::emu

#endif // GIRIH_LIB_EMULATOR_TEXT_H
