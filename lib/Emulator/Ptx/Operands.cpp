// Operands of statements (PTX ISA 9.0, chapter 6).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Ptx/ParserImpl.h"

#include <algorithm>
#include <bit>

namespace girih::emu::ptx {

bool Parser::parseNumber(Operand &operand) {
  std::optional<Constant> value = parseConstant();
  if (!value)
    return false;
  operand.kind = value->isFloat ? OperandKind::Float : OperandKind::Integer;
  operand.single = value->single;
  operand.value = static_cast<int64_t>(!value->isFloat ? value->bits
                                       : value->single ? uint64_t(value->singleBits)
                                                       : std::bit_cast<uint64_t>(value->real));
  return true;
}

bool Parser::parseElementOf(const Symbol &symbol, Operand &operand) {
  // 6.4.2: x[i] is the i-th element.
  while (lexer.peek().is('[')) {
    lexer.take();
    std::optional<int64_t> index = parseInteger();
    if (!index || !expect(']', " after an index"))
      return false;
    operand.value += *index * typeBytes(symbol.type);
    operand.isElement = true;
  }
  return parseOffset(operand.value);
}

bool Parser::parseWordOperand(Function &function, const Token &token, Operand &operand) {
  const std::string_view name = token.text;
  Scope::Entry entry;
  if (name == "_") {
    operand.kind = OperandKind::Sink;
    return true;
  }
  if (lookup(name, entry)) {
    operand.index = entry.index;
    switch (entry.kind) {
    case Scope::Kind::Register:
      operand.kind = OperandKind::Register;
      return true;
    case Scope::Kind::Vector: {
      Operand elements[4];
      for (unsigned i = 0; i < entry.count; ++i) {
        elements[i].kind = OperandKind::Register;
        elements[i].index = entry.index + i;
      }
      operand.kind = OperandKind::Vector;
      operand.elements = module.arena.copy(std::span<const Operand>(elements, entry.count));
      return true;
    }
    case Scope::Kind::Symbol:
      operand.kind = OperandKind::Symbol;
      return parseElementOf(function.symbols[operand.index], operand);
    case Scope::Kind::Table:
      operand.kind = OperandKind::Table;
      operand.name = name;
      return true;
    case Scope::Kind::Label:
      error(token.line, "label '" + std::string(name) + "' where a value is needed");
      return false;
    }
  }
  // A part of a register, for video instructions.
  if (size_t dot = name.rfind('.'); dot != std::string_view::npos && dot > 0) {
    std::string_view selector = name.substr(dot + 1);
    if (selector.size() >= 2 && (selector[0] == 'b' || selector[0] == 'h') &&
        lookup(name.substr(0, dot), entry) && entry.kind == Scope::Kind::Register) {
      operand.kind = OperandKind::Register;
      operand.index = entry.index;
      operand.name = selector;
      return true;
    }
  }
  operand.name = name;
  if (name[0] == '%') {
    // A declared register would have been found; what is left is a special register.
    operand.kind = OperandKind::Special;
    return true;
  }
  if (lookupSymbol(function, name, operand.index)) {
    operand.kind = OperandKind::Symbol;
    return parseElementOf(function.symbols[operand.index], operand);
  }
  operand.kind = OperandKind::Name;
  if (std::find(function.named.begin(), function.named.end(), name) == function.named.end())
    function.named.push_back(name);
  return true;
}

bool Parser::parseAddress(Function &function, Operand &operand) {
  operand.kind = OperandKind::Address;
  if (lexer.peek().kind == Tok::Word && !lexer.peek().isWord("WARP_SZ")) {
    Token token = lexer.take();
    Operand base;
    if (!parseWordOperand(function, token, base))
      return false;
    if (base.kind == OperandKind::Register) {
      operand.inner = 0;
    } else if (base.kind == OperandKind::Symbol) {
      operand.inner = 1;
      operand.value = base.value;
    } else {
      error(token.line, "'" + std::string(token.text) + "' is neither a register nor a variable");
      return false;
    }
    operand.index = base.index;
    if (!parseOffset(operand.value))
      return false;
  } else {
    operand.inner = 2;
    std::optional<int64_t> value = parseInteger();
    if (!value)
      return false;
    operand.value = *value;
  }
  if (lexer.takeIf(',')) {
    Operand parts[2] = {operand, Operand()};
    operand = Operand();
    operand.kind = OperandKind::Tensor;
    if (!parseOperand(function, parts[1]))
      return false;
    operand.elements = module.arena.copy(std::span<const Operand>(parts));
  }
  return expect(']', " after an address");
}

bool Parser::parseList(Function &function, Operand &operand, char close) {
  const size_t start = operandStack.size();
  while (!lexer.takeIf(close)) {
    Operand element;
    bool fine = parseOperand(function, element, false);
    operandStack.push_back(element);
    if (fine && !lexer.takeIf(',') && !lexer.peek().is(close)) {
      errorHere(std::string("',' or '") + close + "'");
      fine = false;
    }
    if (fine)
      continue;
    // Behind the list, so that its brace does not pass for the end of a block.
    operandStack.resize(start);
    while (lexer.peek().kind != Tok::End && !lexer.peek().is(';') && !lexer.peek().is(close))
      lexer.take();
    lexer.takeIf(close);
    return false;
  }
  operand.elements = module.arena.copy(
      std::span<const Operand>(operandStack.data() + start, operandStack.size() - start));
  operandStack.resize(start);
  return true;
}

bool Parser::parseOperand(Function &function, Operand &operand, bool allowPair) {
  Nesting nesting(*this);
  if (!nesting.fine())
    return false;
  if (lexer.takeIf('['))
    return parseAddress(function, operand);
  if (lexer.takeIf('{')) {
    operand.kind = OperandKind::Vector;
    return parseList(function, operand, '}');
  }
  if (lexer.peek().is('!')) {
    // "!p"; in a constant expression it is an operator.
    Lexer ahead = lexer;
    ahead.take();
    if (ahead.peek().kind == Tok::Word) {
      lexer.take();
      operand.negated = true;
    }
  }
  if (lexer.peek().is('-')) {
    // "-%r1" of a video instruction; otherwise a number.
    Lexer ahead = lexer;
    ahead.take();
    std::string_view word = ahead.peek().text;
    Scope::Entry entry;
    if (ahead.peek().kind == Tok::Word &&
        (lookup(word, entry) || lookup(word.substr(0, word.rfind('.')), entry)) &&
        entry.kind == Scope::Kind::Register) {
      lexer.take();
      operand.minus = true;
    }
  }
  if (lexer.peek().kind == Tok::Word && !lexer.peek().isWord("WARP_SZ")) {
    Token word = lexer.take();
    if (!parseWordOperand(function, word, operand))
      return false;
  } else if (!parseNumber(operand)) {
    return false;
  }
  if (accessesMemory && operand.kind == OperandKind::Symbol && operand.isElement) {
    operand.kind = OperandKind::Address;
    operand.inner = 1;
  }
  if (allowPair && lexer.takeIf('|')) {
    Operand parts[2] = {operand, Operand()};
    operand = Operand();
    operand.kind = OperandKind::Pair;
    if (!parseOperand(function, parts[1], false))
      return false;
    operand.elements = module.arena.copy(std::span<const Operand>(parts));
  }
  return true;
}

} // namespace girih::emu::ptx
