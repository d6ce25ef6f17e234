// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Ptx/Parser.h"
#include "Emulator/Ptx/Lexer.h"

#include <bit>
#include <unordered_map>

namespace girih::emu::ptx {

namespace {

/// A `{ }` block: names that are looked up from the inside out.
struct Scope {
  int parent = -1;
  std::unordered_map<std::string_view, uint32_t> registers;
  struct Family {
    uint32_t first, count;
  };
  std::unordered_map<std::string_view, Family> families;
  std::unordered_map<std::string_view, uint32_t> labels;
  std::unordered_map<std::string_view, uint32_t> symbols;
};

class Parser {
public:
  explicit Parser(std::string_view text) : text(text), lexer(text) {}
  ModuleAst run();

private:
  // Module level.
  void parseTopLevel();
  void parseFile();
  void parseFunction(bool isEntry);
  bool parseParameters(Function &function, bool returns);
  void parseFunctionDirectives(Function &function);
  std::optional<Dim3> parseDim();
  bool parseVariable(Space space, bool external, std::vector<Symbol> &into);
  void parseInitialiser(Symbol &symbol);

  // Bodies.
  void parseBody(Function &function);
  void parseRegisters(Function &function);
  void parseLoc();
  bool parseStatement(Function &function);
  bool parseOperand(Function &function, Operand &operand, bool allowPair = true);
  bool parseAddress(Function &function, Operand &operand);
  bool parseWordOperand(Function &function, const Token &token, Operand &operand);
  bool parseNumber(Operand &operand);
  int64_t parseSignedInteger();

  bool lookupRegister(std::string_view name, uint32_t &index) const;
  bool lookupSymbol(Function &function, std::string_view name, uint32_t &index);

  void error(unsigned line, std::string message) {
    module.errors.push_back({line, std::move(message)});
  }
  void errorHere(const std::string &expected) {
    const Token &t = lexer.peek();
    error(t.line, "expected " + expected + ", found " +
                      (t.kind == Tok::End ? std::string("the end of the text")
                                          : "'" + std::string(t.text) + "'"));
  }
  /// After an error: continues behind the next ';' or at the end of the block.
  void recover();

