// Which operand comes from where, which slots there are, and how many warpgroups multiply.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProductPlan.h"
#include "BackwardSlice.h"
#include "OperandChain.h"
#include "PingPong.h"
#include "girih/Conversion/TileToWG/TileToWG.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;

namespace girih::wg {

int64_t Product::sumRegisters(int64_t warpgroups) const {
  tile::DotOp product = dot;
  if (unit == ProductUnit::Wgmma)
    return product.getResult().getType().getNumElements() / (128 * warpgroups);
  return threadRegisters(mmaSyncTypes(product, 4, warpgroups).sum);
}

int64_t Product::operandRegisters(int64_t warpgroups) const {
  if (unit == ProductUnit::Wgmma)
    return 0;
  MmaSyncTypes types = mmaSyncTypes(dot, 4, warpgroups);
  return threadRegisters(types.a) + threadRegisters(types.b);
}

const Product *ProductPlan::find(tile::DotOp dot) const {
  auto found = llvm::find_if(products, [&](const Product &p) { return p.dot == dot; });
  return found == products.end() ? nullptr : &*found;
}

const StorePlan *ProductPlan::find(tile::StoreOp store) const {
  auto found = llvm::find_if(stores, [&](const StorePlan &s) { return s.store == store; });
  return found == stores.end() ? nullptr : &*found;
}

const Section *ProductPlan::drainOf(Block *block) const {
  auto found =
      llvm::find_if(sections, [&](const Section &s) { return s.drains && s.block == block; });
  return found == sections.end() ? nullptr : &*found;
}

int64_t warpgroupsFor(int64_t blocks) { return blocks == 3 ? 3 : blocks % 2 == 0 ? 2 : 1; }

bool isZeroTile(Value value) {
  return matchPattern(value, m_Zero()) || matchPattern(value, m_AnyZeroFloat());
}

namespace {

/// Whether every use of a load ends in a product, by way of ops of chains.
bool feedsProductsOnly(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<tile::DotOp>(user))
      return use.getOperandNumber() < 2;
    return isa<tile::TransposeOp, tile::ReshapeOp>(user) && feedsProductsOnly(user->getResult(0));
  });
}

/// Whether elements of different rows never meet on the way from `value` on, and every store of it
/// ends at the same row as `bound` does: then rows beyond the bound may hold anything.
bool rowsStayApart(Value value, tile::SliceOp bound, DenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return true;
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<tile::StoreOp>(user)) {
      auto store = cast<tile::StoreOp>(user);
      auto slice = store.getView().getDefiningOp<tile::SliceOp>();
      return use.getOperandNumber() == 0 && slice && slice.getDim() == 0 &&
             slice.getLow() == bound.getLow() && slice.getHigh() == bound.getHigh();
    }
    if (auto dot = dyn_cast<tile::DotOp>(user))
      return use.getOperandNumber() != 1 && rowsStayApart(dot.getResult(), bound, seen);
    if (auto reduce = dyn_cast<tile::ReduceOp>(user))
      return reduce.getDim() == 1 && llvm::all_of(reduce->getResults(), [&](Value result) {
               return rowsStayApart(result, bound, seen);
             });
    if (auto expand = dyn_cast<tile::ExpandOp>(user))
      return expand.getDim() == 1 && rowsStayApart(expand.getTile(), bound, seen);
    if (isa<tile::BroadcastOp>(user) || isa<tile::CastOp>(user) ||
        user->hasTrait<OpTrait::Elementwise>())
      return rowsStayApart(user->getResult(0), bound, seen);
    if (auto loop = dyn_cast<scf::ForOp>(user)) {
      if (use.getOperandNumber() < loop.getNumControlOperands())
        return false;
      return rowsStayApart(loop.getTiedLoopRegionIterArg(&use), bound, seen) &&
             rowsStayApart(loop.getTiedLoopResult(&use), bound, seen);
    }
    if (isa<scf::YieldOp>(user)) {
      Operation *parent = user->getParentOp();
      if (auto loop = dyn_cast<scf::ForOp>(parent))
        return rowsStayApart(loop.getRegionIterArg(use.getOperandNumber()), bound, seen) &&
               rowsStayApart(loop.getResult(use.getOperandNumber()), bound, seen);
      return isa<scf::IfOp>(parent) &&
             rowsStayApart(parent->getResult(use.getOperandNumber()), bound, seen);
    }
    return false;
  });
}

