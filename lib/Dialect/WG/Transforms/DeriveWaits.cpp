// wg-derive-waits: how many groups a wait may leave in flight. A role is run on paper along every
// path; what is known at a point is how many groups have been started since the one that writes a
// tile.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/Transforms/Passes.h"
#include "girih/Dialect/WG/Transforms/RingProtocol.h"
#include "girih/Dialect/WG/Transforms/Transforms.h"

#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_DERIVEWAITS
#include "girih/Dialect/WG/Transforms/Passes.h.inc"

namespace {

/// wgmma.wait_group counts no further (PTX ISA 9.0, 9.7.15.7.3), and so neither do we: numbers stay
/// finite in a loop that never waits.
constexpr int64_t kMany = 8;

/// What one path knows of pending tiles: how many groups have been started since the last that
/// writes the tile. A tile that is not in it is not being written. Ordered, so that two paths
/// compare.
using Path = std::map<void *, int64_t>;
using Paths = std::vector<Path>;

void add(Paths &paths, Path path) {
  if (!llvm::is_contained(paths, path))
    paths.push_back(std::move(path));
}

class Deriver {
public:
  LogicalResult run(Block &block) {
    Paths paths = {Path()};
    runBlock(block, paths);
    if (failedToDerive)
      return failure();
    for (auto [wait, number] : derived)
      cast<WaitOp>(wait).setInFlight(static_cast<uint32_t>(number.second));
    block.walk([&](WaitOp wait) {
      if (!wait.getDerive() || derived.contains(wait))
        return;
      wait.setInFlight(kMany);
      wait->setAttr(kWaitedAttr, UnitAttr::get(wait.getContext()));
    });
    return success();
  }

private:
  void runBlock(Block &block, Paths &paths) {
    for (Operation &op : block.without_terminator()) {
      if (failedToDerive)
        return;
      if (auto mma = dyn_cast<MmaOp>(op))
        each(paths, [&](Path &path) { start(mma, path); });
      else if (auto wait = dyn_cast<WaitOp>(op))
        each(paths, [&](Path &path) { waitFor(wait, path); });
      else if (auto loop = dyn_cast<scf::ForOp>(op))
        runLoop(loop, *loop.getBody(), loop.getInitArgs(), loop.getRegionIterArgs(),
                loop.getYieldedValues(), loop.getResults(), std::nullopt, paths);
      else if (auto drain = dyn_cast<DrainOp>(op))
        runDrain(drain, paths);
      else if (auto branch = dyn_cast<scf::IfOp>(op))
        runBranch(branch, paths);
      else if (op.getNumRegions())
        for (Region &region : op.getRegions())
          for (Block &inner : region)
            runBlock(inner, paths);
    }
  }

  template <typename Step> static void each(Paths &paths, Step step) {
    Paths after;
    for (Path &path : paths) {
      step(path);
      add(after, std::move(path));
    }
    paths = std::move(after);
  }

  static void start(MmaOp mma, Path &path) {
    for (auto &[tile, since] : path)
      since = std::min(since + 1, kMany);
    path[mma.getResult().getAsOpaquePointer()] = 0;
  }

  /// Groups older than the newest `inFlight` are done.
  static void retire(Path &path, int64_t inFlight) {
    for (auto it = path.begin(); it != path.end();)
      it = it->second >= inFlight ? path.erase(it) : std::next(it);
  }

  void waitFor(WaitOp wait, Path &path) {
    int64_t inFlight = wait.getInFlight();
    if (wait.getDerive()) {
      std::optional<int64_t> since;
      for (Value pending : wait.getPending())
        if (auto found = path.find(pending.getAsOpaquePointer()); found != path.end())
          since = std::min(since.value_or(kMany), found->second);
      // Where nothing writes the operands there is nothing to wait for, whatever the number.
      if (since) {
        auto [known, isNew] = derived.insert({wait, {where, *since}});
        if (!isNew && known->second.second != *since)
          return refuse(wait, known->second, {where, *since});
      }
      auto known = derived.find(wait);
      inFlight = known == derived.end() ? kMany + 1 : known->second.second;
    }
    hand(wait.getPending(), wait.getResults(), path);
    retire(path, inFlight);
  }

