// What has no way to the nvvm phase, said before the conversion starts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "AsyncCopy.h"
#include "Casts.h"

#include "girih/Conversion/WGToNVVM/MatrixOperand.h"
#include "girih/Dialect/WG/Transforms/Scratch.h"
#include "girih/Layout/ConversionPlan.h"

using namespace mlir;

namespace girih::wg {

namespace {

LogicalResult checkOffset(Operation *op, std::optional<uint32_t> offset) {
  if (offset)
    return success();
  return op->emitOpError("has no offset in shared memory; run wg-allocate-shared first");
}

LogicalResult checkMma(MmaOp op, const target::TargetFeatures &features) {
  if (!features.hasWgmma())
    return op.emitOpError("needs wgmma, which ")
           << features.chip() << " does not have; expected sm_90a";
  return success();
}

LogicalResult checkTma(Operation *op, const target::TargetFeatures &features) {
  if (features.hasTma())
    return success();
  return op->emitOpError("needs the tensor memory accelerator, which ")
         << features.chip() << " does not have; expected sm_90 or higher";
}

/// Each warpgroup stores its own rows in whole boxes.
LogicalResult checkStore(TmaStoreOp op, const RoleContext &role) {
  int64_t rows = op.getBuffer().getType().getShape()[0], groups = role.storingGroups();
  int64_t box = op.getView().getType().getBox()[0];
  if (rows % (groups * box) == 0)
    return success();
  return op.emitOpError("stores ")
         << rows << " rows by " << groups << " warpgroups in boxes of " << box
         << " rows; expected rows to be a multiple of " << groups * box;
}

LogicalResult checkConstant(arith::ConstantOp op) {
  if (!isTile(op.getType()) || isa<SplatElementsAttr>(op.getValue()))
    return success();
  return op.emitOpError("of a tile has elements that differ; expected a splat, since which of them "
                        "a thread holds is not "
                        "known at compile time");
}

LogicalResult checkCast(tile::CastOp op) {
  if (std::optional<std::string> why = refuseCast(castOf(op)))
    return op.emitOpError() << *why;
  return success();
}

LogicalResult checkTruncate(arith::TruncFOp op) {
  if (!isTile(op.getType()))
    return success();
  std::optional<Cast> cast = castOf(op);
  if (!cast)
    return op.emitOpError("rounds to nearest away from zero, for which there is no instruction; "
                          "expected to_nearest_even, toward_zero, upward or downward");
  if (std::optional<std::string> why = refuseCast(*cast))
    return op.emitOpError() << *why;
  return success();
}

/// A tile has its elements in the threads of the role that holds it, neither fewer nor more.
LogicalResult checkThreads(Operation *op, RankedTensorType tile, const RoleContext &role) {
  const Layout &layout = getLayout(tile).getLayout();
  int64_t warps = layout.inSize(Dim::Warp), groups = layout.inSize(Dim::Warpgroup);
  int64_t together = role.warpsTogether();
  bool whole = warps == std::min<int64_t>(together, 4);
  if (layout.inSize(Dim::Lane) == 32 && whole && warps * groups == together)
    return success();
  return op->emitOpError("has a tile over ")
         << layout.inSize(Dim::Lane) << " lanes of " << warps << " warps of " << groups
         << " warpgroups, and stands where " << together
         << " warps execute it; expected a layout over all their threads (of warpgroups of 4 "
            "warps)";
}

/// Works out where the elements of `tile` are.
LogicalResult planTile(Operation *op, RankedTensorType tile, ConversionState &state) {
  if (failed(checkThreads(op, tile, state.roles.of(op))))
    return failure();
  if (state.tileAccesses.contains(tile))
    return success();
  Result<TileAccess> plan = planTileAccess(tile);
  if (!plan)
    return op->emitOpError("cannot address its elements: ") << plan.error();
  state.tileAccesses[tile] = std::make_unique<TileAccess>(std::move(*plan));
  return success();
}

LogicalResult withoutLayout(Operation *op) {
  return op->emitOpError("has a tile without a layout; run wg-assign-layouts first");
}

/// What a result's index is made of, besides the shapes of source and result.
enum class Renaming { Expand, Broadcast, Transpose, Reshape, Split, Join, Same, Listed };

/// Which register of the source each register of a result is. `from` makes an index of the source
/// of one of the result, as `renaming` and the numbers `how` say.
LogicalResult planRename(Operation *op, const Layout &source, RankedTensorType result,
                         Renaming renaming, ArrayRef<int64_t> how,
                         const std::function<void(Extents &)> &from, const Extents &sourceShape,
                         std::vector<int32_t> &sources) {
  Extents shape = extentsOf(result);
  std::vector<int32_t> name = {static_cast<int32_t>(renaming), static_cast<int32_t>(how.size())};
  llvm::append_range(name, how);
  llvm::append_range(name, sourceShape);
  name.push_back(-1);
  llvm::append_range(name, shape);
  Extents index;
  Result<std::vector<int32_t>> found = registerSources(
      source, getLayout(result).getLayout(),
      [&](const Point &element) {
        indexInto(index, shape, element);
        from(index);
        return elementOf(sourceShape, index);
      },
      name);
  if (!found)
    return op->emitOpError("would move elements to other threads: ")
           << found.error()
           << "; expected a wg.convert_layout before, as wg-assign-layouts puts it";
  sources = std::move(*found);
  return success();
}

/// An op that renames the registers of its one source.
LogicalResult planRename(Operation *op, Value source, Renaming renaming, ArrayRef<int64_t> how,
                         const std::function<void(Extents &)> &from, ConversionState &state) {
  auto type = cast<RankedTensorType>(source.getType());
  std::vector<std::vector<int32_t>> renames;
  for (Value result : op->getResults()) {
    auto tile = cast<RankedTensorType>(result.getType());
    if (!isTile(type) || !isTile(tile))
      return withoutLayout(op);
    if (failed(planRename(op, getLayout(type).getLayout(), tile, renaming, how, from,
                          extentsOf(type), renames.emplace_back())))
      return failure();
  }
  state.renames[op] = std::move(renames);
  return success();
}

LogicalResult planShape(Operation *op, ConversionState &state) {
  if (auto expand = dyn_cast<tile::ExpandOp>(op))
    return planRename(
        op, expand.getSource(), Renaming::Expand, {static_cast<int64_t>(expand.getDim())},
        [&](Extents &index) { index.erase(index.begin() + expand.getDim()); }, state);
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op))
    return planRename(
        op, broadcast.getSource(), Renaming::Broadcast, {},
        [&](Extents &index) {
          for (auto [i, extent] : llvm::enumerate(broadcast.getSource().getType().getShape()))
            if (extent == 1)
              index[i] = 0;
        },
        state);
  if (auto transpose = dyn_cast<tile::TransposeOp>(op))
    return planRename(
        op, transpose.getSource(), Renaming::Transpose, transpose.getOrder(),
        [&](Extents &index) {
          Extents to = index;
          for (auto [i, dim] : llvm::enumerate(transpose.getOrder()))
            index[dim] = to[i];
        },
        state);
  if (auto reshape = dyn_cast<tile::ReshapeOp>(op)) {
    Extents to = extentsOf(reshape.getTile().getType());
    Extents from = extentsOf(reshape.getSource().getType());
    return planRename(
        op, reshape.getSource(), Renaming::Reshape, {},
        [&](Extents &index) {
          int32_t number = 0;
          for (size_t i = 0; i < to.size(); ++i)
            number = number * to[i] + index[i];
          index.resize(from.size());
          for (size_t i = from.size(); i-- > 0; number /= from[i])
            index[i] = number % from[i];
        },
        state);
  }
  auto split = cast<tile::SplitOp>(op);
  if (failed(planRename(
          op, split.getSource(), Renaming::Split, {0}, [](Extents &index) { index.push_back(0); },
          state)))
    return failure();
  std::vector<std::vector<int32_t>> first = state.renames[op];
  if (failed(planRename(
          op, split.getSource(), Renaming::Split, {1}, [](Extents &index) { index.push_back(1); },
          state)))
    return failure();
  state.renames[op].front() = first.front();
  return success();
}

