// wg-lower-rings: rings and store rings become buffers, mbarriers and cursors of two i32.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/Transforms/Passes.h"
#include "girih/Dialect/WG/Transforms/RingProtocol.h"
#include "girih/Dialect/WG/Transforms/Transforms.h"

#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_LOWERRINGS
#include "girih/Dialect/WG/Transforms/Passes.h.inc"

namespace {

Value constant(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

/// What a ring, or a store ring, has become.
struct LoweredRing {
  int64_t stages = 0;
  SmallVector<Value> buffers; ///< an array of slots for each buffer
  Value full, empty;          ///< null for a store ring
  int64_t ctas = 1;           ///< whose empty barriers a reader arrives at
};

/// What patterns need to know of the role around an op; values are computed once, at the role's
/// start.
struct RoleValues {
  Value elected;   ///< i1: one lane of each warp
  Value leader;    ///< i1: one thread of the role, or of each warpgroup of a role with `each`
  Value barrier;   ///< i32: the named barrier of the warpgroup
  Value warpgroup; ///< i32: the warpgroup's index in the role
};

/// The state that the patterns share.
struct Lowering {
  DenseMap<Value, LoweredRing> rings;
  DenseMap<Operation *, RoleValues> roles;

  RoleValues &valuesOf(Operation *op) { return roles.find(roleOf(op))->second; }
};

/// Threads that meet at the named barrier of a warpgroup: fewer than 128 where the role has idle
/// warps.
uint32_t groupThreads(RoleOp role) { return std::min<uint32_t>(role.getWarps(), 4) * 32; }

struct Cursor {
  Value index, parity;
};
Cursor unpackCursor(ValueRange values) { return {values[0], values[1]}; }

template <typename Op> struct RingPattern : OpConversionPattern<Op> {
  RingPattern(const TypeConverter &converter, MLIRContext *context, Lowering &lowering)
      : OpConversionPattern<Op>(converter, context), lowering(lowering) {}
  Lowering &lowering;

  const LoweredRing &ringOf(Op op) const { return lowering.rings.find(op.getRing())->second; }
  /// The slot at `index` of each buffer.
  static SmallVector<Value> slotsOf(OpBuilder &builder, Location loc, const LoweredRing &ring,
                                    Value index) {
    return llvm::map_to_vector(ring.buffers, [&](Value buffers) -> Value {
      return SlotOp::create(builder, loc, buffers, index);
    });
  }
};

using OneToN = ArrayRef<ValueRange>;

struct CursorPattern : RingPattern<CursorOp> {
  using RingPattern::RingPattern;
  using OneToNOpAdaptor = CursorOp::GenericAdaptor<OneToN>;
  LogicalResult matchAndRewrite(CursorOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value index = constant(rewriter, op.getLoc(), 0);
    Value parity = constant(rewriter, op.getLoc(), op.getEnd() == CursorEnd::Producer ? 1 : 0);
    rewriter.replaceOpWithMultiple(op, {{index, parity}});
    return success();
  }
};

struct AdvancePattern : RingPattern<AdvanceOp> {
  using RingPattern::RingPattern;
  using OneToNOpAdaptor = AdvanceOp::GenericAdaptor<OneToN>;
  LogicalResult matchAndRewrite(AdvanceOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Cursor cursor = unpackCursor(adaptor.getCursor());
    if (op.getBy()) {
      // The index may pass the end several times, and the phase changes each time.
      Value stages = constant(rewriter, loc, ringOf(op).stages);
      Value sum = arith::AddIOp::create(rewriter, loc, cursor.index, adaptor.getBy().front());
      Value rounds = arith::DivUIOp::create(rewriter, loc, sum, stages);
      Value index = arith::RemUIOp::create(rewriter, loc, sum, stages);
      Value odd = arith::AndIOp::create(rewriter, loc, rounds, constant(rewriter, loc, 1));
      Value parity = arith::XOrIOp::create(rewriter, loc, cursor.parity, odd);
      rewriter.replaceOpWithMultiple(op, {{index, parity}});
      return success();
    }
    if (ringOf(op).stages == 2) {
      // After slot 1 the phase changes: the index is what the parity is flipped by.
      Value index = arith::XOrIOp::create(rewriter, loc, cursor.index, constant(rewriter, loc, 1));
      Value parity = arith::XOrIOp::create(rewriter, loc, cursor.parity, cursor.index);
      rewriter.replaceOpWithMultiple(op, {{index, parity}});
      return success();
    }
    Value more = arith::AddIOp::create(rewriter, loc, cursor.index, constant(rewriter, loc, 1));
    Value wraps = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, more,
                                        constant(rewriter, loc, ringOf(op).stages));
    Value index = arith::SelectOp::create(rewriter, loc, wraps, constant(rewriter, loc, 0), more);
    Value flip = arith::ExtUIOp::create(rewriter, loc, rewriter.getI32Type(), wraps);
    Value parity = arith::XOrIOp::create(rewriter, loc, cursor.parity, flip);
    rewriter.replaceOpWithMultiple(op, {{index, parity}});
    return success();
  }
};

struct AcquirePattern : RingPattern<AcquireOp> {
  using RingPattern::RingPattern;
  using OneToNOpAdaptor = AcquireOp::GenericAdaptor<OneToN>;
  LogicalResult matchAndRewrite(AcquireOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    const LoweredRing &ring = ringOf(op);
    Cursor cursor = unpackCursor(adaptor.getCursor());
    BarrierWaitOp::create(rewriter, loc, ring.empty, cursor.index, cursor.parity);
    // One arrival with all bytes, before the first copy; or each copy expects its own and publish
    // arrives.
    auto bytes = op->getAttrOfType<IntegerAttr>("bytes");
    if (bytes) {
      auto branch = scf::IfOp::create(rewriter, loc, lowering.valuesOf(op).leader, false);
      OpBuilder inside = branch.getThenBodyBuilder();
      BarrierExpectOp::create(inside, loc, ring.full, cursor.index, bytes);
    }
    SmallVector<Value> slots = slotsOf(rewriter, loc, ring, cursor.index);
    for (TmaLoadOp load : copiesInto(op)) {
      rewriter.modifyOpInPlace(load, [&] {
        load.getBarrierMutable().assign(ring.full);
        load.getBarrierIndexMutable().assign(cursor.index);
      });
      if (bytes)
        continue;
      rewriter.setInsertionPoint(load);
      auto branch = scf::IfOp::create(rewriter, load.getLoc(), lowering.valuesOf(op).leader, false);
      OpBuilder inside = branch.getThenBodyBuilder();
      BarrierExpectOnlyOp::create(inside, load.getLoc(), ring.full, cursor.index,
                                  rewriter.getI32IntegerAttr(static_cast<int32_t>(tmaBytes(load))));
    }
    rewriter.replaceOp(op, slots);
    return success();
  }
};

struct PublishPattern : RingPattern<PublishOp> {
  using RingPattern::RingPattern;
  using OneToNOpAdaptor = PublishOp::GenericAdaptor<OneToN>;
  LogicalResult matchAndRewrite(PublishOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op->hasAttr("arrives")) {
      auto branch = scf::IfOp::create(rewriter, op.getLoc(), lowering.valuesOf(op).leader, false);
      OpBuilder inside = branch.getThenBodyBuilder();
      BarrierArriveOp::create(inside, op.getLoc(), ringOf(op).full,
                              unpackCursor(adaptor.getCursor()).index);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct GetPattern : RingPattern<GetOp> {
  using RingPattern::RingPattern;
  using OneToNOpAdaptor = GetOp::GenericAdaptor<OneToN>;
  LogicalResult matchAndRewrite(GetOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const LoweredRing &ring = ringOf(op);
    Cursor cursor = unpackCursor(adaptor.getCursor());
    auto wait =
        BarrierWaitOp::create(rewriter, op.getLoc(), ring.full, cursor.index, cursor.parity);
    wait->setAttr(kHeldAttr, rewriter.getUnitAttr()); // until this reader frees the slot
    rewriter.replaceOp(op, slotsOf(rewriter, op.getLoc(), ring, cursor.index));
    return success();
  }
};

struct FreePattern : RingPattern<FreeOp> {
  using RingPattern::RingPattern;
  using OneToNOpAdaptor = FreeOp::GenericAdaptor<OneToN>;
  LogicalResult matchAndRewrite(FreeOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const LoweredRing &ring = ringOf(op);
    Value index = unpackCursor(adaptor.getCursor()).index;
    if (ring.ctas > 1) {
      BarrierArriveClusterOp::create(rewriter, op.getLoc(), ring.empty, index);
    } else {
      auto branch = scf::IfOp::create(rewriter, op.getLoc(), lowering.valuesOf(op).elected, false);
      OpBuilder inside = branch.getThenBodyBuilder();
      BarrierArriveOp::create(inside, op.getLoc(), ring.empty, index);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct StoreAcquirePattern : RingPattern<StoreAcquireOp> {
  using RingPattern::RingPattern;
  using OneToNOpAdaptor = StoreAcquireOp::GenericAdaptor<OneToN>;
  LogicalResult matchAndRewrite(StoreAcquireOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    const LoweredRing &ring = ringOf(op);
    // Only the thread that stores knows its groups; the others of the warpgroup learn it from the
    // barrier.
    BulkWaitOp::create(rewriter, loc, /*read=*/true, static_cast<uint32_t>(ring.stages - 1));
    NamedBarrierSyncOp::create(rewriter, loc, lowering.valuesOf(op).barrier,
                               groupThreads(roleOf(op)));
    Value index = unpackCursor(adaptor.getCursor()).index;
    if (roleOf(op).getEach()) {
      // Each warpgroup's slots stand behind those of the one before.
      Value first = arith::MulIOp::create(rewriter, loc, lowering.valuesOf(op).warpgroup,
                                          constant(rewriter, loc, ring.stages));
      index = arith::AddIOp::create(rewriter, loc, index, first);
    }
    rewriter.replaceOp(op, slotsOf(rewriter, loc, ring, index));
    return success();
  }
};

struct StoreCommitPattern : RingPattern<StoreCommitOp> {
  using RingPattern::RingPattern;
  using OneToNOpAdaptor = StoreCommitOp::GenericAdaptor<OneToN>;
  LogicalResult matchAndRewrite(StoreCommitOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    BulkCommitOp::create(rewriter, op.getLoc());
    rewriter.eraseOp(op);
    return success();
  }
};

/// Ops that make a warpgroup meet need roles whose warpgroups are all alike.
LogicalResult checkGroups(Operation *op) {
  RoleOp role = roleOf(op);
  if (!role || role.getWarps() <= 4 || role.getWarps() % 4 == 0)
    return success();
  return op->emitError("writes shared memory in role '")
         << role.getRoleName() << "' of " << role.getWarps()
         << " warps, whose last warpgroup has fewer than the others; expected warpgroups(n), or at "
            "most 4 warps";
}

/// Every ring of the kernel has users that make a protocol.
LogicalResult checkRing(RingOp ring, const RingProtocol &protocol) {
  auto refuse = [&](const Twine &what) { return ring.emitError() << nameOf(ring) << " " << what; };
  for (Operation *user : ring.getRing().getUsers()) {
    if (!roleOf(user))
      return user->emitError(
          "expected inside a wg.role: who arrives at a ring's barriers depends on the role");
  }
  if (protocol.producers.empty() && protocol.consumers.empty())
    return success();
  if (protocol.producers.size() != 1)
    return refuse("is filled by " + Twine(protocol.producers.size()) +
                  " roles; expected one, which owns the order of the slots");
  if (RoleOp producer = protocol.producers.front(); producer.getEach())
    return refuse("is filled by role '" + producer.getRoleName() +
                  "', of which each warpgroup would fill every slot; expected a role without each");
  if (protocol.consumers.empty())
    return refuse("is filled but no role drains it; expected a wg.drain or wg.free");
  if (RoleOp last = protocol.consumers.back(); ring.getOneReader())
    for (RoleOp role : protocol.consumers)
      if (role.getWarpsTogether() * protocol.ctas != protocol.emptyArrivals)
        return refuse("has one reader for each slot, and role '" + last.getRoleName() +
                      "' gives it back with " + Twine(protocol.emptyArrivals / protocol.ctas) +
                      " warps, role '" + role.getRoleName() + "' with " +
                      Twine(role.getWarpsTogether()) + "; expected equal numbers");
  if (!protocol.stages)
    return refuse("has no number of stages; run wg-choose-stages first");
  return success();
}

/// Values that the patterns need in `role`, at its start.
RoleValues roleValues(OpBuilder &builder, RoleOp role) {
  builder.setInsertionPointToStart(&role.getBody().front());
  Location loc = role.getLoc();
  RoleValues values;
  values.elected = ElectOp::create(builder, loc);
  values.leader = values.elected;
  if (role.getWarps() > 1) {
    // The role's first warp: warpgroups start at multiples of four warps.
    Value warp = gpu::SubgroupIdOp::create(builder, loc, builder.getIndexType(), IntegerAttr());
    Value index = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), warp);
    int64_t start = 4 * firstWarpgroup(role);
    if (role.getEach()) {
      index = arith::AndIOp::create(builder, loc, index, constant(builder, loc, 3));
      start = 0;
    }
    Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, index,
                                        constant(builder, loc, start));
    values.leader = arith::AndIOp::create(builder, loc, values.elected, first);
  }
  values.warpgroup = WarpgroupIndexOp::create(builder, loc);
  values.barrier =
      arith::AddIOp::create(builder, loc, values.warpgroup,
                            constant(builder, loc, kFirstWarpgroupBarrier + firstWarpgroup(role)));
  return values;
}

/// The allocation that a buffer belongs to: a ring, a store ring or a wg.alloc_buffer; null if it
/// cannot be told.
Value originOf(Value buffer) {
  Operation *op = rootBuffer(buffer).getDefiningOp();
  if (auto slot = dyn_cast_if_present<SlotOp>(op))
    return slot.getBuffers();
  if (isa_and_present<AcquireOp, GetOp, StoreAcquireOp>(op))
    return op->getOperand(0);
  return op ? rootBuffer(buffer) : Value();
}

/// Allocations that the generic proxy has written since the last fence.
using Dirty = llvm::SmallSetVector<Value, 4>;

/// Buffers that an op reads through the asynchronous proxy, and as what.
SmallVector<Value> asynchronousReads(Operation *op) {
  SmallVector<Value> reads;
  if (isa<TmaStoreOp, MmaOp>(op))
    for (const BufferAccess &access : cast<BufferAccessOpInterface>(op).getBufferAccesses())
      if (access.kind == BufferAccess::Kind::Read)
        reads.push_back(access.buffer);
  return reads;
}

/// Puts what the table of fences asks for before asynchronous reads of what the generic proxy has
/// written, op by op.
LogicalResult insertProxyFences(Block &block, Lowering &lowering, Dirty &dirty) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    AccessKind reader = isa<TmaStoreOp>(op) ? AccessKind::Tma : AccessKind::Wgmma;
    bool meets = llvm::any_of(asynchronousReads(&op), [&](Value buffer) {
      Value origin = originOf(buffer);
      return !dirty.empty() && (!origin || dirty.contains(origin) || dirty.contains(Value()));
    });
    if (meets && needsProxyFence(AccessKind::Generic, reader) && roleOf(&op)) {
      if (reader == AccessKind::Wgmma && roleOf(&op).getTileWarpgroups() > 1)
        return op.emitOpError(
            "reads shared memory that wg.local_store has written in a role of several warpgroups; "
            "expected wg.fence_proxy_async and a wg.named_barrier_sync of the whole role before "
            "it");
      OpBuilder builder(&op);
      FenceProxyAsyncOp::create(builder, op.getLoc());
      // All writers have fenced before the thread that starts the asynchronous read goes on.
      NamedBarrierSyncOp::create(builder, op.getLoc(), lowering.valuesOf(&op).barrier,
                                 groupThreads(roleOf(&op)));
      dirty.clear();
    }
    if (isa<FenceProxyAsyncOp>(op))
      dirty.clear();
    if (auto store = dyn_cast<LocalStoreOp>(op))
      dirty.insert(originOf(store.getBuffer()));
    for (Region &region : op.getRegions()) {
      // What a loop's end has written its start may read.
      Dirty inside = dirty;
      if (isa<LoopLikeOpInterface>(op))
        region.walk([&](LocalStoreOp store) { inside.insert(originOf(store.getBuffer())); });
      for (Block &inner : region)
        if (failed(insertProxyFences(inner, lowering, inside)))
          return failure();
      dirty.insert(inside.begin(), inside.end());
    }
  }
  return success();
}

bool usesCursor(Operation *op) {
  auto isCursor = [](Type type) { return isa<CursorType>(type); };
  return llvm::any_of(op->getOperandTypes(), isCursor) ||
         llvm::any_of(op->getResultTypes(), isCursor);
}

} // namespace

