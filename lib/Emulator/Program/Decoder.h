// From a parsed function to a Kernel. The decoder resolves operands; which instructions exist is
// said by tables of forms, one per family, in Exec/.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_PROGRAM_DECODER_H
#define GIRIH_EMULATOR_PROGRAM_DECODER_H

#include "Emulator/Program/Program.h"

#include <optional>
#include <span>
#include <unordered_map>

namespace girih::emu {

class Decoder;

/// One form of an instruction.
struct Form {
  const char *opcode;
  /// The modifiers, as a set, separated by spaces: "x" must be there, "x?" may, "a|b" is one of,
  /// "a|b?" at most one of.
  const char *modifiers;
  /// Fills Decoder::out, or calls Decoder::fail.
  void (*build)(Decoder &, int variant);
  int variant = 0;
  /// A few optional modifiers that change nothing that is modelled are listed once: cache and
  /// eviction hints.
  bool hints = false;
};

// Families whose lane loops are compiled for each instruction set of the host (Exec/Targets.h).
// clang-format off
#define GIRIH_LANE_FAMILIES(X) \
  X(arithmeticForms)           \
  X(carryForms)                \
  X(bitForms)                  \
  X(floatForms)                \
  X(halfFloatForms)            \
  X(functionForms)             \
  X(compareForms)              \
  X(logicForms)                \
  X(conversionForms)           \
  X(packedConversionForms)     \
  X(addressSpaceForms)         \
  X(moveForms)                 \
  X(memoryForms)
// clang-format on
#define GIRIH_DECLARE(name) std::span<const Form> name();
namespace plain {
GIRIH_LANE_FAMILIES(GIRIH_DECLARE)
}
namespace avx2 {
GIRIH_LANE_FAMILIES(GIRIH_DECLARE)
}
namespace avx512 {
GIRIH_LANE_FAMILIES(GIRIH_DECLARE)
}
#undef GIRIH_DECLARE
std::span<const Form> roundedForms();
std::span<const Form> videoForms();
std::span<const Form> atomicForms();
std::span<const Form> fenceForms();
std::span<const Form> callForms();
std::span<const Form> controlForms();
std::span<const Form> warpForms();
std::span<const Form> barrierForms();
std::span<const Form> asyncForms();
std::span<const Form> cpAsyncForms();
std::span<const Form> remoteStoreForms();
std::span<const Form> tensorMapForms();
std::span<const Form> wgmmaForms();
std::span<const Form> matrixForms();
std::span<const Form> mmaForms();
std::span<const Form> wmmaForms();

/// Special registers whose value is fixed for a lane: ordinary registers filled when the warp
/// starts.
enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NwarpId,
  SmId,
  NsmId,
  LanemaskEq,
  LanemaskLt,
  LanemaskLe,
  LanemaskGt,
  LanemaskGe,
  ClusteridX,
  ClusteridY,
  ClusteridZ,
  NclusteridX,
  NclusteridY,
  NclusteridZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtarank,
  ClusterNctarank,
  DynamicSmemSize,
  TotalSmemSize,
  AggrSmemSize,
  ReservedSmemBegin,
  ReservedSmemEnd,
  ReservedSmemCap,
  ReservedSmem0,
  ReservedSmem1,
  IsExplicitCluster,
  GridId,
  GridIdLow, ///< its lower 32 bits
};

class Linker;

