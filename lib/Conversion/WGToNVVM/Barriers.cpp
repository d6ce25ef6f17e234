// mbarriers, named barriers, fences and register budgets.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "girih/Conversion/WGToNVVM/InlineAsm.h"
#include "girih/Dialect/WG/Transforms/Transforms.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace girih::wg {

namespace {

/// Address of barrier `index` of an array: 8 bytes each (PTX ISA 9.0, 9.7.13.16.2 "Size and
/// alignment of mbarrier object").
Value barrierAddress(OpBuilder &builder, Location loc, Value barriers, Value index) {
  Value distance = LLVM::ShlOp::create(builder, loc, index, i32Constant(builder, loc, 3));
  return LLVM::AddOp::create(builder, loc, barriers, distance);
}

struct InitPattern : StatePattern<BarrierInitOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(BarrierInitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    for (int64_t i = 0; i < op.getBarrier().getType().getCount(); ++i) {
      InlineAsm text;
      std::string address = text.input(plus(rewriter, op.getLoc(), adaptor.getBarrier(), 8 * i));
      text.line("mbarrier.init.shared::cta.b64 [" + address + "], " + llvm::utostr(op.getCount()) +
                ";");
      text.emit(rewriter, op.getLoc());
    }
    rewriter.eraseOp(op);
    return success();
  }
};

/// Ops that are one line without operands.
template <typename Op> struct PlainPattern : OpConversionPattern<Op> {
  PlainPattern(const TypeConverter &converter, MLIRContext *context, StringRef text)
      : OpConversionPattern<Op>(converter, context), text(text) {}
  StringRef text;
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    InlineAsm().line(text.str()).emit(rewriter, op.getLoc());
    rewriter.eraseOp(op);
    return success();
  }
};

/// On a wg.barrier_wait: the one before it, which it follows immediately, waits for both.
constexpr llvm::StringLiteral kJoinedAttr = "joined";

struct WaitPattern : StatePattern<BarrierWaitOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(BarrierWaitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op->hasAttr(kJoinedAttr)) {
      rewriter.eraseOp(op);
      return success();
    }
    Location loc = op.getLoc();
    InlineAsm text;
    // try_wait suspends the thread for a while, and may return without the phase (9.7.13.16.16):
    // hence the loop. A label must differ wherever LLVM places a copy of the block.
    text.line("{");
    text.line(".reg .pred done;");
    text.line("again_${:uid}:");
    auto tryWait = [&](Value barrier, Value index, Value parity) {
      std::string address = text.input(barrierAddress(rewriter, loc, barrier, index));
      text.line("mbarrier.try_wait.parity.shared::cta.b64 done, [" + address + "], " +
                text.input(parity) + ";");
      text.line("@!done bra again_${:uid};");
    };
    tryWait(adaptor.getBarrier(), adaptor.getIndex(), adaptor.getParity());
    for (auto next = dyn_cast_or_null<BarrierWaitOp>(op->getNextNode());
         next && next->hasAttr(kJoinedAttr);
         next = dyn_cast_or_null<BarrierWaitOp>(next->getNextNode()))
      tryWait(rewriter.getRemappedValue(next.getBarrier()),
              rewriter.getRemappedValue(next.getIndex()),
              rewriter.getRemappedValue(next.getParity()));
    text.line("}");
    text.emit(rewriter, loc);
    rewriter.eraseOp(op);
    return success();
  }
};

struct ArrivePattern : StatePattern<BarrierArriveOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(BarrierArriveOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    InlineAsm text;
    std::string address =
        text.input(barrierAddress(rewriter, op.getLoc(), adaptor.getBarrier(), adaptor.getIndex()));
    text.line("mbarrier.arrive.shared::cta.b64 _, [" + address + "];");
    text.emit(rewriter, op.getLoc());
    rewriter.eraseOp(op);
    return success();
  }
};

struct ArriveClusterPattern : StatePattern<BarrierArriveClusterOp> {
  using StatePattern::StatePattern;

  /// What a lane knows from the start of its role: whether it arrives anywhere, and where the array
  /// of barriers stands in the CTA of its number.
  struct There {
    Value arrives, barriers;
  };
  mutable llvm::DenseMap<std::pair<Value, Value>, There> known;

