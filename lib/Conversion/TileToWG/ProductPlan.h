// What becomes of the products of a kernel and of the loads that feed them: decided before
// anything is rewritten, then read by the two roles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_PRODUCTPLAN_H
#define GIRIH_LIB_CONVERSION_TILETOWG_PRODUCTPLAN_H

#include "ProductUnit.h"
#include "TmaAccess.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <vector>

namespace girih::wg {

/// How a product gets an operand.
enum class OperandSource {
  Ring,      ///< a TMA copy in another role fills a slot
  Registers, ///< operand a of wgmma, either of mma.sync: a tile of the role itself
  Memory,    ///< the role itself puts a tile into a buffer, from where the product gets it
};

struct ProductOperand {
  OperandSource source = OperandSource::Memory;
  tile::LoadOp load; ///< of a Ring
  BufferType buffer; ///< of a Ring or of Memory: rows and columns are the operand's
};

/// A tile.dot that becomes a wg.mma or a wg.mma_sync.
struct Product {
  tile::DotOp dot;
  ProductUnit unit;
  ProductOperand a, b;
  /// The iteration argument of the enclosing loop that it adds to, with no other use; -1 without.
  int64_t carried = -1;

  /// Registers of 32 bits that each thread of `warpgroups` has of the sum; and of the operands,
  /// those of mma.sync.
  int64_t sumRegisters(int64_t warpgroups) const;
  int64_t operandRegisters(int64_t warpgroups) const;
};

/// A load that becomes a TMA copy.
struct RingLoad {
  tile::LoadOp load;
  ArrayPlace place;
  TmaCopy copy;
};

/// Loads of one block whose buffers are filled together and given back together: one slot.
struct Section {
  mlir::Block *block = nullptr;
  std::vector<RingLoad> loads;
  /// In `block`, the first and the last op that reads the slot.
  mlir::Operation *firstUse = nullptr, *lastUse = nullptr;
  size_t ring = 0;
  /// The slots' loop, where a step of the loop is one slot for both roles and every product of it
  /// adds to what the loop carries.
  bool drains = false;
};

/// A ring: what its slots hold, and whether they are filled at each step of the loop that reads
/// them, so that several are worth their room.
struct RingPlan {
  llvm::SmallVector<BufferType> buffers;
  bool inLoop = false;
  std::string name;
};

/// A tile.store that goes through shared memory, in chunks of columns, by TMA.
struct StorePlan {
  tile::StoreOp store;
  ArrayPlace place;
  BufferType slot; ///< of the whole role
  size_t ring = 0;
};

struct ProductPlan {
  int64_t warpgroups = 1;
  std::vector<Product> products;
  std::vector<Section> sections;
  llvm::SmallVector<RingPlan> rings;
  std::vector<StorePlan> stores;
  llvm::SmallVector<BufferType> storeRings;
  /// Where the kernel's author has said by hand what the roles do; the role that computes is then
  /// the one that gives their results.
  llvm::SmallVector<TeamOp> teams;
  /// Ops that only lead from a Ring load to a product.
  llvm::DenseSet<mlir::Operation *> absorbed;

  const Product *find(tile::DotOp dot) const;
  const StorePlan *find(tile::StoreOp store) const;
  /// The section of a block that drains; null without.
  const Section *drainOf(mlir::Block *block) const;
};

/// Decides for every product of a kernel; remarks say what, at the user's lines. Fails, with an
/// error, if a hint cannot be followed.
mlir::FailureOr<ProductPlan> planProducts(mlir::gpu::GPUFuncOp kernel, const HostSide &host);

/// Decides which stores of tiles go out by TMA; part of planProducts.
void planStores(mlir::gpu::GPUFuncOp kernel, const HostSide &host, ProductPlan &plan);

/// Whether a value is a tile of zeros, known now.
bool isZeroTile(mlir::Value value);

/// The number of a hint of the kernel; nothing if it is absent or no integer.
std::optional<int64_t> hintOf(mlir::gpu::GPUFuncOp kernel, llvm::StringRef name);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_TILETOWG_PRODUCTPLAN_H
