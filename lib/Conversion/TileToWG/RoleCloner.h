// Cloning a kernel's body into a role: structured control flow is rebuilt with the cursors of rings
// carried along, everything else is up to the role.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_ROLECLONER_H
#define GIRIH_LIB_CONVERSION_TILETOWG_ROLECLONER_H

#include "ProductPlan.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace girih::wg {

/// What rings have become: those of loads first, then those of stores; and the turns of warpgroups
/// with tiles of their own, null without.
struct MadeRings {
  llvm::SmallVector<RingOp> rings;
  llvm::SmallVector<StoreRingOp> storeRings;
  mlir::Value multiplying, storing;
};

class RoleCloner {
public:
  /// Clones ops of `body` that `isCloned` names to where `builder` stands. What lies outside of
  /// them keeps its place and is used from there.
  void run(mlir::Block &body, llvm::function_ref<bool(mlir::Operation *)> isCloned);
  virtual ~RoleCloner() = default;

protected:
  RoleCloner(mlir::OpBuilder &builder, const ProductPlan &plan, HostSide &host,
             const MadeRings &made);

  /// Clones an op that has no part in the rings, or whatever the role makes of it.
  virtual void visit(mlir::Operation *op) = 0;
  /// Called at the end of a block, before its terminator is written.
  virtual void leave(mlir::Block &block) {}
  /// Whether the role needs an op, or one of the values that a structured op carries: results of an
  /// scf.for or scf.if, what goes into an scf.while, what its scf.condition hands on.
  virtual bool needs(mlir::Operation *op) const { return true; }
  virtual bool needsCarried(mlir::Operation *op, unsigned index) const { return true; }

  void cloneBlock(mlir::Block &block);
  /// Clones an op: loops and branches with cursors, others as they are.
  void clone(mlir::Operation *op);
  /// Clones a loop that starts elsewhere and goes on by another step.
  void cloneFor(mlir::scf::ForOp loop, mlir::Value low, mlir::Value step);

  mlir::Value mapped(mlir::Value value) const { return mapping.lookupOrDefault(value); }
  llvm::SmallVector<mlir::Value> coordinates(mlir::Location loc, const ArrayPlace &place) {
    return coordinatesOf(builder, loc, place, [&](mlir::Value value) { return mapped(value); });
  }

  /// Says that the role moves a cursor inside `op`: it and the loops around it carry the cursor.
  void uses(mlir::Operation *op, size_t cursor);
  /// Says that the role does the part of a team that `part` says, with its cursors.
  void usesTeam(RoleOp part);
  /// Clones that part, from where the cursors are; what it gives are the team's results.
  void join(RoleOp part);
  /// Number of a store ring's cursor.
  size_t storeCursor(size_t ring) const { return made.rings.size() + ring; }
  /// The ring of a cursor.
  mlir::Value ringOf(size_t cursor) const;
  /// Moves a cursor on to the next slot.
  void advance(mlir::Location loc, size_t cursor);
  /// Moves a cursor on by a number of slots.
  void advance(mlir::Location loc, size_t cursor, mlir::Value by);
  /// Makes the cursors that the role uses, at the builder's place.
  void startCursors(mlir::Location loc, CursorEnd end);

  mlir::OpBuilder &builder;
  const ProductPlan &plan;
  HostSide &host;
  const MadeRings &made;
  mlir::IRMapping mapping;
  llvm::SmallVector<mlir::Value> cursors;

private:
  void cloneIf(mlir::scf::IfOp branch);
  void cloneWhile(mlir::scf::WhileOp loop);
  /// What `op` hands on: those of `values` that the role needs, then cursors.
  llvm::SmallVector<mlir::Value> carriedOut(mlir::Operation *op, mlir::ValueRange values,
                                            llvm::ArrayRef<size_t> carried);
  /// The other side of carriedOut: values of the tile phase and cursors become `now`.
  void bind(mlir::Operation *op, mlir::ValueRange old, mlir::ValueRange now,
            llvm::ArrayRef<size_t> carried);
  llvm::SmallVector<size_t> cursorsIn(mlir::Operation *op) const;
  /// Number of the cursor of a ring that was made before.
  size_t cursorOf(mlir::Value ring) const;

  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<size_t>> moved;
  llvm::DenseSet<size_t> used;
  llvm::DenseMap<size_t, CursorEnd> ends; ///< of rings that teams use
};

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_TILETOWG_ROLECLONER_H
