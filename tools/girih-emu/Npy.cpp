// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Npy.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace girih::emu::tool {

uint64_t Array::count() const {
  uint64_t n = 1;
  for (uint64_t d : shape)
    n *= d;
  return n;
}

uint64_t Array::itemBytes() const { return std::strtoull(dtype.c_str() + 2, nullptr, 10); }

Array readNpy(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream buffer;
  buffer << in.rdbuf();
  const std::string text = buffer.str();
  auto bad = [&](const std::string &why) { return std::runtime_error(path + ": " + why); };
  if (!in)
    throw bad("cannot be read");
  if (text.size() < 12 || text.compare(0, 6, "\x93NUMPY") != 0)
    throw bad("is no .npy file");
  auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[i])); };
  size_t start = text[6] == 1 ? 10 : 12;
  size_t length = text[6] == 1 ? byte(8) | byte(9) << 8
                               : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (start + length > text.size())
    throw bad("ends inside its header");
  const std::string header = text.substr(start, length);
  Array array;
  auto valueOf = [&](const char *key) {
    size_t at = header.find(std::string("'") + key + "'");
    at = at == std::string::npos ? at : header.find(':', at);
    if (at == std::string::npos)
      throw bad(std::string("has no ") + key);
    return header.substr(header.find_first_not_of(' ', at + 1));
  };
  std::string descr = valueOf("descr");
  array.dtype = descr.substr(1, descr.find('\'', 1) - 1);
  if (array.dtype.size() < 3 || (array.dtype[0] != '<' && array.dtype[0] != '|'))
    throw bad("has dtype " + array.dtype + "; little-endian numbers are expected");
  if (valueOf("fortran_order").compare(0, 5, "False") != 0)
    throw bad("is in Fortran order; save it with numpy.ascontiguousarray");
  std::string shape = valueOf("shape");
  for (size_t i = 1; i < shape.size() && shape[i] != ')';) {
    char *end = nullptr;
    uint64_t extent = std::strtoull(shape.c_str() + i, &end, 10);
    if (end == shape.c_str() + i) {
      ++i;
      continue;
    }
    array.shape.push_back(extent);
    i = static_cast<size_t>(end - shape.c_str());
  }
  array.data.assign(text.begin() + static_cast<std::ptrdiff_t>(start + length), text.end());
  if (array.data.size() != array.count() * array.itemBytes())
    throw bad("has " + std::to_string(array.data.size()) + " bytes of data, its header says " +
              std::to_string(array.count() * array.itemBytes()));
  return array;
}

void writeNpy(const std::string &path, const Array &array) {
  std::string header = "{'descr': '" + array.dtype + "', 'fortran_order': False, 'shape': (";
  for (uint64_t d : array.shape)
    header += std::to_string(d) + ", ";
  header += "), }";
  header.append(63 - (header.size() + 10) % 64, ' ');
  header += '\n';
  std::ofstream out(path, std::ios::binary);
  out << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size() & 0xff)
      << static_cast<char>(header.size() >> 8) << header;
  out.write(reinterpret_cast<const char *>(array.data.data()),
            static_cast<std::streamsize>(array.data.size()));
  if (!out)
    throw std::runtime_error(path + ": cannot be written");
}

} // namespace girih::emu::tool
