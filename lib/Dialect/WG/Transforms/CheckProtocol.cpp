// wg-check-protocol: a role's ops are run on paper. Cursors become numbers (how many slots from
// the start), loops run a few steps, and what is in flight is kept in a list; an op that would
// race with something in that list is reported.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/Tile/IR/Tile.h"
#include "girih/Dialect/WG/Transforms/Passes.h"
#include "girih/Dialect/WG/Transforms/RingProtocol.h"
#include "girih/Dialect/WG/Transforms/Transforms.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_CHECKPROTOCOL
#include "girih/Dialect/WG/Transforms/Passes.h.inc"

namespace {

/// A slot that a role has met: the ring and the number of steps from the ring's start.
using Slot = std::pair<Value, int64_t>;

/// One wgmma group that may still run, and the slots that it reads.
struct Group {
  MmaOp mma;
  SmallVector<Slot> reads;
};

/// What is going on at a point of a role.
struct State {
  SmallVector<Group> inFlight; ///< the oldest first
  llvm::MapVector<Slot, Operation *> freed;
  /// Slots of store rings, as the values that store_acquire gave, whose TMA store has been issued.
  DenseMap<Value, Operation *> stored;
  /// Last steps that were acquired of each store ring.
  DenseMap<Value, SmallVector<int64_t>> acquired;
  /// Cursors' steps and constants, as far as they are known.
  DenseMap<Value, int64_t> numbers;
  /// The slot of a buffer that wg.get, or a drain, has given.
  DenseMap<Value, Slot> slots;
};

/// Steps that a loop runs on paper: enough for a slot to be freed `lag` steps after its use, for
/// small lags, and to be met again.
constexpr int64_t kSteps = 3;

class Checker {
public:
  LogicalResult run(RoleOp role) {
    State state;
    runBlock(role.getBody().front(), state);
    return failure(reported);
  }

private:
  void runBlock(Block &block, State &state) {
    for (Operation &op : block.without_terminator()) {
      runOp(&op, state);
      if (reported)
        return;
    }
  }

  std::optional<int64_t> number(Value value, State &state) {
    if (auto constant = value.getDefiningOp<arith::ConstantOp>())
      if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
        return integer.getValue().getSExtValue();
    auto found = state.numbers.find(value);
    return found == state.numbers.end() ? std::nullopt : std::optional<int64_t>(found->second);
  }
  /// Hands what is known of each value to its target, all at once: a target may be another one's
  /// value.
  void pass(ValueRange values, ValueRange targets, State &state) {
    SmallVector<std::pair<std::optional<int64_t>, std::optional<Slot>>> known;
    for (Value value : values) {
      auto slot = state.slots.find(value);
      known.push_back({number(value, state),
                       slot == state.slots.end() ? std::nullopt : std::optional(slot->second)});
    }
    for (auto [target, what] : llvm::zip_equal(targets, known)) {
      state.numbers.erase(target);
      state.slots.erase(target);
      if (what.first)
        state.numbers[target] = *what.first;
      if (what.second)
        state.slots[target] = *what.second;
    }
  }

  /// A slot as a ring's step, if the cursor's is known.
  std::optional<Slot> slotAt(Value ring, Value cursor, State &state) {
    if (std::optional<int64_t> step = number(cursor, state))
      return Slot(ring, *step);
    return std::nullopt;
  }

  static std::string ringName(Value ring) {
    Operation *op = ring.getDefiningOp();
    if (!op)
      return "a ring";
    if (auto name = op->getAttrOfType<StringAttr>("name"))
      return "%" + name.str();
    return "the ring at " + placeOf(op->getLoc());
  }

  void report(InFlightDiagnostic error) {
    reported = true;
    error.report();
  }

  void freeSlot(Operation *op, const Slot &slot, int64_t lag, State &state) {
    for (const Group &group : state.inFlight) {
      if (!llvm::is_contained(group.reads, slot))
        continue;
      InFlightDiagnostic error =
          op->emitError("slot of ")
          << ringName(slot.first) << " freed while the wgmma at " << placeOf(group.mma->getLoc())
          << " may still read it; expected wg.wait in_flight(0) before, or lag=" << lag + 1;
      error.attachNote(group.mma->getLoc())
          << "the wgmma starts here, and nothing has waited for it";
      return report(std::move(error));
    }
    auto [known, isNew] = state.freed.insert({slot, op});
    if (isNew)
      return;
    InFlightDiagnostic error = op->emitError("slot of ")
                               << ringName(slot.first)
                               << " freed a second time; expected one wg.free for each wg.get";
    error.attachNote(known->second->getLoc()) << "it was freed here";
    report(std::move(error));
  }

  void startProduct(MmaOp mma, State &state) {
    Group group{mma, {}};
    for (const BufferAccess &access : mma.getBufferAccesses()) {
      auto found = state.slots.find(rootBuffer(access.buffer));
      if (found == state.slots.end())
        continue;
      group.reads.push_back(found->second);
      auto freed = state.freed.find(found->second);
      if (freed == state.freed.end())
        continue;
      InFlightDiagnostic error = mma.emitError("wgmma reads a slot of ")
                                 << ringName(found->second.first)
                                 << " that has been freed; expected wg.free after the last use";
      error.attachNote(freed->second->getLoc()) << "it was freed here";
      return report(std::move(error));
    }
    state.inFlight.push_back(std::move(group));
  }

