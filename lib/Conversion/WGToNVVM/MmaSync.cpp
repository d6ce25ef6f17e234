// wg.mma_sync as inline PTX: one block of instructions, in ascending K, for each 16x8 elements of
// the sum.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "girih/Conversion/WGToNVVM/InlineAsm.h"
#include "girih/Conversion/WGToNVVM/Registers.h"
#include "girih/Layout/MmaFragments.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace girih::wg {

namespace {

/// "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32".
std::string instructionOf(MmaSyncOp op) {
  Type a = op.getA().getType().getElementType(), b = op.getB().getType().getElementType();
  Type sum = op.getResult().getType().getElementType();
  std::string sumName = sum.isInteger() ? "s32" : sum.isF64() ? "f64" : "f32";
  return "mma.sync.aligned.m16n8k" +
         llvm::itostr(mmaDepth(static_cast<int32_t>(getStorageBits(a)))) + ".row.col." + sumName +
         "." + matrixTypeName(a, op.getUnsignedA()).str() + "." +
         matrixTypeName(b, op.getUnsignedB()).str() + "." + sumName;
}

/// The registers of a fragment as the instruction names them: f64 as it is, all else as bits.
SmallVector<Value> registersOfOperand(OpBuilder &builder, Location loc, Value tile) {
  SmallVector<Value> registers = unpack(builder, loc, tile);
  for (Value &value : registers)
    if (value.getType().isF32())
      value = LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), value);
  return registers;
}

std::string listOf(ArrayRef<std::string> names) { return "{" + llvm::join(names, ", ") + "}"; }

struct MmaSyncPattern : OpConversionPattern<MmaSyncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(MmaSyncOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<Value> a = registersOfOperand(rewriter, loc, adaptor.getA());
    SmallVector<Value> b = registersOfOperand(rewriter, loc, adaptor.getB());
    SmallVector<Value> sums = unpack(rewriter, loc, adaptor.getAccumulator());
    Type element = op.getA().getType().getElementType();
    int64_t depth = op.getA().getType().getDimSize(1);
    size_t steps = depth / mmaDepth(static_cast<int32_t>(getStorageBits(element)));
    // Four registers of A, two of B and four of the sum for every type.
    constexpr size_t perA = 4, perB = 2, perSum = 4;
    size_t rows = a.size() / (perA * steps), columns = b.size() / (perB * steps);
    std::string name = instructionOf(op);
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column) {
        MutableArrayRef<Value> sum =
            MutableArrayRef(sums).slice((row * columns + column) * perSum, perSum);
        InlineAsm text;
        SmallVector<std::string> sumNames;
        for (Value value : sum)
          sumNames.push_back(text.tied(value));
        auto inputs = [&](ArrayRef<Value> values) {
          SmallVector<std::string> names;
          for (Value value : values)
            names.push_back(text.input(value));
          return listOf(names);
        };
        for (size_t k = 0; k < steps; ++k) {
          std::string fragmentA = inputs(ArrayRef(a).slice((row * steps + k) * perA, perA));
          std::string fragmentB = inputs(ArrayRef(b).slice((column * steps + k) * perB, perB));
          text.line(name + " " + listOf(sumNames) + ", " + fragmentA + ", " + fragmentB + ", " +
                    listOf(sumNames) + ";");
        }
        llvm::copy(text.emit(rewriter, loc), sum.begin());
      }
    rewriter.replaceOp(op, pack(rewriter, loc, sums));
    return success();
  }
};

} // namespace

void populateMmaSyncPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<MmaSyncPattern>(converter, patterns.getContext());
}

} // namespace girih::wg
