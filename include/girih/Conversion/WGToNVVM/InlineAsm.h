// One way to write inline PTX: operands are added one by one and the text refers to them by the
// names that adding them returns, so that no operand number and no constraint is ever typed by
// hand.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_CONVERSION_WGTONVVM_INLINEASM_H
#define GIRIH_CONVERSION_WGTONVVM_INLINEASM_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace girih::wg {

/// What wgmma and mma.sync call the element type of an operand (PTX ISA 9.0, 9.7.15.5.2 and
/// 9.7.14.5.14): f32 is tf32. The verifiers of wg.mma and wg.mma_sync know no other types.
llvm::StringRef matrixTypeName(mlir::Type element, bool isUnsigned);

/// Builds one llvm.inline_asm with side effects and a memory clobber. The operations of the GPU
/// that it writes order memory, or are warp-wide, or both; the translation marks every asm call
/// convergent as well (girih/Target/CodeGen.h).
class InlineAsm {
public:
  /// An output register of this type; its name in the text. All outputs come before the first
  /// input.
  std::string output(mlir::Type type);
  /// An output register that starts with `value`: read and written in place. A tied value is how an
  /// instruction that works on registers after the asm block has ended (wgmma) is kept in order
  /// with their users.
  std::string tied(mlir::Value value);
  /// An input register.
  std::string input(mlir::Value value);
  /// Adds a line of PTX.
  InlineAsm &line(const std::string &text);

  /// Values of the outputs, in the order of the calls to output() and tied(): one llvm.inline_asm
  /// of a struct, or of the one output's type.
  llvm::SmallVector<mlir::Value> emit(mlir::OpBuilder &builder, mlir::Location loc);
  /// The outputs as they come: a struct if there are several. Null if there is none.
  mlir::Value emitStruct(mlir::OpBuilder &builder, mlir::Location loc);

private:
  std::string body;
  llvm::SmallVector<mlir::Type> outputTypes;
  llvm::SmallVector<int> tiedTo; // output numbers, in the order of `tiedValues`
  llvm::SmallVector<mlir::Value> tiedValues, inputValues;
};

} // namespace girih::wg

#endif // GIRIH_CONVERSION_WGTONVVM_INLINEASM_H
