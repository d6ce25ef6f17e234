// Tiles between registers and global memory at scalar indices. A tile that lies inside the view as
// a whole moves in vectors; at the view's edge each element moves under a predicate of its own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "Divisor.h"
#include "GlobalAccess.h"
#include "GlobalView.h"

#include "girih/Conversion/WGToNVVM/Registers.h"

#include <map>

using namespace mlir;

namespace girih::wg {

namespace {

Value constant(OpBuilder &builder, Location loc, int64_t value) {
  return i32Constant(builder, loc, value);
}

Value zeroOf(OpBuilder &builder, Location loc, Type elementType) {
  return LLVM::ZeroOp::create(builder, loc, llvmElementType(elementType));
}

Value both(OpBuilder &builder, Location loc, Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return LLVM::AndOp::create(builder, loc, a, b);
}

/// i1, the same in all threads: whether a tile of this shape lies inside the view as a whole.
Value allInside(OpBuilder &builder, Location loc, const GlobalView &view, ValueRange indices,
                ArrayRef<int64_t> shape) {
  Value inside;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value room =
        LLVM::SubOp::create(builder, loc, view.extents[dim], constant(builder, loc, shape[dim]));
    Value low = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::sge, index,
                                     constant(builder, loc, 0));
    Value high = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::sle, index, room);
    inside = both(builder, loc, inside, both(builder, loc, low, high));
  }
  return inside;
}

/// A thread's elements of a tile at an index of a view: their addresses and whether they are
/// inside.
class Places {
public:
  Places(OpBuilder &builder, Location loc, const TileAccess &plan, const GlobalView &view,
         const ThreadPlace &place, ValueRange indices)
      : loc(loc), view(view) {
    for (auto [coordinate, index] : llvm::zip_equal(plan.coordinates, indices))
      coordinates.emplace_back(builder, loc, coordinate, place, index);
  }

  /// i1: whether the element of a register is inside.
  Value inside(OpBuilder &builder, size_t reg) {
    Value result;
    for (auto [dim, coordinate] : llvm::enumerate(coordinates)) {
      auto [flip, add] = coordinate.step(reg);
      Value &known = tests[{dim, flip, add}];
      // One comparison: what is below 0 is a large unsigned number.
      if (!known)
        known = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ult,
                                     coordinate.at(builder, reg), view.extents[dim]);
      result = both(builder, loc, result, known);
    }
    return result;
  }

  /// The address of the element of a register, and the constant number of elements behind it.
  std::pair<Value, int64_t> address(OpBuilder &builder, size_t reg) {
    SmallVector<int32_t> flips, adds;
    int64_t offset = 0;
    for (auto [dim, coordinate] : llvm::enumerate(coordinates)) {
      auto [flip, add] = coordinate.step(reg);
      bool contiguous = static_cast<int64_t>(dim) == view.type.getContiguous();
      flips.push_back(flip);
      adds.push_back(contiguous ? 0 : add);
      if (contiguous)
        offset = add;
    }
    return {pointer(builder, flips, adds), offset};
  }

private:
  /// Constants are reached bit by bit from smaller ones, so that a row costs one addition, and few
  /// multiples of a stride are kept.
  Value pointer(OpBuilder &builder, const SmallVector<int32_t> &flips,
                const SmallVector<int32_t> &adds) {
    Value &known = pointers[{flips, adds}];
    if (known)
      return known;
    Value made;
    auto last = llvm::find_if(llvm::reverse(adds), [](int32_t add) { return add != 0; });
    if (last == adds.rend()) {
      made = view.pointer;
      for (auto [dim, coordinate] : llvm::enumerate(coordinates))
        made = view.advance(builder, loc, made, static_cast<int64_t>(dim),
                            coordinate.base(builder, flips[dim]));
    } else {
      SmallVector<int32_t> less = adds;
      size_t dim = static_cast<size_t>(std::distance(last, adds.rend())) - 1;
      int32_t bit = adds[dim] & -adds[dim];
      less[dim] -= bit;
      Value from = pointer(builder, flips, less);
      made =
          view.advance(builder, loc, from, static_cast<int64_t>(dim), constant(builder, loc, bit));
    }
    return pointers[{flips, adds}] = made;
  }

  Location loc;
  const GlobalView &view;
  std::vector<CoordinateValues> coordinates;
  std::map<std::tuple<size_t, int32_t, int32_t>, Value> tests;
  std::map<std::pair<SmallVector<int32_t>, SmallVector<int32_t>>, Value> pointers;
};

/// Builds `then` and `otherwise` in the branches of a condition.
template <typename Then, typename Else>
ResultRange branch(OpBuilder &builder, Location loc, TypeRange types, Value condition, Then then,
                   Else otherwise) {
  auto op = scf::IfOp::create(builder, loc, types, condition, /*withElseRegion=*/true);
  auto fill = [&](Block *block, auto build) {
    OpBuilder inside = OpBuilder::atBlockBegin(block);
    SmallVector<Value> results = build(inside);
    if (!types.empty())
      scf::YieldOp::create(inside, loc, results);
  };
  fill(op.thenBlock(), then);
  fill(op.elseBlock(), otherwise);
  return op.getResults();
}

