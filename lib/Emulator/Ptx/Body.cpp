// Bodies of functions: blocks, registers, labels, tables and statements (PTX ISA 9.0, 4.3, 5.4.2,
// 11.3 and 9.7.12.1).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Ptx/ParserImpl.h"

#include <algorithm>

namespace girih::emu::ptx {

namespace {
/// All registers of a function together, far beyond what any program declares.
constexpr uint64_t kMaxRegisters = 1u << 22;
} // namespace

bool Parser::declare(std::string_view name, Scope::Entry entry) {
  if (scopes[static_cast<size_t>(scope)].names.try_emplace(name, entry).second)
    return true;
  error(lexer.line(), "'" + std::string(name) + "' is declared twice in this block");
  return false;
}

bool Parser::lookup(std::string_view name, Scope::Entry &entry) const {
  size_t split = name.size();
  while (split > 0 && name[split - 1] >= '0' && name[split - 1] <= '9')
    --split;
  const std::string_view prefix = name.substr(0, split);
  uint64_t number = 0;
  const bool numbered = split < name.size() && name.size() - split < 9 &&
                        (name[split] != '0' || split + 1 == name.size());
  if (numbered)
    for (char c : name.substr(split))
      number = number * 10 + static_cast<uint64_t>(c - '0');
  for (int s = scope; s >= 0; s = scopes[static_cast<size_t>(s)].parent) {
    const Scope &block = scopes[static_cast<size_t>(s)];
    if (numbered)
      for (const Scope::Family &family : block.families)
        if (number < family.count && family.prefix == prefix) {
          entry = {Scope::Kind::Register, 0, family.first + static_cast<uint32_t>(number)};
          return true;
        }
    if (!block.names.empty())
      if (auto found = block.names.find(name); found != block.names.end()) {
        entry = found->second;
        return true;
      }
  }
  return false;
}

bool Parser::lookupSymbol(Function &function, std::string_view name, uint32_t &index) {
  auto found = variableByName.find(name);
  if (found == variableByName.end())
    return false;
  const Symbol &variable = module.variables[found->second];
  index = static_cast<uint32_t>(function.symbols.size());
  Symbol &use = function.symbols.emplace_back();
  use.name = variable.name;
  use.space = variable.space;
  use.type = variable.type;
  use.alignment = variable.alignment;
  use.bytes = variable.bytes;
  use.dynamic = variable.dynamic;
  use.external = variable.external;
  use.moduleIndex = variable.moduleIndex;
  use.line = variable.line;
  scopes[0].names[name] = {Scope::Kind::Symbol, 0, index};
  return true;
}

void Parser::declareVector(std::string_view name, unsigned size, uint32_t first) {
  // 5.4.2: the elements of a vector are .x .y .z .w, or .r .g .b .a.
  declare(name, {Scope::Kind::Vector, static_cast<uint8_t>(size), first});
  for (unsigned i = 0; i < size; ++i)
    for (const char *letters : {"xyzw", "rgba"})
      scopes[static_cast<size_t>(scope)]
          .names[module.arena.copy(std::string_view(std::string(name) + "." + letters[i]))] = {
          Scope::Kind::Register, 0, first + i};
}

void Parser::parseRegisters(Function &function) {
  Type type = Type::None;
  unsigned line = lexer.line();
  unsigned vector = 1;
  while (lexer.peek().kind == Tok::Word && lexer.peek().text[0] == '.') {
    std::string_view word = lexer.take().text.substr(1);
    if (word == "v2" || word == "v4") {
      vector = static_cast<unsigned>(word[1] - '0');
    } else if (type == Type::None && parseType(word) != Type::None) {
      type = parseType(word);
    } else {
      error(line, "'." + std::string(word) + "' is not modelled on a register");
      return recover();
    }
  }
  if (type == Type::None) {
    errorHere("a register type");
    return recover();
  }
  do {
    if (lexer.peek().kind != Tok::Word || lexer.peek().text[0] == '.') {
      errorHere("a register's name");
      return recover();
    }
    const Token name = lexer.take();
    const uint32_t first = static_cast<uint32_t>(function.registers.size());
    uint32_t count = vector;
    Scope &block = scopes[static_cast<size_t>(scope)];
    if (vector > 1 && lexer.peek().is('<')) {
      // A family of vectors: each of them by name.
      lexer.take();
      if (!parseCount(count, "a number of registers") || !expect('>', " after it"))
        return recover();
      if (count > 1u << 16) {
        error(name.line, "the function has too many registers");
        return recover();
      }
      for (uint32_t i = 0; i < count; ++i)
        declareVector(
            module.arena.copy(std::string_view(std::string(name.text) + std::to_string(i))), vector,
            first + i * vector);
      count *= vector;
    } else if (vector == 1 && lexer.takeIf('<')) {
      if (!parseCount(count, "a number of registers") || !expect('>', " after it"))
        return recover();
      for (const Scope::Family &family : block.families)
        if (family.prefix == name.text)
          error(name.line,
                "registers '" + std::string(name.text) + "' are declared twice in this block");
      block.families.push_back({name.text, first, count});
    } else if (vector == 1) {
      declare(name.text, {Scope::Kind::Register, 0, first});
    } else {
      declareVector(name.text, vector, first);
    }
    if (first + uint64_t(count) > kMaxRegisters) {
      error(name.line, "the function has too many registers");
      return recover();
    }
    function.registers.resize(first + count, Register{type});
  } while (lexer.takeIf(','));
  if (!expect(';', " after registers"))
    recover();
}

void Parser::parseLoc() {
  bool fine = true;
  auto triple = [&] {
    Location result;
    for (uint32_t *value : {&result.file, &result.line, &result.column})
      fine = fine && parseCount(*value, "file, line and column in .loc");
    return result;
  };
  Location next = triple();
  while (fine && lexer.takeIf(',')) {
    const Token word = lexer.take();
    if (word.isWord("function_name")) {
      // The label of the name in a debug section; the location table says the same.
      int64_t offset = 0;
      if (lexer.peek().kind != Tok::Word)
        return errorHere("a label after function_name");
      lexer.take();
      if (!parseOffset(offset))
        return;
    } else if (word.isWord("inlined_at")) {
      Location outer = triple();
      if (module.callSites.empty() || !(module.callSites.back() == outer))
        module.callSites.push_back(outer);
      next.inlinedAt = static_cast<uint32_t>(module.callSites.size());
    } else {
      return error(word.line, "'" + std::string(word.text) + "' is not modelled in .loc");
    }
  }
  if (fine)
    location = next;
}

const Mnemonic *Parser::mnemonic(std::string_view word) {
  std::unique_ptr<Mnemonic> &entry = module.mnemonics[word];
  if (entry)
    return entry.get();
  entry = std::make_unique<Mnemonic>();
  entry->index = static_cast<uint32_t>(module.mnemonics.size() - 1);
  bool first = true;
  for (size_t begin = 0; begin <= word.size();) {
    size_t end = std::min(word.find('.', begin), word.size());
    std::string_view part = word.substr(begin, end - begin);
    if (first) {
      entry->opcode = part;
    } else if (!part.empty()) {
      entry->modifiers.push_back(part);
      if (Type type = parseType(part); type != Type::None)
        entry->types.push_back(type);
    }
    first = false;
    begin = end + 1;
  }
  return entry.get();
}

bool Parser::parseCallTarget(Function &function, Operand &operand) {
  const Token token = lexer.take();
  Scope::Entry entry;
  if (lookup(token.text, entry) && entry.kind == Scope::Kind::Register) {
    operand.kind = OperandKind::Register;
    operand.index = entry.index;
    function.callsIndirectly = true;
    return true;
  }
  operand.kind = OperandKind::Name;
  operand.name = token.text;
  if (std::find(function.called.begin(), function.called.end(), token.text) ==
      function.called.end())
    function.called.push_back(token.text);
  return true;
}

bool Parser::parseStatement(Function &function) {
  Instruction instruction;
  instruction.line = lexer.line();
  instruction.location = location;
  const size_t begin = lexer.offset();
  if (lexer.takeIf('@')) {
    instruction.guardNegated = lexer.takeIf('!');
    Token guard = lexer.take();
    Scope::Entry entry;
    if (guard.kind != Tok::Word || !lookup(guard.text, entry) ||
        entry.kind != Scope::Kind::Register) {
      error(guard.line, "'" + std::string(guard.text) + "' is no predicate register");
      return false;
    }
    instruction.guard = static_cast<int32_t>(entry.index);
  }
  if (lexer.peek().kind != Tok::Word || lexer.peek().text[0] == '.') {
    errorHere("an instruction");
    return false;
  }
  instruction.mnemonic = mnemonic(lexer.take().text);
  instruction.opcode = instruction.mnemonic->opcode;
  instruction.modifiers = instruction.mnemonic->modifiers;
  const bool calls = instruction.opcode == "call";
  accessesMemory = instruction.opcode == "ld" || instruction.opcode == "st" ||
                   instruction.opcode == "ldu" || instruction.opcode == "atom" ||
                   instruction.opcode == "red" || instruction.opcode == "prefetch";
  const size_t start = operandStack.size();
  bool fine = true, targetSeen = false;
  if (instruction.opcode == "bra" && lexer.peek().kind == Tok::Word) {
    Operand &operand = operandStack.emplace_back();
    operand.kind = OperandKind::Label;
    operand.name = lexer.take().text;
    fine = lexer.peek().is(';');
    if (!fine)
      errorHere("';' after the label");
  }
  while (fine && !lexer.peek().is(';')) {
    Operand operand;
    if (calls && lexer.takeIf('(')) {
      operand.kind = OperandKind::List;
      fine = parseList(function, operand, ')');
    } else if (calls && !targetSeen && lexer.peek().kind == Tok::Word) {
      fine = parseCallTarget(function, operand);
      targetSeen = true;
    } else {
      fine = parseOperand(function, operand);
    }
    operandStack.push_back(operand);
    if (fine && !lexer.takeIf(',') && !lexer.peek().is(';')) {
      errorHere("',' or ';'");
      fine = false;
    }
  }
  instruction.operands = module.arena.copy(
      std::span<const Operand>(operandStack.data() + start, operandStack.size() - start));
  operandStack.resize(start);
  if (!fine)
    return false;
  instruction.text = text.substr(begin, lexer.endOfLast() - begin);
  lexer.take();
  if (!instruction.operands.empty() && instruction.operands[0].kind == OperandKind::Label) {
    Operand &label = instruction.operands[0];
    labelUses.push_back({&label.index, scope, label.name, instruction.line});
  }
  function.body.push_back(instruction);
  return true;
}

void Parser::parseTable(Function &function, std::string_view name) {
  const Token directive = lexer.take();
  Table table;
  table.name = name;
  if (directive.isWord(".callprototype")) {
    // 11.3.3: results, "_" for the name, parameters.
    table.kind = Table::Kind::Prototype;
    if (lexer.takeIf('(') && !parseFormals(table.prototype.results, nullptr))
      return recover();
    if (!lexer.peek().isWord("_")) {
      errorHere("'_' in place of the function's name");
      return recover();
    }
    lexer.take();
    if (lexer.takeIf('(') && !parseFormals(table.prototype.parameters, nullptr))
      return recover();
    while (lexer.peek().kind == Tok::Word) {
      uint32_t ignored = 0;
      if (lexer.peek().isWord(".noreturn")) {
        lexer.take();
        table.prototype.noReturn = true;
      } else if (lexer.peek().isWord(".abi_preserve") ||
                 lexer.peek().isWord(".abi_preserve_control")) {
        lexer.take();
        if (!parseCount(ignored, "a register count"))
          return recover();
      } else {
        errorHere("';' after a prototype");
        return recover();
      }
    }
  } else {
    const bool branches = directive.isWord(".branchtargets");
    table.kind = branches ? Table::Kind::Branches : Table::Kind::Calls;
    do {
      if (lexer.peek().kind != Tok::Word || lexer.peek().text[0] == '.') {
        errorHere(branches ? "a label" : "a function's name");
        return recover();
      }
      const std::string_view word = lexer.take().text;
      if (!branches) {
        table.functions.push_back(word);
        continue;
      }
      // 11.3.1: "prefix<n>" stands for prefix0 to prefix(n-1).
      if (!lexer.takeIf('<')) {
        table.functions.push_back(word);
        continue;
      }
      uint32_t count = 0;
      if (!parseCount(count, "a number of labels") || !expect('>', " after it"))
        return recover();
      if (count > 1u << 16) {
        error(directive.line, "a table of " + std::to_string(count) + " labels");
        return recover();
      }
      for (uint32_t i = 0; i < count; ++i)
        table.functions.push_back(
            module.arena.copy(std::string_view(std::string(word) + std::to_string(i))));
    } while (lexer.takeIf(','));
    if (branches) {
      table.labels.resize(table.functions.size());
      for (size_t i = 0; i < table.labels.size(); ++i)
        labelUses.push_back({&table.labels[i], scope, table.functions[i], directive.line});
      table.functions.clear();
    }
  }
  if (!expect(';', " after the table"))
    recover();
  if (declare(name, {Scope::Kind::Table, 0, static_cast<uint32_t>(function.tables.size())}))
    function.tables.push_back(std::move(table));
}

bool Parser::parseLabel(Function &function) {
  if (lexer.peek().kind != Tok::Word || !lexer.colonFollows())
    return false;
  const Token word = lexer.take();
  lexer.take();
  if (lexer.peek().isWord(".branchtargets") || lexer.peek().isWord(".calltargets") ||
      lexer.peek().isWord(".callprototype"))
    parseTable(function, word.text);
  else
    declare(word.text, {Scope::Kind::Label, 0, static_cast<uint32_t>(function.body.size())});
  return true;
}

void Parser::resolveLabels() {
  for (const LabelUse &use : labelUses) {
    bool found = false;
    for (int s = use.scope; s >= 0 && !found; s = scopes[static_cast<size_t>(s)].parent) {
      const Scope &block = scopes[static_cast<size_t>(s)];
      auto label = block.names.find(use.name);
      if (label == block.names.end() || label->second.kind != Scope::Kind::Label)
        continue;
      *use.target = label->second.index;
      found = true;
    }
    if (!found)
      error(use.line, "no label '" + std::string(use.name) + "' in scope");
  }
}

void Parser::parseBody(Function &function) {
  scopes.clear();
  labelUses.clear();
  operandStack.clear();
  scopes.emplace_back();
  scope = 0;
  location = Location();
  scopes[0].paramBytes = function.frameParamBytes;
  for (uint32_t i = 0; i < function.symbols.size(); ++i)
    declare(function.symbols[i].name, {Scope::Kind::Symbol, 0, i});
  for (const auto *formals : {&function.prototype.results, &function.prototype.parameters})
    for (const Formal &formal : *formals)
      if (formal.inRegister)
        declare(formal.name, {Scope::Kind::Register, 0, formal.index});
  while (scope >= 0) {
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
      inner.paramBytes = scopes[static_cast<size_t>(scope)].paramBytes;
      scopes.push_back(std::move(inner));
      scope = static_cast<int>(scopes.size()) - 1;
    } else if (token.is('}')) {
      lexer.take();
      scope = scopes[static_cast<size_t>(scope)].parent;
    } else if (token.is(';')) {
      lexer.take();
    } else if (token.kind == Tok::Word && token.text[0] == '.') {
      const Token word = lexer.take();
      if (word.text == ".reg")
        parseRegisters(function);
      else if (word.text == ".loc")
        parseLoc();
      else if (word.text == ".pragma")
        parsePragma();
      else if (word.text == ".local")
        parseVariable(Space::Local, false, &function);
      else if (word.text == ".shared")
        parseVariable(Space::Shared, false, &function);
      else if (word.text == ".global")
        parseVariable(Space::Global, false, &function);
      else if (word.text == ".const")
        parseVariable(Space::Const, false, &function);
      else if (word.text == ".param")
        parseVariable(Space::Param, false, &function);
      else if (word.text == ".callprototype" || word.text == ".calltargets" ||
               word.text == ".branchtargets") {
        error(word.line, "'" + std::string(word.text) + "' needs a label before it");
        recover();
      } else {
        error(word.line,
              "'" + std::string(word.text.substr(0, 80)) + "' is not modelled in a function");
        recover();
      }
    } else if (!parseLabel(function) && !parseStatement(function)) {
      recover();
    }
  }
  resolveLabels();
}

} // namespace girih::emu::ptx
