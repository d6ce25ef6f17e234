// The role that computes: products on slots and registers, everything else as it was.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Roles.h"

#include "girih/Layout/Blocked.h"
#include "girih/Layout/Fragments.h"

using namespace mlir;

namespace girih::wg {

Value Steps::indexAt(OpBuilder &builder, Location loc, Value step) const {
  Value index = step;
  if (by)
    index = arith::MulIOp::create(builder, loc, index, by);
  if (low)
    index = arith::AddIOp::create(builder, loc, index, low);
  return index;
}

Steps stepsOf(OpBuilder &builder, scf::ForOp loop, function_ref<Value(Value)> mapped) {
  Location loc = loop.getLoc();
  Steps steps;
  Value span = mapped(loop.getUpperBound());
  if (!matchPattern(loop.getLowerBound(), m_Zero())) {
    steps.low = mapped(loop.getLowerBound());
    span = arith::SubIOp::create(builder, loc, span, steps.low);
  }
  if (!matchPattern(loop.getStep(), m_One())) {
    steps.by = mapped(loop.getStep());
    span = arith::CeilDivSIOp::create(builder, loc, span, steps.by);
  }
  steps.count = span;
  return steps;
}

namespace {

/// A tile's type with a layout that the caller knows to exist: the planner has checked the shapes.
RankedTensorType withLayout(RankedTensorType type, const Result<Layout> &layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               LayoutAttr::get(type.getContext(), *layout));
}

class Consumer : public RoleCloner {
public:
  Consumer(OpBuilder &builder, const ProductPlan &plan, HostSide &host, const MadeRings &made)
      : RoleCloner(builder, plan, host, made) {
    for (const Section &section : plan.sections) {
      if (section.drains) {
        uses(section.block->getParentOp(), section.ring);
        continue;
      }
      first[startOfRun(section.firstUse)].push_back(&section);
      if (!section.kept)
        last[section.lastUse].push_back(&section);
      uses(section.block->getParentOp(), section.ring);
    }
    for (const StorePlan &store : plan.stores)
      uses(store.store, storeCursor(store.ring));
    for (TeamOp team : plan.teams)
      usesTeam(team.getGiver());
    if (plan.pingPong)
      findStores();
  }

  void start(Location loc) { startCursors(loc, CursorEnd::Consumer); }

protected:
  bool needs(Operation *op) const override { return !plan.absorbed.contains(op); }

  void visit(Operation *op) override {
    Location loc = op->getLoc();
    finishFor(op);
    if (plan.pingPong && op == plan.pingPong->firstProduct)
      TakeTurnOp::create(builder, loc, made.multiplying);
    if (op == firstStore)
      TakeTurnOp::create(builder, loc, made.storing);
    compute(op, loc);
    if (plan.pingPong && op == plan.pingPong->lastProduct)
      leaveProducts(loc);
    if (op == lastStore)
      PassTurnOp::create(builder, loc, made.storing);
  }
  void leave(Block &) override {
    if (!started.empty())
      finish(started.size() - 1);
  }

private:
  /// An op with the slots that it is the first or the last to read.
  void compute(Operation *op, Location loc) {
    for (const Section *section : first.lookup(op))
      get(*section, loc);
    compute(op);
    for (const Section *section : last.lookup(op)) {
      if (!started.empty() && started.back().dot == op)
        started.back().slots.push_back(section);
      else
        free(*section, loc);
    }
  }

  /// A product that is in flight, and the slots that go back when it is done.
  struct Started {
    tile::DotOp dot;
    Value result; ///< pending
    SmallVector<const Section *, 1> slots;
  };

  /// The first of the products that stand one behind the other in front of `op`, with nothing
  /// between that takes a tile from one to the next: their slots are got together.
  Operation *startOfRun(Operation *op) const {
    if (!isa<tile::DotOp>(op))
      return op;
    Operation *start = op;
    for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
      if (isa<tile::DotOp>(before))
        start = before;
      else if (!plan.absorbed.contains(before) &&
               (before->getNumRegions() || !isMemoryEffectFree(before) ||
                llvm::any_of(before->getResultTypes(), tile::isTile)))
        break;
    }
    return start;
  }

  void free(const Section &section, Location loc) {
    RingOp ring = made.rings[section.ring];
    FreeOp::create(builder, loc, ring.getRing(), held.lookup(&section));
  }

