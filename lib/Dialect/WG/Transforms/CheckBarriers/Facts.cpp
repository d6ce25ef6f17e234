// What the host plan says of the numbers that a kernel gets.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Writer.h"

#include "girih/Dialect/Plan/IR/Plan.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace girih::wg::check {

namespace {

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

} // namespace

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

} // namespace girih::wg::check
