// A parsed PTX module: functions as flat lists of instructions whose registers and labels are
// resolved.
//
// Scopes end with the parser: every register of a function, of whatever nested block, has a number
// of its own. Instructions and operands lie in an arena and are views of each other; a module of a
// megabyte has a hundred thousand of them.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_PTX_AST_H
#define GIRIH_EMULATOR_PTX_AST_H

#include "Emulator/Ptx/Arena.h"
#include "girih/Emulator/Finding.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace girih::emu::ptx {

/// The fundamental types of PTX ISA 5.2.1 and the packed and alternate formats of 5.2.3.
enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F64,
  E4M3,
  E5M2,
  E4M3x2,
  E5M2x2,
  U16x2,
  S16x2,
  S4,
  U4,
  B1,
};
/// The type that ".u32" and the like name; None if `name` (without the dot) is no type.
Type parseType(std::string_view name);
const char *typeName(Type type);
/// Size of one value in bytes; 1 for predicates.
unsigned typeBytes(Type type);
bool isSigned(Type type);
bool isFloat(Type type);

enum class Space : uint8_t { Generic, Param, Shared, Global, Const, Local };

enum class OperandKind : uint8_t {
  Register, ///< `index`
  Integer,  ///< `value`
  Float,    ///< `value` holds the bits, of a float if `single`
  Symbol,   ///< a variable or parameter: `index` into Function::symbols, plus `value`
  Special,  ///< `name`, e.g. "%tid.x"
  Label,    ///< `index`: the instruction it stands before
  Address,  ///< [base + value], base being a register (`inner` 0), a symbol (1) or nothing (2)
  Vector,   ///< {elements}
  Sink,     ///< _
  Pair,     ///< a|b
  Tensor,   ///< [map, {coordinates}]
  List,     ///< (elements): the arguments or results of a call
  Table,    ///< `index` into Function::tables
  Name,     ///< some other word, e.g. a function's name
};

struct Operand {
  OperandKind kind = OperandKind::Sink;
  /// `!p`.
  bool negated = false;
  /// `-%r1`, which video instructions know.
  bool minus = false;
  bool single = false;
  /// Symbol: written as an element, x[i].
  bool isElement = false;
  uint8_t inner = 0;
  uint32_t index = 0;
  int64_t value = 0;
  /// Of a register: the part that a video instruction selects, `b0` in `%r1.b0`.
  std::string_view name;
  std::span<Operand> elements;
};

/// Where `.loc` says an instruction comes from.
struct Location {
  uint32_t file = 0, line = 0, column = 0;
  /// 1 + the index in ModuleAst::callSites of the location this one was inlined at; 0: none.
  uint32_t inlinedAt = 0;
  bool operator==(const Location &) const = default;
};

/// An opcode with its modifiers, as it is written; one object for all instructions that write it in
/// the same way.
struct Mnemonic {
  uint32_t index = 0; ///< counts the module's mnemonics
  std::string_view opcode;
  std::vector<std::string_view> modifiers;
  /// The modifiers that are types, in order.
  std::vector<Type> types;
};

struct Instruction {
  const Mnemonic *mnemonic = nullptr;
  /// The mnemonic's parts.
  std::string_view opcode;
  std::span<const std::string_view> modifiers;
  std::span<Operand> operands;
  /// The guard predicate's register, or -1.
  int32_t guard = -1;
  bool guardNegated = false;
  unsigned line = 0;
  Location location;
  std::string_view text;
};

/// A variable: module-wide, function-local (`.local`, `.shared`) or a parameter.
struct Symbol {
  std::string_view name;
  Space space = Space::Global;
  Type type = Type::B8;
  uint32_t alignment = 1;
  uint64_t bytes = 0;
  /// `.extern .shared x[]`: dynamic shared memory begins here.
  bool dynamic = false;
  bool external = false;
  /// Offset in its space, where the parser knows it (parameters).
  uint64_t offset = 0;
  /// Index in ModuleAst::variables of a variable of the module, or -1.
  int32_t moduleIndex = -1;
  /// Initialiser, in bytes; and places in it that hold the address of another symbol.
  std::vector<uint8_t> initial;
  struct Fixup {
    uint64_t offset;
    std::string_view symbol;
    int64_t addend;
    unsigned bytes;
    bool generic;
    /// Bits of the address that the element holds, as mask(symbol) has it; all if 0.
    uint64_t mask = 0;
  };
  std::vector<Fixup> fixups;
  unsigned line = 0;
};

struct Register {
  Type type = Type::None;
};

/// A formal parameter or result of a device function or a call prototype.
struct Formal {
  std::string_view name;
  Type type = Type::None;
  uint32_t alignment = 1;
  uint64_t bytes = 0;
  /// `.reg`; otherwise `.param`.
  bool inRegister = false;
  /// The last parameter is `x[]`: the call decides how large it is.
  bool flexible = false;
  /// Index in Function::registers or Function::symbols.
  uint32_t index = 0;
};
struct Prototype {
  std::vector<Formal> results, parameters;
  bool noReturn = false;
};

/// What `.branchtargets`, `.calltargets` and `.callprototype` declare under a label.
struct Table {
  enum class Kind : uint8_t { Branches, Calls, Prototype } kind = Kind::Branches;
  std::string_view name;
  std::vector<uint32_t> labels;            ///< Branches: instructions
  std::vector<std::string_view> functions; ///< Calls
  Prototype prototype;
};

struct Function {
  std::string_view name;
  bool isEntry = false;
  bool hasBody = false;
  bool weak = false;
  unsigned line = 0;
  /// Of a device function. A kernel's parameters are `symbols`.
  Prototype prototype;
  std::vector<Register> registers;
  std::vector<Symbol>
      symbols; ///< parameters first, then locals, then module variables that the body names
  std::vector<Table> tables;
  /// Names of functions (or what may be some) that the body calls, and that it names otherwise.
  std::vector<std::string_view> called, named;
  bool callsIndirectly = false;
  /// Parameters at the beginning of `symbols`.
  uint32_t paramCount = 0;
  /// A kernel's parameters.
  uint32_t paramBytes = 0;
  /// `.param` variables in the frame: a device function's own parameters, then those of its calls.
  uint32_t frameParamBytes = 0;
  std::vector<Instruction> body;
  std::optional<Dim3> maxThreads, requiredThreads, requiredCluster;
  bool explicitCluster = false, blocksAreClusters = false;
  uint32_t maxClusterRank = 0;
  uint32_t maxRegisters = 0;
  uint32_t minBlocks = 0;
};

struct Diagnostic {
  unsigned line;
  std::string message;
};

/// `.alias name, aliasee`.
struct Alias {
  std::string_view name, target;
  unsigned line;
};

struct ModuleAst {
  std::string_view version, target;
  std::vector<std::string_view> files;
  /// Locations that others were inlined at.
  std::vector<Location> callSites;
  std::vector<Symbol> variables;
  std::vector<Function> functions;
  std::vector<Alias> aliases;
  std::vector<Diagnostic> errors;
  /// Hold what the views above point to, beside the text.
  Arena arena;
  std::unordered_map<std::string_view, std::unique_ptr<Mnemonic>> mnemonics;
};

} // namespace girih::emu::ptx

#endif // GIRIH_EMULATOR_PTX_AST_H