  std::string_view text;
  Lexer lexer;
  ModuleAst module;
  std::unordered_map<std::string_view, uint32_t> variableByName;
  std::vector<Scope> scopes;
  int scope = -1;
  Location location;
  struct LabelUse {
    size_t instruction, operand;
    int scope;
    std::string_view name;
    unsigned line;
  };
  std::vector<LabelUse> labelUses;
};

ModuleAst Parser::run() {
  while (lexer.peek().kind != Tok::End && module.errors.size() < 50)
    parseTopLevel();
  return std::move(module);
}

void Parser::recover() {
  while (lexer.peek().kind != Tok::End && !lexer.peek().is(';') && !lexer.peek().is('}'))
    lexer.take();
  lexer.takeIf(';');
}

void Parser::parseTopLevel() {
  Token token = lexer.take();
  bool external = false;
  while (token.isWord(".visible") || token.isWord(".weak") || token.isWord(".extern") ||
         token.isWord(".common")) {
    external |= token.text == ".extern";
    token = lexer.take();
  }
  if (token.isWord(".version")) {
    module.version = lexer.take().text;
  } else if (token.isWord(".target")) {
    module.target = lexer.take().text;
    while (lexer.takeIf(','))
      lexer.take();
  } else if (token.isWord(".address_size")) {
    if (lexer.take().value != 64)
      error(token.line, "only .address_size 64 is modelled");
  } else if (token.isWord(".file")) {
    parseFile();
  } else if (token.isWord(".section")) {
    // Debug sections (DWARF); nothing that executes.
    lexer.take();
    if (!lexer.takeIf('{'))
      errorHere("'{' after .section");
    else
      lexer.skipBraces();
  } else if (token.isWord(".entry")) {
    parseFunction(true);
  } else if (token.isWord(".func")) {
    parseFunction(false);
  } else if (token.isWord(".global")) {
    parseVariable(Space::Global, external, module.variables);
  } else if (token.isWord(".const")) {
    parseVariable(Space::Const, external, module.variables);
  } else if (token.isWord(".shared")) {
    parseVariable(Space::Shared, external, module.variables);
  } else if (token.isWord(".pragma")) {
    recover();
  } else if (token.isWord(".loc")) {
    parseLoc();
  } else if (!token.is(';')) {
    error(token.line, "'" + std::string(token.text) + "' is not modelled at module level");
    recover();
  }
}

void Parser::parseFile() {
  Token number = lexer.take();
  Token name = lexer.take();
  if (number.kind != Tok::Integer || name.kind != Tok::String)
    return error(number.line, "expected .file NUMBER \"NAME\"");
  if (number.value > 1u << 20)
    return error(number.line, "file number " + std::string(number.text) + " is too large");
  if (module.files.size() <= number.value)
    module.files.resize(number.value + 1);
  module.files[number.value] = name.text;
  while (lexer.takeIf(','))
    lexer.take();
}

std::optional<Dim3> Parser::parseDim() {
  uint32_t values[3] = {1, 1, 1};
  for (uint32_t &value : values) {
    if (lexer.peek().kind != Tok::Integer) {
      errorHere("an integer");
      return std::nullopt;
    }
    value = static_cast<uint32_t>(lexer.take().value);
    if (!lexer.takeIf(','))
      break;
  }
  return Dim3{values[0], values[1], values[2]};
}

void Parser::parseFunctionDirectives(Function &function) {
  while (lexer.peek().kind == Tok::Word && lexer.peek().text[0] == '.') {
    Token directive = lexer.take();
    std::string_view name = directive.text;
    if (name == ".maxntid") {
      function.maxThreads = parseDim();
    } else if (name == ".reqntid") {
      function.requiredThreads = parseDim();
    } else if (name == ".reqnctapercluster") {
      function.requiredCluster = parseDim();
    } else if (name == ".maxnreg") {
      function.maxRegisters = static_cast<uint32_t>(lexer.take().value);
    } else if (name == ".minnctapersm") {
      function.minBlocks = static_cast<uint32_t>(lexer.take().value);
    } else if (name == ".maxnctapersm" || name == ".maxclusterrank") {
      lexer.take();
    } else if (name == ".explicitcluster" || name == ".noreturn" || name == ".blocksareclusters") {
      if (name == ".blocksareclusters")
        error(directive.line, "'.blocksareclusters' is not modelled");
    } else if (name == ".pragma") {
      recover();
    } else {
      error(directive.line, "'" + std::string(name) + "' is not modelled on a function");
      return;
    }
  }
}

bool Parser::parseParameters(Function &function, bool returns) {
  // PTX ISA 5.1.6: parameters lie in order, each at its natural alignment.
  while (!lexer.takeIf(')')) {
    Symbol symbol;
    symbol.space = Space::Param;
    symbol.line = lexer.line();
    std::string_view lead = lexer.peek().text;
    if (lead != ".param" && lead != ".reg") {
      errorHere("'.param'");
      return false;
    }
    lexer.take();
    bool pointer = false;
    while (lexer.peek().kind == Tok::Word && lexer.peek().text[0] == '.') {
      std::string_view word = lexer.take().text.substr(1);
      if (word == "align") {
        uint32_t value = static_cast<uint32_t>(lexer.take().value);
        if (!pointer)
          symbol.alignment = value;
      } else if (word == "ptr") {
        pointer = true;
      } else if (Type type = parseType(word); type != Type::None) {
        symbol.type = type;
      } else if (!pointer) {
        error(symbol.line, "'." + std::string(word) + "' is not modelled on a parameter");
        return false;
      }
    }
    if (lexer.peek().kind != Tok::Word) {
      errorHere("a parameter's name");
      return false;
    }
    symbol.name = lexer.take().text;
    symbol.bytes = typeBytes(symbol.type);
    symbol.alignment = std::max<uint32_t>(symbol.alignment, typeBytes(symbol.type));
    if (lexer.takeIf('[')) {
      uint64_t count = lexer.peek().kind == Tok::Integer ? lexer.take().value : 0;
      symbol.bytes *= count;
      if (!lexer.takeIf(']'))
        errorHere("']'");
    }
    if (!returns) {
      symbol.offset =
          (function.paramBytes + symbol.alignment - 1) / symbol.alignment * symbol.alignment;
      function.paramBytes = static_cast<uint32_t>(symbol.offset + symbol.bytes);
      function.symbols.push_back(symbol);
      ++function.paramCount;
    }
    if (!lexer.takeIf(',') && !lexer.peek().is(')')) {
      errorHere("',' or ')' after a parameter");
      return false;
    }
  }
  return true;
}

void Parser::parseFunction(bool isEntry) {
  Function function;
  function.isEntry = isEntry;
  function.line = lexer.line();
  if (!isEntry && lexer.takeIf('('))
    parseParameters(function, true);
  if (lexer.peek().kind != Tok::Word) {
    errorHere("a function's name");
    return recover();
  }
  function.name = lexer.take().text;
  if (lexer.takeIf('(') && !parseParameters(function, false))
    return recover();
  parseFunctionDirectives(function);
  if (!lexer.takeIf(';')) {
    if (!lexer.takeIf('{')) {
      errorHere("'{'");
      return recover();
    }
    function.hasBody = true;
    parseBody(function);
  }
  module.functions.push_back(std::move(function));
}

int64_t Parser::parseSignedInteger() {
  bool negative = false;
  while (lexer.peek().is('-') || lexer.peek().is('+'))
    negative ^= lexer.take().is('-');
  if (lexer.peek().kind != Tok::Integer) {
    errorHere("an integer");
    return 0;
  }
  int64_t value = static_cast<int64_t>(lexer.take().value);
  return negative ? -value : value;
}

void Parser::parseInitialiser(Symbol &symbol) {
  unsigned size = typeBytes(symbol.type);
  bool many = lexer.takeIf('{');
  while (!(many && lexer.takeIf('}'))) {
    uint64_t bits = 0;
    if (lexer.takeIf('{')) {
      error(lexer.line(), "nested initialisers are not modelled");
      return;
    }
    const Token &t = lexer.peek();
    bool generic = false;
    std::string_view name;
    if (t.isWord("generic")) {
      lexer.take();
      lexer.takeIf('(');
      name = lexer.take().text;
      lexer.takeIf(')');
      generic = true;
    } else if (t.kind == Tok::Word) {
      name = lexer.take().text;
    } else if (t.kind == Tok::Float) {
      Token f = lexer.take();
      if (size == 4 && !f.single)
        bits = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(f.value)));
      else
        bits = f.value;
    } else {
      bits = static_cast<uint64_t>(parseSignedInteger());
    }
    if (!name.empty()) {
      int64_t addend = 0;
      if (lexer.peek().is('+') || lexer.peek().is('-'))
        addend = parseSignedInteger();
      symbol.fixups.push_back({symbol.initial.size(), name, addend, size, generic});
    }
    for (unsigned i = 0; i < size; ++i)
      symbol.initial.push_back(i < 8 ? static_cast<uint8_t>(bits >> (8 * i)) : 0);
    if (!many)
      break;
    if (!lexer.takeIf(',') && !lexer.peek().is('}')) {
      errorHere("',' or '}' in an initialiser");
      return;
    }
  }
}

