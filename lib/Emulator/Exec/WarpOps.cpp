// Operations among the lanes of a warp (PTX ISA 9.0, 9.7.9.6 "shfl.sync", 9.7.13.9 to 9.7.13.14
// "vote", "match", "activemask", "redux", 9.7.13.15 "elect", 9.7.13.2 "bar.warp.sync").
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Lanes.h"

namespace girih::emu {

namespace {

uint32_t firstLane(const Context &c, Src source) {
  return c.src<uint32_t>(source)[__builtin_ctz(c.mask)];
}

/// Lanes of one fragment may name different members, e.g. one half of a warp each (PTX ISA 9.0,
/// 9.7.9.6: "the executing thread will wait until all threads corresponding to membermask have
/// executed"). Each set of members then executes on its own, once all of them are there. `operand`
/// is the source that holds the member mask.
template <ExecFn body, int operand> Step grouped(Context &c, const Instr &in) {
  const uint32_t *members = c.src<uint32_t>(in.s[operand]);
  const uint32_t all = c.mask;
  auto groupOf = [&](uint32_t lanes) {
    uint32_t group = 0, value = members[__builtin_ctz(lanes)];
    for (unsigned lane = 0; lane < 32; ++lane)
      group |= static_cast<uint32_t>(members[lane] == value) << lane;
    return group & lanes;
  };
  if (groupOf(all) == all)
    return body(c, in);
  for (uint32_t left = all; left; left &= ~groupOf(left))
    if (!c.cluster.gatherLanes(c, members[__builtin_ctz(left)], false))
      return Step::Block;
  for (uint32_t left = all; left;) {
    c.mask = groupOf(left);
    left &= ~c.mask;
    body(c, in);
  }
  c.mask = all;
  return Step::Next;
}

enum ShuffleMode { Up, Down, Bfly, Idx };
template <ShuffleMode mode> Step shuffle(Context &c, const Instr &in) {
  if (!c.cluster.gatherLanes(c, firstLane(c, in.s[3])))
    return Step::Block;
  const uint32_t *a = c.src<uint32_t>(in.s[0]), *b = c.src<uint32_t>(in.s[1]),
                 *e = c.src<uint32_t>(in.s[2]);
  uint32_t t[32];
  uint8_t flags[32], source[32];
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t bval = b[lane] & 31, cval = e[lane] & 31, segment = e[lane] >> 8 & 31;
    uint32_t maxLane = (lane & segment) | (cval & ~segment), minLane = lane & segment;
    int j = 0;
    bool valid = false;
    switch (mode) {
    case Up:
      j = static_cast<int>(lane) - static_cast<int>(bval);
      valid = j >= static_cast<int>(maxLane);
      break;
    case Down:
      j = static_cast<int>(lane + bval);
      valid = j <= static_cast<int>(maxLane);
      break;
    case Bfly:
      j = static_cast<int>(lane ^ bval);
      valid = j <= static_cast<int>(maxLane);
      break;
    case Idx:
      j = static_cast<int>(minLane | (bval & ~segment));
      valid = j <= static_cast<int>(maxLane);
      break;
    }
    source[lane] = static_cast<uint8_t>(valid ? j & 31 : static_cast<int>(lane));
    t[lane] = a[source[lane]];
    flags[lane] = valid;
  }
  uint32_t undefined = 0;
  if (uint32_t from = c.undefinedLanes(in.s[0]))
    for (uint32_t lane = 0; lane < 32; ++lane)
      undefined |= (from >> source[lane] & 1) << lane;
  const uint32_t origin =
      undefined ? c.warp.defined.origin(slotOf(in.s[0])) : 0; // before the result overwrites it
  storeLanes(c, in.d[0], t);
  c.setDefined(in.d[0], undefined, origin);
  if (in.d[1] != kNone) {
    storePred(c, in.d[1], packFlags(flags));
    c.setDefined(in.d[1]);
  }
  return Step::Next;
}
void buildShuffle(Decoder &d, int) {
  if (!d.expectOperands(5))
    return;
  const ptx::Operand &target = d.operand(0);
  if (target.kind == ptx::OperandKind::Pair) {
    d.out.d[0] = d.dest(target.elements[0], 4);
    d.out.d[1] = d.predDest(target.elements[1]);
  } else {
    d.out.d[0] = d.dest(target, 4);
  }
  for (int i = 0; i < 4; ++i)
    d.out.s[i] = d.source(static_cast<size_t>(i) + 1, 4);
  constexpr ExecFn table[] = {grouped<shuffle<Up>, 3>, grouped<shuffle<Down>, 3>,
                              grouped<shuffle<Bfly>, 3>, grouped<shuffle<Idx>, 3>};
  d.out.exec = table[d.which({"up", "down", "bfly", "idx"})];
}

enum VoteMode { All, Any, Uni, Ballot };
Step vote(Context &c, const Instr &in) {
  uint32_t members = firstLane(c, in.s[1]);
  if (!c.cluster.gatherLanes(c, members))
    return Step::Block;
  uint32_t p = c.predSrc(in.s[0]) ^ (in.bytes ? ~0u : 0u);
  uint32_t there = members & c.mask, yes = p & there;
  if (in.sub == Ballot) {
    uint32_t t[32];
    std::fill(std::begin(t), std::end(t), yes);
    storeLanes(c, in.d[0], t);
  } else {
    bool result = in.sub == All   ? yes == there
                  : in.sub == Any ? yes != 0
                                  : yes == 0 || yes == there;
    storePred(c, in.d[0], result ? ~0u : 0u);
  }
  return Step::Next;
}
void buildVote(Decoder &d, int) {
  if (!d.expectOperands(3))
    return;
  d.out.sub = static_cast<uint8_t>(d.which({"all", "any", "uni", "ballot"}));
  d.out.d[0] = d.out.sub == Ballot ? d.dest(0, 4) : d.predDest(d.operand(0));
  bool negated = false;
  d.out.s[0] = d.predSource(d.operand(1), negated);
  d.out.bytes = negated;
  d.out.s[1] = d.source(2, 4);
  d.out.exec = grouped<vote, 1>;
}

template <typename T> Step matchLanes(Context &c, const Instr &in) {
  uint32_t members = firstLane(c, in.s[1]);
  if (!c.cluster.gatherLanes(c, members))
    return Step::Block;
  const T *a = c.src<T>(in.s[0]);
  uint32_t there = members & c.mask;
  uint32_t t[32] = {};
  bool allEqual = true;
  T first = a[__builtin_ctz(there ? there : 1)];
  for (uint32_t m = there; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    allEqual &= a[lane] == first;
    for (uint32_t n = there; n; n &= n - 1)
      if (a[__builtin_ctz(n)] == a[lane])
        t[lane] |= n & -n;
  }
  if (in.sub)
    for (uint32_t &value : t)
      value = allEqual ? there : 0;
  storeLanes(c, in.d[0], t);
  if (in.d[1] != kNone)
    storePred(c, in.d[1], allEqual ? ~0u : 0u);
  return Step::Next;
}
void buildMatch(Decoder &d, int) {
  if (!d.expectOperands(3))
    return;
  const ptx::Operand &target = d.operand(0);
  if (target.kind == ptx::OperandKind::Pair) {
    d.out.d[0] = d.dest(target.elements[0], 4);
    d.out.d[1] = d.predDest(target.elements[1]);
  } else {
    d.out.d[0] = d.dest(target, 4);
  }
  unsigned width = d.bytes();
  d.out.s[0] = d.source(1, width);
  d.out.s[1] = d.source(2, 4);
  d.out.sub = d.has("all");
  d.out.exec = width == 8 ? ExecFn(grouped<matchLanes<uint64_t>, 1>)
                          : ExecFn(grouped<matchLanes<uint32_t>, 1>);
}

template <typename T> Step redux(Context &c, const Instr &in) {
  uint32_t members = firstLane(c, in.s[1]);
  if (!c.cluster.gatherLanes(c, members))
    return Step::Block;
  const T *a = c.src<T>(in.s[0]);
  uint32_t there = members & c.mask;
  T result = a[__builtin_ctz(there)];
  for (uint32_t m = there & (there - 1); m; m &= m - 1) {
    T v = a[__builtin_ctz(m)];
    switch (in.sub) {
    case 0:
      result = static_cast<T>(static_cast<uint32_t>(result) + static_cast<uint32_t>(v));
      break;
    case 1:
      result = std::min(result, v);
      break;
    case 2:
      result = std::max(result, v);
      break;
    case 3:
      result &= v;
      break;
    case 4:
      result |= v;
      break;
    default:
      result ^= v;
    }
  }
  T t[32];
  std::fill(std::begin(t), std::end(t), result);
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
void buildRedux(Decoder &d, int) {
  if (!d.expectOperands(3))
    return;
  d.out.d[0] = d.dest(0, 4);
  d.out.s[0] = d.source(1, 4);
  d.out.s[1] = d.source(2, 4);
  d.out.sub = static_cast<uint8_t>(d.which({"add", "min", "max", "and", "or", "xor"}));
  d.out.exec = d.type() == ptx::Type::S32 ? ExecFn(grouped<redux<int32_t>, 1>)
                                          : ExecFn(grouped<redux<uint32_t>, 1>);
}

Step elect(Context &c, const Instr &in) {
  uint32_t members = firstLane(c, in.s[0]);
  if (!c.cluster.gatherLanes(c, members))
    return Step::Block;
  uint32_t there = members & c.mask;
  uint32_t leader = there ? static_cast<uint32_t>(__builtin_ctz(there)) : 0;
  if (in.d[0] != kNone) {
    uint32_t t[32];
    std::fill(std::begin(t), std::end(t), leader);
    storeLanes(c, in.d[0], t);
  }
  storePred(c, in.d[1], 1u << leader);
  return Step::Next;
}
void buildElect(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  const ptx::Operand &target = d.operand(0);
  if (target.kind != ptx::OperandKind::Pair)
    return d.fail("elect.sync writes a register and a predicate, d|p");
  if (target.elements[0].kind != ptx::OperandKind::Sink)
    d.out.d[0] = d.dest(target.elements[0], 4);
  d.out.d[1] = d.predDest(target.elements[1]);
  d.out.s[0] = d.source(1, 4);
  d.out.exec = grouped<elect, 0>;
}
Step activemask(Context &c, const Instr &in) {
  uint32_t t[32];
  std::fill(std::begin(t), std::end(t), c.mask);
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
void buildActivemask(Decoder &d, int) {
  if (!d.expectOperands(1))
    return;
  d.out.d[0] = d.dest(0, 4);
  d.out.exec = activemask;
}
Step warpSync(Context &c, const Instr &in) {
  const uint32_t members = firstLane(c, in.s[0]);
  if (!c.cluster.gatherLanes(c, members))
    return Step::Block;
  c.cluster.warpSync(c.warp, members);
  return Step::Next;
}
void buildWarpSync(Decoder &d, int) {
  if (!d.expectOperands(1))
    return;
  d.out.s[0] = d.source(0, 4);
  d.out.exec = grouped<warpSync, 0>;
}

const Form forms[] = {
    {"shfl", "sync up|down|bfly|idx b32", buildShuffle},
    {"vote", "sync all|any|uni pred", buildVote},
    {"vote", "sync ballot b32", buildVote},
    {"match", "sync any|all b32|b64", buildMatch},
    {"redux", "sync add|min|max s32|u32", buildRedux},
    {"redux", "sync and|or|xor b32", buildRedux},
    {"elect", "sync", buildElect},
    {"activemask", "b32", buildActivemask},
    {"bar", "warp sync", buildWarpSync},
};

} // namespace

std::span<const Form> warpForms() { return forms; }

} // namespace girih::emu