/// "128x64".
std::string extents(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

/// Why another role cannot find out by itself where and when to load; empty if it can.
std::string dependsOnWrites(tile::LoadOp load, const ArrayPlace &place, const HostSide &host) {
  BackwardSlice slice;
  if (Operation *parent = load->getParentOp(); !isa<gpu::GPUFuncOp>(parent))
    slice.addOp(parent);
  for (ArrayRef<Value> terms : place.coordinates)
    for (Value term : terms)
      slice.addValue(term);
  for (Operation *op : slice.getOps())
    if (!op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() && !isMemoryEffectFree(op) &&
        !readsInput(op, host))
      return "its place depends on what " + op->getName().getStringRef().str() +
             " gives, which one role alone can execute";
  return {};
}

/// Whether a slot of `outer` is in use when one of `inner`, which is filled in an op of the other's
/// block, is filled.
bool outlives(const Section &outer, const Section &inner) {
  Operation *within = outer.block->findAncestorOpInBlock(*inner.block->getParentOp());
  if (!within)
    return false;
  bool before = llvm::all_of(
      outer.loads, [&](const RingLoad &load) { return within->isBeforeInBlock(load.load); });
  return !before && !outer.lastUse->isBeforeInBlock(within);
}

class Planner {
public:
  Planner(gpu::GPUFuncOp kernel, const HostSide &host) : kernel(kernel), host(host) {}

  FailureOr<ProductPlan> run() {
    FailureOr<Hints> hints = readHints(kernel);
    if (failed(hints))
      return failure();
    plan.stages = hints->stages;
    kernel.walk(
        [&](tile::DotOp dot) { plan.products.push_back({dot, chooseUnit(dot).unit, {}, {}, -1}); });
    for (Product &product : plan.products) {
      chooseOperand(product, 0);
      chooseOperand(product, 1);
      product.carried = carriedBy(product.dot);
    }
    makeSections();
    makeRings();
    if (failed(chooseRoles(*hints)) || failed(shareInClusters(kernel, host, hints->loc, plan)))
      return failure();
    planStores(kernel, host, plan);
    return std::move(plan);
  }

private:
  /// Who multiplies: the warpgroups that share out the 64 rows of an instruction, or several that
  /// have tiles of their own.
  LogicalResult chooseRoles(const Hints &hints) {
    int64_t blocks = 0;
    for (Product &product : plan.products)
      if (product.unit == ProductUnit::Wgmma)
        blocks = std::gcd(blocks, product.dot.getResult().getType().getDimSize(0) / 64);
    if (hints.warps && (*hints.warps % 4 || *hints.warps < 4 || *hints.warps > 12))
      return emitError(hints.loc, "the hint warps is ")
             << *hints.warps << "; expected 4, 8 or 12, beside the warps that load";
    int64_t warpgroups = hints.warps.value_or(0) / 4;

    if (hints.roles == RoleForm::PingPong) {
      Result<PingPong> pingPong = planPingPong(kernel, plan);
      if (!pingPong)
        return emitError(hints.loc, "the hint roles cannot be pingpong: ")
               << pingPong.error() << "; leave it out, or say cooperative";
      if (warpgroups == 1)
        return emitError(hints.loc, "the hint roles cannot be pingpong with 4 warps; expected 8 or "
                                    "12: two or three warpgroups with tiles of their own");
      plan.pingPong = std::move(*pingPong);
      plan.alternates = warpgroups ? warpgroups : 2;
      return success();
    }
    if (warpgroups) {
      if (blocks % warpgroups)
        return emitError(hints.loc, "the hint warps is ")
               << *hints.warps << "; expected 64 rows of every product, or a multiple, for each "
               << "warpgroup of four: the products' rows are multiples of " << 64 * blocks;
      plan.warpgroups = warpgroups;
      return success();
    }
    plan.warpgroups = blocks ? warpgroupsFor(blocks) : warpgroupsForSums();
    if (blocks && !hints.roles)
      considerPingPong();
    return success();
  }

  /// A second warpgroup where the threads of one would have more than half of their registers full
  /// of one product by mma.sync.
  int64_t warpgroupsForSums() {
    return llvm::any_of(plan.products,
                        [](Product &product) {
                          return product.sumRegisters(1) + product.operandRegisters(1) > 128;
                        })
               ? 2
               : 1;
  }

  /// With tiles of 64 rows one warpgroup alone would multiply, and nobody while it stores.
  void considerPingPong() {
    scf::ForOp tiles = findTileLoop(kernel);
    if (!tiles)
      return;
    if (plan.warpgroups > 1) {
      emitRemark(tiles.getLoc(), "roles: cooperative, ")
          << plan.warpgroups << " warpgroups share the rows of each tile";
      return;
    }
    Result<PingPong> pingPong = planPingPong(kernel, plan);
    if (!pingPong) {
      emitRemark(tiles.getLoc(), "roles: cooperative, not pingpong: ") << pingPong.error();
      return;
    }
    emitRemark(tiles.getLoc(), "roles: pingpong, two warpgroups take every other tile: one "
                               "multiplies while the other stores");
    plan.pingPong = std::move(*pingPong);
    plan.alternates = 2;
  }

  /// The number of the iteration argument that a product adds to in place; -1 if there is none.
  int64_t carriedBy(tile::DotOp dot) {
    auto argument = dyn_cast_if_present<BlockArgument>(dot.getAccumulator());
    auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
    if (!argument || !loop || argument.getOwner() != loop.getBody() ||
        argument.getArgNumber() < 1 || !argument.hasOneUse() || !dot.getResult().hasOneUse())
      return -1;
    int64_t index = argument.getArgNumber() - 1;
    return loop.getYieldedValues()[index] == dot.getResult() ? index : -1;
  }

  /// Operand a or b of mma.sync as the warps hold it.
  RankedTensorType fragmentOf(const Product &product, int which) {
    MmaSyncTypes types = mmaSyncTypes(product.dot, 4, plan.warpgroups);
    return which ? types.b : types.a;
  }

  void chooseOperand(Product &product, int which) {
    ProductOperand &operand = which ? product.b : product.a;
    Value tile = product.dot->getOperand(which);
    std::string why = chooseRing(product, operand, tile);
    if (why.empty())
      return;
    auto type = cast<RankedTensorType>(tile.getType());
    std::optional<OperandChain> chain = chainOf(tile);
    bool isSync = product.unit == ProductUnit::MmaSync;
    if (!isSync && chooseAsyncCopy(product, operand, which, why))
      return;
    if (!chain && (isSync || which == 0)) {
      operand.source = OperandSource::Registers;
      emitRemark(product.dot.getLoc(), "operand ")
          << (which ? "b" : "a") << " stays in registers: " << why;
      return;
    }
    // Along K as wgmma reads it best; a swizzle fits since K is a multiple of 32 bytes. For
    // mma.sync as the array is stored: ldmatrix transposes elements of 16 bits, wider ones come one
    // by one; there is no way for bytes.
    int64_t alongK = which == 0 ? 1 : 0, fast = alongK;
    if (isSync && chain->load.getView().getType().getContiguous() == chain->dims[1 - alongK])
      fast = 1 - alongK;
    int64_t span = swizzleFor(type.getDimSize(fast) * getStorageBits(type.getElementType()) / 8);
    BufferType buffer;
    if (span)
      buffer = BufferType::get(type.getContext(), type.getShape(), type.getElementType(),
                               ArrayRef<int64_t>{fast, 1 - fast}, span);
    if (isSync && (!buffer || !isReadable(fragmentOf(product, which), buffer))) {
      operand.source = OperandSource::Registers;
      emitRemark(chain->load.getLoc(), "operand ")
          << (which ? "b" : "a") << " not by TMA: " << why << "; converted in registers";
      return;
    }
    operand.source = OperandSource::Memory;
    operand.buffer = buffer;
    Location loc = chain ? chain->load.getLoc() : product.dot.getLoc();
    emitRemark(loc) << "operand " << (which ? "b" : "a") << " not by TMA: " << why
                    << "; through registers into shared memory";
  }

  /// Makes an operand one that the role itself copies into a buffer by cp.async, if it comes from
  /// memory for this product only: what TMA cannot describe, as rows that are listed and slices of
  /// K. `why` says why TMA does not bring it.
  bool chooseAsyncCopy(Product &product, ProductOperand &operand, int which, StringRef why) {
    Value tile = product.dot->getOperand(which);
    std::optional<CopiedOperand> copied = copiedOperand(tile);
    if (!copied || copied->load->getBlock() != product.dot->getBlock() ||
        !readsInput(copied->load, host))
      return false;
    auto take = dyn_cast<tile::TakeOp>(copied->load);
    auto load = dyn_cast<tile::LoadOp>(copied->load);
    Value fill = take ? take.getFill() : load.getFill();
    if (fill && !isZeroTile(fill))
      return false;
    tile::ViewType view = take ? take.getView().getType() : load.getView().getType();
    int64_t contiguous = view.getContiguous();
    int64_t bytes = std::min<int64_t>(view.getAlign(), 16);
    if (contiguous < 0 || bytes < 4 || (take && static_cast<int64_t>(take.getDim()) == contiguous))
      return false;
    // The buffer's lines are the array's.
    auto type = cast<RankedTensorType>(tile.getType());
    int64_t fast = copied->transposed ? 1 - contiguous : contiguous;
    int64_t elementBits = getStorageBits(type.getElementType());
    int64_t span = swizzleFor(type.getDimSize(fast) * elementBits / 8);
    bool alongK = fast == (which == 0 ? 1 : 0);
    // PTX ISA 9.0, 9.7.15.5.1.2: only operands of 16 bits may be stored along M or N.
    if (!span || (!alongK && elementBits != 16) || elementBits < 8)
      return false;
    operand.source = OperandSource::Memory;
    operand.buffer = BufferType::get(type.getContext(), type.getShape(), type.getElementType(),
                                     ArrayRef<int64_t>{fast, 1 - fast}, span);
    operand.copied = copied->load;
    operand.transposed = copied->transposed;
    plan.absorbed.insert(copied->load);
    plan.absorbed.insert(copied->between.begin(), copied->between.end());
    emitRemark(copied->load->getLoc())
        << "operand " << (which ? "b" : "a") << " by cp.async, " << bytes
        << " bytes at a time, in the role that multiplies; not by TMA: "
        << (take ? "its rows are listed" : why);
    return true;
  }

  /// Makes an operand one that TMA brings; the answer says why not, or is empty.
  std::string chooseRing(Product &product, ProductOperand &operand, Value tile) {
    std::optional<OperandChain> chain = chainOf(tile);
    if (!chain)
      return "it is computed by the kernel";
    tile::LoadOp load = chain->load;
    if (!feedsProductsOnly(load.getTile()))
      return "it is used by other operations than products";
    if (load.getFill() && !matchPattern(load.getFill(), m_AnyZeroFloat()) &&
        !matchPattern(load.getFill(), m_Zero()))
      return "elements outside are not zero";
    Result<ArrayPlace> place = findArray(load.getView(), load.getIndices(), host);
    if (!place)
      return place.error();
    if (place->getType().getAccess() != plan::Access::In)
      return "the kernel may write " + host.nameOf(place->array) +
             ", and the role that loads would not know when";
    if (std::string why = dependsOnWrites(load, *place, host); !why.empty())
      return why;

    bool isA = tile == product.dot.getA();
    for (int64_t dim = 0; dim < static_cast<int64_t>(place->slices.size()); ++dim) {
      tile::SliceOp slice = place->slices[dim];
      if (!slice)
        continue;
      DenseSet<Value> seen;
      if (!isA || dim != chain->dims[0] || !rowsStayApart(product.dot.getResult(), slice, seen))
        return "it is a slice, beyond whose end TMA would read the neighbours";
    }

    auto shape = cast<RankedTensorType>(tile.getType()).getShape();
    SmallVector<int64_t> arrayDims;
    for (int64_t dim : chain->dims)
      arrayDims.push_back(place->dims[dim]);
    Result<TmaCopy> copy = chooseCopy(place->getType(), shape, arrayDims);
    if (!copy)
      return copy.error();
    // PTX ISA 9.0, 9.7.15.5.1.2: only operands of 16 bits may be stored along M or N. mma.sync has
    // elements of 32 bits and more in registers of their own, whatever lies beside them.
    int64_t bits = copy->buffer.getElementBits();
    bool isWgmma = product.unit == ProductUnit::Wgmma;
    bool isAlongK = copy->buffer.getFastestDim() == (isA ? 1 : 0);
    if (!isAlongK && (bits < 16 || (isWgmma && bits != 16)))
      return std::string("it is not stored along K, as ") + (isWgmma ? "wgmma" : "mma.sync") +
             " reads operands of " + std::to_string(bits) + " bits";
    if (!isWgmma && !isReadable(fragmentOf(product, isA ? 0 : 1), copy->buffer))
      return "the warps' parts of it lie differently in the panels of a slot";
    auto known = ringLoads.find(load);
    if (known != ringLoads.end() && known->second.copy.buffer != copy->buffer)
      return "another product reads it by rows and columns in the other order";

    operand = {OperandSource::Ring, load, copy->buffer};
    for (Operation *op : chain->between)
      plan.absorbed.insert(op);
    plan.absorbed.insert(load);
    if (known == ringLoads.end()) {
      emitRemark(load.getLoc(), "loads ")
          << host.nameOf(place->array) << " by TMA, box " << extents(copy->view.getBox())
          << ", swizzle " << copy->view.getSwizzle();
      ringLoads.insert({load, RingLoad{load, std::move(*place), *copy}});
    }
    return {};
  }

  /// The products that read a load.
  SmallVector<const Product *> readersOf(tile::LoadOp load) {
    SmallVector<const Product *> readers;
    for (Product &product : plan.products)
      if ((product.a.source == OperandSource::Ring && product.a.load == load) ||
          (product.b.source == OperandSource::Ring && product.b.load == load))
        readers.push_back(&product);
    return readers;
  }

  /// Whether every product of a loop's step stands directly in its body, adds to what the loop
  /// carries and gets its operands from slots that are filled in the body.
  bool isDrainLoop(Block *body) {
    auto loop = dyn_cast<scf::ForOp>(body->getParentOp());
    if (!loop || loop.getUnsignedCmp())
      return false;
    bool drains = true, any = false;
    loop.getBody()->walk([&](Operation *op) {
      if (auto dot = dyn_cast<tile::DotOp>(op)) {
        const Product *product = plan.find(dot);
        any = true;
        drains &= product->unit == ProductUnit::Wgmma;
        // What does not start from zeros would reach the wait behind the loop without a product
        // where the loop runs no time, and ptxas then serialises the products.
        drains &= dot->getBlock() == body && product->carried >= 0 &&
                  isZeroTile(loop.getInitArgs()[product->carried]);
        for (const ProductOperand *operand : {&product->a, &product->b})
          drains &= operand->source == OperandSource::Ring && operand->load->getBlock() == body;
      }
      if (auto load = dyn_cast<tile::LoadOp>(op))
        drains &= !ringLoads.count(load) || load->getBlock() == body;
      drains &= !isa<tile::StoreOp>(op);
    });
    return drains && any;
  }

  void makeSections() {
    for (auto &[load, ringLoad] : ringLoads) {
      auto op = cast<tile::LoadOp>(load);
      SmallVector<const Product *> readers = readersOf(op);
      bool drains = isDrainLoop(load->getBlock());
      auto same = llvm::find_if(plan.sections, [&](const Section &section) {
        if (section.block != load->getBlock())
          return false;
        return section.drains || readersOf(section.loads.front().load) == readers;
      });
      if (same == plan.sections.end()) {
        plan.sections.emplace_back();
        same = std::prev(plan.sections.end());
        same->block = load->getBlock();
        same->drains = drains;
      }
      same->loads.push_back(ringLoad);
      for (const Product *reader : readers) {
        Operation *use = same->block->findAncestorOpInBlock(*reader->dot);
        if (!same->firstUse || use->isBeforeInBlock(same->firstUse))
          same->firstUse = use;
        if (!same->lastUse || same->lastUse->isBeforeInBlock(use))
          same->lastUse = use;
      }
    }
  }

  /// Sections of one shape that are never alive at once share a ring.
  void makeRings() {
    SmallVector<SmallVector<size_t>> sharers;
    for (auto [number, section] : llvm::enumerate(plan.sections)) {
      SmallVector<BufferType> buffers;
      std::string name;
      for (const RingLoad &load : section.loads) {
        buffers.push_back(load.copy.buffer);
        name += (name.empty() ? "" : "_") + host.nameOf(load.place.array);
      }
      // A slot that an inner loop reads is filled once for all of that loop.
      bool inLoop = isa<LoopLikeOpInterface>(section.block->getParentOp()) &&
                    !isa<LoopLikeOpInterface>(section.firstUse);
      auto apart = [&](size_t other) {
        const Section &known = plan.sections[other];
        return section.block != known.block && !outlives(section, known) &&
               !outlives(known, section);
      };
      size_t ring = 0;
      while (ring < plan.rings.size() &&
             !(plan.rings[ring].buffers == buffers && llvm::all_of(sharers[ring], apart)))
        ++ring;
      if (ring == plan.rings.size()) {
        plan.rings.push_back({buffers, inLoop, name});
        sharers.emplace_back();
      }
      plan.rings[ring].inLoop |= inLoop;
      sharers[ring].push_back(number);
      section.ring = ring;
    }
  }

  gpu::GPUFuncOp kernel;
  const HostSide &host;
  ProductPlan plan;
  llvm::MapVector<Operation *, RingLoad> ringLoads;
};

} // namespace

std::string whyNotByTma(Value operand) {
  std::optional<OperandChain> chain = chainOf(operand);
  if (!chain)
    return "it is computed by the kernel";
  if (!feedsProductsOnly(chain->load.getTile()))
    return "it is used by other operations than products";
  tile::ViewType view = chain->load.getView().getType();
  if (view.getContiguous() < 0 || view.getAlign() % 16)
    return "its rows do not begin at multiples of 16 bytes";
  for (Operation *op = chain->load.getView().getDefiningOp();
       isa_and_present<tile::SelectOp, tile::SliceOp, tile::PermuteOp>(op);
       op = op->getOperand(0).getDefiningOp())
    if (isa<tile::SliceOp>(op))
      return "it is a slice, beyond whose end TMA would read the neighbours";
  return {};
}

FailureOr<ProductPlan> planProducts(gpu::GPUFuncOp kernel, const HostSide &host) {
  return Planner(kernel, host).run();
}

} // namespace girih::wg