bool Parser::parseVariable(Space space, bool external, std::vector<Symbol> &into) {
  Symbol base;
  base.space = space;
  base.external = external;
  base.line = lexer.line();
  unsigned vector = 1;
  bool typed = false;
  while (lexer.peek().kind == Tok::Word && lexer.peek().text[0] == '.') {
    std::string_view word = lexer.take().text.substr(1);
    if (word == "align") {
      base.alignment = static_cast<uint32_t>(lexer.take().value);
    } else if (word == "v2" || word == "v4") {
      vector = word[1] - '0';
    } else if (Type type = parseType(word); type != Type::None) {
      base.type = type;
      typed = true;
    } else if (word == "attribute" && lexer.takeIf('(')) {
      error(base.line, "'.attribute' is not modelled");
      return recover(), false;
    } else {
      error(base.line, "'." + std::string(word) + "' is not modelled on a variable");
      return recover(), false;
    }
  }
  if (!typed) {
    errorHere("a type");
    return recover(), false;
  }
  base.alignment = std::max<uint32_t>(base.alignment, typeBytes(base.type) * vector);
  do {
    Symbol symbol = base;
    if (lexer.peek().kind != Tok::Word) {
      errorHere("a variable's name");
      return recover(), false;
    }
    symbol.name = lexer.take().text;
    uint64_t count = vector;
    bool openEnded = false;
    while (lexer.takeIf('[')) {
      if (lexer.peek().kind == Tok::Integer)
        count *= lexer.take().value;
      else
        openEnded = true;
      if (!lexer.takeIf(']')) {
        errorHere("']'");
        return recover(), false;
      }
    }
    symbol.bytes = openEnded ? 0 : count * typeBytes(symbol.type);
    symbol.dynamic = openEnded && space == Space::Shared;
    if (lexer.takeIf('='))
      parseInitialiser(symbol);
    if (openEnded && !symbol.dynamic)
      symbol.bytes = symbol.initial.size();
    if (&into == &module.variables)
      variableByName[symbol.name] = static_cast<uint32_t>(into.size());
    into.push_back(std::move(symbol));
  } while (lexer.takeIf(','));
  if (!lexer.takeIf(';')) {
    errorHere("';'");
    recover();
  }
  return true;
}

