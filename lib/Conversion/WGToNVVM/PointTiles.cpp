// tile.gather, tile.scatter and tile.atomic: each element at a place of its own, under a predicate.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "GlobalAccess.h"
#include "GlobalPlaces.h"
#include "RoleScratch.h"

#include "girih/Conversion/WGToNVVM/InlineAsm.h"
#include "girih/Conversion/WGToNVVM/Registers.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace girih::wg {

namespace {

/// The addresses of a thread's elements, and whether each is inside and unmasked.
struct Points {
  SmallVector<Value> addresses, acts;

  template <typename Op, typename Adaptor>
  Points(OpBuilder &builder, Op op, Adaptor adaptor, const GlobalView &view) {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getIndices().front().getType());
    SmallVector<SmallVector<Value>> indices;
    for (Value tile : adaptor.getIndices())
      indices.push_back(unpack(builder, loc, tile));
    SmallVector<Value> mask;
    if (adaptor.getMask())
      mask = unpack(builder, loc, adaptor.getMask());
    for (int64_t reg = 0; reg < getLayout(type).getElementsPerThread(); ++reg) {
      Value act = mask.empty() ? Value() : mask[reg];
      Value address = view.pointer;
      for (auto [dim, tile] : llvm::enumerate(indices)) {
        Value inside = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ult, tile[reg],
                                            view.extents[dim]);
        act = bothTrue(builder, loc, act, inside);
        address = view.advance(builder, loc, address, static_cast<int64_t>(dim), tile[reg]);
      }
      addresses.push_back(address);
      acts.push_back(act);
    }
  }
};

struct GatherPattern : StatePattern<tile::GatherOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(tile::GatherOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type element = op.getTile().getType().getElementType();
    GlobalView view = GlobalView::open(rewriter, loc, op.getView().getType(), adaptor.getView());
    Points points(rewriter, op, adaptor, view);
    Value fill = adaptor.getFill() ? adaptor.getFill() : zeroElement(rewriter, loc, element);
    SmallVector<Value> values;
    for (auto [address, act] : llvm::zip_equal(points.addresses, points.acts))
      values.push_back(loadIf(rewriter, loc, act, address, 0, element, fill));
    rewriter.replaceOp(op, packElements(rewriter, loc, values, element));
    return success();
  }
};

struct ScatterPattern : StatePattern<tile::ScatterOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(tile::ScatterOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType tile = op.getTile().getType();
    const TileAccess &plan = *state.tileAccesses.find(tile)->second;
    GlobalView view = GlobalView::open(rewriter, loc, op.getView().getType(), adaptor.getView());
    Points points(rewriter, op, adaptor, view);
    Value owner = emitOwner(rewriter, loc, plan, state.roles.of(op).place);
    SmallVector<Value> values = unpackElements(rewriter, loc, adaptor.getTile(), tile);
    for (size_t reg = 0; reg < values.size(); ++reg)
      if (plan.owned[reg])
        storeIf(rewriter, loc, bothTrue(rewriter, loc, owner, points.acts[reg]),
                points.addresses[reg], 0, tile.getElementType(), values[reg]);
    rewriter.eraseOp(op);
    return success();
  }
};

/// "add.noftz.bf16", "min.s32", "exch.b64" (PTX ISA 9.0, 9.7.13.5 "atom").
std::string operationText(tile::AtomicKind kind, Type element) {
  std::string bits = llvm::utostr(element.getIntOrFloatBitWidth());
  switch (kind) {
  case tile::AtomicKind::Add:
    if (element.isF16())
      return "add.noftz.f16";
    if (element.isBF16())
      return "add.noftz.bf16";
    return (isa<FloatType>(element) ? "add.f" : "add.u") + bits;
  case tile::AtomicKind::Min:
    return "min.s" + bits;
  case tile::AtomicKind::Max:
    return "max.s" + bits;
  case tile::AtomicKind::UMin:
    return "min.u" + bits;
  case tile::AtomicKind::UMax:
    return "max.u" + bits;
  case tile::AtomicKind::And:
    return "and.b" + bits;
  case tile::AtomicKind::Or:
    return "or.b" + bits;
  case tile::AtomicKind::Xor:
    return "xor.b" + bits;
  case tile::AtomicKind::Exchange:
    return "exch.b" + bits;
  }
  llvm_unreachable("a kind of atomic");
}

struct AtomicPattern : StatePattern<tile::AtomicOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(tile::AtomicOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType tile = op.getTile().getType();
    Type element = tile.getElementType();
    const TileAccess &plan = *state.tileAccesses.find(tile)->second;
    GlobalView view = GlobalView::open(rewriter, loc, op.getView().getType(), adaptor.getView());
    Points points(rewriter, op, adaptor, view);
    Value owner = emitOwner(rewriter, loc, plan, state.roles.of(op).place);
    SmallVector<Value> values = unpackElements(rewriter, loc, adaptor.getTile(), tile);

    bool used = !op.getOld().use_empty();
    // red knows no acquire, and no exchange.
    bool reduction =
        !used && op.getKind() != tile::AtomicKind::Exchange &&
        (op.getOrder() == tile::Order::Relaxed || op.getOrder() == tile::Order::Release);
    Type carrier = rewriter.getIntegerType(element.getIntOrFloatBitWidth());
    Value zero = LLVM::ZeroOp::create(rewriter, loc, carrier);
    SmallVector<Value> old(values.size());
    for (size_t reg = 0; reg < values.size(); ++reg) {
      if (!plan.owned[reg])
        continue;
      Value value = values[reg];
      if (value.getType() != carrier)
        value = LLVM::BitcastOp::create(rewriter, loc, carrier, value);
      InlineAsm text;
      std::string result = reduction ? "" : text.tied(zero) + ", ";
      std::string guard = text.input(bothTrue(rewriter, loc, owner, points.acts[reg]));
      std::string address = text.input(points.addresses[reg]), operand = text.input(value);
      text.line("@" + guard + (reduction ? " red." : " atom.") +
                stringifyOrder(op.getOrder()).str() + "." + stringifyScope(op.getScope()).str() +
                ".global." + operationText(op.getKind(), element) + " " + result + "[" + address +
                "], " + operand + ";");
      SmallVector<Value> results = text.emit(rewriter, loc);
      if (!reduction)
        old[reg] = fromCarrier(rewriter, loc, results.front(), element);
    }
    if (!used) {
      rewriter.eraseOp(op);
      return success();
    }
    for (Value &value : old)
      if (!value)
        value = zeroElement(rewriter, loc, element);
    Value packed = packElements(rewriter, loc, old, element);
    // What several threads hold, one of them knows.
    if (auto exchange = state.exchanges.find(op); exchange != state.exchanges.end())
      packed = throughScratch(rewriter, op, state, *exchange->second, tile, tile, packed);
    rewriter.replaceOp(op, packed);
    return success();
  }
};

} // namespace

void populatePointPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                           const ConversionState &state) {
  patterns.add<GatherPattern, ScatterPattern, AtomicPattern>(converter, patterns.getContext(),
                                                             state);
}

} // namespace girih::wg
