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
  /// Integer: has the suffix U, or does not fit .s64.
  bool isUnsigned = false;

  bool is(char c) const { return kind == Tok::Punct && text.size() == 1 && text[0] == c; }
  bool isWord(std::string_view word) const { return kind == Tok::Word && text == word; }
};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) { advance(); }

  const Token &peek() const { return current; }
  Token take() {
    Token result = current;
    lastEnd = position;
    advance();
    return result;
  }
  bool takeIf(char c) {
    if (!current.is(c))
      return false;
    lastEnd = position;
    advance();
    return true;
  }
  /// Is the current token followed by a colon? Labels are told from instructions by it.
  bool colonFollows() const;
  unsigned line() const { return current.line; }
  /// Offset of the current token in the text.
  size_t offset() const { return tokenStart; }
  /// Offset behind the last token taken.
  size_t endOfLast() const { return lastEnd; }
  /// Jumps over everything up to and including the brace that closes the one just taken. False if
  /// the text ends before.
  bool skipBraces();

private:
  void advance();
  bool skipSpace();
  void lexNumber();

  std::string_view text;
  size_t position = 0;
  size_t tokenStart = 0, lastEnd = 0;
  unsigned lineNumber = 1;
  Token current;
};

} // namespace girih::emu::ptx

#endif // GIRIH_EMULATOR_PTX_LEXER_H
