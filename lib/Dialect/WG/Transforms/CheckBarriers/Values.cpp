// Integers, and which barrier or part of a buffer a value is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Writer.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace girih::wg::check {

namespace {

bool isNumber(Type type) { return isa<IntegerType, IndexType>(type); }

std::optional<Arith> arithOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Arith>>(op)
      .Case<arith::AddIOp>([](auto) { return Arith::Add; })
      .Case<arith::SubIOp>([](auto) { return Arith::Sub; })
      .Case<arith::MulIOp>([](auto) { return Arith::Mul; })
      .Case<arith::DivSIOp>([](auto) { return Arith::DivS; })
      .Case<arith::DivUIOp>([](auto) { return Arith::DivU; })
      .Case<arith::CeilDivSIOp>([](auto) { return Arith::CeilDivS; })
      .Case<arith::CeilDivUIOp>([](auto) { return Arith::CeilDivU; })
      .Case<arith::FloorDivSIOp>([](auto) { return Arith::FloorDivS; })
      .Case<arith::RemSIOp>([](auto) { return Arith::RemS; })
      .Case<arith::RemUIOp>([](auto) { return Arith::RemU; })
      .Case<arith::MinSIOp>([](auto) { return Arith::MinS; })
      .Case<arith::MinUIOp>([](auto) { return Arith::MinU; })
      .Case<arith::MaxSIOp>([](auto) { return Arith::MaxS; })
      .Case<arith::MaxUIOp>([](auto) { return Arith::MaxU; })
      .Case<arith::AndIOp>([](auto) { return Arith::And; })
      .Case<arith::OrIOp>([](auto) { return Arith::Or; })
      .Case<arith::XOrIOp>([](auto) { return Arith::Xor; })
      .Case<arith::ShLIOp>([](auto) { return Arith::Shl; })
      .Case<arith::ShRUIOp>([](auto) { return Arith::ShrU; })
      .Case<arith::ShRSIOp>([](auto) { return Arith::ShrS; })
      .Case<arith::SelectOp>([](auto) { return Arith::Select; })
      .Default([](Operation *) { return std::nullopt; });
}

bool isIdentity(Operation *op) {
  return isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtUIOp, arith::TruncIOp>(op) ||
         (isa<arith::ExtSIOp>(op) && !op->getOperand(0).getType().isInteger(1));
}

} // namespace

int32_t Writer::arithmetic(Arith op, int32_t a, int32_t b, int32_t c, bool flag) {
  int32_t to = newRegister();
  Instruction &instruction = add(Instruction::Kind::Arith);
  instruction.arith = op, instruction.a = a, instruction.b = b, instruction.c = c;
  instruction.to = to, instruction.flag = flag;
  return to;
}

void Writer::emitCompare(arith::CmpIOp op) {
  int32_t a = placeOf(op.getLhs()), b = placeOf(op.getRhs());
  bool flag = op.getLhs().getType().isInteger(1);
  using P = arith::CmpIPredicate;
  P predicate = op.getPredicate();
  if (predicate == P::sgt || predicate == P::ugt || predicate == P::sle || predicate == P::ule)
    std::swap(a, b);
  bool isEqual = predicate == P::eq || predicate == P::ne;
  bool isUnsigned =
      predicate == P::ult || predicate == P::ule || predicate == P::ugt || predicate == P::uge;
  Arith kind = isEqual      ? (flag ? Arith::Xor : Arith::Equal)
               : isUnsigned ? Arith::LessU
                            : Arith::LessS;
  int32_t result = arithmetic(kind, a, b, -1, flag);
  bool negated = predicate == P::sge || predicate == P::uge || predicate == P::sle ||
                 predicate == P::ule || (predicate == P::ne) != (isEqual && flag);
  if (negated)
    result = arithmetic(Arith::Not, result, constant(0), -1, true);
  places[op.getResult()] = {result};
}