  /// ptxas keeps a real call, and the registers that a call may use are those of a wgmma in flight.
  void callFunction(tile::DeviceCallOp call, State &state) {
    if (state.inFlight.empty())
      return;
    InFlightDiagnostic error =
        call.emitError("a CUDA C++ function is called while a wgmma is in flight; expected wg.wait "
                       "in_flight(0) before the call, or the call outside of the main loop");
    error.attachNote(state.inFlight.back().mma->getLoc())
        << "the wgmma starts here, and nothing has waited for it";
    report(std::move(error));
  }

  void waitFor(int64_t inFlight, State &state) {
    if (static_cast<int64_t>(state.inFlight.size()) > inFlight)
      state.inFlight.erase(state.inFlight.begin(), state.inFlight.end() - inFlight);
  }

  void acquireStore(StoreAcquireOp op, State &state) {
    state.stored.erase(op.getSlot());
    std::optional<int64_t> step = number(op.getCursor(), state);
    auto ring = op.getRing().getDefiningOp<StoreRingOp>();
    if (!step || !ring)
      return;
    SmallVector<int64_t> &last = state.acquired[op.getRing()];
    if (!last.empty() && last.back() == *step && ring.getStages() > 1)
      return report(
          op.emitError("slot of ")
          << ringName(op.getRing())
          << " acquired twice without wg.advance, while its TMA store may still read it; expected "
             "wg.advance after wg.store_commit");
    last.push_back(*step);
  }

  void writeBuffer(LocalStoreOp op, State &state) {
    auto found = state.stored.find(rootBuffer(op.getBuffer()));
    if (found == state.stored.end())
      return;
    InFlightDiagnostic error = op.emitError("writes a slot whose TMA store may still read it; "
                                            "expected wg.store_acquire of the next slot "
                                            "before");
    error.attachNote(found->second->getLoc()) << "the store starts here";
    report(std::move(error));
  }

  void runDrain(DrainOp drain, State &state) {
    int64_t lag = drain.getLag(), groups = 0;
    drain.getBody().walk([&](MmaOp) { ++groups; });
    std::optional<int64_t> start = number(drain.getCursor(), state);
    std::optional<int64_t> count = number(drain.getCount(), state);
    int64_t steps = std::min(count.value_or(kSteps + lag), kSteps + lag);
    YieldOp yield = cast<YieldOp>(drain.getBody().front().getTerminator());
    bool waits =
        llvm::any_of(yield.getValues(), [](Value v) { return isa<PendingType>(v.getType()); });

    pass(drain.getInits(), drain.getIterArgs(), state);
    for (int64_t k = 0; k < steps; ++k) {
      state.numbers[drain.getStep()] = k;
      for (BlockArgument buffer : drain.getSlot())
        if (start)
          state.slots[buffer] = Slot(drain.getRing(), *start + k);
        else
          state.slots.erase(buffer);
      runBlock(drain.getBody().front(), state);
      if (reported)
        return;
      pass(yield.getValues(), drain.getIterArgs(), state);
      if (waits)
        waitFor(lag * groups, state);
      if (start && k >= lag)
        freeSlot(drain, Slot(drain.getRing(), *start + k - lag), lag, state);
      if (reported)
        return;
    }
    if (waits)
      waitFor(0, state);
    for (int64_t k = std::max<int64_t>(0, steps - lag); start && k < steps && !reported; ++k)
      freeSlot(drain, Slot(drain.getRing(), *start + k), lag, state);
    if (start)
      state.numbers[drain.getNext()] = *start + steps;
    pass(drain.getIterArgs(), drain.getResults(), state);
  }

  void runLoop(scf::ForOp loop, State &state) {
    std::optional<int64_t> low = number(loop.getLowerBound(), state),
                           high = number(loop.getUpperBound(), state),
                           by = number(loop.getStep(), state);
    int64_t steps = kSteps;
    if (low && high && by && *by > 0)
      steps = std::min(steps, std::max<int64_t>(0, (*high - *low + *by - 1) / *by));
    pass(loop.getInitArgs(), loop.getRegionIterArgs(), state);
    for (int64_t k = 0; k < steps; ++k) {
      if (low && by)
        state.numbers[loop.getInductionVar()] = *low + k * *by;
      else
        state.numbers.erase(loop.getInductionVar());
      runBlock(*loop.getBody(), state);
      if (reported)
        return;
      pass(loop.getYieldedValues(), loop.getRegionIterArgs(), state);
    }
    pass(loop.getRegionIterArgs(), loop.getResults(), state);
  }

