// Values that threads of a role hand to each other: by shuffles within a warp, through scratch
// shared memory across warps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_WGTONVVM_ROLESCRATCH_H
#define GIRIH_LIB_CONVERSION_WGTONVVM_ROLESCRATCH_H

#include "RoleContext.h"

namespace girih::wg {

/// An element as an integer of 32 or 64 bits, in which all bits are defined.
mlir::Value toCarrier(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value element);
/// The element of this LLVM type back.
mlir::Value fromCarrier(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value carrier,
                        mlir::Type type);
/// The element of another lane: of the one that `selector` (i32) names, or whose number differs in
/// the bits of it, as `kind` says.
mlir::Value shuffle(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value element,
                    mlir::NVVM::ShflKind kind, mlir::Value selector);

/// Waits until all warps that execute the body together have come here. Ordinary accesses before
/// are visible after.
void meetRole(mlir::OpBuilder &builder, mlir::Location loc, const RoleContext &role);
/// The same for the lanes of each warp.
void meetWarp(mlir::OpBuilder &builder, mlir::Location loc);

/// The scratch of one op.
class RoleScratch {
public:
  /// `op` has its place since wg-allocate-shared.
  RoleScratch(mlir::OpBuilder &builder, mlir::Operation *op, const RoleContext &role);

  /// i32: the address of the first byte.
  mlir::Value address() const { return start; }
  /// meetRole() of the op's role.
  void meet(mlir::OpBuilder &builder) const { meetRole(builder, loc, role); }

private:
  mlir::Location loc;
  const RoleContext &role;
  mlir::Value start;
};

/// Stores 32-bit (or narrower) registers, or 64-bit ones, at address + `offset` bytes; as one
/// vector if there are several. `predicate` (i1) may be null.
void storeShared(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value predicate,
                 mlir::Value address, int64_t offset, llvm::ArrayRef<mlir::Value> values,
                 int64_t bits);
/// Loads `count` values of `bits` bits each; less than 32 arrive zero-extended in i16 or i32.
llvm::SmallVector<mlir::Value> loadShared(mlir::OpBuilder &builder, mlir::Location loc,
                                          mlir::Value address, int64_t offset, int64_t count,
                                          int64_t bits);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_WGTONVVM_ROLESCRATCH_H
