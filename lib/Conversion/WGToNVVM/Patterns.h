// Patterns of the conversion, by group of ops, and what they share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_WGTONVVM_PATTERNS_H
#define GIRIH_LIB_CONVERSION_WGTONVVM_PATTERNS_H

#include "RoleContext.h"

#include "LocalAccess.h"
#include "TileAccess.h"

#include "girih/Layout/Exchange.h"
#include "girih/Layout/Reduction.h"
#include "girih/Layout/Shuffle.h"

#include "girih/Target/TargetFeatures.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

namespace girih::wg {

/// Where the records of an op go: the kernel's parameter, and how many fit.
struct RecordsOfKernel {
  mlir::Value memory;
  int64_t limit = 0;
};

/// How the tile of a load is copied into a buffer by cp.async.
struct AsyncCopy {
  mlir::Operation *store = nullptr; ///< the wg.local_store
  LocalAccess access;
  int64_t elements = 0; ///< in one instruction
};

/// What every pattern may ask for.
struct ConversionState {
  explicit ConversionState(target::TargetFeatures features) : features(features) {}

  RoleContexts roles;
  target::TargetFeatures features;
  /// How a tile of the first type moves to or from a buffer of the second.
  llvm::DenseMap<std::pair<mlir::Type, mlir::Type>, LocalAccess> accesses;
  /// By type of tile, for ops that ask where its elements are.
  llvm::DenseMap<mlir::Type, std::unique_ptr<TileAccess>> tileAccesses;
  /// By tile.reduce and tile.scan.
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Reduction>> reductions;
  /// By op that renames registers: for each result, and each register of it, the register of the
  /// source; the second operand's follow the first's.
  llvm::DenseMap<mlir::Operation *, std::vector<std::vector<int32_t>>> renames;
  /// By wg.convert_layout, or tile.atomic, that goes through shared memory.
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Exchange>> exchanges;
  /// By wg.convert_layout that goes by shuffles.
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<ShufflePlan>> shuffles;
  /// By tile.load and tile.take whose tiles go into a buffer and nowhere else.
  llvm::DenseMap<mlir::Operation *, AsyncCopy> copies;
  /// Each wg.local_store of such a tile.
  llvm::DenseSet<mlir::Operation *> copied;
  /// By tile.print and tile.assert.
  llvm::DenseMap<mlir::Operation *, RecordsOfKernel> records;
  /// By tile.take and tile.put.
  llvm::DenseMap<mlir::Operation *, ListedDim> listed;
  /// By tile.load, store, take and put: elements in one access.
  llvm::DenseMap<mlir::Operation *, int64_t> vectors;
};

/// Reports everything under `root` that has no way to the nvvm phase on this target, and fails if
/// there is something: a pattern that fails says no more than that an op is illegal. Plans the
/// accesses of local loads and stores on the way.
mlir::LogicalResult checkConvertible(mlir::Operation *root, ConversionState &state);

template <typename Op> struct StatePattern : mlir::OpConversionPattern<Op> {
  StatePattern(const mlir::TypeConverter &converter, mlir::MLIRContext *context,
               const ConversionState &state)
      : mlir::OpConversionPattern<Op>(converter, context), state(state) {}
  const ConversionState &state;
};

/// Buffers, barriers and views to addresses; tiles to structs of registers.
void populateTypeConversions(mlir::TypeConverter &converter);

/// gpu.func and gpu.return.
void populateKernelPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                            const ConversionState &state);
/// alloc_buffer, alloc_barrier, slot, subbuffer.
void populateBufferPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                            const ConversionState &state);
/// mbarriers, named barriers, fences, set_registers.
void populateBarrierPatterns(const mlir::TypeConverter &converter,
                             mlir::RewritePatternSet &patterns, const ConversionState &state);
/// TMA loads and stores, bulk groups.
void populateTmaPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                         const ConversionState &state);
/// acc, mma, wait.
void populateMmaPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                         const ConversionState &state);
/// mma_sync.
void populateMmaSyncPatterns(const mlir::TypeConverter &converter,
                             mlir::RewritePatternSet &patterns);
