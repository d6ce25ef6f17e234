// Modules: directives, functions and their parameters (PTX ISA 9.0, 5.1.6, 7.1 and chapter 11).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Ptx/ParserImpl.h"

#include <algorithm>
#include <array>

namespace girih::emu::ptx {

namespace {

/// Versions of PTX that have sm_90, up to the newest that CUDA 13.5's ptxas takes.
constexpr std::array<std::string_view, 16> versions = {"7.8", "8.0", "8.1", "8.2", "8.3", "8.4",
                                                       "8.5", "8.6", "8.7", "8.8", "9.0", "9.1",
                                                       "9.2", "9.3", "9.4", "9.5"};
/// Bytes of a kernel's parameters (5.1.6.1).
constexpr uint64_t kMaxParamBytes = 32764;

bool isLinkage(const Token &t) {
  return t.isWord(".visible") || t.isWord(".weak") || t.isWord(".extern") || t.isWord(".common");
}

} // namespace

ModuleAst Parser::run() {
  if (!lexer.peek().isWord(".version"))
    errorHere("'.version', with which every module begins");
  while (lexer.peek().kind != Tok::End && module.errors.size() < 50)
    parseTopLevel();
  if (module.errors.empty() && module.target.empty())
    error(lexer.line(), "the module has no .target");
  return std::move(module);
}

std::string Parser::describe(const Token &t) {
  if (t.kind == Tok::End)
    return "the end of the text";
  if (t.kind == Tok::String)
    return "a string";
  if (t.kind == Tok::Bad && t.text == "/*")
    return "a comment that does not end";
  return "'" + std::string(t.text.substr(0, 80)) + "'";
}

void Parser::errorHere(const std::string &expected) {
  error(lexer.line(), "expected " + expected + ", found " + describe(lexer.peek()));
}

bool Parser::expect(char c, const char *where) {
  if (lexer.takeIf(c))
    return true;
  errorHere(std::string("'") + c + "'" + where);
  return false;
}

void Parser::recover() {
  while (lexer.peek().kind != Tok::End && !lexer.peek().is(';') && !lexer.peek().is('}'))
    lexer.take();
  lexer.takeIf(';');
}

void Parser::parseTopLevel() {
  const unsigned errorsBefore = static_cast<unsigned>(module.errors.size());
  Token token = lexer.take();
  bool external = false, weak = false;
  while (isLinkage(token)) {
    external |= token.text == ".extern";
    weak |= token.text == ".weak" || token.text == ".common";
    token = lexer.take();
  }
  if (token.isWord(".version")) {
    parseVersion();
  } else if (token.isWord(".target")) {
    parseTarget();
  } else if (token.isWord(".address_size")) {
    if (lexer.peek().kind != Tok::Integer)
      errorHere("64 after .address_size");
    else if (lexer.take().value != 64)
      error(token.line, "only .address_size 64 is modelled");
  } else if (token.isWord(".file")) {
    parseFile();
  } else if (token.isWord(".section")) {
    // Debug sections (11.5.2, DWARF); nothing that executes.
    if (lexer.peek().kind != Tok::Word)
      return errorHere("a section's name");
    lexer.take();
    if (!lexer.takeIf('{'))
      errorHere("'{' after .section");
    else if (!lexer.skipBraces())
      errorHere("'}' at the end of the section");
  } else if (token.isWord(".entry")) {
    parseFunction(true, weak);
  } else if (token.isWord(".func")) {
    parseFunction(false, weak);
  } else if (token.isWord(".global")) {
    parseVariable(Space::Global, external, nullptr);
  } else if (token.isWord(".const")) {
    parseVariable(Space::Const, external, nullptr);
  } else if (token.isWord(".shared")) {
    parseVariable(Space::Shared, external, nullptr);
  } else if (token.isWord(".pragma")) {
    parsePragma();
  } else if (token.isWord(".alias")) {
    parseAlias();
  } else if (token.isWord(".loc")) {
    parseLoc();
  } else if (token.kind == Tok::End) {
    error(token.line, "expected a variable or a function, found the end of the text");
  } else if (!token.is(';')) {
    error(token.line, describe(token) + " is not modelled at module level");
    recover();
    // What follows a broken function is not worth a message each.
    if (module.errors.size() > errorsBefore && lexer.peek().is('}'))
      lexer.take();
  }
}

void Parser::parseVersion() {
  Token number = lexer.take();
  if (!module.version.empty())
    error(number.line, "a second .version");
  module.version = number.text;
  if (std::find(versions.begin(), versions.end(), number.text) == versions.end())
    error(number.line, "PTX version '" + std::string(number.text) +
                           "' is not modelled; 7.8, 8.0 to 8.8 and 9.0 to 9.5 are");
}

void Parser::parseTarget() {
  do {
    if (lexer.peek().kind != Tok::Word)
      return errorHere("a target such as sm_90a");
    Token word = lexer.take();
    if (word.text.substr(0, 3) == "sm_") {
      module.target = word.text;
      // 11.1.2: code for a target runs on it and on later ones; with a suffix only on it.
      std::string_view digits = word.text.substr(3);
      unsigned number = 0;
      size_t used = 0;
      for (; used < digits.size() && digits[used] >= '0' && digits[used] <= '9' && used < 4; ++used)
        number = number * 10 + static_cast<unsigned>(digits[used] - '0');
      bool plain = used > 0 && used == digits.size() && number <= 90;
      if (!plain && digits != "90a")
        error(word.line,
              "target " + std::string(word.text) + " is not modelled; the device is an sm_90a");
    } else if (word.text != "debug" && word.text != "texmode_unified" &&
               word.text != "texmode_independent") {
      error(word.line, "target option '" + std::string(word.text) + "' is not modelled");
    }
  } while (lexer.takeIf(','));
}

void Parser::parseFile() {
  if (lexer.peek().kind != Tok::Integer)
    return errorHere("a file number after .file");
  Token number = lexer.take();
  if (lexer.peek().kind != Tok::String)
    return errorHere("a file name in quotes after .file " + std::string(number.text));
  Token name = lexer.take();
  if (number.value > 1u << 20)
    return error(number.line, "file number " + std::string(number.text) + " is too large");
  if (module.files.size() <= number.value)
    module.files.resize(number.value + 1);
  module.files[number.value] = name.text;
  while (lexer.takeIf(',')) {
    if (lexer.peek().kind != Tok::Integer)
      return errorHere("a time stamp or size after .file");
    lexer.take();
  }
}

void Parser::parseAlias() {
  Alias alias;
  alias.line = lexer.line();
  for (std::string_view *name : {&alias.name, &alias.target}) {
    if (lexer.peek().kind != Tok::Word) {
      errorHere("a function's name in .alias");
      return recover();
    }
    *name = lexer.take().text;
    if (name == &alias.name && !expect(',', " in .alias"))
      return recover();
  }
  if (!expect(';', " after .alias"))
    return recover();
  module.aliases.push_back(alias);
}

bool Parser::parsePragma() {
  // 11.4.5: hints; those that are not known are to be ignored.
  do {
    if (lexer.peek().kind != Tok::String) {
      errorHere("a string after .pragma");
      recover();
      return false;
    }
    lexer.take();
  } while (lexer.takeIf(','));
  if (expect(';', " after .pragma"))
    return true;
  recover();
  return false;
}

std::optional<Dim3> Parser::parseDim() {
  uint32_t values[3] = {1, 1, 1};
  for (uint32_t &value : values) {
    if (!parseCount(value, "an extent"))
      return std::nullopt;
    if (!lexer.takeIf(','))
      break;
  }
  return Dim3{values[0], values[1], values[2]};
}

bool Parser::parseCount(uint32_t &value, const char *what) {
  if (lexer.peek().kind != Tok::Integer || lexer.peek().value > UINT32_MAX) {
    errorHere(what);
    return false;
  }
  value = static_cast<uint32_t>(lexer.take().value);
  return true;
}

bool Parser::parseFunctionDirectives(Function &function) {
  bool isEntry = function.isEntry;
  unsigned line = lexer.line();
  while (lexer.peek().kind == Tok::Word && lexer.peek().text[0] == '.') {
    Token directive = lexer.take();
    std::string_view name = directive.text;
    line = directive.line;
    bool fine = true;
    uint32_t ignored = 0;
    auto dim = [&](std::optional<Dim3> &to) {
      to = parseDim();
      return to.has_value();
    };
    if (isEntry && name == ".maxntid") {
      fine = dim(function.maxThreads);
    } else if (isEntry && name == ".reqntid") {
      fine = dim(function.requiredThreads);
    } else if (isEntry && name == ".reqnctapercluster") {
      fine = dim(function.requiredCluster);
    } else if (isEntry && name == ".maxclusterrank") {
      fine = parseCount(function.maxClusterRank, "a cluster size after .maxclusterrank");
    } else if (isEntry && name == ".maxnreg") {
      fine = parseCount(function.maxRegisters, "a register count after .maxnreg");
    } else if (isEntry && name == ".minnctapersm") {
      fine = parseCount(function.minBlocks, "a count after .minnctapersm");
    } else if (isEntry && name == ".maxnctapersm") {
      error(directive.line, "'.maxnctapersm' left PTX with version 2.1; write .minnctapersm");
      fine = parseCount(ignored, "a count after .maxnctapersm");
    } else if (isEntry && name == ".explicitcluster") {
      function.explicitCluster = true;
    } else if (isEntry && name == ".blocksareclusters") {
      function.blocksAreClusters = true;
    } else if (name == ".noreturn") {
      if (isEntry || !function.prototype.results.empty())
        error(directive.line, isEntry ? "a kernel cannot be .noreturn"
                                      : "a .noreturn function cannot have a result");
      function.prototype.noReturn = true;
    } else if (!isEntry && (name == ".abi_preserve" || name == ".abi_preserve_control")) {
      // 11.4: which registers a callee keeps; here it keeps all.
      fine = parseCount(ignored, "a register count");
    } else if (name == ".pragma") {
      fine = parsePragma();
    } else {
      error(directive.line, "'" + std::string(name) + "' is not modelled on a " +
                                (isEntry ? "kernel" : "device function"));
      return false;
    }
    if (!fine)
      return false;
  }
  if (function.maxThreads && function.requiredThreads)
    error(line, ".maxntid and .reqntid exclude each other");
  if (function.maxClusterRank && function.requiredCluster)
    error(line, ".reqnctapercluster and .maxclusterrank exclude each other");
  if (function.blocksAreClusters && (!function.requiredThreads || !function.requiredCluster))
    error(line, ".blocksareclusters needs .reqntid and .reqnctapercluster");
  return true;
}

bool Parser::parseFormalType(Symbol &symbol, bool inRegister) {
  // .align n, .ptr{.space}{.align n}, type; .align behind .ptr says what the pointer points to.
  bool pointer = false;
  while (lexer.peek().kind == Tok::Word && lexer.peek().text[0] == '.') {
    std::string_view word = lexer.take().text.substr(1);
    if (word == "align") {
      uint32_t value = 0;
      if (!parseCount(value, "an alignment"))
        return false;
      if (value == 0 || (value & (value - 1)) || value > 4096) {
        error(symbol.line, "an alignment of " + std::to_string(value) +
                               "; powers of two up to 4096 are possible");
        return false;
      }
      if (!pointer)
        symbol.alignment = value;
    } else if (word == "ptr" && !inRegister) {
      pointer = true;
    } else if (Type type = parseType(word); type != Type::None && symbol.type == Type::None) {
      symbol.type = type;
    } else if (!pointer ||
               (word != "global" && word != "const" && word != "local" && word != "shared")) {
      error(symbol.line, "'." + std::string(word) + "' is not modelled on a parameter");
      return false;
    }
  }
  if (symbol.type == Type::None || lexer.peek().kind != Tok::Word) {
    errorHere(symbol.type == Type::None ? "a parameter's type" : "a parameter's name");
    return false;
  }
  if (symbol.type == Type::Pred && !inRegister) {
    error(symbol.line, "a predicate in .param space");
    return false;
  }
  symbol.name = lexer.take().text;
  symbol.bytes = typeBytes(symbol.type);
  symbol.alignment = std::max<uint32_t>(symbol.alignment, typeBytes(symbol.type));
  return true;
}

bool Parser::parseKernelParameters(Function &function) {
  // 5.1.6.1: parameters lie in order, each at its natural alignment.
  while (!lexer.takeIf(')')) {
    Symbol symbol;
    symbol.space = Space::Param;
    symbol.type = Type::None;
    symbol.line = lexer.line();
    if (!lexer.peek().isWord(".param")) {
      errorHere("'.param'");
      return false;
    }
    lexer.take();
    if (!parseFormalType(symbol, false))
      return false;
    while (lexer.takeIf('[')) {
      uint32_t count = 0;
      if (!parseCount(count, "an array size") || !expect(']', ""))
        return false;
      symbol.bytes *= count;
      if (symbol.bytes > kMaxParamBytes)
        break;
    }
    symbol.offset =
        (function.paramBytes + symbol.alignment - 1) / symbol.alignment * symbol.alignment;
    if (symbol.offset + symbol.bytes > kMaxParamBytes) {
      error(symbol.line,
            "the parameters have more than " + std::to_string(kMaxParamBytes) + " bytes");
      return false;
    }
    function.paramBytes = static_cast<uint32_t>(symbol.offset + symbol.bytes);
    function.symbols.push_back(symbol);
    ++function.paramCount;
    if (!lexer.takeIf(',') && !lexer.peek().is(')')) {
      errorHere("',' or ')' after a parameter");
      return false;
    }
  }
  return true;
}

bool Parser::parseFormals(std::vector<Formal> &formals, Function *function) {
  // 7.1: .reg, or .param scalars and byte arrays; the last may be an array of any size.
  while (!lexer.takeIf(')')) {
    Symbol symbol;
    symbol.space = Space::Param;
    symbol.type = Type::None;
    symbol.line = lexer.line();
    Formal formal;
    formal.inRegister = lexer.peek().isWord(".reg");
    if (!formal.inRegister && !lexer.peek().isWord(".param")) {
      errorHere("'.param' or '.reg'");
      return false;
    }
    lexer.take();
    if (!parseFormalType(symbol, formal.inRegister))
      return false;
    while (!formal.inRegister && lexer.takeIf('[')) {
      uint32_t count = 0;
      if (lexer.takeIf(']')) {
        formal.flexible = true;
        break;
      }
      if (!parseCount(count, "an array size") || !expect(']', ""))
        return false;
      symbol.bytes *= count;
      if (symbol.bytes > 1u << 20) {
        error(symbol.line, "parameter '" + std::string(symbol.name) + "' is too large");
        return false;
      }
    }
    if (formal.flexible)
      symbol.bytes = 0;
    formal.name = symbol.name;
    formal.type = symbol.type;
    formal.alignment = symbol.alignment;
    formal.bytes = symbol.bytes;
    if (function && formal.inRegister) {
      formal.index = static_cast<uint32_t>(function->registers.size());
      function->registers.push_back({symbol.type});
    } else if (function) {
      symbol.offset =
          (function->frameParamBytes + symbol.alignment - 1) / symbol.alignment * symbol.alignment;
      function->frameParamBytes = static_cast<uint32_t>(symbol.offset + symbol.bytes);
      formal.index = static_cast<uint32_t>(function->symbols.size());
      function->symbols.push_back(symbol);
      ++function->paramCount;
    }
    formals.push_back(formal);
    if (formal.flexible && !lexer.peek().is(')')) {
      errorHere("')' after an array of any size, which must come last");
      return false;
    }
    if (!lexer.takeIf(',') && !lexer.peek().is(')')) {
      errorHere("',' or ')' after a parameter");
      return false;
    }
  }
  return true;
}

void Parser::parseFunction(bool isEntry, bool weak) {
  Function function;
  function.isEntry = isEntry;
  function.weak = weak;
  function.line = lexer.line();
  // After an error the rest of the function is skipped, so that its body gives no further ones.
  auto skip = [&] {
    while (lexer.peek().kind != Tok::End && !lexer.peek().is(';') && !lexer.peek().is('{'))
      lexer.take();
    if (lexer.takeIf('{'))
      lexer.skipBraces();
    else
      lexer.takeIf(';');
  };
  Prototype &prototype = function.prototype;
  if (!isEntry && lexer.takeIf('(') && !parseFormals(prototype.results, &function))
    return skip();
  if (lexer.peek().kind != Tok::Word || lexer.peek().text[0] == '.') {
    errorHere("a function's name");
    return skip();
  }
  function.name = lexer.take().text;
  if (lexer.takeIf('(') &&
      !(isEntry ? parseKernelParameters(function) : parseFormals(prototype.parameters, &function)))
    return skip();
  if (!parseFunctionDirectives(function))
    return skip();
  if (!lexer.takeIf(';')) {
    if (!lexer.takeIf('{')) {
      errorHere("'{'");
      return skip();
    }
    function.hasBody = true;
    parseBody(function);
  }
  auto [known, fresh] = functionByName.try_emplace(function.name, module.functions.size());
  if (fresh) {
    module.functions.push_back(std::move(function));
    return;
  }
  // A declaration and its definition are one function.
  Function &other = module.functions[known->second];
  if (other.isEntry != isEntry)
    error(function.line, "'" + std::string(function.name) + "' is a kernel and a device function");
  else if (other.hasBody && function.hasBody)
    error(function.line, "'" + std::string(function.name) + "' is defined twice");
  else if (function.hasBody)
    other = std::move(function);
}

ModuleAst parseModule(std::string_view text) { return Parser(text).run(); }

} // namespace girih::emu::ptx