LogicalResult lowerRings(gpu::GPUFuncOp kernel) {
  Lowering lowering;
  OpBuilder builder(kernel.getContext());

  SmallVector<RingOp> rings;
  SmallVector<StoreRingOp> storeRings;
  SmallVector<AcquireOp> acquires;
  SmallVector<PublishOp> publishes;
  bool fences = false;
  kernel.walk([&](Operation *op) {
    if (auto ring = dyn_cast<RingOp>(op))
      rings.push_back(ring);
    else if (auto ring = dyn_cast<StoreRingOp>(op))
      storeRings.push_back(ring);
    else if (auto acquire = dyn_cast<AcquireOp>(op))
      acquires.push_back(acquire);
    else if (auto publish = dyn_cast<PublishOp>(op))
      publishes.push_back(publish);
    fences |= isa<LocalStoreOp>(op);
  });
  if (rings.empty() && storeRings.empty() && !fences)
    return success();

  WalkResult grouped = kernel.walk([](Operation *op) {
    return isa<LocalStoreOp>(op) ? WalkResult(checkGroups(op)) : WalkResult::advance();
  });
  if (grouped.wasInterrupted())
    return failure();
  kernel.walk([&](RoleOp role) { lowering.roles[role] = roleValues(builder, role); });

  // Allocations stand where the rings stood; the barriers are set up after the last of them.
  SmallVector<std::pair<Value, int64_t>> barriers;
  Operation *last = nullptr;
  for (RingOp ring : rings) {
    RingProtocol protocol = ringProtocol(ring);
    if (failed(checkRing(ring, protocol)))
      return failure();
    builder.setInsertionPoint(ring);
    Location loc = ring.getLoc();
    LoweredRing lowered;
    lowered.stages = protocol.stages;
    lowered.ctas = protocol.ctas;
    std::string name = nameOf(ring);
    IntegerAttr count = builder.getI32IntegerAttr(static_cast<int32_t>(protocol.stages));
    for (auto [i, buffer] : llvm::enumerate(ring.getRing().getType().getBuffers()))
      lowered.buffers.push_back(
          AllocBufferOp::create(builder, loc, buffer, count, IntegerAttr(),
                                builder.getStringAttr(name + " buffer " + Twine(i))));
    auto barrier = BarrierType::get(kernel.getContext(), protocol.stages);
    lowered.full = AllocBarrierOp::create(builder, loc, barrier, IntegerAttr(),
                                          builder.getStringAttr(name + " full barriers"));
    auto empty = AllocBarrierOp::create(builder, loc, barrier, IntegerAttr(),
                                        builder.getStringAttr(name + " empty barriers"));
    lowered.empty = empty;
    if (protocol.fullArrivals) {
      barriers.push_back({lowered.full, protocol.fullArrivals});
      barriers.push_back({lowered.empty, protocol.emptyArrivals});
      last = empty;
    }
    lowering.rings[ring.getRing()] = lowered;
  }
  for (StoreRingOp ring : storeRings) {
    builder.setInsertionPoint(ring);
    LoweredRing lowered;
    lowered.stages = ring.getStages();
    lowered.buffers.push_back(
        AllocBufferOp::create(builder, ring.getLoc(), ring.getRing().getType().getBuffer(),
                              builder.getI32IntegerAttr(static_cast<int32_t>(storeSlots(ring))),
                              IntegerAttr(), builder.getStringAttr(nameOf(ring) + " slots")));
    lowering.rings[ring.getRing()] = lowered;
  }
  if (last) {
    builder.setInsertionPointAfter(last);
    for (auto [barrier, count] : barriers)
      BarrierInitOp::create(builder, barrier.getLoc(), barrier,
                            builder.getI32IntegerAttr(static_cast<int32_t>(count)));
  }

  // Bytes and barriers of copies, while a slot is still the result of its acquire.
  SmallVector<std::pair<AcquireOp, bool>> expectations;
  for (AcquireOp acquire : acquires) {
    std::optional<int64_t> bytes = fillBytes(acquire);
    bool together = bytes && *bytes > 0;
    if (together)
      acquire->setAttr("bytes", builder.getI32IntegerAttr(static_cast<int32_t>(*bytes)));
    expectations.push_back({acquire, together});
  }
  for (PublishOp publish : publishes) {
    // The acquire of the same slot: same ring, same cursor.
    bool arrives = llvm::any_of(expectations, [&](auto &entry) {
      return !entry.second && entry.first.getRing() == publish.getRing() &&
             entry.first.getCursor() == publish.getCursor();
    });
    if (arrives)
      publish->setAttr("arrives", builder.getUnitAttr());
  }

  // One lane arrives for its warp. What the other lanes have read by themselves comes before that
  // only if they meet.
  kernel.walk([&](FreeOp free) {
    RoleOp role = roleOf(free);
    bool reads = false;
    role.walk([&](LocalLoadOp load) { reads |= originOf(load.getBuffer()) == free.getRing(); });
    if (!reads)
      return;
    builder.setInsertionPoint(free);
    NamedBarrierSyncOp::create(builder, free.getLoc(), lowering.valuesOf(free).barrier,
                               groupThreads(role));
  });

  // Asynchronous reads of generic writes; and stores must have been read before the role, and with
  // it the CTA, ends.
  WalkResult fenced = kernel.walk([&](RoleOp role) {
    Dirty dirty;
    return WalkResult(insertProxyFences(role.getBody().front(), lowering, dirty));
  });
  if (fenced.wasInterrupted())
    return failure();
  kernel.walk([&](RoleOp role) {
    bool stores = false;
    role.walk([&](StoreCommitOp) { stores = true; });
    if (!stores)
      return;
    builder.setInsertionPointToEnd(&role.getBody().front());
    BulkWaitOp::create(builder, role.getLoc(), /*read=*/false, 0);
  });
  if (lowering.rings.empty())
    return success();

  TypeConverter converter;
  converter.addConversion([](Type type) { return type; });
  converter.addConversion([](CursorType type, SmallVectorImpl<Type> &types) {
    types.append(2, IntegerType::get(type.getContext(), 32));
    return success();
  });

  RewritePatternSet patterns(kernel.getContext());
  patterns.add<CursorPattern, AdvancePattern, AcquirePattern, PublishPattern, GetPattern,
               FreePattern, StoreAcquirePattern, StoreCommitPattern>(converter, kernel.getContext(),
                                                                     lowering);
  ConversionTarget target(*kernel.getContext());
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
  target.addIllegalOp<CursorOp, AdvanceOp, AcquireOp, PublishOp, GetOp, FreeOp, StoreAcquireOp,
                      StoreCommitOp>();
  target.markUnknownOpDynamicallyLegal([](Operation *op) { return !usesCursor(op); });
  if (failed(applyPartialConversion(kernel, target, std::move(patterns))))
    return failure();

  for (RingOp ring : rings)
    ring.erase();
  for (StoreRingOp ring : storeRings)
    ring.erase();
  return success();
}

namespace {
struct LowerRings : impl::LowerRingsBase<LowerRings> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(lowerRings(kernel)))
        return signalPassFailure();
  }
};
} // namespace
} // namespace girih::wg
