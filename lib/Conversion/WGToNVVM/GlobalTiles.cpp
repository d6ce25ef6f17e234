// Tiles between registers and global memory at scalar indices. A tile that lies inside the view as
// a whole moves in vectors; at the view's edge each element moves under a predicate of its own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AsyncCopy.h"
#include "TileMove.h"

#include "Divisor.h"
#include "GlobalAccess.h"
#include "GlobalPlaces.h"
#include "RoleScratch.h"

#include "girih/Conversion/WGToNVVM/Registers.h"

using namespace mlir;

namespace girih::wg {

namespace {

struct LoadPattern : StatePattern<tile::LoadOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(tile::LoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const TileMove move(rewriter, state, op, adaptor);
    const auto &[loc, tile, element, plan, vector, count, place, view, indices, listed, numbers,
                 part, all] = move;
    if (auto copy = state.copies.find(op); copy != state.copies.end()) {
      copyInstead(rewriter, op, move, copy->second);
      return success();
    }
    auto fillOf = [&](OpBuilder &builder) {
      return adaptor.getFill() ? adaptor.getFill() : zeroElement(builder, loc, element);
    };

    auto inVectors = [&](OpBuilder &builder) -> SmallVector<Value> {
      Places places = move.places(builder);
      PartTest test = move.partTest(builder);
      SmallVector<Value> values;
      for (size_t reg = 0; reg < count; reg += vector) {
        auto [pointer, offset] = places.address(builder, reg);
        if (Value inside = test.inside(builder, reg))
          llvm::append_range(values, loadVectorIf(builder, loc, inside, pointer, offset, element,
                                                  vector, fillOf(builder)));
        else
          llvm::append_range(values, loadVector(builder, loc, pointer, offset, element, vector));
      }
      return {fillsRegisters(element, vector) ? pack(builder, loc, values)
                                              : packElements(builder, loc, values, element)};
    };
    auto oneByOne = [&](OpBuilder &builder) -> SmallVector<Value> {
      Places places = move.places(builder);
      PartTest test = move.partTest(builder);
      Value fill = fillOf(builder);
      SmallVector<Value> values;
      for (size_t reg = 0; reg < count; ++reg) {
        Value inside =
            bothTrue(builder, loc, places.inside(builder, reg), test.inside(builder, reg));
        auto [pointer, offset] = places.address(builder, reg);
        values.push_back(loadIf(builder, loc, inside, pointer, offset, element, fill));
      }
      return {packElements(builder, loc, values, element)};
    };
    rewriter.replaceOp(
        op, branch(rewriter, loc, TypeRange(registersOf(tile)), all, inVectors, oneByOne));
    return success();
  }
};

struct StorePattern : StatePattern<tile::StoreOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(tile::StoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const TileMove move(rewriter, state, op, adaptor);
    const auto &[loc, tile, element, plan, vector, count, place, view, indices, listed, numbers,
                 part, all] = move;

    auto inVectors = [&](OpBuilder &builder) -> SmallVector<Value> {
      Places places = move.places(builder);
      PartTest test = move.partTest(builder);
      bool whole = fillsRegisters(element, vector);
      SmallVector<Value> values = whole ? unpack(builder, loc, adaptor.getTile())
                                        : unpackElements(builder, loc, adaptor.getTile(), tile);
      size_t each = whole ? vector / elementsPerRegister(element) : vector;
      for (size_t reg = 0; reg < count; reg += vector) {
        if (!plan.owned[reg])
          continue;
        auto [pointer, offset] = places.address(builder, reg);
        auto moved = ArrayRef(values).slice(reg / vector * each, each);
        if (Value inside = test.inside(builder, reg))
          storeVectorIf(builder, loc, inside, pointer, offset, element, vector, moved);
        else
          storeVector(builder, loc, pointer, offset, element, vector, moved);
      }
      return {};
    };
    auto oneByOne = [&](OpBuilder &builder) -> SmallVector<Value> {
      Places places = move.places(builder);
      PartTest test = move.partTest(builder);
      SmallVector<Value> values = unpackElements(builder, loc, adaptor.getTile(), tile);
      for (size_t reg = 0; reg < count; ++reg) {
        if (!plan.owned[reg])
          continue;
        Value inside =
            bothTrue(builder, loc, places.inside(builder, reg), test.inside(builder, reg));
        auto [pointer, offset] = places.address(builder, reg);
        storeIf(builder, loc, inside, pointer, offset, element, values[reg]);
      }
      return {};
    };
    auto store = [&](OpBuilder &builder) -> SmallVector<Value> {
      branch(builder, loc, TypeRange(), all, inVectors, oneByOne);
      return {};
    };
    bool inPlace = op->hasAttr(kInPlaceAttr);
    if (inPlace)
      meetRole(rewriter, loc, state.roles.of(op));
    if (Value owner = emitOwner(rewriter, loc, plan, place)) {
      auto guard = scf::IfOp::create(rewriter, loc, TypeRange(), owner, /*withElseRegion=*/false);
      OpBuilder inside = guard.getThenBodyBuilder();
      store(inside);
    } else {
      store(rewriter);
    }
    if (inPlace)
      meetRole(rewriter, loc, state.roles.of(op));
    rewriter.eraseOp(op);
    return success();
  }
};

