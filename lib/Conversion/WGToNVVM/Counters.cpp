// tile.signal and tile.await: the role meets, one thread speaks for it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "GlobalView.h"
#include "RoleScratch.h"

#include "girih/Conversion/WGToNVVM/InlineAsm.h"

using namespace mlir;

namespace girih::wg {

namespace {

struct SignalPattern : StatePattern<tile::SignalOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(tile::SignalOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    const RoleContext &role = state.roles.of(op);
    GlobalView view = GlobalView::open(rewriter, loc, op.getView().getType(), adaptor.getView());
    Value address = view.addressOf(rewriter, loc, adaptor.getIndices());
    bool used = !op.getOld().use_empty();
    // What all threads have stored happens before the barrier, and the release carries it on (PTX
    // ISA 9.0, 8.10.5: causality order is transitive).
    meetRole(rewriter, loc, role);
    Value first = emitFirstThread(rewriter, loc, role);
    InlineAsm text;
    std::string old = text.tied(i32Constant(rewriter, loc, 0));
    std::string guard = first ? "@" + text.input(first) + " " : std::string();
    std::string place = text.input(address), value = text.input(adaptor.getValue());
    text.line(guard + "atom.release." + stringifyScope(op.getScope()).str() + ".global.add.u32 " +
              old + ", [" + place + "], " + value + ";");
    Value result = text.emit(rewriter, loc).front();
    if (!used || !first) {
      rewriter.replaceOp(op, result);
      return success();
    }
    RoleScratch scratch(rewriter, op, role);
    storeShared(rewriter, loc, first, scratch.address(), 0, result, 32);
    scratch.meet(rewriter);
    rewriter.replaceOp(op, loadShared(rewriter, loc, scratch.address(), 0, 1, 32));
    return success();
  }
};

struct AwaitPattern : StatePattern<tile::AwaitOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(tile::AwaitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    const RoleContext &role = state.roles.of(op);
    GlobalView view = GlobalView::open(rewriter, loc, op.getView().getType(), adaptor.getView());
    OpBuilder builder = rewriter;
    if (Value first = emitFirstThread(rewriter, loc, role))
      builder = scf::IfOp::create(rewriter, loc, TypeRange(), first, /*withElseRegion=*/false)
                    .getThenBodyBuilder();
    Value address = view.addressOf(builder, loc, adaptor.getIndices());
    InlineAsm text;
    std::string place = text.input(address), wanted = text.input(adaptor.getValue());
    text.line("{");
    text.line(".reg .pred less;");
    text.line(".reg .b32 now;");
    text.line("again_${:uid}:");
    text.line("ld.acquire." + stringifyScope(op.getScope()).str() + ".global.b32 now, [" + place +
              "];");
    text.line("setp.lt.s32 less, now, " + wanted + ";");
    text.line("@less bra again_${:uid};");
    text.line("}");
    text.emit(builder, loc);
    meetRole(rewriter, loc, role);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populateCounterPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                             const ConversionState &state) {
  patterns.add<SignalPattern, AwaitPattern>(converter, patterns.getContext(), state);
}

} // namespace girih::wg
