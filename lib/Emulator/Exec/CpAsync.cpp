// cp.async without .bulk, its groups and its arrival at an mbarrier (PTX ISA 9.0, 9.7.9.25.3
// "cp.async", 9.7.13.16.15 "cp.async.mbarrier.arrive").
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Address.h"
#include "Emulator/Exec/AddressList.h"
#include "Emulator/Machine/CopyAsync.h"

namespace girih::emu {

namespace {

using ptx::OperandKind;

CopyState &stateOf(Context &c) {
  if (!c.warp.copies) {
    c.warp.copies = std::make_shared<CopyState>();
    c.warp.copies->agent = c.cluster.newAgent();
  }
  return *c.warp.copies;
}

/// The offset of an address in the executing CTA's own shared memory; false (reported) elsewhere.
bool ownShared(Context &c, unsigned lane, uint64_t address, uint32_t bytes, uint32_t &offset,
               const char *what) {
  Cta *target = c.cluster.sharedTarget(c, lane, address, bytes, offset, what);
  if (!target)
    return false;
  if (target == &c.cta)
    return true;
  c.cluster.fault("cp-async-invalid",
                  std::string("cp.async ") + what +
                      " shared memory of its own CTA only, and the address is in CTA " +
                      std::to_string(target->rank) + " of the cluster",
                  {c.cluster.here(c, what, static_cast<int>(lane))});
  return false;
}

/// sub: what the operand after the size is.
enum Extra : uint8_t { kNothing, kSourceSize, kIgnore, kIgnoreNot };

/// list: destination and source; bytes: of a copy; s[1]: the bytes to read, or s[2]: whether to
/// read none.
Step copy(Context &c, const Instr &in) {
  const int32_t *start = c.cluster.kernel.lists.data() + in.list;
  auto op = std::make_unique<CopyAsync>();
  describe(*op, c, static_cast<unsigned>(__builtin_ctz(c.mask)));
  op->bytes = in.bytes;
  op->lanes = c.mask;
  uint32_t ignored = 0;
  if (in.sub >= kIgnore)
    ignored = in.sub == kIgnore ? c.predSrc(in.s[2]) : ~c.predSrc(in.s[2]);
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    const int32_t *list = start;
    uint64_t destination = addressAt(c, list, lane), source = addressAt(c, list, lane);
    uint32_t offset = 0, size = in.sub == kSourceSize ? c.src<uint32_t>(in.s[1])[lane] : in.bytes;
    if (!ownShared(c, lane, destination, in.bytes, offset, "writes") ||
        misaligned(c, lane, offset, in.bytes, "shared", "writes") ||
        misaligned(c, lane, source, in.bytes, "global", "reads"))
      return Step::Block;
    if (size > in.bytes) {
      c.cluster.fault("cp-async-invalid",
                      "cp.async reads " + std::to_string(size) + " bytes to copy " +
                          std::to_string(in.bytes),
                      {c.cluster.here(c, "issues it", static_cast<int>(lane))},
                      "the source size says how many of the bytes exist; the rest become zero");
      return Step::Block;
    }
    if (ignored >> lane & 1)
      size = 0;
    if (size && !c.cluster.globalInBounds(source, size) &&
        !c.cluster.checkGlobal(c, lane, source, size, "reads"))
      return Step::Block;
    op->destination[lane] = offset;
    op->source[lane] = source;
    op->read[lane] = static_cast<uint8_t>(size);
  }
  CopyState &state = stateOf(c);
  op->sequence = ++state.issued;
  // Copies of one warp are ordered by its waits alone.
  state.records.push_back({op->sequence, c.mask, c.mask});
  c.cluster.addAsync(std::move(op));
  return Step::Next;
}
void buildCopy(Decoder &d, int) {
  // destination, source, size [, bytes to read or ignore] [, cache policy].
  const bool hint = d.has("L2::cache_hint");
  if (!d.expectOperands(3u + hint, 4u + hint))
    return;
  d.listStart();
  listAddress(d, d.operand(0));
  listAddress(d, d.operand(1));
  int64_t size = d.literal(2);
  if (d.has("cg") ? size != 16 : size != 4 && size != 8 && size != 16)
    return d.fail(d.has("cg") ? "cp.async.cg copies 16 bytes" : "the size must be 4, 8 or 16");
  d.out.bytes = static_cast<uint8_t>(size);
  if (d.operandCount() == 4u + hint) {
    const ptx::Operand &extra = d.operand(3);
    if (d.isPredicate(extra)) {
      bool negated = false;
      d.out.s[2] = d.predSource(extra, negated);
      d.out.sub = negated ? kIgnoreNot : kIgnore;
    } else {
      d.out.s[1] = d.source(extra, 4);
      d.out.sub = kSourceSize;
    }
  }
  d.out.exec = copy;
}

Step commitGroup(Context &c, const Instr &) {
  CopyState &state = stateOf(c);
  for (uint32_t m = c.mask; m; m &= m - 1)
    state.groups[__builtin_ctz(m)].push_back(state.issued);
  return Step::Next;
}
void buildCommit(Decoder &d, int) {
  if (d.expectOperands(0, 0))
    d.out.exec = commitGroup;
}
/// imm: groups that may stay in flight; sub: all copies, committed or not.
Step waitGroup(Context &c, const Instr &in) {
  if (!c.warp.copies)
    return Step::Next;
  CopyState &state = *c.warp.copies;
  const size_t keep = static_cast<size_t>(in.imm);
  auto last = [&](unsigned lane) {
    const std::vector<uint32_t> &groups = state.groups[lane];
    return in.sub ? state.issued : groups.size() > keep ? groups[groups.size() - 1 - keep] : 0;
  };
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    if (state.inFlight(lane, last(lane))) {
      c.frag().wait = Wait::Bulk;
      return Step::Block;
    }
  }
  // Lanes that wait for the same copies, which is to say all of them, are settled together.
  for (uint32_t left = c.mask; left;) {
    uint32_t sequence = last(static_cast<unsigned>(__builtin_ctz(left))), same = 0;
    for (uint32_t m = left; m; m &= m - 1)
      same |= last(static_cast<unsigned>(__builtin_ctz(m))) == sequence ? m & -m : 0;
    left &= ~same;
    if (!sequence)
      continue;
    c.warp.order.seen.raise(state.agent, state.cover(same, sequence));
  }
  for (uint32_t m = c.mask; m; m &= m - 1) {
    std::vector<uint32_t> &groups = state.groups[__builtin_ctz(m)];
    if (in.sub)
      groups.clear();
    else if (groups.size() > keep)
      groups.erase(groups.begin(), groups.end() - static_cast<std::ptrdiff_t>(keep));
  }
  return Step::Next;
}
void buildWait(Decoder &d, int variant) {
  if (!d.expectOperands(variant ? 0 : 1, variant ? 0 : 1))
    return;
  if (!variant)
    d.out.imm = d.literal(0);
  d.out.sub = static_cast<uint8_t>(variant);
  d.out.exec = waitGroup;
}

