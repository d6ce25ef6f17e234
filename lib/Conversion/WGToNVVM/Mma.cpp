// wg.acc, wg.mma and wg.wait.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "girih/Conversion/WGToNVVM/Registers.h"
#include "girih/Conversion/WGToNVVM/Wgmma.h"
#include "girih/Dialect/WG/Transforms/Transforms.h"

using namespace mlir;

namespace girih::wg {

namespace {

/// On a wg.mma: it needs no fence of its own.
constexpr llvm::StringLiteral kFencedAttr = "fenced";

struct AccPattern : StatePattern<AccOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(AccOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (adaptor.getFrom()) {
      rewriter.replaceOp(op, adaptor.getFrom());
      return success();
    }
    rewriter.replaceOpWithNewOp<LLVM::UndefOp>(
        op, registersOf(op.getAccumulator().getType().getTile()));
    return success();
  }
};

struct MmaPattern : StatePattern<MmaOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(MmaOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!state.features.hasWgmma())
      return op.emitOpError("needs wgmma, which ")
             << state.features.chip() << " does not have; expected sm_90a";
    Location loc = op.getLoc();
    BufferType b = op.getB().getType();
    WgmmaRequest request;
    request.accumulator = adaptor.getAccumulator();
    request.aType = op.getAElementType();
    request.bType = b.getElementType();
    request.aUnsigned = op.getUnsignedA();
    request.bUnsigned = op.getUnsignedB();
    request.n = op.getN();
    request.kSteps = op.getK() * b.getElementBits() / 8 / kWgmmaKBytes;
    int64_t groups = getLayout(op.getAccumulator().getType().getTile()).getWarpgroups();
    int64_t rows = op.getM() / groups;
    request.blocks = rows / 64;
    request.accumulate = adaptor.getAccumulate();
    request.fence = !op->hasAttr(kFencedAttr);

    // The verifier of wg.mma has seen to it that both buffers have a swizzle.
    std::optional<MatrixOperand> bOperand = matrixOperand(b, 0);
    if (!bOperand)
      return rewriter.notifyMatchFailure(op, "operand b has no descriptor");
    request.bOperand = *bOperand;
    request.bAddress = inUnits(rewriter, loc, adaptor.getB());

    if (auto a = dyn_cast<BufferType>(op.getA().getType())) {
      std::optional<MatrixOperand> aOperand = matrixOperand(a, 1);
      if (!aOperand)
        return rewriter.notifyMatchFailure(op, "operand a has no descriptor");
      request.aOperand = *aOperand;
      request.aAddress = inUnits(rewriter, loc, adaptor.getA());
      if (groups > 1) {
        Value first =
            times(rewriter, loc, state.roles.of(op).place.warpgroup, aOperand->rowOffset(rows));
        request.aAddress = LLVM::AddOp::create(rewriter, loc, request.aAddress, first);
      }
    } else {
      request.aFragment = adaptor.getA();
    }
    rewriter.replaceOp(op, emitWgmma(rewriter, loc, request));
    return success();
  }
};

/// Tiles of A in registers that instructions of the groups which `wait` may retire still read:
/// those of the products that made its operands, back to the last wait for all groups.
SmallVector<Value> fragmentsInFlight(WaitOp wait) {
  SmallVector<Value> fragments;
  for (Value pending : wait.getPending()) {
    while (Operation *maker = pending.getDefiningOp()) {
      if (auto mma = dyn_cast<MmaOp>(maker)) {
        if (isa<RankedTensorType>(mma.getA().getType()) &&
            !llvm::is_contained(fragments, mma.getA()))
          fragments.push_back(mma.getA());
        pending = mma.getAccumulator();
      } else if (auto before = dyn_cast<WaitOp>(maker); before && before.getInFlight() > 0) {
        pending = before.getPending()[cast<OpResult>(pending).getResultNumber()];
      } else {
        break;
      }
    }
  }
  return fragments;
}

/// Whether a wait for all groups stands before in the same block and nothing between them starts a
/// product: then there is nothing to wait for.
bool alreadyWaited(WaitOp wait) {
  auto startsProduct = [](Operation *op) {
    return op->walk([](MmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
  };
  for (Operation *op = wait->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto before = dyn_cast<WaitOp>(op); before && before.getInFlight() == 0)
      return llvm::all_of(wait.getPending(),
                          [&](Value value) { return value.getDefiningOp() == before; });
    if (startsProduct(op))
      return false;
  }
  return false;
}

/// Whether a value's registers hold it from the start of `block` on: no instruction of the block
/// writes them.
bool isThereAtStart(Value value, Block *block) {
  if (auto acc = value.getDefiningOp<AccOp>())
    return acc.getFrom() && isThereAtStart(acc.getFrom(), block);
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == block;
}

/// Whether the product before in the block has a fence after which nothing writes the registers of
/// this one (PTX ISA 9.0, 9.7.15.7.1): a loop carries them, and nothing but set-up of no
/// instructions on tiles stands between the two.
bool isFenced(MmaOp mma) {
  Operation *before = mma->getPrevNode();
  while (before && !isa<MmaOp>(before)) {
    bool writes = llvm::any_of(before->getResultTypes(), llvm::IsaPred<RankedTensorType>);
    if (writes || before->getNumRegions() || !isMemoryEffectFree(before))
      return false;
    before = before->getPrevNode();
  }
  Value a = mma.getA();
  return before && isThereAtStart(mma.getAccumulator(), mma->getBlock()) &&
         (!isa<RankedTensorType>(a.getType()) || isThereAtStart(a, mma->getBlock()));
}

struct WaitPattern : StatePattern<WaitOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(WaitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<Value> values(adaptor.getPending());
    if (!op->hasAttr(kWaitedAttr)) {
      SmallVector<Value> fragments;
      for (Value fragment : fragmentsInFlight(op))
        fragments.push_back(rewriter.getRemappedValue(fragment));
      values = emitWgmmaWait(rewriter, loc, op.getInFlight(), values, fragments);
    }
    Value written = adaptor.getWritten();
    if (written && !matchPattern(written, m_One())) {
      for (Value &value : values)
        value = emitZeroUnless(rewriter, loc, written, value);
    }
    rewriter.replaceOp(op, values);
    return success();
  }
};

} // namespace

void markFinishedWaits(Operation *root) {
  root->walk([](WaitOp wait) {
    if (alreadyWaited(wait))
      wait->setAttr(kWaitedAttr, UnitAttr::get(wait.getContext()));
  });
}

void markFencedProducts(Operation *root) {
  root->walk([](MmaOp mma) {
    if (isFenced(mma))
      mma->setAttr(kFencedAttr, UnitAttr::get(mma.getContext()));
  });
}

void populateMmaPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                         const ConversionState &state) {
  patterns.add<AccPattern, MmaPattern, WaitPattern>(converter, patterns.getContext(), state);
}

} // namespace girih::wg