/// The two operands' registers are one list.
LogicalResult planJoin(tile::JoinOp op, ConversionState &state) {
  RankedTensorType source = op.getFirst().getType(), tile = op.getTile().getType();
  if (!isTile(source) || !isTile(tile))
    return withoutLayout(op);
  const Layout &layout = getLayout(source).getLayout(), &to = getLayout(tile).getLayout();
  Extents shape = extentsOf(tile), half = extentsOf(source);
  // Which operand a register is of must not depend on the thread.
  Result<Layout> place = coordinateOf(to, shape, static_cast<int32_t>(shape.size()) - 1);
  std::vector<int32_t> sources;
  if (failed(planRename(
          op, layout, tile, Renaming::Join, {}, [](Extents &index) { index.pop_back(); }, half,
          sources)))
    return failure();
  bool uniform = static_cast<bool>(place);
  for (size_t i = 0; uniform && i < place->spec().bases.size(); ++i)
    uniform = place->spec().bases[i].dim == Dim::Register || place->spec().bases[i].to[0] == 0;
  for (size_t i = 0; uniform && i < place->spec().repeats.size(); ++i)
    uniform =
        place->spec().repeats[i].dim == Dim::Register || place->spec().repeats[i].step[0] == 0;
  if (!uniform)
    return op.emitOpError("has a result whose last dimension is not held by registers alone; "
                          "expected a wg.convert_layout after, as wg-assign-layouts puts it");
  for (auto [reg, from] : llvm::enumerate(sources)) {
    Point slot;
    slot[Dim::Register] = static_cast<int32_t>(reg);
    if (place->apply(slot)[Dim::Row])
      from += layout.inSize(Dim::Register);
  }
  state.renames[op] = {sources};
  return success();
}

