// Barriers (PTX ISA 9.0, 9.7.13.1 "bar", 9.7.13.3 "barrier.cluster", 9.7.13.16 "mbarrier").
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Address.h"

namespace girih::emu {

namespace {

using ptx::OperandKind;

// Named barriers: sub bit 0 waits, bit 1 aligned, bit 2 votes, bit 3 with a negated predicate.
Step namedBarrier(Context &c, const Instr &in) {
  unsigned lane = static_cast<unsigned>(__builtin_ctz(c.mask));
  uint32_t id = c.src<uint32_t>(in.s[0])[lane];
  uint32_t threads = in.s[1] == kNone ? 0 : c.src<uint32_t>(in.s[1])[lane];
  for (uint32_t m = c.mask & (c.mask - 1); m; m &= m - 1) {
    unsigned other = static_cast<unsigned>(__builtin_ctz(m));
    if (c.src<uint32_t>(in.s[0])[other] == id &&
        (in.s[1] == kNone || c.src<uint32_t>(in.s[1])[other] == threads))
      continue;
    c.cluster.fault("barrier-invalid",
                    "lanes " + std::to_string(lane) + " and " + std::to_string(other) +
                        " of a warp name different barriers or counts",
                    {c.cluster.here(c, "arrives", static_cast<int>(other))},
                    "all threads of a warp use one barrier with one count (9.7.13.1)");
    return Step::Block;
  }
  if (!(in.sub & 4))
    return c.cluster.namedBarrier(c, id, threads, in.sub & 1, in.sub & 2);
  uint32_t votes = c.predSrc(in.s[2]);
  if (in.sub & 8)
    votes = ~votes;
  return c.cluster.namedBarrier(c, id, threads, true, in.sub & 2, &votes);
}
/// bar is barrier with .aligned.
void alignment(Decoder &d) {
  if (d.ast->opcode != "bar" && !d.has("aligned"))
    return;
  d.out.sub |= 2;
  d.out.flags |= kAligned;
}
void buildBar(Decoder &d, int variant) {
  bool arrives = variant & 1;
  if (!d.expectOperands(arrives ? 2 : 1, 2))
    return;
  d.out.s[0] = d.source(0, 4);
  if (d.operandCount() > 1)
    d.out.s[1] = d.source(1, 4);
  d.out.sub = arrives ? 0 : 1;
  alignment(d);
  d.out.exec = namedBarrier;
}
/// d, barrier [, count], predicate.
void buildBarRed(Decoder &d, int variant) {
  if (!d.expectOperands(3, 4))
    return;
  d.out.imm = variant;
  d.out.d[0] = variant == kVotePopc ? d.dest(0, 4) : d.predDest(d.operand(0));
  d.out.s[0] = d.source(1, 4);
  if (d.operandCount() > 3)
    d.out.s[1] = d.source(2, 4);
  bool negated = false;
  d.out.s[2] = d.predSource(d.operand(d.operandCount() - 1), negated);
  d.out.sub = static_cast<uint8_t>(1 | 4 | (negated ? 8 : 0));
  alignment(d);
  d.out.exec = namedBarrier;
}

Step clusterArrive(Context &c, const Instr &in) { return c.cluster.clusterArrive(c, in.sub); }
Step clusterWait(Context &c, const Instr &) { return c.cluster.clusterWait(c); }
void buildClusterArrive(Decoder &d, int) {
  d.out.sub = !d.has("relaxed");
  if (d.has("aligned"))
    d.out.flags |= kAligned;
  d.out.exec = clusterArrive;
}
void buildClusterWait(Decoder &d, int) {
  if (d.has("aligned"))
    d.out.flags |= kAligned;
  d.out.exec = clusterWait;
}

/// The CTA and offset of the mbarrier that a lane names. `local`: another CTA's will not do, which
/// holds for all operations but arrivals without a result and transaction counts (9.7.13.16.5).
Cta *barrierAt(Context &c, const Instr &in, unsigned lane, uint32_t &offset, const char *what,
               bool local = false) {
  uint64_t address = static_cast<uint64_t>(in.imm);
  if (in.s[0] != kNone)
    address += in.width == 4 ? c.src<uint32_t>(in.s[0])[lane] : c.src<uint64_t>(in.s[0])[lane];
  if (in.space == AddressSpace::Generic &&
      classify(AddressSpace::Generic, address) != AddressSpace::Shared) {
    Site here = c.cluster.here(c, what, static_cast<int>(lane));
    here.address = address;
    here.bytes = 8;
    here.space = "generic";
    c.cluster.fault("mbarrier-address", "the address of an mbarrier is not in shared memory",
                    {here}, "an mbarrier lies in shared memory of the CTA or of its cluster");
    return nullptr;
  }
  Cta *target = c.cluster.sharedTarget(c, lane, address, 8, offset, what);
  if (!target || !local || target == &c.cta)
    return target;
  c.cluster.fault("mbarrier-remote",
                  "this operation works on an mbarrier of its own CTA only, and the address is in "
                  "CTA " +
                      std::to_string(target->rank) + " of the cluster",
                  {c.cluster.here(c, what, static_cast<int>(lane))},
                  "remote are arrive, arrive_drop with the sink _, expect_tx and complete_tx");
  return nullptr;
}
Mbarrier::Arrival arrival(const Context &c, unsigned lane) {
  Mbarrier::Arrival by;
  by.pc = c.pc;
  by.warp = static_cast<int16_t>(c.warp.index);
  by.lane = static_cast<int8_t>(lane);
  by.rank = static_cast<uint16_t>(c.cta.rank);
  return by;
}

Step mbarrierInit(Context &c, const Instr &in) {
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint32_t offset = 0;
    Cta *target = barrierAt(c, in, lane, offset, "initialises an mbarrier", true);
    if (!target)
      return Step::Block;
    c.cluster.mbarrierInit(c, lane, *target, offset, c.src<uint32_t>(in.s[1])[lane]);
  }
  return Step::Next;
}
Step mbarrierInval(Context &c, const Instr &in) {
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint32_t offset = 0;
    Cta *target = barrierAt(c, in, lane, offset, "invalidates an mbarrier", true);
    if (!target)
      return Step::Block;
    if (!c.cluster.mbarrier(c, lane, *target, offset, "invalidates an mbarrier"))
      return Step::Block;
    target->mbarriers.erase(offset);
  }
  return Step::Next;
}
void buildInit(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  d.address(d.operand(0), d.spaceModifier());
  d.out.s[1] = d.source(1, 4);
  d.out.exec = mbarrierInit;
}
void buildInval(Decoder &d, int) {
  if (!d.expectOperands(1))
    return;
  d.address(d.operand(0), d.spaceModifier());
  d.out.exec = mbarrierInval;
}

