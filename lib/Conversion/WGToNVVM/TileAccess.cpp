// Plans of accesses by tiles; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TileAccess.h"

#include "girih/Layout/Replicas.h"

using namespace mlir;

namespace girih::wg {

Result<TileAccess> planTileAccess(RankedTensorType tile) {
  const Layout &layout = getLayout(tile).getLayout();
  Result<std::vector<Coordinate>> coordinates = coordinatesOf(layout, extentsOf(tile));
  if (!coordinates)
    return LayoutError{coordinates.error()};
  Result<Layout> replicas = replicasOf(layout);
  if (!replicas)
    return LayoutError{replicas.error()};
  TileAccess plan;
  plan.coordinates = std::move(*coordinates);
  for (int32_t reg = 0; reg < layout.inSize(Dim::Register); ++reg) {
    Point slot;
    slot[Dim::Register] = reg;
    plan.owned.push_back(replicas->apply(slot)[Dim::Row] == 0);
  }
  // Registers are told apart by `owned`; what is left numbers threads.
  LayoutSpec spec = replicas->spec();
  std::erase_if(spec.bases, [](const Base &base) { return base.dim == Dim::Register; });
  std::erase_if(spec.repeats, [](const Repeat &repeat) { return repeat.dim == Dim::Register; });
  spec.shape.clear();
  Result<Layout> threads = Layout::create(spec);
  if (!threads)
    return LayoutError{threads.error()};
  if (threads->reach(Dim::Row) > 1)
    plan.replica = *threads;
  return plan;
}

static Value isZero(OpBuilder &builder, Location loc, Value value) {
  Value zero = LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, value, zero);
}

Value emitOwner(OpBuilder &builder, Location loc, const TileAccess &plan,
                const ThreadPlace &place) {
  if (!plan.replica)
    return {};
  return isZero(builder, loc, emitLayout(builder, loc, *plan.replica, Dim::Row, place, 1));
}

Value emitFirstThread(OpBuilder &builder, Location loc, const RoleContext &role) {
  if (role.single)
    return {};
  Value all = role.place.lane;
  if (role.warpsTogether() > 1)
    all = LLVM::OrOp::create(builder, loc, all, role.place.warp);
  if (role.warpsTogether() > 4)
    all = LLVM::OrOp::create(builder, loc, all, role.place.warpgroup);
  return isZero(builder, loc, all);
}

} // namespace girih::wg
