// Which registers an instruction reads and writes, from its operands, and how undefined values pass
// through it. Said here for all families together: a form that nobody thought of here still marks
// what it writes as written.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Program/Decoder.h"

#include <algorithm>

namespace girih::emu {

using ptx::Operand;
using ptx::OperandKind;
using ptx::Type;

namespace {

/// Opcodes whose first operand may be a register that they read.
bool readsFirstOperand(const ptx::Instruction &instruction, std::string_view opcode) {
  if (opcode == "bar" || opcode == "barrier")
    return std::find(instruction.modifiers.begin(), instruction.modifiers.end(), "red") ==
           instruction.modifiers.end();
  return opcode == "nanosleep" || opcode == "brx" || opcode == "cp" || opcode == "stackrestore" ||
         opcode == "tensormap" || opcode == "pmevent";
}

/// Results that come from memory, other lanes or an asynchronous unit: the instruction looks after
/// them.
bool looksAfterItself(std::string_view opcode) {
  return opcode == "ld" || opcode == "ldu" || opcode == "st" || opcode == "ldmatrix" ||
         opcode == "shfl" || opcode == "wgmma" || opcode == "call";
}

/// Opcodes with a result whose other operands reach memory or a barrier all the same.
bool actsOnMemory(std::string_view opcode) {
  return opcode == "atom" || opcode == "mbarrier" || opcode == "bar" || opcode == "barrier";
}

Define ruleOf(const ptx::Instruction &instruction, const Decoder &d) {
  std::string_view op = instruction.opcode;
  auto isVector = [&](size_t i) { return d.operand(i).kind == OperandKind::Vector; };
  if (op == "mov")
    return isVector(0) ? Define::Unpack : isVector(1) ? Define::Pack : Define::Bits;
  if (op == "and")
    return Define::And;
  if (op == "or")
    return Define::Or;
  if (op == "xor" || op == "not" || op == "cvta")
    return Define::Bits;
  if (op == "lop3" && !d.has("or") && !d.has("and"))
    return Define::Bits;
  if (op == "bfe")
    return Define::Extract;
  if (op == "bfi")
    return Define::Insert;
  if (op == "prmt" && d.ast->modifiers.size() == 1)
    return Define::Permute;
  if (op == "selp")
    return Define::Select;
  if (op == "shl")
    return Define::ShiftLeft;
  if (op == "shr")
    return Define::ShiftRight;
  if (op == "cvt" && !ptx::isFloat(d.type(0)) && !ptx::isFloat(d.type(1)) && !d.has("sat") &&
      !d.has("pack"))
    return Define::Extend;
  if (op == "wmma" && d.has("load"))
    return Define::Self;
  if (op == "vote" || op == "match" || op == "redux" || op == "mma" || op == "wmma")
    return Define::Warp;
  return looksAfterItself(op) ? Define::Self : Define::Any;
}

} // namespace

void Decoder::describeRegisters(const ptx::Instruction &instruction) {
  std::string_view op = instruction.opcode;
  out.define = ruleOf(instruction, *this);
  if (op == "shr" || op == "bfe")
    out.sign = ptx::isSigned(type());
  else if (out.define == Define::Extend)
    out.sign = ptx::isSigned(type(1));
  std::vector<RegisterUse> reads, writes;
  auto add = [&](std::vector<RegisterUse> &to, uint32_t index, Role role) {
    if (index < registerOffset.size())
      to.push_back({slotOf(registerOffset[index]), role});
  };
  auto visit = [&](auto &&self, const Operand &operand, bool isWrite, Role role) -> void {
    switch (operand.kind) {
    case OperandKind::Register:
      isWrite ? add(writes, operand.index, Role::Write) : add(reads, operand.index, role);
      break;
    case OperandKind::Address:
      if (operand.inner == 0)
        add(reads, operand.index, Role::Address);
      break;
    case OperandKind::Tensor:
      for (const Operand &e : operand.elements)
        self(self, e, false, Role::Address);
      break;
    case OperandKind::Vector:
    case OperandKind::Pair:
      for (const Operand &e : operand.elements)
        self(self, e, isWrite, role);
      break;
    default:
      break;
    }
  };
  const bool firstIsResult = !instruction.operands.empty() && !readsFirstOperand(instruction, op) &&
                             instruction.operands[0].kind != OperandKind::Address;
  const bool isMatrix = op == "mma" || op == "wmma";
  // What has no result in a register acts on memory, barriers or asynchronous units.
  // A store's value travels into memory; the store looks after it. An atomic's result is what was
  // there.
  const Role role = isMatrix                                             ? Role::Matrix
                    : op == "st" || (firstIsResult && !actsOnMemory(op)) ? Role::Value
                                                                         : Role::Operand;
  if (op != "wgmma" && op != "call")
    for (size_t i = 0; i < instruction.operands.size(); ++i)
      visit(visit, instruction.operands[i], i == 0 && firstIsResult, role);
  if (readsCondition)
    reads.push_back({slotOf(conditionOffset), Role::Value});
  if (writesCondition)
    writes.push_back({slotOf(conditionOffset), Role::Write});
  if (instruction.guard >= 0)
    add(reads, static_cast<uint32_t>(instruction.guard),
        firstIsResult && op != "bra" && out.define != Define::Self ? Role::Guard : Role::Branch);
  out.uses = static_cast<uint32_t>(kernel.uses.size());
  out.readCount = static_cast<uint16_t>(reads.size());
  out.writeCount = static_cast<uint16_t>(writes.size());
  kernel.uses.insert(kernel.uses.end(), reads.begin(), reads.end());
  kernel.uses.insert(kernel.uses.end(), writes.begin(), writes.end());
  if (reads.size() <= std::size(out.readSlots) && writes.size() <= std::size(out.writeSlots)) {
    for (size_t i = 0; i < reads.size(); ++i)
      out.readSlots[i] = reads[i].slot;
    if (out.define != Define::Self)
      for (size_t i = 0; i < writes.size(); ++i)
        out.writeSlots[i] = writes[i].slot;
  } else if (out.define != Define::Self || out.readCount > std::size(out.readSlots)) {
    out.flags |= kManyRegisters;
  }
}

} // namespace girih::emu
