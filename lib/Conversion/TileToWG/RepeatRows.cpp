// Products of fewer than 16 rows: their rows are repeated until there are 16, which is what
// mma.sync multiplies; of the equal results one is taken.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProductPlan.h"
#include "Roles.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace girih::wg {

static constexpr int64_t kRows = kMmaSyncRows;

/// M x K to 16 x K, row i being row i mod M; made where the tile is, outside of loops that only
/// multiply it.
static Value repeatRows(ImplicitLocOpBuilder &builder, Value tile) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(tile);
  auto type = cast<RankedTensorType>(tile.getType());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  Value expanded = tile::ExpandOp::create(builder, type.clone({1, rows, columns}), tile, 0);
  Value repeated =
      tile::BroadcastOp::create(builder, type.clone({kRows / rows, rows, columns}), expanded);
  return tile::ReshapeOp::create(builder, type.clone({kRows, columns}), repeated);
}

/// One of the equal copies: their maximum, which is what each of them is.
static Value takeRows(ImplicitLocOpBuilder &builder, Value tile, RankedTensorType type) {
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  Value copies = tile::ReshapeOp::create(builder, type.clone({kRows / rows, rows, columns}), tile);
  auto reduce = tile::ReduceOp::create(builder, TypeRange{type}, ValueRange{copies}, /*dim=*/0);
  OpBuilder::InsertionGuard guard(builder);
  Type element = type.getElementType();
  Block *body = builder.createBlock(&reduce.getCombiner(), {}, {element, element},
                                    {builder.getLoc(), builder.getLoc()});
  Value x = body->getArgument(0), y = body->getArgument(1);
  Value most = isa<FloatType>(element) ? Value(arith::MaximumFOp::create(builder, x, y))
                                       : Value(arith::MaxSIOp::create(builder, x, y));
  tile::YieldOp::create(builder, most);
  return reduce.getResult(0);
}

/// The loop whose iteration argument `dot` adds to, with no other use of either, from zeros on.
static scf::ForOp accumulatingLoop(tile::DotOp dot, unsigned &index) {
  auto argument = dyn_cast_if_present<BlockArgument>(dot.getAccumulator());
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (!argument || !loop || argument.getOwner() != loop.getBody() || argument.getArgNumber() < 1 ||
      !argument.hasOneUse() || !dot.getResult().hasOneUse())
    return {};
  index = argument.getArgNumber() - 1;
  bool zero = isZeroTile(loop.getInitArgs()[index]);
  return zero && loop.getYieldedValues()[index] == dot.getResult() ? loop : scf::ForOp();
}

/// Puts a product of 16 rows in place of `dot`, or makes it one.
static tile::DotOp repeatRowsOf(tile::DotOp dot) {
  ImplicitLocOpBuilder builder(dot.getLoc(), dot);
  RankedTensorType type = dot.getResult().getType();
  RankedTensorType wide = type.clone({kRows, type.getDimSize(1)});
  Value a = repeatRows(builder, dot.getA());
  unsigned index = 0;
  if (scf::ForOp loop = accumulatingLoop(dot, index)) {
    // The loop carries all the copies.
    OpBuilder::InsertionGuard guard(builder);
    dot.getAMutable().assign(a);
    dot.getResult().setType(wide);
    loop.getRegionIterArg(index).setType(wide);
    builder.setInsertionPoint(loop);
    Value zeros = arith::ConstantOp::create(builder, builder.getZeroAttr(wide));
    loop.getInitArgsMutable()[index].assign(zeros);
    Value result = loop.getResult(index);
    result.setType(wide);
    builder.setInsertionPointAfter(loop);
    if (result.use_empty())
      return dot;
    Value taken = takeRows(builder, result, type);
    result.replaceAllUsesExcept(taken, taken.getDefiningOp()->getOperand(0).getDefiningOp());
    return dot;
  }
  auto product = tile::DotOp::create(builder, wide, a, dot.getB(), Value(), dot.getPrecision(),
                                     dot.getUnsignedA(), dot.getUnsignedB());
  Value result = takeRows(builder, product.getResult(), type);
  if (Value accumulator = dot.getAccumulator())
    result = isa<FloatType>(type.getElementType())
                 ? Value(arith::AddFOp::create(builder, accumulator, result))
                 : Value(arith::AddIOp::create(builder, accumulator, result));
  dot.getResult().replaceAllUsesWith(result);
  dot.erase();
  return product;
}

void repeatRowsOfProducts(MutableArrayRef<tile::DotOp> dots) {
  for (tile::DotOp &dot : dots) {
    int64_t rows = dot.getResult().getType().getDimSize(0);
    if (rows >= kRows)
      continue;
    emitRemark(dot.getLoc(), "multiplies ")
        << rows << " rows, repeated to the 16 of an instruction of mma.sync";
    dot = repeatRowsOf(dot);
  }
}

} // namespace girih::wg