  void runBranch(scf::IfOp branch, State &state) {
    std::optional<int64_t> condition = number(branch.getCondition(), state);
    auto take = [&](Block *block, State &inside) {
      if (!block)
        return;
      runBlock(*block, inside);
      pass(block->getTerminator()->getOperands(), branch.getResults(), inside);
    };
    if (condition)
      return take(*condition ? branch.thenBlock() : branch.elseBlock(), state);
    // Unknown: what either side leaves in flight may be in flight.
    State other = state;
    take(branch.thenBlock(), state);
    if (reported)
      return;
    take(branch.elseBlock(), other);
    if (other.inFlight.size() > state.inFlight.size())
      state.inFlight = other.inFlight;
  }

  /// Follows i32 and i1 arithmetic on known numbers: conditions such as k >= 1.
  void runArithmetic(Operation *op, State &state) {
    if (op->getNumResults() != 1)
      return;
    Value result = op->getResult(0);
    state.numbers.erase(result);
    SmallVector<int64_t> operands;
    for (Value operand : op->getOperands()) {
      std::optional<int64_t> known = number(operand, state);
      if (!known)
        return;
      operands.push_back(*known);
    }
    if (isa<arith::AddIOp>(op))
      state.numbers[result] = operands[0] + operands[1];
    else if (isa<arith::SubIOp>(op))
      state.numbers[result] = operands[0] - operands[1];
    else if (auto compare = dyn_cast<arith::CmpIOp>(op))
      state.numbers[result] = arith::applyCmpPredicate(
          compare.getPredicate(), APInt(64, operands[0], true), APInt(64, operands[1], true));
  }

  void runOp(Operation *op, State &state) {
    if (auto cursor = dyn_cast<CursorOp>(op)) {
      state.numbers[cursor.getCursor()] = 0;
    } else if (auto advance = dyn_cast<AdvanceOp>(op)) {
      state.numbers.erase(advance.getNext());
      std::optional<int64_t> step = number(advance.getCursor(), state);
      std::optional<int64_t> by = advance.getBy() ? number(advance.getBy(), state) : 1;
      if (step && by)
        state.numbers[advance.getNext()] = *step + *by;
    } else if (auto get = dyn_cast<GetOp>(op)) {
      std::optional<Slot> slot = slotAt(get.getRing(), get.getCursor(), state);
      for (Value buffer : get.getSlot())
        if (slot)
          state.slots[buffer] = *slot;
        else
          state.slots.erase(buffer);
    } else if (auto free = dyn_cast<FreeOp>(op)) {
      if (std::optional<Slot> slot = slotAt(free.getRing(), free.getCursor(), state))
        freeSlot(free, *slot, 0, state);
    } else if (auto mma = dyn_cast<MmaOp>(op)) {
      startProduct(mma, state);
    } else if (auto call = dyn_cast<tile::DeviceCallOp>(op)) {
      callFunction(call, state);
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      waitFor(wait.getInFlight(), state);
    } else if (auto acquire = dyn_cast<StoreAcquireOp>(op)) {
      acquireStore(acquire, state);
    } else if (auto store = dyn_cast<TmaStoreOp>(op)) {
      state.stored[rootBuffer(store.getBuffer())] = store;
    } else if (auto store = dyn_cast<LocalStoreOp>(op)) {
      writeBuffer(store, state);
    } else if (auto drain = dyn_cast<DrainOp>(op)) {
      runDrain(drain, state);
    } else if (auto fill = dyn_cast<FillOp>(op)) {
      runBlock(fill.getBody().front(), state);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      runLoop(loop, state);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      runBranch(branch, state);
    } else {
      runArithmetic(op, state);
    }
  }

  bool reported = false;
};

/// A ring that only one side uses hangs: the other waits for a phase that nobody completes.
LogicalResult checkEnds(RingOp ring) {
  RingProtocol protocol = ringProtocol(ring);
  auto name = [&] { return ring.getName() ? ("%" + *ring.getName()).str() : std::string(); };
  auto refuse = [&](Operation *user, StringRef does, StringRef missing, StringRef expected) {
    InFlightDiagnostic error = user->emitError("ring ")
                               << name() << (name().empty() ? "" : " ") << does << ", but no role "
                               << missing << ": the kernel would wait for ever; expected "
                               << expected;
    error.attachNote(ring.getLoc()) << "the ring is declared here";
    return error;
  };
  SmallVector<Operation *> users(ring.getRing().getUsers());
  for (Operation *user : llvm::reverse(users)) {
    if (isa<DrainOp, GetOp>(user) && protocol.producers.empty())
      return refuse(user, "is drained here", "fills it", "a wg.fill in another role");
    if (isa<FillOp, AcquireOp>(user) && protocol.consumers.empty())
      return refuse(user, "is filled here", "drains it",
                    "a wg.drain, or wg.get and wg.free, in another role");
  }
  return success();
}

} // namespace

LogicalResult checkProtocol(gpu::GPUFuncOp kernel) {
  LogicalResult result = success();
  kernel.walk([&](RingOp ring) {
    if (failed(checkEnds(ring)))
      result = failure();
  });
  if (failed(result))
    return failure();
  kernel.walk([&](RoleOp role) {
    if (failed(Checker().run(role)))
      result = failure();
  });
  return result;
}

namespace {
struct CheckProtocol : impl::CheckProtocolBase<CheckProtocol> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(checkProtocol(kernel)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace girih::wg
