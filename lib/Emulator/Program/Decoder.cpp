// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Program/Decoder.h"
#include "Emulator/Exec/Calls.h"
#include "Emulator/Machine/GlobalMemory.h"
#include "Emulator/Machine/Machine.h"
#include "Emulator/Program/ControlFlow.h"
#include "Emulator/Program/Linker.h"
#include "Emulator/Program/Tracked.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace girih::emu {

using ptx::Operand;
using ptx::OperandKind;
using ptx::Type;

std::string ModuleImage::source(const ptx::Location &location) const {
  if (location.line == 0 || location.file >= files.size())
    return {};
  if (resolve) {
    std::lock_guard<std::mutex> lock(resolving);
    if (std::string text = resolve(files[location.file], location.line, location.column);
        !text.empty())
      return text;
  }
  std::string text = files[location.file] + ":" + std::to_string(location.line);
  for (uint32_t site = location.inlinedAt; site != 0;) {
    const ptx::Location &outer = callSites[site - 1];
    if (outer.file < files.size())
      text += "\n" + files[outer.file] + ":" + std::to_string(outer.line);
    site = outer.inlinedAt;
  }
  return text;
}

Decoder::Decoder(const ptx::Function &function, uint32_t self, const ModuleImage &module,
                 Kernel &kernel, Linker &linker, std::vector<ptx::Diagnostic> &errors)
    : kernel(kernel), linker(linker), function(function), module(module), errors(errors),
      selfIndex(self) {
  std::fill(std::begin(scratchByWidth), std::end(scratchByWidth), kNone);
}

void Decoder::fail(const std::string &message) {
  if (!failedNow)
    errors.push_back({ast->line, message + ": " + std::string(ast->text)});
  failedNow = true;
}

bool Decoder::has(std::string_view modifier) const {
  for (std::string_view m : ast->modifiers)
    if (m == modifier)
      return true;
  return false;
}

int Decoder::which(std::initializer_list<std::string_view> modifiers) const {
  int index = 0;
  for (std::string_view m : modifiers) {
    if (has(m))
      return index;
    ++index;
  }
  return -1;
}

const Operand &Decoder::operand(size_t index) const {
  static const Operand nothing;
  return index < ast->operands.size() ? ast->operands[index] : nothing;
}

bool Decoder::expectOperands(size_t least, size_t most) {
  if (most == 0)
    most = least;
  if (ast->operands.size() >= least && ast->operands.size() <= most)
    return true;
  fail("expected " + std::to_string(least) + (most > least ? " to " + std::to_string(most) : "") +
       " operands, found " + std::to_string(ast->operands.size()));
  return false;
}

int32_t Decoder::scratch(unsigned width) {
  if (scratchByWidth[width] == kNone)
    scratchByWidth[width] = temporary(width);
  return scratchByWidth[width];
}

Src Decoder::conditionSource() {
  readsCondition = true;
  return condition();
}
int32_t Decoder::conditionDest() {
  writesCondition = true;
  return condition();
}
int32_t Decoder::condition() {
  if (conditionOffset == kNone)
    conditionOffset = temporary(1);
  return conditionOffset;
}

int32_t Decoder::temporary(unsigned width) {
  int32_t offset = static_cast<int32_t>(alignUp(kernel.registerBytes, 64));
  kernel.registerBytes = static_cast<uint32_t>(offset) + (width == 1 ? 64 : 32 * width);
  kernel.slotBytes.resize(kernel.registerBytes / 64, 0);
  kernel.slotBytes[slotOf(offset)] = static_cast<uint8_t>(width);
  return offset;
}

Src Decoder::constant(uint64_t value, unsigned width) {
  if (width < 8)
    value &= (uint64_t(1) << (8 * width)) - 1;
  auto [entry, fresh] = constantsByValue[width].try_emplace(value, 0);
  if (fresh) {
    size_t offset = (kernel.constants.size() + 63) / 64 * 64;
    kernel.constants.resize(offset + 32 * width);
    // A literal has 64 bits; of 128 the upper half is zero.
    for (unsigned lane = 0; lane < 32; ++lane)
      std::memcpy(kernel.constants.data() + offset + lane * width, &value, std::min(width, 8u));
    entry->second = ~static_cast<Src>(offset);
  }
  return entry->second;
}

