// Fences (PTX ISA 9.0, 9.7.13.4 "membar" and "fence") and what only steers caches (9.7.9.14 and
// following).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Lanes.h"

namespace girih::emu {

namespace {

// Orders of plain memory need no action: a warp sees its own writes, and the commit publishes them
// before any operation that waited for it. The proxy fence matters to the checks.
Step fenceMemory(Context &, const Instr &) { return Step::Next; }
Step fenceProxyAsync(Context &c, const Instr &) {
  c.warp.order.fenced.join(c.warp.order.seen);
  c.cluster.tick(c.warp);
  return Step::Next;
}
void buildFence(Decoder &d, int variant) {
  if (variant != 2 && !d.expectOperands(0, 0))
    return;
  d.out.exec = variant == 1 ? ExecFn(fenceProxyAsync) : ExecFn(fenceMemory);
}
Step nothing(Context &, const Instr &) { return Step::Next; }
/// Checked for the address's validity only when it is used.
void buildHint(Decoder &d, int) { d.out.exec = nothing; }

Step createPolicy(Context &c, const Instr &in) {
  uint64_t t[32] = {};
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
void buildPolicy(Decoder &d, int) {
  if (!d.expectOperands(1, 5))
    return;
  d.out.d[0] = d.dest(0, 8);
  d.out.exec = createPolicy;
}

const Form forms[] = {
    {"fence", "sc|acq_rel|acquire|release? cta|cluster|gpu|sys", buildFence, 0},
    {"fence", "acquire|release sync_restrict::shared::cta|sync_restrict::shared::cluster cluster",
     buildFence, 0},
    {"fence", "proxy async", buildFence, 1},
    {"fence",
     "proxy async::global|async|async.global|async.shared::cta|async.shared::cluster "
     "global|shared::cta|shared::cluster?",
     buildFence, 1},
    {"fence", "proxy alias", buildFence, 0},
    {"fence", "proxy tensormap::generic release cta|cluster|gpu|sys", buildFence, 0},
    {"fence", "proxy tensormap::generic acquire cta|cluster|gpu|sys", buildFence, 2},
    {"fence", "mbarrier_init release cluster", buildFence, 0},
    {"membar", "cta|gl|sys|proxy", buildFence, 0},
    {"prefetch", "tensormap param|const?", buildHint},
    {"prefetch", "global|local? L1|L2", buildHint},
    {"prefetch", "global L2::evict_last|L2::evict_normal", buildHint},
    {"prefetchu", "L1", buildHint},
    {"applypriority", "global? L2::evict_normal", buildHint},
    {"discard", "global? L2", buildHint},
    {"createpolicy",
     "fractional L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
     "L2::evict_first|L2::evict_unchanged? b64",
     buildPolicy},
    {"createpolicy",
     "range global? L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
     "L2::evict_first|L2::evict_unchanged? b64",
     buildPolicy},
};

} // namespace

std::span<const Form> fenceForms() { return forms; }

} // namespace girih::emu
