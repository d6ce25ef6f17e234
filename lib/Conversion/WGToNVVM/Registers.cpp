// Structs of registers; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Conversion/WGToNVVM/Registers.h"

#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace girih::wg {

int64_t elementsPerRegister(Type elementType) {
  unsigned bits = elementType.getIntOrFloatBitWidth();
  return bits == 16 ? 2 : bits == 8 ? 4 : 1;
}

Type llvmElementType(Type elementType) {
  if (isa<FloatType>(elementType) && elementType.getIntOrFloatBitWidth() == 8)
    return IntegerType::get(elementType.getContext(), 8);
  return elementType;
}

Type registerType(Type elementType) {
  return elementsPerRegister(elementType) == 1 ? elementType
                                               : IntegerType::get(elementType.getContext(), 32);
}

LLVM::LLVMStructType registersOf(RankedTensorType tile) {
  Type element = tile.getElementType();
  int64_t count = llvm::divideCeil(cast<LayoutAttr>(tile.getEncoding()).getElementsPerThread(),
                                   elementsPerRegister(element));
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

static Value indexConstant(OpBuilder &builder, Location loc, int64_t index) {
  return LLVM::ConstantOp::create(builder, loc,
                                  builder.getI32IntegerAttr(static_cast<int32_t>(index)));
}

SmallVector<Value> unpackElements(OpBuilder &builder, Location loc, Value structValue,
                                  RankedTensorType tile) {
  SmallVector<Value> registers = unpack(builder, loc, structValue);
  int64_t packed = elementsPerRegister(tile.getElementType());
  if (packed == 1)
    return registers;
  auto vector = VectorType::get(packed, llvmElementType(tile.getElementType()));
  int64_t count = cast<LayoutAttr>(tile.getEncoding()).getElementsPerThread();
  SmallVector<Value> elements;
  for (Value value : registers) {
    Value parts = LLVM::BitcastOp::create(builder, loc, vector, value);
    for (int64_t i = 0; i < packed && count > 0; ++i, --count)
      elements.push_back(
          LLVM::ExtractElementOp::create(builder, loc, parts, indexConstant(builder, loc, i)));
  }
  return elements;
}

/// The element of a vector that a value was taken from, and where.
static std::pair<Value, int64_t> originOf(Value element) {
  auto extract = element.getDefiningOp<LLVM::ExtractElementOp>();
  APInt index;
  if (!extract || !matchPattern(extract.getPosition(), m_ConstantInt(&index)))
    return {};
  return {extract.getVector(), index.getSExtValue()};
}

std::pair<Value, int64_t> consecutive(ArrayRef<Value> elements) {
  auto [vector, first] = originOf(elements.front());
  for (auto [i, element] : llvm::enumerate(elements))
    if (originOf(element) != std::pair(vector, first + static_cast<int64_t>(i)))
      return {};
  return {vector, first};
}

/// The register that holds `elements` where they are in such vectors already: a pair of 16 bits, or
/// two pairs of 8. Null where they are not.
static Value asTheyAre(OpBuilder &builder, Location loc, ArrayRef<Value> elements) {
  auto whole = [&](ArrayRef<Value> pair) -> Value {
    auto [vector, first] = consecutive(pair);
    bool all = vector && first == 0 && cast<VectorType>(vector.getType()).getDimSize(0) == 2;
    return all ? vector : Value();
  };
  Type i32 = builder.getI32Type();
  if (elements.size() == 2) {
    Value pair = whole(elements);
    return pair ? Value(LLVM::BitcastOp::create(builder, loc, i32, pair)) : Value();
  }
  Value low = whole(elements.take_front(2)), high = whole(elements.drop_front(2));
  if (!low || !high)
    return {};
  Value halves = LLVM::PoisonOp::create(builder, loc, VectorType::get(2, builder.getI16Type()));
  for (auto [i, pair] : llvm::enumerate(std::array{low, high}))
    halves = LLVM::InsertElementOp::create(
        builder, loc, halves, LLVM::BitcastOp::create(builder, loc, builder.getI16Type(), pair),
        indexConstant(builder, loc, static_cast<int64_t>(i)));
  return LLVM::BitcastOp::create(builder, loc, i32, halves);
}

Value packElements(OpBuilder &builder, Location loc, ArrayRef<Value> elements, Type elementType) {
  int64_t packed = elementsPerRegister(elementType);
  if (packed == 1)
    return pack(builder, loc, elements);
  auto vector = VectorType::get(packed, llvmElementType(elementType));
  SmallVector<Value> registers;
  while (!elements.empty()) {
    size_t here = std::min<size_t>(packed, elements.size());
    if (here == static_cast<size_t>(packed))
      if (Value value = asTheyAre(builder, loc, elements.take_front(here))) {
        registers.push_back(value);
        elements = elements.drop_front(here);
        continue;
      }
    // A register with an undefined part would be undefined as a whole.
    Value parts = here == static_cast<size_t>(packed)
                      ? Value(LLVM::PoisonOp::create(builder, loc, vector))
                      : Value(LLVM::ZeroOp::create(builder, loc, vector));
    for (size_t i = 0; i < here; ++i)
      parts = LLVM::InsertElementOp::create(builder, loc, parts, elements[i],
                                            indexConstant(builder, loc, static_cast<int64_t>(i)));
    registers.push_back(LLVM::BitcastOp::create(builder, loc, registerType(elementType), parts));
    elements = elements.drop_front(here);
  }
  return pack(builder, loc, registers);
}

} // namespace girih::wg
