// A tile's share of one thread as LLVM sees it: one struct, a field per 32-bit register. A struct
// travels through loops and branches as one value, which keeps the IR small; LLVM's instruction
// selection takes it apart for nothing.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_CONVERSION_WGTONVVM_REGISTERS_H
#define GIRIH_CONVERSION_WGTONVVM_REGISTERS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace girih::wg {

/// Elements of a type of `bits` bits that share a 32-bit register: 2 of 16 bits, 4 of 8; 1 of 32
/// and of 1 (predicates).
int64_t elementsPerRegister(mlir::Type elementType);
/// The type that LLVM has for an element: i8 for 8-bit floats, which it does not know.
mlir::Type llvmElementType(mlir::Type elementType);
/// The type of one register: the element's own for 64, 32 and 1 bits, i32 for packed ones.
mlir::Type registerType(mlir::Type elementType);
/// The struct for `tile`, a ranked tensor with a #wg.layout encoding. Elements that do not fill a
/// register have one of their own, whose other bits are zero.
mlir::LLVM::LLVMStructType registersOf(mlir::RankedTensorType tile);

/// The fields of `structValue`. Where it was put together by pack() just before, these are the
/// parts themselves.
llvm::SmallVector<mlir::Value> unpack(mlir::OpBuilder &builder, mlir::Location loc,
                                      mlir::Value structValue);
/// A struct of `fields`.
mlir::Value pack(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<mlir::Value> fields);

/// The elements of the struct of registers of `tile`, in the order of the layout's register
/// dimension: fields, or parts of packed ones.
llvm::SmallVector<mlir::Value> unpackElements(mlir::OpBuilder &builder, mlir::Location loc,
                                              mlir::Value structValue, mlir::RankedTensorType tile);
/// The vector of which `elements` are consecutive elements, and the first one's number; null if
/// they are not.
std::pair<mlir::Value, int64_t> consecutive(llvm::ArrayRef<mlir::Value> elements);
/// The struct of registers that hold `elements`.
mlir::Value packElements(mlir::OpBuilder &builder, mlir::Location loc,
                         llvm::ArrayRef<mlir::Value> elements, mlir::Type elementType);

} // namespace girih::wg

#endif // GIRIH_CONVERSION_WGTONVVM_REGISTERS_H
