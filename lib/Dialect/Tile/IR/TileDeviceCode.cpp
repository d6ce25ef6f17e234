// Device functions and PTX of the user's: verifiers.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace girih::tile;

/// How a value is passed to a device function; null if it cannot be.
static Type passedType(Type type) {
  Type element = elementTypeOf(type);
  if (element.isF32() || element.isF64() || element.isInteger(64))
    return element;
  if (element.isF16() || element.isBF16() || element.isInteger(32) || element.isInteger(16) ||
      element.isInteger(8) || element.isInteger(1))
    return IntegerType::get(type.getContext(), 32);
  return {};
}

LogicalResult DeviceCallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(*this, getCalleeAttr());
  if (!callee || !callee->hasAttr("girih.cuda"))
    return emitOpError("calls ") << getCalleeAttr()
                                 << "; expected an llvm.func with the attribute girih.cuda in the "
                                    "same gpu.module";
  LLVM::LLVMFunctionType type = callee.getFunctionType();
  SmallVector<Type> passed;
  for (Type argument : getArguments().getTypes())
    passed.push_back(passedType(argument));
  if (llvm::is_contained(passed, Type()) || ArrayRef<Type>(passed) != type.getParams() ||
      passedType(getResult().getType()) != type.getReturnType())
    return emitOpError("does not fit ") << getCalleeAttr() << ", which is of type " << type;
  return success();
}

void InlinePtxOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (getPure())
    return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

LogicalResult InlinePtxOp::verify() {
  StringRef text = getText();
  for (size_t at = text.find('%'); at != StringRef::npos; at = text.find('%', at)) {
    StringRef digits = text.substr(at + 1).take_while(llvm::isDigit);
    unsigned number = 0;
    if (text.substr(at + 1).starts_with("%")) {
      at += 2;
      continue;
    }
    if (digits.getAsInteger(10, number) || number > getArguments().size())
      return emitOpError("expected %0 to %")
             << getArguments().size() << " or %% in the text, found '" << text.substr(at, 4) << "'";
    at += 1 + digits.size();
  }
  for (Type type :
       llvm::concat<const Type>(getArguments().getTypes(), getOperation()->getResultTypes())) {
    Type element = elementTypeOf(type);
    if (element.getIntOrFloatBitWidth() < 16)
      return emitOpError("PTX has no register for ") << element;
  }
  return success();
}