  /// Waits for the products that an op needs: all of those in flight before one with regions, which
  /// may start others.
  void finishFor(Operation *op) {
    for (size_t number = started.size(); number-- > 0;) {
      bool needed = op->getNumRegions() && !isa<tile::ReduceOp, tile::ScanOp>(op);
      for (Value operand : op->getOperands())
        needed |= operand == started[number].dot.getResult();
      if (needed)
        return finish(number);
    }
  }

  /// Waits for the product `number` of those in flight and, since groups end in their order, for
  /// all that were started before.
  void finish(size_t number) {
    SmallVector<Started> done(started.begin(), started.begin() + number + 1);
    started.erase(started.begin(), started.begin() + number + 1);
    SmallVector<Value> pending;
    SmallVector<Type> tiles;
    for (const Started &product : done) {
      pending.push_back(product.result);
      tiles.push_back(cast<PendingType>(product.result.getType()).getTile());
    }
    Location loc = done.back().dot.getLoc();
    auto wait =
        WaitOp::create(builder, loc, tiles, pending,
                       builder.getI32IntegerAttr(static_cast<int32_t>(started.size())), Value());
    for (auto [product, tile] : llvm::zip_equal(done, wait.getResults())) {
      Value result = product.dot.getResult();
      mapping.map(result, convert(loc, tile, cast<RankedTensorType>(result.getType())));
      for (const Section *section : product.slots)
        free(*section, loc);
    }
  }

  void compute(Operation *op) {
    if (auto dot = dyn_cast<tile::DotOp>(op))
      if (const Product *product = plan.find(dot))
        return multiply(*product);
    if (auto team = dyn_cast<TeamOp>(op))
      return join(team.getGiver());
    if (auto store = dyn_cast<tile::StoreOp>(op))
      if (const StorePlan *planned = plan.find(store))
        return send(*planned);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      if (const Section *section = plan.drainOf(loop.getBody()))
        return drain(loop, *section);
    if (plan.pingPong && op == plan.pingPong->tiles)
      return alternate(plan.pingPong->tiles);
    clone(op);
  }

  /// Where stores of a tile begin and end, if products do not stand between them.
  void findStores() {
    scf::ForOp tiles = plan.pingPong->tiles;
    Block *body = tiles.getBody();
    for (const StorePlan &store : plan.stores) {
      Operation *at = body->findAncestorOpInBlock(*store.store);
      if (!firstStore || at->isBeforeInBlock(firstStore))
        firstStore = at;
      if (!lastStore || lastStore->isBeforeInBlock(at))
        lastStore = at;
    }
    if (firstStore && !plan.pingPong->lastProduct->isBeforeInBlock(firstStore))
      firstStore = lastStore = nullptr;
  }

  /// The loop over a CTA's tiles, of which each warpgroup takes every n-th and skips the slots of
  /// the others'.
  void alternate(scf::ForOp tiles) {
    Location loc = tiles.getLoc();
    auto scaled = [&](Value value, Value by) -> Value {
      return arith::MulIOp::create(builder, loc, value, by);
    };
    Value index = WarpgroupIndexOp::create(builder, loc);
    Value others = number(loc, plan.alternates - 1);
    for (const SlotsOfTile &slots : plan.pingPong->slots) {
      Value count = number(loc, 1);
      if (slots.steps) {
        Steps steps = stepsOf(builder, slots.steps, [&](Value value) { return mapped(value); });
        count = arith::MaxSIOp::create(builder, loc, steps.count, number(loc, 0));
      }
      advance(loc, slots.ring, scaled(index, count));
      skipped.emplace_back(slots.ring, scaled(count, others));
    }
    Value step = mapped(tiles.getStep());
    Value low =
        arith::AddIOp::create(builder, loc, mapped(tiles.getLowerBound()), scaled(index, step));
    cloneFor(tiles, low, scaled(step, number(loc, plan.alternates)));
  }

  /// Behind the last product of a tile: the next warpgroup's turn, unless it has it already.
  void leaveProducts(Location loc) {
    if (!passed)
      PassTurnOp::create(builder, loc, made.multiplying);
    passed = false;
    for (auto [ring, count] : skipped)
      advance(loc, ring, count);
  }

  /// Passes the turn on if a condition holds.
  void passIf(Location loc, Value condition) {
    auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
    OpBuilder inside = branch.getThenBodyBuilder();
    PassTurnOp::create(inside, loc, made.multiplying);
  }