/// sub: 1 expect_tx (s[1] is bytes), 2 drop, 4 relaxed (orders nothing), 8 noComplete, 16 cluster.
Step mbarrierArrive(Context &c, const Instr &in) {
  uint64_t states[32] = {};
  const bool orders = !(in.sub & 4);
  if (orders)
    c.cluster.acquireObserved(c.warp);
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint32_t offset = 0;
    Cta *target = barrierAt(c, in, lane, offset, "arrives at an mbarrier", in.d[0] != kNone);
    if (!target)
      return Step::Block;
    Mbarrier *barrier = c.cluster.mbarrier(c, lane, *target, offset, "arrives at an mbarrier");
    if (!barrier)
      return Step::Block;
    states[lane] =
        uint64_t(barrier->phase) << 20 | static_cast<uint64_t>(barrier->pending & 0xfffff);
    int64_t value = in.s[1] == kNone ? 1 : c.src<uint32_t>(in.s[1])[lane];
    Mbarrier::Arrival by = arrival(c, lane);
    by.clusterScope = in.sub & 16;
    if (in.sub & 1) {
      c.cluster.mbarrierExpect(*target, *barrier, value, by);
      value = 1;
    }
    if (in.sub & 8 && barrier->pending == value) {
      c.cluster.report("mbarrier-nocomplete",
                       "an arrival with .noComplete is the last one that its phase waits for",
                       {c.cluster.here(c, "arrives", static_cast<int>(lane))},
                       "only arrivals that leave others pending may be .noComplete");
    }
    if (in.sub & 2)
      c.cluster.mbarrierDrop(*target, *barrier, value, by);
    c.cluster.mbarrierArrive(*target, *barrier, value, by, orders ? &c.warp.order : nullptr);
  }
  c.cluster.tick(c.warp);
  if (in.d[0] != kNone)
    storeLanes(c, in.d[0], states);
  return Step::Next;
}
/// variant: 1 drop, 2 noComplete.
void buildArrive(Decoder &d, int variant) {
  const bool expects = d.has("expect_tx"), remote = d.has("shared::cluster");
  const ptx::Operand &state = d.operand(0);
  if (!d.expectOperands(expects || (variant & 2) ? 3 : 2, 3))
    return;
  if (remote && state.kind != OperandKind::Sink)
    return d.fail("a remote arrival has no state: write _ as the destination");
  if (state.kind != OperandKind::Sink)
    d.out.d[0] = d.dest(0, 8);
  d.address(d.operand(1), d.spaceModifier());
  if (d.operandCount() > 2)
    d.out.s[1] = d.source(2, 4);
  d.out.sub =
      static_cast<uint8_t>((expects ? 1 : 0) | (variant & 1 ? 2 : 0) | (d.has("relaxed") ? 4 : 0) |
                           (variant & 2 ? 8 : 0) | (d.has("cluster") ? 16 : 0));
  d.out.exec = mbarrierArrive;
}

