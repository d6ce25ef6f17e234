// Ops that change a tile's shape, and conversions of a layout within each thread: registers under
// other names. And tiles of coordinates.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "girih/Conversion/WGToNVVM/Registers.h"

using namespace mlir;

namespace girih::wg {

/// Registers move whole where they can; packed elements that part ways are taken out and put
/// together again.
Value renamed(OpBuilder &builder, Location loc, ValueRange operands, RankedTensorType source,
              ArrayRef<int32_t> sources) {
  Type element = source.getElementType();
  size_t packed = static_cast<size_t>(elementsPerRegister(element));
  size_t each = static_cast<size_t>(getLayout(source).getElementsPerThread());
  bool whole = each % packed == 0 && sources.size() % packed == 0;
  for (size_t i = 0; whole && i < sources.size(); ++i)
    whole = sources[i] % packed == i % packed &&
            sources[i] - sources[i / packed * packed] == static_cast<int32_t>(i % packed);
  SmallVector<Value> all, chosen;
  for (Value operand : operands)
    llvm::append_range(all, whole ? unpack(builder, loc, operand)
                                  : unpackElements(builder, loc, operand, source));
  for (size_t i = 0; i < sources.size(); i += whole ? packed : 1)
    chosen.push_back(all[whole ? sources[i] / packed : sources[i]]);
  return whole ? pack(builder, loc, chosen) : packElements(builder, loc, chosen, element);
}

namespace {

template <typename Op> struct RenamePattern : StatePattern<Op> {
  using StatePattern<Op>::StatePattern;
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto source = cast<RankedTensorType>(op->getOperand(0).getType());
    SmallVector<Value> results;
    for (const std::vector<int32_t> &sources : this->state.renames.find(op)->second)
      results.push_back(renamed(rewriter, op.getLoc(), adaptor.getOperands(), source, sources));
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct IotaPattern : StatePattern<tile::IotaOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(tile::IotaOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const TileAccess &plan = *state.tileAccesses.find(op.getTile().getType())->second;
    CoordinateValues coordinate(rewriter, op.getLoc(), plan.coordinates[op.getDim()],
                                state.roles.of(op).place, Value());
    SmallVector<Value> elements;
    for (size_t reg = 0; reg < plan.registers(); ++reg)
      elements.push_back(coordinate.at(rewriter, reg));
    rewriter.replaceOp(op, pack(rewriter, op.getLoc(), elements));
    return success();
  }
};

} // namespace

void populateShapePatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                           const ConversionState &state) {
  patterns.add<RenamePattern<tile::ExpandOp>, RenamePattern<tile::BroadcastOp>,
               RenamePattern<tile::TransposeOp>, RenamePattern<tile::ReshapeOp>,
               RenamePattern<tile::SplitOp>, RenamePattern<tile::JoinOp>, IotaPattern>(
      converter, patterns.getContext(), state);
}

} // namespace girih::wg