/// local_store and local_load.
void populateLocalPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                           const ConversionState &state);
/// tile.cast; arith.truncf and extf of tiles.
void populateCastPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
/// Calls of device functions, PTX of the user's.
void populateDeviceCodePatterns(const mlir::TypeConverter &converter,
                                mlir::RewritePatternSet &patterns);
/// tile.reduce and tile.scan.
void populateCombinePatterns(const mlir::TypeConverter &converter,
                             mlir::RewritePatternSet &patterns, const ConversionState &state);
/// tile.iota, and what changes a tile's shape.
void populateShapePatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                           const ConversionState &state);
/// wg.convert_layout.
void populateConvertLayoutPatterns(const mlir::TypeConverter &converter,
                                   mlir::RewritePatternSet &patterns, const ConversionState &state);
/// Views of global memory.
void populateViewPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
/// tile.load, store, read, write.
void populateGlobalPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                            const ConversionState &state);
/// tile.take and put.
void populateListedPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                            const ConversionState &state);
/// tile.gather, scatter and atomic.
void populatePointPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                           const ConversionState &state);
/// tile.signal and await.
void populateCounterPatterns(const mlir::TypeConverter &converter,
                             mlir::RewritePatternSet &patterns, const ConversionState &state);
/// tile.print and tile.assert.
void populateRecordPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                            const ConversionState &state);
/// Notes where those of a kernel leave their records; an error if wg-collect-records has not run.
mlir::LogicalResult findRecords(mlir::gpu::GPUFuncOp kernel, ConversionState &state);
/// Marks waits that have nothing left to wait for, while the IR is still whole.
void markFinishedWaits(mlir::Operation *root);
/// Marks products whose registers nothing writes after the fence of the product before.
void markFencedProducts(mlir::Operation *root);
/// Lets waits that stand one behind the other share a loop, if each may be tried again.
void joinWaits(mlir::Operation *root);
/// slice, constants, arith and math on tiles.
void populateTilePatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                          const ConversionState &state);

/// A tile of which register i is register sources[i] of the operands, tiles of type `source` one
/// after the other.
mlir::Value renamed(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange operands,
                    mlir::RankedTensorType source, llvm::ArrayRef<int32_t> sources);

/// A tile of type `from` as one of type `to`, on the way that `exchange` says, through the scratch
/// of `op`.
mlir::Value throughScratch(mlir::OpBuilder &builder, mlir::Operation *op,
                           const ConversionState &state, const Exchange &exchange,
                           mlir::RankedTensorType from, mlir::RankedTensorType to,
                           mlir::Value tile);

/// A tile of type `tile` in another layout, by shuffles.
mlir::Value byShuffles(mlir::OpBuilder &builder, mlir::Location loc, const ThreadPlace &place,
                       const ShufflePlan &plan, mlir::RankedTensorType tile, mlir::Value registers);

// Shared-memory addresses. A buffer's address is a multiple of 16; it is made as a value in units
// of 16 bytes shifted left, so that a descriptor, which wants those units, takes the value before
// the shift.

/// The address in units of 16 bytes.
mlir::Value inUnits(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address);
/// The address of that many units of 16 bytes.
mlir::Value fromUnits(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value units);
/// i32: the address of the start of dynamic shared memory in the module around `op`.
mlir::Value sharedBase(mlir::OpBuilder &builder, mlir::Operation *op);
/// An i32 constant.
mlir::Value i32Constant(mlir::OpBuilder &builder, mlir::Location loc, int64_t value);
/// value + number, without an op if the number is 0.
mlir::Value plus(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, int64_t number);
/// value * number.
mlir::Value times(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, int64_t number);
/// Byte offset in `buffer` of the element (row, col), which starts a line of a panel.
int64_t byteOffset(BufferType buffer, int64_t row, int64_t col);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_WGTONVVM_PATTERNS_H
