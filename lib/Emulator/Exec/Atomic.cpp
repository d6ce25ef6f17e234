// Atomics and reductions, one lane after another (PTX ISA 9.0, 9.7.13.5 "atom", 9.7.13.6 "red").
// Those on global memory run at the commit.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Address.h"
#include "Emulator/Exec/ReduceForms.h"

namespace girih::emu {

namespace {

/// Instr::sub, beside the ReduceOp: no arithmetic, only bytes.
constexpr uint8_t kExchange = kReduceOps, kCompare = kReduceOps + 1;
constexpr uint32_t kMostBytes = 16;

/// d[0] is the list's first entry for the old values, or kNone; s[1] the list of operands begins
/// `count` later; s[2] the value that cas stores. `bytes` of an element, `count` elements.
Step atomic(Context &c, const Instr &in) {
  uint64_t address[32];
  addresses(c, in, address);
  if (mustOrder(c, in, address))
    return order(c);
  if (c.cluster.counting()) [[unlikely]]
    c.cluster.countAccess(c, c.mask, in.space, address, in.bytes * in.count);
  const int32_t *list = c.cluster.kernel.lists.data() + in.list;
  const bool returns = in.width2;
  const int32_t *operands = list + (returns ? in.count : 0);
  const uint32_t bytes = in.bytes, total = bytes * in.count;
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint64_t a = address[lane];
    uint8_t operand[kMostBytes], old[kMostBytes], result[kMostBytes];
    for (unsigned e = 0; e < in.count; ++e)
      std::memcpy(operand + e * bytes, c.src<uint8_t>(operands[e]) + lane * bytes, bytes);
    auto combine = [&](bool global) {
      std::memcpy(result, old, total);
      if (in.sub == kExchange) {
        std::memcpy(result, operand, total);
      } else if (in.sub == kCompare) {
        if (!std::memcmp(old, operand, total))
          std::memcpy(result, c.src<uint8_t>(in.s[2]) + lane * bytes, bytes);
      } else {
        reduceFn(in.target, global)(result, operand, total / reduceElement(in.target));
      }
    };
    AddressSpace space = classify(in.space, a);
    if (space == AddressSpace::Shared && in.count == 1) {
      uint32_t offset = 0;
      Cta *target = c.cluster.sharedTarget(c, lane, a, total, offset, "updates");
      if (!target || misaligned(c, lane, offset, total, "shared", "updates"))
        return Step::Block;
      c.cluster.sharedStrong(c, *target, lane, offset, total, in.access);
      uint8_t *p = target->shared.data() + offset;
      std::memcpy(old, p, total);
      combine(false);
      c.cluster.progress += std::memcmp(old, result, total) != 0;
      std::memcpy(p, result, total);
    } else if (space == AddressSpace::Global) {
      if (!c.cluster.globalInBounds(a, total) &&
          !c.cluster.checkGlobal(c, lane, a, total, "updates"))
        return Step::Block;
      if (misaligned(c, lane, a, total, "global", "updates"))
        return Step::Block;
      c.cluster.readGlobal(a, old, total);
      combine(true);
      c.cluster.writeGlobal(a, result, total);
      c.cluster.noteGlobal(c, lane, a, total, total, in.access);
    } else {
      c.cluster.fault("atomic-space",
                      space == AddressSpace::Shared
                          ? "a vector atomic operation on shared memory, which has none"
                          : "an atomic operation on local or parameter memory",
                      {c.cluster.here(c, "updates", static_cast<int>(lane))});
      return Step::Block;
    }
    if (returns)
      for (unsigned e = 0; e < in.count; ++e)
        std::memcpy(c.dst<uint8_t>(list[e]) + lane * bytes, old + e * bytes, bytes);
  }
  return Step::Yield;
}

/// Adds the registers of an operand, {a, b, ...} or one, to the list.
bool listVector(Decoder &d, const ptx::Operand &operand, unsigned count, unsigned width,
                bool writes) {
  auto add = [&](const ptx::Operand &e) {
    d.listAdd(writes ? d.dest(e, width) : d.source(e, width));
  };
  if (count == 1) {
    add(operand);
    return true;
  }
  if (operand.kind != ptx::OperandKind::Vector || operand.elements.size() != count) {
    d.fail("expected a vector of " + std::to_string(count) + " registers");
    return false;
  }
  for (const ptx::Operand &e : operand.elements)
    add(e);
  return true;
}

void buildAtomic(Decoder &d, int variant) {
  const bool returns = variant == 0, exchange = d.has("exch"), compare = d.has("cas");
  const size_t base = returns ? 1 : 0, operands = base + (compare ? 3 : 2);
  const bool hint = d.has("L2::cache_hint");
  if (!d.expectOperands(operands + hint, operands + hint))
    return;
  const unsigned width = d.bytes(), count = d.has("v2") ? 2 : d.has("v4") ? 4 : d.has("v8") ? 8 : 1;
  d.out.bytes = static_cast<uint8_t>(width);
  d.out.count = static_cast<uint8_t>(count);
  d.address(d.operand(base), d.spaceModifier());
  d.listStart();
  // `_` as the destination of the whole makes a reduction of it.
  const bool sunk = returns && d.operand(0).kind == ptx::OperandKind::Sink;
  d.out.width2 = returns && !sunk;
  if (d.out.width2 && !listVector(d, d.operand(0), count, width, true))
    return;
  if (!listVector(d, d.operand(base + 1), count, width, false))
    return;
  if (compare)
    d.out.s[2] = d.source(base + 2, width);
  if (exchange || compare)
    d.out.sub = exchange ? kExchange : kCompare;
  else
    d.out.target = reduceIndex(d);
  d.out.access = accessFlags(d, true, true);
  d.out.exec = atomic;
}

#define GIRIH_SEMANTICS "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? "
#define GIRIH_RED "relaxed|release? cta|cluster|gpu|sys? "
#define GIRIH_SPACE "global|shared|shared::cta|shared::cluster? "
#define GIRIH_HINT "L2::cache_hint? "
const Form forms[] = {
    // The rows of the ISA's two tables of types: scalar, then vector (global memory only).
    {"atom", GIRIH_SEMANTICS GIRIH_SPACE GIRIH_HINT "add u32|s32|u64|f32|f64", buildAtomic, 0},
    {"atom", GIRIH_SEMANTICS GIRIH_SPACE GIRIH_HINT "min|max u32|s32|u64|s64", buildAtomic, 0},
    {"atom", GIRIH_SEMANTICS GIRIH_SPACE GIRIH_HINT "inc|dec u32", buildAtomic, 0},
    {"atom", GIRIH_SEMANTICS GIRIH_SPACE GIRIH_HINT "and|or|xor b32|b64", buildAtomic, 0},
    {"atom", GIRIH_SEMANTICS GIRIH_SPACE GIRIH_HINT "exch b32|b64|b128", buildAtomic, 0},
    {"atom", GIRIH_SEMANTICS GIRIH_SPACE "cas b16|b32|b64|b128", buildAtomic, 0},
    {"atom", GIRIH_SEMANTICS GIRIH_SPACE GIRIH_HINT "add noftz f16|bf16|f16x2|bf16x2", buildAtomic,
     0},
    {"atom", GIRIH_SEMANTICS "global? " GIRIH_HINT "add v2|v4 f32", buildAtomic, 0},
    {"atom", GIRIH_SEMANTICS "global? " GIRIH_HINT "add|min|max noftz v2|v4|v8 f16|bf16",
     buildAtomic, 0},
    {"atom", GIRIH_SEMANTICS "global? " GIRIH_HINT "add|min|max noftz v2|v4 f16x2|bf16x2",
     buildAtomic, 0},
    {"red", GIRIH_RED GIRIH_SPACE GIRIH_HINT "add u32|s32|u64|f32|f64", buildAtomic, 1},
    {"red", GIRIH_RED GIRIH_SPACE GIRIH_HINT "min|max u32|s32|u64|s64", buildAtomic, 1},
    {"red", GIRIH_RED GIRIH_SPACE GIRIH_HINT "inc|dec u32", buildAtomic, 1},
    {"red", GIRIH_RED GIRIH_SPACE GIRIH_HINT "and|or|xor b32|b64", buildAtomic, 1},
    {"red", GIRIH_RED GIRIH_SPACE GIRIH_HINT "add noftz f16|bf16|f16x2|bf16x2", buildAtomic, 1},
    {"red", GIRIH_RED "global? " GIRIH_HINT "add v2|v4 f32", buildAtomic, 1},
    {"red", GIRIH_RED "global? " GIRIH_HINT "add|min|max noftz v2|v4|v8 f16|bf16", buildAtomic, 1},
    {"red", GIRIH_RED "global? " GIRIH_HINT "add|min|max noftz v2|v4 f16x2|bf16x2", buildAtomic, 1},
};

} // namespace

std::span<const Form> atomicForms() { return forms; }

} // namespace girih::emu