Step mbarrierTx(Context &c, const Instr &in) {
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint32_t offset = 0;
    Cta *target = barrierAt(c, in, lane, offset, "changes an mbarrier's transaction count");
    if (!target)
      return Step::Block;
    Mbarrier *barrier =
        c.cluster.mbarrier(c, lane, *target, offset, "changes an mbarrier's transaction count");
    if (!barrier)
      return Step::Block;
    int64_t bytes = c.src<uint32_t>(in.s[1])[lane];
    if (in.sub)
      c.cluster.mbarrierComplete(*target, *barrier, bytes,
                                 c.cluster.here(c, "completes bytes", static_cast<int>(lane)));
    else
      c.cluster.mbarrierExpect(*target, *barrier, bytes, arrival(c, lane));
  }
  return Step::Next;
}
void buildTx(Decoder &d, int variant) {
  if (!d.expectOperands(2))
    return;
  d.address(d.operand(0), d.spaceModifier());
  d.out.s[1] = d.source(1, 4);
  d.out.sub = static_cast<uint8_t>(variant);
  d.out.exec = mbarrierTx;
}

/// Do all executing lanes have the same bits in this operand?
template <typename T> bool uniform(const Context &c, Src operand) {
  const T *v = c.src<T>(operand);
  const T first = v[__builtin_ctz(c.mask)];
  uint32_t same = 0;
  for (unsigned i = 0; i < 32; ++i)
    same |= uint32_t(v[i] == first) << i;
  return (same & c.mask) == c.mask;
}

/// sub: 1 try, 2 parity, 4 relaxed, 8 cluster.
Step mbarrierWait(Context &c, const Instr &in) {
  // Mostly all lanes wait for one phase of one barrier: then one stands for all.
  const bool together =
      (in.s[0] == kNone ||
       (in.width == 4 ? uniform<uint32_t>(c, in.s[0]) : uniform<uint64_t>(c, in.s[0]))) &&
      (in.sub & 2 ? uniform<uint32_t>(c, in.s[1]) : uniform<uint64_t>(c, in.s[1]));
  uint32_t done = 0;
  Mbarrier *blocker = nullptr;
  Mbarrier *acquired[32];
  unsigned acquiredCount = 0;
  uint64_t wanted = 0;
  for (uint32_t m = together ? c.mask & -c.mask : c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint32_t offset = 0;
    Cta *target = barrierAt(c, in, lane, offset, "waits for an mbarrier", true);
    if (!target)
      return Step::Block;
    Mbarrier *barrier = c.cluster.mbarrier(c, lane, *target, offset, "waits for an mbarrier");
    if (!barrier)
      return Step::Block;
    bool complete;
    if (in.sub & 2) {
      uint32_t parity = c.src<uint32_t>(in.s[1])[lane] & 1;
      complete = (barrier->phase & 1) != parity;
      if (!complete)
        wanted = barrier->phase;
    } else {
      uint64_t state = c.src<uint64_t>(in.s[1])[lane];
      uint32_t behind = barrier->phase - static_cast<uint32_t>(state >> 20);
      complete = behind != 0;
      // 9.7.13.16.16: the current phase or the one before.
      if (behind > 1)
        c.cluster.report("mbarrier-phase",
                         "a wait for phase " + std::to_string(state >> 20) +
                             " of an mbarrier that is in phase " + std::to_string(barrier->phase) +
                             ": only the current phase and the one before can be told apart",
                         {c.cluster.here(c, "waits", static_cast<int>(lane))},
                         "wait for the state that the last arrival has returned");
      if (!complete)
        wanted = state >> 20;
    }
    if (complete) {
      done |= 1u << lane;
      barrier->waited = barrier->phase;
      if (!acquiredCount || acquired[acquiredCount - 1] != barrier)
        acquired[acquiredCount++] = barrier;
    } else if (!blocker) {
      blocker = barrier;
    }
  }
  Fragment &f = c.frag();
  if (blocker && (in.sub & 1) && !f.timeUp) {
    // A suspended thread may wake early; programs must cope, so sometimes it does.
    if (f.polls > 0 || !c.cluster.random.chance(0.2)) {
      f.wait = Wait::Mbarrier;
      f.object = blocker->address;
      f.value = wanted;
      return Step::Block;
    }
  }
  f.timeUp = false;
  f.polls = blocker ? f.polls + 1 : 0;
  if (!(in.sub & 4))
    for (unsigned i = 0; i < acquiredCount; ++i)
      c.cluster.acquire(c.warp, *acquired[i], in.sub & 8);
  storePred(c, in.d[0], together && done ? c.mask : done);
  if (blocker && !(in.sub & 1)) {
    f.object = blocker->address;
    f.value = wanted;
  }
  return blocker ? Step::Yield : Step::Next;
}
void buildWait(Decoder &d, int variant) {
  // A suspended thread gives up after a time of its own when none is given.
  if (!d.expectOperands(3, variant ? 4 : 3))
    return;
  bool parity = d.has("parity");
  d.out.d[0] = d.predDest(d.operand(0));
  d.address(d.operand(1), d.spaceModifier());
  d.out.s[1] = d.source(2, parity ? 4 : 8);
  d.out.sub = static_cast<uint8_t>(variant | (parity ? 2 : 0) | (d.has("relaxed") ? 4 : 0) |
                                   (d.has("cluster") ? 8 : 0));
  d.out.exec = mbarrierWait;
}
Step pendingCount(Context &c, const Instr &in) {
  return lanes1<uint32_t, uint64_t>(
      c, in, [](uint64_t state) { return static_cast<uint32_t>(state & 0xfffff); });
}
void buildPendingCount(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  d.out.d[0] = d.dest(0, 4);
  d.out.s[0] = d.source(1, 8);
  d.out.exec = pendingCount;
}

