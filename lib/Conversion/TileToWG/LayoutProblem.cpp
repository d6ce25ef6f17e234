// Ties and links of a kernel; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LayoutProblem.h"

#include "girih/Layout/Reduction.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace girih::wg {

RankedTensorType Tie::type() const {
  return cast<RankedTensorType>(values.empty() ? operands.front()->get().getType()
                                               : values.front().getType());
}

Extents tileExtents(RankedTensorType type) {
  return Extents(type.getShape().begin(), type.getShape().end());
}

std::optional<std::string> unsuitable(Operation *op, const Layout &layout, RankedTensorType tile) {
  if (!isa<tile::ReduceOp, tile::ScanOp>(op))
    return std::nullopt;
  int64_t dim = cast<IntegerAttr>(op->getAttr("dim")).getInt();
  auto reduction = analyseReduction(layout, tileExtents(tile), static_cast<int32_t>(dim));
  if (!reduction)
    return reduction.error();
  if (!isa<tile::ScanOp>(op))
    return std::nullopt;
  auto order = scanOrder(*reduction, static_cast<int32_t>(tile.getDimSize(dim)));
  return order ? std::nullopt : std::optional(order.error());
}

/// Whether each coordinate of a tile is a layout too: a load asks for them one by one.
static bool hasCoordinates(const Layout &layout, const Extents &shape) {
  for (size_t dim = 0; shape.size() > 2 && dim < shape.size(); ++dim)
    if (!coordinateOf(layout, shape, static_cast<int32_t>(dim)))
      return false;
  return true;
}

bool isFreeTile(Operation *op) {
  return op && isa<arith::ConstantOp, tensor::SplatOp, tile::IotaOp>(op) &&
         tile::isTile(op->getResult(0).getType());
}

static bool isTensor(Value value) { return tile::isTile(value.getType()); }

/// Ops that work on their tiles element by element, all in one layout.
static bool isUniform(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() ||
         isa<arith::SelectOp, tile::CastOp, tile::ScanOp, tile::GatherOp, tile::ScatterOp,
             tile::AtomicOp, tile::LoadOp, tile::StoreOp, tile::PrintOp, tile::AssertOp>(op);
}

unsigned LayoutProblem::addTie(Operation *op, ValueRange values, ArrayRef<OpOperand *> operands) {
  unsigned index = ties.size();
  Tie &tie = ties.emplace_back();
  tie.op = op;
  for (Value value : values)
    if (isTensor(value)) {
      tie.values.push_back(value);
      tieOfValue[value] = index;
    }
  for (OpOperand *operand : operands)
    if (isTensor(operand->get())) {
      tie.operands.push_back(operand);
      tieOfOperand[operand] = index;
    }
  for (Value value : tie.values) {
    if (LayoutAttr layout = getLayout(cast<RankedTensorType>(value.getType()))) {
      tie.layout = layout;
      tie.isFixed = true;
    } else {
      isOpen = true;
    }
  }
  if (tie.values.empty() && tie.operands.empty()) {
    ties.pop_back();
    return ~0u;
  }
  return index;
}

void LayoutProblem::addLink(Operation *op, unsigned from, unsigned to) {
  if (from == ~0u || to == ~0u)
    return;
  linksOfTie[from].push_back(links.size());
  linksOfTie[to].push_back(links.size());
  links.push_back({op, from, to});
}

static SmallVector<OpOperand *> pointers(MutableArrayRef<OpOperand> operands) {
  SmallVector<OpOperand *> result;
  for (OpOperand &operand : operands)
    result.push_back(&operand);
  return result;
}

void LayoutProblem::addLoop(Operation *op, ValueRange arguments, ValueRange results,
                            MutableArrayRef<OpOperand> inits, Operation *yield) {
  for (auto [i, argument] : llvm::enumerate(arguments))
    if (isTensor(argument))
      addTie(op, {argument, results[i]}, {&inits[i], &yield->getOpOperand(i)});
}

