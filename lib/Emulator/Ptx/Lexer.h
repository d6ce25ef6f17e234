// Splits PTX text into tokens (PTX ISA 9.0, chapter 4 "Syntax").
//
// Tokens are views into the text; the text must outlive them. Words swallow dots and "::", so that
// `ld.global.L2::128B.u32` and `%tid.x` are one token each, and the parser splits modifiers itself.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_PTX_LEXER_H
#define GIRIH_EMULATOR_PTX_LEXER_H

#include <cstdint>
#include <string>
#include <string_view>

namespace girih::emu::ptx {

enum class Tok : uint8_t { End, Word, Integer, Float, String, Punct, Bad };

struct Token {
  Tok kind = Tok::End;
  /// The characters; for strings without the quotes.
  std::string_view text;
  unsigned line = 1;
  /// Integer: the value. Float: the bits, of a float if `single`, else of a double.
  uint64_t value = 0;
  bool single = false;

  bool is(char c) const { return kind == Tok::Punct && text[0] == c; }
  bool isWord(std::string_view word) const { return kind == Tok::Word && text == word; }
};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) { advance(); }

  const Token &peek() const { return current; }
  Token take() {
    Token result = current;
    advance();
    return result;
  }
  bool takeIf(char c) {
    if (!current.is(c))
      return false;
    advance();
    return true;
  }
  unsigned line() const { return current.line; }
  /// Offset of the current token in the text.
  size_t offset() const { return tokenStart; }
  /// Jumps over everything up to and including the brace that closes the one just taken.
  void skipBraces();

private:
  void advance();
  void skipSpace();
  void lexNumber();

  std::string_view text;
  size_t position = 0;
  size_t tokenStart = 0;
  unsigned lineNumber = 1;
  Token current;
};

} // namespace girih::emu::ptx

#endif // GIRIH_EMULATOR_PTX_LEXER_H
