// Layouts spread from tie to tie; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SolveLayouts.h"

#include "girih/Layout/Blocked.h"

#include "llvm/ADT/STLExtras.h"

#include <deque>

using namespace mlir;

namespace girih::wg {

int64_t warpsAround(Operation *op) {
  if (auto role = op->getParentOfType<RoleOp>())
    return role.getWarps();
  int64_t threads = 1;
  if (auto kernel = op->getParentOfType<gpu::GPUFuncOp>())
    if (std::optional<ArrayRef<int32_t>> size = kernel.getKnownBlockSize())
      for (int32_t extent : *size)
        threads *= extent;
  return std::max<int64_t>(threads / 32, 1);
}

tile::ViewType viewOf(const Tie &tie) {
  if (auto load = dyn_cast<tile::LoadOp>(tie.op))
    return load.getView().getType();
  if (auto store = dyn_cast<tile::StoreOp>(tie.op))
    return store.getView().getType();
  // Along the listed dimension nothing is contiguous.
  auto listed = [](tile::ViewType view, int64_t dim) {
    return view.getContiguous() == dim
               ? tile::ViewType::get(view.getContext(), view.getElementType(), view.getRank(), -1,
                                     view.getElementBytes())
               : view;
  };
  if (auto take = dyn_cast<tile::TakeOp>(tie.op); take && !tie.values.empty())
    return listed(take.getView().getType(), take.getDim());
  if (auto put = dyn_cast<tile::PutOp>(tie.op);
      put && tie.operands.front() == &put.getTileMutable())
    return listed(put.getView().getType(), put.getDim());
  return {};
}

namespace {

class Solver {
public:
  Solver(LayoutProblem &problem, ConversionPrices &prices) : problem(problem), prices(prices) {}

  LogicalResult run() {
    for (unsigned i = 0; i < problem.ties.size(); ++i)
      if (tie(i).layout)
        spread(i);
    // A layout may also come from outside of the kernel's ops.
    for (unsigned i = 0; i < problem.ties.size(); ++i)
      for (OpOperand *operand : tie(i).operands)
        if (LayoutAttr given = getLayout(cast<RankedTensorType>(operand->get().getType()));
            given && !tie(i).layout)
          assign(i, given);
    for (unsigned i : accesses())
      if (!tie(i).layout)
        assign(i, preferredLayout(tie(i).type(), viewOf(tie(i)), warpsAround(tie(i).op)));
    // What is left is made of tiles that no access asks about, or lies behind a broadcast.
    atLast = true;
    for (unsigned i = 0; i < problem.ties.size(); ++i)
      if (tie(i).layout)
        spread(i);
    for (unsigned i = 0; i < problem.ties.size(); ++i)
      if (!tie(i).layout)
        assign(i, defaultLayout(tie(i).type(), warpsAround(tie(i).op)));
    reconsiderAccesses();
    for (const Link &link : problem.links)
      if (failed(settle(link)))
        return failure();
    return success();
  }

private:
  Tie &tie(unsigned i) { return problem.ties[i]; }

  /// Ties of accesses to memory: those in loops first, then by falling size.
  SmallVector<unsigned> accesses() {
    auto weight = [&](unsigned i) {
      int64_t depth = 0;
      for (Operation *op = tie(i).op; (op = op->getParentOp());)
        depth += isa<scf::ForOp, scf::WhileOp, FillOp, DrainOp>(op);
      RankedTensorType type = tie(i).type();
      int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
      return bits << (2 * std::min<int64_t>(depth, 3));
    };
    SmallVector<unsigned> result;
    for (unsigned i = 0; i < problem.ties.size(); ++i)
      if (viewOf(tie(i)))
        result.push_back(i);
    llvm::sort(result, [&](unsigned a, unsigned b) {
      return std::pair(-weight(a), a) < std::pair(-weight(b), b);
    });
    return result;
  }

  void assign(unsigned i, LayoutAttr layout) {
    tie(i).layout = layout;
    spread(i);
  }

