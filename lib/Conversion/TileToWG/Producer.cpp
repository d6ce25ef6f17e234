// The role that loads: the control flow around the loads, the numbers that their places depend on,
// and nothing else.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BackwardSlice.h"
#include "Roles.h"

using namespace mlir;

namespace girih::wg {

namespace {

class Producer : public RoleCloner {
public:
  Producer(OpBuilder &builder, const ProductPlan &plan, HostSide &host, const MadeRings &made)
      : RoleCloner(builder, plan, host, made) {
    for (const Section &section : plan.sections)
      for (const RingLoad &load : section.loads) {
        sectionOf[load.load] = &section;
        uses(load.load, section.ring);
        for (ArrayRef<Value> terms : load.place.coordinates)
          for (Value term : terms)
            slice.addValue(term);
        if (Operation *parent = load.load->getParentOp(); !isa<gpu::GPUFuncOp>(parent))
          slice.addOp(parent);
      }
  }

  void start(Location loc) { startCursors(loc, CursorEnd::Producer); }

protected:
  bool needs(Operation *op) const override { return sectionOf.contains(op) || slice.contains(op); }
  bool needsCarried(Operation *op, unsigned index) const override {
    return slice.carries(op, index);
  }

  void visit(Operation *op) override {
    if (auto load = dyn_cast<tile::LoadOp>(op))
      if (const Section *section = sectionOf.lookup(load))
        return copy(load, *section);
    auto loop = dyn_cast<scf::ForOp>(op);
    const Section *section = loop ? plan.drainOf(loop.getBody()) : nullptr;
    if (section && !carriesAnything(loop))
      return fill(loop, *section);
    clone(op);
  }

private:
  bool carriesAnything(scf::ForOp loop) const {
    return llvm::any_of(llvm::seq(loop.getNumResults()),
                        [&](unsigned index) { return slice.carries(loop, index); });
  }

  /// A loop whose step is one slot.
  void fill(scf::ForOp loop, const Section &section) {
    Location loc = loop.getLoc();
    Steps steps = stepsOf(builder, loop, [&](Value value) { return mapped(value); });
    RingOp ring = made.rings[section.ring];
    auto op = FillOp::create(builder, loc, CursorType::get(loop.getContext()), TypeRange(),
                             ring.getRing(), cursors[section.ring], steps.count, ValueRange());
    SmallVector<Type> types{builder.getI32Type()};
    llvm::append_range(types, ring.getRing().getType().getBuffers());
    Block *body =
        builder.createBlock(&op.getBody(), {}, types, SmallVector<Location>(types.size(), loc));
    mapping.map(loop.getInductionVar(), steps.indexAt(builder, loc, body->getArgument(0)));
    slot.assign(body->args_begin() + 1, body->args_end());
    filled = &section;
    cloneBlock(*loop.getBody());
    filled = nullptr;
    YieldOp::create(builder, loc);
    builder.setInsertionPointAfter(op);
    cursors[section.ring] = op.getNext();
  }

  /// One load of a section: the first acquires the slot, the last publishes it.
  void copy(tile::LoadOp load, const Section &section) {
    Location loc = load.getLoc();
    RingOp ring = made.rings[section.ring];
    auto isFirst = [&](const RingLoad &other) { return !other.load->isBeforeInBlock(load); };
    auto isLast = [&](const RingLoad &other) { return !load->isBeforeInBlock(other.load); };
    bool inFill = filled == &section;
    if (!inFill && llvm::all_of(section.loads, isFirst)) {
      auto acquire = AcquireOp::create(builder, loc, ring.getRing(), cursors[section.ring]);
      slot.assign(acquire.getSlot().begin(), acquire.getSlot().end());
    }
    auto found =
        llvm::find_if(section.loads, [&](const RingLoad &other) { return other.load == load; });
    Value buffer = slot[found - section.loads.begin()];
    BlockArgument map = host.addTensorMap(found->place.array, found->copy.view);
    TmaLoadOp::create(builder, loc, map, coordinates(loc, found->place), buffer, Value(), Value(),
                      found->copy.transposed, found->multicast);
    if (!inFill && llvm::all_of(section.loads, isLast)) {
      PublishOp::create(builder, loc, ring.getRing(), cursors[section.ring]);
      advance(loc, section.ring);
    }
  }

  BackwardSlice slice;
  DenseMap<Operation *, const Section *> sectionOf;
  SmallVector<Value> slot;
  const Section *filled = nullptr;
};

} // namespace

void buildProducer(OpBuilder &builder, Block &body, const ProductPlan &plan, HostSide &host,
                   const MadeRings &made, function_ref<bool(Operation *)> isCloned) {
  Producer producer(builder, plan, host, made);
  producer.start(body.getParentOp()->getLoc());
  producer.run(body, isCloned);
}

} // namespace girih::wg