template <typename Op> LogicalResult planCombining(Op op, ConversionState &state) {
  auto tile = cast<RankedTensorType>(op.getTiles().front().getType());
  if (!isTile(tile))
    return withoutLayout(op);
  if (failed(checkThreads(op, tile, state.roles.of(op))))
    return failure();
  const Layout &layout = getLayout(tile).getLayout();
  Extents shape = extentsOf(tile);
  int32_t dim = static_cast<int32_t>(op.getDim());
  Result<Reduction> reduction = analyseReduction(layout, shape, dim);
  if (!reduction)
    return op.emitOpError("cannot combine elements of this layout: ") << reduction.error();
  if (reduction->acrossWarps() && !op->hasAttr(kScratchAttr))
    return op.emitOpError("needs scratch in shared memory; run wg-allocate-shared first");
  if constexpr (std::is_same_v<Op, tile::ScanOp>) {
    if (auto order = scanOrder(*reduction, shape[dim]); !order)
      return op.emitOpError("cannot scan this layout: ") << order.error();
    for (Value result : op.getResults())
      if (result.getType() != op.getTiles()[cast<OpResult>(result).getResultNumber()].getType())
        return op.emitOpError("has results of another layout than its tiles; expected the same");
  } else if (shape.size() > 1) {
    // What the reduction leaves, as the result's layout has it.
    Result<Layout> left = reduceOf(layout, shape, dim);
    auto result = cast<RankedTensorType>(op.getResults().front().getType());
    if (!isTile(result))
      return withoutLayout(op);
    std::vector<int32_t> sources;
    if (failed(planRename(
            op, *left, result, Renaming::Same, {}, [](Extents &) {}, extentsOf(result), sources)))
      return failure();
    for (Value other : op.getResults())
      if (cast<RankedTensorType>(other.getType()).getEncoding() != result.getEncoding())
        return op.emitOpError("has results of different layouts; expected one");
    state.renames[op] = {sources};
  }
  state.reductions[op] = std::make_unique<Reduction>(std::move(*reduction));
  return success();
}

/// The way of a tile through scratch.
LogicalResult planExchangeOf(Operation *op, RankedTensorType from, RankedTensorType to,
                             ConversionState &state) {
  if (!op->hasAttr(kScratchAttr))
    return op->emitOpError("needs scratch in shared memory; run wg-allocate-shared first");
  Result<Exchange> exchange =
      planExchange(getLayout(from).getLayout(), getLayout(to).getLayout(),
                   static_cast<int32_t>(elementBytes(from.getElementType())));
  if (!exchange)
    return op->emitOpError("finds no way through shared memory: ") << exchange.error();
  for (RankedTensorType type : {from, to})
    if (failed(planTile(op, type, state)))
      return failure();
  state.exchanges[op] = std::make_unique<Exchange>(std::move(*exchange));
  return success();
}

