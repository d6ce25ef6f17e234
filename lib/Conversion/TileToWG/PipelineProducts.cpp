// tile-pipeline-products: the second of two chained products runs under the step after its own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProductPlan.h"
#include "girih/Conversion/TileToWG/TileToWG.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#include <numeric>

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_TILEPIPELINEPRODUCTS
#include "girih/Conversion/TileToWG/Passes.h.inc"

namespace {

/// A loop's step: a product, what is computed from it, and a product of that, which the loop adds
/// up.
struct Chain {
  scf::ForOp loop;
  tile::DotOp first, second;
  unsigned sum = 0;                  ///< the iteration argument that the second product adds to
  llvm::SetVector<Operation *> load; ///< in the step: what the second product's b comes from
  DenseSet<Operation *> onlyForLoad; ///< of them, what nothing else needs
  DenseSet<Operation *> late;        ///< in the step: what depends on the sum of the step before

  Block *body() { return loop.getBody(); }
  Value sumSoFar() { return loop.getRegionIterArg(sum); }
};

/// Ops of a block that depend on a value, through inner regions too.
DenseSet<Operation *> dependents(Value value, Block *block) {
  DenseSet<Operation *> found;
  SmallVector<Value> todo{value};
  while (!todo.empty())
    for (Operation *user : todo.pop_back_val().getUsers()) {
      Operation *op = block->findAncestorOpInBlock(*user);
      if (op && !op->hasTrait<OpTrait::IsTerminator>() && found.insert(op).second)
        llvm::append_range(todo, op->getResults());
    }
  return found;
}

/// Adds the ops of a block that a value depends on, in their order; false if an iteration argument
/// is among them.
bool addSources(Value value, Block *block, llvm::SetVector<Operation *> &ops) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner() != block || argument.getArgNumber() == 0;
  Operation *op = value.getDefiningOp();
  if (op->getBlock() != block || ops.contains(op))
    return true;
  bool known = true;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
        known &= addSources(operand, block, ops);
  });
  ops.insert(op);
  return known;
}

