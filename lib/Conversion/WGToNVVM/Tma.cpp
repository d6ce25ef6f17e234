// TMA copies and their bulk groups, issued by one thread.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "girih/Conversion/WGToNVVM/InlineAsm.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace girih::wg {

namespace {

/// "@$3 ", or nothing if one thread executes the block anyhow.
std::string guard(InlineAsm &text, Value predicate) {
  return predicate ? "@" + text.input(predicate) + " " : std::string();
}

/// Elements (row, col) at which the boxes that cover `rows` rows of the buffer start, in the order
/// of its panels.
SmallVector<std::array<int64_t, 2>> boxesOf(BufferType buffer, ViewType view, int64_t rows) {
  std::array<int64_t, 2> extent = {rows, buffer.getShape()[1]};
  int64_t fast = buffer.getFastestDim(), slow = 1 - fast;
  int64_t lines = view.getSlowDim() < 0 ? 1 : view.getBox()[view.getSlowDim()];
  SmallVector<std::array<int64_t, 2>> starts;
  for (int64_t i = 0; i < extent[fast]; i += view.getBox()[view.getFastestDim()])
    for (int64_t j = 0; j < extent[slow]; j += lines) {
      std::array<int64_t, 2> start;
      start[fast] = i;
      start[slow] = j;
      starts.push_back(start);
    }
  return starts;
}

/// "{$1, $2}": the coordinates of a box, fastest dimension first as TMA counts them (PTX
/// ISA 9.0, 5.5.3).
std::string coordinates(OpBuilder &builder, Location loc, InlineAsm &text, BufferType buffer,
                        ViewType view, ValueRange indices, std::array<int64_t, 2> start) {
  SmallVector<std::string> names;
  for (int64_t dim : view.getOrder()) {
    int64_t from = dim == view.getFastestDim() ? start[buffer.getFastestDim()]
                   : dim == view.getSlowDim()  ? start[1 - buffer.getFastestDim()]
                                               : 0;
    names.push_back(text.input(plus(builder, loc, indices[dim], from)));
  }
  return "{" + llvm::join(names, ", ") + "}";
}

/// "cp.async.bulk.tensor.2d" for a view of two dimensions.
std::string instruction(ViewType view) {
  return "cp.async.bulk.tensor." + llvm::itostr(view.getRank()) + "d";
}

/// A CTA's share of a tile that is multicast: `boxes` from the start, of which it adds its rank
/// times `distance` bytes and `step` elements along the buffer's dimension `dim`.
struct Share {
  SmallVector<std::array<int64_t, 2>> boxes;
  int64_t dim = 0, step = 0, distance = 0;
};

/// Whole panels if they can be shared out, else parts of each panel; the verifier of wg.tma_load
/// knows that one of them works.
Share shareOf(BufferType buffer, ViewType view, int64_t ctas) {
  int64_t fast = buffer.getFastestDim();
  Share share;
  share.dim = buffer.getNumPanels() % ctas == 0 ? fast : 1 - fast;
  share.step = share.dim == fast ? buffer.getNumPanels() / ctas * buffer.getPanelExtent()
                                 : buffer.getOuterExtent() / ctas;
  std::array<int64_t, 2> first = {0, 0};
  first[share.dim] = share.step;
  share.distance = byteOffset(buffer, first[0], first[1]);
  for (std::array<int64_t, 2> start : boxesOf(buffer, view, buffer.getShape()[0]))
    if (start[share.dim] < share.step)
      share.boxes.push_back(start);
  return share;
}

/// The CTA's number in its cluster.
Value clusterRank(OpBuilder &builder, Location loc) {
  return LLVM::CallIntrinsicOp::create(
             builder, loc, builder.getI32Type(),
             builder.getStringAttr("llvm.nvvm.read.ptx.sreg.cluster.ctarank"), ValueRange())
      .getResults();
}

struct LoadPattern : StatePattern<TmaLoadOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(TmaLoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!adaptor.getBarrier())
      return op.emitOpError(
          "has no barrier to complete on; expected a slot of a ring, or barrier(%bar[%i])");
    Location loc = op.getLoc();
    BufferType buffer = op.getBuffer().getType();
    ViewType view = op.getView().getType();
    const RoleContext &role = state.roles.of(op);
    Value distance = LLVM::ShlOp::create(rewriter, loc, adaptor.getBarrierIndex(),
                                         i32Constant(rewriter, loc, 3));
    Value barrier = LLVM::AddOp::create(rewriter, loc, adaptor.getBarrier(), distance);
    Value base = adaptor.getBuffer();
    SmallVector<Value> indices(adaptor.getIndices());
    SmallVector<std::array<int64_t, 2>> boxes = boxesOf(buffer, view, buffer.getShape()[0]);
    std::string modifier, mask;
    if (op.getMulticast()) {
      int64_t ctas = role.ctas;
      Share share = shareOf(buffer, view, ctas);
      Value rank = clusterRank(rewriter, loc);
      base = LLVM::AddOp::create(rewriter, loc, base, times(rewriter, loc, rank, share.distance));
      int64_t dim = share.dim == buffer.getFastestDim() ? view.getFastestDim() : view.getSlowDim();
      indices[dim] =
          LLVM::AddOp::create(rewriter, loc, indices[dim], times(rewriter, loc, rank, share.step));
      boxes = share.boxes;
      modifier = ".multicast::cluster";
      mask = ", " + llvm::utostr((1u << ctas) - 1);
    }
    for (std::array<int64_t, 2> start : boxes) {
      InlineAsm text;
      std::string prefix = guard(text, role.leader);
      std::string address =
          text.input(plus(rewriter, loc, base, byteOffset(buffer, start[0], start[1])));
      std::string map = text.input(adaptor.getView());
      std::string place = coordinates(rewriter, loc, text, buffer, view, indices, start);
      text.line(prefix + instruction(view) +
                ".shared::cluster.global.tile.mbarrier::complete_tx::bytes" + modifier + " [" +
                address + "], [" + map + ", " + place + "], [" + text.input(barrier) + "]" + mask +
                ";");
      text.emit(rewriter, loc);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct StorePattern : StatePattern<TmaStoreOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(TmaStoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    BufferType buffer = op.getBuffer().getType();
    ViewType view = op.getView().getType();
    const RoleContext &role = state.roles.of(op);

    // A warpgroup's own rows: their share of the buffer, and of the array.
    int64_t rows = buffer.getShape()[0], groups = role.storingGroups();
    rows /= groups;
    Value base = adaptor.getBuffer();
    SmallVector<Value> indices(adaptor.getIndices());
    if (groups > 1) {
      Value group = role.place.warpgroup;
      base = LLVM::AddOp::create(rewriter, loc, base,
                                 times(rewriter, loc, group, byteOffset(buffer, rows, 0)));
      int64_t dim = buffer.isRowMajor() ? view.getSlowDim() : view.getFastestDim();
      indices[dim] =
          LLVM::AddOp::create(rewriter, loc, indices[dim], times(rewriter, loc, group, rows));
    }
    for (std::array<int64_t, 2> start : boxesOf(buffer, view, rows)) {
      InlineAsm text;
      std::string prefix = guard(text, role.groupLeader);
      std::string map = text.input(adaptor.getView());
      std::string place = coordinates(rewriter, loc, text, buffer, view, indices, start);
      std::string address =
          text.input(plus(rewriter, loc, base, byteOffset(buffer, start[0], start[1])));
      text.line(prefix + instruction(view) + ".global.shared::cta.tile.bulk_group [" + map + ", " +
                place + "], [" + address + "];");
      text.emit(rewriter, loc);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct CommitPattern : StatePattern<BulkCommitOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(BulkCommitOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    InlineAsm text;
    std::string prefix = guard(text, state.roles.of(op).groupLeader);
    text.line(prefix + "cp.async.bulk.commit_group;").emit(rewriter, op.getLoc());
    rewriter.eraseOp(op);
    return success();
  }
};

struct BulkWaitPattern : StatePattern<BulkWaitOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(BulkWaitOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    InlineAsm text;
    std::string prefix = guard(text, state.roles.of(op).groupLeader);
    text.line(prefix +
              (op.getRead() ? "cp.async.bulk.wait_group.read " : "cp.async.bulk.wait_group ") +
              llvm::utostr(op.getInFlight()) + ";");
    text.emit(rewriter, op.getLoc());
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populateTmaPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                         const ConversionState &state) {
  patterns.add<LoadPattern, StorePattern, CommitPattern, BulkWaitPattern>(
      converter, patterns.getContext(), state);
}

} // namespace girih::wg