void Parser::parseLoc() {
  auto triple = [&] {
    Location result;
    result.file = static_cast<uint32_t>(lexer.take().value);
    result.line = static_cast<uint32_t>(lexer.take().value);
    result.column = static_cast<uint32_t>(lexer.take().value);
    return result;
  };
  if (lexer.peek().kind != Tok::Integer)
    return errorHere("a file number after .loc");
  location = triple();
  while (lexer.takeIf(',')) {
    std::string_view word = lexer.take().text;
    if (word == "function_name") {
      lexer.take();
      if (lexer.takeIf('+'))
        lexer.take();
    } else if (word == "inlined_at") {
      module.callSites.push_back(triple());
      location.inlinedAt = static_cast<uint32_t>(module.callSites.size());
    } else {
      error(lexer.line(), "'" + std::string(word) + "' is not modelled in .loc");
    }
  }
}

void Parser::parseRegisters(Function &function) {
  Type type = Type::None;
  unsigned line = lexer.line();
  while (lexer.peek().kind == Tok::Word && lexer.peek().text[0] == '.') {
    std::string_view word = lexer.take().text.substr(1);
    type = parseType(word);
    if (type == Type::None) {
      error(line, "'." + std::string(word) + "' is not modelled on a register");
      return recover();
    }
  }
  if (type == Type::None) {
    errorHere("a register type");
    return recover();
  }
  do {
    if (lexer.peek().kind != Tok::Word) {
      errorHere("a register's name");
      return recover();
    }
    std::string_view name = lexer.take().text;
    uint32_t first = static_cast<uint32_t>(function.registers.size());
    uint32_t count = 1;
    if (lexer.takeIf('<')) {
      count = static_cast<uint32_t>(lexer.take().value);
      if (!lexer.takeIf('>') || count > 1u << 22) {
        errorHere("'>'");
        return recover();
      }
      scopes[scope].families[name] = {first, count};
    } else {
      scopes[scope].registers[name] = first;
    }
    function.registers.resize(first + count, Register{type});
  } while (lexer.takeIf(','));
  if (!lexer.takeIf(';')) {
    errorHere("';'");
    recover();
  }
}

