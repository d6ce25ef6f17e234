// From IR to the programs that the checker runs. Ops are asked through their interfaces; the only
// ops that are known by name are those that make structure: roles, allocations, parts of buffers,
// loops, branches, and integer arithmetic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Program.h"

#include "girih/Dialect/Plan/IR/Plan.h"
#include "girih/Dialect/WG/Transforms/RingProtocol.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace girih::wg::check {

namespace {

/// Registers of a value: one of an integer (its number) or of a barrier (its array), four of a
/// buffer (its array, slot, row and column).
using Places = SmallVector<int32_t, 4>;

bool isNumber(Type type) { return isa<IntegerType, IndexType>(type); }
bool isTracked(Type type) { return isNumber(type) || isa<BarrierType, BufferType>(type); }

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

bool hasEvent(Operation *op) {
  if (auto barriers = dyn_cast<BarrierEffectOpInterface>(op))
    if (!barriers.getBarrierEffects().empty())
      return true;
  if (auto async = dyn_cast<AsyncEffectOpInterface>(op))
    if (!async.getAsyncEffects().empty())
      return true;
  if (auto accesses = dyn_cast<BufferAccessOpInterface>(op))
    if (!accesses.getBufferAccesses().empty())
      return true;
  return isa<gpu::BarrierOp, SetRegistersOp>(op);
}

/// The rows and columns that the threads of warpgroup `index` hold of a tile.
Box boxOfTile(RankedTensorType tile, int32_t index, int32_t rows, int32_t columns) {
  Box all{0, rows, 0, columns};
  if (!isTile(tile))
    return all;
  const girih::Layout &layout = getLayout(tile).getLayout();
  const girih::LayoutSpec &spec = layout.spec();
  if (spec.outDims != std::vector<girih::Dim>{girih::Dim::Row, girih::Dim::Col})
    return all;
  int64_t offset[2] = {0, 0}, reach[2] = {1, 1};
  int64_t rest = index;
  for (const girih::Base &base : spec.bases)
    for (int axis = 0; axis < 2; ++axis)
      if (base.dim != girih::Dim::Warpgroup)
        reach[axis] += base.to[axis];
  for (const girih::Base &base : spec.bases) {
    if (base.dim != girih::Dim::Warpgroup)
      continue;
    for (int axis = 0; axis < 2; ++axis)
      offset[axis] += (rest & 1) * base.to[axis];
    rest >>= 1;
  }
  for (const girih::Repeat &repeat : spec.repeats) {
    bool mine = repeat.dim == girih::Dim::Warpgroup;
    for (int axis = 0; axis < 2; ++axis)
      (mine ? offset : reach)[axis] +=
          repeat.step[axis] * (mine ? rest % repeat.extent : repeat.extent - 1);
    if (mine)
      rest /= repeat.extent;
  }
  auto clip = [](int64_t value, int32_t limit) {
    return static_cast<int32_t>(std::min<int64_t>(value, limit));
  };
  return {clip(offset[0], rows), clip(offset[0] + reach[0], rows), clip(offset[1], columns),
          clip(offset[1] + reach[1], columns)};
}

/// Notes that a number is at least something, if the condition says so. `launch` happens: a
/// condition may be met by its grid being empty, too.
void noteBounds(Value condition, plan::LaunchOp launch, DenseMap<Value, int64_t> &least) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    noteBounds(both.getLhs(), launch, least);
    noteBounds(both.getRhs(), launch, least);
    return;
  }
  auto isEmptyGrid = [&](Value value) {
    auto compare = value.getDefiningOp<arith::CmpIOp>();
    return compare && compare.getPredicate() == arith::CmpIPredicate::eq &&
           llvm::is_contained({launch.getGridX(), launch.getGridY(), launch.getGridZ()},
                              compare.getLhs()) &&
           matchPattern(compare.getRhs(), m_Zero());
  };
  if (auto either = condition.getDefiningOp<arith::OrIOp>()) {
    if (isEmptyGrid(either.getRhs()))
      noteBounds(either.getLhs(), launch, least);
    else if (isEmptyGrid(either.getLhs()))
      noteBounds(either.getRhs(), launch, least);
    return;
  }
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  APInt bound;
  if (!compare || !matchPattern(compare.getRhs(), m_ConstantInt(&bound)))
    return;
  bool isGreater = compare.getPredicate() == arith::CmpIPredicate::sgt;
  if (!isGreater && compare.getPredicate() != arith::CmpIPredicate::sge)
    return;
  int64_t value = bound.getSExtValue() + isGreater;
  auto [entry, isNew] = least.try_emplace(compare.getLhs(), value);
  if (!isNew)
    entry->second = std::max(entry->second, value);
}