/// sub: the pending count stays as it is until the arrival.
Step arrive(Context &c, const Instr &in) {
  const int32_t *start = c.cluster.kernel.lists.data() + in.list;
  auto op = std::make_unique<CopyArrival>();
  describe(*op, c, static_cast<unsigned>(__builtin_ctz(c.mask)));
  op->lanes = c.mask;
  const char *what = "arrives at an mbarrier when its copies have landed";
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    const int32_t *list = start;
    uint32_t offset = 0;
    if (!ownShared(c, lane, addressAt(c, list, lane), 8, offset, what))
      return Step::Block;
    Mbarrier *barrier = c.cluster.mbarrier(c, lane, c.cta, offset, what);
    if (!barrier)
      return Step::Block;
    if (!in.sub) {
      ++barrier->pending;
      c.cluster.mbarrierStore(c.cta, *barrier);
    }
    op->barrier[lane] = offset;
  }
  CopyState &state = stateOf(c);
  op->sequence = state.issued;
  bool waits = false;
  for (uint32_t m = c.mask; m && !waits; m &= m - 1)
    waits = state.inFlight(static_cast<unsigned>(__builtin_ctz(m)), op->sequence);
  if (waits)
    state.arrivals.push_back(std::move(op));
  else
    c.cluster.addAsync(std::move(op));
  c.cluster.tick(c.warp);
  return Step::Next;
}
void buildArrive(Decoder &d, int) {
  if (!d.expectOperands(1))
    return;
  d.listStart();
  listAddress(d, d.operand(0));
  d.out.sub = d.has("noinc");
  d.out.exec = arrive;
}

const Form forms[] = {
    {"cp", "async ca|cg shared|shared::cta global L2::cache_hint? L2::64B|L2::128B|L2::256B?",
     buildCopy},
    {"cp", "async commit_group", buildCommit},
    {"cp", "async wait_group", buildWait, 0},
    {"cp", "async wait_all", buildWait, 1},
    {"cp", "async mbarrier arrive noinc? shared|shared::cta? b64", buildArrive},
};

} // namespace

std::span<const Form> cpAsyncForms() { return forms; }

} // namespace girih::emu