bool Parser::lookupRegister(std::string_view name, uint32_t &index) const {
  size_t split = name.size();
  while (split > 0 && name[split - 1] >= '0' && name[split - 1] <= '9')
    --split;
  std::string_view prefix = name.substr(0, split);
  uint64_t number = 0;
  bool numbered = split < name.size() && name.size() - split < 9 &&
                  (name[split] != '0' || split + 1 == name.size());
  if (numbered)
    for (char c : name.substr(split))
      number = number * 10 + (c - '0');
  for (int s = scope; s >= 0; s = scopes[s].parent) {
    const Scope &block = scopes[s];
    if (!block.registers.empty())
      if (auto found = block.registers.find(name); found != block.registers.end()) {
        index = found->second;
        return true;
      }
    if (numbered && !block.families.empty())
      if (auto found = block.families.find(prefix);
          found != block.families.end() && number < found->second.count) {
        index = found->second.first + static_cast<uint32_t>(number);
        return true;
      }
  }
  return false;
}

bool Parser::lookupSymbol(Function &function, std::string_view name, uint32_t &index) {
  for (int s = scope; s >= 0; s = scopes[s].parent)
    if (auto found = scopes[s].symbols.find(name); found != scopes[s].symbols.end()) {
      index = found->second;
      return true;
    }
  auto found = variableByName.find(name);
  if (found == variableByName.end())
    return false;
  index = static_cast<uint32_t>(function.symbols.size());
  function.symbols.push_back(module.variables[found->second]);
  scopes[0].symbols[name] = index;
  return true;
}

bool Parser::parseNumber(Operand &operand) {
  bool negative = false;
  while (lexer.peek().is('-') || lexer.peek().is('+'))
    negative ^= lexer.take().is('-');
  bool inverted = lexer.takeIf('~');
  const Token token = lexer.take();
  if (token.kind == Tok::Integer) {
    operand.kind = OperandKind::Integer;
    operand.value = static_cast<int64_t>(negative ? 0 - token.value : token.value);
    if (inverted)
      operand.value = ~operand.value;
    return true;
  }
  if (token.kind == Tok::Float) {
    operand.kind = OperandKind::Float;
    operand.single = token.single;
    operand.value = static_cast<int64_t>(token.value ^
                                         (negative ? uint64_t(1) << (token.single ? 31 : 63) : 0));
    return true;
  }
  error(token.line, "expected a number, found '" + std::string(token.text) + "'");
  return false;
}

bool Parser::parseWordOperand(Function &function, const Token &token, Operand &operand) {
  std::string_view name = token.text;
  if (name == "_") {
    operand.kind = OperandKind::Sink;
    return true;
  }
  if (lookupRegister(name, operand.index)) {
    operand.kind = OperandKind::Register;
    return true;
  }
  operand.name = name;
  if (name[0] == '%' || name == "WARP_SZ") {
    // A local variable may be called %SPL only as a register; what is left is a special register.
    operand.kind = OperandKind::Special;
    return true;
  }
  if (lookupSymbol(function, name, operand.index)) {
    operand.kind = OperandKind::Symbol;
    if (lexer.peek().is('+') || lexer.peek().is('-'))
      operand.value = parseSignedInteger();
    return true;
  }
  operand.kind = OperandKind::Name;
  return true;
}

