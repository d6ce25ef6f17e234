// Writes the program of one role: Needs.cpp finds what matters, Flow.cpp writes loops and branches,
// Values.cpp integers, barriers and buffers, Events.cpp what ops say of themselves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_DIALECT_WG_TRANSFORMS_CHECKBARRIERS_WRITER_H
#define GIRIH_LIB_DIALECT_WG_TRANSFORMS_CHECKBARRIERS_WRITER_H

#include "Program.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace girih::wg::check {

/// Whether an op takes part in the protocol.
bool hasEvent(mlir::Operation *op);
/// What the host plan requires an argument of the kernel to be at least, in every launch.
std::optional<int64_t> leastOf(mlir::gpu::GPUFuncOp kernel, mlir::BlockArgument argument);

/// Writes the program of one role.
class Writer {
public:
  Writer(Model &model, Program &program, std::optional<Undecided> &undecided,
         const mlir::DenseMap<mlir::Value, int32_t> &arrays)
      : model(model), program(program), undecided(undecided), arrays(arrays) {}

  /// `before`: ops of the kernel's entry, up to `end`, on which the role may depend.
  void write(mlir::Block &before, mlir::Operation *end, mlir::Block &body);

private:
  /// Registers of a value: one of an integer (its number) or of a barrier (its array), four of a
  /// buffer (its array, slot, row and column).
  using Places = llvm::SmallVector<int32_t, 4>;
  using Moves = llvm::SmallVector<std::pair<int32_t, int32_t>>;

  void giveUp(mlir::Operation *op, const llvm::Twine &reason);
  void findEvents(mlir::Block &body);
  void want(mlir::Value value);
  void needOperands(mlir::Operation *op);
  void needLoopValue(mlir::scf::ForOp loop, unsigned index);
  void need(mlir::Value value);
  void needWhile(mlir::scf::WhileOp loop);
  bool isNeeded(mlir::Operation *op) const {
    return relevant.contains(op) || llvm::any_of(op->getResults(), [&](mlir::Value value) {
             return needed.contains(value);
           });
  }

  int32_t newRegister(Number value = {}) {
    program.registers.push_back(value);
    return static_cast<int32_t>(program.registers.size()) - 1;
  }
  int32_t constant(int64_t value) {
    auto [entry, isNew] = constants.try_emplace(value, 0);
    if (isNew)
      entry->second = newRegister(Symbols::known(value));
    return entry->second;
  }

  Places freshPlaces(mlir::Type type) {
    Places places;
    for (int i = 0; i < (llvm::isa<BufferType>(type) ? 4 : 1); ++i)
      places.push_back(newRegister());
    return places;
  }

  Places placesOf(mlir::Value value);

  int32_t placeOf(mlir::Value value) { return placesOf(value).front(); }

  // Instructions.

  Instruction &add(Instruction::Kind kind) {
    program.code.push_back({kind});
    return program.code.back();
  }
  int32_t here() const { return static_cast<int32_t>(program.code.size()); }

  /// Moves all at once: a target may be another one's source.
  void move(llvm::ArrayRef<std::pair<int32_t, int32_t>> pairs,
            Instruction::Kind kind = Instruction::Kind::Move);
  void pair(mlir::Value to, mlir::Value from, Moves &moves);
  /// Registers for values that a loop or a branch defines.
  void define(mlir::ValueRange values);
  void emitBlock(mlir::Block &block);
  void emit(mlir::Operation *op);
  void emitFor(mlir::scf::ForOp loop);
  void emitWhile(mlir::scf::WhileOp loop);
  void emitIf(mlir::scf::IfOp branch);
  /// How many steps of each loop are worth trying; docs/ProtocolChecker.md, "Bounds".
  void loopDomains();

  int32_t arithmetic(Arith op, int32_t a, int32_t b, int32_t c = -1, bool flag = false);
  void emitCompare(mlir::arith::CmpIOp op);
  void emitValue(mlir::Operation *op);
  /// A choice between two buffers or barriers.
  void emitSelect(mlir::arith::SelectOp op);
  void emitSpecial(mlir::Operation *op);

  /// What the warpgroup, or the CTA, of that number touches.
  Box boxOf(const BufferAccess &access, BufferType type, int32_t part);
  Effect accessOf(const BufferAccess &access, AsyncEffect::Engine engine);
  void emitEvent(mlir::Operation *op);
  void addAsync(const AsyncEffect &from, Event &event);
  void addBarrier(mlir::Operation *op, const BarrierEffect &from, Event &event);

  Model &model;
  Program &program;
  std::optional<Undecided> &undecided;
  const mlir::DenseMap<mlir::Value, int32_t> &arrays;
  llvm::SmallSetVector<mlir::Operation *, 32> relevant;
  mlir::DenseSet<mlir::Operation *> events;
  mlir::DenseSet<mlir::Value> needed;
  llvm::SmallVector<mlir::Value> worklist;
  mlir::DenseMap<mlir::Value, Places> places;
  mlir::DenseMap<int64_t, int32_t> constants;
};

} // namespace girih::wg::check

#endif // GIRIH_LIB_DIALECT_WG_TRANSFORMS_CHECKBARRIERS_WRITER_H
