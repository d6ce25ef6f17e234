// Variables and their initialisers (PTX ISA 9.0, 5.4).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Ptx/ParserImpl.h"

#include <bit>

namespace girih::emu::ptx {

namespace {
/// Larger than any memory; products of extents stay far from overflow.
constexpr uint64_t kMaxBytes = uint64_t(1) << 40;
} // namespace

bool Parser::parseVariableType(Symbol &base, unsigned &vector) {
  bool typed = false;
  while (lexer.peek().kind == Tok::Word && lexer.peek().text[0] == '.') {
    std::string_view word = lexer.take().text.substr(1);
    if (word == "align") {
      if (!parseCount(base.alignment, "an alignment"))
        return false;
      if (base.alignment == 0 || (base.alignment & (base.alignment - 1)) ||
          base.alignment > 1u << 20) {
        error(base.line,
              "an alignment of " + std::to_string(base.alignment) + "; powers of two are possible");
        return false;
      }
    } else if (word == "v2" || word == "v4") {
      vector = static_cast<unsigned>(word[1] - '0');
    } else if (Type type = parseType(word); type != Type::None && !typed) {
      base.type = type;
      typed = true;
    } else if (word == "texref" || word == "samplerref" || word == "surfref") {
      error(base.line,
            "textures, samplers and surfaces ('." + std::string(word) + "') are not modelled");
      return false;
    } else if (word == "attribute") {
      error(base.line, "'.attribute' (managed or unified memory) is not modelled");
      return false;
    } else {
      error(base.line, "'." + std::string(word) + "' is not modelled on a variable");
      return false;
    }
  }
  if (!typed) {
    errorHere("a type");
    return false;
  }
  if (base.type == Type::Pred) {
    error(base.line, "a predicate in memory");
    return false;
  }
  base.alignment = std::max<uint32_t>(base.alignment, typeBytes(base.type) * vector);
  return true;
}

bool Parser::parseExtents(Symbol &symbol, unsigned vector, std::vector<uint64_t> &extents) {
  symbol.bytes = typeBytes(symbol.type) * vector;
  bool openEnded = false;
  while (lexer.takeIf('[')) {
    uint64_t extent = 0;
    if (lexer.peek().is(']')) {
      // 5.4.3: the first extent may follow from the initialiser.
      if (!extents.empty()) {
        errorHere("an extent; only the first may be left out");
        return false;
      }
      openEnded = true;
    } else {
      std::optional<int64_t> value = parseInteger();
      if (!value)
        return false;
      extent = static_cast<uint64_t>(*value);
      if (*value <= 0 || extent > kMaxBytes / symbol.bytes) {
        error(symbol.line, "an array of " + std::to_string(*value) + " elements");
        return false;
      }
      symbol.bytes *= extent;
    }
    extents.push_back(extent);
    if (!expect(']', " after an extent"))
      return false;
  }
  if (openEnded) {
    symbol.bytes = 0;
    symbol.dynamic = symbol.space == Space::Shared && symbol.external;
  }
  return true;
}

bool Parser::parseElement(Symbol &symbol) {
  const unsigned size = typeBytes(symbol.type), line = lexer.line();
  uint64_t bits = 0;
  Symbol::Fixup fixup{symbol.initial.size(), {}, 0, size, false, 0};
  auto parseName = [&] {
    fixup.generic = lexer.peek().isWord("generic");
    if (fixup.generic) {
      lexer.take();
      if (!expect('(', " after generic"))
        return false;
    }
    if (lexer.peek().kind != Tok::Word || lexer.peek().text[0] == '.') {
      errorHere("the name of a variable or function");
      return false;
    }
    fixup.symbol = lexer.take().text;
    return (!fixup.generic || expect(')', " after generic(name")) && parseOffset(fixup.addend);
  };
  if (lexer.peek().kind == Tok::Word && !lexer.peek().isWord("WARP_SZ")) {
    if (!parseName())
      return false;
  } else {
    std::optional<Constant> value = parseConstant();
    if (!value)
      return false;
    if (lexer.peek().is('(') && !value->isFloat) {
      // 5.4.4: mask(name) is the byte of the address that the mask covers.
      lexer.take();
      fixup.mask = value->bits;
      const int shift = fixup.mask ? std::countr_zero(fixup.mask) : 0;
      if (size != 1 || shift % 8 != 0 || fixup.mask >> shift != 0xff) {
        error(line, "a mask covers one byte of an address (0xFF, 0xFF00, ...) and initialises an "
                    "element of one byte");
        return false;
      }
      if (!parseName() || !expect(')', " after mask(name") || !parseOffset(fixup.addend))
        return false;
    } else if (isFloat(symbol.type) && !value->isFloat) {
      error(line, std::string("an integer constant in a variable of type .") +
                      typeName(symbol.type) + "; write a decimal point");
      return false;
    } else if (isFloat(symbol.type)) {
      if (size == 4)
        bits = value->single ? value->singleBits
                             : std::bit_cast<uint32_t>(static_cast<float>(value->real));
      else if (size == 8)
        bits = std::bit_cast<uint64_t>(value->real);
      else {
        error(line, std::string("an initialiser of type .") + typeName(symbol.type) +
                        " is not modelled; write the bits as .b" + std::to_string(8 * size));
        return false;
      }
    } else if (value->isFloat && (symbol.type == Type::B32 || symbol.type == Type::B64)) {
      bits = size == 8       ? std::bit_cast<uint64_t>(value->real)
             : value->single ? value->singleBits
                             : std::bit_cast<uint32_t>(static_cast<float>(value->real));
    } else if (value->isFloat) {
      error(line, std::string("a floating-point constant in a variable of type .") +
                      typeName(symbol.type));
      return false;
    } else {
      bits = value->bits;
    }
  }
  if (!fixup.symbol.empty()) {
    if (!fixup.mask && (isFloat(symbol.type) || size < 4)) {
      error(line, "an address in an element of " + std::to_string(8 * size) + " bits");
      return false;
    }
    symbol.fixups.push_back(fixup);
  }
  for (unsigned i = 0; i < size; ++i)
    symbol.initial.push_back(i < 8 ? static_cast<uint8_t>(bits >> (8 * i)) : 0);
  return true;
}

bool Parser::parseInitialiser(Symbol &symbol, std::span<const uint64_t> extents, unsigned vector) {
  Nesting nesting(*this);
  if (!nesting.fine())
    return false;
  const bool isVector = extents.empty() && vector > 1;
  if (extents.empty() && !isVector)
    return parseElement(symbol);
  // Every dimension has braces of its own; what they leave out is zero, but a vector is whole.
  uint64_t inner = typeBytes(symbol.type) * vector;
  for (size_t i = 1; i < extents.size(); ++i)
    inner *= extents[i];
  const uint64_t limit = isVector ? vector : extents[0];
  if (!expect('{', " around the elements of a dimension"))
    return false;
  uint64_t count = 0;
  const size_t start = symbol.initial.size();
  while (!lexer.takeIf('}')) {
    if (limit && count == limit) {
      error(lexer.line(),
            "more initialisers than the " + std::to_string(limit) + " elements of the dimension");
      return false;
    }
    ++count;
    if (!(isVector ? parseElement(symbol) : parseInitialiser(symbol, extents.subspan(1), vector)))
      return false;
    if (!isVector)
      symbol.initial.resize(start + count * inner);
    if (lexer.takeIf(',') ? lexer.peek().is('}') : !lexer.peek().is('}')) {
      errorHere(lexer.peek().is('}') ? "an element after ','" : "',' or '}' in an initialiser");
      return false;
    }
  }
  if (isVector && count != limit) {
    error(lexer.line(), "a vector of " + std::to_string(limit) + " elements with " +
                            std::to_string(count) + " initialisers");
    return false;
  }
  // What is left out at the end of the outermost dimension is not stored.
  if (start != 0 && limit && !isVector)
    symbol.initial.resize(start + limit * inner);
  return true;
}

void Parser::declareVariable(Symbol symbol, Function *function) {
  if (!function) {
    auto [known, fresh] =
        variableByName.try_emplace(symbol.name, static_cast<uint32_t>(module.variables.size()));
    symbol.moduleIndex = static_cast<int32_t>(known->second);
    if (fresh) {
      module.variables.push_back(std::move(symbol));
      return;
    }
    Symbol &other = module.variables[known->second];
    if (other.external && !other.dynamic)
      other = std::move(symbol);
    else if (!symbol.external)
      error(symbol.line, "variable '" + std::string(symbol.name) + "' is defined twice");
    return;
  }
  if (symbol.space == Space::Global || symbol.space == Space::Const) {
    // It lives as long as the module; only its name is local.
    Symbol local = symbol;
    symbol.name = module.arena.copy(
        std::string_view(std::string(function->name) + "::" + std::string(symbol.name)));
    local.moduleIndex = symbol.moduleIndex = static_cast<int32_t>(module.variables.size());
    local.initial.clear();
    local.fixups.clear();
    module.variables.push_back(std::move(symbol));
    symbol = std::move(local);
  } else if (symbol.space == Space::Param) {
    // Parameters of calls: blocks side by side share their place.
    Scope &block = scopes[static_cast<size_t>(scope)];
    symbol.offset = (block.paramBytes + symbol.alignment - 1) / symbol.alignment * symbol.alignment;
    block.paramBytes = symbol.offset + symbol.bytes;
    if (block.paramBytes > 1u << 20)
      error(symbol.line, "the parameters of a call have more than 1 MiB");
    function->frameParamBytes =
        std::max(function->frameParamBytes, static_cast<uint32_t>(block.paramBytes));
  }
  if (declare(symbol.name,
              {Scope::Kind::Symbol, 0, static_cast<uint32_t>(function->symbols.size())}))
    function->symbols.push_back(std::move(symbol));
}

void Parser::parseVariable(Space space, bool external, Function *function) {
  Symbol base;
  base.space = space;
  base.external = external;
  base.line = lexer.line();
  unsigned vector = 1;
  if (!parseVariableType(base, vector))
    return recover();
  do {
    Symbol symbol = base;
    if (lexer.peek().kind != Tok::Word || lexer.peek().text[0] == '.') {
      errorHere("a variable's name");
      return recover();
    }
    symbol.name = lexer.take().text;
    std::vector<uint64_t> extents;
    if (!parseExtents(symbol, vector, extents))
      return recover();
    const bool openEnded = !extents.empty() && extents[0] == 0;
    if (lexer.peek().is('=')) {
      if ((space != Space::Global && space != Space::Const) || external) {
        errorHere("';', because only .global and .const variables have initialisers");
        return recover();
      }
      lexer.take();
      if (!parseInitialiser(symbol, extents, vector)) {
        // Behind the braces, if there are any.
        while (lexer.peek().kind != Tok::End && !lexer.peek().is(';'))
          lexer.take();
        return recover();
      }
      if (openEnded)
        symbol.bytes = symbol.initial.size();
    } else if (openEnded && !symbol.dynamic && !external) {
      error(symbol.line,
            "array '" + std::string(symbol.name) + "' has neither an extent nor an initialiser");
      return recover();
    }
    declareVariable(std::move(symbol), function);
  } while (lexer.takeIf(','));
  if (!expect(';', " after a variable"))
    recover();
}

} // namespace girih::emu::ptx