Src Decoder::source(const Operand &op, unsigned width, uint8_t *anyWidth) {
  if (anyWidth)
    *anyWidth = static_cast<uint8_t>(width);
  if (op.negated) {
    fail("'!' on an operand that is not a predicate");
    return 0;
  }
  switch (op.kind) {
  case OperandKind::Register: {
    unsigned actual = registerWidth(function.registers[op.index].type);
    if (actual == 1) {
      fail("a predicate where a value is needed");
      return 0;
    }
    if (anyWidth)
      *anyWidth = static_cast<uint8_t>(actual);
    else if (actual != width) {
      fail("a register of " + std::to_string(actual * 8) + " bits where " +
           std::to_string(width * 8) + " are needed");
      return 0;
    }
    return registerOffset[op.index];
  }
  case OperandKind::Integer:
    return constant(static_cast<uint64_t>(op.value), width);
  case OperandKind::Float:
    if (op.single && width == 8)
      return constant(std::bit_cast<uint64_t>(static_cast<double>(
                          std::bit_cast<float>(static_cast<uint32_t>(op.value)))),
                      8);
    if (!op.single && width == 4)
      return constant(std::bit_cast<uint32_t>(static_cast<float>(
                          std::bit_cast<double>(static_cast<uint64_t>(op.value)))),
                      4);
    if (width == 2) {
      fail("a floating-point literal of 16 bits");
      return 0;
    }
    return constant(static_cast<uint64_t>(op.value), width);
  case OperandKind::Symbol:
    return symbolValue(op, width);
  case OperandKind::Special:
    return special(op.name, width, anyWidth);
  case OperandKind::Name: {
    const ptx::Function *named = linker.find(op.name);
    if (named && named->isEntry)
      fail("the address of a kernel ('" + std::string(op.name) +
           "'), which only launches from the device need; they are not modelled");
    else if (named && !named->hasBody)
      fail("the address of '" + std::string(op.name) + "', which has no body");
    else if (named)
      return constant(linker.address(*named), width);
    else
      fail("nothing of the name '" + std::string(op.name) + "' is declared");
    return 0;
  }
  default:
    fail("an operand of this kind is not modelled here" +
         (op.name.empty() ? "" : " ('" + std::string(op.name) + "')"));
    return 0;
  }
}

int32_t Decoder::dest(const Operand &op, unsigned width, uint8_t *anyWidth) {
  if (op.kind == OperandKind::Sink) {
    if (anyWidth)
      *anyWidth = static_cast<uint8_t>(width);
    return scratch(width);
  }
  if (op.kind != OperandKind::Register) {
    fail("the destination must be a register");
    return 0;
  }
  unsigned actual = registerWidth(function.registers[op.index].type);
  if (actual < 2) {
    fail("a predicate as the destination of a value");
    return 0;
  }
  if (anyWidth)
    *anyWidth = static_cast<uint8_t>(actual);
  else if (actual != width) {
    fail("a destination of " + std::to_string(actual * 8) + " bits where " +
         std::to_string(width * 8) + " are needed");
    return 0;
  }
  return registerOffset[op.index];
}

bool Decoder::isPredicate(const Operand &op) const {
  return op.kind == OperandKind::Register && function.registers[op.index].type == Type::Pred;
}

Src Decoder::predSource(const Operand &op, bool &negated) {
  negated = op.negated;
  if (op.kind == OperandKind::Integer) {
    Src all = constant(op.value ? ~0u : 0u, 4);
    return all;
  }
  if (op.kind != OperandKind::Register || function.registers[op.index].type != Type::Pred) {
    fail("expected a predicate register");
    return 0;
  }
  return registerOffset[op.index];
}

int32_t Decoder::predDest(const Operand &op) {
  if (op.kind == OperandKind::Sink)
    return scratch(1);
  if (op.kind != OperandKind::Register || function.registers[op.index].type != Type::Pred) {
    fail("expected a predicate register");
    return 0;
  }
  return registerOffset[op.index];
}

void Decoder::address(const Operand &op, AddressSpace space, int slot) {
  if (op.kind != OperandKind::Address) {
    fail("expected an address in brackets");
    return;
  }
  out.space = space;
  out.imm = op.value;
  if (space == AddressSpace::Param && (op.inner != 1 || symbolInFrame[op.index]) &&
      !(isKernel() && op.inner == 0) && !has("param::entry")) {
    // 7.1: parameters of device functions, and what a call passes, lie in the frame.
    if (op.inner == 2)
      return fail("a parameter without a name");
    out.space = AddressSpace::Local;
  }
  if (op.inner == 0) {
    uint8_t width = 0;
    Operand base;
    base.kind = OperandKind::Register;
    base.index = op.index;
    out.s[slot] = source(base, 8, &width);
    if (width < 4)
      fail("an address in a 16-bit register");
    out.width = width;
  } else {
    out.s[slot] = kNone;
    out.width = 8;
    if (op.inner == 1) {
      out.imm += static_cast<int64_t>(function.symbols[op.index].dynamic ? kernel.dynamicBase
                                                                         : symbolOffset[op.index]);
      const KernelFunction &me = kernel.functions[selfIndex];
      if (isFlexible(op.index)) {
        out.s[slot] = me.flexRegister;
        out.imm = op.value;
      } else if (symbolInFrame[op.index]) {
        out.s[slot] = me.frameRegister;
        out.imm += me.frameBase;
      }
    }
  }
}

