// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/PrintFormat.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace girih::emu {

namespace {

/// Widths and precisions beyond this are cut: a line of a megabyte helps nobody.
constexpr int kMaxField = 4096;

struct Conversion {
  std::string flags;
  int width = -1, precision = -1;
  unsigned bytes = 4;  ///< of an integer
  unsigned narrow = 4; ///< what hh and h leave of it
  char kind = 0;
  size_t end = 0;
};

/// Parses the conversion after the '%' at `at`. kind 0: it is none.
template <typename Star> Conversion parse(const std::string &format, size_t at, Star takeStar) {
  Conversion c;
  size_t i = at + 1;
  while (i < format.size() && std::strchr("-+ #0", format[i]))
    c.flags += format[i++];
  auto number = [&](int &value) {
    if (i < format.size() && format[i] == '*') {
      ++i;
      value = takeStar();
      return;
    }
    value = 0;
    while (i < format.size() && format[i] >= '0' && format[i] <= '9') {
      value = std::min(kMaxField, value * 10 + (format[i] - '0'));
      ++i;
    }
  };
  if (i < format.size() && (format[i] == '*' || (format[i] >= '1' && format[i] <= '9')))
    number(c.width);
  if (i < format.size() && format[i] == '.') {
    ++i;
    number(c.precision);
  }
  const std::string_view rest(format.data() + i, format.size() - i);
  size_t length = 0;
  if (rest.substr(0, 2) == "ll")
    c.bytes = c.narrow = 8, length = 2;
  else if (rest.substr(0, 2) == "hh")
    c.narrow = 1, length = 2;
  else if (rest.substr(0, 1) == "h")
    c.narrow = 2, length = 1;
  else if (!rest.empty() && std::strchr("ljzt", rest[0]))
    c.bytes = c.narrow = 8, length = 1;
  i += length;
  if (i < format.size() && std::strchr("diouxXfFeEgGaAscp%", format[i])) {
    c.kind = format[i];
    c.end = i + 1;
  }
  return c;
}

template <typename T> void print(std::string &out, const Conversion &c, const char *size, T value) {
  std::string spec = "%" + c.flags + "*" + (c.precision >= 0 ? ".*" : "") + size + c.kind;
  char buffer[2 * kMaxField + 512];
  const int width = std::max(0, c.width);
  const int written = c.precision >= 0
                          ? std::snprintf(buffer, sizeof(buffer), spec.c_str(), width,
                                          std::min(c.precision, kMaxField), value)
                          : std::snprintf(buffer, sizeof(buffer), spec.c_str(), width, value);
  if (written > 0)
    out.append(buffer, std::min<size_t>(static_cast<size_t>(written), sizeof(buffer) - 1));
}

} // namespace

bool formatPrint(const std::string &format, const PrintArguments &arguments, std::string &out,
                 uint32_t &count) {
  uint64_t offset = 0;
  bool good = true;
  count = 0;
  auto take = [&](void *to, uint32_t bytes) {
    offset = (offset + bytes - 1) / bytes * bytes;
    good = good && arguments.read(offset, to, bytes);
    offset += bytes;
    ++count;
  };
  auto takeStar = [&] {
    int32_t value = 0;
    take(&value, 4);
    return std::max(-kMaxField, std::min(kMaxField, static_cast<int>(value)));
  };
  for (size_t i = 0; i < format.size() && good;) {
    if (format[i] != '%') {
      out += format[i++];
      continue;
    }
    Conversion c = parse(format, i, takeStar);
    if (!c.kind) {
      out += format[i++];
      continue;
    }
    i = c.end;
    if (c.width < -1) {
      // A negative width from '*' is a '-' flag.
      c.flags += '-';
      c.width = -c.width;
    }
    switch (c.kind) {
    case '%':
      out += '%';
      break;
    case 'd':
    case 'i': {
      int64_t value = 0;
      if (c.bytes == 8) {
        take(&value, 8);
      } else {
        int32_t word = 0;
        take(&word, 4);
        value = c.narrow == 1   ? static_cast<int8_t>(word)
                : c.narrow == 2 ? static_cast<int16_t>(word)
                                : word;
      }
      print(out, c, "ll", static_cast<long long>(value));
      break;
    }
    case 'o':
    case 'u':
    case 'x':
    case 'X': {
      uint64_t value = 0;
      take(&value, c.bytes);
      if (c.narrow < 4)
        value &= (uint64_t(1) << (8 * c.narrow)) - 1;
      print(out, c, "ll", static_cast<unsigned long long>(value));
      break;
    }
    case 'c': {
      int32_t value = 0;
      take(&value, 4);
      print(out, c, "", value);
      break;
    }
    case 'p': {
      uint64_t value = 0;
      take(&value, 8);
      char text[32];
      std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
      c.kind = 's';
      c.precision = -1;
      print(out, c, "", static_cast<const char *>(text));
      break;
    }
    case 's': {
      uint64_t address = 0;
      std::string text;
      take(&address, 8);
      if (address == 0)
        text = "(null)";
      else
        good = good && arguments.string(address, text);
      if (c.width > 0 || c.precision >= 0)
        print(out, c, "", text.substr(0, kMaxField).c_str());
      else
        out += text;
      break;
    }
    default: {
      double value = 0;
      take(&value, 8);
      print(out, c, "", value);
    }
    }
  }
  return good;
}

} // namespace girih::emu