LogicalResult planConversion(ConvertLayoutOp op, ConversionState &state) {
  auto from = cast<RankedTensorType>(op.getSource().getType());
  auto to = cast<RankedTensorType>(op.getTile().getType());
  if (!isTile(from) || !isTile(to))
    return withoutLayout(op);
  for (RankedTensorType type : {from, to})
    if (failed(checkThreads(op, type, state.roles.of(op))))
      return failure();
  Result<ConversionPlan> plan =
      girih::planConversion(getLayout(from).getLayout(), getLayout(to).getLayout(),
                            static_cast<int32_t>(elementBytes(from.getElementType())));
  if (!plan)
    return op->emitOpError("has no way from one layout to the other: ") << plan.error();
  if (plan->renames) {
    state.renames[op] = {*plan->renames};
    return success();
  }
  if (plan->shuffles) {
    state.shuffles[op] = std::make_unique<ShufflePlan>(std::move(*plan->shuffles));
    return success();
  }
  return planExchangeOf(op, from, to, state);
}

LogicalResult planIota(tile::IotaOp op, ConversionState &state) {
  return isTile(op.getType()) ? planTile(op, op.getTile().getType(), state) : withoutLayout(op);
}

/// An op that records elements of a tile, or a number.
LogicalResult planRecords(Operation *op, ConversionState &state) {
  auto tile = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  if (!tile)
    return success();
  return isTile(tile) ? planTile(op, tile, state) : withoutLayout(op);
}

template <typename Op> LogicalResult planBlock(Op op, ConversionState &state) {
  RankedTensorType tile = op.getTile().getType();
  if (!isTile(tile))
    return withoutLayout(op);
  if (failed(planTile(op, tile, state)))
    return failure();
  state.vectors[op] =
      vectorWidth(*state.tileAccesses[tile], op.getView().getType(), op.getIndices(),
                  /*listed=*/nullptr, op.getPart());
  return success();
}

template <typename Op> LogicalResult planListed(Op op, ConversionState &state) {
  RankedTensorType tile = op.getTile().getType(), places = op.getPlaces().getType();
  if (!isTile(tile) || !isTile(places))
    return withoutLayout(op);
  if (failed(planTile(op, tile, state)))
    return failure();
  ListedDim listed{static_cast<int64_t>(op.getDim()), {}};
  if (failed(planRename(
          op, getLayout(places).getLayout(), tile, Renaming::Listed, {listed.dim},
          [&](Extents &index) { index = {index[static_cast<size_t>(listed.dim)]}; },
          extentsOf(places), listed.numberOf)))
    return failure();
  state.vectors[op] =
      vectorWidth(*state.tileAccesses[tile], op.getView().getType(), op.getIndices(), &listed);
  state.listed[op] = std::move(listed);
  return success();
}

template <typename Op> LogicalResult planPoints(Op op, ConversionState &state) {
  RankedTensorType tile = op.getTile().getType();
  return isTile(tile) ? planTile(op, tile, state) : withoutLayout(op);
}

LogicalResult planAtomic(tile::AtomicOp op, ConversionState &state) {
  if (failed(planPoints(op, state)))
    return failure();
  RankedTensorType tile = op.getTile().getType();
  const TileAccess &plan = *state.tileAccesses[tile];
  if (op.getOld().use_empty() ||
      (!plan.replica && llvm::all_of(plan.owned, [](bool o) { return o; })))
    return success();
  return planExchangeOf(op, tile, tile, state);
}

LogicalResult planSignal(tile::SignalOp op, ConversionState &state) {
  const RoleContext &role = state.roles.of(op);
  if (op.getOld().use_empty() || role.single || op->hasAttr(kScratchAttr))
    return success();
  return op.emitOpError("needs scratch in shared memory; run wg-allocate-shared first");
}

} // namespace

