// Loads and stores of global memory; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GlobalAccess.h"

#include "GlobalView.h"

#include "girih/Conversion/WGToNVVM/InlineAsm.h"
#include "girih/Conversion/WGToNVVM/Registers.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace girih::wg {

namespace {

int64_t bitsOf(Type elementType) { return memoryType(elementType).getIntOrFloatBitWidth(); }

/// The one value that an access of `count` elements moves: elements of 32 and 64 bits as they are,
/// narrower ones as words of 32 bits, or as an integer that is less than a word.
Type accessType(OpBuilder &builder, Type elementType, int64_t count) {
  int64_t bits = bitsOf(elementType) * count;
  Type one = memoryType(elementType);
  if (bitsOf(elementType) < 32 && count > 1) {
    one = builder.getIntegerType(static_cast<unsigned>(std::min<int64_t>(bits, 32)));
    count = bits / one.getIntOrFloatBitWidth();
  }
  return count == 1 ? one : Type(VectorType::get(count, one));
}

Value constant(OpBuilder &builder, Location loc, int64_t value) {
  return LLVM::ConstantOp::create(builder, loc,
                                  builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

/// The elements of a vector, or the value itself.
SmallVector<Value> spread(OpBuilder &builder, Location loc, Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector)
    return {value};
  SmallVector<Value> parts;
  for (int64_t i = 0; i < vector.getDimSize(0); ++i)
    parts.push_back(LLVM::ExtractElementOp::create(builder, loc, value, constant(builder, loc, i)));
  return parts;
}

/// A vector of values, or the only one.
Value gathered(OpBuilder &builder, Location loc, ArrayRef<Value> parts) {
  if (parts.size() == 1)
    return parts.front();
  auto type = VectorType::get(static_cast<int64_t>(parts.size()), parts.front().getType());
  Value vector = LLVM::PoisonOp::create(builder, loc, type);
  for (auto [i, part] : llvm::enumerate(parts))
    vector = LLVM::InsertElementOp::create(builder, loc, vector, part,
                                           constant(builder, loc, static_cast<int64_t>(i)));
  return vector;
}

/// A value of as many bits as bytes of elements.
Value bitcast(OpBuilder &builder, Location loc, Type type, Value value) {
  return type == value.getType() ? value
                                 : Value(LLVM::BitcastOp::create(builder, loc, type, value));
}

Type bytesType(OpBuilder &builder, int64_t count) {
  return count == 1 ? Type(builder.getI8Type()) : Type(VectorType::get(count, builder.getI8Type()));
}

Value elementAt(OpBuilder &builder, Location loc, Value pointer, int64_t offset, Type elementType) {
  if (!offset)
    return pointer;
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), memoryType(elementType), pointer,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
}

Value isTrue(OpBuilder &builder, Location loc, Value byte) {
  Value zero = LLVM::ConstantOp::create(builder, loc, builder.getI8IntegerAttr(0));
  return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, byte, zero);
}

/// The integer type of the register that a predicated access of one element goes through: 16 bits
/// for less (PTX has no 8-bit registers).
Type carrierType(OpBuilder &builder, Type elementType) {
  return builder.getIntegerType(static_cast<unsigned>(std::max<int64_t>(bitsOf(elementType), 16)));
}

/// "u8" or "b16": a byte is extended by zeroes, so that all bits of the register are defined.
std::string accessSuffix(Type elementType) {
  int64_t bits = bitsOf(elementType);
  return (bits == 8 ? "u" : "b") + llvm::itostr(bits);
}

std::string addressText(const std::string &reg, int64_t bytes) {
  return bytes ? "[" + reg + "+" + llvm::itostr(bytes) + "]" : "[" + reg + "]";
}

/// An element as the integer of its carrier.
Value toCarrier(OpBuilder &builder, Location loc, Type elementType, Value element) {
  Type carrier = carrierType(builder, elementType);
  if (bitsOf(elementType) < 16)
    return LLVM::ZExtOp::create(builder, loc, carrier, element);
  return bitcast(builder, loc, carrier, element);
}

} // namespace

bool fillsRegisters(Type elementType, int64_t count) {
  return count % elementsPerRegister(elementType) == 0;
}

SmallVector<Value> loadVector(OpBuilder &builder, Location loc, Value pointer, int64_t offset,
                              Type elementType, int64_t count) {
  Value address = elementAt(builder, loc, pointer, offset, elementType);
  unsigned alignment = static_cast<unsigned>(bitsOf(elementType) * count / 8);
  Value loaded = LLVM::LoadOp::create(builder, loc, accessType(builder, elementType, count),
                                      address, alignment);
  bool boolean = elementType.isInteger(1);
  if (boolean || !fillsRegisters(elementType, count)) {
    if (bitsOf(elementType) == 8)
      loaded = bitcast(builder, loc, bytesType(builder, count), loaded);
    SmallVector<Value> elements = spread(builder, loc, loaded);
    if (boolean)
      for (Value &element : elements)
        element = isTrue(builder, loc, element);
    return elements;
  }
  return spread(builder, loc, loaded);
}