int64_t Decoder::literal(size_t index) {
  const Operand &op = operand(index);
  if (op.kind != OperandKind::Integer) {
    fail("operand " + std::to_string(index + 1) + " must be an integer literal");
    return 0;
  }
  return op.value;
}

AddressSpace Decoder::spaceModifier() const {
  for (std::string_view m : ast->modifiers) {
    if (m == "global")
      return AddressSpace::Global;
    if (m == "shared" || m == "shared::cta" || m == "shared::cluster")
      return AddressSpace::Shared;
    if (m == "local")
      return AddressSpace::Local;
    if (m == "param" || m == "param::entry" || m == "param::func")
      return AddressSpace::Param;
    if (m == "const")
      return AddressSpace::Const;
  }
  return AddressSpace::Generic;
}

Src Decoder::symbolValue(const Operand &op, unsigned width) {
  const uint64_t place = symbolOffset[op.index] + static_cast<uint64_t>(op.value);
  if (!symbolInFrame[op.index])
    return constant(function.symbols[op.index].dynamic
                        ? kernel.dynamicBase + static_cast<uint64_t>(op.value)
                        : place,
                    width);
  const KernelFunction &me = kernel.functions[selfIndex];
  if (isFlexible(op.index))
    return addTo(me.flexRegister, static_cast<uint64_t>(op.value), width);
  if (me.frameRegister != kNone)
    return addTo(me.frameRegister, place, width);
  return constant(me.frameBase + place, width);
}

bool Decoder::isFlexible(uint32_t symbol) const {
  return kernel.functions[selfIndex].flexRegister != kNone && symbol + 1 == function.paramCount;
}

Src Decoder::addTo(int32_t base, uint64_t offset, unsigned width) {
  Instr add = frameAdd(width);
  add.s[0] = base;
  add.d[0] = temporary(width);
  add.imm = static_cast<int64_t>(offset);
  add.writeSlots[0] = slotOf(add.d[0]);
  append(add);
  return add.d[0];
}

Passing Decoder::passing(const Operand &op, const ptx::Formal &formal, bool isResult) {
  Passing p;
  p.bytes = static_cast<uint32_t>(formal.bytes);
  if (op.kind == OperandKind::Symbol && op.value == 0 &&
      function.symbols[op.index].space == ptx::Space::Param && symbolInFrame[op.index]) {
    if (isFlexible(op.index))
      fail("an array of any size cannot be passed on; copy it to one of a known size");
    p.kind = Passing::Kind::Frame;
    p.offset = static_cast<uint32_t>(symbolOffset[op.index]);
    p.bytes = static_cast<uint32_t>(function.symbols[op.index].bytes);
    return p;
  }
  if (op.kind == OperandKind::Symbol && function.symbols[op.index].space == ptx::Space::Param) {
    fail(op.value ? "a part of a parameter as an argument"
                  : "a kernel's parameter as an argument; load it first");
    return p;
  }
  if (formal.type == Type::Pred) {
    p.kind = Passing::Kind::Predicate;
    bool negated = false;
    p.width = 1;
    p.at = isResult ? predDest(op) : predSource(op, negated);
    if (negated)
      fail("'!' on an argument");
    return p;
  }
  p.width = static_cast<uint8_t>(std::max(2u, ptx::typeBytes(formal.type)));
  if (op.kind == OperandKind::Register)
    p.bytes = ptx::typeBytes(function.registers[op.index].type);
  p.at = isResult ? dest(op, p.width) : source(op, p.width);
  return p;
}

void Decoder::track(int32_t offset) { trackRegister(kernel, offset); }

void Decoder::mayContract(Contractible::Kind kind, ExecFn fusedFirst, ExecFn fusedSecond) {
  // An explicit .rn forbids it, and a saturated product is more than a product.
  if (has("rn") || (kind == Contractible::Mul && has("sat")))
    return;
  contractible =
      Contractible{0, kind, static_cast<uint8_t>(static_cast<unsigned>(type()) * 2 + has("ftz")),
                   fusedFirst, fusedSecond};
}