  Value number(Location loc, int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  }

  void get(const Section &section, Location loc) {
    RingOp ring = made.rings[section.ring];
    Value cursor = cursors[section.ring];
    auto op = GetOp::create(builder, loc, ring.getRing(), cursor);
    held[&section] = cursor;
    for (auto [load, buffer] : llvm::zip_equal(section.loads, op.getSlot()))
      buffers[load.load] = buffer;
    if (section.kept) {
      Value &operand = buffers[section.loads.front().load];
      auto type = cast<BufferType>(operand.getType());
      operand = LocalLoadOp::create(
          builder, loc, operandType(RankedTensorType::get(type.getShape(), type.getElementType())),
          operand);
      free(section, loc);
    }
    advance(loc, section.ring);
  }

  RankedTensorType operandType(RankedTensorType type) const {
    return withLayout(type, wgmmaOperandA(static_cast<int32_t>(type.getDimSize(0)),
                                          static_cast<int32_t>(type.getDimSize(1)),
                                          type.getElementTypeBitWidth(),
                                          static_cast<int32_t>(plan.warpgroups)));
  }

  RankedTensorType accumulatorType(RankedTensorType type) const {
    return withLayout(type, wgmmaAccumulator(static_cast<int32_t>(type.getDimSize(0)),
                                             static_cast<int32_t>(type.getDimSize(1)),
                                             static_cast<int32_t>(plan.warpgroups)));
  }
  /// A tile in another layout, or without one.
  Value convert(Location loc, Value tile, RankedTensorType type) {
    return ConvertLayoutOp::create(builder, loc, type, tile);
  }

  /// The operand of a wg.mma.
  Value operandOf(const Product &product, const ProductOperand &operand, Value tile) {
    Location loc = tile.getLoc();
    if (operand.source == OperandSource::Ring)
      return buffers.lookup(operand.load);
    if (operand.copied)
      return copy(loc, operand);
    auto type = cast<RankedTensorType>(tile.getType());
    if (operand.source == OperandSource::Registers)
      return convert(loc, mapped(tile), operandType(type));
    return put(loc, mapped(tile), operand.buffer, /*isAsync=*/true);
  }

  /// Writes a tile into a buffer of the role's own, for wgmma to read (`isAsync`) or the role's
  /// warps. Such a product is waited for where it stands, so the buffer is free when all warps have
  /// come here.
  Value put(Location loc, Value tile, BufferType type, bool isAsync) {
    Value buffer = allocate(loc, type);
    Value stored = convert(
        loc, tile, linesOf(cast<RankedTensorType>(tile.getType()), type.getFastestDim(), 16));
    meet(loc);
    LocalStoreOp::create(builder, loc, stored, buffer);
    if (isAsync)
      FenceProxyAsyncOp::create(builder, loc);
    meet(loc);
    return buffer;
  }