struct ReadPattern : StatePattern<tile::ReadOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(tile::ReadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    GlobalView view = GlobalView::open(rewriter, loc, op.getView().getType(), adaptor.getView());
    Type element = op.getView().getType().getElementType();
    Value address = view.addressOf(rewriter, loc, adaptor.getIndices());
    rewriter.replaceOp(op, loadVector(rewriter, loc, address, 0, element, 1));
    return success();
  }
};

struct WritePattern : StatePattern<tile::WriteOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(tile::WriteOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    GlobalView view = GlobalView::open(rewriter, loc, op.getView().getType(), adaptor.getView());
    Type element = op.getView().getType().getElementType();
    OpBuilder builder = rewriter;
    if (Value first = emitFirstThread(rewriter, loc, state.roles.of(op)))
      builder = scf::IfOp::create(rewriter, loc, TypeRange(), first, /*withElseRegion=*/false)
                    .getThenBodyBuilder();
    Value address = view.addressOf(builder, loc, adaptor.getIndices());
    storeVector(builder, loc, address, 0, element, 1, adaptor.getValue());
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

int64_t vectorWidth(const TileAccess &plan, tile::ViewType view, ValueRange indices,
                    const ListedDim *listed, std::optional<ArrayRef<int32_t>> part) {
  int64_t contiguous = view.getContiguous();
  if (contiguous < 0 || (listed && listed->dim == contiguous))
    return 1;
  const Coordinate &along = plan.coordinates[contiguous];
  int64_t bytes = view.getElementBytes();
  // The start of the tile is as even as its index; other dimensions move by strides, which the
  // view's type makes multiples of its alignment.
  int even = std::min(along.threadZeros, trailingZeros(indices[contiguous]));
  // A vector is in the part of the tile as a whole or not at all.
  if (part)
    even = std::min(even, llvm::countr_zero(static_cast<uint32_t>((*part)[contiguous])));
  auto isNext = [&](size_t reg, size_t first, int64_t vector) {
    for (auto [dim, coordinate] : llvm::enumerate(plan.coordinates)) {
      if (listed && listed->dim == static_cast<int64_t>(dim)) {
        if (listed->numberOf[reg] != listed->numberOf[first])
          return false;
        continue;
      }
      Coordinate::Step expected = coordinate.steps[first];
      if (static_cast<int64_t>(dim) == contiguous) {
        if (expected.add % vector != 0 || expected.flip % vector != 0)
          return false;
        expected.add += static_cast<int32_t>(reg - first);
      }
      if (!(coordinate.steps[reg] == expected))
        return false;
    }
    return plan.owned[reg] == plan.owned[first];
  };
  auto fits = [&](int64_t vector) {
    if (vector * bytes > std::min<int64_t>(16, view.getAlign()) || plan.registers() % vector != 0 ||
        (int64_t{1} << even) < vector)
      return false;
    for (size_t reg = 0; reg < plan.registers(); ++reg)
      if (!isNext(reg, reg / vector * vector, vector))
        return false;
    return true;
  };
  int64_t vector = 1;
  while (fits(2 * vector))
    vector *= 2;
  return vector;
}

void populateGlobalPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                            const ConversionState &state) {
  patterns.add<LoadPattern, StorePattern, ReadPattern, WritePattern>(converter,
                                                                     patterns.getContext(), state);
}

} // namespace girih::wg
