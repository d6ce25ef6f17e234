// --wg-plant-fault=fault=CLASS:N: makes a faulty program from a sound one, for tests of the checker
// and of the emulated device. A remark says what was done, at the line where it was.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PlantFault.h"

#include "girih/Dialect/WG/IR/WG.h"
#include "girih/Dialect/WG/Transforms/RingProtocol.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace girih::wg;

namespace {

/// One way to spoil the program.
struct Fault {
  StringRef kind;
  Location loc;
  std::string what;
  std::function<void()> plant;
};

/// Lists every fault that a kernel offers, in program order for each class.
class Faults {
public:
  explicit Faults(gpu::GPUFuncOp kernel) {
    kernel.walk([&](TmaLoadOp load) { completed.insert(load.getBarrier()); });
    kernel.walk([&](Operation *op) {
      if (auto sync = dyn_cast<NamedBarrierSyncOp>(op))
        atNamed(sync);
      else if (auto init = dyn_cast<BarrierInitOp>(op))
        atInit(init);
      else if (auto arrive = dyn_cast<BarrierArriveOp>(op))
        atArrive(arrive);
      else if (auto wait = dyn_cast<BarrierWaitOp>(op))
        atWait(wait);
      else if (auto expect = dyn_cast<BarrierExpectOp>(op))
        atExpect(expect);
      else if (auto load = dyn_cast<TmaLoadOp>(op))
        atLoad(load);
      else if (auto wait = dyn_cast<WaitOp>(op))
        atWait(wait);
      else if (auto wait = dyn_cast<BulkWaitOp>(op))
        atWait(wait);
      else if (auto fence = dyn_cast<FenceProxyAsyncOp>(op))
        atFence(fence);
      else if (auto role = dyn_cast<RoleOp>(op))
        atRole(role);
      else if (auto loop = dyn_cast<scf::ForOp>(op))
        atLoop(loop);
    });
  }

  /// The n-th of a class.
  Fault *find(StringRef kind, size_t n) {
    for (Fault &fault : faults)
      if (fault.kind == kind && n-- == 0)
        return &fault;
    return nullptr;
  }
  size_t count(StringRef kind) const {
    return llvm::count_if(faults, [&](const Fault &fault) { return fault.kind == kind; });
  }

private:
  void add(StringRef kind, Operation *op, const Twine &what, std::function<void()> plant) {
    faults.push_back({kind, op->getLoc(), what.str(), std::move(plant)});
  }

  /// The next op behind this one that touches a buffer: what suffers if this one is missing.
  static Operation *nextAccess(Operation *op) {
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      if (auto accesses = dyn_cast<BufferAccessOpInterface>(next);
          accesses && !accesses.getBufferAccesses().empty())
        return next;
    return op;
  }

  static Value constant(OpBuilder &builder, Location loc, int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  }

  /// Puts an op under a condition.
  static void wrap(Operation *op, Value condition) {
    OpBuilder builder(op);
    auto branch = scf::IfOp::create(builder, op->getLoc(), condition, /*withElseRegion=*/false);
    op->moveBefore(branch.thenBlock()->getTerminator());
  }

