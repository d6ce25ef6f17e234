// The run of a CTA on paper: shared memory. Each slot keeps the accesses that a later one may meet;
// two that nothing orders are a race, whichever came first here.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Machine.h"

using namespace mlir;

namespace girih::wg::check {

bool Machine::conflicts(const Warp &warp, const Event &event, const Access &next,
                        const Access &before) {
  if (!next.effect->write && !before.effect->write)
    return false;
  bool bothGeneric = next.component < 0 && before.component < 0;
  // Threads with the same layout touch their own elements only; a thread's accesses are in order.
  if (bothGeneric && (next.site.warp == before.site.warp ||
                      (next.effect->tile && next.effect->tile == before.effect->tile)))
    return false;

  uint8_t lanes = next.effect->issuer == Issuer::Threads ? warp.mask : kElectedLane;
  bool ordered = true, fenced = true;
  bool needsFence =
      before.component < 0 && before.effect->write && next.component >= 0 && !next.effect->write;
  for (int32_t k = 0; k < 2; ++k) {
    if (!(lanes & (1 << k)))
      continue;
    const Time *clock = clockOf(2 * warp.id + k);
    if (before.component >= 0) {
      ordered &= clock[before.component] >= before.known;
      continue;
    }
    for (int32_t j = 0; j < 2; ++j) {
      if (before.times[j] < 0)
        continue;
      int32_t writer = 2 * before.site.warp + j;
      ordered &= clock[writer] >= before.times[j];
      fenced &= !needsFence || clock[fenceOf(writer)] >= before.times[j];
    }
  }
  if (ordered && fenced)
    return false;
  Fault found{Fault::What::NoFence, {warp.id, &event}, before.site};
  if (!ordered)
    found.what = next.effect->write ? Fault::What::WriteEarly : Fault::What::ReadEarly;
  found.barrier = before.barrier;
  found.phase = before.known - 1;
  fail(found);
  return true;
}

Machine::Progress Machine::access(Warp &warp, const Event &event, const Effect &effect) {
  if (!performs(warp, effect.issuer))
    return Progress::Done;
  std::optional<int64_t> array = numberOf(warp, effect.object, event, "buffer");
  std::optional<int64_t> index = numberOf(warp, effect.index, event, "buffer's slot");
  if (!array || !index)
    return Progress::Fault;
  const BufferArray &buffer = model.buffers[*array];
  if (*index < 0 || *index >= buffer.slots)
    return giveUp(event.op, "slot " + std::to_string(*index) + " of the " +
                                std::to_string(buffer.slots) + " of '" + buffer.name + "' is used");
  Access next{{warp.id, &event}, &effect, {0, buffer.rows, 0, buffer.columns}, {-1, -1}, -1, 0, -1};
  std::optional<int64_t> row = model.symbols.evaluate(warp.registers[effect.row]),
                         column = model.symbols.evaluate(warp.registers[effect.column]);
  if (row && column) {
    size_t part =
        std::min<size_t>(effect.boxByCta ? warp.cta : warp.warpgroup, effect.boxes.size() - 1);
    next.box = effect.boxes[part];
    next.box.rowBegin += static_cast<int32_t>(*row);
    next.box.rowEnd += static_cast<int32_t>(*row);
    next.box.columnBegin += static_cast<int32_t>(*column);
    next.box.columnEnd += static_cast<int32_t>(*column);
  }
  for (int32_t slot :
       everywhere(warp, effect, buffer.first + static_cast<int32_t>(*index), model.numSlots))
    if (accessSlot(warp, event, effect, next, slot) == Progress::Fault)
      return Progress::Fault;
  return Progress::Done;
}

Machine::Progress Machine::accessSlot(Warp &warp, const Event &event, const Effect &effect,
                                      Access next, int32_t slot) {
  const BufferArray &buffer = model.arrayOfSlot(slot);
  int32_t cta = slot / model.numSlots;
  if (!effect.outlives) {
    for (int32_t k = 0; k < 2; ++k)
      if (warp.mask & (1 << k))
        next.times[k] = clockOf(2 * warp.id + k)[2 * warp.id + k];
  } else if (effect.engine == AsyncEffect::Engine::TmaLoad) {
    for (const Effect &completes : event.effects)
      if (completes.kind == Effect::Kind::Complete)
        if (std::optional<int32_t> id = barrierOf(warp, completes)) {
          *id += cta * model.numBarriers;
          next.component = phaseOf(*id);
          next.known = static_cast<Time>(barriers[*id].completed + 1);
          next.barrier = *id;
        }
    if (next.component < 0)
      return giveUp(event.op, "a copy names no barrier that it completes");
  } else if (effect.engine == AsyncEffect::Engine::Wgmma) {
    next.component = productsOf(warp.id);
    next.known = static_cast<Time>(warp.productsCommitted + 1);
  } else {
    next.component = storesOf(warp.id);
    next.known = static_cast<Time>(warp.storesCommitted + 1);
  }
  note(warp, event, effect, next.barrier, next.barrier < 0 ? 0 : barriers[next.barrier].completed,
       slot);
  if (options.forgive)
    return Progress::Done;

  auto &accesses = slots[slot];
  for (const Access &before : accesses)
    if (next.box.overlaps(before.box) && conflicts(warp, event, next, before)) {
      fault->slot = slot;
      return Progress::Fault;
    }
  int32_t first = cta * model.numSlots;
  for (int32_t alias : model.aliases[slot - first])
    for (const Access &before : slots[first + alias])
      if (conflicts(warp, event, next, before)) {
        fault->slot = slot;
        return Progress::Fault;
      }
  if (effect.write) {
    filled[slot] = 1;
    // What is overwritten needs no more to be ordered before what comes later, but for the writes
    // of other warps to their own elements.
    llvm::erase_if(accesses, [&](const Access &before) {
      bool others = next.component < 0 && before.component < 0 && effect.tile &&
                    effect.tile == before.effect->tile && before.site.warp != warp.id;
      return next.box.covers(before.box) && !others;
    });
    for (int32_t alias : model.aliases[slot - first])
      filled[first + alias] = 0;
  } else {
    if (!filled[slot] && buffer.written)
      return fail({Fault::What::ReadNothing, {warp.id, &event}, {}, -1, 0, slot});
    // Later in the program is later in time, and retired later.
    llvm::erase_if(accesses, [&](const Access &before) {
      return before.effect == &effect && before.site.warp == warp.id && next.box.covers(before.box);
    });
  }
  accesses.push_back(next);
  return Progress::Done;
}

Machine::Progress Machine::atEnd() {
  for (auto [id, barrier] : llvm::enumerate(barriers))
    if (barrier.bytes != 0) {
      if (early)
        return fail(*early);
      return fail({Fault::What::Bytes,
                   {0, barrier.expect},
                   {},
                   static_cast<int32_t>(id),
                   barrier.completed,
                   -1,
                   std::max<int64_t>(0, -barrier.bytes),
                   std::max<int64_t>(0, barrier.bytes)});
    }
  for (auto [slot, accesses] : llvm::enumerate(slots))
    for (const Access &access : accesses) {
      if (access.component < 0 || access.effect->engine == AsyncEffect::Engine::Wgmma)
        continue;
      bool known = false;
      for (int32_t lane = 0; lane < 2 * numWarps; ++lane)
        known |= clockOf(lane)[access.component] >= access.known;
      if (!known)
        return fail({Fault::What::NeverWaited,
                     access.site,
                     {},
                     access.barrier,
                     access.known - 1,
                     static_cast<int32_t>(slot)});
    }
  return Progress::Done;
}

} // namespace girih::wg::check