void Decoder::append(const Instr &instr) {
  kernel.code.push_back(instr);
  InstrInfo &info = kernel.info.emplace_back();
  info.line = ast->line;
  info.location = ast->location;
  info.text = ast->text;
}

bool Decoder::checkLiterals(const ptx::Instruction &instruction) {
  // 4.5.3: no conversion makes the 1 of "add.f32 a, b, 1" a number.
  if (types.size() != 1 || (types[0] != Type::F32 && types[0] != Type::F64))
    return true;
  const std::string_view op = instruction.opcode;
  static constexpr std::string_view arithmetic[] = {
      "mov", "add",  "sub", "mul",   "fma", "mad", "div", "min",  "max",  "abs",
      "neg", "sqrt", "rcp", "rsqrt", "sin", "cos", "lg2", "tanh", "setp", "st"};
  if (std::find(std::begin(arithmetic), std::end(arithmetic), op) == std::end(arithmetic))
    return true;
  for (const Operand &operand : instruction.operands)
    if (operand.kind == OperandKind::Integer) {
      fail(std::string("an integer constant where .") + ptx::typeName(types[0]) +
           " needs a floating-point one, such as 1.0");
      return false;
    }
  return true;
}

/// 9.7.18: vadd, vset4 and so on.
static bool isVideo(std::string_view opcode) { return opcode[0] == 'v' && opcode != "vote"; }
static bool namesParts(std::span<const Operand> operands) {
  return std::any_of(operands.begin(), operands.end(), [](const Operand &operand) {
    return operand.kind == OperandKind::Register ? operand.minus || !operand.name.empty()
                                                 : namesParts(operand.elements);
  });
}

void Decoder::decode(const ptx::Instruction &instruction) {
  ast = &instruction;
  out = Instr();
  failedNow = readsCondition = writesCondition = false;
  contractible.reset();
  types = instruction.mnemonic->types;
  if (!checkLiterals(instruction)) {
    // reported
  } else if (!isVideo(instruction.opcode) && namesParts(instruction.operands)) {
    fail("a part of a register, or its sign, which only video instructions take");
  } else if (const Form *form = linker.form(instruction)) {
    form->build(*this, form->variant);
  } else {
    std::string name(instruction.opcode);
    for (std::string_view m : instruction.modifiers)
      name += "." + std::string(m);
    fail("instruction '" + name + "' is not modelled");
  }
  if (instruction.guard >= 0) {
    if (function.registers[static_cast<size_t>(instruction.guard)].type != Type::Pred)
      fail("the guard is no predicate register");
    out.guard = registerOffset[static_cast<size_t>(instruction.guard)];
    out.flags |= kGuarded | (instruction.guardNegated ? kGuardNegated : 0);
  }
  if (!failedNow)
    describeRegisters(instruction);
  if (contractible && !failedNow) {
    contractible->pc = static_cast<uint32_t>(kernel.code.size());
    kernel.contractible.push_back(*contractible);
  }
  append(out);
}

void Decoder::run() {
  // Instructions of our own may stand before the one that needs them, so labels are translated once
  // all have their place.
  std::vector<uint32_t> placeOf;
  placeOf.reserve(function.body.size() + 1);
  const size_t first = kernel.code.size(), firstTable = kernel.branchTables.size();
  kernel.functions[selfIndex].first = static_cast<uint32_t>(first);
  for (const ptx::Instruction &instruction : function.body) {
    placeOf.push_back(static_cast<uint32_t>(kernel.code.size()));
    decode(instruction);
  }
  placeOf.push_back(static_cast<uint32_t>(kernel.code.size()));
  // Falling off the end is a return.
  static const ptx::Mnemonic mnemonic{0, "ret", {}, {}};
  ptx::Instruction end;
  end.mnemonic = &mnemonic;
  end.opcode = "ret";
  end.text = "(end of the function)";
  end.line = function.body.empty() ? function.line : function.body.back().line;
  ast = &end;
  out = Instr();
  failedNow = false;
  buildReturn(*this, 0);
  append(out);
  for (size_t pc = first; pc < kernel.code.size(); ++pc)
    if (flowOf(kernel.code[pc]) == Flow::Branch)
      kernel.code[pc].target = placeOf[kernel.code[pc].target];
  for (size_t i = firstTable; i < kernel.branchTables.size(); ++i)
    for (uint32_t &target : kernel.branchTables[i])
      target = placeOf[target];
}

} // namespace girih::emu