/// Width of a register of this type in the register file; 1 stands for a predicate.
inline unsigned registerWidth(ptx::Type type) {
  if (type == ptx::Type::Pred)
    return 1;
  const unsigned bytes = ptx::typeBytes(type);
  return bytes == 1 ? 2 : bytes;
}
constexpr uint64_t alignUp(uint64_t value, uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

class Decoder {
public:
  /// `self`: the function's index in Kernel::functions.
  Decoder(const ptx::Function &function, uint32_t self, const ModuleImage &module, Kernel &kernel,
          Linker &linker, std::vector<ptx::Diagnostic> &errors);
  /// Gives every register and variable its place. Before any function is decoded, because calls
  /// name each other's parameters.
  void layout();
  void run();

  // The instruction at hand.
  const ptx::Instruction *ast = nullptr;
  Instr out;
  std::span<const ptx::Type> types; ///< the modifiers that are types, in order
  bool has(std::string_view modifier) const;
  /// The first of these that is present, as its index, or -1.
  int which(std::initializer_list<std::string_view> modifiers) const;
  ptx::Type type(size_t index = 0) const {
    return index < types.size() ? types[index] : ptx::Type::None;
  }
  unsigned bytes(size_t index = 0) const { return ptx::typeBytes(type(index)); }
  size_t operandCount() const { return ast->operands.size(); }
  const ptx::Operand &operand(size_t index) const;
  bool expectOperands(size_t least, size_t most = 0);
  void fail(const std::string &message);
  bool failed() const { return failedNow; }

  /// A value to read. `width`: 2, 4, 8 or 16 bytes. Registers of another width are an error unless
  /// `anyWidth` is given, which receives theirs.
  Src source(const ptx::Operand &operand, unsigned width, uint8_t *anyWidth = nullptr);
  Src source(size_t index, unsigned width) { return source(operand(index), width); }
  /// A register to write; a sink gives a scratch register.
  int32_t dest(const ptx::Operand &operand, unsigned width, uint8_t *anyWidth = nullptr);
  int32_t dest(size_t index, unsigned width) { return dest(operand(index), width); }
  bool isPredicate(const ptx::Operand &operand) const;
  /// Predicates: sources may be negated (`negated`) or immediate.
  Src predSource(const ptx::Operand &operand, bool &negated);
  int32_t predDest(const ptx::Operand &operand);
  /// [base + offset]: fills out.s[slot], out.imm and out.width.
  void address(const ptx::Operand &operand, AddressSpace space, int slot = 0);
  /// A literal operand, or fail.
  int64_t literal(size_t index);
  Src constant(uint64_t value, unsigned width);
  int32_t scratch(unsigned width);
  /// The condition code register, a predicate without a name (9.7.2), for an instruction that reads
  /// it, writes it or both.
  Src conditionSource();
  int32_t conditionDest();
  /// Says that ptxas may fuse the instruction at hand with another (9.7.3.3): an add or sub with
  /// the functions that execute it fused, or a mul.
  void mayContract(Contractible::Kind kind, ExecFn fusedFirst = nullptr,
                   ExecFn fusedSecond = nullptr);
  void listStart() { out.list = static_cast<uint32_t>(kernel.lists.size()); }
  void listAdd(int32_t value) {
    kernel.lists.push_back(value);
    ++out.listCount;
  }
  /// Declares registers that a wgmma uses; they are tracked.
  void track(int32_t offset);
  AddressSpace spaceModifier() const;
  /// Calls: an actual argument or result. `formal` says what it is passed to, as far as known.
  Passing passing(const ptx::Operand &operand, const ptx::Formal &formal, bool isResult);
  const ptx::Function &functionAst() const { return function; }
  uint32_t self() const { return selfIndex; }
  bool isKernel() const { return function.isEntry; }

  Kernel &kernel;
  Linker &linker;

private:
  int32_t condition();
  void layoutRegisters();
  void layoutSymbols();
  void decode(const ptx::Instruction &instruction);
  bool checkLiterals(const ptx::Instruction &instruction);
  void describeRegisters(const ptx::Instruction &instruction);
  void append(const Instr &instr);
  /// A register of its own for a value that one instruction needs.
  int32_t temporary(unsigned width);
  /// base + offset, by an instruction of its own.
  Src addTo(int32_t base, uint64_t offset, unsigned width);
  /// The address of a variable: a constant, except in the frame of a recursive function.
  Src symbolValue(const ptx::Operand &operand, unsigned width);
  /// Is this the parameter that is an array of any size?
  bool isFlexible(uint32_t symbol) const;
  Src special(std::string_view name, unsigned width, uint8_t *anyWidth);
  Src lowerHalf(Src source);
  Src specialRegister(Special which, unsigned width, uint8_t *anyWidth);
  uint64_t symbolAddress(const ptx::Symbol &symbol);

  const ptx::Function &function;
  const ModuleImage &module;
  std::vector<ptx::Diagnostic> &errors;
  bool failedNow = false;
  std::vector<int32_t> registerOffset;
  /// Of variables in the frame the offset in it.
  std::vector<uint64_t> symbolOffset;
  std::vector<bool> symbolInFrame;
  uint32_t selfIndex;
  std::unordered_map<uint64_t, Src> constantsByValue[17];
  int32_t conditionOffset = kNone;
  std::optional<Contractible> contractible;
  bool readsCondition = false, writesCondition = false;
  int32_t scratchByWidth[17];
  std::unordered_map<int, int32_t> specialOffset;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_PROGRAM_DECODER_H
