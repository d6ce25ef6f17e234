// A view of global memory as LLVM sees it: a struct of the address, the extents and the strides.
// LLVM takes it apart, so that a stride that nothing asks for costs no register.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_WGTONVVM_GLOBALVIEW_H
#define GIRIH_LIB_CONVERSION_WGTONVVM_GLOBALVIEW_H

#include "girih/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace girih::wg {

/// The parts of a view, as values.
struct GlobalView {
  tile::ViewType type;
  mlir::Value pointer;                    ///< of the element at index 0
  llvm::SmallVector<mlir::Value> extents; ///< i32
  llvm::SmallVector<mlir::Value> strides; ///< i64, in elements

  /// The struct for a view of this type.
  static mlir::LLVM::LLVMStructType structOf(tile::ViewType type);
  /// Takes a struct apart.
  static GlobalView open(mlir::OpBuilder &builder, mlir::Location loc, tile::ViewType type,
                         mlir::Value structValue);
  /// The struct of these parts.
  mlir::Value close(mlir::OpBuilder &builder, mlir::Location loc) const;

  /// `pointer` moved by `count` (i32 or i64, signed) indices along `dim`.
  mlir::Value advance(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer,
                      int64_t dim, mlir::Value count) const;
  /// The address of an element.
  mlir::Value addressOf(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::ValueRange indices) const;
};

/// The type that an element has in memory and as an operand of LLVM's ops: i8 for 8-bit floats, and
/// for booleans, which take a byte each.
mlir::Type memoryType(mlir::Type elementType);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_WGTONVVM_GLOBALVIEW_H
