// Inline PTX from named operands; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Conversion/WGToNVVM/InlineAsm.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace girih::wg {

StringRef matrixTypeName(Type element, bool isUnsigned) {
  return TypeSwitch<Type, StringRef>(element)
      .Case<BFloat16Type>([](Type) { return "bf16"; })
      .Case<Float16Type>([](Type) { return "f16"; })
      .Case<Float8E4M3FNType>([](Type) { return "e4m3"; })
      .Case<Float8E5M2Type>([](Type) { return "e5m2"; })
      .Case<Float64Type>([](Type) { return "f64"; })
      .Case<IntegerType>([&](Type) { return isUnsigned ? "u8" : "s8"; })
      .Default([](Type) { return "tf32"; });
}

/// The register class of a type (LLVM Language Reference, "Supported Constraint Code List", NVPTX).
static char constraintOf(Type type) {
  if (isa<Float32Type>(type))
    return 'f';
  if (isa<Float64Type>(type))
    return 'd';
  if (isa<LLVM::LLVMPointerType>(type))
    return 'l';
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return 'b';
  case 16:
    return 'h';
  case 64:
    return 'l';
  default:
    return 'r';
  }
}

std::string InlineAsm::output(Type type) {
  assert(inputValues.empty() && "outputs are numbered before inputs");
  outputTypes.push_back(type);
  return "$" + llvm::utostr(outputTypes.size() - 1);
}

std::string InlineAsm::tied(Value value) {
  tiedTo.push_back(outputTypes.size());
  tiedValues.push_back(value);
  return output(value.getType());
}

std::string InlineAsm::input(Value value) {
  inputValues.push_back(value);
  return "$" + llvm::utostr(outputTypes.size() + tiedTo.size() + inputValues.size() - 1);
}

InlineAsm &InlineAsm::line(const std::string &text) {
  if (!body.empty())
    body += '\n';
  body += text;
  return *this;
}

Value InlineAsm::emitStruct(OpBuilder &builder, Location loc) {
  std::string constraints;
  auto add = [&](const std::string &constraint) {
    if (!constraints.empty())
      constraints += ',';
    constraints += constraint;
  };
  for (Type type : outputTypes)
    add(std::string("=") + constraintOf(type));
  for (int number : tiedTo)
    add(llvm::utostr(number));
  for (Value value : inputValues)
    add(std::string(1, constraintOf(value.getType())));
  add("~{memory}");

  Type result;
  if (outputTypes.size() == 1)
    result = outputTypes.front();
  else if (!outputTypes.empty())
    result = LLVM::LLVMStructType::getLiteral(builder.getContext(), outputTypes);

  SmallVector<Value> operands(tiedValues);
  llvm::append_range(operands, inputValues);
  auto op = LLVM::InlineAsmOp::create(
      builder, loc, result ? TypeRange(result) : TypeRange(), operands, body, constraints,
      /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  return result ? op.getResult(0) : Value();
}

SmallVector<Value> InlineAsm::emit(OpBuilder &builder, Location loc) {
  Value result = emitStruct(builder, loc);
  if (!result)
    return {};
  if (outputTypes.size() == 1)
    return {result};
  SmallVector<Value> values;
  for (size_t i = 0; i < outputTypes.size(); ++i)
    values.push_back(LLVM::ExtractValueOp::create(builder, loc, result, static_cast<int64_t>(i)));
  return values;
}

} // namespace girih::wg
