// Products that no tensor core does become a sum over K of columns times rows, in registers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OperandChain.h"
#include "Roles.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace girih::wg {

namespace {

class Expansion {
public:
  Expansion(tile::DotOp dot, const HostSide &host)
      : dot(dot), host(host), builder(dot.getLoc(), dot), type(dot.getResult().getType()) {}

  void run() {
    Value low = number(0), high = number(dot.getA().getType().getDimSize(1)), by = number(1);
    Value start = dot.getAccumulator();
    if (!start)
      start = arith::ConstantOp::create(builder, builder.getZeroAttr(type));
    auto loop = scf::ForOp::create(builder, low, high, by, start);
    builder.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    Value column = factor(part(dot.getA(), 1, k), dot.getUnsignedA());
    Value row = factor(part(dot.getB(), 0, k), dot.getUnsignedB());
    Value sum = loop.getRegionIterArg(0);
    if (isa<FloatType>(type.getElementType()))
      sum = math::FmaOp::create(builder, column, row, sum);
    else
      sum = arith::AddIOp::create(builder, sum, arith::MulIOp::create(builder, column, row));
    scf::YieldOp::create(builder, sum);
    dot.getResult().replaceAllUsesWith(loop.getResult(0));
    dot.erase();
  }

private:
  Value number(int64_t value) {
    return arith::ConstantOp::create(builder,
                                     builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  }

  /// A column or a row of an operand, in the type of the sum and repeated to its shape.
  Value factor(Value part, bool isUnsigned) {
    auto from = cast<RankedTensorType>(part.getType());
    if (from.getElementType() != type.getElementType())
      part = tile::CastOp::create(builder, from.clone(type.getElementType()), part,
                                  tile::RoundingAttr(), false, isUnsigned, false);
    return tile::BroadcastOp::create(builder, type, part);
  }

  /// Index `k` of a dimension of an operand, which keeps the dimension with one element.
  Value part(Value operand, int64_t dim, Value k) {
    std::optional<OperandChain> chain = chainOf(operand);
    if (chain && chain->load.getTile().getType().getRank() == 2 && readsInput(chain->load, host))
      return loadPart(*chain, dim, k);
    return pickPart(operand, dim, k);
  }

  /// Loads only that part. It lies where it lay, since the kernel does not write the array.
  Value loadPart(const OperandChain &chain, int64_t dim, Value k) {
    tile::LoadOp load = chain.load;
    int64_t along = chain.dims[dim];
    SmallVector<int64_t> shape(load.getTile().getType().getShape());
    shape[along] = 1;
    SmallVector<Value> indices(load.getIndices());
    indices[along] = arith::AddIOp::create(builder, indices[along], k);
    RankedTensorType part = load.getTile().getType().clone(shape);
    Value tile = tile::LoadOp::create(builder, part, load.getView(), indices, load.getFill(),
                                      DenseI32ArrayAttr());
    if (along == dim)
      return tile;
    std::swap(shape[0], shape[1]);
    return tile::TransposeOp::create(builder, part.clone(shape), tile, ArrayRef<int64_t>{1, 0});
  }

  /// Picks it from all of the operand: the sum along the dimension of that part and zeros.
  Value pickPart(Value operand, int64_t dim, Value k) {
    auto whole = cast<RankedTensorType>(operand.getType());
    RankedTensorType places = whole.clone(builder.getI32Type());
    Value here = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                       tile::IotaOp::create(builder, places, dim),
                                       tensor::SplatOp::create(builder, k, places));
    Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(whole));
    Value picked = arith::SelectOp::create(builder, here, operand, zero);
    int64_t other = whole.getDimSize(1 - dim);
    RankedTensorType line = whole.clone({other});
    auto reduce = tile::ReduceOp::create(builder, TypeRange{line}, ValueRange{picked}, dim);
    Type element = whole.getElementType();
    {
      OpBuilder::InsertionGuard guard(builder);
      Block *body = builder.createBlock(&reduce.getCombiner(), {}, {element, element},
                                        {dot.getLoc(), dot.getLoc()});
      Value x = body->getArgument(0), y = body->getArgument(1);
      Value sum = isa<FloatType>(element) ? Value(arith::AddFOp::create(builder, x, y))
                                          : Value(arith::AddIOp::create(builder, x, y));
      tile::YieldOp::create(builder, sum);
    }
    SmallVector<int64_t> shape(whole.getShape());
    shape[dim] = 1;
    return tile::ExpandOp::create(builder, whole.clone(shape), reduce.getResult(0), dim);
  }

  tile::DotOp dot;
  const HostSide &host;
  ImplicitLocOpBuilder builder;
  RankedTensorType type;
};

} // namespace

SmallVector<tile::DotOp> productsOf(gpu::GPUFuncOp kernel) {
  SmallVector<tile::DotOp> dots;
  kernel.walk([&](tile::DotOp dot) { dots.push_back(dot); });
  return dots;
}

void expandProducts(gpu::GPUFuncOp kernel, SmallVectorImpl<tile::DotOp> &dots,
                    function_ref<UnitChoice(tile::DotOp)> choose) {
  HostSide host(kernel);
  llvm::erase_if(dots, [&](tile::DotOp dot) {
    UnitChoice choice = choose(dot);
    if (choice.unit == ProductUnit::MmaSync)
      emitRemark(dot.getLoc(), "multiplies by mma.sync: ") << choice.why;
    if (choice.unit != ProductUnit::Threads)
      return false;
    emitRemark(dot.getLoc(), "multiplies in registers, without tensor cores: ") << choice.why;
    Expansion(dot, host).run();
    return true;
  });
}

} // namespace girih::wg
