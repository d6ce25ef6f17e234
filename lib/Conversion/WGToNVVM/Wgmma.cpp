// wgmma and its wait as inline PTX; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Conversion/WGToNVVM/Wgmma.h"

#include "girih/Conversion/WGToNVVM/InlineAsm.h"
#include "girih/Conversion/WGToNVVM/Registers.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace girih::wg {

namespace {

/// "k16.f32.bf16.bf16": the depth of one instruction and the types of D, A and B.
std::string typesOf(const WgmmaRequest &request) {
  int64_t bits = getStorageBits(request.bType);
  return "k" + llvm::itostr(8 * kWgmmaKBytes / bits) +
         (request.aType.isInteger() ? ".s32." : ".f32.") +
         matrixTypeName(request.aType, request.aUnsigned).str() + "." +
         matrixTypeName(request.bType, request.bUnsigned).str();
}

/// The low half of a descriptor whose start address is `address` (in 16 bytes). The start address
/// stays below 2^14, so moving it never carries into the next field.
Value lowHalf(OpBuilder &builder, Location loc, Value address, const MatrixOperand &operand) {
  Value fields = LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(operand.low));
  return LLVM::AddOp::create(builder, loc, address, fields);
}

/// Registers as PTX's vector operand.
std::string vectorOf(ArrayRef<std::string> names) { return "{" + llvm::join(names, ", ") + "}"; }

} // namespace

Value emitWgmma(OpBuilder &builder, Location loc, const WgmmaRequest &request) {
  InlineAsm block;

  SmallVector<std::string> accumulators;
  for (Value field : unpack(builder, loc, request.accumulator))
    accumulators.push_back(block.tied(field));
  SmallVector<std::string> fragment;
  std::string aLow;
  if (request.aFragment) {
    for (Value field : unpack(builder, loc, request.aFragment))
      fragment.push_back(block.input(field));
  } else {
    aLow = block.input(lowHalf(builder, loc, request.aAddress, *request.aOperand));
  }
  std::string bLow = block.input(lowHalf(builder, loc, request.bAddress, request.bOperand));
  std::string first = request.accumulate ? block.input(request.accumulate) : "always";

  block.line("{");
  block.line(".reg .pred always;");
  block.line(".reg .b32 low;");
  block.line(".reg .b64 a, b;");
  block.line("setp.eq.u32 always, 0, 0;");
  if (request.fence)
    block.line("wgmma.fence.sync.aligned;");

  size_t perBlock = accumulators.size() / request.blocks;
  std::string name =
      "wgmma.mma_async.sync.aligned.m64n" + llvm::utostr(request.n) + typesOf(request) + " ";
  // Integers know no negation, and only operands of 16 bits can be read transposed.
  bool integers = request.aType.isInteger(), has16Bits = getStorageBits(request.bType) == 16;
  // A descriptor moved by `offset`, in the register `into`. Only its low half moves: an addition of
  // 64 bits makes ptxas set up a constant of two registers for each.
  auto move = [&](const char *into, const std::string &low, int64_t offset, uint32_t high) {
    block.line("add.s32 low, " + low + ", " + llvm::itostr(offset) + ";");
    block.line(std::string("mov.b64 ") + into + ", {low, " + llvm::utostr(high) + "};");
  };
  for (int64_t k = 0; k < request.kSteps; ++k) {
    move("b", bLow, request.bOperand.stepOffset(k), request.bOperand.high);
    for (int64_t m = 0; m < request.blocks; ++m) {
      std::string a = "a";
      if (request.aFragment)
        a = vectorOf(ArrayRef(fragment).slice((m * request.kSteps + k) * 4, 4));
      else
        move("a", aLow, request.aOperand->rowOffset(64 * m) + request.aOperand->stepOffset(k),
             request.aOperand->high);
      std::string text = name + vectorOf(ArrayRef(accumulators).slice(m * perBlock, perBlock)) +
                         ", " + a + ", b, " + (k == 0 ? first : "always");
      if (!integers)
        text += ", 1, 1"; // imm-scale-a and -b: no negation
      if (has16Bits && !request.aFragment)
        text += request.aOperand->transposed ? ", 1" : ", 0";
      if (has16Bits)
        text += request.bOperand.transposed ? ", 1" : ", 0";
      block.line(text + ";");
    }
  }
  block.line("wgmma.commit_group.sync.aligned;");
  block.line("}");
  return block.emitStruct(builder, loc);
}

SmallVector<Value> emitWgmmaWait(OpBuilder &builder, Location loc, int64_t inFlight,
                                 ArrayRef<Value> accumulators, ArrayRef<Value> fragments) {
  InlineAsm block;
  block.line("wgmma.wait_group.sync.aligned " + llvm::itostr(inFlight) + ";");
  SmallVector<size_t> counts;
  for (Value value : accumulators) {
    SmallVector<Value> fields = unpack(builder, loc, value);
    counts.push_back(fields.size());
    for (Value field : fields)
      block.tied(field);
  }
  for (Value value : fragments)
    for (Value field : unpack(builder, loc, value))
      block.tied(field);

  if (accumulators.size() == 1 && fragments.empty() && counts.front() > 1)
    return {block.emitStruct(builder, loc)};

  SmallVector<Value> fields = block.emit(builder, loc);
  SmallVector<Value> results;
  ArrayRef<Value> rest(fields);
  for (size_t count : counts) {
    results.push_back(pack(builder, loc, rest.take_front(count)));
    rest = rest.drop_front(count);
  }
  return results;
}

Value emitZeroUnless(OpBuilder &builder, Location loc, Value written, Value value) {
  InlineAsm block;
  SmallVector<std::string> names;
  for (Value field : unpack(builder, loc, value))
    names.push_back(block.tied(field));
  std::string condition = block.input(written);
  block.line("{");
  block.line("@" + condition + " bra keep_${:uid};");
  for (const std::string &name : names)
    block.line("mov.b32 " + name + ", 0;");
  block.line("keep_${:uid}:");
  block.line("}");
  return block.emitStruct(builder, loc);
}

} // namespace girih::wg