  /// What is known of values holds of those that they become.
  static void hand(ValueRange values, ValueRange targets, Path &path) {
    SmallVector<std::optional<int64_t>> known;
    for (Value value : values) {
      auto found = path.find(value.getAsOpaquePointer());
      known.push_back(found == path.end() ? std::nullopt : std::optional(found->second));
    }
    for (auto [target, since] : llvm::zip_equal(targets, known)) {
      path.erase(target.getAsOpaquePointer());
      if (since && isa<PendingType>(target.getType()))
        path[target.getAsOpaquePointer()] = *since;
    }
  }

  /// Runs a loop until no path is new. Its results are what any iteration hands on, and what it
  /// starts with if it may run no time. `atEnd` groups are left in flight by the end of an
  /// iteration.
  void runLoop(Operation *loop, Block &body, ValueRange inits, ValueRange arguments,
               ValueRange yielded, ValueRange results, std::optional<int64_t> atEnd, Paths &paths) {
    Paths seen, after, todo = paths;
    for (Path &path : todo) {
      add(after, path);
      hand(inits, results, after.back());
      hand(inits, arguments, path);
    }
    std::string outer = where;
    for (int64_t iteration = 1; !todo.empty() && !failedToDerive; ++iteration) {
      where = (iteration == 1 ? "in the first iteration of" : "in a later iteration of") +
              std::string(" the loop at ") + placeOf(loop->getLoc());
      Paths fresh;
      for (Path &path : todo)
        if (!llvm::is_contained(seen, path)) {
          seen.push_back(path);
          add(fresh, path);
        }
      runBlock(body, fresh);
      todo.clear();
      for (Path &path : fresh) {
        if (atEnd)
          retire(path, *atEnd);
        Path done = path;
        hand(yielded, results, done);
        add(after, std::move(done));
        hand(yielded, arguments, path);
        add(todo, std::move(path));
      }
    }
    where = outer;
    paths = std::move(after);
  }

  void runDrain(DrainOp drain, Paths &paths) {
    int64_t groups = 0;
    drain.getBody().walk([&](MmaOp) { ++groups; });
    YieldOp yield = drain.getYield();
    bool waits =
        llvm::any_of(yield.getValues(), [](Value v) { return isa<PendingType>(v.getType()); });
    std::optional<int64_t> atEnd;
    if (waits)
      atEnd = drain.getLag() * groups;
    runLoop(drain, drain.getBody().front(), drain.getInits(), drain.getIterArgs(),
            yield.getValues(), drain.getResults(), atEnd, paths);
    if (waits)
      each(paths, [](Path &path) { retire(path, 0); });
  }

  void runBranch(scf::IfOp branch, Paths &paths) {
    Paths after;
    std::string outer = where;
    for (Block *block : {branch.thenBlock(), branch.elseBlock()}) {
      Paths side = paths;
      where = (block == branch.thenBlock() ? "where the branch at " : "where the branch at ") +
              placeOf(branch.getLoc()) +
              (block == branch.thenBlock() ? " is taken" : " is not taken");
      if (block) {
        runBlock(*block, side);
        each(side, [&](Path &path) {
          hand(block->getTerminator()->getOperands(), branch.getResults(), path);
        });
      }
      for (Path &path : side)
        add(after, std::move(path));
    }
    where = outer;
    paths = std::move(after);
  }

  /// Where a number was found, in words, and the number.
  using Found = std::pair<std::string, int64_t>;

  void refuse(WaitOp wait, const Found &before, const Found &now) {
    failedToDerive = true;
    auto place = [](const Found &found) {
      return found.first.empty() ? std::string("on one path") : found.first;
    };
    wait.emitOpError("finds ") << before.second << " groups started since those that it waits for "
                               << place(before) << " and " << now.second << " " << place(now)
                               << ": expected one number on every path, or in_flight(n) without "
                                  "derive";
  }

  llvm::MapVector<Operation *, Found> derived;
  std::string where; ///< of the path that is being run, in words
  bool failedToDerive = false;
};

} // namespace

LogicalResult deriveWaits(gpu::GPUFuncOp kernel) {
  bool asked = false;
  kernel.walk([&](WaitOp wait) { asked |= wait.getDerive(); });
  if (!asked)
    return success();
  LogicalResult result = success();
  kernel.walk([&](RoleOp role) {
    if (failed(Deriver().run(role.getBody().front())))
      result = failure();
  });
  kernel.walk([](WaitOp wait) { wait.setDerive(false); });
  return result;
}

namespace {
struct DeriveWaits : impl::DeriveWaitsBase<DeriveWaits> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(deriveWaits(kernel)))
        return signalPassFailure();
  }
};
} // namespace
} // namespace girih::wg
