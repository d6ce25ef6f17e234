// tile.reduce and tile.scan: first within each thread, then among the lanes that hold different
// elements, then among warps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "RoleScratch.h"

#include "girih/Conversion/WGToNVVM/Registers.h"
#include "girih/Dialect/WG/Transforms/Scratch.h"
#include "girih/Layout/Reduction.h"

using namespace mlir;

namespace girih::wg {

namespace {

/// One partial result: a value for each operand.
using Row = SmallVector<Value, 2>;

/// Inserts the combiner's ops.
class Combiner {
public:
  Combiner(ConversionPatternRewriter &rewriter, Region &region)
      : rewriter(rewriter), block(region.front()) {
    // What computes a + b computes b + a.
    commutative =
        block.getOperations().size() == 2 && block.front().hasTrait<OpTrait::IsCommutative>();
  }

  Row operator()(ArrayRef<Value> first, ArrayRef<Value> second) const {
    IRMapping mapping;
    size_t count = first.size();
    for (size_t i = 0; i < count; ++i) {
      mapping.map(block.getArgument(static_cast<unsigned>(i)), first[i]);
      mapping.map(block.getArgument(static_cast<unsigned>(count + i)), second[i]);
    }
    for (Operation &op : block.without_terminator())
      rewriter.clone(op, mapping);
    Row results;
    for (Value value : cast<tile::YieldOp>(block.getTerminator()).getValues())
      results.push_back(mapping.lookupOrDefault(value));
    return results;
  }
  bool isCommutative() const { return commutative; }

private:
  ConversionPatternRewriter &rewriter;
  Block &block;
  bool commutative;
};

/// What the two patterns share: the elements, and the exchange of rows among lanes and warps.
class Exchanger {
public:
  Exchanger(ConversionPatternRewriter &rewriter, Operation *op, const RoleContext &role,
            const Reduction &reduction)
      : rewriter(rewriter), loc(op->getLoc()), op(op), role(role), reduction(reduction) {}

  /// Rows by register.
  SmallVector<Row> open(ValueRange originals, ValueRange converted) {
    SmallVector<Row> rows(reduction.resultOf.size());
    for (auto [original, value] : llvm::zip_equal(originals, converted))
      for (auto [row, element] :
           llvm::zip_equal(rows, unpackElements(rewriter, loc, value,
                                                cast<RankedTensorType>(original.getType()))))
        row.push_back(element);
    return rows;
  }

  Row shuffled(const Row &row, int32_t mask) {
    Row result;
    for (Value value : row)
      result.push_back(
          shuffle(rewriter, loc, value, NVVM::ShflKind::bfly, i32Constant(rewriter, loc, mask)));
    return result;
  }
  Row chosen(Value condition, const Row &yes, const Row &no) {
    Row result;
    for (auto [a, b] : llvm::zip_equal(yes, no))
      result.push_back(LLVM::SelectOp::create(rewriter, loc, condition, a, b));
    return result;
  }
  /// i1: whether the bit of this thread's lane is set.
  Value laneBit(int32_t bit) {
    Value set =
        LLVM::AndOp::create(rewriter, loc, role.place.lane, i32Constant(rewriter, loc, bit));
    return LLVM::ICmpOp::create(rewriter, loc, LLVM::ICmpPredicate::ne, set,
                                i32Constant(rewriter, loc, 0));
  }

  /// The number of this warp among the role's.
  Value warpNumber() {
    if (role.warpsTogether() <= 4)
      return role.place.warp;
    Value groups =
        LLVM::MulOp::create(rewriter, loc, role.place.warpgroup, i32Constant(rewriter, loc, 4));
    return LLVM::AddOp::create(rewriter, loc, groups, role.place.warp);
  }
  /// The number of the first of the warps that hold other elements along the dimension.
  Value firstWarp() {
    return emitLayout(rewriter, loc, reduction.firstWarp, Dim::Row, role.place, 1);
  }
  /// Lanes of which each publishes a value of its own.
  struct Lanes {
    Value slot, writes; // i32; i1 or null
    int64_t count;
  };
  /// Those that hold different results, once lanes have combined theirs.
  Lanes resultLanes() {
    int32_t idle = reduction.laneBits | reduction.laneReplicas;
    Value writes;
    if (idle) {
      Value rest =
          LLVM::AndOp::create(rewriter, loc, role.place.lane, i32Constant(rewriter, loc, idle));
      writes = LLVM::ICmpOp::create(rewriter, loc, LLVM::ICmpPredicate::eq, rest,
                                    i32Constant(rewriter, loc, 0));
    }
    return {emitLayout(rewriter, loc, reduction.laneSlot, Dim::Row, role.place, 1), writes,
            reduction.laneSlots};
  }
  Lanes allLanes() { return {role.place.lane, Value(), 32}; }

