// Types and conversions; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ApplyLayouts.h"

#include "girih/Layout/Algebra.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace girih::wg {

namespace {

RankedTensorType withLayout(Type type, LayoutAttr layout) {
  return cast<RankedTensorType>(type).cloneWithEncoding(layout);
}

/// A way to have a value in a layout, and its price in transactions.
struct Way {
  int64_t price = 0;
  /// Whether to compute it anew, from operands in these layouts, and not to convert it.
  bool anew = false;
  SmallVector<LayoutAttr, 2> operands;
  std::string error;
};

class Applier {
public:
  Applier(LayoutProblem &problem, ConversionPrices &prices, const AssignLayoutsOptions &options)
      : problem(problem), prices(prices), options(options) {}

  LogicalResult run() {
    for (Tie &tie : problem.ties)
      for (Value value : tie.values)
        setLayout(value, tie.layout);
    for (Tie &tie : problem.ties)
      for (OpOperand *operand : tie.operands)
        if (failed(supply(*operand, tie)))
          return failure();
    return success();
  }

private:
  static LayoutAttr layoutOf(Value value) {
    return getLayout(cast<RankedTensorType>(value.getType()));
  }

  static void setLayout(Value value, LayoutAttr layout) {
    value.setType(withLayout(value.getType(), layout));
    if (auto constant = value.getDefiningOp<arith::ConstantOp>())
      if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue()))
        constant.setValueAttr(elements.reshape(cast<ShapedType>(value.getType())));
  }

  /// The operands of `op` that are tiles, with the layouts they need for its result in `layout`;
  /// nothing if the op cannot be computed in another place.
  std::optional<SmallVector<LayoutAttr, 2>> needsOf(Operation *op, LayoutAttr layout) {
    if (!op || op->getNumResults() != 1 || op->getNumRegions() || !isMemoryEffectFree(op))
      return std::nullopt;
    SmallVector<LayoutAttr, 2> needs;
    if (isFreeTile(op))
      return needs;
    auto found = problem.tieOfValue.find(op->getResult(0));
    if (found == problem.tieOfValue.end() || isa<ConvertLayoutOp>(op))
      return std::nullopt;
    unsigned index = found->second;
    const Tie *source = &problem.ties[index];
    for (unsigned l : problem.linksOfTie.lookup(index)) {
      const Link &link = problem.links[l];
      source = &problem.ties[link.from];
      if (isOneWay(link))
        return std::nullopt;
      girih::Result<LayoutAttr> made = problem.backward(link, layout);
      if (!made)
        return std::nullopt;
      layout = *made;
    }
    needs.assign(source->operands.size(), layout);
    return needs;
  }

  static SmallVector<OpOperand *, 2> tileOperands(Operation *op) {
    SmallVector<OpOperand *, 2> result;
    for (OpOperand &operand : op->getOpOperands())
      if (tile::isTile(operand.get().getType()))
        result.push_back(&operand);
    return result;
  }

  /// The cheapest way to have `value` in `layout`; chains longer than `depth` are not computed
  /// anew.
  Way wayTo(Value value, LayoutAttr layout, int depth = 8) {
    Way way;
    if (layoutOf(value) == layout || copies.contains({value, layout}))
      return way;
    ConversionPrice price = prices.of(layoutOf(value), layout, getElementTypeOrSelf(value));
    way.price = price.transactions;
    way.error = price.error;
    Operation *op = value.getDefiningOp();
    std::optional<SmallVector<LayoutAttr, 2>> needs = needsOf(op, layout);
    if (!needs || depth == 0 || !options.computeAnew)
      return way;
    const Layout &target = layout.getLayout();
    // Four warps compute at a time while one has shared memory. What makes tiles of nothing is
    // part of its users.
    int64_t warps = int64_t(target.inSize(Dim::Warp)) * target.inSize(Dim::Warpgroup);
    int64_t anew = isFreeTile(op) ? 0 : target.inSize(Dim::Register) * warps / 4;
    for (auto [operand, need] : llvm::zip_equal(tileOperands(op), *needs)) {
      if (!way.error.empty() ? false : anew > way.price)
        break;
      Way part = wayTo(operand->get(), need, depth - 1);
      if (!part.error.empty())
        return way;
      anew += part.price;
    }
    if (way.error.empty() && anew > way.price)
      return way;
    return {anew, true, *needs, {}};
  }

  /// `value` in `layout`, made where the value is, so that a loop does not make it again.
  Value make(Value value, LayoutAttr layout, Operation *user) {
    if (layoutOf(value) == layout)
      return value;
    if (Value known = copies.lookup({value, layout}))
      return known;
    Way way = wayTo(value, layout);
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    Value made;
    if (way.anew) {
      Operation *op = value.getDefiningOp();
      IRMapping mapping;
      for (auto [operand, need] : llvm::zip_equal(tileOperands(op), way.operands))
        mapping.map(operand->get(), make(operand->get(), need, user));
      made = builder.clone(*op, mapping)->getResult(0);
      setLayout(made, layout);
    } else {
      made = ConvertLayoutOp::create(builder, user->getLoc(), withLayout(value.getType(), layout),
                                     value);
      remark(value, layout, user);
    }
    copies[{value, layout}] = made;
    return made;
  }

  LogicalResult supply(OpOperand &operand, const Tie &tie) {
    Value value = operand.get();
    if (layoutOf(value) == tie.layout)
      return success();
    // A wg.convert_layout takes what there is and converts it.
    Way way;
    if (tie.takesAny)
      way.error = prices.of(layoutOf(value), tie.layout, getElementTypeOrSelf(value)).error;
    else
      way = wayTo(value, tie.layout);
    if (!way.error.empty()) {
      const Layout &has = layoutOf(value).getLayout(), &needs = tie.layout.getLayout();
      InFlightDiagnostic error =
          tie.op->emitOpError("needs a tile in another layout than it has, and no conversion leads "
                              "from one to the other: ")
          << way.error;
      noteMaker(error, value) << layoutOf(value);
      error.attachNote(tie.op->getLoc()) << "it is needed in " << tie.layout;
      if (auto conflict = firstConflict(has, needs))
        error.attachNote(tie.op->getLoc()) << *conflict;
      error.attachNote(tie.op->getLoc())
          << "expected tiles of one role; a tile goes to another role through a buffer or a ring";
      return error;
    }
    if (!tie.takesAny)
      operand.set(make(value, tie.layout, tie.op));
    return success();
  }

  static Diagnostic &noteMaker(InFlightDiagnostic &diagnostic, Value value) {
    Location loc = value.getLoc();
    Operation *op = value.getDefiningOp();
    if (!op)
      op = cast<BlockArgument>(value).getOwner()->getParentOp();
    return diagnostic.attachNote(loc) << "'" << op->getName() << "' has it in ";
  }

  void remark(Value value, LayoutAttr layout, Operation *user) {
    ConversionPrice price = prices.of(layoutOf(value), layout, getElementTypeOrSelf(value));
    girih::Result<ConversionPlan> plan =
        planOf(layoutOf(value), layout, getElementTypeOrSelf(value));
    girih::Result<Conversion> moved =
        girih::convert(layoutOf(value).getLayout(), layout.getLayout());
    bool inThreads = plan->renames || (plan->shuffles && plan->shuffles->shuffles == 0);
    StringRef way = moved->kind == ConversionKind::None ? "without moving anything"
                    : inThreads                         ? "within each thread"
                    : plan->shuffles                    ? "by shuffles"
                                                        : "through shared memory";
    auto type = cast<RankedTensorType>(value.getType());
    InFlightDiagnostic diagnostic = emitRemark(user->getLoc())
                                    << "'" << user->getName() << "' gets its tile of "
                                    << RankedTensorType::get(type.getShape(), type.getElementType())
                                    << " converted " << way << ", " << price.transactions
                                    << " transactions: " << moved->reason;
    noteMaker(diagnostic, value) << layoutOf(value);
  }

  LayoutProblem &problem;
  ConversionPrices &prices;
  const AssignLayoutsOptions &options;
  DenseMap<std::pair<Value, LayoutAttr>, Value> copies;
};

} // namespace

LogicalResult applyLayouts(LayoutProblem &problem, ConversionPrices &prices,
                           const AssignLayoutsOptions &options) {
  return Applier(problem, prices, options).run();
}

} // namespace girih::wg
