// Exchange among threads; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RoleScratch.h"

#include "Patterns.h"

#include "girih/Conversion/WGToNVVM/InlineAsm.h"
#include "girih/Dialect/WG/Transforms/Scratch.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace girih::wg {

Value toCarrier(OpBuilder &builder, Location loc, Value element) {
  unsigned bits = element.getType().getIntOrFloatBitWidth();
  Type type = builder.getIntegerType(bits);
  if (element.getType() != type)
    element = LLVM::BitcastOp::create(builder, loc, type, element);
  if (bits >= 32)
    return element;
  return LLVM::ZExtOp::create(builder, loc, builder.getI32Type(), element);
}

Value fromCarrier(OpBuilder &builder, Location loc, Value carrier, Type type) {
  unsigned bits = type.getIntOrFloatBitWidth();
  Type integer = builder.getIntegerType(bits);
  if (carrier.getType() != integer)
    carrier = LLVM::TruncOp::create(builder, loc, integer, carrier);
  return type == integer ? carrier : Value(LLVM::BitcastOp::create(builder, loc, type, carrier));
}

Value shuffle(OpBuilder &builder, Location loc, Value element, NVVM::ShflKind kind,
              Value selector) {
  auto shuffleWord = [&](Value word) -> Value {
    return NVVM::ShflOp::create(builder, loc, builder.getI32Type(), i32Constant(builder, loc, -1),
                                word, selector, i32Constant(builder, loc, 31), kind, UnitAttr());
  };
  Value carrier = toCarrier(builder, loc, element);
  if (carrier.getType().isInteger(32))
    return fromCarrier(builder, loc, shuffleWord(carrier), element.getType());
  auto words = VectorType::get(2, builder.getI32Type());
  Value halves = LLVM::BitcastOp::create(builder, loc, words, carrier);
  Value moved = LLVM::PoisonOp::create(builder, loc, words);
  for (int64_t i = 0; i < 2; ++i) {
    Value index = i32Constant(builder, loc, i);
    Value word = LLVM::ExtractElementOp::create(builder, loc, halves, index);
    moved = LLVM::InsertElementOp::create(builder, loc, moved, shuffleWord(word), index);
  }
  Value bits = LLVM::BitcastOp::create(builder, loc, builder.getI64Type(), moved);
  return fromCarrier(builder, loc, bits, element.getType());
}

RoleScratch::RoleScratch(OpBuilder &builder, Operation *op, const RoleContext &role)
    : loc(op->getLoc()), role(role) {
  ArrayRef<int32_t> place = op->getAttrOfType<DenseI32ArrayAttr>(kScratchAttr).asArrayRef();
  start = plus(builder, loc, sharedBase(builder, op), place[0]);
  if (role.each)
    start = LLVM::AddOp::create(builder, loc, start,
                                times(builder, loc, role.place.warpgroup, place[1]));
}

void meetRole(OpBuilder &builder, Location loc, const RoleContext &role) {
  if (role.warpsTogether() == 1)
    return meetWarp(builder, loc);
  Value id = i32Constant(builder, loc, role.barrier);
  if (role.each)
    id = LLVM::AddOp::create(builder, loc, id, role.place.warpgroup);
  LLVM::CallIntrinsicOp::create(
      builder, loc, builder.getStringAttr("llvm.nvvm.barrier.cta.sync.aligned.count"),
      ValueRange{id, i32Constant(builder, loc, 32 * role.warpsTogether())});
}

void meetWarp(OpBuilder &builder, Location loc) {
  NVVM::SyncWarpOp::create(builder, loc, i32Constant(builder, loc, -1));
}

namespace {

std::string vectorText(ArrayRef<std::string> names) {
  return names.size() == 1 ? names.front() : "{" + llvm::join(names, ", ") + "}";
}

std::string widthText(size_t count, const char *kind, int64_t bits) {
  return (count > 1 ? ".v" + llvm::utostr(count) : std::string()) + kind + llvm::itostr(bits);
}

std::string addressText(const std::string &reg, int64_t offset) {
  return offset ? "[" + reg + "+" + llvm::itostr(offset) + "]" : "[" + reg + "]";
}

} // namespace

void storeShared(OpBuilder &builder, Location loc, Value predicate, Value address, int64_t offset,
                 ArrayRef<Value> values, int64_t bits) {
  InlineAsm text;
  std::string guard = predicate ? "@" + text.input(predicate) + " " : "";
  std::string place = addressText(text.input(address), offset);
  SmallVector<std::string> names;
  for (Value value : values)
    names.push_back(text.input(value));
  text.line(guard + "st.shared" + widthText(values.size(), ".b", bits) + " " + place + ", " +
            vectorText(names) + ";");
  text.emit(builder, loc);
}

SmallVector<Value> loadShared(OpBuilder &builder, Location loc, Value address, int64_t offset,
                              int64_t count, int64_t bits) {
  InlineAsm text;
  SmallVector<std::string> names;
  Type type = builder.getIntegerType(static_cast<unsigned>(std::max<int64_t>(bits, 16)));
  for (int64_t i = 0; i < count; ++i)
    names.push_back(text.output(type));
  std::string place = addressText(text.input(address), offset);
  text.line("ld.shared" + widthText(static_cast<size_t>(count), bits < 16 ? ".u" : ".b", bits) +
            " " + vectorText(names) + ", " + place + ";");
  return text.emit(builder, loc);
}

} // namespace girih::wg
