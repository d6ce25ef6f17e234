// Structs of registers; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Conversion/WGToNVVM/Registers.h"

#include "girih/Dialect/WG/IR/WG.h"

using namespace mlir;

namespace girih::wg {

int64_t elementsPerRegister(Type elementType) {
  unsigned bits = elementType.getIntOrFloatBitWidth();
  return bits == 16 ? 2 : bits == 8 ? 4 : 1;
}

Type registerType(Type elementType) {
  return elementsPerRegister(elementType) == 1 ? elementType
                                               : IntegerType::get(elementType.getContext(), 32);
}

LLVM::LLVMStructType registersOf(RankedTensorType tile) {
  Type element = tile.getElementType();
  int64_t count =
      cast<LayoutAttr>(tile.getEncoding()).getElementsPerThread() / elementsPerRegister(element);
  return LLVM::LLVMStructType::getLiteral(tile.getContext(),
                                          SmallVector<Type>(count, registerType(element)));
}

SmallVector<Value> unpack(OpBuilder &builder, Location loc, Value structValue) {
  auto type = cast<LLVM::LLVMStructType>(structValue.getType());
  size_t count = type.getBody().size();
  SmallVector<Value> fields(count);

  // Read the chain of insertions backwards: a field that it sets needs no extraction.
  Value source = structValue;
  while (auto insert = source.getDefiningOp<LLVM::InsertValueOp>()) {
    ArrayRef<int64_t> position = insert.getPosition();
    if (position.size() == 1 && !fields[position.front()])
      fields[position.front()] = insert.getValue();
    source = insert.getContainer();
  }
  for (auto [i, field] : llvm::enumerate(fields))
    if (!field)
      field = LLVM::ExtractValueOp::create(builder, loc, source, static_cast<int64_t>(i));
  return fields;
}

Value pack(OpBuilder &builder, Location loc, ArrayRef<Value> fields) {
  auto type = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), llvm::map_to_vector(fields, [](Value v) { return v.getType(); }));
  Value result = LLVM::PoisonOp::create(builder, loc, type);
  for (auto [i, field] : llvm::enumerate(fields))
    result = LLVM::InsertValueOp::create(builder, loc, result, field, static_cast<int64_t>(i));
  return result;
}

SmallVector<Value> unpackElements(OpBuilder &builder, Location loc, Value structValue,
                                  Type elementType) {
  SmallVector<Value> registers = unpack(builder, loc, structValue);
  int64_t count = elementsPerRegister(elementType);
  if (count == 1)
    return registers;
  auto vector = VectorType::get(count, elementType);
  SmallVector<Value> elements;
  for (Value value : registers) {
    Value parts = LLVM::BitcastOp::create(builder, loc, vector, value);
    for (int64_t i = 0; i < count; ++i) {
      Value index = LLVM::ConstantOp::create(builder, loc,
                                             builder.getI32IntegerAttr(static_cast<int32_t>(i)));
      elements.push_back(LLVM::ExtractElementOp::create(builder, loc, parts, index));
    }
  }
  return elements;
}

Value packElements(OpBuilder &builder, Location loc, ArrayRef<Value> elements, Type elementType) {
  int64_t count = elementsPerRegister(elementType);
  if (count == 1)
    return pack(builder, loc, elements);
  auto vector = VectorType::get(count, elementType);
  SmallVector<Value> registers;
  for (; !elements.empty(); elements = elements.drop_front(count)) {
    Value parts = LLVM::PoisonOp::create(builder, loc, vector);
    for (int64_t i = 0; i < count; ++i) {
      Value index = LLVM::ConstantOp::create(builder, loc,
                                             builder.getI32IntegerAttr(static_cast<int32_t>(i)));
      parts = LLVM::InsertElementOp::create(builder, loc, parts, elements[i], index);
    }
    registers.push_back(LLVM::BitcastOp::create(builder, loc, registerType(elementType), parts));
  }
  return pack(builder, loc, registers);
}

} // namespace girih::wg
