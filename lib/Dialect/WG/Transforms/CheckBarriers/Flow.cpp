// Loops and branches, and the values that they carry.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Writer.h"

#include "girih/Dialect/WG/Transforms/RingProtocol.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace girih::wg::check {

/// Whether a loop's bounds are constants.
static bool hasKnownLength(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  return loop &&
         llvm::all_of(ValueRange{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
                      [](Value bound) { return matchPattern(bound, m_Constant()); });
}

void Writer::write(Block &before, Operation *end, Block &body) {
  findEvents(body);
  for (Operation *op : relevant)
    needOperands(op);
  while (!worklist.empty())
    need(worklist.pop_back_val());
  for (Operation &op : before) {
    if (&op == end)
      break;
    emit(&op);
  }
  emitBlock(body);
  loopDomains();
}

Writer::Places Writer::placesOf(Value value) {
  auto found = places.find(value);
  if (found != places.end())
    return found->second;
  // A value that the role does not compute: an argument of the kernel.
  Places made = freshPlaces(value.getType());
  std::string text = "value ";
  text += std::to_string(reinterpret_cast<uintptr_t>(value.getAsOpaquePointer()));
  if (isa<IntegerType, IndexType>(value.getType())) {
    Number number = model.symbols.opaque(model.symbols.keyOf(text), {});
    if (auto argument = dyn_cast<BlockArgument>(value))
      if (std::optional<int64_t> least = leastOf(model.kernel, argument))
        model.symbols.bound(number, *least);
    program.registers[made[0]] = number;
  } else {
    giveUp(value.getDefiningOp() ? value.getDefiningOp() : program.op,
           "a barrier or a buffer is not one that the kernel allocates");
  }
  places[value] = made;
  return made;
}

void Writer::move(ArrayRef<std::pair<int32_t, int32_t>> pairs, Instruction::Kind kind) {
  bool crossing = llvm::any_of(pairs, [&](auto &pair) {
    return llvm::any_of(pairs, [&](auto &other) {
      return other.first == pair.second && other.second != pair.second;
    });
  });
  Moves moves(pairs);
  if (crossing)
    for (auto &[to, from] : moves) {
      int32_t between = newRegister();
      Instruction &instruction = add(Instruction::Kind::Move);
      instruction.to = between;
      instruction.a = from;
      from = between;
    }
  for (auto [to, from] : moves) {
    if (to == from)
      continue;
    Instruction &instruction = add(kind);
    instruction.to = to;
    instruction.a = from;
  }
}

void Writer::pair(Value to, Value from, Moves &moves) {
  if (!needed.contains(to))
    return;
  Places source = placesOf(from), target = placesOf(to);
  for (auto [t, s] : llvm::zip_equal(target, source))
    moves.push_back({t, s});
}

void Writer::define(ValueRange values) {
  for (Value value : values)
    if (needed.contains(value) && !places.count(value))
      places[value] = freshPlaces(value.getType());
}

void Writer::emitBlock(Block &block) {
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>())
      emit(&op);
}

void Writer::emit(Operation *op) {
  if (!isNeeded(op))
    return;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    emitFor(loop);
  else if (auto loop = dyn_cast<scf::WhileOp>(op))
    emitWhile(loop);
  else if (auto branch = dyn_cast<scf::IfOp>(op))
    emitIf(branch);
  else if (events.contains(op))
    emitEvent(op);
  if (op->getNumRegions() == 0 &&
      llvm::any_of(op->getResults(), [&](Value value) { return needed.contains(value); }))
    emitValue(op);
}

void Writer::emitFor(scf::ForOp loop) {
  define(loop.getRegionIterArgs());
  define(ValueRange(loop.getInductionVar()));
  Moves moves;
  for (auto [to, from] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
    pair(to, from, moves);
  move(moves);
  auto index = static_cast<int32_t>(program.loops.size());
  program.loops.push_back({loop});
  int32_t low = placeOf(loop.getLowerBound()), high = placeOf(loop.getUpperBound()),
          step = placeOf(loop.getStep());
  int32_t counter = needed.contains(loop.getInductionVar()) ? placeOf(loop.getInductionVar()) : -1;
  Instruction &begin = add(Instruction::Kind::LoopBegin);
  begin.a = low, begin.b = high, begin.c = step, begin.to = counter, begin.extra = index;
  program.loops[index].begin = here();
  emitBlock(*loop.getBody());
  moves.clear();
  for (auto [to, from] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues()))
    pair(to, from, moves);
  move(moves);
  Instruction &end = add(Instruction::Kind::LoopEnd);
  end.c = step, end.to = counter, end.extra = index;
  program.loops[index].end = here();
  for (auto [result, argument] : llvm::zip_equal(loop.getResults(), loop.getRegionIterArgs()))
    if (needed.contains(result))
      places[result] = placesOf(argument);
}