/// The first op of a loop that does more than to read memory.
Operation *firstWrite(scf::ForOp loop) {
  Operation *found = nullptr;
  loop.getBody()->walk([&](Operation *op) {
    if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() || isMemoryEffectFree(op))
      return WalkResult::advance();
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    SmallVector<MemoryEffects::EffectInstance> all;
    if (effects)
      effects.getEffects(all);
    if (effects &&
        llvm::all_of(all, [](auto &it) { return isa<MemoryEffects::Read>(it.getEffect()); }))
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

/// Why the role that computes has too few registers for both sums and operand a at once; empty if
/// it has enough.
std::string tooLarge(const Chain &chain) {
  auto kernel = chain.loop->getParentOfType<gpu::GPUFuncOp>();
  int64_t blocks = 0;
  kernel.walk([&](tile::DotOp dot) {
    blocks = std::gcd(blocks, dot.getResult().getType().getDimSize(0) / 64);
  });
  auto hints = kernel->getAttrOfType<DictionaryAttr>(kHintsAttr);
  auto warps = hints ? hints.getAs<IntegerAttr>("warps") : IntegerAttr();
  int64_t warpgroups = warps ? std::max<int64_t>(warps.getInt() / 4, 1) : warpgroupsFor(blocks);
  tile::DotOp first = chain.first, second = chain.second;
  int64_t needed = kOtherRegisters;
  for (RankedTensorType type :
       {first.getResult().getType(), second.getResult().getType(), second.getA().getType()})
    needed += registersOf(type, warpgroups);
  int64_t has = registersToCompute(warpgroups);
  if (needed <= has)
    return {};
  return "both sums and operand a of the second product take " + std::to_string(needed) + " of " +
         std::to_string(has) + " registers";
}

/// Finds the chain of a loop with two or more products in its step, or says why there is none.
std::string findChain(scf::ForOp loop, ArrayRef<tile::DotOp> products, Chain &chain) {
  if (products.size() != 2)
    return "the step has " + std::to_string(products.size()) + " products; expected two";
  chain.loop = loop;
  chain.first = products[0];
  chain.second = products[1];
  Block *body = loop.getBody();
  if (!dependents(chain.first.getResult(), body).contains(chain.second.getA().getDefiningOp()))
    return "operand a of the second product is not computed from the first";
  for (tile::DotOp product : products) {
    if (UnitChoice choice = chooseUnit(product); choice.unit != ProductUnit::Wgmma)
      return "wgmma has no such product: " + choice.why;
    if (std::string why = whyNotByTma(product.getB()); !why.empty())
      return "operand b does not come by TMA, so that each product is waited for: " + why;
  }
  if (!matchPattern(loop.getStep(), m_One()) || loop.getUnsignedCmp())
    return "the loop does not count up by one";
  Value result = chain.second.getResult();
  auto yielded = llvm::find(loop.getYieldedValues(), result);
  if (!chain.second.getAccumulator() || !result.hasOneUse() ||
      yielded == loop.getYieldedValues().end())
    return "the second product's sum is used in the same step";
  chain.sum = yielded - loop.getYieldedValues().begin();
  chain.late = dependents(chain.sumSoFar(), body);
  if (chain.late.contains(chain.first) || chain.late.contains(chain.second.getA().getDefiningOp()))
    return "operands depend on the second product of the step before";
  if (std::string why = tooLarge(chain); !why.empty())
    return why;
  if (Operation *op = firstWrite(loop))
    return "the step has " + op->getName().getStringRef().str() + ", which may write memory";
  if (!addSources(chain.second.getB(), body, chain.load) || chain.load.contains(chain.first))
    return "where operand b of the second product lies depends on what the loop carries";
  for (Operation *op : llvm::reverse(chain.load))
    if (llvm::all_of(op->getUsers(), [&](Operation *user) {
          Operation *there = body->findAncestorOpInBlock(*user);
          return there == chain.second || chain.onlyForLoad.contains(there);
        }))
      chain.onlyForLoad.insert(op);
  return {};
}

/// Writes a chain's loop anew.
class Pipeliner {
public:
  explicit Pipeliner(Chain &chain)
      : chain(chain), loop(chain.loop), loc(chain.loop.getLoc()), builder(chain.loop) {}

  void run() {
    Value low = loop.getLowerBound(), high = loop.getUpperBound();
    Value any = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, low, high);
    auto branch = scf::IfOp::create(builder, loc, loop.getResultTypes(), any, true);
    builder.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(builder, loc, loop.getInitArgs());
    builder.setInsertionPointToStart(branch.thenBlock());

    IRMapping values;
    values.map(loop.getInductionVar(), low);
    values.map(loop.getRegionIterArgs(), loop.getInitArgs());
    for (Operation &op : chain.body()->without_terminator())
      if (!isSecond(&op))
        builder.clone(op, values);
    scf::ForOp steps = writeLoop(carried(values), low, high);
    Value last = arith::SubIOp::create(builder, loc, high, one(high));
    SmallVector<Value> results(steps.getResults());
    Value weights = results.pop_back_val();
    results[chain.sum] = multiply(last, weights, results[chain.sum]);
    scf::YieldOp::create(builder, loc, results);
    loop.replaceAllUsesWith(branch.getResults());
    loop.erase();
  }

private:
  bool isSecond(Operation *op) const {
    return op == chain.second || chain.onlyForLoad.contains(op);
  }
  Value one(Value like) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(like.getType(), 1));
  }

  /// What a step hands to the next: instead of the sum what the second product adds to, and at the
  /// end its operand a.
  SmallVector<Value> carried(IRMapping &values) {
    SmallVector<Value> out = llvm::map_to_vector(
        loop.getYieldedValues(), [&](Value value) { return values.lookupOrDefault(value); });
    out[chain.sum] = values.lookupOrDefault(chain.second.getAccumulator());
    out.push_back(values.lookupOrDefault(chain.second.getA()));
    return out;
  }

  /// The second product of the step `index`.
  Value multiply(Value index, Value a, Value sum) {
    IRMapping values;
    values.map(loop.getInductionVar(), index);
    for (Operation *op : chain.load)
      builder.clone(*op, values);
    values.map(chain.second.getA(), a);
    values.map(chain.second.getAccumulator(), sum);
    return builder.clone(*chain.second, values)->getResult(0);
  }

  /// The steps from the second on, each with the second product of the step before.
  scf::ForOp writeLoop(ArrayRef<Value> inits, Value low, Value high) {
    OpBuilder::InsertionGuard guard(builder);
    Value second = arith::AddIOp::create(builder, loc, low, one(low));
    auto steps = scf::ForOp::create(builder, loc, second, high, loop.getStep(), inits);
    steps->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    Block *body = steps.getBody();
    if (!body->empty())
      body->back().erase();
    builder.setInsertionPointToEnd(body);

    IRMapping values;
    values.map(loop.getInductionVar(), steps.getInductionVar());
    values.map(loop.getRegionIterArgs(), steps.getRegionIterArgs().drop_back());
    // A cast of the weights waits until the registers of those before are free.
    Operation *cast = chain.second.getA().getDefiningOp<tile::CastOp>();
    if (cast && !cast->hasOneUse())
      cast = nullptr;
    for (Operation &op : chain.body()->without_terminator()) {
      if (isSecond(&op) || chain.late.contains(&op) || &op == cast)
        continue;
      builder.clone(op, values);
      if (&op != chain.first)
        continue;
      Value before = arith::SubIOp::create(builder, loc, steps.getInductionVar(), one(low));
      values.map(chain.sumSoFar(), multiply(before, steps.getRegionIterArgs().back(),
                                            steps.getRegionIterArg(chain.sum)));
    }
    for (Operation &op : chain.body()->without_terminator())
      if (chain.late.contains(&op) && !isSecond(&op))
        builder.clone(op, values);
    if (cast)
      builder.clone(*cast, values);
    scf::YieldOp::create(builder, loc, carried(values));
    return steps;
  }

  Chain &chain;
  scf::ForOp loop;
  Location loc;
  OpBuilder builder;
};

