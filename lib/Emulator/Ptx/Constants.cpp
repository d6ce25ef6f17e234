// Constant expressions (PTX ISA 9.0, 4.5): C's operators on 64-bit integers and doubles.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Ptx/ParserImpl.h"

#include <bit>

namespace girih::emu::ptx {

namespace {

/// 4.5.5, table 6; 0 for what is no binary operator.
int precedence(const Token &t) {
  if (t.kind != Tok::Punct)
    return 0;
  struct Row {
    std::string_view op;
    int level;
  };
  static constexpr Row rows[] = {{"*", 10}, {"/", 10}, {"%", 10}, {"+", 9},  {"-", 9},  {"<<", 8},
                                 {">>", 8}, {"<", 7},  {">", 7},  {"<=", 7}, {">=", 7}, {"==", 6},
                                 {"!=", 6}, {"&", 5},  {"^", 4},  {"|", 3},  {"&&", 2}, {"||", 1}};
  for (const Row &row : rows)
    if (t.text == row.op)
      return row.level;
  return 0;
}

double asReal(const Constant &c) {
  return c.isFloat      ? c.real
         : c.isUnsigned ? static_cast<double>(c.bits)
                        : static_cast<double>(static_cast<int64_t>(c.bits));
}
bool isTrue(const Constant &c) { return c.isFloat ? c.real != 0 : c.bits != 0; }
Constant integer(uint64_t bits, bool isUnsigned = false) {
  Constant c;
  c.bits = bits;
  c.isUnsigned = isUnsigned;
  return c;
}
/// A cast truncates; what does not fit has no meaning and gives the nearest value.
uint64_t truncated(double value, bool isUnsigned) {
  if (isUnsigned)
    return !(value > 0) ? 0 : value >= 0x1p64 ? UINT64_MAX : static_cast<uint64_t>(value);
  return static_cast<uint64_t>(!(value > -0x1p63) ? (value < 0 ? INT64_MIN : 0)
                               : value >= 0x1p63  ? INT64_MAX
                                                  : static_cast<int64_t>(value));
}
Constant real(double value) {
  Constant c;
  c.isFloat = true;
  c.real = value;
  return c;
}

} // namespace

std::optional<Constant> Parser::combine(const Token &op, const Constant &a, const Constant &b) {
  const std::string_view o = op.text;
  if (o == "&&")
    return integer(isTrue(a) && isTrue(b));
  if (o == "||")
    return integer(isTrue(a) || isTrue(b));
  const bool compares = o == "<" || o == ">" || o == "<=" || o == ">=" || o == "==" || o == "!=";
  auto compare = [&](auto x, auto y) {
    return integer(o == "<"    ? x < y
                   : o == ">"  ? x > y
                   : o == "<=" ? x <= y
                   : o == ">=" ? x >= y
                   : o == "==" ? x == y
                               : x != y);
  };
  if (a.isFloat || b.isFloat) {
    double x = asReal(a), y = asReal(b);
    if (compares)
      return compare(x, y);
    if (o == "+" || o == "-" || o == "*" || o == "/")
      return real(o == "+" ? x + y : o == "-" ? x - y : o == "*" ? x * y : x / y);
    error(op.line, "'" + std::string(o) + "' between floating-point constants");
    return std::nullopt;
  }
  const uint64_t x = a.bits, y = b.bits;
  // Shifts have the type of their left side, all else that of both (4.5.5).
  const bool isUnsigned = o == "<<" || o == ">>" ? a.isUnsigned : a.isUnsigned || b.isUnsigned;
  const int64_t sx = static_cast<int64_t>(x), sy = static_cast<int64_t>(y);
  if (compares)
    return isUnsigned ? compare(x, y) : compare(sx, sy);
  if ((o == "/" || o == "%") && y == 0) {
    error(op.line, "division by zero in a constant expression");
    return std::nullopt;
  }
  if (o == "<<")
    return integer(y > 63 ? 0 : x << y, isUnsigned);
  if (o == ">>")
    return integer(isUnsigned ? (y > 63 ? 0 : x >> y)
                              : static_cast<uint64_t>(sx >> (y > 63 ? 63 : y)),
                   isUnsigned);
  if (o == "/" || o == "%") {
    if (isUnsigned)
      return integer(o == "/" ? x / y : x % y, true);
    if (sy == -1) // The one quotient that overflows is its own negation.
      return integer(o == "/" ? 0 - x : 0);
    return integer(static_cast<uint64_t>(o == "/" ? sx / sy : sx % sy));
  }
  return integer(o == "+"   ? x + y
                 : o == "-" ? x - y
                 : o == "*" ? x * y
                 : o == "&" ? x & y
                 : o == "^" ? x ^ y
                            : x | y,
                 isUnsigned);
}

std::optional<Constant> Parser::parseUnary() {
  Nesting nesting(*this);
  if (!nesting.fine())
    return std::nullopt;
  const Token token = lexer.peek();
  if (token.is('+') || token.is('-') || token.is('!') || token.is('~')) {
    lexer.take();
    std::optional<Constant> value = parseUnary();
    if (!value)
      return value;
    if (token.is('-')) {
      value->bits = 0 - value->bits;
      value->real = -value->real;
      value->singleBits ^= 0x80000000u;
    } else if (token.is('!')) {
      value = integer(!isTrue(*value));
    } else if (token.is('~')) {
      if (value->isFloat) {
        error(token.line, "'~' of a floating-point constant");
        return std::nullopt;
      }
      value->bits = ~value->bits;
    }
    return value;
  }
  if (token.is('(')) {
    lexer.take();
    if (lexer.peek().isWord(".s64") || lexer.peek().isWord(".u64")) {
      bool isUnsigned = lexer.take().text == ".u64";
      if (!expect(')', " after a cast"))
        return std::nullopt;
      std::optional<Constant> value = parseUnary();
      if (value)
        value =
            integer(value->isFloat ? truncated(value->real, isUnsigned) : value->bits, isUnsigned);
      return value;
    }
    std::optional<Constant> value = parseConstant();
    if (!value || !expect(')', " in a constant expression"))
      return std::nullopt;
    return value;
  }
  if (token.kind == Tok::Integer) {
    lexer.take();
    return integer(token.value, token.isUnsigned);
  }
  if (token.kind == Tok::Float) {
    lexer.take();
    Constant c = real(token.single ? std::bit_cast<float>(static_cast<uint32_t>(token.value))
                                   : std::bit_cast<double>(token.value));
    c.single = token.single;
    c.singleBits = static_cast<uint32_t>(token.value);
    return c;
  }
  if (token.isWord("WARP_SZ")) {
    lexer.take();
    return integer(32);
  }
  errorHere("a number");
  return std::nullopt;
}

std::optional<Constant> Parser::parseConstant(int leastPrecedence) {
  std::optional<Constant> left = parseUnary();
  while (left) {
    int level = precedence(lexer.peek());
    if (level == 0 || level <= leastPrecedence)
      break;
    Token op = lexer.take();
    std::optional<Constant> right = parseConstant(level);
    if (!right)
      return right;
    left = combine(op, *left, *right);
  }
  if (left && leastPrecedence == 0 && lexer.takeIf('?')) {
    std::optional<Constant> yes = parseConstant();
    if (!yes || !expect(':', " in a constant expression"))
      return std::nullopt;
    std::optional<Constant> no = parseConstant();
    if (!no)
      return no;
    return isTrue(*left) ? yes : no;
  }
  return left;
}

std::optional<int64_t> Parser::parseInteger() {
  unsigned line = lexer.line();
  std::optional<Constant> value = parseConstant();
  if (!value)
    return std::nullopt;
  if (value->isFloat) {
    error(line, "a floating-point constant where an integer is needed");
    return std::nullopt;
  }
  return static_cast<int64_t>(value->bits);
}

bool Parser::parseOffset(int64_t &value) {
  while (lexer.peek().is('+') || lexer.peek().is('-')) {
    const bool negative = lexer.peek().is('-');
    lexer.take();
    unsigned line = lexer.line();
    std::optional<Constant> term = parseConstant(9);
    if (!term)
      return false;
    if (term->isFloat) {
      error(line, "a floating-point constant where an offset is needed");
      return false;
    }
    uint64_t offset = negative ? 0 - term->bits : term->bits;
    value = static_cast<int64_t>(static_cast<uint64_t>(value) + offset);
  }
  return true;
}

} // namespace girih::emu::ptx
