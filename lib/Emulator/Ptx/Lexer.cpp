// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Ptx/Lexer.h"

#include <array>
#include <bit>
#include <cstdlib>

namespace girih::emu::ptx {

namespace {
enum : uint8_t { Start = 1, Continue = 2, Digit = 4, Hex = 8, Space = 16 };

constexpr std::array<uint8_t, 256> classes = [] {
  std::array<uint8_t, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c)
    table[c] |= Start | Continue;
  for (int c = 'A'; c <= 'Z'; ++c)
    table[c] |= Start | Continue;
  for (int c = '0'; c <= '9'; ++c)
    table[c] |= Digit | Continue | Hex;
  for (int c = 'a'; c <= 'f'; ++c)
    table[c] |= Hex;
  for (int c = 'A'; c <= 'F'; ++c)
    table[c] |= Hex;
  for (char c : {'_', '$', '%', '.'})
    table[static_cast<uint8_t>(c)] |= Start | Continue;
  for (char c : {' ', '\t', '\r', '\n', '\f', '\v'})
    table[static_cast<uint8_t>(c)] |= Space;
  return table;
}();

bool has(char c, uint8_t what) { return classes[static_cast<uint8_t>(c)] & what; }
} // namespace

/// False at a comment that does not end.
bool Lexer::skipSpace() {
  while (position < text.size()) {
    char c = text[position];
    if (c == '\n')
      ++lineNumber;
    if (has(c, Space)) {
      ++position;
    } else if (c == '/' && text.substr(position, 2) == "//") {
      size_t end = text.find('\n', position);
      position = end == std::string_view::npos ? text.size() : end;
    } else if (c == '/' && text.substr(position, 2) == "/*") {
      size_t end = text.find("*/", position + 2);
      if (end == std::string_view::npos)
        return false;
      for (size_t i = position; i < end; ++i)
        lineNumber += text[i] == '\n';
      position = end + 2;
    } else if (c == '\0') {
      position = text.size();
    } else {
      return true;
    }
  }
  return true;
}

void Lexer::lexNumber() {
  size_t start = position;
  auto digits = [&](auto accept) {
    uint64_t value = 0;
    int base = accept;
    while (position < text.size()) {
      char c = text[position];
      int digit = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : 99;
      if (digit >= base)
        break;
      value = value * base + digit;
      ++position;
    }
    return value;
  };
  current.kind = Tok::Integer;
  char second = position + 1 < text.size() ? text[position + 1] : ' ';
  if (text[position] == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
    // PTX ISA 4.5.2: 0f and eight, or 0d and sixteen hexadecimal digits of the IEEE bits.
    position += 2;
    current.kind = Tok::Float;
    current.single = second == 'f' || second == 'F';
    size_t digitsStart = position;
    current.value = digits(16);
    if (position - digitsStart != (current.single ? 8u : 16u))
      current.kind = Tok::Bad;
  } else if (text[position] == '0' && (second == 'x' || second == 'X')) {
    position += 2;
    current.value = digits(16);
    if (position == start + 2)
      current.kind = Tok::Bad;
  } else if (text[position] == '0' && (second == 'b' || second == 'B')) {
    position += 2;
    current.value = digits(2);
    if (position == start + 2)
      current.kind = Tok::Bad;
  } else {
    size_t probe = position;
    while (probe < text.size() && has(text[probe], Digit))
      ++probe;
    bool decimal = probe + 1 < text.size() && text[probe] == '.' && has(text[probe + 1], Digit);
    bool exponent =
        probe + 1 < text.size() && (text[probe] == 'e' || text[probe] == 'E') &&
        (has(text[probe + 1], Digit) || text[probe + 1] == '-' || text[probe + 1] == '+');
    if (decimal || exponent) {
      std::string copy(text.substr(position, 64));
      char *end = nullptr;
      double value = std::strtod(copy.c_str(), &end);
      position += end - copy.c_str();
      current.kind = Tok::Float;
      current.single = false;
      current.value = std::bit_cast<uint64_t>(value);
    } else {
      current.value = digits(text[position] == '0' ? 8 : 10);
    }
  }
  if (current.kind == Tok::Integer) {
    current.isUnsigned = current.value >> 63;
    if (position < text.size() && text[position] == 'U') {
      current.isUnsigned = true;
      ++position;
    }
  }
  // "08", "0x", "12ab": digits that the number cannot have.
  if (position < text.size() && has(text[position], Continue)) {
    current.kind = Tok::Bad;
    while (position < text.size() && has(text[position], Continue))
      ++position;
  }
  current.text = text.substr(start, position - start);
}

void Lexer::advance() {
  const bool ended = skipSpace();
  tokenStart = position;
  current = Token();
  current.line = lineNumber;
  if (!ended) {
    current.kind = Tok::Bad;
    current.text = text.substr(position, 2);
    position = text.size();
    return;
  }
  if (position >= text.size())
    return;
  char c = text[position];
  // '%' begins a name, or is an operator where no name follows.
  if (has(c, Start) &&
      (c != '%' || (position + 1 < text.size() && has(text[position + 1], Continue)))) {
    // A directive ends before the next one: ".reg.b16 x" is ".reg" and ".b16", as in an opcode's
    // tail.
    size_t start = position++;
    while (position < text.size()) {
      if (text[position] == '.' && c == '.')
        break;
      if (has(text[position], Continue))
        ++position;
      else if (text[position] == ':' && position + 2 < text.size() && text[position + 1] == ':' &&
               has(text[position + 2], Continue))
        position += 2;
      else
        break;
    }
    current.kind = Tok::Word;
    current.text = text.substr(start, position - start);
  } else if (has(c, Digit)) {
    lexNumber();
  } else if (c == '"') {
    size_t end = position + 1;
    while (end < text.size() && text[end] != '"' && text[end] != '\n')
      end += text[end] == '\\' ? 2 : 1;
    current.kind = end < text.size() && text[end] == '"' ? Tok::String : Tok::Bad;
    end = end < text.size() ? end : text.size();
    current.text = text.substr(position + 1, end - position - 1);
    position = end < text.size() ? end + 1 : end;
  } else {
    current.kind = Tok::Punct;
    size_t length = 1;
    char next = position + 1 < text.size() ? text[position + 1] : ' ';
    // Operators of constant expressions (4.5.5). "|" and "!" stand before operands too, alone.
    if (((c == '<' || c == '>') && (next == c || next == '=')) ||
        ((c == '=' || c == '!') && next == '=') || (c == '&' && next == '&') ||
        (c == '|' && next == '|'))
      length = 2;
    current.text = text.substr(position, length);
    position += length;
  }
}

bool Lexer::colonFollows() const {
  size_t at = position;
  while (at < text.size() && has(text[at], Space))
    ++at;
  return at < text.size() && text[at] == ':';
}

bool Lexer::skipBraces() {
  for (int depth = 1; depth > 0;) {
    if (current.kind == Tok::End || current.kind == Tok::Bad)
      return false;
    if (current.is('{'))
      ++depth;
    if (current.is('}'))
      --depth;
    take();
  }
  return true;
}

} // namespace girih::emu::ptx
