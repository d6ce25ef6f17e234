// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Program/Decoder.h"
#include "Emulator/Machine/GlobalMemory.h"
#include "Emulator/Machine/Machine.h"
#include "Emulator/Program/ControlFlow.h"
#include "Emulator/Units/Isa.h"

#include <bit>
#include <cstring>

namespace girih::emu {

using ptx::Operand;
using ptx::OperandKind;
using ptx::Type;

namespace {

constexpr uint32_t alignUp(uint64_t value, uint32_t alignment) {
  return static_cast<uint32_t>((value + alignment - 1) / alignment * alignment);
}

/// Width of a register of this type in the register file; 1 stands for a predicate.
unsigned registerWidth(Type type) {
  if (type == Type::Pred)
    return 1;
  unsigned bytes = ptx::typeBytes(type);
  return bytes == 1 ? 2 : bytes;
}

struct SpecialName {
  const char *name;
  Special special;
};
constexpr SpecialName specialNames[] = {
    {"%tid.x", Special::TidX},
    {"%tid.y", Special::TidY},
    {"%tid.z", Special::TidZ},
    {"%ntid.x", Special::NtidX},
    {"%ntid.y", Special::NtidY},
    {"%ntid.z", Special::NtidZ},
    {"%ctaid.x", Special::CtaidX},
    {"%ctaid.y", Special::CtaidY},
    {"%ctaid.z", Special::CtaidZ},
    {"%nctaid.x", Special::NctaidX},
    {"%nctaid.y", Special::NctaidY},
    {"%nctaid.z", Special::NctaidZ},
    {"%laneid", Special::LaneId},
    {"%warpid", Special::WarpId},
    {"%nwarpid", Special::NwarpId},
    {"%smid", Special::SmId},
    {"%nsmid", Special::NsmId},
    {"%lanemask_eq", Special::LanemaskEq},
    {"%lanemask_lt", Special::LanemaskLt},
    {"%lanemask_le", Special::LanemaskLe},
    {"%lanemask_gt", Special::LanemaskGt},
    {"%lanemask_ge", Special::LanemaskGe},
    {"%clusterid.x", Special::ClusteridX},
    {"%clusterid.y", Special::ClusteridY},
    {"%clusterid.z", Special::ClusteridZ},
    {"%nclusterid.x", Special::NclusteridX},
    {"%nclusterid.y", Special::NclusteridY},
    {"%nclusterid.z", Special::NclusteridZ},
    {"%cluster_ctaid.x", Special::ClusterCtaidX},
    {"%cluster_ctaid.y", Special::ClusterCtaidY},
    {"%cluster_ctaid.z", Special::ClusterCtaidZ},
    {"%cluster_nctaid.x", Special::ClusterNctaidX},
    {"%cluster_nctaid.y", Special::ClusterNctaidY},
    {"%cluster_nctaid.z", Special::ClusterNctaidZ},
    {"%cluster_ctarank", Special::ClusterCtarank},
    {"%cluster_nctarank", Special::ClusterNctarank},
    {"%dynamic_smem_size", Special::DynamicSmemSize},
    {"%total_smem_size", Special::TotalSmemSize},
    {"%is_explicit_cluster", Special::IsExplicitCluster},
};

/// Hints that steer caches and nothing else (PTX ISA 9.0, 9.7.9.1 and 9.7.9.8).
bool isHint(std::string_view m) {
  return m.substr(0, 4) == "L1::" || m.substr(0, 4) == "L2::" || m == "ca" || m == "cg" ||
         m == "cs" || m == "lu" || m == "cv" || m == "wb" || m == "wt" || m == "nc";
}

/// Does the set of modifiers match the pattern of a form? Patterns are short; instructions are
/// cached by their text.
bool matches(const char *pattern, const std::vector<std::string_view> &modifiers, bool hints) {
  uint64_t used = 0;
  size_t count = modifiers.size();
  std::string_view rest(pattern);
  while (!rest.empty()) {
    size_t space = rest.find(' ');
    std::string_view token = rest.substr(0, space);
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
    bool optional = token.back() == '?';
    if (optional)
      token.remove_suffix(1);
    bool found = false;
    while (!token.empty() && !found) {
      size_t bar = token.find('|');
      std::string_view one = token.substr(0, bar);
      token = bar == std::string_view::npos ? std::string_view() : token.substr(bar + 1);
      // Types keep their order (destination, then sources); everything else is a set.
      bool typeSeen = false;
      for (size_t i = 0; i < count && !found; ++i) {
        if (used >> i & 1)
          continue;
        bool isType = ptx::parseType(modifiers[i]) != Type::None;
        if (modifiers[i] == one && !(isType && typeSeen)) {
          used |= uint64_t(1) << i;
          found = true;
        }
        typeSeen |= isType;
      }
    }
    if (!found && !optional)
      return false;
  }
  for (size_t i = 0; i < count; ++i)
    if (!(used >> i & 1) && !(hints && isHint(modifiers[i])))
      return false;
  return true;
}

const std::unordered_map<std::string_view, std::vector<const Form *>> &formsByOpcode() {
  static const auto table = [] {
    std::unordered_map<std::string_view, std::vector<const Form *>> result;
    std::vector<std::span<const Form>> families = {
        roundedForms(),     atomicForms(),  fenceForms(), controlForms(),
        warpForms(),        barrierForms(), asyncForms(), cpAsyncForms(),
        remoteStoreForms(), wgmmaForms(),   matrixForms()};
    const Isa isa = activeIsa();
#define GIRIH_ADD(name)                                                                            \
  families.push_back(isa == Isa::Avx512 ? avx512::name()                                           \
                     : isa == Isa::Avx2 ? avx2::name()                                             \
                                        : plain::name());
    GIRIH_LANE_FAMILIES(GIRIH_ADD)
#undef GIRIH_ADD
    for (std::span<const Form> family : families)
      for (const Form &form : family)
        result[form.opcode].push_back(&form);
    return result;
  }();
  return table;
}

} // namespace

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

Decoder::Decoder(const ptx::Function &function, const ModuleImage &module, Kernel &kernel,
                 std::vector<ptx::Diagnostic> &errors)
    : kernel(kernel), function(function), module(module), errors(errors) {
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
  if (scratchByWidth[width] == kNone) {
    kernel.registerBytes = alignUp(kernel.registerBytes, 64);
    scratchByWidth[width] = static_cast<int32_t>(kernel.registerBytes);
    kernel.registerBytes += width == 1 ? 64 : 32 * width;
  }
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
  if (conditionOffset == kNone) {
    kernel.registerBytes = alignUp(kernel.registerBytes, 64);
    conditionOffset = static_cast<int32_t>(kernel.registerBytes);
    kernel.registerBytes += 64;
  }
  return conditionOffset;
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
    return constant(symbolOffset[op.index] + static_cast<uint64_t>(op.value), width);
  case OperandKind::Special: {
    if (op.name == "WARP_SZ")
      return constant(32, width);
    for (const SpecialName &row : specialNames)
      if (op.name == row.name) {
        if (width != 4 && !anyWidth) {
          fail("'" + std::string(op.name) + "' has 32 bits, " + std::to_string(8 * width) +
               " are needed");
          return 0;
        }
        if (anyWidth)
          *anyWidth = 4;
        auto [entry, fresh] = specialOffset.try_emplace(static_cast<int>(row.special), 0);
        if (fresh) {
          kernel.registerBytes = alignUp(kernel.registerBytes, 64);
          entry->second = static_cast<int32_t>(kernel.registerBytes);
          kernel.registerBytes += 128;
          kernel.specials.push_back({row.special, entry->second});
        }
        return entry->second;
      }
    fail("special register '" + std::string(op.name) +
         "' is not modelled (or is no declared register)");
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
    if (op.inner == 1)
      out.imm += static_cast<int64_t>(symbolOffset[op.index]);
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
    if (m == "param" || m == "param::entry")
      return AddressSpace::Param;
    if (m == "const")
      return AddressSpace::Const;
  }
  return AddressSpace::Generic;
}

void Decoder::layoutRegisters() {
  // Behind the reserved slots (Check/Definedness.h). Predicates take 64 bytes although they have
  // four, so that every register has a slot of its own.
  uint32_t offset = 128;
  registerOffset.resize(function.registers.size());
  for (size_t i = 0; i < function.registers.size(); ++i)
    if (function.registers[i].type == Type::Pred) {
      registerOffset[i] = static_cast<int32_t>(offset);
      offset += 64;
    }
  for (size_t i = 0; i < function.registers.size(); ++i) {
    unsigned width = registerWidth(function.registers[i].type);
    if (width < 2)
      continue;
    registerOffset[i] = static_cast<int32_t>(offset);
    offset += 32 * width;
  }
  kernel.registerBytes = offset;
  kernel.slotBytes.assign(offset / 64, 0);
  for (size_t i = 0; i < function.registers.size(); ++i)
    kernel.slotBytes[slotOf(registerOffset[i])] =
        static_cast<uint8_t>(registerWidth(function.registers[i].type));
}

uint64_t Decoder::symbolAddress(const ptx::Symbol &symbol) {
  auto found = module.variables.find(symbol.name);
  return found == module.variables.end() ? 0 : found->second.address;
}

void Decoder::layoutSymbols() {
  // Shared memory: static variables in order behind the reserved first KiB, dynamic memory at the
  // next multiple of 1024, which kernels with swizzled tiles rely on.
  symbolOffset.resize(function.symbols.size());
  uint64_t shared = kSharedStart, local = 0;
  for (size_t i = 0; i < function.symbols.size(); ++i) {
    const ptx::Symbol &symbol = function.symbols[i];
    switch (symbol.space) {
    case ptx::Space::Shared:
      if (symbol.dynamic)
        break;
      shared = alignUp(shared, symbol.alignment);
      symbolOffset[i] = shared;
      shared += symbol.bytes;
      break;
    case ptx::Space::Local:
      local = alignUp(local, symbol.alignment);
      symbolOffset[i] = local;
      local += symbol.bytes;
      break;
    case ptx::Space::Param:
      symbolOffset[i] = kParamWindow + symbol.offset;
      break;
    case ptx::Space::Global:
    case ptx::Space::Const:
      symbolOffset[i] = symbolAddress(symbol);
      break;
    case ptx::Space::Generic:
      break;
    }
  }
  kernel.localBytes = static_cast<uint32_t>(local);
  kernel.staticEnd = static_cast<uint32_t>(shared);
  kernel.dynamicBase = alignUp(shared, 1024);
  for (size_t i = 0; i < function.symbols.size(); ++i)
    if (function.symbols[i].dynamic)
      symbolOffset[i] = kernel.dynamicBase;
}

void Decoder::track(int32_t offset) {
  size_t slot = static_cast<size_t>(offset) / 64;
  if (kernel.trackedAt.size() <= slot)
    kernel.trackedAt.resize(slot + 1);
  if (kernel.trackedAt[slot])
    return;
  kernel.tracked.push_back(offset);
  kernel.trackedAt[slot] = static_cast<uint32_t>(kernel.tracked.size());
}

const Form *Decoder::findForm(const ptx::Instruction &instruction) {
  std::string key(instruction.opcode);
  for (std::string_view m : instruction.modifiers) {
    key += '.';
    key += m;
  }
  auto [entry, fresh] = formCache.try_emplace(std::move(key), nullptr);
  if (fresh) {
    auto forms = formsByOpcode().find(instruction.opcode);
    if (forms != formsByOpcode().end())
      for (const Form *form : forms->second)
        if (matches(form->modifiers, instruction.modifiers, form->hints)) {
          entry->second = form;
          break;
        }
  }
  return entry->second;
}

void Decoder::decode(const ptx::Instruction &instruction) {
  ast = &instruction;
  out = Instr();
  failedNow = readsCondition = writesCondition = false;
  types.clear();
  for (std::string_view m : instruction.modifiers)
    if (Type t = ptx::parseType(m); t != Type::None)
      types.push_back(t);
  if (const Form *form = findForm(instruction)) {
    form->build(*this, form->variant);
  } else {
    std::string name(instruction.opcode);
    for (std::string_view m : instruction.modifiers)
      name += "." + std::string(m);
    fail("instruction '" + name + "' is not modelled");
  }
  if (instruction.guard >= 0) {
    if (function.registers[instruction.guard].type != Type::Pred)
      fail("the guard is no predicate register");
    out.guard = registerOffset[instruction.guard];
    out.flags |= kGuarded | (instruction.guardNegated ? kGuardNegated : 0);
  }
  if (!failedNow)
    describeRegisters(instruction);
  kernel.code.push_back(out);
  InstrInfo info;
  info.line = instruction.line;
  info.location = instruction.location;
  info.text = std::string(instruction.text);
  kernel.info.push_back(std::move(info));
}

void Decoder::collectTracked() {
  if (kernel.tracked.empty())
    return;
  // Registers that plain moves connect to a tracked one hold the same value in other names: track
  // them too.
  bool changed = true;
  auto isTracked = [&](int32_t offset) {
    size_t slot = static_cast<size_t>(offset) / 64;
    return offset >= 0 && slot < kernel.trackedAt.size() && kernel.trackedAt[slot];
  };
  while (changed) {
    changed = false;
    for (const Instr &instr : kernel.code)
      if ((instr.flags & kPlainMove) && instr.s[0] >= 0 && instr.width == 4) {
        bool from = isTracked(instr.s[0]), to = isTracked(instr.d[0]);
        if (from == to)
          continue;
        track(from ? instr.d[0] : instr.s[0]);
        changed = true;
      }
  }
  for (size_t pc = 0; pc < kernel.code.size(); ++pc) {
    Instr &instr = kernel.code[pc];
    if (instr.flags & kSelfChecked)
      continue;
    InstrInfo &info = kernel.info[pc];
    auto note = [&](int32_t offset, std::vector<uint32_t> &into) {
      if (isTracked(offset))
        into.push_back(kernel.trackedAt[static_cast<size_t>(offset) / 64] - 1);
    };
    for (Src s : instr.s)
      note(s, info.trackedReads);
    for (int32_t d : instr.d)
      note(d, info.trackedWrites);
    // Vector operands: loads write theirs, everything else reads them.
    for (uint32_t i = 0; i < instr.listCount; ++i)
      note(kernel.lists[instr.list + i], instr.sub & 0x80 ? info.trackedWrites : info.trackedReads);
    if (!info.trackedReads.empty() || !info.trackedWrites.empty())
      instr.flags |= kTracked;
  }
}

void Decoder::run() {
  FunctionAttributes &attributes = kernel.attributes;
  attributes.name = std::string(function.name);
  for (uint32_t i = 0; i < function.paramCount; ++i) {
    const ptx::Symbol &symbol = function.symbols[i];
    attributes.params.push_back({std::string(symbol.name), static_cast<uint32_t>(symbol.offset),
                                 static_cast<uint32_t>(symbol.bytes), symbol.alignment});
  }
  attributes.paramBytes = function.paramBytes;
  attributes.maxRegisters = function.maxRegisters;
  attributes.requiredBlock = function.requiredThreads;
  attributes.requiredCluster = function.requiredCluster;
  if (function.requiredThreads)
    attributes.maxThreadsPerBlock = static_cast<uint32_t>(function.requiredThreads->count());
  else if (function.maxThreads)
    attributes.maxThreadsPerBlock = static_cast<uint32_t>(function.maxThreads->count());
  layoutRegisters();
  layoutSymbols();
  attributes.sharedBytes = kernel.staticEnd - kSharedStart;
  attributes.localBytes = kernel.localBytes;
  kernel.code.reserve(function.body.size() + 1);
  for (const ptx::Instruction &instruction : function.body)
    decode(instruction);
  if (kernel.registerBytes >= (1u << 30))
    errors.push_back({function.line, "the function has too many registers"});
  // Falling off the end is a return.
  static ptx::Instruction end = [] {
    ptx::Instruction i;
    i.opcode = "ret";
    i.text = "(end of the function)";
    return i;
  }();
  decode(end);
  if (!function.body.empty())
    kernel.info.back().line = function.body.back().line;
  collectTracked();
  kernel.reconverge = reconvergencePoints(kernel);
}

} // namespace girih::emu
