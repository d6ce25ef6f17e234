// What becomes of the products of a kernel and of the loads that feed them: decided before
// anything is rewritten, then read by the two roles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_PRODUCTPLAN_H
#define GIRIH_LIB_CONVERSION_TILETOWG_PRODUCTPLAN_H

#include "Hints.h"
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
  /// Of Memory: the tile.load or tile.take from which it is copied by cp.async; null if it goes
  /// through registers.
  mlir::Operation *copied = nullptr;
  bool transposed = false; ///< what is copied is the operand's transpose
  bool kept = false;       ///< of a Ring: the slot is loaded into registers, before the loop
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
  bool multicast = false; ///< each CTA of the cluster brings its share to all of them
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
  /// All readers keep what they read in registers: the slot goes back as soon as that is loaded.
  bool kept = false;
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
  /// Dimensions of the tile that are slices: a tile that is not inside them as a whole is stored
  /// from registers.
  llvm::SmallVector<int64_t, 2> sliced;
};

/// What a tile takes of a ring: a slot, or one for each step of a loop in the tile's code.
struct SlotsOfTile {
  size_t ring;
  mlir::scf::ForOp steps;
};

/// Warpgroups that take every n-th tile of a CTA.
struct PingPong {
  mlir::scf::ForOp tiles; ///< the loop over the CTA's tiles
  std::vector<SlotsOfTile> slots;
  /// In the body of `tiles`: the first and the last op with products.
  mlir::Operation *firstProduct = nullptr, *lastProduct = nullptr;
};

struct ProductPlan {
  int64_t warpgroups = 1;           ///< that share a tile
  int64_t alternates = 1;           ///< so often, each with tiles of its own
  std::optional<PingPong> pingPong; ///< with several alternates
  std::optional<int64_t> stages;    ///< of rings in loops, if the author says
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

/// Registers that are left for each thread that computes, by that many warpgroups beside one that
/// loads; wg-budget-registers deals them out.
int64_t registersToCompute(int64_t warpgroups);

/// How many warpgroups share out rows in that many blocks of 64, if no hint says otherwise.
int64_t warpgroupsFor(int64_t blocks);

/// Registers of a thread that a tile takes, spread over that many warpgroups.
int64_t registersOf(mlir::RankedTensorType type, int64_t warpgroups);

/// Registers of a thread that are not the products' own: addresses, cursors, and what a softmax has
/// of each row.
inline constexpr int64_t kOtherRegisters = 24;

/// Decides which operands of loops are kept in registers; remarks say so.
void keepOperands(ProductPlan &plan);

/// Why TMA does not bring an operand, as far as the kernel alone shows it; empty if nothing is in
/// the way.
std::string whyNotByTma(mlir::Value operand);

/// Decides which stores of tiles go out by TMA; part of planProducts.
void planStores(mlir::gpu::GPUFuncOp kernel, const HostSide &host, ProductPlan &plan);

/// Makes loads that the CTAs of a cluster have in common multicasts; part of planProducts. Fails,
/// with an error at `hint`, if there is a cluster and no such load.
mlir::LogicalResult shareInClusters(mlir::gpu::GPUFuncOp kernel, const HostSide &host,
                                    mlir::Location hint, ProductPlan &plan);

/// Whether a value is a tile of zeros, known now.
bool isZeroTile(mlir::Value value);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_TILETOWG_PRODUCTPLAN_H
