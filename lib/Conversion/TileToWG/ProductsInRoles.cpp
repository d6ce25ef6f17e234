// Products in roles that the kernel's author has written: by mma.sync, or by threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Roles.h"

using namespace mlir;

namespace girih::wg {

/// Puts a wg.mma_sync in place of a product, between tiles without a layout.
static void multiplyInRole(tile::DotOp dot, RoleOp role) {
  OpBuilder builder(dot);
  Location loc = dot.getLoc();
  int64_t warps = role.getWarpsTogether();
  MmaSyncTypes types =
      mmaSyncTypes(dot, std::min<int64_t>(warps, 4), std::max<int64_t>(warps / 4, 1));
  auto convert = [&](Value tile, RankedTensorType type) -> Value {
    return ConvertLayoutOp::create(builder, loc, type, tile);
  };
  Value a = convert(dot.getA(), types.a), b = convert(dot.getB(), types.b), start;
  if (dot.getAccumulator() && !isZeroTile(dot.getAccumulator()))
    start = convert(dot.getAccumulator(), types.sum);
  Value sum = createMmaSync(builder, dot, a, b, start, types.sum);
  dot.getResult().replaceAllUsesWith(convert(sum, dot.getResult().getType()));
  dot.erase();
}

void multiplyInRoles(gpu::GPUFuncOp kernel) {
  SmallVector<tile::DotOp> dots;
  kernel.walk([&](RoleOp role) { role.walk([&](tile::DotOp dot) { dots.push_back(dot); }); });
  if (dots.empty())
    return;
  expandProducts(kernel, dots, chooseUnitInRole);
  repeatRowsOfProducts(dots);
  for (tile::DotOp dot : dots)
    multiplyInRole(dot, dot->getParentOfType<RoleOp>());
}

} // namespace girih::wg