/// Whether a loop starts with results of another.
bool continues(scf::ForOp loop, scf::ForOp other) {
  return llvm::any_of(loop.getInitArgs(),
                      [&](Value init) { return init.getDefiningOp() == other; });
}

int64_t countOps(Block *block) {
  int64_t count = 0;
  block->walk([&](Operation *) { ++count; });
  return count;
}

} // namespace

void pipelineProducts(gpu::GPUFuncOp kernel) {
  SmallVector<Chain> chains;
  kernel.walk([&](scf::ForOp loop) {
    SmallVector<tile::DotOp> products(loop.getBody()->getOps<tile::DotOp>());
    if (products.size() < 2)
      return;
    Chain chain;
    if (std::string why = findChain(loop, products, chain); !why.empty())
      emitRemark(loop.getLoc(), "products not pipelined: ") << why;
    else
      chains.push_back(std::move(chain));
  });

  // Loops that continue each other's sums: blocks with and without a mask.
  std::vector<SmallVector<Chain *>> groups;
  for (Chain &chain : chains) {
    auto group = llvm::find_if(groups, [&](ArrayRef<Chain *> members) {
      return llvm::any_of(members, [&](Chain *one) { return continues(chain.loop, one->loop); });
    });
    if (group == groups.end())
      group = groups.insert(groups.end(), SmallVector<Chain *>());
    group->push_back(&chain);
  }
  for (ArrayRef<Chain *> group : groups) {
    // The first step stands in the code once more. Of a group one loop is worth that: the one with
    // the shortest step, since what the others do more is for edges.
    Chain *main = *llvm::min_element(
        group, [](Chain *a, Chain *b) { return countOps(a->body()) < countOps(b->body()); });
    for (Chain *other : group)
      if (other != main)
        emitRemark(other->loop.getLoc(),
                   "products not pipelined: the loop has its sums in common with "
                   "one that is, and does more in a step")
                .attachNote(main->loop.getLoc())
            << "which is this one";
    emitRemark(main->second.getLoc(), "product pipelined: it runs under the next step of the loop");
    Pipeliner(*main).run();
  }
}

namespace {
struct TilePipelineProducts : impl::TilePipelineProductsBase<TilePipelineProducts> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (isInTilePhase(kernel))
        pipelineProducts(kernel);
  }
};
} // namespace

} // namespace girih::wg
