// A kernel after decoding: what the machine executes.
//
// Registers live in a byte array per warp, structure of arrays: a 32-bit register is 32 consecutive
// 32-bit words, one a lane, so that one host loop serves the warp. A predicate is one 32-bit mask.
// Immediates are splatted into a constant pool of the same shape, so an operand is only an offset
// and instructions need no second form.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_PROGRAM_PROGRAM_H
#define GIRIH_EMULATOR_PROGRAM_PROGRAM_H

#include "Emulator/Check/Definedness.h"
#include "Emulator/Ptx/Ast.h"
#include "girih/Emulator/Device.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace girih::emu {

struct Context;
struct Instr;

/// What the warp does after an instruction.
enum class Step : uint8_t {
  Next,   ///< the following instruction
  Jumped, ///< the fragment's pc is set, or the fragment is gone
  Block,  ///< the same instruction again once the fragment is woken
  Yield,  ///< the following instruction, after others had a turn
  Retry,  ///< the same instruction, after others had a turn
};
using ExecFn = Step (*)(Context &, const Instr &);

/// A readable operand: >= 0 is an offset into the warp's registers, < 0 the complement of one into
/// the constants.
using Src = int32_t;
constexpr int32_t kNone = INT32_MIN;

enum InstrFlag : uint8_t {
  kTracked = 1,   ///< names a register that some wgmma uses
  kAligned = 2,   ///< all live lanes of the warp must execute it together
  kPlainMove = 4, ///< copies registers unchanged
  kGuarded = 8,
  kGuardNegated = 16,
  kSelfChecked = 32,   ///< looks after tracked registers itself (wgmma and its waits)
  kManyRegisters = 64, ///< more than readSlots and writeSlots hold: see Kernel::uses
};

/// What an instruction does with a register, as far as undefined values matter.
enum class Role : uint8_t {
  Value,   ///< an operand that the result depends on
  Guard,   ///< the guard of an instruction with a result
  Address, ///< (part of) an address
  Branch,  ///< decides where control goes, or whether something with an effect happens
  Operand, ///< of an operation on memory, a barrier or an asynchronous unit
  Matrix,  ///< of a matrix instruction
  Write,
};
struct RegisterUse {
  uint32_t slot;
  Role role;
};

/// Where an address comes from.
enum class AddressSpace : uint8_t { Generic, Global, Shared, Local, Param, Const };

struct Instr {
  ExecFn exec = nullptr;
  Src s[4] = {kNone, kNone, kNone, kNone};
  int32_t d[2] = {kNone, kNone};
  int32_t guard = kNone;
  uint8_t flags = 0;
  uint8_t sub = 0;   ///< variant within exec
  uint8_t bytes = 0; ///< access size of one element
  uint8_t count = 1; ///< elements of a vector
  AddressSpace space = AddressSpace::Generic;
  uint8_t width = 0;  ///< register width in bytes where it may differ from `bytes`
  uint8_t width2 = 0; ///< the same for a second operand
  bool sign = false;
  uint16_t access = 0; ///< of memory accesses: AccessFlags
  uint32_t target = 0;
  /// First entry in Kernel::lists that belongs to this instruction.
  uint32_t list = 0;
  uint32_t listCount = 0;
  int64_t imm = 0;
  /// For the checks of undefined values: see Check/Definedness.h. Unused entries name slots that
  /// are always defined, or that nobody reads.
  Define define = Define::Any;
  uint16_t readCount = 0, writeCount = 0;
  uint32_t uses = 0; ///< first of readCount + writeCount entries in Kernel::uses
  uint32_t readSlots[5] = {kDefinedSlot, kDefinedSlot, kDefinedSlot, kDefinedSlot, kDefinedSlot};
  uint32_t writeSlots[2] = {kSinkSlot, kSinkSlot};
};

/// What reports say about an instruction.
struct InstrInfo {
  unsigned line = 0;
  ptx::Location location;
  std::string_view text; ///< in the module's text
  /// Tracked registers read and written (indices into Kernel::tracked), for the checks of wgmma
  /// operands.
  std::vector<uint32_t> trackedReads, trackedWrites;
};

/// A wgmma.mma_async in detail; Instr::imm indexes these.
struct WgmmaForm;
/// A product on registers; Exec/MmaForm.h.
struct MmaForm;

struct ModuleImage;
enum class Special : uint8_t;

/// A special register that the kernel reads and the register that stands for it.
struct SpecialUse {
  Special special;
  int32_t offset;
};

