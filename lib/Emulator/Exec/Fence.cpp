// Fences (PTX ISA 9.0, 9.7.13.4 "membar" and "fence") and what only steers caches (9.7.9.14 and
// following).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Address.h"

namespace girih::emu {

namespace {

// Orders of plain memory need no action on values: a warp sees its own writes, and the commit
// publishes them before any operation that waited for it. Fences matter to the checks.
Step nothing(Context &, const Instr &) { return Step::Next; }
/// sub: the scope.
Step fenceMemory(Context &c, const Instr &in) {
  c.cluster.fence(c.warp, static_cast<Scope>(in.sub));
  return Step::Next;
}
/// sub: 1 of global memory, 2 of shared memory.
Step fenceProxyAsync(Context &c, const Instr &in) {
  if (in.sub & 1)
    c.warp.order.fencedGlobal.join(c.warp.order.seen);
  if (in.sub & 2)
    c.warp.order.fenced.join(c.warp.order.seen);
  c.cluster.tick(c.warp);
  return Step::Next;
}
Step fenceInit(Context &c, const Instr &) {
  c.warp.initFenced = c.warp.initSequence;
  return Step::Next;
}
enum FenceVariant { FenceNothing, FenceProxy, FenceMemory, FenceInit };
void buildFence(Decoder &d, int variant) {
  if (!d.expectOperands(0, 0))
    return;
  // membar.gl is fence.sc.gpu. That two fence.sc are ordered with each other is not used: no
  // program learns which of them came first but by a read.
  if (variant == FenceMemory)
    d.out.sub = static_cast<uint8_t>(d.has("cta")       ? Scope::Cta
                                     : d.has("cluster") ? Scope::Cluster
                                                        : Scope::Gpu);
  if (variant == FenceProxy)
    d.out.sub = d.has("global") ? 1 : d.has("shared::cta") || d.has("shared::cluster") ? 2 : 3;
  d.out.exec = variant == FenceProxy    ? ExecFn(fenceProxyAsync)
               : variant == FenceMemory ? ExecFn(fenceMemory)
               : variant == FenceInit   ? ExecFn(fenceInit)
                                        : ExecFn(nothing);
}

// Tensor maps are read through a proxy of their own (9.7.13.4).
Step releaseMaps(Context &c, const Instr &) {
  c.cluster.maps.release(c.warp.order, c.warp.agent);
  return Step::Next;
}
void buildReleaseMaps(Decoder &d, int) {
  if (d.expectOperands(0, 0))
    d.out.exec = releaseMaps;
}
Step acquireMap(Context &c, const Instr &in) {
  uint64_t address[32];
  addresses(c, in, address);
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    if (address[lane] % 128) {
      misaligned(c, lane, address[lane], 128, "global", "acquires a tensor map");
      return Step::Block;
    }
    c.cluster.maps.acquire(c.warp.order, c.warp.agent, address[lane]);
  }
  return Step::Next;
}
void buildAcquireMap(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  d.address(d.operand(0), AddressSpace::Generic);
  if (d.literal(1) != 128)
    return d.fail("the size of a tensor map is 128 bytes");
  d.out.exec = acquireMap;
}

/// A hint about an address: checked for its validity only when it is used.
void buildHint(Decoder &d, int operands) {
  if (d.expectOperands(static_cast<size_t>(operands)))
    d.out.exec = nothing;
}

// 9.7.9.16 "applypriority", 9.7.9.17 "discard": 128 bytes at a multiple of 128. What discard has
// destroyed reads as a pattern that is no small number in any format.
Step onLine(Context &c, const Instr &in) {
  static constexpr uint32_t kLine = 128;
  const char *what = in.sub ? "discards" : "sets the priority of";
  uint64_t address[32];
  addresses(c, in, address);
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint64_t a = address[lane];
    if (classify(in.space, a) != AddressSpace::Global)
      continue;
    if (!c.cluster.checkGlobal(c, lane, a, kLine, what) ||
        misaligned(c, lane, a, kLine, "global", what))
      return Step::Block;
    if (!in.sub)
      continue;
    uint8_t pattern[kLine];
    std::memset(pattern, 0xcb, sizeof(pattern));
    c.cluster.writeGlobal(a, pattern, kLine);
    c.cluster.noteGlobal(c, lane, a, kLine, kLine, kAccessWrite);
  }
  return Step::Next;
}
void buildLine(Decoder &d, int variant) {
  if (!d.expectOperands(2))
    return;
  d.address(d.operand(0), d.spaceModifier());
  if (d.literal(1) != 128)
    return d.fail("the size must be 128");
  d.out.sub = static_cast<uint8_t>(variant);
  d.out.exec = onLine;
}

// 9.7.9.18 "createpolicy": the 64 bits are opaque, and nothing but a cache looks at them.
Step createPolicy(Context &c, const Instr &in) {
  uint64_t t[32] = {};
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
void buildPolicy(Decoder &d, int operands) {
  size_t most = static_cast<size_t>(operands);
  // A fraction may be left out.
  if (!d.expectOperands(most == 2 && d.has("fractional") ? 1 : most, most))
    return;
  d.out.d[0] = d.dest(0, 8);
  d.out.exec = createPolicy;
}

#define GIRIH_SCOPE "cta|cluster|gpu|sys"
const Form forms[] = {
    // Without semantics: acq_rel.
    {"fence", "sc|acq_rel|acquire|release? " GIRIH_SCOPE, buildFence, FenceMemory},
    {"fence", "acquire sync_restrict::shared::cluster cluster", buildFence, FenceMemory},
    {"fence", "release sync_restrict::shared::cta cluster", buildFence, FenceMemory},
    {"fence", "mbarrier_init release cluster", buildFence, FenceInit},
    {"fence", "proxy alias", buildFence, FenceNothing},
    {"fence", "proxy async global|shared::cta|shared::cluster?", buildFence, FenceProxy},
    {"fence", "proxy async::generic acquire sync_restrict::shared::cluster cluster", buildFence,
     FenceProxy},
    {"fence", "proxy async::generic release sync_restrict::shared::cta cluster", buildFence,
     FenceProxy},
    {"fence", "proxy tensormap::generic release " GIRIH_SCOPE, buildReleaseMaps},
    {"fence", "proxy tensormap::generic acquire " GIRIH_SCOPE, buildAcquireMap},
    {"membar", "cta|gl|sys", buildFence, FenceMemory},
    {"membar", "proxy alias", buildFence, FenceNothing},
    {"membar", "proxy async", buildFence, FenceProxy},
    {"prefetch", "tensormap param|const?", buildHint, 1},
    {"prefetch", "global|local? L1|L2", buildHint, 1},
    {"prefetch", "global L2::evict_last|L2::evict_normal", buildHint, 1},
    {"prefetchu", "L1", buildHint, 1},
    {"applypriority", "global? L2::evict_normal", buildLine, 0},
    {"discard", "global? L2", buildLine, 1},
    {"createpolicy",
     "fractional L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
     "L2::evict_first|L2::evict_unchanged? b64",
     buildPolicy, 2},
    {"createpolicy",
     "range global? L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
     "L2::evict_first|L2::evict_unchanged? b64",
     buildPolicy, 4},
    {"createpolicy", "cvt L2 b64", buildPolicy, 2},
};

} // namespace

std::span<const Form> fenceForms() { return forms; }

} // namespace girih::emu