bool Parser::parseAddress(Function &function, Operand &operand) {
  operand.kind = OperandKind::Address;
  if (lexer.peek().kind == Tok::Word) {
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
    if (lexer.peek().is('+') || lexer.peek().is('-'))
      operand.value += parseSignedInteger();
  } else {
    operand.inner = 2;
    operand.value = parseSignedInteger();
  }
  if (lexer.takeIf(',')) {
    Operand map = operand;
    operand = Operand();
    operand.kind = OperandKind::Tensor;
    operand.elements.push_back(std::move(map));
    Operand coordinates;
    if (!parseOperand(function, coordinates))
      return false;
    operand.elements.push_back(std::move(coordinates));
  }
  if (!lexer.takeIf(']')) {
    errorHere("']'");
    return false;
  }
  return true;
}

bool Parser::parseOperand(Function &function, Operand &operand, bool allowPair) {
  const Token &token = lexer.peek();
  if (token.is('[')) {
    lexer.take();
    return parseAddress(function, operand);
  }
  if (token.is('{')) {
    lexer.take();
    operand.kind = OperandKind::Vector;
    while (!lexer.takeIf('}')) {
      operand.elements.emplace_back();
      if (!parseOperand(function, operand.elements.back(), false))
        return false;
      if (!lexer.takeIf(',') && !lexer.peek().is('}')) {
        errorHere("',' or '}'");
        return false;
      }
    }
    return true;
  }
  if (token.is('(')) {
    // The argument lists of a call; kept so that the decoder can name the call it refuses.
    lexer.take();
    operand.kind = OperandKind::Vector;
    while (!lexer.takeIf(')')) {
      operand.elements.emplace_back();
      if (!parseOperand(function, operand.elements.back(), false))
        return false;
      if (!lexer.takeIf(',') && !lexer.peek().is(')')) {
        errorHere("',' or ')'");
        return false;
      }
    }
    return true;
  }
  if (token.is('!')) {
    lexer.take();
    operand.negated = true;
  }
  if (lexer.peek().kind == Tok::Word) {
    Token word = lexer.take();
    if (!parseWordOperand(function, word, operand))
      return false;
  } else if (!parseNumber(operand)) {
    return false;
  }
  if (allowPair && lexer.takeIf('|')) {
    Operand first = std::move(operand);
    operand = Operand();
    operand.kind = OperandKind::Pair;
    operand.elements.push_back(std::move(first));
    operand.elements.emplace_back();
    return parseOperand(function, operand.elements.back(), false);
  }
  return true;
}

bool Parser::parseStatement(Function &function) {
  Instruction instruction;
  instruction.line = lexer.line();
  instruction.location = location;
  size_t start = lexer.offset();
  if (lexer.takeIf('@')) {
    instruction.guardNegated = lexer.takeIf('!');
    Token guard = lexer.take();
    uint32_t index = 0;
    if (guard.kind != Tok::Word || !lookupRegister(guard.text, index)) {
      error(guard.line, "'" + std::string(guard.text) + "' is no predicate register");
      return false;
    }
    instruction.guard = static_cast<int32_t>(index);
  }
  if (lexer.peek().kind != Tok::Word) {
    errorHere("an instruction");
    return false;
  }
  std::string_view word = lexer.take().text;
  bool first = true;
  for (size_t begin = 0; begin <= word.size();) {
    size_t end = word.find('.', begin);
    if (end == std::string_view::npos)
      end = word.size();
    if (first)
      instruction.opcode = word.substr(0, end);
    else if (end > begin)
      instruction.modifiers.push_back(word.substr(begin, end - begin));
    first = false;
    begin = end + 1;
  }
  bool branches = instruction.opcode == "bra";
  while (!lexer.takeIf(';')) {
    if (lexer.peek().kind == Tok::End) {
      errorHere("';'");
      return false;
    }
    Operand operand;
    if (!parseOperand(function, operand))
      return false;
    if (branches && operand.kind != OperandKind::Register) {
      operand.kind = OperandKind::Label;
      labelUses.push_back({function.body.size(), instruction.operands.size(), scope, operand.name,
                           instruction.line});
    }
    instruction.operands.push_back(std::move(operand));
    if (!lexer.takeIf(',') && !lexer.peek().is(';')) {
      errorHere("',' or ';'");
      return false;
    }
  }
  instruction.text = text.substr(start, lexer.offset() - start);
  size_t semicolon = instruction.text.rfind(';');
  instruction.text = instruction.text.substr(0, semicolon);
  function.body.push_back(std::move(instruction));
  return true;
}

