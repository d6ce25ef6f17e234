// Layouts spread from tie to tie; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SolveLayouts.h"

#include "girih/Layout/Blocked.h"

#include "llvm/ADT/STLExtras.h"

#include <deque>
#include <numeric>

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
  Solver(LayoutProblem &problem, ConversionPrices &prices, const AssignLayoutsOptions &options)
      : problem(problem), prices(prices), options(options) {}

  LogicalResult run() {
    for (unsigned i = 0; i < problem.ties.size(); ++i)
      for (OpOperand *operand : tie(i).operands)
        if (LayoutAttr given = getLayout(cast<RankedTensorType>(operand->get().getType()));
            given && !tie(i).layout && !problem.tieOfValue.contains(operand->get()))
          tie(i).layout = given;
    for (const Tie &tie : problem.ties)
      fixed.push_back(tie.layout);

    std::optional<int64_t> best;
    SmallVector<LayoutAttr> chosen;
    for (std::optional<unsigned> first : beginnings()) {
      decide(first);
      int64_t price = unsettled ? std::numeric_limits<int64_t>::max() : totalPrice();
      if (best && *best <= price)
        continue;
      best = price;
      chosen = llvm::map_to_vector(problem.ties, [](const Tie &tie) { return tie.layout; });
      if (unsettled)
        reasonOfBest = {*unsettled, reason};
      else
        reasonOfBest.reset();
    }
    for (auto [tie, layout] : llvm::zip_equal(problem.ties, chosen))
      tie.layout = layout;
    return reasonOfBest ? report(problem.links[reasonOfBest->first], reasonOfBest->second)
                        : success();
  }

