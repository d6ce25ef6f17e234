// Reading and writing of NumPy's .npy files (NEP 1): little-endian, C order.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_TOOLS_EMU_NPY_H
#define GIRIH_TOOLS_EMU_NPY_H

#include <cstdint>
#include <string>
#include <vector>

namespace girih::emu::tool {

struct Array {
  std::string dtype; ///< as NumPy writes it, e.g. "<f4"
  std::vector<uint64_t> shape;
  std::vector<uint8_t> data;

  uint64_t count() const;
  uint64_t itemBytes() const;
};

/// Throws std::runtime_error with the file's name and what is wrong with it.
Array readNpy(const std::string &path);
void writeNpy(const std::string &path, const Array &array);

} // namespace girih::emu::tool

#endif // GIRIH_TOOLS_EMU_NPY_H