/// Where a value that a call passes lies, on one of its sides.
struct Passing {
  enum class Kind : uint8_t { Register, Predicate, Frame } kind = Kind::Register;
  uint8_t width = 0;     ///< of the register
  Src at = kNone;        ///< the register, or a constant
  uint32_t offset = 0;   ///< in the function's frame
  uint32_t bytes = 0;    ///< what is passed
  bool flexible = false; ///< an array of any size
};

/// A device function, or the kernel itself, as a part of a kernel's code.
struct KernelFunction {
  std::string_view name;
  /// What a pointer to it holds.
  uint64_t address = 0;
  uint32_t first = 0; ///< its first instruction
  /// It may be called while it runs. Its frames lie on the lane's stack, and a call saves its
  /// registers; the frame of any other function has a place of its own.
  bool recursive = false;
  /// The frame's address in local memory: a 64-bit register of a recursive function, or `base`.
  int32_t frameRegister = kNone;
  uint32_t frameBase = 0, frameBytes = 0, frameAlignment = 16;
  /// The address of the parameter that is an array of any size: a 64-bit register.
  int32_t flexRegister = kNone;
  /// Its registers: offsets in the register file.
  int32_t registersBegin = 0, registersEnd = 0;
  std::vector<Passing> results, parameters;
};

/// What the system provides (vprintf, malloc, ...).
enum class SystemCall : uint8_t { None, Printf, Malloc, Free, AssertFail };

/// A call, as its caller sees it.
struct CallSite {
  uint32_t caller = 0;
  /// In Kernel::functions; ~0 for an indirect call.
  uint32_t function = ~0u;
  SystemCall system = SystemCall::None;
  std::vector<Passing> results, arguments;
  /// An indirect call with .calltargets or a call table: the functions that it may call.
  std::vector<uint32_t> targets;
  bool anyTarget = false;
};

/// An add, sub or mul without a rounding modifier (Program/Contraction.h).
struct Contractible {
  uint32_t pc = 0;
  enum Kind : uint8_t { Mul, Add, Sub } kind = Mul;
  uint8_t type = 0; ///< type and .ftz; a pair must agree
  /// Of add and sub: what executes it with a product as its first or second operand, on the
  /// product's operands and the other one.
  ExecFn fusedFirst = nullptr, fusedSecond = nullptr;
};

struct Kernel {
  FunctionAttributes attributes;
  /// The kernel itself, then the functions that it may call.
  std::vector<KernelFunction> functions;
  std::vector<CallSite> calls;
  /// Targets of brx.idx.
  std::vector<std::vector<uint32_t>> branchTables;
  std::vector<Instr> code;
  std::vector<InstrInfo> info;
  /// Per instruction: where lanes that part at it meet again (immediate post-dominator), or
  /// code.size().
  std::vector<uint32_t> reconverge;
  std::vector<uint8_t> constants;
  std::vector<int32_t> lists;
  std::vector<std::shared_ptr<WgmmaForm>> wgmmas;
  std::vector<std::shared_ptr<MmaForm>> mmas;
  std::vector<Contractible> contractible; ///< in the order of `code`
  /// The different lists of registers that are D of a wgmma.
  std::vector<std::vector<int32_t>> accumulatorSets;
  uint32_t registerBytes = 0;
  /// Offsets of the registers that wgmma instructions, or plain moves of theirs, name.
  std::vector<int32_t> tracked;
  /// Offset of a register / 64 to 1 + its index in `tracked`; 0 for the rest.
  std::vector<uint32_t> trackedAt;
  std::vector<SpecialUse> specials;
  std::vector<RegisterUse> uses;
  /// Bytes of the register at each slot; 1 for a predicate.
  std::vector<uint8_t> slotBytes;
  /// Local memory of a lane at its start: frames with a place of their own.
  uint32_t localBytes = 0;
  /// Shared memory: where static variables end and where dynamic memory begins.
  uint32_t staticEnd = 0, dynamicBase = 0;
  bool usesSetmaxnreg = false;
  const ModuleImage *module = nullptr;
};

/// A loaded module: the text, its files and where its variables lie.
struct ModuleImage {
  std::string name;
  std::string text;
  std::vector<std::string> files;
  std::vector<ptx::Location> callSites;
  LocationResolver resolve;
  std::map<std::string, AllocationInfo, std::less<>> variables;
  std::vector<AllocationInfo> constants; ///< those of them in .const
  /// Device functions and what pointers to them hold.
  std::map<std::string, uint64_t, std::less<>> functions;
  std::vector<std::unique_ptr<Kernel>> kernels;

  /// The user's line or lines for a location; empty if unknown. May be called from several threads;
  /// the resolver is called from one at a time.
  std::string source(const ptx::Location &location) const;
  mutable std::mutex resolving;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_PROGRAM_PROGRAM_H