  /// Every warp publishes rows; the answer is a function that reads row `i` of the warp at a
  /// distance from warp `first`.
  std::function<Row(size_t, int64_t)> publish(ArrayRef<Row> rows, Value firstWarp,
                                              const Lanes &lanes) {
    RoleScratch scratch(rewriter, op, role);
    SmallVector<Type> types;
    SmallVector<int64_t> offsets;
    int64_t slots = lanes.count, size = 0;
    for (Value value : rows.front()) {
      types.push_back(value.getType());
      offsets.push_back(size);
      size += carrierBytes(value.getType()) * slots * static_cast<int64_t>(rows.size());
    }
    auto placeOf = [&](Value warp) -> Value {
      return LLVM::AddOp::create(rewriter, loc, scratch.address(),
                                 times(rewriter, loc, warp, size));
    };
    auto scaled = [&](int64_t bytes) -> Value { return times(rewriter, loc, lanes.slot, bytes); };
    Value byWidth[2] = {scaled(4), scaled(8)};
    Value mine = placeOf(warpNumber()), first = placeOf(firstWarp);
    Value mineAt[2], firstAt[2];
    for (int i = 0; i < 2; ++i) {
      mineAt[i] = LLVM::AddOp::create(rewriter, loc, mine, byWidth[i]);
      firstAt[i] = LLVM::AddOp::create(rewriter, loc, first, byWidth[i]);
    }

    scratch.meet(rewriter);
    for (auto [i, row] : llvm::enumerate(rows))
      for (auto [value, offset] : llvm::zip_equal(row, offsets)) {
        int64_t bytes = carrierBytes(value.getType());
        storeShared(rewriter, loc, lanes.writes, mineAt[bytes / 8],
                    offset + static_cast<int64_t>(i) * slots * bytes,
                    toCarrier(rewriter, loc, value), 8 * bytes);
      }
    scratch.meet(rewriter);
    Value low = firstAt[0], high = firstAt[1];
    return [this, types, offsets, slots, size, low, high](size_t i, int64_t distance) {
      Row row;
      for (auto [type, offset] : llvm::zip_equal(types, offsets)) {
        int64_t bytes = carrierBytes(type);
        Value carrier =
            loadShared(rewriter, loc, bytes == 8 ? high : low,
                       distance * size + offset + static_cast<int64_t>(i) * slots * bytes, 1,
                       8 * bytes)
                .front();
        row.push_back(fromCarrier(rewriter, loc, carrier, type));
      }
      return row;
    };
  }

