// The host's part of a kernel, as the passes of the tile phase ask about it and add to it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HostSide.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace girih::wg {

HostSide::HostSide(gpu::GPUFuncOp kernel) : kernel(kernel) {
  auto device = kernel->getParentOfType<gpu::GPUModuleOp>();
  auto module = kernel->getParentOfType<ModuleOp>();
  if (!device || !module)
    return;
  SmallVector<plan::LaunchOp> launches;
  module.walk([&](plan::LaunchOp op) {
    if (op.getKernel().getRootReference() == device.getSymNameAttr() &&
        op.getKernel().getLeafReference() == kernel.getNameAttr())
      launches.push_back(op);
  });
  if (launches.size() != 1)
    return;
  launch = launches.front();
  for (auto require : launch->getParentOp()->getRegion(0).getOps<plan::RequireOp>()) {
    auto compare = require.getCondition().getDefiningOp<arith::CmpIOp>();
    if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq)
      continue;
    std::optional<Extent> left = extentOf(compare.getLhs()), right = extentOf(compare.getRhs());
    if (left && right)
      equal.unionSets(*left, *right);
  }
}

Value HostSide::passedFor(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!launch || !argument || argument.getOwner() != &kernel.getBody().front() ||
      argument.getArgNumber() >= launch.getArgs().size())
    return {};
  Value passed = launch.getArgs()[argument.getArgNumber()];
  if (auto narrow = passed.getDefiningOp<arith::TruncIOp>())
    return narrow.getIn();
  return passed;
}

std::optional<HostSide::Extent> HostSide::extentOf(Value planValue) const {
  auto dim = planValue.getDefiningOp<plan::DimOp>();
  if (!dim)
    return std::nullopt;
  auto argument = dyn_cast<BlockArgument>(dim.getArray());
  if (!argument)
    return std::nullopt;
  return Extent(argument.getArgNumber(), dim.getDim());
}

bool HostSide::isExtent(Value value, Value array, int64_t dim) const {
  Value passed = passedFor(value);
  auto argument = dyn_cast<BlockArgument>(array);
  if (!passed || !argument)
    return false;
  std::optional<Extent> found = extentOf(passed);
  Extent wanted(argument.getArgNumber(), dim);
  return found && (*found == wanted || equal.isEquivalent(*found, wanted));
}

bool HostSide::isStride(Value value, Value array, int64_t dim) const {
  if (dim == cast<plan::ArrayType>(array.getType()).getContiguous() && matchPattern(value, m_One()))
    return true;
  Value passed = passedFor(value);
  auto stride = passed ? passed.getDefiningOp<plan::StrideOp>() : plan::StrideOp();
  return stride && stride.getArray() == array && static_cast<int64_t>(stride.getDim()) == dim;
}

BlockArgument HostSide::addTensorMap(Value array, ViewType type) {
  BlockArgument &map = maps[{array, type}];
  if (map)
    return map;
  OpBuilder builder(launch);
  auto made = plan::TensorMapOp::create(builder, launch.getLoc(), type, array);
  launch.getArgsMutable().append(made.getMap());
  unsigned index = kernel.getNumArguments();
  (void)kernel.insertArgument(index, type, {}, kernel.getLoc());
  return map = kernel.getArgument(index);
}

void HostSide::dropUnusedParameters() {
  if (!launch)
    return;
  llvm::BitVector unused(kernel.getNumArguments());
  for (BlockArgument argument : kernel.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  if (failed(kernel.eraseArguments(unused)))
    return;
  for (int index = unused.find_last(); index >= 0; index = unused.find_prev(index))
    launch.getArgsMutable().erase(index);
}

std::string HostSide::nameOf(Value array) const {
  auto argument = dyn_cast<BlockArgument>(array);
  if (!launch || !argument)
    return "the array";
  auto host = cast<plan::HostOp>(launch->getParentOp());
  return cast<StringAttr>(host.getArgNames()[argument.getArgNumber()]).str();
}

} // namespace girih::wg
