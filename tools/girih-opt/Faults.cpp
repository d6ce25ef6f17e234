// What can be wrong with each op of a lowered protocol.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Faults.h"

#include "girih/Dialect/WG/Transforms/RingProtocol.h"
#include "girih/Dialect/WG/Transforms/Transforms.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace girih::wg;

namespace girih {

namespace {

/// The allocation that a buffer is a slot of.
AllocBufferOp allocationOf(Value buffer) {
  Value root = rootBuffer(buffer);
  if (auto slot = root.getDefiningOp<SlotOp>())
    root = slot.getBuffers();
  return root.getDefiningOp<AllocBufferOp>();
}

/// The next op of the role behind this one that touches one of the buffers: what suffers if this
/// one is missing.
Operation *nextAccess(Operation *op, const DenseSet<Operation *> &buffers) {
  Operation *found = nullptr;
  bool behind = false;
  roleOf(op).walk<WalkOrder::PreOrder>([&](Operation *other) {
    behind |= other == op;
    auto accesses = dyn_cast<BufferAccessOpInterface>(other);
    if (!behind || found || !accesses)
      return;
    for (const BufferAccess &access : accesses.getBufferAccesses())
      if (buffers.contains(allocationOf(access.buffer)))
        found = other;
  });
  return found ? found : op;
}

/// What the numbers of a turn's two named barriers start from: the largest constant in the
/// expression.
int64_t turnOf(Value id) {
  APInt number;
  if (matchPattern(id, m_ConstantInt(&number)))
    return number.getSExtValue();
  int64_t largest = 0;
  if (Operation *op = id.getDefiningOp())
    for (Value operand : op->getOperands())
      largest = std::max(largest, turnOf(operand));
  return largest;
}

Value constant(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
}

/// Puts an op under a condition.
void wrap(Operation *op, Value condition) {
  OpBuilder builder(op);
  auto branch = scf::IfOp::create(builder, op->getLoc(), condition, /*withElseRegion=*/false);
  op->moveBefore(branch.thenBlock()->getTerminator());
}

/// True in all but the last warp of the role.
Value isNotLastWarp(Operation *op) {
  RoleOp role = roleOf(op);
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value warp = gpu::SubgroupIdOp::create(builder, loc, builder.getIndexType(), IntegerAttr());
  Value number = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), warp);
  Value last = constant(builder, loc, 4 * firstWarpgroup(role) + role.getWarps() - 1);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, number, last);
}

/// True in the role's first warpgroup.
Value isFirstWarpgroup(Operation *op) {
  OpBuilder builder(op);
  Value index = WarpgroupIndexOp::create(builder, op->getLoc());
  return arith::CmpIOp::create(builder, op->getLoc(), arith::CmpIPredicate::eq, index,
                               constant(builder, op->getLoc(), 0));
}

/// Whether a loop certainly has no second step.
bool runsOnce(scf::ForOp loop) {
  APInt low, high, step;
  return matchPattern(loop.getLowerBound(), m_ConstantInt(&low)) &&
         matchPattern(loop.getUpperBound(), m_ConstantInt(&high)) &&
         matchPattern(loop.getStep(), m_ConstantInt(&step)) &&
         high.getSExtValue() - low.getSExtValue() <= step.getSExtValue();
}

/// Whether the op may be executed more than once.
bool isRepeated(Operation *op) {
  for (Operation *at = op->getParentOp(); at && !isa<RoleOp>(at); at = at->getParentOp())
    if (isa<scf::WhileOp>(at) || (isa<scf::ForOp>(at) && !runsOnce(cast<scf::ForOp>(at))))
      return true;
  return false;
}

/// The number that a value is in every execution, if it is the same in each.
std::optional<int64_t> onlyNumber(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
        loop && runsOnce(loop) && argument.getArgNumber() > 0)
      return onlyNumber(loop.getInitArgs()[argument.getArgNumber() - 1]);
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSExtValue();
  return std::nullopt;
}

} // namespace