  /// Hands the layout of a tie on to all that have none yet, as far as it goes.
  void spread(unsigned start) {
    std::deque<unsigned> queue{start};
    auto give = [&](unsigned i, LayoutAttr layout) {
      if (tie(i).layout)
        return;
      tie(i).layout = layout;
      queue.push_back(i);
    };
    while (!queue.empty()) {
      unsigned i = queue.front();
      queue.pop_front();
      LayoutAttr layout = tie(i).layout;
      // Uses of cheap values have nothing to do with each other.
      for (Value value : tie(i).isCheap && !atLast ? ArrayRef<Value>() : tie(i).values)
        for (OpOperand &use : value.getUses())
          if (auto user = problem.tieOfOperand.find(&use); user != problem.tieOfOperand.end())
            give(user->second, layout);
      for (OpOperand *operand : tie(i).operands)
        if (auto maker = problem.tieOfValue.find(operand->get());
            maker != problem.tieOfValue.end() && !isDerived(maker->second))
          give(maker->second, layout);
      for (unsigned l : problem.linksOfTie.lookup(i)) {
        const Link &link = problem.links[l];
        if (link.from == i && !tie(link.to).layout && (atLast || !isWastefulForward(link))) {
          if (auto made = problem.forward(link, layout))
            give(link.to, *made);
        } else if (link.to == i && !tie(link.from).layout && !isOneWay(link)) {
          if (auto made = problem.backward(link, layout))
            give(link.from, *made);
        }
      }
    }
  }

  /// The layout of a reduction's result follows from its source's; to guess it from its uses would
  /// be of no help.
  bool isDerived(unsigned i) {
    return llvm::any_of(problem.linksOfTie.lookup(i), [&](unsigned l) {
      return problem.links[l].to == i && isOneWay(problem.links[l]);
    });
  }

  /// An access whose layout came from elsewhere has its own instead where that is cheaper,
  /// conversion included.
  void reconsiderAccesses() {
    for (unsigned i : accesses()) {
      Tie &access = tie(i);
      if (access.isFixed)
        continue;
      RankedTensorType type = access.type();
      LayoutAttr own = preferredLayout(type, viewOf(access), warpsAround(access.op));
      if (own == access.layout)
        continue;
      bool isLoad = !access.values.empty();
      LayoutAttr from = isLoad ? own : access.layout, to = isLoad ? access.layout : own;
      ConversionPrice price = prices.of(from, to, type.getElementType());
      if (!price.error.empty())
        continue;
      int64_t asIs = globalAccess(access.layout.getLayout(), type, viewOf(access), !isLoad).sectors;
      int64_t converted = globalAccess(own.getLayout(), type, viewOf(access), !isLoad).sectors;
      if (converted + price.transactions < asIs)
        access.layout = own;
    }
  }

  /// Changes one of a link's ties so that the link holds: the source if it can, since a conversion
  /// before the op is never dearer than one behind it.
  LogicalResult settle(const Link &link) {
    Tie &from = tie(link.from), &to = tie(link.to);
    if (problem.holds(link))
      return success();
    std::string reason;
    if (!isOneWay(link) && from.values.empty()) {
      girih::Result<LayoutAttr> needed = problem.backward(link, to.layout);
      if (needed) {
        from.layout = *needed;
        return success();
      }
      reason = needed.error();
    }
    if (!to.isFixed) {
      girih::Result<LayoutAttr> made = problem.forward(link, from.layout);
      if (made) {
        to.layout = *made;
        return success();
      }
      reason = made.error();
      // A plain layout of the source, which most shapes take.
      RankedTensorType type = from.type();
      for (int64_t dim = type.getRank() - 1; dim >= 0 && from.values.empty(); --dim) {
        int64_t warps = warpsAround(link.op);
        auto plain = blocked(tileExtents(type), static_cast<int32_t>(dim), 1,
                             static_cast<int32_t>(std::min<int64_t>(warps, 4)),
                             static_cast<int32_t>(std::max<int64_t>(warps / 4, 1)));
        if (!plain)
          continue;
        LayoutAttr layout = LayoutAttr::get(link.op->getContext(), *plain);
        if (auto made = problem.forward(link, layout)) {
          from.layout = layout;
          to.layout = *made;
          return success();
        }
      }
    }
    InFlightDiagnostic error = link.op->emitOpError("has no layout for its result: ") << reason;
    error.attachNote(link.op->getLoc())
        << "its source has " << from.layout << "; expected another shape, or a wg.convert_layout "
        << "of the source to a layout that each thread's part of the result can be read from";
    return error;
  }

  LayoutProblem &problem;
  ConversionPrices &prices;
  bool atLast = false;
};

} // namespace

LogicalResult solveLayouts(LayoutProblem &problem, ConversionPrices &prices) {
  return Solver(problem, prices).run();
}

} // namespace girih::wg