#define GIRIH_CTA "shared|shared::cta?"
#define GIRIH_CLUSTER "shared|shared::cta|shared::cluster?"
#define GIRIH_VOTE(op, result, kind)                                                               \
  {"bar", "cta? red " op " " result, buildBarRed, kind}, {                                         \
    "barrier", "cta? red " op " aligned? " result, buildBarRed, kind                               \
  }
// Semantics and scope come together or not at all.
#define GIRIH_ARRIVE(operation, variant)                                                           \
  {"mbarrier", operation " " GIRIH_CLUSTER " b64", buildArrive, variant},                          \
      {"mbarrier", operation " release|relaxed cta|cluster " GIRIH_CLUSTER " b64", buildArrive,    \
       variant},                                                                                   \
      {"mbarrier", operation " noComplete " GIRIH_CTA " b64", buildArrive, variant | 2},           \
      {"mbarrier", operation " noComplete release cta " GIRIH_CTA " b64", buildArrive,             \
       variant | 2},                                                                               \
      {"mbarrier", operation " expect_tx " GIRIH_CLUSTER " b64", buildArrive, variant}, {          \
    "mbarrier", operation " expect_tx release|relaxed cta|cluster " GIRIH_CLUSTER " b64",          \
        buildArrive, variant                                                                       \
  }
#define GIRIH_WAIT(operation, variant)                                                             \
  {"mbarrier", operation " parity? " GIRIH_CTA " b64", buildWait, variant}, {                      \
    "mbarrier", operation " parity? acquire|relaxed cta|cluster " GIRIH_CTA " b64", buildWait,     \
        variant                                                                                    \
  }
#define GIRIH_TX(operation, variant)                                                               \
  {"mbarrier", operation " " GIRIH_CLUSTER " b64", buildTx, variant}, {                            \
    "mbarrier", operation " relaxed cta|cluster " GIRIH_CLUSTER " b64", buildTx, variant           \
  }
const Form forms[] = {
    {"bar", "cta? sync", buildBar, 0},
    {"bar", "cta? arrive", buildBar, 1},
    {"barrier", "cta? sync aligned?", buildBar, 0},
    {"barrier", "cta? arrive aligned?", buildBar, 1},
    GIRIH_VOTE("popc", "u32", kVotePopc),
    GIRIH_VOTE("and", "pred", kVoteAnd),
    GIRIH_VOTE("or", "pred", kVoteOr),
    {"barrier", "cluster arrive release|relaxed? aligned?", buildClusterArrive},
    {"barrier", "cluster wait acquire? aligned?", buildClusterWait},
    {"mbarrier", "init " GIRIH_CTA " b64", buildInit},
    {"mbarrier", "inval " GIRIH_CTA " b64", buildInval},
    GIRIH_ARRIVE("arrive", 0),
    GIRIH_ARRIVE("arrive_drop", 1),
    GIRIH_TX("expect_tx", 0),
    GIRIH_TX("complete_tx", 1),
    GIRIH_WAIT("test_wait", 0),
    GIRIH_WAIT("try_wait", 1),
    {"mbarrier", "pending_count b64", buildPendingCount},
};

} // namespace

std::span<const Form> barrierForms() { return forms; }

} // namespace girih::emu