private:
  Tie &tie(unsigned i) { return problem.ties[i]; }

  /// How often what stands at `op` runs, as a weight: loops run four times.
  static int64_t weightOf(Operation *op) {
    int64_t weight = 1;
    while ((op = op->getParentOp()) && weight < 64)
      weight *= isa<scf::ForOp, scf::WhileOp, FillOp, DrainOp>(op) ? 4 : 1;
    return weight;
  }

  /// Ties of accesses to memory, those that move most first.
  SmallVector<unsigned> accesses() {
    auto weight = [&](unsigned i) {
      RankedTensorType type = tie(i).type();
      return type.getNumElements() * type.getElementTypeBitWidth() * weightOf(tie(i).op);
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

  LayoutAttr preferred(unsigned i) {
    return preferredLayout(tie(i).type(), viewOf(tie(i)), warpsAround(tie(i).op));
  }

  /// The accesses whose wish may be granted first: the largest, and as many others as want
  /// something else, up to three.
  SmallVector<std::optional<unsigned>> beginnings() {
    SmallVector<std::optional<unsigned>> result;
    SmallVector<LayoutAttr> wishes;
    for (unsigned i : accesses())
      if (LayoutAttr wish = preferred(i); !tie(i).layout &&
                                          result.size() < std::max(options.alternatives, 1u) &&
                                          !llvm::is_contained(wishes, wish)) {
        wishes.push_back(wish);
        result.push_back(i);
      }
    if (result.empty())
      result.push_back(std::nullopt);
    return result;
  }

  /// Decides every tie, with the wish of `first` before those of other accesses.
  void decide(std::optional<unsigned> first) {
    unsettled.reset();
    atLast = false;
    for (auto [tie, layout] : llvm::zip_equal(problem.ties, fixed))
      tie.layout = layout;
    for (unsigned i = 0; i < problem.ties.size(); ++i)
      if (fixed[i])
        spread(i);
    if (first && !tie(*first).layout)
      assign(*first, preferred(*first));
    for (unsigned i : accesses())
      if (!tie(i).layout)
        assign(i, preferred(i));
    // What is left is made of tiles that no access asks about, or lies behind a broadcast.
    atLast = true;
    for (unsigned i = 0; i < problem.ties.size(); ++i)
      if (tie(i).layout)
        spread(i);
    for (unsigned i = 0; i < problem.ties.size(); ++i)
      if (!tie(i).layout)
        assign(i, defaultLayout(tie(i).type(), warpsAround(tie(i).op)));
    if (options.convertAccesses)
      reconsiderAccesses();
    for (unsigned i = 0; i < problem.ties.size(); ++i)
      suit(i);
    for (auto [i, link] : llvm::enumerate(problem.links))
      if (!settle(link) && !unsettled)
        unsettled = static_cast<unsigned>(i);
  }

  /// Prices of all accesses and transactions of all conversions, by how often they happen.
  int64_t totalPrice() {
    int64_t total = 0;
    for (const Tie &tie : problem.ties) {
      if (tile::ViewType view = viewOf(tie))
        total += weightOf(tie.op) *
                 globalAccess(tie.layout.getLayout(), tie.type(), view, tie.values.empty()).price;
      for (OpOperand *operand : tie.operands) {
        auto maker = problem.tieOfValue.find(operand->get());
        if (maker == problem.tieOfValue.end() || problem.ties[maker->second].isCheap)
          continue;
        const Tie &from = problem.ties[maker->second];
        total += weightOf(from.op) *
                 prices.of(from.layout, tie.layout, from.type().getElementType()).transactions;
      }
    }
    return total;
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
      int64_t asIs = globalAccess(access.layout.getLayout(), type, viewOf(access), !isLoad).price;
      int64_t converted = globalAccess(own.getLayout(), type, viewOf(access), !isLoad).price;
      if (converted + price.transactions < asIs)
        access.layout = own;
    }
  }

  /// Changes one of a link's ties so that the link holds: the source if it can, since a conversion
  /// before the op is never dearer than one behind it. False, with `reason`, if it cannot hold.
  bool settle(const Link &link) {
    Tie &from = tie(link.from), &to = tie(link.to);
    if (problem.holds(link))
      return true;
    if (!isOneWay(link) && from.values.empty()) {
      girih::Result<LayoutAttr> needed = problem.backward(link, to.layout);
      if (needed) {
        from.layout = *needed;
        return true;
      }
      reason = needed.error();
    }
    if (to.isFixed)
      return false;
    girih::Result<LayoutAttr> made = problem.forward(link, from.layout);
    if (made) {
      to.layout = *made;
      return true;
    }
    reason = made.error();
    for (LayoutAttr layout : plainLayouts(from.type(), to.type(), warpsAround(link.op))) {
      if (!from.values.empty() || !isSuitable(link.op, layout, from.type()))
        continue;
      if (auto made = problem.forward(link, layout)) {
        from.layout = layout;
        to.layout = *made;
        return true;
      }
    }
    return false;
  }

  /// Layouts that any op on shapes takes: blocked along some dimension, or what two shapes of the
  /// same elements have in common.
  static SmallVector<LayoutAttr> plainLayouts(RankedTensorType type, RankedTensorType result,
                                              int64_t warps) {
    int32_t perGroup = static_cast<int32_t>(std::min<int64_t>(warps, 4));
    int32_t groups = static_cast<int32_t>(std::max<int64_t>(warps / 4, 1));
    SmallVector<LayoutAttr> layouts;
    auto add = [&](const girih::Result<Layout> &layout) {
      if (layout)
        layouts.push_back(LayoutAttr::get(type.getContext(), *layout));
    };
    for (int64_t dim = type.getRank() - 1; dim >= 0; --dim)
      add(blocked(tileExtents(type), static_cast<int32_t>(dim), 1, perGroup, groups));
    int64_t common = std::gcd(type.getShape().back(), result.getShape().back());
    add(innermost(tileExtents(type), static_cast<int32_t>(common & -common), perGroup, groups));
    return layouts;
  }

  bool isSuitable(Operation *op, LayoutAttr layout, RankedTensorType type) {
    if (!isa<tile::ReduceOp, tile::ScanOp>(op))
      return true;
    std::tuple key(isa<tile::ScanOp>(op), op->getAttr("dim").getAsOpaquePointer(),
                   tileExtents(type), layout.getAsOpaquePointer());
    auto [entry, isNew] = suitable.try_emplace(std::move(key), false);
    if (isNew)
      entry->second = !unsuitable(op, layout.getLayout(), type);
    return entry->second;
  }

  /// Gives a scan, or the source of a reduction, a layout that it can work on.
  void suit(unsigned i) {
    Tie &tie = this->tie(i);
    bool isWorked =
        isa<tile::ScanOp>(tie.op) || (isa<tile::ReduceOp>(tie.op) && tie.values.empty());
    if (!isWorked || tie.isFixed || isSuitable(tie.op, tie.layout, tie.type()))
      return;
    for (LayoutAttr layout : plainLayouts(tie.type(), tie.type(), warpsAround(tie.op)))
      if (isSuitable(tie.op, layout, tie.type())) {
        tie.layout = layout;
        return;
      }
  }

  LogicalResult report(const Link &link, const std::string &why) {
    InFlightDiagnostic error = link.op->emitOpError("has no layout for its result: ") << why;
    error.attachNote(link.op->getLoc())
        << "its source has " << tie(link.from).layout
        << "; expected another shape, or a wg.convert_layout of the source to a layout that each "
           "thread's part of the result can be read from";
    return error;
  }

  LayoutProblem &problem;
  ConversionPrices &prices;
  const AssignLayoutsOptions &options;
  std::map<std::tuple<bool, const void *, Extents, const void *>, bool> suitable;
  /// The layouts that are given, by tie; null for those to be decided.
  SmallVector<LayoutAttr> fixed;
  bool atLast = false;
  /// The first link that cannot hold in the last decision, and why.
  std::optional<unsigned> unsettled;
  std::string reason;
  std::optional<std::pair<unsigned, std::string>> reasonOfBest;
};

} // namespace

LogicalResult solveLayouts(LayoutProblem &problem, ConversionPrices &prices,
                           const AssignLayoutsOptions &options) {
  return Solver(problem, prices, options).run();
}

} // namespace girih::wg
