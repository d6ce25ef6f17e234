// Custom directives of the ops' assembly formats for lists of offsets.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_DIALECT_WG_IR_OFFSETLIST_H
#define GIRIH_LIB_DIALECT_WG_IR_OFFSETLIST_H

#include "mlir/IR/OpImplementation.h"

namespace girih::wg {

/// `[` (integer | value), ... `]`; a value leaves ShapedType::kDynamic among the literals.
mlir::ParseResult parseOffsets(mlir::OpAsmParser &parser,
                               mlir::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &values,
                               mlir::DenseI64ArrayAttr &literals);
void printOffsets(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::OperandRange values,
                  mlir::DenseI64ArrayAttr literals);

/// `[` integer, ... `]`.
mlir::ParseResult parseStaticOffsets(mlir::OpAsmParser &parser, mlir::DenseI64ArrayAttr &literals);
void printStaticOffsets(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                        mlir::DenseI64ArrayAttr literals);

} // namespace girih::wg

#endif // GIRIH_LIB_DIALECT_WG_IR_OFFSETLIST_H
