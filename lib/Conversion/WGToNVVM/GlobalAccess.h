// Instructions that move elements between registers and global memory: vectors where all is inside,
// single elements under a predicate where something may not be.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_WGTONVVM_GLOBALACCESS_H
#define GIRIH_LIB_CONVERSION_WGTONVVM_GLOBALACCESS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace girih::wg {

/// Whether `count` elements are whole registers (girih/Conversion/WGToNVVM/Registers.h). What is
/// less moves as elements, values of memoryType or i1.
bool fillsRegisters(mlir::Type elementType, int64_t count);

/// Loads `count` consecutive elements, at most 16 bytes of them and aligned as a whole, `offset`
/// elements behind `pointer`: as registers if they fill some, else as elements.
llvm::SmallVector<mlir::Value> loadVector(mlir::OpBuilder &builder, mlir::Location loc,
                                          mlir::Value pointer, int64_t offset,
                                          mlir::Type elementType, int64_t count);
/// The mirror image: stores `count` elements that are in as many values as loadVector() returns.
void storeVector(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer, int64_t offset,
                 mlir::Type elementType, int64_t count, llvm::ArrayRef<mlir::Value> values);

/// Loads one element if `predicate` (i1) holds; otherwise the result is `fill`, a value of
/// memoryType or i1 as the result is.
mlir::Value loadIf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value predicate,
                   mlir::Value pointer, int64_t offset, mlir::Type elementType, mlir::Value fill);
/// As loadVector(), if `predicate` holds; else every element is `fill`.
llvm::SmallVector<mlir::Value> loadVectorIf(mlir::OpBuilder &builder, mlir::Location loc,
                                            mlir::Value predicate, mlir::Value pointer,
                                            int64_t offset, mlir::Type elementType, int64_t count,
                                            mlir::Value fill);
/// As storeVector(), if `predicate` holds.
void storeVectorIf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value predicate,
                   mlir::Value pointer, int64_t offset, mlir::Type elementType, int64_t count,
                   llvm::ArrayRef<mlir::Value> values);
/// Stores one element if `predicate` holds.
void storeIf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value predicate,
             mlir::Value pointer, int64_t offset, mlir::Type elementType, mlir::Value element);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_WGTONVVM_GLOBALACCESS_H