void storeVector(OpBuilder &builder, Location loc, Value pointer, int64_t offset, Type elementType,
                 int64_t count, ArrayRef<Value> values) {
  SmallVector<Value> parts(values);
  if (elementType.isInteger(1))
    for (Value &part : parts)
      part = LLVM::ZExtOp::create(builder, loc, builder.getI8Type(), part);
  Value stored =
      bitcast(builder, loc, accessType(builder, elementType, count), gathered(builder, loc, parts));
  unsigned alignment = static_cast<unsigned>(bitsOf(elementType) * count / 8);
  LLVM::StoreOp::create(builder, loc, stored, elementAt(builder, loc, pointer, offset, elementType),
                        alignment);
}

Value loadIf(OpBuilder &builder, Location loc, Value predicate, Value pointer, int64_t offset,
             Type elementType, Value fill) {
  InlineAsm text;
  std::string value = text.tied(toCarrier(builder, loc, elementType, fill));
  std::string guard = text.input(predicate);
  std::string address = addressText(text.input(pointer), offset * bitsOf(elementType) / 8);
  text.line("@" + guard + " ld.global." + accessSuffix(elementType) + " " + value + ", " + address +
            ";");
  Value loaded = text.emit(builder, loc).front();
  if (elementType.isInteger(1)) {
    Value byte = LLVM::TruncOp::create(builder, loc, builder.getI8Type(), loaded);
    return isTrue(builder, loc, byte);
  }
  if (bitsOf(elementType) < 16)
    return LLVM::TruncOp::create(builder, loc, memoryType(elementType), loaded);
  return bitcast(builder, loc, memoryType(elementType), loaded);
}

void storeIf(OpBuilder &builder, Location loc, Value predicate, Value pointer, int64_t offset,
             Type elementType, Value element) {
  InlineAsm text;
  std::string guard = text.input(predicate);
  std::string address = addressText(text.input(pointer), offset * bitsOf(elementType) / 8);
  std::string value = text.input(toCarrier(builder, loc, elementType, element));
  text.line("@" + guard + " st.global." + accessSuffix(elementType) + " " + address + ", " + value +
            ";");
  text.emit(builder, loc);
}

/// Whether `count` elements move as whole registers of 32 or 64 bits.
static bool movesRegisters(Type elementType, int64_t count) {
  return !elementType.isInteger(1) && fillsRegisters(elementType, count);
}

static std::string vectorText(ArrayRef<std::string> names) {
  return names.size() == 1 ? names.front() : "{" + llvm::join(names, ", ") + "}";
}

static std::string widthText(size_t count, Type type) {
  return (count > 1 ? ".v" + llvm::utostr(count) : std::string()) + ".b" +
         llvm::utostr(type.getIntOrFloatBitWidth());
}

SmallVector<Value> loadVectorIf(OpBuilder &builder, Location loc, Value predicate, Value pointer,
                                int64_t offset, Type elementType, int64_t count, Value fill) {
  SmallVector<Value> values;
  if (!movesRegisters(elementType, count)) {
    for (int64_t i = 0; i < count; ++i)
      values.push_back(loadIf(builder, loc, predicate, pointer, offset + i, elementType, fill));
    return values;
  }
  int64_t packed = elementsPerRegister(elementType);
  SmallVector<Value> repeated(static_cast<size_t>(packed), fill);
  Value initial = unpack(builder, loc, packElements(builder, loc, repeated, elementType)).front();
  InlineAsm text;
  SmallVector<std::string> names;
  for (int64_t i = 0; i < count / packed; ++i)
    names.push_back(text.tied(initial));
  std::string guard = text.input(predicate);
  std::string address = addressText(text.input(pointer), offset * bitsOf(elementType) / 8);
  text.line("@" + guard + " ld.global" + widthText(names.size(), initial.getType()) + " " +
            vectorText(names) + ", " + address + ";");
  return text.emit(builder, loc);
}

void storeVectorIf(OpBuilder &builder, Location loc, Value predicate, Value pointer, int64_t offset,
                   Type elementType, int64_t count, ArrayRef<Value> values) {
  if (!movesRegisters(elementType, count)) {
    for (int64_t i = 0; i < count; ++i)
      storeIf(builder, loc, predicate, pointer, offset + i, elementType, values[i]);
    return;
  }
  InlineAsm text;
  std::string guard = text.input(predicate);
  std::string address = addressText(text.input(pointer), offset * bitsOf(elementType) / 8);
  SmallVector<std::string> names;
  for (Value value : values)
    names.push_back(text.input(value));
  text.line("@" + guard + " st.global" + widthText(names.size(), values.front().getType()) + " " +
            address + ", " + vectorText(names) + ";");
  text.emit(builder, loc);
}

} // namespace girih::wg
