// tile.take and tile.put: tiles whose places along one dimension are listed. Along the others a
// tile that is inside moves in vectors, each under the test of its place.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AsyncCopy.h"
#include "TileMove.h"

#include "GlobalAccess.h"
#include "GlobalPlaces.h"

#include "girih/Conversion/WGToNVVM/Registers.h"

using namespace mlir;

namespace girih::wg {

namespace {

struct TakePattern : StatePattern<tile::TakeOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(tile::TakeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> listedPlaces = unpack(rewriter, op.getLoc(), adaptor.getPlaces());
    const TileMove move(rewriter, state, op, adaptor, &state.listed.find(op)->second, listedPlaces);
    const auto &[loc, tile, element, plan, vector, count, place, view, indices, listed, numbers,
                 part, others] = move;
    if (auto copy = state.copies.find(op); copy != state.copies.end()) {
      copyInstead(rewriter, op, move, copy->second);
      return success();
    }
    Value fill = adaptor.getFill() ? adaptor.getFill() : zeroElement(rewriter, loc, element);

    auto inVectors = [&](OpBuilder &builder) -> SmallVector<Value> {
      Places places = move.places(builder);
      SmallVector<Value> values;
      for (size_t reg = 0; reg < count; reg += vector) {
        Value inside = places.insideAlong(builder, listed->dim, reg);
        auto [pointer, offset] = places.address(builder, reg);
        llvm::append_range(
            values, loadVectorIf(builder, loc, inside, pointer, offset, element, vector, fill));
      }
      return {fillsRegisters(element, vector) ? pack(builder, loc, values)
                                              : packElements(builder, loc, values, element)};
    };
    auto oneByOne = [&](OpBuilder &builder) -> SmallVector<Value> {
      Places places = move.places(builder);
      SmallVector<Value> values;
      for (size_t reg = 0; reg < count; ++reg) {
        Value inside = places.inside(builder, reg);
        auto [pointer, offset] = places.address(builder, reg);
        values.push_back(loadIf(builder, loc, inside, pointer, offset, element, fill));
      }
      return {packElements(builder, loc, values, element)};
    };
    rewriter.replaceOp(
        op, branch(rewriter, loc, TypeRange(registersOf(tile)), others, inVectors, oneByOne));
    return success();
  }
};

struct PutPattern : StatePattern<tile::PutOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(tile::PutOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> listedPlaces = unpack(rewriter, op.getLoc(), adaptor.getPlaces());
    const TileMove move(rewriter, state, op, adaptor, &state.listed.find(op)->second, listedPlaces);
    const auto &[loc, tile, element, plan, vector, count, place, view, indices, listed, numbers,
                 part, others] = move;
    Value owner = emitOwner(rewriter, loc, plan, place);

    auto inVectors = [&](OpBuilder &builder) -> SmallVector<Value> {
      Places places = move.places(builder);
      bool whole = fillsRegisters(element, vector);
      SmallVector<Value> values = whole ? unpack(builder, loc, adaptor.getTile())
                                        : unpackElements(builder, loc, adaptor.getTile(), tile);
      size_t each = whole ? vector / elementsPerRegister(element) : vector;
      for (size_t reg = 0; reg < count; reg += vector) {
        if (!plan.owned[reg])
          continue;
        Value acts = bothTrue(builder, loc, owner, places.insideAlong(builder, listed->dim, reg));
        auto [pointer, offset] = places.address(builder, reg);
        storeVectorIf(builder, loc, acts, pointer, offset, element, vector,
                      ArrayRef(values).slice(reg / vector * each, each));
      }
      return {};
    };
    auto oneByOne = [&](OpBuilder &builder) -> SmallVector<Value> {
      Places places = move.places(builder);
      SmallVector<Value> values = unpackElements(builder, loc, adaptor.getTile(), tile);
      for (size_t reg = 0; reg < count; ++reg) {
        if (!plan.owned[reg])
          continue;
        Value acts = bothTrue(builder, loc, owner, places.inside(builder, reg));
        auto [pointer, offset] = places.address(builder, reg);
        storeIf(builder, loc, acts, pointer, offset, element, values[reg]);
      }
      return {};
    };
    branch(rewriter, loc, TypeRange(), others, inVectors, oneByOne);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populateListedPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                            const ConversionState &state) {
  patterns.add<TakePattern, PutPattern>(converter, patterns.getContext(), state);
}

} // namespace girih::wg