void Writer::emitWhile(scf::WhileOp loop) {
  define(loop.getBeforeArguments());
  define(loop.getAfterArguments());
  Moves moves;
  for (auto [to, from] : llvm::zip_equal(loop.getBeforeArguments(), loop.getInits()))
    pair(to, from, moves);
  move(moves);
  int32_t top = here();
  emitBlock(*loop.getBeforeBody());
  scf::ConditionOp condition = loop.getConditionOp();
  moves.clear();
  for (auto [to, from] : llvm::zip_equal(loop.getAfterArguments(), condition.getArgs()))
    pair(to, from, moves);
  move(moves);
  auto index = static_cast<int32_t>(program.loops.size());
  program.loops.push_back({loop});
  int32_t flag = placeOf(condition.getCondition());
  Instruction &test = add(Instruction::Kind::While);
  test.a = flag, test.extra = index;
  emitBlock(*loop.getAfterBody());
  moves.clear();
  for (auto [to, from] : llvm::zip_equal(loop.getBeforeArguments(), loop.getYieldOp().getResults()))
    pair(to, from, moves);
  move(moves);
  add(Instruction::Kind::Jump).extra = top;
  program.loops[index].end = here();
  for (auto [result, argument] : llvm::zip_equal(loop.getResults(), loop.getAfterArguments()))
    if (needed.contains(result))
      places[result] = placesOf(argument);
}

void Writer::emitIf(scf::IfOp branch) {
  define(branch.getResults());
  int32_t condition = placeOf(branch.getCondition());
  auto index = static_cast<int32_t>(program.branches.size());
  program.branches.push_back({branch});
  Instruction &start = add(Instruction::Kind::If);
  start.a = condition, start.extra = index;
  auto arm = [&](Block *block) {
    if (!block)
      return;
    emitBlock(*block);
    Moves moves;
    for (auto [to, from] :
         llvm::zip_equal(branch.getResults(), block->getTerminator()->getOperands()))
      pair(to, from, moves);
    move(moves, Instruction::Kind::Merge);
  };
  arm(branch.thenBlock());
  program.branches[index].other = here();
  add(Instruction::Kind::Else).extra = index;
  arm(branch.elseBlock());
  program.branches[index].end = here();
  add(Instruction::Kind::EndIf).extra = index;
}

void Writer::loopDomains() {
  for (Loop &loop : program.loops) {
    int64_t stages = 0, slots = 0, once = 0;
    loop.op->walk([&](Operation *op) {
      if (!events.contains(op))
        return;
      // Loops of a known length belong to the step around them.
      Operation *parent = op->getParentOp();
      while (parent != loop.op && (!isa<LoopLikeOpInterface>(parent) || hasKnownLength(parent)))
        parent = parent->getParentOp();
      if (parent != loop.op)
        return;
      if (auto barriers = dyn_cast<BarrierEffectOpInterface>(op))
        for (const BarrierEffect &effect : barriers.getBarrierEffects())
          if (auto type = dyn_cast<BarrierType>(effect.object.getType()))
            stages = std::max(stages, type.getCount());
      // Buffers that are used again by turns, without mbarriers.
      if (auto accesses = dyn_cast<BufferAccessOpInterface>(op))
        for (const BufferAccess &access : accesses.getBufferAccesses())
          if (auto slot = rootBuffer(access.buffer).getDefiningOp<SlotOp>())
            if (auto alloc = slot.getBuffers().getDefiningOp<AllocBufferOp>()) {
              slots = std::max(slots, alloc.getSlots());
              once += access.kind == BufferAccess::Kind::Write;
            }
    });
    loop.largest =
        std::max<int64_t>({3, stages ? 2 * stages + 2 : 0, once ? (2 * slots + once) / once : 0});
    loop.first = std::max<int64_t>(2, stages ? stages + 1 : 0);
  }
}

} // namespace girih::wg::check
