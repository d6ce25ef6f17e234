// A parsed PTX module: functions as flat lists of instructions whose registers and labels are
// resolved.
//
// Scopes end with the parser: every register of a function, of whatever nested block, has a number
// of its own.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_PTX_AST_H
#define GIRIH_EMULATOR_PTX_AST_H

#include "girih/Emulator/Finding.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
  Name,     ///< some other word, e.g. a function's name
};

struct Operand {
  OperandKind kind = OperandKind::Sink;
  /// `!p`.
  bool negated = false;
  bool single = false;
  uint8_t inner = 0;
  uint32_t index = 0;
  int64_t value = 0;
  std::string_view name;
  std::vector<Operand> elements;
};

/// Where `.loc` says an instruction comes from.
struct Location {
  uint32_t file = 0, line = 0, column = 0;
  /// 1 + the index in ModuleAst::callSites of the location this one was inlined at; 0: none.
  uint32_t inlinedAt = 0;
  bool operator==(const Location &) const = default;
};

struct Instruction {
  std::string_view opcode;
  std::vector<std::string_view> modifiers;
  std::vector<Operand> operands;
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
  /// Initialiser, in bytes; and places in it that hold the address of another symbol.
  std::vector<uint8_t> initial;
  struct Fixup {
    uint64_t offset;
    std::string_view symbol;
    int64_t addend;
    unsigned bytes;
    bool generic;
  };
  std::vector<Fixup> fixups;
  unsigned line = 0;
};

struct Register {
  Type type = Type::None;
};

struct Function {
  std::string_view name;
  bool isEntry = false;
  bool hasBody = false;
  unsigned line = 0;
  std::vector<Register> registers;
  std::vector<Symbol>
      symbols; ///< parameters first, then locals, then module variables that the body names
  uint32_t paramCount = 0;
  uint32_t paramBytes = 0;
  std::vector<Instruction> body;
  std::optional<Dim3> maxThreads, requiredThreads, requiredCluster;
  uint32_t maxRegisters = 0;
  uint32_t minBlocks = 0;
};

struct Diagnostic {
  unsigned line;
  std::string message;
};

struct ModuleAst {
  std::string_view version, target;
  std::vector<std::string_view> files;
  /// Locations that others were inlined at.
  std::vector<Location> callSites;
  std::vector<Symbol> variables;
  std::vector<Function> functions;
  std::vector<Diagnostic> errors;
};

} // namespace girih::emu::ptx

#endif // GIRIH_EMULATOR_PTX_AST_H