  There there(OpBuilder &builder, Location loc, const RoleContext &role, Value barriers) const {
    Value lane = role.place.lane;
    auto [found, isNew] = known.try_emplace({lane, barriers});
    if (!isNew)
      return found->second;
    OpBuilder::InsertionGuard guard(builder);
    // At the start of the role, or behind the barriers where they stand in the same block.
    Operation *start = lane.getDefiningOp(), *allocation = barriers.getDefiningOp();
    if (allocation && allocation->getBlock() == start->getBlock() &&
        start->isBeforeInBlock(allocation))
      start = allocation;
    builder.setInsertionPointAfter(start);
    found->second.arrives = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ult, lane,
                                                 i32Constant(builder, loc, role.ctas));
    // Every lane asks for a CTA that there is.
    Value cta = LLVM::UMinOp::create(builder, loc, lane, i32Constant(builder, loc, role.ctas - 1));
    InlineAsm text;
    std::string result = text.output(builder.getI32Type());
    text.line("mapa.shared::cluster.u32 " + result + ", " + text.input(barriers) + ", " +
              text.input(cta) + ";");
    found->second.barriers = text.emitStruct(builder, loc);
    return found->second;
  }

  LogicalResult matchAndRewrite(BarrierArriveClusterOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    There place = there(rewriter, loc, state.roles.of(op), adaptor.getBarrier());
    InlineAsm text;
    std::string arrives = text.input(place.arrives);
    std::string address =
        text.input(barrierAddress(rewriter, loc, place.barriers, adaptor.getIndex()));
    text.line("@" + arrives + " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [" +
              address + "];");
    text.emit(rewriter, loc);
    rewriter.eraseOp(op);
    return success();
  }
};

template <typename Op> struct ExpectPattern : OpConversionPattern<Op> {
  ExpectPattern(const TypeConverter &converter, MLIRContext *context, StringRef instruction,
                StringRef sink)
      : OpConversionPattern<Op>(converter, context), instruction(instruction), sink(sink) {}
  StringRef instruction, sink;
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    InlineAsm text;
    std::string address =
        text.input(barrierAddress(rewriter, op.getLoc(), adaptor.getBarrier(), adaptor.getIndex()));
    text.line((instruction + " " + sink + "[" + address + "], " + llvm::utostr(op.getBytes()) + ";")
                  .str());
    text.emit(rewriter, op.getLoc());
    rewriter.eraseOp(op);
    return success();
  }
};

struct NamedSyncPattern : StatePattern<NamedBarrierSyncOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(NamedBarrierSyncOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value threads = i32Constant(rewriter, op.getLoc(), op.getThreads());
    // What nvvm.barrier translates to; that op, printed with a location, does not parse again (MLIR
    // 22 takes "loc(" for its optional reduction).
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, rewriter.getStringAttr("llvm.nvvm.barrier.cta.sync.aligned.count"),
        ValueRange{adaptor.getId(), threads});
    return success();
  }
};

struct NamedArrivePattern : StatePattern<NamedBarrierArriveOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(NamedBarrierArriveOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value threads = i32Constant(rewriter, op.getLoc(), op.getThreads());
    // MLIR 22 cannot translate nvvm.barrier.arrive with a barrier that is no constant.
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, rewriter.getStringAttr("llvm.nvvm.barrier.cta.arrive.aligned.count"),
        ValueRange{adaptor.getId(), threads});
    return success();
  }
};

struct SetRegistersPattern : StatePattern<SetRegistersOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(SetRegistersOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!state.features.hasSetMaxRegisters())
      return op.emitOpError("needs setmaxnreg, which ")
             << state.features.chip() << " does not have; leave registers out";
    bool more = op.getChange() == RegisterChange::Increase;
    rewriter.replaceOpWithNewOp<NVVM::SetMaxRegisterOp>(
        op, op.getRegisters(),
        more ? NVVM::SetMaxRegisterAction::increase : NVVM::SetMaxRegisterAction::decrease);
    return success();
  }
};

} // namespace

void joinWaits(Operation *root) {
  root->walk([](Block *block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block))) {
      if (!isa<BarrierWaitOp>(op) || !op.hasAttr(kHeldAttr))
        continue;
      Operation *next = op.getNextNode();
      while (next && next->getNumRegions() == 0 && isMemoryEffectFree(next))
        next = next->getNextNode();
      if (!isa_and_present<BarrierWaitOp>(next) || !next->hasAttr(kHeldAttr))
        continue;
      op.moveBefore(next);
      next->setAttr(kJoinedAttr, UnitAttr::get(next->getContext()));
    }
  });
}

void populateBarrierPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                             const ConversionState &state) {
  MLIRContext *context = patterns.getContext();
  patterns.add<InitPattern, WaitPattern, ArrivePattern, ArriveClusterPattern, NamedSyncPattern,
               NamedArrivePattern, SetRegistersPattern>(converter, context, state);
  patterns.add<PlainPattern<BarrierInitFenceOp>>(converter, context,
                                                 "fence.mbarrier_init.release.cluster;");
  // Not aligned: at the kernel's end a warp need not have met again.
  patterns.add<PlainPattern<ClusterSyncOp>>(converter, context,
                                            "barrier.cluster.arrive;\nbarrier.cluster.wait;");
  patterns.add<PlainPattern<FenceProxyAsyncOp>>(converter, context,
                                                "fence.proxy.async.shared::cta;");
  patterns.add<ExpectPattern<BarrierExpectOp>>(converter, context,
                                               "mbarrier.arrive.expect_tx.shared::cta.b64", "_, ");
  patterns.add<ExpectPattern<BarrierExpectOnlyOp>>(
      converter, context, "mbarrier.expect_tx.relaxed.cta.shared::cta.b64", "");
}

} // namespace girih::wg