FaultList::FaultList(gpu::GPUFuncOp kernel) : kernel(kernel) {
  kernel.walk([&](TmaLoadOp load) {
    completed.insert(load.getBarrier());
    filled[load.getBarrier()].insert(allocationOf(load.getBuffer()));
  });
  llvm::DenseMap<Value, int> waits;
  kernel.walk([&](BarrierWaitOp wait) {
    if (++waits[wait.getBarrier()] > 1 || isRepeated(wait))
      waitedAgain.insert(wait.getBarrier());
  });
  kernel.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](NamedBarrierSyncOp sync) { atNamedSync(sync); })
        .Case([&](NamedBarrierArriveOp arrive) { atNamedArrive(arrive); })
        .Case([&](BarrierInitOp init) { atInit(init); })
        .Case([&](BarrierArriveOp arrive) { atArrive(arrive); })
        .Case([&](BarrierArriveClusterOp arrive) { atArriveCluster(arrive); })
        .Case([&](BarrierWaitOp wait) { atBarrierWait(wait); })
        .Case([&](BarrierExpectOp expect) { atExpect(expect); })
        .Case([&](TmaLoadOp load) { atLoad(load); })
        .Case([&](WaitOp wait) { atProductsWait(wait); })
        .Case([&](BulkWaitOp wait) { atStoresWait(wait); })
        .Case([&](FenceProxyAsyncOp fence) { atFence(fence); })
        .Case([&](RoleOp role) { atRole(role); })
        .Case([&](scf::ForOp loop) { atLoop(loop); });
  });
}

bool FaultList::isOfOneRing(Value one, Value other) const {
  auto ringOf = [](Value barrier) {
    StringRef name = barrier.getDefiningOp<AllocBarrierOp>().getName().value_or("");
    (void)(name.consume_back(" full barriers") || name.consume_back(" empty barriers"));
    return name;
  };
  return ringOf(one) == ringOf(other);
}

const PlantedFault *FaultList::find(StringRef kind, size_t n) const {
  for (const PlantedFault &fault : faults)
    if (fault.kind == kind && n-- == 0)
      return &fault;
  return nullptr;
}

size_t FaultList::count(StringRef kind) const {
  return llvm::count_if(faults, [&](const PlantedFault &fault) { return fault.kind == kind; });
}

void FaultList::add(StringRef kind, Operation *op, const Twine &what, std::function<void()> plant) {
  faults.push_back({kind, op->getLoc(), what.str(), std::move(plant)});
}

void FaultList::atNamedSync(NamedBarrierSyncOp sync) {
  add("deadlock", sync, "a named barrier waits for 128 threads more",
      [=]() mutable { sync.setThreads(sync.getThreads() + 128); });
}

void FaultList::atNamedArrive(NamedBarrierArriveOp arrive) {
  // It is missed where the partner waits for its turn.
  Operation *missed = nullptr;
  roleOf(arrive).walk([&](NamedBarrierSyncOp sync) {
    if (!missed && turnOf(sync.getId()) == turnOf(arrive.getId()))
      missed = sync;
  });
  if (missed)
    add("deadlock", missed, "a turn that is not passed on", [=]() mutable { arrive->erase(); });
}

void FaultList::atInit(BarrierInitOp init) {
  auto more = [=](int32_t by) { return [=]() mutable { init.setCount(init.getCount() + by); }; };
  if (isFull(init.getBarrier())) {
    add("deadlock", init, "full barriers count an arrival more than there are", more(1));
    return;
  }
  if (!waitedAgain.contains(init.getBarrier()))
    return;
  add("lost-release", init, "empty barriers count an arrival more than there are", more(1));
  if (init.getCount() > 1)
    add("double-release", init, "empty barriers count an arrival too few", more(-1));
  if (init.getCount() > 4)
    add("double-release", init, "empty barriers count a warpgroup too few", more(-4));
}

bool FaultList::matters(Operation *release, Value barrier) const {
  if (!waitedAgain.contains(barrier))
    return false;
  if (isRepeated(release))
    return true;
  bool behind = false, found = false;
  roleOf(release).walk<WalkOrder::PreOrder>([&](Operation *op) {
    behind |= op == release;
    if (auto wait = dyn_cast<BarrierWaitOp>(op))
      found |= behind && isRepeated(wait) && isOfOneRing(wait.getBarrier(), barrier);
  });
  return found;
}