LogicalResult LayoutProblem::add(Operation *op) {
  if (isUniform(op)) {
    addTie(op, op->getResults(), pointers(op->getOpOperands()));
    return success();
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tile::ReduceOp) {
        unsigned from = addTie(op, {}, pointers(op->getOpOperands()));
        addLink(op, from, addTie(op, op->getResults(), {}));
        return success();
      })
      .Case<tile::ExpandOp, tile::BroadcastOp, tile::ReshapeOp, tile::TransposeOp, tile::JoinOp,
            tile::SplitOp>([&](Operation *) {
        unsigned from = addTie(op, {}, pointers(op->getOpOperands()));
        addLink(op, from, addTie(op, op->getResults(), {}));
        return success();
      })
      .Case([&](tile::TakeOp take) {
        unsigned tile = addTie(op, take.getTile(), {});
        addLink(op, tile, addTie(op, {}, &take.getPlacesMutable()));
        return success();
      })
      .Case([&](tile::PutOp put) {
        unsigned tile = addTie(op, {}, &put.getTileMutable());
        addLink(op, tile, addTie(op, {}, &put.getPlacesMutable()));
        return success();
      })
      .Case([&](ConvertLayoutOp convert) {
        unsigned tie = addTie(op, convert.getTile(), &convert.getSourceMutable());
        ties[tie].takesAny = true;
        return success();
      })
      .Case([&](scf::ForOp loop) {
        addLoop(op, loop.getRegionIterArgs(), loop.getResults(), loop.getInitArgsMutable(),
                loop.getBody()->getTerminator());
        return success();
      })
      .Case<FillOp, DrainOp>([&](auto loop) {
        addLoop(op, loop.getIterArgs(), loop.getResults(), loop.getInitsMutable(), loop.getYield());
        return success();
      })
      .Case([&](scf::WhileOp loop) {
        Operation *condition = loop.getConditionOp(), *yield = loop.getYieldOp();
        for (auto [i, argument] : llvm::enumerate(loop.getBeforeArguments()))
          addTie(op, argument, {&loop.getInitsMutable()[i], &yield->getOpOperand(i)});
        for (auto [i, argument] : llvm::enumerate(loop.getAfterArguments()))
          addTie(op, {argument, loop.getResult(i)}, {&condition->getOpOperand(1 + i)});
        return success();
      })
      .Case([&](scf::IfOp branch) {
        for (OpResult result : branch.getResults()) {
          unsigned i = result.getResultNumber();
          addTie(op, result,
                 {&branch.thenYield()->getOpOperand(i), &branch.elseYield()->getOpOperand(i)});
        }
        return success();
      })
      .Default([&](Operation *) -> LogicalResult {
        // Each result of another op has its layout from its author, or can be anything.
        for (Value result : op->getResults())
          if (isTensor(result)) {
            if (!isTile(result.getType()) && !isFreeTile(op))
              return op->emitOpError("has a tile without a layout, and wg-assign-layouts has no "
                                     "rule for it; expected a type with #wg.layout");
            addTie(op, result, {});
          }
        return success();
      });
}

void LayoutProblem::markCheap() {
  for (auto [i, tie] : llvm::enumerate(ties)) {
    if (tie.isFixed || tie.op->getNumRegions() || !isMemoryEffectFree(tie.op))
      continue;
    bool fromCheap = llvm::all_of(tie.operands, [&](OpOperand *operand) {
      auto maker = tieOfValue.find(operand->get());
      return maker != tieOfValue.end() && ties[maker->second].isCheap;
    });
    bool isMade = isFreeTile(tie.op) || !tie.operands.empty();
    for (unsigned l : linksOfTie.lookup(static_cast<unsigned>(i)))
      if (links[l].to == i)
        isMade = ties[links[l].from].isCheap;
    tie.isCheap = fromCheap && isMade;
  }
}

