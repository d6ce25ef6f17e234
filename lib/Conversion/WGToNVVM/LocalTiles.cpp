// Tiles between registers and shared memory: girih::Layout chooses the instruction and says how
// its addresses are made.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AsyncCopy.h"
#include "Patterns.h"

#include "girih/Conversion/WGToNVVM/InlineAsm.h"
#include "girih/Conversion/WGToNVVM/Registers.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace girih::wg {

namespace {

std::string addressText(const std::string &reg, int64_t add) {
  return add ? "[" + reg + "+" + llvm::itostr(add) + "]" : "[" + reg + "]";
}

/// Registers of a tile that one instruction moves; those of 64-bit elements count as one.
int64_t registersAtATime(const LocalAccess &plan, Type field) {
  return plan.registers * 32 / std::max(32u, field.getIntOrFloatBitWidth());
}

/// ".m8n8.x4.trans.shared.b16 " of matrices, ".shared.v2.b32 " of vectors.
std::string formText(const LocalAccess &plan, Type field) {
  int64_t count = registersAtATime(plan, field);
  if (plan.matrix)
    return ".sync.aligned.m8n8.x" + llvm::itostr(count) + (plan.trans ? ".trans" : "") +
           ".shared.b16 ";
  return ".shared" + (count > 1 ? ".v" + llvm::itostr(count) : "") +
         (field.getIntOrFloatBitWidth() == 64 ? ".b64 " : ".b32 ");
}

std::string listText(ArrayRef<std::string> names, bool matrix) {
  return names.size() == 1 && !matrix ? names.front() : "{" + llvm::join(names, ", ") + "}";
}

/// A register as b32 or b64.
Value asBits(OpBuilder &builder, Location loc, Value value) {
  Type bits = builder.getIntegerType(value.getType().getIntOrFloatBitWidth());
  return value.getType() == bits ? value
                                 : Value(LLVM::BitcastOp::create(builder, loc, bits, value));
}

struct StorePattern : StatePattern<LocalStoreOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(LocalStoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    BufferType buffer = op.getBuffer().getType();
    if (state.copied.contains(op)) {
      emitAsyncWait(rewriter, loc);
      rewriter.eraseOp(op);
      return success();
    }
    const LocalAccess *plan = &state.accesses.find({op.getTile().getType(), buffer})->second;
    SmallVector<Value> registers = unpack(rewriter, loc, adaptor.getTile());
    Type field = registers.front().getType();
    ArrayRef<Value> rest(registers);
    forEachAddress(rewriter, loc, adaptor.getBuffer(), buffer, *plan, state.roles.of(op).place,
                   [&](Value address, int64_t add) {
                     InlineAsm text;
                     std::string place = addressText(text.input(address), add);
                     SmallVector<std::string> names;
                     int64_t count = registersAtATime(*plan, field);
                     for (Value value : rest.take_front(count))
                       names.push_back(text.input(asBits(rewriter, loc, value)));
                     rest = rest.drop_front(count);
                     text.line((plan->matrix ? "stmatrix" : "st") + formText(*plan, field) + place +
                               ", " + listText(names, plan->matrix) + ";");
                     text.emit(rewriter, loc);
                   });
    rewriter.eraseOp(op);
    return success();
  }
};

struct LoadPattern : StatePattern<LocalLoadOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(LocalLoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    BufferType buffer = op.getBuffer().getType();
    RankedTensorType tile = op.getTile().getType();
    const LocalAccess *plan = &state.accesses.find({tile, buffer})->second;
    Type field = registerType(tile.getElementType());
    Type bits = rewriter.getIntegerType(field.getIntOrFloatBitWidth());
    SmallVector<Value> registers;
    forEachAddress(rewriter, loc, adaptor.getBuffer(), buffer, *plan, state.roles.of(op).place,
                   [&](Value address, int64_t add) {
                     InlineAsm text;
                     SmallVector<std::string> names;
                     for (int64_t i = 0; i < registersAtATime(*plan, field); ++i)
                       names.push_back(text.output(bits));
                     std::string place = addressText(text.input(address), add);
                     text.line((plan->matrix ? "ldmatrix" : "ld") + formText(*plan, field) +
                               listText(names, plan->matrix) + ", " + place + ";");
                     for (Value value : text.emit(rewriter, loc))
                       registers.push_back(field == bits ? value
                                                         : Value(LLVM::BitcastOp::create(
                                                               rewriter, loc, field, value)));
                   });
    rewriter.replaceOp(op, pack(rewriter, loc, registers));
    return success();
  }
};

} // namespace

void populateLocalPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                           const ConversionState &state) {
  patterns.add<StorePattern, LoadPattern>(converter, patterns.getContext(), state);
}

} // namespace girih::wg