void FaultList::atRelease(Operation *arrive, Value barrier) {
  RoleOp role = roleOf(arrive);
  auto again = [](Operation *op) { return OpBuilder(op).clone(*op); };

  // It is missed where the slot is to be filled again.
  Operation *missed = arrive;
  kernel.walk([&](BarrierWaitOp wait) {
    if (wait.getBarrier() == barrier)
      missed = wait;
  });
  add("lost-release", missed, "a release left out", [=] { arrive->erase(); });
  add("double-release", arrive, "a release doubled", [=] { again(arrive); });
  if (role.getWarps() > 1) {
    add("lost-release", arrive, "a release that the last warp leaves out",
        [=] { wrap(arrive, isNotLastWarp(arrive)); });
    add("double-release", arrive, "a release that all but the last warp double", [=] {
      Operation *second = again(arrive);
      wrap(second, isNotLastWarp(second));
    });
  }
  if (role.getNumWarpgroups() > 1) {
    add("lost-release", arrive, "a release of warpgroup 0 only",
        [=] { wrap(arrive, isFirstWarpgroup(arrive)); });
    add("double-release", arrive, "a release that warpgroup 0 doubles", [=] {
      Operation *second = again(arrive);
      wrap(second, isFirstWarpgroup(second));
    });
  }
}

void FaultList::atArrive(BarrierArriveOp arrive) {
  if (isFull(arrive.getBarrier()) || !matters(arrive, arrive.getBarrier()))
    return;
  atRelease(arrive, arrive.getBarrier());
  if (auto branch = dyn_cast<scf::IfOp>(arrive->getParentOp());
      branch && branch.getCondition().getDefiningOp<ElectOp>())
    add("double-release", arrive, "a release by every lane",
        [=]() mutable { arrive->moveBefore(branch); });
}

void FaultList::atArriveCluster(BarrierArriveClusterOp arrive) {
  if (!matters(arrive, arrive.getBarrier()))
    return;
  atRelease(arrive, arrive.getBarrier());
  auto inOwnCta = [](BarrierArriveClusterOp op) {
    OpBuilder builder(op);
    Value elected = ElectOp::create(builder, op.getLoc());
    auto alone = BarrierArriveOp::create(builder, op.getLoc(), op.getBarrier(), op.getIndex());
    wrap(alone, elected);
    op->erase();
  };
  add("lost-release", arrive, "a release in the own CTA only", [=] { inOwnCta(arrive); });
  add("double-release", arrive, "a release in the own CTA once more",
      [=]() mutable { inOwnCta(cast<BarrierArriveClusterOp>(OpBuilder(arrive).clone(*arrive))); });
}

void FaultList::atBarrierWait(BarrierWaitOp wait) {
  auto parity = [=](auto make) {
    return [=]() mutable {
      OpBuilder builder(wait);
      wait.getParityMutable().assign(make(builder, wait.getLoc(), wait.getParity()));
    };
  };
  std::optional<int64_t> right = onlyNumber(wait.getParity());
  add("wrong-parity", wait, "the other parity",
      parity([](OpBuilder &builder, Location loc, Value p) {
        return arith::XOrIOp::create(builder, loc, p, constant(builder, loc, 1)).getResult();
      }));
  for (int64_t value : {0, 1})
    if (!right)
      add("wrong-parity", wait, "always parity " + Twine(value),
          parity([=](OpBuilder &builder, Location loc, Value) {
            return constant(builder, loc, value);
          }));
  bool full = isFull(wait.getBarrier());
  DenseSet<Operation *> buffers;
  for (auto &[barrier, slots] : filled)
    if (isOfOneRing(barrier, wait.getBarrier()))
      buffers.insert(slots.begin(), slots.end());
  if (full || isRepeated(wait))
    add("in-flight", nextAccess(wait, buffers),
        full ? "no wait for a full slot" : "no wait for an empty slot",
        [=]() mutable { wait->erase(); });
}

