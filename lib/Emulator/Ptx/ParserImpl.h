// The parser's state, shared by the files that parse modules, variables, constants and bodies.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_PTX_PARSERIMPL_H
#define GIRIH_EMULATOR_PTX_PARSERIMPL_H

#include "Emulator/Ptx/Lexer.h"
#include "Emulator/Ptx/Parser.h"

#include <unordered_map>

namespace girih::emu::ptx {

/// A `{ }` block: names that are looked up from the inside out.
struct Scope {
  enum class Kind : uint8_t { Register, Vector, Symbol, Label, Table };
  struct Entry {
    Kind kind;
    uint8_t count; ///< elements of a vector register
    uint32_t index;
  };
  /// `%r<40>`: registers %r0 to %r39.
  struct Family {
    std::string_view prefix;
    uint32_t first, count;
  };
  int parent = -1;
  std::unordered_map<std::string_view, Entry> names;
  std::vector<Family> families;
  /// Where the call parameters of the blocks outside end.
  uint64_t paramBytes = 0;
};

/// The value of a constant expression (PTX ISA 4.5).
struct Constant {
  bool isFloat = false, isUnsigned = false;
  uint64_t bits = 0; ///< integers
  double real = 0;
  /// A lone literal 0f...: its exact bits, which a NaN would lose in a double.
  bool single = false;
  uint32_t singleBits = 0;
};

class Parser {
public:
  explicit Parser(std::string_view text) : text(text), lexer(text) {}
  ModuleAst run();

private:
  // Module level (Parser.cpp).
  void parseTopLevel();
  void parseVersion();
  void parseTarget();
  void parseFile();
  void parseAlias();
  bool parsePragma();
  void parseFunction(bool isEntry, bool weak);
  bool parseKernelParameters(Function &function);
  bool parseFormals(std::vector<Formal> &formals, Function *function);
  bool parseFormalType(Symbol &symbol, bool inRegister);
  bool parseFunctionDirectives(Function &function);
  std::optional<Dim3> parseDim();
  bool parseCount(uint32_t &value, const char *what);

  // Variables (Variables.cpp).
  /// Parses what follows the state space. `function`: the one that it stands in, or nullptr.
  void parseVariable(Space space, bool external, Function *function);
  bool parseVariableType(Symbol &base, unsigned &vector);
  bool parseExtents(Symbol &symbol, unsigned vector, std::vector<uint64_t> &extents);
  bool parseInitialiser(Symbol &symbol, std::span<const uint64_t> extents, unsigned vector);
  bool parseElement(Symbol &symbol);
  void declareVariable(Symbol symbol, Function *function);

  // Constants (Constants.cpp).
  std::optional<Constant> parseConstant(int leastPrecedence = 0);
  std::optional<Constant> parseUnary();
  std::optional<Constant> combine(const Token &op, const Constant &a, const Constant &b);
  /// An integer constant expression, or an error and nothing.
  std::optional<int64_t> parseInteger();
  /// Any number of "+ constant" and "- constant".
  bool parseOffset(int64_t &value);

  // Bodies (Body.cpp).
  void parseBody(Function &function);
  void parseRegisters(Function &function);
  void declareVector(std::string_view name, unsigned size, uint32_t first);
  void parseLoc();
  bool parseLabel(Function &function);
  void parseTable(Function &function, std::string_view name);
  bool parseStatement(Function &function);
  bool parseCallTarget(Function &function, Operand &operand);
  void resolveLabels();
  const Mnemonic *mnemonic(std::string_view word);
  bool declare(std::string_view name, Scope::Entry entry);
  bool lookup(std::string_view name, Scope::Entry &entry) const;
  bool lookupSymbol(Function &function, std::string_view name, uint32_t &index);

  // Operands (Operands.cpp).
  bool parseOperand(Function &function, Operand &operand, bool allowPair = true);
  bool parseList(Function &function, Operand &operand, char close);
  bool parseAddress(Function &function, Operand &operand);
  bool parseWordOperand(Function &function, const Token &token, Operand &operand);
  bool parseNumber(Operand &operand);
  bool parseElementOf(const Symbol &symbol, Operand &operand);

  void error(unsigned line, std::string message) {
    module.errors.push_back({line, std::move(message)});
  }
  void errorHere(const std::string &expected);
  static std::string describe(const Token &token);
  bool expect(char c, const char *where);
  /// After an error: continues behind the next ';' or at the end of the block.
  void recover();

  /// Bounds recursion: text that nests deeper than any program is refused, not followed.
  class Nesting {
  public:
    explicit Nesting(Parser &parser) : parser(parser) { ++parser.depth; }
    ~Nesting() { --parser.depth; }
    bool fine() {
      if (parser.depth <= 200)
        return true;
      parser.error(parser.lexer.line(), "braces or parentheses nest too deep");
      return false;
    }

  private:
    Parser &parser;
  };

  std::string_view text;
  unsigned depth = 0;
  Lexer lexer;
  ModuleAst module;
  std::unordered_map<std::string_view, uint32_t> variableByName;
  std::unordered_map<std::string_view, size_t> functionByName;
  std::vector<Scope> scopes;
  int scope = -1;
  Location location;
  /// The statement at hand is a load, store or the like, of which x[i] is the address.
  bool accessesMemory = false;
  /// Operands being collected, before they go to the arena.
  std::vector<Operand> operandStack;
  struct LabelUse {
    uint32_t *target; ///< gets the instruction's index
    int scope;
    std::string_view name;
    unsigned line;
  };
  std::vector<LabelUse> labelUses;
};

} // namespace girih::emu::ptx

#endif // GIRIH_EMULATOR_PTX_PARSERIMPL_H
