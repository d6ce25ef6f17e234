//===- ScalarizeStructs.h - Structs of accumulators become scalars
//-------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_LIB_TARGET_SCALARIZESTRUCTS_H
#define GIRIH_LIB_TARGET_SCALARIZESTRUCTS_H

namespace llvm {
class Function;
} // namespace llvm

namespace girih::target {

/// Replaces every struct phi of which only fields are read by a phi for each field, and has fields
/// read in the block that makes the struct. Changes no value.
void scalarizeStructs(llvm::Function &function);

} // namespace girih::target

#endif // GIRIH_LIB_TARGET_SCALARIZESTRUCTS_H