void FaultList::atExpect(BarrierExpectOp expect) {
  for (auto [what, numerator, denominator, more] :
       {std::tuple("16 bytes too few are expected", 1, 1, -16),
        std::tuple("16 bytes too many are expected", 1, 1, 16),
        std::tuple("half of the bytes are expected", 1, 2, 0),
        std::tuple("twice the bytes are expected", 2, 1, 0)})
    add("wrong-bytes", expect, what, [=, n = numerator, d = denominator, m = more]() mutable {
      expect.setBytes(expect.getBytes() * n / d + m);
    });
}

void FaultList::atLoad(TmaLoadOp load) {
  // Who expects its bytes stands before it.
  BarrierExpectOp expects;
  for (Operation *op = load; op && !expects; op = op->getPrevNode())
    op->walk([&](BarrierExpectOp expect) { expects = expect; });
  if (!expects)
    return;
  add("wrong-bytes", expects, "a copy left out", [=]() mutable { load->erase(); });
  if (!load.getMulticast())
    return;
  int64_t share = load.getBytes() / clusterCtas(load);
  add("wrong-bytes", expects, "the share that another CTA brings is not expected",
      [=]() mutable { expects.setBytes(expects.getBytes() - share); });
  // The slot counts the own CTA's readers only, while the other CTA writes it too.
  gpu::GPUFuncOp all = kernel;
  add("in-flight", load, "a multicast into a slot that its own CTA's readers alone free", [all] {
    SmallVector<BarrierArriveClusterOp> arrivals;
    const_cast<gpu::GPUFuncOp &>(all).walk(
        [&](BarrierArriveClusterOp arrive) { arrivals.push_back(arrive); });
    for (BarrierArriveClusterOp arrive : arrivals) {
      OpBuilder builder(arrive);
      Value elected = ElectOp::create(builder, arrive.getLoc());
      Operation *alone =
          BarrierArriveOp::create(builder, arrive.getLoc(), arrive.getBarrier(), arrive.getIndex());
      wrap(alone, elected);
      for (Operation *user : arrive.getBarrier().getUsers())
        if (auto init = dyn_cast<BarrierInitOp>(user))
          if (arrive == arrivals.front())
            init.setCount(init.getCount() / clusterCtas(arrive));
      arrive->erase();
    }
  });
}

void FaultList::atProductsWait(WaitOp wait) {
  if (wait->hasAttr(kWaitedAttr))
    return;
  // Only where it is the last that retires a product whose operands are given back behind it.
  bool releases = false, isLast = false;
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
    auto next = dyn_cast<WaitOp>(op);
    if (next && !next->hasAttr(kWaitedAttr)) {
      if (next.getInFlight() < wait.getInFlight())
        return;
      isLast = true;
    }
    op->walk([&](Operation *inner) {
      releases |= isa<BarrierArriveOp, BarrierArriveClusterOp>(inner) && !isLast &&
                  matters(inner, inner->getOperand(0));
    });
  }
  if (releases)
    add("in-flight", wait, "a group of wgmmas too many stays in flight",
        [=]() mutable { wait.setInFlight(wait.getInFlight() + 1); });
}

void FaultList::atStoresWait(BulkWaitOp wait) {
  if (!wait.getRead()) { // before the role ends
    Operation *suffers = wait;
    roleOf(wait).walk([&](TmaStoreOp store) { suffers = store; });
    add("in-flight", suffers, "no wait for the last stores", [=]() mutable { wait->erase(); });
    return;
  }
  // What the slot is written with again, and which store of the warpgroup, from 0 on, that is.
  RoleOp role = roleOf(wait);
  LocalStoreOp writes;
  TmaStoreOp store;
  int64_t number = 0;
  bool behind = false;
  role.walk<WalkOrder::PreOrder>([&](Operation *op) {
    behind |= op == wait;
    if (auto write = dyn_cast<LocalStoreOp>(op); write && behind && !writes)
      writes = write;
    if (auto found = dyn_cast<TmaStoreOp>(op); found && !store) {
      number += !behind;
      store = behind ? found : nullptr;
    }
  });
  if (!writes || !store)
    return;
  int64_t slots =
      allocationOf(store.getBuffer()).getSlots() / (role.getEach() ? role.getNumWarpgroups() : 1);
  if (!isRepeated(wait) && number < slots)
    return;
  add("in-flight", writes, "no wait for the slot's store", [=]() mutable { wait->erase(); });
  add("in-flight", wait, "a group of stores too many stays in flight",
      [=]() mutable { wait.setInFlight(wait.getInFlight() + 1); });
  if (auto sync = dyn_cast_if_present<NamedBarrierSyncOp>(wait->getNextNode()))
    add("in-flight", writes, "the warpgroup does not meet behind the wait for the slot's store",
        [=]() mutable { sync->erase(); });
}

