// st.async and red.async (PTX ISA 9.0, 9.7.9.13, 9.7.13.7): each lane's value travels by itself.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/RemoteStore.h"
#include "Emulator/Exec/Address.h"
#include "Emulator/Exec/AddressList.h"
#include "Emulator/Exec/ReduceForms.h"

namespace girih::emu {

namespace {

/// list: address, mbarrier, then `count` registers of `bytes` each. sub: a reduction, whose index
/// is `target`.
Step store(Context &c, const Instr &in) {
  const int32_t *start = c.cluster.kernel.lists.data() + in.list;
  const uint32_t total = in.bytes * in.count;
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    const int32_t *list = start;
    auto op = std::make_unique<RemoteStore>();
    describe(*op, c, lane);
    uint64_t address = addressAt(c, list, lane), barrier = addressAt(c, list, lane);
    op->target =
        c.cluster.sharedTarget(c, lane, address, total, op->destination, "asynchronously writes");
    if (!op->target || misaligned(c, lane, op->destination, total, "shared", "writes"))
      return Step::Block;
    Cta *signalled =
        c.cluster.sharedTarget(c, lane, barrier, 8, op->barrier, "asynchronous store signals");
    if (!signalled)
      return Step::Block;
    if (signalled != op->target) {
      c.cluster.fault("remote-store-invalid",
                      "the destination of an asynchronous store and its mbarrier lie in different "
                      "CTAs",
                      {c.cluster.here(c, "stores", static_cast<int>(lane))},
                      "map both addresses to the same CTA (mapa)");
      return Step::Block;
    }
    if (!c.cluster.mbarrier(c, lane, *signalled, op->barrier,
                            "issues a store that signals an mbarrier"))
      return Step::Block;
    op->bytes = total;
    for (unsigned e = 0; e < in.count; ++e) {
      std::memcpy(op->data + e * in.bytes, c.src<uint8_t>(list[e]) + lane * in.bytes, in.bytes);
      if (c.undefinedLanes(list[e]) >> lane & 1)
        op->undefined |= static_cast<uint16_t>(
            (c.warp.defined.bytes(slotOf(list[e]), lane) & ((1u << in.bytes) - 1))
            << (e * in.bytes));
    }
    if (in.sub)
      op->reduce = reduceFn(in.target, false);
    c.cluster.addAsync(std::move(op));
  }
  return Step::Next;
}
/// address, value(s), mbarrier.
void buildStore(Decoder &d, int reduces) {
  if (!d.expectOperands(3))
    return;
  const unsigned count = d.has("v2") ? 2 : d.has("v4") ? 4 : 1;
  const ptx::Operand &value = d.operand(1);
  if (count > 1 && (value.kind != ptx::OperandKind::Vector || value.elements.size() != count))
    return d.fail("expected a vector of " + std::to_string(count) + " registers");
  d.listStart();
  listAddress(d, d.operand(0));
  listAddress(d, d.operand(2));
  d.out.bytes = static_cast<uint8_t>(d.bytes());
  d.out.count = static_cast<uint8_t>(count);
  if (count == 1)
    d.listAdd(d.source(value, d.bytes()));
  else
    for (const ptx::Operand &e : value.elements)
      d.listAdd(d.source(e, d.bytes()));
  d.out.sub = static_cast<uint8_t>(reduces);
  if (reduces)
    d.out.target = reduceIndex(d);
  d.out.exec = store;
}

#define GIRIH_ASYNC "mbarrier::complete_tx::bytes shared::cluster? "
const Form forms[] = {
    {"st", "async weak? " GIRIH_ASYNC "b32|b64|u32|u64|s32|s64|f32|f64", buildStore, 0},
    {"st", "async weak? " GIRIH_ASYNC "v2 b32|b64|u32|u64|s32|s64|f32|f64", buildStore, 0},
    {"st", "async weak? " GIRIH_ASYNC "v4 b32|u32|s32|f32", buildStore, 0},
    {"red", "async relaxed cluster " GIRIH_ASYNC "inc|dec u32", buildStore, 1},
    {"red", "async relaxed cluster " GIRIH_ASYNC "min|max u32|s32", buildStore, 1},
    {"red", "async relaxed cluster " GIRIH_ASYNC "add u32|s32|u64|s64", buildStore, 1},
    {"red", "async relaxed cluster " GIRIH_ASYNC "and|or|xor b32", buildStore, 1},
};

} // namespace

std::span<const Form> remoteStoreForms() { return forms; }

} // namespace girih::emu