  /// True in all but the last warp of the role.
  static Value isNotLastWarp(Operation *op) {
    RoleOp role = roleOf(op);
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Value warp = gpu::SubgroupIdOp::create(builder, loc, builder.getIndexType(), IntegerAttr());
    Value number = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), warp);
    Value last = constant(builder, loc, 4 * firstWarpgroup(role) + role.getWarps() - 1);
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, number, last);
  }

  /// Whether the kernel waits for copies at this barrier: a full one.
  bool isFull(Value barrier) const { return completed.contains(barrier); }

  void atNamed(NamedBarrierSyncOp sync) {
    add("deadlock", sync, "a named barrier waits for 128 threads more",
        [=]() mutable { sync.setThreads(sync.getThreads() + 128); });
  }

  void atInit(BarrierInitOp init) {
    auto more = [=](int32_t by) { return [=]() mutable { init.setCount(init.getCount() + by); }; };
    if (isFull(init.getBarrier())) {
      add("deadlock", init, "full barriers count an arrival more than there are", more(1));
      return;
    }
    add("lost-release", init, "empty barriers count an arrival more than there are", more(1));
    if (init.getCount() > 1)
      add("double-release", init, "empty barriers count an arrival too few", more(-1));
    if (init.getCount() > 4)
      add("double-release", init, "empty barriers count a warpgroup too few", more(-4));
  }

  void atArrive(BarrierArriveOp arrive) {
    if (isFull(arrive.getBarrier()))
      return;
    RoleOp role = roleOf(arrive);
    auto underWarpgroup = [](Operation *op) {
      OpBuilder builder(op);
      Value index = WarpgroupIndexOp::create(builder, op->getLoc());
      Value first = arith::CmpIOp::create(builder, op->getLoc(), arith::CmpIPredicate::eq, index,
                                          constant(builder, op->getLoc(), 0));
      wrap(op, first);
    };
    auto again = [](Operation *op) { return OpBuilder(op).clone(*op); };

    add("lost-release", arrive, "a release left out", [=]() mutable { arrive->erase(); });
    add("double-release", arrive, "a release doubled", [=] { again(arrive); });
    if (role.getWarps() > 1) {
      add("lost-release", arrive, "a release that the last warp leaves out",
          [=]() mutable { wrap(arrive, isNotLastWarp(arrive)); });
      add("double-release", arrive, "a release that all but the last warp double", [=]() mutable {
        Operation *second = again(arrive);
        wrap(second, isNotLastWarp(second));
      });
    }
    if (role.getNumWarpgroups() > 1) {
      add("lost-release", arrive, "a release of warpgroup 0 only", [=] { underWarpgroup(arrive); });
      add("double-release", arrive, "a release that warpgroup 0 doubles",
          [=] { underWarpgroup(again(arrive)); });
    }
    if (auto branch = dyn_cast<scf::IfOp>(arrive->getParentOp());
        branch && branch.getCondition().getDefiningOp<ElectOp>())
      add("double-release", arrive, "a release by every lane",
          [=]() mutable { arrive->moveBefore(branch); });
  }

  void atWait(BarrierWaitOp wait) {
    auto parity = [=](auto make) {
      return [=]() mutable {
        OpBuilder builder(wait);
        wait.getParityMutable().assign(make(builder, wait.getLoc(), wait.getParity()));
      };
    };
    add("wrong-parity", wait, "the other parity",
        parity([](OpBuilder &builder, Location loc, Value p) {
          return arith::XOrIOp::create(builder, loc, p, constant(builder, loc, 1)).getResult();
        }));
    for (int64_t value : {0, 1})
      add("wrong-parity", wait, "always parity " + Twine(value),
          parity([=](OpBuilder &builder, Location loc, Value) {
            return constant(builder, loc, value);
          }));
    add("in-flight", nextAccess(wait),
        isFull(wait.getBarrier()) ? "no wait for a full slot" : "no wait for an empty slot",
        [=]() mutable { wait->erase(); });
  }

  void atExpect(BarrierExpectOp expect) {
    for (auto [what, numerator, denominator, more] :
         {std::tuple("16 bytes too few are expected", 1, 1, -16),
          std::tuple("16 bytes too many are expected", 1, 1, 16),
          std::tuple("half of the bytes are expected", 1, 2, 0),
          std::tuple("twice the bytes are expected", 2, 1, 0)})
      add("wrong-bytes", expect, what, [=, n = numerator, d = denominator, m = more]() mutable {
        expect.setBytes(expect.getBytes() * n / d + m);
      });
  }

  void atLoad(TmaLoadOp load) {
    // Who expects its bytes stands before it.
    Operation *expects = load;
    for (Operation *op = load; op && expects == load; op = op->getPrevNode())
      op->walk([&](BarrierExpectOp expect) { expects = expect; });
    add("wrong-bytes", expects, "a copy left out", [=] { load->erase(); });
  }

  void atWait(WaitOp wait) {
    // Only where the wait retires a product whose operands are given back behind it.
    bool releases = false;
    for (Operation *op = wait->getNextNode(); op && !isa<WaitOp>(op); op = op->getNextNode())
      op->walk([&](BarrierArriveOp) { releases = true; });
    if (releases)
      add("in-flight", wait, "a group of wgmmas too many stays in flight",
          [=]() mutable { wait.setInFlight(wait.getInFlight() + 1); });
  }

  void atWait(BulkWaitOp wait) {
    bool isLast = wait->getNextNode() == nullptr;
    Operation *suffers = nextAccess(wait);
    if (isLast)
      roleOf(wait).walk([&](TmaStoreOp store) { suffers = store; });
    add("in-flight", suffers,
        isLast ? "no wait for the last stores" : "no wait for the slot's store",
        [=]() mutable { wait->erase(); });
    if (isLast)
      return;
    add("in-flight", wait, "a group of stores too many stays in flight",
        [=]() mutable { wait.setInFlight(wait.getInFlight() + 1); });
    if (auto sync = dyn_cast_if_present<NamedBarrierSyncOp>(wait->getNextNode()))
      add("in-flight", nextAccess(sync),
          "the warpgroup does not meet behind the wait for the slot's store",
          [=]() mutable { sync->erase(); });
  }

  void atFence(FenceProxyAsyncOp fence) {
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

  void atRole(RoleOp role) {
    add("deadlock", role, "the role meets threads that never come", [=]() mutable {
      OpBuilder builder = OpBuilder::atBlockBegin(&role.getBody().front());
      Location loc = role.getLoc();
      NamedBarrierSyncOp::create(builder, loc, constant(builder, loc, 7),
                                 role.getNumThreads() + 32);
    });
    if (!role.getRegisters())
      return;
    int64_t threads = cast<SpecializeOp>(role->getParentOp()).getNumThreads();
    int64_t left = getLaunchRegisters(threads) * threads;
    for (RoleOp other : cast<SpecializeOp>(role->getParentOp()).getRoles())
      if (other != role)
        left -= static_cast<int64_t>(*other.getRegisters()) * other.getNumWarpgroups() * 128;
    int64_t most = left / (role.getNumWarpgroups() * 128) / 8 * 8;
    for (int64_t budget : {most + 8, most + 16, int64_t(256)})
      if (budget > most && budget <= 256)
        add("register-budget", role, "a budget of " + Twine(budget) + " registers",
            [=]() mutable { role.setRegisters(budget); });
  }

  void atLoop(scf::ForOp loop) {
    // An innermost loop that waits for copies.
    bool inner = true, waits = false, fills = false;
    loop.getBody()->walk([&](Operation *op) {
      inner &= !isa<scf::ForOp>(op);
      if (auto wait = dyn_cast<BarrierWaitOp>(op))
        waits |= isFull(wait.getBarrier());
      fills |= isa<TmaLoadOp>(op);
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
      add("deadlock", loop, "one step more is drained than is filled", shift(1));
    else if (!waits)
      add("deadlock", loop, "one step fewer is filled than is drained", shift(-1));
  }

  std::vector<Fault> faults;
  DenseSet<Value> completed;
};

struct PlantFault : PassWrapper<PlantFault, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlantFault)

  PlantFault() = default;
  PlantFault(const PlantFault &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "wg-plant-fault"; }
  StringRef getDescription() const final {
    return "Spoil a kernel whose rings are lowered, for tests: fault=CLASS:N, classes as in "
           "wg-check-barriers";
  }

  void runOnOperation() final {
    auto [kind, number] = StringRef(fault).split(':');
    size_t n = 0;
    if (number.getAsInteger(10, n)) {
      emitError(getOperation().getLoc()) << "expected fault=CLASS:N, found '" << fault << "'";
      return signalPassFailure();
    }
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      Faults faults(kernel);
      if (Fault *found = faults.find(kind, n)) {
        emitRemark(found->loc) << "planted " << fault << ": " << found->what;
        return found->plant();
      }
      emitError(kernel.getLoc()) << "kernel '" << kernel.getName() << "' offers "
                                 << faults.count(kind) << " places for a fault of class '" << kind
                                 << "'";
      return signalPassFailure();
    }
  }

  Option<std::string> fault{*this, "fault", llvm::cl::desc("CLASS:N")};
};

} // namespace

void girih::registerPlantFault() { PassRegistration<PlantFault>(); }