struct LoadPattern : StatePattern<tile::LoadOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(tile::LoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType tile = op.getTile().getType();
    Type element = tile.getElementType();
    const TileAccess &plan = *state.tileAccesses.find(tile)->second;
    int64_t vector = state.vectors.find(op)->second;
    size_t count = plan.registers();
    const ThreadPlace &place = state.roles.of(op).place;
    GlobalView view = GlobalView::open(rewriter, loc, op.getView().getType(), adaptor.getView());
    ValueRange indices = adaptor.getIndices();
    Value all = allInside(rewriter, loc, view, indices, tile.getShape());

    auto inVectors = [&](OpBuilder &builder) -> SmallVector<Value> {
      Places places(builder, loc, plan, view, place, indices);
      SmallVector<Value> values;
      for (size_t reg = 0; reg < count; reg += vector) {
        auto [pointer, offset] = places.address(builder, reg);
        llvm::append_range(values, loadVector(builder, loc, pointer, offset, element, vector));
      }
      return {fillsRegisters(element, vector) ? pack(builder, loc, values)
                                              : packElements(builder, loc, values, element)};
    };
    auto oneByOne = [&](OpBuilder &builder) -> SmallVector<Value> {
      Places places(builder, loc, plan, view, place, indices);
      Value fill = adaptor.getFill() ? adaptor.getFill() : zeroOf(builder, loc, element);
      SmallVector<Value> values;
      for (size_t reg = 0; reg < count; ++reg) {
        Value inside = places.inside(builder, reg);
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
    Location loc = op.getLoc();
    RankedTensorType tile = op.getTile().getType();
    Type element = tile.getElementType();
    const TileAccess &plan = *state.tileAccesses.find(tile)->second;
    int64_t vector = state.vectors.find(op)->second;
    size_t count = plan.registers();
    const ThreadPlace &place = state.roles.of(op).place;
    GlobalView view = GlobalView::open(rewriter, loc, op.getView().getType(), adaptor.getView());
    ValueRange indices = adaptor.getIndices();
    Value all = allInside(rewriter, loc, view, indices, tile.getShape());

    auto inVectors = [&](OpBuilder &builder) -> SmallVector<Value> {
      Places places(builder, loc, plan, view, place, indices);
      bool whole = fillsRegisters(element, vector);
      SmallVector<Value> values = whole ? unpack(builder, loc, adaptor.getTile())
                                        : unpackElements(builder, loc, adaptor.getTile(), tile);
      size_t each = whole ? vector / elementsPerRegister(element) : vector;
      for (size_t reg = 0; reg < count; reg += vector) {
        if (!plan.owned[reg])
          continue;
        auto [pointer, offset] = places.address(builder, reg);
        storeVector(builder, loc, pointer, offset, element, vector,
                    ArrayRef(values).slice(reg / vector * each, each));
      }
      return {};
    };
    auto oneByOne = [&](OpBuilder &builder) -> SmallVector<Value> {
      Places places(builder, loc, plan, view, place, indices);
      SmallVector<Value> values = unpackElements(builder, loc, adaptor.getTile(), tile);
      for (size_t reg = 0; reg < count; ++reg) {
        if (!plan.owned[reg])
          continue;
        Value inside = places.inside(builder, reg);
        auto [pointer, offset] = places.address(builder, reg);
        storeIf(builder, loc, inside, pointer, offset, element, values[reg]);
      }
      return {};
    };
    auto store = [&](OpBuilder &builder) -> SmallVector<Value> {
      branch(builder, loc, TypeRange(), all, inVectors, oneByOne);
      return {};
    };
    if (Value owner = emitOwner(rewriter, loc, plan, place)) {
      auto guard = scf::IfOp::create(rewriter, loc, TypeRange(), owner, /*withElseRegion=*/false);
      OpBuilder inside = guard.getThenBodyBuilder();
      store(inside);
    } else {
      store(rewriter);
    }
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

int64_t vectorWidth(const TileAccess &plan, tile::ViewType view, ValueRange indices) {
  int64_t contiguous = view.getContiguous();
  if (contiguous < 0)
    return 1;
  const Coordinate &along = plan.coordinates[contiguous];
  int64_t bytes = view.getElementBytes();
  // The start of the tile is as even as its index; other dimensions move by strides, which the
  // view's type makes multiples of its alignment.
  int even = std::min(along.threadZeros, trailingZeros(indices[contiguous]));
  auto fits = [&](int64_t vector) {
    if (vector * bytes > std::min<int64_t>(16, view.getAlign()) || plan.registers() % vector != 0 ||
        (int64_t{1} << even) < vector)
      return false;
    for (size_t reg = 0; reg < plan.registers(); ++reg) {
      size_t first = reg / vector * vector;
      for (auto [dim, coordinate] : llvm::enumerate(plan.coordinates)) {
        Coordinate::Step expected = coordinate.steps[first];
        if (static_cast<int64_t>(dim) == contiguous) {
          if (expected.add % vector != 0 || expected.flip % vector != 0)
            return false;
          expected.add += static_cast<int32_t>(reg - first);
        }
        if (!(coordinate.steps[reg] == expected))
          return false;
      }
      if (plan.owned[reg] != plan.owned[first])
        return false;
    }
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