  /// The distances of all warps that hold other elements, in the order in which the digits count.
  SmallVector<int64_t> warpDistances() {
    SmallVector<int64_t> distances = {0};
    for (const DigitAlong &digit : reduction.digits) {
      if (digit.dim != Dim::Warp)
        continue;
      size_t before = distances.size();
      for (int32_t count = 1; count < digit.extent; ++count)
        for (size_t i = 0; i < before; ++i)
          distances.push_back(distances[i] + int64_t{count} * digit.stride);
    }
    return distances;
  }

private:
  ConversionPatternRewriter &rewriter;
  Location loc;
  Operation *op;
  const RoleContext &role;
  const Reduction &reduction;
};

/// Combines pairs of neighbours until one is left, which is shorter than a chain.
Row combineAll(const Combiner &combine, SmallVector<Row> rows) {
  while (rows.size() > 1) {
    SmallVector<Row> next;
    for (size_t i = 0; i + 1 < rows.size(); i += 2)
      next.push_back(combine(rows[i], rows[i + 1]));
    if (rows.size() % 2)
      next.push_back(rows.back());
    rows = std::move(next);
  }
  return rows.front();
}

struct ReducePattern : StatePattern<tile::ReduceOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(tile::ReduceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const Reduction &reduction = *state.reductions.find(op)->second;
    Exchanger exchange(rewriter, op, state.roles.of(op), reduction);
    Combiner combine(rewriter, op.getCombiner());
    SmallVector<Row> elements = exchange.open(op.getTiles(), adaptor.getTiles());
    SmallVector<SmallVector<Row>> groups(reduction.results);
    for (auto [element, result] : llvm::zip_equal(elements, reduction.resultOf))
      if (result >= 0)
        groups[result].push_back(element);
    SmallVector<Row> partial;
    for (SmallVector<Row> &group : groups)
      partial.push_back(combineAll(combine, std::move(group)));

    for (const DigitAlong &digit : reduction.digits) {
      if (digit.dim != Dim::Lane)
        continue;
      Value high = combine.isCommutative() ? Value() : exchange.laneBit(digit.stride);
      for (Row &row : partial) {
        Row other = exchange.shuffled(row, digit.stride);
        // All lanes must come to the same bits, also where the combiner's two orders do not.
        row = high ? combine(exchange.chosen(high, other, row), exchange.chosen(high, row, other))
                   : combine(row, other);
      }
    }
    if (reduction.acrossWarps()) {
      auto read = exchange.publish(partial, exchange.firstWarp(), exchange.resultLanes());
      for (size_t i = 0; i < partial.size(); ++i) {
        SmallVector<Row> all;
        for (int64_t distance : exchange.warpDistances())
          all.push_back(read(i, distance));
        partial[i] = combineAll(combine, std::move(all));
      }
    }

    SmallVector<Value> results;
    for (auto [i, result] : llvm::enumerate(op.getResults())) {
      SmallVector<Value> column;
      for (const Row &row : partial)
        column.push_back(row[i]);
      auto tile = dyn_cast<RankedTensorType>(result.getType());
      if (!tile) {
        results.push_back(column.front());
        continue;
      }
      SmallVector<Value> placed;
      for (int32_t source : state.renames.find(op)->second.front())
        placed.push_back(column[source]);
      results.push_back(packElements(rewriter, op.getLoc(), placed, tile.getElementType()));
    }
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// Digit by digit, from the one that moves least. Before a digit, every block of elements that the
/// digits before it reach has its prefixes and its total; the digit joins blocks.
class Scan {
public:
  Scan(ConversionPatternRewriter &rewriter, tile::ScanOp op, const RoleContext &role,
       const Reduction &reduction, ArrayRef<Row> elements)
      : rewriter(rewriter), loc(op.getLoc()), exchange(rewriter, op, role, reduction),
        combine(rewriter, op.getCombiner()), reverse(op.getReverse()),
        prefix(elements.begin(), elements.end()), total(prefix) {
    for (size_t reg = 0; reg < prefix.size(); ++reg)
      blocks.push_back({{reg}});
  }

  void join(const DigitAlong &digit) {
    if (digit.dim == Dim::Register)
      joinRegisters(digit);
    else if (digit.dim == Dim::Lane)
      joinLanes(digit);
    else
      joinWarps(digit);
  }

  SmallVector<Row> take() { return std::move(prefix); }

private:
  /// The registers of a block in one thread; the first one is where `total` has the block's.
  struct Block {
    SmallVector<size_t> registers;
  };

  void joinRegisters(const DigitAlong &digit) {
    SmallVector<Block> joined;
    for (const Block &block : blocks) {
      size_t first = block.registers.front();
      if (first / digit.stride % digit.extent)
        continue;
      SmallVector<const Block *> parts;
      for (const Block &other : blocks)
        for (int32_t count = 0; count < digit.extent; ++count)
          if (other.registers.front() == first + static_cast<size_t>(count) * digit.stride)
            parts.push_back(&other);
      if (reverse)
        std::reverse(parts.begin(), parts.end());
      Row before = total[parts.front()->registers.front()];
      for (const Block *part : ArrayRef(parts).drop_front()) {
        for (size_t reg : part->registers)
          prefix[reg] = combine(before, prefix[reg]);
        before = combine(before, total[part->registers.front()]);
      }
      Block whole;
      llvm::sort(parts, [](const Block *a, const Block *b) {
        return a->registers.front() < b->registers.front();
      });
      for (const Block *part : parts)
        llvm::append_range(whole.registers, part->registers);
      total[first] = before;
      joined.push_back(std::move(whole));
    }
    blocks = std::move(joined);
  }

  void joinLanes(const DigitAlong &digit) {
    Value later = exchange.laneBit(digit.stride);
    if (reverse)
      later =
          LLVM::XOrOp::create(rewriter, loc, later,
                              LLVM::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(true)));
    for (const Block &block : blocks) {
      Row &mine = total[block.registers.front()];
      Row other = exchange.shuffled(mine, digit.stride);
      for (size_t reg : block.registers)
        prefix[reg] = exchange.chosen(later, combine(other, prefix[reg]), prefix[reg]);
      mine = combine(exchange.chosen(later, other, mine), exchange.chosen(later, mine, other));
    }
  }

  void joinWarps(const DigitAlong &digit) {
    SmallVector<Row> totals;
    for (const Block &block : blocks)
      totals.push_back(total[block.registers.front()]);
    Value number = exchange.warpNumber();
    Value quotient =
        LLVM::UDivOp::create(rewriter, loc, number, i32Constant(rewriter, loc, digit.stride));
    Value count =
        LLVM::URemOp::create(rewriter, loc, quotient, i32Constant(rewriter, loc, digit.extent));
    Value first =
        LLVM::SubOp::create(rewriter, loc, number, times(rewriter, loc, count, digit.stride));
    auto read = exchange.publish(totals, first, exchange.allLanes());
    for (auto [i, block] : llvm::enumerate(blocks)) {
      Row before, chosen;
      Value any;
      for (int32_t step = 0; step < digit.extent; ++step) {
        int32_t at = reverse ? digit.extent - 1 - step : step;
        Row next = read(i, int64_t{at} * digit.stride);
        if (step) {
          // Warps from here on have `before` in front of them.
          Value behind = LLVM::ICmpOp::create(
              rewriter, loc, reverse ? LLVM::ICmpPredicate::sle : LLVM::ICmpPredicate::sge, count,
              i32Constant(rewriter, loc, at));
          chosen = step == 1 ? before : exchange.chosen(behind, before, chosen);
          any = step == 1 ? behind : any;
        }
        before = step ? combine(before, next) : next;
      }
      for (size_t reg : block.registers)
        prefix[reg] = exchange.chosen(any, combine(chosen, prefix[reg]), prefix[reg]);
      total[block.registers.front()] = before;
    }
  }

  ConversionPatternRewriter &rewriter;
  Location loc;
  Exchanger exchange;
  Combiner combine;
  bool reverse;
  SmallVector<Row> prefix, total;
  SmallVector<Block> blocks;
};

struct ScanPattern : StatePattern<tile::ScanOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(tile::ScanOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const Reduction &reduction = *state.reductions.find(op)->second;
    const RoleContext &role = state.roles.of(op);
    SmallVector<Row> elements =
        Exchanger(rewriter, op, role, reduction).open(op.getTiles(), adaptor.getTiles());
    Scan scan(rewriter, op, role, reduction, elements);
    auto tile = cast<RankedTensorType>(op.getTiles().front().getType());
    Result<std::vector<DigitAlong>> order =
        scanOrder(reduction, static_cast<int32_t>(tile.getDimSize(op.getDim())));
    for (const DigitAlong &digit : *order)
      scan.join(digit);
    SmallVector<Row> rows = scan.take();
    SmallVector<Value> results;
    for (auto [i, result] : llvm::enumerate(op.getResults())) {
      SmallVector<Value> column;
      for (const Row &row : rows)
        column.push_back(row[i]);
      results.push_back(
          packElements(rewriter, op.getLoc(), column, tile::elementTypeOf(result.getType())));
    }
    rewriter.replaceOp(op, results);
    return success();
  }
};

} // namespace

void populateCombinePatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                             const ConversionState &state) {
  patterns.add<ReducePattern, ScanPattern>(converter, patterns.getContext(), state);
}

} // namespace girih::wg
