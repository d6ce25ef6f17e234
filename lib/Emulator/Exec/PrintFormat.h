// The formats of the device's printf: C's, with arguments from a buffer.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_EXEC_PRINTFORMAT_H
#define GIRIH_EMULATOR_EXEC_PRINTFORMAT_H

#include <cstdint>
#include <functional>
#include <string>

namespace girih::emu {

/// Where the arguments come from.
struct PrintArguments {
  /// Reads `bytes` bytes at `offset` of the buffer; false to stop.
  std::function<bool(uint64_t offset, void *to, uint32_t bytes)> read;
  /// The text that a %s points to; false to stop.
  std::function<bool(uint64_t address, std::string &to)> string;
};

/// Formats as printf does (CUDA C++ Programming Guide 13, "Formatted Output"): flags, width,
/// precision and size, conversions d i o u x X f F e E g G a A s c p %. Arguments lie in the buffer
/// one after the other, each at a multiple of its size; floating-point ones are doubles. What is no
/// conversion is printed as it stands. False when an argument could not be read. `count`: the
/// arguments that were used.
bool formatPrint(const std::string &format, const PrintArguments &arguments, std::string &out,
                 uint32_t &count);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_EXEC_PRINTFORMAT_H