void Writer::emitValue(Operation *op) {
  if (op->getNumResults() == 1 && places.count(op->getResult(0)))
    return;
  if (auto alloc = dyn_cast<AllocBarrierOp>(op)) {
    places[alloc.getBarrier()] = {constant(arrays.lookup(alloc.getBarrier()))};
  } else if (auto alloc = dyn_cast<AllocBufferOp>(op)) {
    places[alloc.getBuffer()] = {constant(arrays.lookup(alloc.getBuffer())), constant(0),
                                 constant(0), constant(0)};
  } else if (auto slot = dyn_cast<SlotOp>(op)) {
    Places from = placesOf(slot.getBuffers());
    from[1] = placeOf(slot.getIndex());
    places[slot.getSlot()] = from;
  } else if (auto part = dyn_cast<SubbufferOp>(op)) {
    Places from = placesOf(part.getSource());
    unsigned dynamic = 0;
    for (auto [axis, offset] : llvm::enumerate(part.getStaticOffsets())) {
      if (axis >= 2 || offset == 0)
        continue;
      int32_t amount =
          ShapedType::isDynamic(offset) ? placeOf(part.getOffsets()[dynamic++]) : constant(offset);
      from[2 + axis] = arithmetic(Arith::Add, from[2 + axis], amount);
    }
    places[part.getPart()] = from;
  } else if (auto number = dyn_cast<arith::ConstantOp>(op)) {
    auto integer = dyn_cast<IntegerAttr>(number.getValue());
    if (!integer)
      return;
    bool flag = number.getType().isInteger(1);
    places[number.getResult()] = {
        constant(flag ? integer.getValue().isOne() : integer.getValue().getSExtValue())};
  } else if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    emitCompare(compare);
  } else if (std::optional<Arith> kind = arithOf(op);
             kind && isNumber(op->getResult(0).getType())) {
    int32_t a = placeOf(op->getOperand(0)), b = placeOf(op->getOperand(1));
    int32_t c = op->getNumOperands() > 2 ? placeOf(op->getOperand(2)) : -1;
    places[op->getResult(0)] = {
        arithmetic(*kind, a, b, c, op->getResult(0).getType().isInteger(1))};
  } else if (isIdentity(op)) {
    places[op->getResult(0)] = placesOf(op->getOperand(0));
  } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
    emitSelect(select);
  } else {
    emitSpecial(op);
  }
}

void Writer::emitSelect(arith::SelectOp op) {
  int32_t condition = placeOf(op.getCondition());
  Places left = placesOf(op.getTrueValue()), right = placesOf(op.getFalseValue()), result;
  for (auto [a, b] : llvm::zip_equal(left, right))
    result.push_back(a == b ? a : arithmetic(Arith::Select, condition, a, b));
  places[op.getResult()] = result;
}

void Writer::emitSpecial(Operation *op) {
  std::optional<Instruction::Kind> kind =
      llvm::TypeSwitch<Operation *, std::optional<Instruction::Kind>>(op)
          .Case<ElectOp>([](auto) { return Instruction::Kind::Elect; })
          .Case<WarpgroupIndexOp>([](auto) { return Instruction::Kind::Warpgroup; })
          .Case<gpu::SubgroupIdOp>([](auto) { return Instruction::Kind::Warp; })
          .Case<gpu::ThreadIdOp>([](gpu::ThreadIdOp id) {
            return id.getDimension() == gpu::Dimension::x ? std::optional(Instruction::Kind::Lane)
                                                          : std::nullopt;
          })
          .Default([](Operation *) { return std::nullopt; });
  if (kind) {
    int32_t to = newRegister();
    add(*kind).to = to;
    places[op->getResult(0)] = {to};
    return;
  }
  // Nothing is known but that equal ops on equal operands agree.
  std::string text = op->getName().getStringRef().str();
  SmallVector<int32_t, 2> operands;
  for (Value operand : op->getOperands()) {
    if (isNumber(operand.getType()))
      operands.push_back(placeOf(operand));
    else
      text += " " + std::to_string(reinterpret_cast<uintptr_t>(operand.getAsOpaquePointer()));
  }
  text += " " + std::to_string(reinterpret_cast<uintptr_t>(
                    op->getDiscardableAttrDictionary().getAsOpaquePointer()));
  if (op->getPropertiesStorage())
    text += " " + std::to_string(reinterpret_cast<uintptr_t>(
                      op->getPropertiesAsAttribute().getAsOpaquePointer()));
  bool changes = !isMemoryEffectFree(op) && !hasSingleEffect<MemoryEffects::Read>(op);
  if (changes)
    text += " of " + std::to_string(reinterpret_cast<uintptr_t>(op));
  for (OpResult result : op->getResults()) {
    if (!needed.contains(result))
      continue;
    if (!isNumber(result.getType())) {
      giveUp(op, "the checker does not know which buffer or barrier '" +
                     op->getName().getStringRef() + "' gives");
      continue;
    }
    int32_t key = model.symbols.keyOf(text + " #" + std::to_string(result.getResultNumber()));
    auto index = static_cast<int32_t>(program.opaque.size());
    program.opaque.push_back({op, key, operands, changes});
    int32_t to = newRegister();
    Instruction &instruction = add(Instruction::Kind::Opaque);
    instruction.to = to, instruction.extra = index;
    places[result] = {to};
  }
}

} // namespace girih::wg::check
