// What ops say of themselves through their interfaces.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Writer.h"

using namespace mlir;

namespace girih::wg::check {

namespace {

/// The rows and columns that the threads of warpgroup `index` hold of a tile.
Box boxOfTile(RankedTensorType tile, int32_t index, int32_t rows, int32_t columns) {
  Box all{0, rows, 0, columns};
  if (!isTile(tile))
    return all;
  const girih::Layout &layout = getLayout(tile).getLayout();
  const girih::LayoutSpec &spec = layout.spec();
  if (spec.outDims != std::vector<girih::Dim>{girih::Dim::Row, girih::Dim::Col})
    return all;
  int64_t offset[2] = {0, 0}, reach[2] = {1, 1};
  int64_t rest = index;
  for (const girih::Base &base : spec.bases)
    for (int axis = 0; axis < 2; ++axis)
      if (base.dim != girih::Dim::Warpgroup)
        reach[axis] += base.to[axis];
  for (const girih::Base &base : spec.bases) {
    if (base.dim != girih::Dim::Warpgroup)
      continue;
    for (int axis = 0; axis < 2; ++axis)
      offset[axis] += (rest & 1) * base.to[axis];
    rest >>= 1;
  }
  for (const girih::Repeat &repeat : spec.repeats) {
    bool mine = repeat.dim == girih::Dim::Warpgroup;
    for (int axis = 0; axis < 2; ++axis)
      (mine ? offset : reach)[axis] +=
          repeat.step[axis] * (mine ? rest % repeat.extent : repeat.extent - 1);
    if (mine)
      rest /= repeat.extent;
  }
  auto clip = [](int64_t value, int32_t limit) {
    return static_cast<int32_t>(std::min<int64_t>(value, limit));
  };
  return {clip(offset[0], rows), clip(offset[0] + reach[0], rows), clip(offset[1], columns),
          clip(offset[1] + reach[1], columns)};
}

} // namespace

Box Writer::boxOf(const BufferAccess &access, BufferType type, int32_t part) {
  auto rows = static_cast<int32_t>(type.getShape()[0]),
       columns = static_cast<int32_t>(type.getShape()[1]);
  switch (access.part) {
  case BufferAccess::Part::Whole:
    break;
  case BufferAccess::Part::CtaShare: {
    // Shares are parts that do not overlap; which ones makes no difference.
    int32_t share = rows / std::max<int32_t>(1, static_cast<int32_t>(clusterCtas(program.op)));
    return {part * share, (part + 1) * share, 0, columns};
  }
  case BufferAccess::Part::WarpgroupRows: {
    int32_t share = rows / program.warpgroupsTogether;
    return {part * share, (part + 1) * share, 0, columns};
  }
  case BufferAccess::Part::Tile:
    return boxOfTile(cast<RankedTensorType>(access.tile), part, rows, columns);
  }
  return {0, rows, 0, columns};
}

Effect Writer::accessOf(const BufferAccess &access, AsyncEffect::Engine engine) {
  Effect effect{Effect::Kind::Access};
  effect.issuer = access.issuer;
  effect.engine = engine;
  effect.write = access.kind == BufferAccess::Kind::Write;
  effect.async = access.proxy == BufferAccess::Proxy::Async;
  effect.outlives = access.outlivesOp;
  effect.tile = access.tile.getAsOpaquePointer();
  Places buffer = placesOf(access.buffer);
  effect.object = buffer[0], effect.index = buffer[1];
  effect.row = buffer[2], effect.column = buffer[3];
  auto type = cast<BufferType>(access.buffer.getType());
  effect.everyCta = access.everyCta;
  effect.boxByCta = access.part == BufferAccess::Part::CtaShare;
  int32_t parts = effect.boxByCta ? model.ctas : program.warpgroupsTogether;
  for (int32_t part = 0; part < parts; ++part)
    effect.boxes.push_back(boxOf(access, type, part));
  return effect;
}

void Writer::emitEvent(Operation *op) {
  SmallVector<BarrierEffect> barriers;
  SmallVector<AsyncEffect> async;
  SmallVector<BufferAccess> accesses;
  if (auto interface = dyn_cast<BarrierEffectOpInterface>(op))
    barriers = interface.getBarrierEffects();
  if (auto interface = dyn_cast<AsyncEffectOpInterface>(op))
    async = interface.getAsyncEffects();
  if (auto interface = dyn_cast<BufferAccessOpInterface>(op))
    accesses = interface.getBufferAccesses();

  Event event{op, {}};
  for (const BarrierEffect &effect : barriers)
    if (effect.kind != BarrierEffect::Kind::Complete)
      addBarrier(op, effect, event);
  AsyncEffect::Engine started = AsyncEffect::Engine::All;
  for (const AsyncEffect &effect : async) {
    if (effect.kind == AsyncEffect::Kind::Start)
      started = effect.engine;
    if (effect.kind == AsyncEffect::Kind::Retire || effect.kind == AsyncEffect::Kind::Fence)
      addAsync(effect, event);
  }
  for (const BufferAccess &access : accesses)
    event.effects.push_back(accessOf(access, started));
  for (const AsyncEffect &effect : async)
    if (effect.kind == AsyncEffect::Kind::Commit)
      addAsync(effect, event);
  for (const BarrierEffect &effect : barriers)
    if (effect.kind == BarrierEffect::Kind::Complete)
      addBarrier(op, effect, event);
  if (isa<gpu::BarrierOp>(op)) {
    Effect effect{Effect::Kind::NamedSync};
    effect.object = constant(0);
    effect.amount = model.threads;
    event.effects.push_back(effect);
  }
  if (auto set = dyn_cast<SetRegistersOp>(op)) {
    Effect effect{Effect::Kind::Registers};
    effect.amount = set.getRegisters();
    effect.increase = set.getChange() == RegisterChange::Increase;
    event.effects.push_back(effect);
  }
  auto index = static_cast<int32_t>(program.events.size());
  program.events.push_back(std::move(event));
  add(Instruction::Kind::Event).extra = index;
}

void Writer::addAsync(const AsyncEffect &from, Event &event) {
  Effect::Kind kind = from.kind == AsyncEffect::Kind::Retire   ? Effect::Kind::Retire
                      : from.kind == AsyncEffect::Kind::Commit ? Effect::Kind::Commit
                                                               : Effect::Kind::Fence;
  Effect effect{kind};
  effect.issuer = from.issuer;
  effect.engine = from.engine;
  effect.amount = from.inFlight;
  event.effects.push_back(effect);
}

void Writer::addBarrier(Operation *op, const BarrierEffect &from, Event &event) {
  if (from.side == BarrierEffect::Side::Full || from.side == BarrierEffect::Side::Empty)
    return giveUp(op, "rings have not been lowered");
  bool named = from.side == BarrierEffect::Side::Named;
  Effect effect{Effect::Kind::Wait};
  switch (from.kind) {
  case BarrierEffect::Kind::Init:
    return giveUp(op, "a barrier is initialised inside a role");
  case BarrierEffect::Kind::Wait:
    break;
  case BarrierEffect::Kind::Arrive:
    effect.kind = named ? Effect::Kind::NamedArrive : Effect::Kind::Arrive;
    break;
  case BarrierEffect::Kind::Expect:
    effect.kind = Effect::Kind::Expect;
    break;
  case BarrierEffect::Kind::Complete:
    effect.kind = Effect::Kind::Complete;
    break;
  case BarrierEffect::Kind::Sync:
    effect.kind = Effect::Kind::NamedSync;
    break;
  }
  effect.issuer = from.issuer;
  effect.everyCta = from.everyCta;
  effect.object = placeOf(from.object);
  effect.amount = named ? from.count : from.bytes;
  if (!named) {
    effect.index = from.index ? placeOf(from.index) : constant(0);
    if (from.kind == BarrierEffect::Kind::Wait)
      effect.parity = from.parity ? placeOf(from.parity) : constant(0);
  }
  event.effects.push_back(effect);
}

} // namespace girih::wg::check