void Parser::parseBody(Function &function) {
  scopes.clear();
  labelUses.clear();
  scopes.emplace_back();
  scope = 0;
  location = Location();
  for (uint32_t i = 0; i < function.symbols.size(); ++i)
    scopes[0].symbols[function.symbols[i].name] = i;
  int depth = 1;
  while (depth > 0) {
    const Token &token = lexer.peek();
    if (token.kind == Tok::End) {
      errorHere("'}'");
      return;
    }
    if (module.errors.size() >= 50)
      return;
    if (token.is('{')) {
      lexer.take();
      Scope inner;
      inner.parent = scope;
      scopes.push_back(std::move(inner));
      scope = static_cast<int>(scopes.size()) - 1;
      ++depth;
    } else if (token.is('}')) {
      lexer.take();
      scope = scopes[scope].parent;
      --depth;
    } else if (token.is(';')) {
      lexer.take();
    } else if (token.isWord(".reg")) {
      lexer.take();
      parseRegisters(function);
    } else if (token.isWord(".loc")) {
      lexer.take();
      parseLoc();
    } else if (token.isWord(".pragma")) {
      recover();
    } else if (token.isWord(".local") || token.isWord(".shared") || token.isWord(".global") ||
               token.isWord(".const") || token.isWord(".param")) {
      Space space = token.text == ".local"    ? Space::Local
                    : token.text == ".shared" ? Space::Shared
                    : token.text == ".const"  ? Space::Const
                    : token.text == ".param"  ? Space::Param
                                              : Space::Global;
      unsigned line = token.line;
      lexer.take();
      if (space == Space::Param || space == Space::Global || space == Space::Const) {
        error(line, "a " + std::string(space == Space::Param ? ".param" : "module") +
                        " variable inside a function is not modelled (calls are not modelled)");
        recover();
        continue;
      }
      size_t before = function.symbols.size();
      parseVariable(space, false, function.symbols);
      for (size_t i = before; i < function.symbols.size(); ++i)
        scopes[scope].symbols[function.symbols[i].name] = static_cast<uint32_t>(i);
    } else if (token.kind == Tok::Word && token.text[0] == '.') {
      error(token.line, "'" + std::string(token.text) + "' is not modelled in a function");
      recover();
    } else {
      // A label is a word followed by a colon; look one token ahead on a copy.
      if (token.kind == Tok::Word) {
        Lexer ahead = lexer;
        Token word = ahead.take();
        if (ahead.takeIf(':')) {
          lexer = ahead;
          if (!scopes[scope]
                   .labels.emplace(word.text, static_cast<uint32_t>(function.body.size()))
                   .second)
            error(word.line, "label '" + std::string(word.text) + "' is defined twice");
          continue;
        }
      }
      if (!parseStatement(function))
        recover();
    }
  }
  for (const LabelUse &use : labelUses) {
    bool found = false;
    for (int s = use.scope; s >= 0 && !found; s = scopes[s].parent)
      if (auto label = scopes[s].labels.find(use.name); label != scopes[s].labels.end()) {
        function.body[use.instruction].operands[use.operand].index = label->second;
        found = true;
      }
    if (!found)
      error(use.line, "no label '" + std::string(use.name) + "' in scope");
  }
}

} // namespace

ModuleAst parseModule(std::string_view text) { return Parser(text).run(); }

} // namespace girih::emu::ptx