FailureOr<LayoutProblem> LayoutProblem::of(gpu::GPUFuncOp kernel) {
  LayoutProblem problem;
  WalkResult result = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    // The products of a kernel that tile-specialize has left alone; the phase's verifier has the
    // word on them.
    if (isa<tile::DotOp>(op))
      return WalkResult::skip();
    return failed(problem.add(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  problem.markCheap();
  return problem;
}

/// The layout of the places of a take or put: each thread has those of the elements that it holds.
static girih::Result<Layout> placesOf(Layout layout, Extents shape, int64_t dim) {
  for (int64_t i = static_cast<int64_t>(shape.size()) - 1; i >= 0; --i) {
    if (i == dim)
      continue;
    girih::Result<Layout> less = reduceOf(layout, shape, static_cast<int32_t>(i));
    if (!less)
      return less;
    layout = *less;
    shape.erase(shape.begin() + i);
  }
  return layout;
}

static std::vector<int32_t> narrowed(ArrayRef<int64_t> numbers) {
  return std::vector<int32_t>(numbers.begin(), numbers.end());
}

/// The layout behind an op that has `layout` before it.
static girih::Result<Layout> behind(Operation *op, const Layout &layout, const Extents &source,
                                    const Extents &result) {
  auto dim = [](auto op) { return static_cast<int32_t>(op.getDim()); };
  return llvm::TypeSwitch<Operation *, girih::Result<Layout>>(op)
      .Case([&](tile::ReduceOp op) { return reduceOf(layout, source, dim(op)); })
      .Case([&](tile::ExpandOp op) { return expandOf(layout, source, dim(op)); })
      .Case([&](tile::BroadcastOp) { return broadcastOf(layout, source, result); })
      .Case([&](tile::ReshapeOp) { return reshapeOf(layout, source, result); })
      .Case([&](tile::TransposeOp op) {
        return transposeOf(layout, source, narrowed(op.getOrder()));
      })
      .Case([&](tile::JoinOp) { return joinOf(layout, source); })
      .Case([&](tile::SplitOp) { return splitOf(layout, source); })
      .Case<tile::TakeOp, tile::PutOp>(
          [&](auto op) { return placesOf(layout, source, op.getDim()); });
}

/// The layout before an op that has `layout` behind it.
static girih::Result<Layout> before(Operation *op, const Layout &layout, const Extents &source,
                                    const Extents &result) {
  return llvm::TypeSwitch<Operation *, girih::Result<Layout>>(op)
      .Case([&](tile::ExpandOp op) {
        return reduceOf(layout, result, static_cast<int32_t>(op.getDim()));
      })
      .Case([&](tile::BroadcastOp) { return broadcastSourceOf(layout, result, source); })
      .Case([&](tile::ReshapeOp) { return reshapeOf(layout, result, source); })
      .Case([&](tile::TransposeOp op) {
        std::vector<int32_t> inverse(source.size());
        for (auto [i, at] : llvm::enumerate(op.getOrder()))
          inverse[at] = static_cast<int32_t>(i);
        return transposeOf(layout, result, inverse);
      })
      .Case([&](tile::JoinOp) { return splitOf(layout, result); })
      .Case([&](tile::SplitOp) { return joinOf(layout, result); })
      .Default([](Operation *) {
        return LayoutError{"many layouts of the source lead to one of the result"};
      });
}

girih::Result<LayoutAttr> LayoutProblem::answer(const Link &link, bool isForward,
                                                LayoutAttr layout) const {
  Attribute stated = link.op->getAttr("dim");
  if (auto transpose = dyn_cast<tile::TransposeOp>(link.op))
    stated = transpose.getOrderAttr();
  Extents source = tileExtents(ties[link.from].type()), result = tileExtents(ties[link.to].type());
  Question question(link.op->getName().getAsOpaquePointer(), stated.getAsOpaquePointer(), isForward,
                    source, result, layout.getAsOpaquePointer());
  if (auto known = answers.find(question); known != answers.end())
    return known->second;
  girih::Result<Layout> made = isForward ? behind(link.op, layout.getLayout(), source, result)
                                         : before(link.op, layout.getLayout(), source, result);
  girih::Result<LayoutAttr> found = LayoutError{made.error()};
  if (made && !hasCoordinates(*made, isForward ? result : source))
    found = LayoutError{"the coordinates of its elements are no atom with repeats"};
  else if (made)
    found = LayoutAttr::get(layout.getContext(), *made);
  answers.emplace(std::move(question), found);
  return found;
}

girih::Result<LayoutAttr> LayoutProblem::forward(const Link &link, LayoutAttr layout) const {
  return answer(link, true, layout);
}
girih::Result<LayoutAttr> LayoutProblem::backward(const Link &link, LayoutAttr layout) const {
  return answer(link, false, layout);
}

bool isWastefulForward(const Link &link) { return isa<tile::BroadcastOp>(link.op); }
bool isOneWay(const Link &link) { return isa<tile::ReduceOp, tile::TakeOp, tile::PutOp>(link.op); }

bool LayoutProblem::holds(const Link &link) const {
  const Tie &from = ties[link.from], &to = ties[link.to];
  if (!isOneWay(link)) {
    girih::Result<LayoutAttr> needed = backward(link, to.layout);
    if (needed && *needed == from.layout)
      return true;
  }
  girih::Result<LayoutAttr> made = forward(link, from.layout);
  return made && *made == to.layout;
}

} // namespace girih::wg