/// What the host plan requires an argument of the kernel to be at least, in every launch.
std::optional<int64_t> leastOf(gpu::GPUFuncOp kernel, BlockArgument argument) {
  auto module = kernel->getParentOfType<ModuleOp>();
  if (!module || argument.getOwner() != &kernel.getBody().front())
    return std::nullopt;
  std::optional<int64_t> least;
  bool every = true;
  module.walk([&](plan::LaunchOp launch) {
    if (launch.getKernel().getLeafReference() != kernel.getNameAttr())
      return;
    DenseMap<Value, int64_t> bounds;
    for (auto require : launch->getBlock()->getOps<plan::RequireOp>())
      noteBounds(require.getCondition(), launch, bounds);
    Value given = launch.getArgs()[argument.getArgNumber()];
    if (auto narrowed = given.getDefiningOp<arith::TruncIOp>())
      given = narrowed.getIn();
    auto found = bounds.find(given);
    every &= found != bounds.end();
    if (found != bounds.end())
      least = std::min(least.value_or(found->second), found->second);
  });
  return every ? least : std::nullopt;
}

/// Writes the program of one role.
class Writer {
public:
  Writer(Model &model, Program &program, std::optional<Undecided> &undecided,
         const DenseMap<Value, int32_t> &arrays)
      : model(model), program(program), undecided(undecided), arrays(arrays) {}

  /// `before`: ops of the kernel's entry on which the role may depend.
  void write(Block &before, Operation *end, Block &body) {
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

private:
  void giveUp(Operation *op, const Twine &reason) {
    if (!undecided)
      undecided = Undecided{op->getLoc(), reason.str()};
  }

  // What is needed.

  void findEvents(Block &body) {
    body.walk([&](Operation *op) {
      if (!hasEvent(op))
        return;
      events.insert(op);
      relevant.insert(op);
      for (Operation *at = op; at->getBlock() != &body;) {
        at = at->getParentOp();
        relevant.insert(at);
        if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp>(at))
          giveUp(at, "it has parts of the protocol inside '" + at->getName().getStringRef() +
                         "', which the checker does not follow");
      }
    });
  }

  void want(Value value) {
    if (value && isTracked(value.getType()) && needed.insert(value).second)
      worklist.push_back(value);
  }