LogicalResult checkConvertible(Operation *root, ConversionState &state) {
  LogicalResult result = success();
  auto note = [&](LogicalResult one) {
    if (failed(one))
      result = failure();
  };
  auto plan = [&](Operation *op, RankedTensorType tile, BufferType buffer) {
    if (state.accesses.contains({tile, buffer}))
      return;
    FailureOr<LocalAccess> access = planAccess(op, tile, buffer, state.features.hasStoreMatrix());
    note(access);
    if (succeeded(access))
      state.accesses[{tile, buffer}] = *access;
  };
  root->walk([&](Operation *op) {
    if (isa<TmaLoadOp, TmaStoreOp>(op))
      note(checkTma(op, state.features));
    if (auto alloc = dyn_cast<AllocBufferOp>(op))
      note(checkOffset(op, alloc.getOffset()));
    else if (auto alloc = dyn_cast<AllocBarrierOp>(op))
      note(checkOffset(op, alloc.getOffset()));
    else if (auto mma = dyn_cast<MmaOp>(op))
      note(checkMma(mma, state.features));
    else if (auto store = dyn_cast<TmaStoreOp>(op))
      note(checkStore(store, state.roles.of(op)));
    else if (auto load = dyn_cast<TmaLoadOp>(op); load && !load.getBarrier())
      note(load.emitOpError(
          "has no barrier to complete on; expected a slot of a ring, or barrier(%bar[%i])"));
    else if (isa<SetRegistersOp>(op) && !state.features.hasSetMaxRegisters())
      note(op->emitOpError("needs setmaxnreg, which ")
           << state.features.chip() << " does not have; leave registers out");
    else if (auto store = dyn_cast<LocalStoreOp>(op)) {
      plan(op, store.getTile().getType(), store.getBuffer().getType());
      planAsyncCopy(store, state);
    } else if (auto load = dyn_cast<LocalLoadOp>(op))
      plan(op, load.getTile().getType(), load.getBuffer().getType());
    else if (isa<tile::ExpandOp, tile::BroadcastOp, tile::TransposeOp, tile::ReshapeOp,
                 tile::SplitOp>(op))
      note(planShape(op, state));
    else if (auto join = dyn_cast<tile::JoinOp>(op))
      note(planJoin(join, state));
    else if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      note(planCombining(reduce, state));
    else if (auto scan = dyn_cast<tile::ScanOp>(op))
      note(planCombining(scan, state));
    else if (auto convert = dyn_cast<ConvertLayoutOp>(op))
      note(planConversion(convert, state));
    else if (auto iota = dyn_cast<tile::IotaOp>(op))
      note(planIota(iota, state));
    else if (auto load = dyn_cast<tile::LoadOp>(op))
      note(planBlock(load, state));
    else if (auto store = dyn_cast<tile::StoreOp>(op))
      note(planBlock(store, state));
    else if (auto take = dyn_cast<tile::TakeOp>(op))
      note(planListed(take, state));
    else if (auto put = dyn_cast<tile::PutOp>(op))
      note(planListed(put, state));
    else if (auto gather = dyn_cast<tile::GatherOp>(op))
      note(planPoints(gather, state));
    else if (auto scatter = dyn_cast<tile::ScatterOp>(op))
      note(planPoints(scatter, state));
    else if (auto atomic = dyn_cast<tile::AtomicOp>(op))
      note(planAtomic(atomic, state));
    else if (auto signal = dyn_cast<tile::SignalOp>(op))
      note(planSignal(signal, state));
    else if (isa<tile::PrintOp, tile::AssertOp>(op))
      note(planRecords(op, state));
    else if (auto constant = dyn_cast<arith::ConstantOp>(op))
      note(checkConstant(constant));
    else if (auto cast = dyn_cast<tile::CastOp>(op))
      note(checkCast(cast));
    else if (auto truncate = dyn_cast<arith::TruncFOp>(op))
      note(checkTruncate(truncate));
    else if (auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
             kernel && (kernel.getNumWorkgroupAttributions() || kernel.getNumPrivateAttributions()))
      note(kernel.emitOpError(
          "has memory attributions; expected wg.alloc_buffer for shared memory"));
  });
  return result;
}

} // namespace girih::wg