void FaultList::atFence(FenceProxyAsyncOp fence) {
  add("missing-proxy-fence", fence, "no fence", [=]() mutable { fence->erase(); });
  for (Operation *op = fence->getPrevNode(); op; op = op->getPrevNode())
    if (isa<LocalStoreOp>(op)) {
      add("missing-proxy-fence", fence, "the fence comes before the writes",
          [=]() mutable { fence->moveBefore(op); });
      break;
    }
  if (RoleOp role = roleOf(fence); role.getWarps() > 1)
    add("missing-proxy-fence", fence, "the last warp does not fence",
        [=] { wrap(fence, isNotLastWarp(fence)); });
}

void FaultList::atRole(RoleOp role) {
  add("deadlock", role, "the role meets threads that never come", [=]() mutable {
    OpBuilder builder = OpBuilder::atBlockBegin(&role.getBody().front());
    Location loc = role.getLoc();
    NamedBarrierSyncOp::create(builder, loc, constant(builder, loc, 7), role.getNumThreads() + 32);
  });
  auto specialize = cast<SpecializeOp>(role->getParentOp());
  if (llvm::any_of(specialize.getRoles(), [](RoleOp any) { return !any.getRegisters(); }))
    return;
  int64_t threads = specialize.getNumThreads();
  int64_t left = getLaunchRegisters(threads) * threads;
  for (RoleOp other : specialize.getRoles())
    if (other != role)
      left -= static_cast<int64_t>(*other.getRegisters()) * other.getNumWarpgroups() * 128;
  int64_t most = left / (role.getNumWarpgroups() * 128) / 8 * 8;
  for (int64_t budget : {most + 8, most + 16, int64_t(256)})
    if (budget > most && budget <= 256)
      add("register-budget", role, "a budget of " + Twine(budget) + " registers",
          [=]() mutable { role.setRegisters(budget); });
}

void FaultList::atLoop(scf::ForOp loop) {
  // An innermost loop that waits for copies.
  bool inner = true;
  BarrierWaitOp waits;
  Value fills;
  loop.getBody()->walk([&](Operation *op) {
    inner &= !isa<scf::ForOp>(op);
    if (auto wait = dyn_cast<BarrierWaitOp>(op); wait && !waits && isFull(wait.getBarrier()))
      waits = wait;
    if (auto load = dyn_cast<TmaLoadOp>(op))
      fills = load.getBarrier();
  });
  if (!inner || (!waits && !fills))
    return;
  auto shift = [=](int64_t by) {
    return [=]() mutable {
      OpBuilder builder(loop);
      Location loc = loop.getLoc();
      loop.getUpperBoundMutable().assign(
          arith::AddIOp::create(builder, loc, loop.getUpperBound(), constant(builder, loc, by)));
    };
  };
  // Where each warpgroup has slots of its own, the next is another one's.
  if (waits && !roleOf(loop).getEach())
    add("deadlock", waits, "one step more is drained than is filled", shift(1));
  if (waits)
    return;
  // A loop without a step is missed where its copies are waited for.
  Operation *missed = loop;
  if (runsOnce(loop))
    kernel.walk([&](BarrierWaitOp wait) {
      if (missed == loop && wait.getBarrier() == fills)
        missed = wait;
    });
  add("deadlock", missed, "one step fewer is filled than is drained", shift(-1));
}

} // namespace girih
