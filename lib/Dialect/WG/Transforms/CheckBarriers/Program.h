// What the checker keeps of a kernel: for each role a short program over registers, with the events
// that concern barriers, asynchronous work and shared memory, the loops and branches around them,
// and the integers that those need. Data is gone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_DIALECT_WG_TRANSFORMS_CHECKBARRIERS_PROGRAM_H
#define GIRIH_LIB_DIALECT_WG_TRANSFORMS_CHECKBARRIERS_PROGRAM_H

#include "Symbols.h"

#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <memory>
#include <string>
#include <vector>

namespace girih::wg::check {

/// An array of mbarriers.
struct BarrierArray {
  std::string name;
  mlir::Location loc;
  int32_t count;
  int32_t first;        ///< of its barriers among all of the kernel
  int64_t arrivals = 0; ///< of a phase; 0: never initialised
  mlir::Operation *init = nullptr;
};

/// An array of slots of a buffer.
struct BufferArray {
  std::string name;
  mlir::Location loc;
  int32_t slots = 1;
  int32_t first = 0; ///< of its slots among all of the kernel
  int32_t rows = 0, columns = 0;
  int64_t offset = -1, slotBytes = 0; ///< in shared memory; offset -1: not placed yet
  bool written = false;               ///< some op of the kernel writes it
};

/// Rows and columns of a buffer.
struct Box {
  int32_t rowBegin = 0, rowEnd = 0, columnBegin = 0, columnEnd = 0;

  bool overlaps(const Box &other) const {
    return rowBegin < other.rowEnd && other.rowBegin < rowEnd && columnBegin < other.columnEnd &&
           other.columnBegin < columnEnd;
  }
  bool covers(const Box &other) const {
    return rowBegin <= other.rowBegin && other.rowEnd <= rowEnd &&
           columnBegin <= other.columnBegin && other.columnEnd <= columnEnd;
  }
};

/// One effect of an op, its operands as registers.
struct Effect {
  enum class Kind : uint8_t {
    Wait,
    Arrive,
    Expect,
    Complete,
    NamedSync,
    NamedArrive,
    Access,
    Fence,
    Commit,
    Retire,
    Registers,
  };
  Kind kind;
  Issuer issuer = Issuer::Threads;
  AsyncEffect::Engine engine = AsyncEffect::Engine::All; ///< of an Access that outlives the op too
  bool write = false, async = false, outlives = false;   ///< of an Access
  bool increase = false;                                 ///< of Registers
  bool everyCta = false; ///< at the same barrier, or buffer, of each CTA of the cluster
  bool boxByCta = false; ///< of an Access: a box for each CTA instead of each warpgroup
  int32_t object = -1;   ///< the array, or the named barrier's number
  int32_t index = -1;    ///< the barrier of the array, or the slot
  int32_t parity = -1;
  int32_t row = -1, column = -1; ///< where the part of the buffer starts
  int64_t amount = 0;            ///< bytes, threads, groups in flight, or registers
  /// Of an Access: what each warpgroup of the role touches, relative to (row, column).
  llvm::SmallVector<Box, 2> boxes = {};
  const void *tile = nullptr; ///< threads with the same tile touch the same elements
};

/// What an op does, in the order in which it does it.
struct Event {
  mlir::Operation *op;
  llvm::SmallVector<Effect, 3> effects;
};

struct Instruction {
  enum class Kind : uint8_t {
    Arith,
    Move,
    Merge, ///< a Move at the end of a branch: lanes that took the other one keep theirs
    Opaque,
    Elect,
    Lane,
    Warp,
    Warpgroup,
    LoopBegin,
    LoopEnd,
    If,
    Else,
    EndIf,
    While,
    Jump,
    Event,
  };
  Kind kind;
  Arith arith = Arith::Add;
  bool flag = false;
  int32_t to = -1;
  int32_t a = -1, b = -1, c = -1;
  int32_t extra = -1; ///< index of the loop, event, opaque op or branch; a Jump's target
};

struct Loop {
  mlir::Operation *op;
  int32_t begin = 0, end = 0; ///< the first instruction of the body, the one after the loop
  int64_t largest = 3, first = 2;
};

struct Branch {
  mlir::Operation *op;
  int32_t other = 0, end = 0; ///< the instructions of Else and EndIf
};

/// An op whose result is a number that nothing is known of.
struct OpaqueOp {
  mlir::Operation *op;
  int32_t key;
  llvm::SmallVector<int32_t, 2> operands;
  bool changes; ///< another result each time
};

/// What the warps of one role execute.
struct Program {
  std::string role;
  mlir::Operation *op;
  int32_t firstWarp = 0, warps = 0, idleWarps = 0;
  int32_t warpgroupsTogether = 1; ///< among which a role-wide tile is split
  bool each = false;
  std::vector<Instruction> code;
  std::vector<Event> events;
  std::vector<Loop> loops;
  std::vector<Branch> branches;
  std::vector<OpaqueOp> opaque;
  std::vector<Number> registers; ///< constants filled in
};

struct Model {
  mlir::gpu::GPUFuncOp kernel;
  Symbols symbols;
  std::vector<BarrierArray> barriers;
  std::vector<BufferArray> buffers;
  int32_t numBarriers = 0, numSlots = 0;
  std::vector<Program> programs;
  int64_t threads = 0; ///< of the CTA
  /// CTAs that are run: those of the cluster, if anything reaches from one into another. Barriers
  /// and slots of the second follow on those of the first.
  int32_t ctas = 1;
  /// For each slot the others that share bytes with it.
  std::vector<llvm::SmallVector<int32_t, 1>> aliases;

  const BarrierArray &arrayOfBarrier(int32_t barrier) const;
  const BufferArray &arrayOfSlot(int32_t slot) const;
};

/// Why a kernel cannot be decided.
struct Undecided {
  mlir::Location loc;
  std::string reason;
};

/// Takes a kernel apart. Nothing, if it has nothing to check; `undecided` is set if it has
/// something that the checker does not follow.
std::unique_ptr<Model> extractModel(mlir::gpu::GPUFuncOp kernel,
                                    std::optional<Undecided> &undecided);

} // namespace girih::wg::check

#endif // GIRIH_LIB_DIALECT_WG_TRANSFORMS_CHECKBARRIERS_PROGRAM_H