  /// Copies an operand from global memory into such a buffer, without a trip through registers: a
  /// load whose tile is stored at once.
  Value copy(Location loc, const ProductOperand &operand) {
    Value buffer = allocate(loc, operand.buffer);
    auto view = cast<tile::ViewType>(operand.copied->getOperand(0).getType());
    auto type = cast<RankedTensorType>(operand.copied->getResult(0).getType());
    int64_t fastest = operand.buffer.getFastestDim();
    RankedTensorType loaded = linesOf(type, operand.transposed ? 1 - fastest : fastest,
                                      std::min<int64_t>(16, view.getAlign()));
    meet(loc);
    Operation *load = builder.clone(*operand.copied, mapping);
    Value tile = load->getResult(0);
    tile.setType(loaded);
    if (operand.transposed) {
      RankedTensorType result = linesOf(
          RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType()),
          fastest, std::min<int64_t>(16, view.getAlign()));
      tile = tile::TransposeOp::create(builder, loc, result, tile, ArrayRef<int64_t>{1, 0});
    }
    LocalStoreOp::create(builder, loc, tile, buffer);
    FenceProxyAsyncOp::create(builder, loc);
    meet(loc);
    return buffer;
  }

  /// A buffer of the role's own.
  Value allocate(Location loc, BufferType type) {
    OpBuilder::InsertionGuard atEntry(builder);
    auto kernel = builder.getInsertionBlock()->getParentOp()->getParentOfType<gpu::GPUFuncOp>();
    builder.setInsertionPointToStart(&kernel.getBody().front());
    return AllocBufferOp::create(builder, loc, type, IntegerAttr(), IntegerAttr(),
                                 builder.getStringAttr("operand"));
  }

  /// A type whose threads lie along a dimension, with that many bytes each.
  RankedTensorType linesOf(RankedTensorType type, int64_t fastest, int64_t bytes) const {
    auto vector = static_cast<int32_t>(bytes * 8 / getStorageBits(type.getElementType()));
    return withLayout(type, blocked({static_cast<int32_t>(type.getDimSize(0)),
                                     static_cast<int32_t>(type.getDimSize(1))},
                                    static_cast<int32_t>(fastest), vector, 4,
                                    static_cast<int32_t>(plan.warpgroups)));
  }

  /// A barrier of all of the role's warps.
  void meet(Location loc) {
    constexpr int32_t kRoleBarrier = 1;
    Value id = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(kRoleBarrier));
    NamedBarrierSyncOp::create(builder, loc, id, static_cast<uint32_t>(128 * plan.warpgroups));
  }

  Value flag(Location loc, bool value) {
    return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(value));
  }

  Value start(tile::DotOp dot, Value a, Value b, Value accumulator, Value accumulate) {
    return MmaOp::create(builder, dot.getLoc(), accumulator.getType(), a, b, accumulator,
                         accumulate, dot.getUnsignedA(), dot.getUnsignedB());
  }

  /// An operand of mma.sync: read from a slot, from where the role has put it, or converted.
  Value fragmentOf(const ProductOperand &operand, Value tile, RankedTensorType type) {
    Location loc = tile.getLoc();
    if (operand.source == OperandSource::Registers)
      return convert(loc, mapped(tile), type);
    Value buffer = operand.source == OperandSource::Ring
                       ? buffers.lookup(operand.load)
                       : put(loc, mapped(tile), operand.buffer, /*isAsync=*/false);
    return LocalLoadOp::create(builder, loc, type, buffer);
  }

  /// A product that is done where it stands.
  void multiplySync(const Product &product) {
    tile::DotOp dot = product.dot;
    MmaSyncTypes types = mmaSyncTypes(dot, 4, plan.warpgroups);
    Value a = fragmentOf(product.a, dot.getA(), types.a);
    Value b = fragmentOf(product.b, dot.getB(), types.b);
    Value start;
    if (dot.getAccumulator() && !isZeroTile(dot.getAccumulator()))
      start = convert(dot.getLoc(), mapped(dot.getAccumulator()), types.sum);
    Value sum = createMmaSync(builder, dot, a, b, start, types.sum);
    mapping.map(dot.getResult(), convert(dot.getLoc(), sum, dot.getResult().getType()));
  }

  /// A product: in a drain loop it stays in flight until the next step, elsewhere until its result
  /// is used.
  void multiply(const Product &product) {
    tile::DotOp dot = product.dot;
    if (product.unit == ProductUnit::MmaSync)
      return multiplySync(product);
    Location loc = dot.getLoc();
    RankedTensorType type = accumulatorType(dot.getResult().getType());
    Value a = operandOf(product, product.a, dot.getA());
    Value b = operandOf(product, product.b, dot.getB());
    if (written) {
      mapping.map(dot.getResult(), start(dot, a, b, mapped(dot.getAccumulator()), written));
      return;
    }
    Value accumulator, accumulate;
    auto pending = PendingType::get(type.getContext(), type);
    if (!dot.getAccumulator() || isZeroTile(dot.getAccumulator())) {
      accumulator = AccOp::create(builder, loc, pending);
      accumulate = flag(loc, false);
    } else {
      accumulator =
          AccOp::create(builder, loc, pending, convert(loc, mapped(dot.getAccumulator()), type));
    }
    started.push_back({dot, start(dot, a, b, accumulator, accumulate), {}});
    if (product.a.source == OperandSource::Memory || product.b.source == OperandSource::Memory)
      finish(started.size() - 1);
  }

  /// A loop whose step is one slot, and whose products stay in flight until the next step. All of
  /// them start from zeros: fresh accumulators, and a flag that says whether a step has run.
  void drain(scf::ForOp loop, const Section &section) {
    Location loc = loop.getLoc();
    RingOp ring = made.rings[section.ring];
    Steps steps = stepsOf(builder, loop, [&](Value value) { return mapped(value); });

    SmallVector<tile::DotOp> accumulating(loop.getNumResults());
    for (const Product &product : plan.products)
      if (product.dot->getBlock() == loop.getBody())
        accumulating[product.carried] = product.dot;
    SmallVector<Value> inits;
    for (auto [index, init] : llvm::enumerate(loop.getInitArgs())) {
      if (!accumulating[index]) {
        inits.push_back(mapped(init));
        continue;
      }
      RankedTensorType type = accumulatorType(cast<RankedTensorType>(init.getType()));
      inits.push_back(
          AccOp::create(builder, init.getLoc(), PendingType::get(type.getContext(), type)));
    }
    inits.push_back(flag(loc, false));
    Value lastStep;
    if (plan.pingPong && plan.pingPong->lastProduct == loop)
      lastStep = arith::SubIOp::create(builder, loc, steps.count, number(loc, 1));

    auto op = DrainOp::create(builder, loc, CursorType::get(loop.getContext()),
                              ValueRange(inits).getTypes(), ring.getRing(), cursors[section.ring],
                              steps.count, builder.getI32IntegerAttr(1), inits);
    SmallVector<Type> types{builder.getI32Type()};
    llvm::append_range(types, ring.getRing().getType().getBuffers());
    llvm::append_range(types, ValueRange(inits).getTypes());
    builder.createBlock(&op.getBody(), {}, types, SmallVector<Location>(types.size(), loc));
    mapping.map(loop.getInductionVar(), steps.indexAt(builder, loc, op.getStep()));
    for (auto [load, buffer] : llvm::zip_equal(section.loads, op.getSlot()))
      buffers[load.load] = buffer;
    mapping.map(loop.getRegionIterArgs(), op.getIterArgs().drop_back());
    written = op.getIterArgs().back();
    cloneBlock(*loop.getBody());
    written = {};
    // All is issued in the last step; it need not be done for the next warpgroup to go on.
    if (lastStep)
      passIf(loc,
             arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, op.getStep(), lastStep));
    SmallVector<Value> yielded =
        llvm::map_to_vector(loop.getYieldedValues(), [&](Value value) { return mapped(value); });
    yielded.push_back(flag(loc, true));
    YieldOp::create(builder, loc, yielded);

    builder.setInsertionPointAfter(op);
    cursors[section.ring] = op.getNext();
    if (lastStep) {
      passIf(loc, arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lastStep,
                                        number(loc, 0)));
      passed = true;
    }
    for (auto [index, result] : llvm::enumerate(loop.getResults())) {
      Value now = op.getResults()[index];
      if (accumulating[index]) {
        auto wait =
            WaitOp::create(builder, loc, TypeRange{cast<PendingType>(now.getType()).getTile()},
                           ValueRange{now}, builder.getI32IntegerAttr(0), op.getResults().back());
        now = convert(loc, wait.getResult(0), cast<RankedTensorType>(result.getType()));
      }
      mapping.map(result, now);
    }
  }

  /// A store by TMA; of a tile that reaches beyond its slice, from registers.
  void send(const StorePlan &planned) {
    tile::StoreOp store = planned.store;
    Location loc = store.getLoc();
    RankedTensorType open = store.getTile().getType();
    Value tile = convert(loc, mapped(store.getTile()), accumulatorType(open));
    if (planned.sliced.empty())
      return send(planned, tile);
    size_t cursor = storeCursor(planned.ring);
    Value before = cursors[cursor];
    auto branch = scf::IfOp::create(builder, loc, TypeRange{before.getType()}, isInside(planned),
                                    /*withElseRegion=*/true);
    builder.setInsertionPointToEnd(branch.thenBlock());
    send(planned, tile);
    scf::YieldOp::create(builder, loc, cursors[cursor]);
    builder.setInsertionPointToEnd(branch.elseBlock());
    // Converted here, so that tiles inside need not be.
    IRMapping inRegisters(mapping);
    inRegisters.map(store.getTile(), convert(loc, tile, open));
    builder.clone(*store, inRegisters);
    scf::YieldOp::create(builder, loc, before);
    builder.setInsertionPointAfter(branch);
    cursors[cursor] = branch.getResult(0);
  }

  /// i1: whether a tile to be stored lies inside its slices as a whole.
  Value isInside(const StorePlan &planned) {
    tile::StoreOp store = planned.store;
    Location loc = store.getLoc();
    Value inside;
    for (int64_t dim : planned.sliced) {
      auto constant = [&](int64_t value) -> Value {
        return arith::ConstantOp::create(builder, loc,
                                         builder.getI32IntegerAttr(static_cast<int32_t>(value)));
      };
      Value index = mapped(store.getIndices()[dim]);
      Value extent = tile::ExtentOp::create(builder, loc, mapped(store.getView()), dim);
      Value last = arith::SubIOp::create(builder, loc, extent,
                                         constant(store.getTile().getType().getDimSize(dim)));
      Value low =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, index, constant(0));
      Value high = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, index, last);
      Value both = arith::AndIOp::create(builder, loc, low, high);
      inside = inside ? Value(arith::AndIOp::create(builder, loc, inside, both)) : both;
    }
    return inside;
  }

  /// A store in chunks of columns, each through a slot of a store ring.
  void send(const StorePlan &planned, Value tile) {
    tile::StoreOp store = planned.store;
    Location loc = store.getLoc();
    size_t cursor = storeCursor(planned.ring);
    Value ring = ringOf(cursor);
    RankedTensorType open = store.getTile().getType();
    SmallVector<Value> start = coordinates(loc, planned.place);
    int64_t columns = open.getDimSize(1), chunk = planned.slot.getShape()[1];
    for (int64_t first = 0; first < columns; first += chunk) {
      int64_t width = std::min(chunk, columns - first);
      RankedTensorType type = accumulatorType(open.clone({open.getDimSize(0), width}));
      Value part = tile;
      if (width < columns)
        part = SliceOp::create(builder, loc, type, tile, ArrayRef<int64_t>{0, first});
      Value slot = StoreAcquireOp::create(builder, loc, ring, cursors[cursor]).getSlot();
      auto buffer = BufferType::get({open.getDimSize(0), width}, open.getElementType(),
                                    planned.slot.getSwizzle());
      if (width < chunk)
        slot =
            SubbufferOp::create(builder, loc, buffer, slot, ValueRange(), ArrayRef<int64_t>{0, 0});
      LocalStoreOp::create(builder, loc, part, slot);
      SmallVector<Value> where(start);
      if (first) {
        Value by = arith::ConstantOp::create(
            builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(first)));
        Value &column = where[planned.place.dims[1]];
        column = arith::AddIOp::create(builder, loc, column, by);
      }
      TmaStoreOp::create(builder, loc, slot, mapFor(planned, buffer), where);
      StoreCommitOp::create(builder, loc, ring, cursors[cursor]);
      advance(loc, cursor);
    }
  }

  /// The map whose box is what one warpgroup stores of a chunk.
  BlockArgument mapFor(const StorePlan &planned, BufferType buffer) {
    plan::ArrayType array = planned.place.getType();
    SmallVector<int64_t> box(array.getRank(), 1), order;
    box[planned.place.dims[0]] = buffer.getShape()[0] / plan.warpgroups;
    box[planned.place.dims[1]] = buffer.getShape()[1];
    order.push_back(planned.place.dims[1]);
    for (int64_t dim = array.getRank() - 1; dim >= 0; --dim)
      if (dim != order.front())
        order.push_back(dim);
    return host.addTensorMap(
        planned.place.array,
        ViewType::get(array.getContext(), array.getElementType(), box, order, buffer.getSwizzle()));
  }

  DenseMap<Operation *, SmallVector<const Section *, 1>> first, last;
  DenseMap<Operation *, Value> buffers;  ///< of the load that fills it; registers, if it is kept
  SmallVector<Started> started;          ///< products in flight in this block, the oldest first
  DenseMap<const Section *, Value> held; ///< the cursor of the slot in use
  Value written; ///< in a drain loop: whether a step before has started its products

  // With ping-pong:
  SmallVector<std::pair<size_t, Value>> skipped; ///< of each ring, the slots of others' tiles
  Operation *firstStore = nullptr, *lastStore = nullptr; ///< in the loop over tiles, or null
  bool passed = false; ///< whether the loop of the last products has passed the turn on
};

} // namespace

void buildConsumer(OpBuilder &builder, Block &body, const ProductPlan &plan, HostSide &host,
                   const MadeRings &made, function_ref<bool(Operation *)> isCloned) {
  Consumer consumer(builder, plan, host, made);
  consumer.start(body.getParentOp()->getLoc());
  consumer.run(body, isCloned);
}

} // namespace girih::wg