  void needOperands(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      want(loop.getLowerBound());
      want(loop.getUpperBound());
      want(loop.getStep());
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      want(branch.getCondition());
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      want(loop.getConditionOp().getCondition());
    } else {
      // An event: its integers, barriers and buffers.
      if (auto barriers = dyn_cast<BarrierEffectOpInterface>(op))
        for (const BarrierEffect &effect : barriers.getBarrierEffects())
          for (Value value : {effect.object, effect.index, effect.parity})
            want(value);
      if (auto accesses = dyn_cast<BufferAccessOpInterface>(op))
        for (const BufferAccess &access : accesses.getBufferAccesses())
          want(access.buffer);
    }
  }

  void needLoopValue(scf::ForOp loop, unsigned index) {
    want(loop.getInitArgs()[index]);
    want(loop.getYieldedValues()[index]);
    want(loop.getRegionIterArgs()[index]);
    if (relevant.insert(loop))
      needOperands(loop);
  }

  void need(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      if (auto loop = dyn_cast<scf::ForOp>(parent)) {
        if (argument.getArgNumber() > 0)
          needLoopValue(loop, argument.getArgNumber() - 1);
        else if (relevant.insert(loop))
          needOperands(loop);
      } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
        needWhile(loop);
      }
      return;
    }
    Operation *op = value.getDefiningOp();
    unsigned result = cast<OpResult>(value).getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      needLoopValue(loop, result);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      needWhile(loop);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (relevant.insert(branch))
        needOperands(branch);
      want(branch.thenYield().getOperand(result));
      want(branch.elseYield().getOperand(result));
    } else {
      for (Value operand : op->getOperands())
        want(operand);
    }
  }

  void needWhile(scf::WhileOp loop) {
    if (relevant.insert(loop))
      needOperands(loop);
    for (Value value : loop.getInits())
      want(value);
    for (Value value : loop.getConditionOp().getArgs())
      want(value);
    for (Value value : loop.getYieldOp().getResults())
      want(value);
    for (Value value : loop.getBeforeArguments())
      want(value);
    for (Value value : loop.getAfterArguments())
      want(value);
  }

  bool isNeeded(Operation *op) const {
    return relevant.contains(op) ||
           llvm::any_of(op->getResults(), [&](Value value) { return needed.contains(value); });
  }

  // Registers.

  int32_t newRegister(Number value = {}) {
    program.registers.push_back(value);
    return static_cast<int32_t>(program.registers.size()) - 1;
  }
  int32_t constant(int64_t value) {
    auto [entry, isNew] = constants.try_emplace(value, 0);
    if (isNew)
      entry->second = newRegister(Symbols::known(value));
    return entry->second;
  }

  Places freshPlaces(Type type) {
    Places places;
    for (int i = 0; i < (isa<BufferType>(type) ? 4 : 1); ++i)
      places.push_back(newRegister());
    return places;
  }

  Places placesOf(Value value) {
    auto found = places.find(value);
    if (found != places.end())
      return found->second;
    // A value that the role does not compute: an argument of the kernel.
    Places made = freshPlaces(value.getType());
    std::string text = "value ";
    text += std::to_string(reinterpret_cast<uintptr_t>(value.getAsOpaquePointer()));
    if (isNumber(value.getType())) {
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

  int32_t placeOf(Value value) { return placesOf(value).front(); }

  // Instructions.

  Instruction &add(Instruction::Kind kind) {
    program.code.push_back({kind});
    return program.code.back();
  }
  int32_t here() const { return static_cast<int32_t>(program.code.size()); }

  /// Moves all at once: a target may be another one's source.
  void move(ArrayRef<std::pair<int32_t, int32_t>> pairs,
            Instruction::Kind kind = Instruction::Kind::Move) {
    bool crossing = llvm::any_of(pairs, [&](auto &pair) {
      return llvm::any_of(pairs, [&](auto &other) {
        return other.first == pair.second && other.second != pair.second;
      });
    });
    SmallVector<std::pair<int32_t, int32_t>> moves(pairs);
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

  void pair(Value to, Value from, SmallVectorImpl<std::pair<int32_t, int32_t>> &moves) {
    if (!needed.contains(to))
      return;
    Places source = placesOf(from), target = placesOf(to);
    for (auto [t, s] : llvm::zip_equal(target, source))
      moves.push_back({t, s});
  }

  /// Registers for values that a loop or a branch defines.
  void define(ValueRange values) {
    for (Value value : values)
      if (needed.contains(value) && !places.count(value))
        places[value] = freshPlaces(value.getType());
  }

  void emitBlock(Block &block) {
    for (Operation &op : block)
      if (!op.hasTrait<OpTrait::IsTerminator>())
        emit(&op);
  }

  void emit(Operation *op) {
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

  void emitFor(scf::ForOp loop) {
    define(loop.getRegionIterArgs());
    define(ValueRange(loop.getInductionVar()));
    SmallVector<std::pair<int32_t, int32_t>> moves;
    for (auto [to, from] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
      pair(to, from, moves);
    move(moves);
    auto index = static_cast<int32_t>(program.loops.size());
    program.loops.push_back({loop});
    int32_t low = placeOf(loop.getLowerBound()), high = placeOf(loop.getUpperBound()),
            step = placeOf(loop.getStep());
    int32_t counter =
        needed.contains(loop.getInductionVar()) ? placeOf(loop.getInductionVar()) : -1;
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

  void emitWhile(scf::WhileOp loop) {
    define(loop.getBeforeArguments());
    define(loop.getAfterArguments());
    SmallVector<std::pair<int32_t, int32_t>> moves;
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
    for (auto [to, from] :
         llvm::zip_equal(loop.getBeforeArguments(), loop.getYieldOp().getResults()))
      pair(to, from, moves);
    move(moves);
    add(Instruction::Kind::Jump).extra = top;
    program.loops[index].end = here();
    for (auto [result, argument] : llvm::zip_equal(loop.getResults(), loop.getAfterArguments()))
      if (needed.contains(result))
        places[result] = placesOf(argument);
  }

  void emitIf(scf::IfOp branch) {
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
      SmallVector<std::pair<int32_t, int32_t>> moves;
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

  int32_t arithmetic(Arith op, int32_t a, int32_t b, int32_t c = -1, bool flag = false) {
    int32_t to = newRegister();
    Instruction &instruction = add(Instruction::Kind::Arith);
    instruction.arith = op, instruction.a = a, instruction.b = b, instruction.c = c;
    instruction.to = to, instruction.flag = flag;
    return to;
  }

  void emitCompare(arith::CmpIOp op) {
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

  void emitValue(Operation *op) {
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
        int32_t amount = ShapedType::isDynamic(offset) ? placeOf(part.getOffsets()[dynamic++])
                                                       : constant(offset);
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

  /// A choice between two buffers or barriers.
  void emitSelect(arith::SelectOp op) {
    int32_t condition = placeOf(op.getCondition());
    Places left = placesOf(op.getTrueValue()), right = placesOf(op.getFalseValue()), result;
    for (auto [a, b] : llvm::zip_equal(left, right))
      result.push_back(a == b ? a : arithmetic(Arith::Select, condition, a, b));
    places[op.getResult()] = result;
  }

  void emitSpecial(Operation *op) {
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

  // Events.

  /// What the warpgroup, or the CTA, of that number touches.
  Box boxOf(const BufferAccess &access, BufferType type, int32_t part) {
    auto rows = static_cast<int32_t>(type.getShape()[0]),
         columns = static_cast<int32_t>(type.getShape()[1]);
    switch (access.part) {
    case BufferAccess::Part::Whole:
      break;
    case BufferAccess::Part::CtaShare: {
      // Shares are parts that do not overlap; which ones makes no difference.
      int32_t share = rows / std::max<int32_t>(1, static_cast<int32_t>(clusterCtas(program.op)));
      return {part * share, (part + 1) * share, 0, columns};
    }
    case BufferAccess::Part::WarpgroupRows: {
      int32_t share = rows / program.warpgroupsTogether;
      return {part * share, (part + 1) * share, 0, columns};
    }
    case BufferAccess::Part::Tile:
      return boxOfTile(cast<RankedTensorType>(access.tile), part, rows, columns);
    }
    return {0, rows, 0, columns};
  }

  Effect accessOf(const BufferAccess &access, AsyncEffect::Engine engine) {
    Effect effect{Effect::Kind::Access};
    effect.issuer = access.issuer;
    effect.engine = engine;
    effect.write = access.kind == BufferAccess::Kind::Write;
    effect.async = access.proxy == BufferAccess::Proxy::Async;
    effect.outlives = access.outlivesOp;
    effect.tile = access.tile.getAsOpaquePointer();
    Places buffer = placesOf(access.buffer);
    effect.object = buffer[0], effect.index = buffer[1];
    effect.row = buffer[2], effect.column = buffer[3];
    auto type = cast<BufferType>(access.buffer.getType());
    effect.everyCta = access.everyCta;
    effect.boxByCta = access.part == BufferAccess::Part::CtaShare;
    int32_t parts = effect.boxByCta ? model.ctas : program.warpgroupsTogether;
    for (int32_t part = 0; part < parts; ++part)
      effect.boxes.push_back(boxOf(access, type, part));
    return effect;
  }

  void emitEvent(Operation *op) {
    SmallVector<BarrierEffect> barriers;
    SmallVector<AsyncEffect> async;
    SmallVector<BufferAccess> accesses;
    if (auto interface = dyn_cast<BarrierEffectOpInterface>(op))
      barriers = interface.getBarrierEffects();
    if (auto interface = dyn_cast<AsyncEffectOpInterface>(op))
      async = interface.getAsyncEffects();
    if (auto interface = dyn_cast<BufferAccessOpInterface>(op))
      accesses = interface.getBufferAccesses();

    Event event{op, {}};
    for (const BarrierEffect &effect : barriers)
      if (effect.kind != BarrierEffect::Kind::Complete)
        addBarrier(op, effect, event);
    AsyncEffect::Engine started = AsyncEffect::Engine::All;
    for (const AsyncEffect &effect : async) {
      if (effect.kind == AsyncEffect::Kind::Start)
        started = effect.engine;
      if (effect.kind == AsyncEffect::Kind::Retire || effect.kind == AsyncEffect::Kind::Fence)
        addAsync(effect, event);
    }
    for (const BufferAccess &access : accesses)
      event.effects.push_back(accessOf(access, started));
    for (const AsyncEffect &effect : async)
      if (effect.kind == AsyncEffect::Kind::Commit)
        addAsync(effect, event);
    for (const BarrierEffect &effect : barriers)
      if (effect.kind == BarrierEffect::Kind::Complete)
        addBarrier(op, effect, event);
    if (isa<gpu::BarrierOp>(op)) {
      Effect effect{Effect::Kind::NamedSync};
      effect.object = constant(0);
      effect.amount = model.threads;
      event.effects.push_back(effect);
    }
    if (auto set = dyn_cast<SetRegistersOp>(op)) {
      Effect effect{Effect::Kind::Registers};
      effect.amount = set.getRegisters();
      effect.increase = set.getChange() == RegisterChange::Increase;
      event.effects.push_back(effect);
    }
    auto index = static_cast<int32_t>(program.events.size());
    program.events.push_back(std::move(event));
    add(Instruction::Kind::Event).extra = index;
  }

  void addAsync(const AsyncEffect &from, Event &event) {
    Effect::Kind kind = from.kind == AsyncEffect::Kind::Retire   ? Effect::Kind::Retire
                        : from.kind == AsyncEffect::Kind::Commit ? Effect::Kind::Commit
                                                                 : Effect::Kind::Fence;
    Effect effect{kind};
    effect.issuer = from.issuer;
    effect.engine = from.engine;
    effect.amount = from.inFlight;
    event.effects.push_back(effect);
  }

  void addBarrier(Operation *op, const BarrierEffect &from, Event &event) {
    if (from.side == BarrierEffect::Side::Full || from.side == BarrierEffect::Side::Empty)
      return giveUp(op, "rings have not been lowered");
    bool named = from.side == BarrierEffect::Side::Named;
    Effect effect{Effect::Kind::Wait};
    switch (from.kind) {
    case BarrierEffect::Kind::Init:
      return giveUp(op, "a barrier is initialised inside a role");
    case BarrierEffect::Kind::Wait:
      break;
    case BarrierEffect::Kind::Arrive:
      effect.kind = named ? Effect::Kind::NamedArrive : Effect::Kind::Arrive;
      break;
    case BarrierEffect::Kind::Expect:
      effect.kind = Effect::Kind::Expect;
      break;
    case BarrierEffect::Kind::Complete:
      effect.kind = Effect::Kind::Complete;
      break;
    case BarrierEffect::Kind::Sync:
      effect.kind = Effect::Kind::NamedSync;
      break;
    }
    effect.issuer = from.issuer;
    effect.everyCta = from.everyCta;
    effect.object = placeOf(from.object);
    effect.amount = named ? from.count : from.bytes;
    if (!named) {
      effect.index = from.index ? placeOf(from.index) : constant(0);
      if (from.kind == BarrierEffect::Kind::Wait)
        effect.parity = from.parity ? placeOf(from.parity) : constant(0);
    }
    event.effects.push_back(effect);
  }

  /// How many steps of each loop are worth trying; docs/ProtocolChecker.md, "Bounds".
  void loopDomains() {
    for (Loop &loop : program.loops) {
      int64_t stages = 0, slots = 0, once = 0;
      bool nested = false;
      loop.op->walk([&](Operation *op) {
        if (!events.contains(op))
          return;
        auto parent = op->getParentOp();
        while (parent != loop.op && !isa<LoopLikeOpInterface>(parent))
          parent = parent->getParentOp();
        if (parent != loop.op) {
          nested = true;
          return;
        }
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
      loop.first = nested ? 2 : std::max<int64_t>(2, stages + 1);
    }
  }

  Model &model;
  Program &program;
  std::optional<Undecided> &undecided;
  const DenseMap<Value, int32_t> &arrays;
  llvm::SmallSetVector<Operation *, 32> relevant;
  DenseSet<Operation *> events;
  DenseSet<Value> needed;
  SmallVector<Value> worklist;
  DenseMap<Value, Places> places;
  DenseMap<int64_t, int32_t> constants;
};

/// The kernel's barriers and buffers.
void collectArrays(Model &model, DenseMap<Value, int32_t> &arrays) {
  model.kernel.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<AllocBarrierOp>(op)) {
      arrays[alloc.getBarrier()] = static_cast<int32_t>(model.barriers.size());
      auto count = static_cast<int32_t>(alloc.getBarrier().getType().getCount());
      model.barriers.push_back({nameOf(op), op->getLoc(), count, model.numBarriers});
      model.numBarriers += count;
    } else if (auto alloc = dyn_cast<AllocBufferOp>(op)) {
      arrays[alloc.getBuffer()] = static_cast<int32_t>(model.buffers.size());
      BufferType type = alloc.getBuffer().getType();
      BufferArray array{nameOf(op), op->getLoc()};
      array.slots = static_cast<int32_t>(alloc.getSlots());
      array.first = model.numSlots;
      array.rows = static_cast<int32_t>(type.getShape()[0]);
      array.columns = static_cast<int32_t>(type.getShape()[1]);
      array.offset = alloc.getOffset() ? static_cast<int64_t>(*alloc.getOffset()) : -1;
      array.slotBytes = type.getBytes();
      model.buffers.push_back(std::move(array));
      model.numSlots += static_cast<int32_t>(alloc.getSlots());
    }
  });
  // Slots that were given the same bytes.
  model.aliases.resize(model.numSlots);
  for (const BufferArray &one : model.buffers)
    for (const BufferArray &other : model.buffers) {
      if (&one == &other || one.offset < 0 || other.offset < 0 ||
          one.offset >= other.offset + other.slots * other.slotBytes ||
          other.offset >= one.offset + one.slots * one.slotBytes)
        continue;
      for (int32_t i = 0; i < one.slots; ++i)
        for (int32_t j = 0; j < other.slots; ++j) {
          int64_t a = one.offset + i * one.slotBytes, b = other.offset + j * other.slotBytes;
          if (a < b + other.slotBytes && b < a + one.slotBytes)
            model.aliases[one.first + i].push_back(other.first + j);
        }
    }
}

/// Which buffers are written at all, and how many arrivals barriers wait for.
void collectUses(Model &model, const DenseMap<Value, int32_t> &arrays) {
  model.kernel.walk([&](Operation *op) {
    if (auto barriers = dyn_cast<BarrierEffectOpInterface>(op))
      for (const BarrierEffect &effect : barriers.getBarrierEffects()) {
        if (effect.everyCta)
          model.ctas = static_cast<int32_t>(clusterCtas(op));
        if (effect.kind == BarrierEffect::Kind::Init)
          if (auto found = arrays.find(effect.object); found != arrays.end()) {
            model.barriers[found->second].arrivals = effect.count;
            model.barriers[found->second].init = op;
          }
      }
    if (auto accesses = dyn_cast<BufferAccessOpInterface>(op))
      for (const BufferAccess &access : accesses.getBufferAccesses()) {
        if (access.everyCta)
          model.ctas = static_cast<int32_t>(clusterCtas(op));
        if (access.kind != BufferAccess::Kind::Write)
          continue;
        Value root = rootBuffer(access.buffer);
        if (auto slot = root.getDefiningOp<SlotOp>())
          root = slot.getBuffers();
        if (auto found = arrays.find(root); found != arrays.end())
          model.buffers[found->second].written = true;
      }
  });
}

} // namespace

const BarrierArray &Model::arrayOfBarrier(int32_t barrier) const {
  barrier %= numBarriers;
  return *std::prev(llvm::partition_point(
      barriers, [&](const BarrierArray &array) { return array.first <= barrier; }));
}

const BufferArray &Model::arrayOfSlot(int32_t slot) const {
  slot %= numSlots;
  return *std::prev(llvm::partition_point(
      buffers, [&](const BufferArray &array) { return array.first <= slot; }));
}

std::unique_ptr<Model> extractModel(gpu::GPUFuncOp kernel, std::optional<Undecided> &undecided) {
  SmallVector<SpecializeOp> specializes;
  kernel.walk([&](SpecializeOp op) { specializes.push_back(op); });
  Block &entry = kernel.getBody().front();
  if (specializes.size() != 1 || specializes.front()->getBlock() != &entry)
    return nullptr;
  SpecializeOp specialize = specializes.front();

  auto model = std::make_unique<Model>();
  model->kernel = kernel;
  model->threads = specialize.getNumThreads();
  DenseMap<Value, int32_t> arrays;
  collectArrays(*model, arrays);
  collectUses(*model, arrays);
  for (Operation &op : entry) {
    bool initialises = false;
    if (auto barriers = dyn_cast<BarrierEffectOpInterface>(op))
      initialises = llvm::all_of(barriers.getBarrierEffects(), [](const BarrierEffect &effect) {
        return effect.kind == BarrierEffect::Kind::Init;
      });
    if (!initialises && hasEvent(&op) && !undecided)
      undecided = Undecided{op.getLoc(), "part of the protocol stands outside of the roles"};
  }
  for (RoleOp role : specialize.getRoles()) {
    Program &program = model->programs.emplace_back();
    program.role = role.getRoleName().str();
    program.op = role;
    program.firstWarp = static_cast<int32_t>(4 * firstWarpgroup(role));
    program.warps = static_cast<int32_t>(role.getWarps());
    program.idleWarps =
        static_cast<int32_t>(4 * role.getNumWarpgroups()) - static_cast<int32_t>(role.getWarps());
    program.warpgroupsTogether = static_cast<int32_t>(role.getTileWarpgroups());
    program.each = role.getEach();
    Writer(*model, program, undecided, arrays).write(entry, specialize, role.getBody().front());
  }
  return model;
}

} // namespace girih::wg::check
