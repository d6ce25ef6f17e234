// Atomics and reductions, one lane after another (PTX ISA 9.0, 9.7.13.5 "atom", 9.7.13.6 "red").
// Those on global memory run at the commit.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Address.h"
#include "girih/Emulator/FloatFormats.h"

namespace girih::emu {

namespace {

using ptx::Type;

enum Operation { OpAdd, OpMin, OpMax, OpAnd, OpOr, OpXor, OpInc, OpDec, OpExch, OpCas };
constexpr std::initializer_list<std::string_view> operationNames = {
    "add", "min", "max", "and", "or", "xor", "inc", "dec", "exch", "cas"};

template <typename T> T combine(int op, T old, T b, T e) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
    case OpAdd:
      return old + b;
    case OpExch:
      return b;
    default:
      return std::bit_cast<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>(old) ==
                     std::bit_cast<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>(b)
                 ? e
                 : old;
    }
  } else {
    using U = std::make_unsigned_t<T>;
    switch (op) {
    case OpAdd:
      return static_cast<T>(static_cast<U>(old) + static_cast<U>(b));
    case OpMin:
      return std::min(old, b);
    case OpMax:
      return std::max(old, b);
    case OpAnd:
      return old & b;
    case OpOr:
      return old | b;
    case OpXor:
      return old ^ b;
    case OpInc:
      return static_cast<U>(old) >= static_cast<U>(b) ? T(0) : static_cast<T>(old + 1);
    case OpDec:
      return old == 0 || static_cast<U>(old) > static_cast<U>(b) ? b : static_cast<T>(old - 1);
    case OpExch:
      return b;
    default:
      return old == b ? e : old;
    }
  }
}
template <bool brain> uint32_t addPacked(uint32_t a, uint32_t b) {
  auto half = [](uint32_t x, uint32_t y) -> uint32_t {
    uint16_t p = static_cast<uint16_t>(x), q = static_cast<uint16_t>(y);
    return brain ? floatToBf16(bf16ToFloat(p) + bf16ToFloat(q))
                 : floatToF16(f16ToFloat(p) + f16ToFloat(q));
  };
  return half(a, b) | half(a >> 16, b >> 16) << 16;
}
struct PackedHalf {
  uint32_t bits;
};
struct PackedBrain {
  uint32_t bits;
};
template <> PackedHalf combine(int, PackedHalf old, PackedHalf b, PackedHalf) {
  return {addPacked<false>(old.bits, b.bits)};
}
template <> PackedBrain combine(int, PackedBrain old, PackedBrain b, PackedBrain) {
  return {addPacked<true>(old.bits, b.bits)};
}

template <typename T> Step atomic(Context &c, const Instr &in) {
  uint64_t address[32];
  addresses(c, in, address);
  if (mustOrder(c, in, address))
    return order(c);
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint64_t a = address[lane];
    T old, b = c.src<T>(in.s[1])[lane], e = in.s[2] == kNone ? T() : c.src<T>(in.s[2])[lane];
    AddressSpace space = classify(in.space, a);
    if (space == AddressSpace::Shared) {
      uint32_t offset = 0;
      Cta *target = c.cluster.sharedTarget(c, lane, a, sizeof(T), offset, "updates");
      if (!target || misaligned(c, lane, offset, sizeof(T), "shared", "updates"))
        return Step::Block;
      c.cluster.atomicOrder(c, *target, lane, offset, sizeof(T));
      uint8_t *p = target->shared.data() + offset;
      std::memcpy(&old, p, sizeof(T));
      T result = combine<T>(in.sub, old, b, e);
      c.cluster.progress += std::memcmp(&old, &result, sizeof(T)) != 0;
      std::memcpy(p, &result, sizeof(T));
    } else if (space == AddressSpace::Global) {
      if (!c.cluster.globalInBounds(a, sizeof(T)) &&
          !c.cluster.checkGlobal(c, lane, a, sizeof(T), "updates"))
        return Step::Block;
      if (misaligned(c, lane, a, sizeof(T), "global", "updates"))
        return Step::Block;
      c.cluster.readGlobal(a, &old, sizeof(T));
      T result = combine<T>(in.sub, old, b, e);
      c.cluster.writeGlobal(a, &result, sizeof(T));
    } else {
      c.cluster.fault("atomic-space", "an atomic operation on local or parameter memory",
                      {c.cluster.here(c, "updates", static_cast<int>(lane))});
      return Step::Block;
    }
    if (in.d[0] != kNone)
      c.dst<T>(in.d[0])[lane] = old;
  }
  return Step::Yield;
}
void buildAtomic(Decoder &d, int variant) {
  bool returns = variant == 0;
  int op = d.which(operationNames);
  size_t base = returns ? 1 : 0;
  if (!d.expectOperands(base + (op == OpCas ? 3 : 2), base + (op == OpCas ? 4 : 3)))
    return;
  unsigned width = d.bytes();
  if (returns)
    d.out.d[0] = d.dest(0, width);
  d.address(d.operand(base), d.spaceModifier());
  d.out.s[1] = d.source(base + 1, width);
  if (op == OpCas)
    d.out.s[2] = d.source(base + 2, width);
  d.out.sub = static_cast<uint8_t>(op);
  switch (d.type()) {
  case Type::S32:
    d.out.exec = atomic<int32_t>;
    break;
  case Type::S64:
    d.out.exec = atomic<int64_t>;
    break;
  case Type::U64:
  case Type::B64:
    d.out.exec = atomic<uint64_t>;
    break;
  case Type::F32:
    d.out.exec = atomic<float>;
    break;
  case Type::F64:
    d.out.exec = atomic<double>;
    break;
  case Type::F16x2:
    d.out.exec = atomic<PackedHalf>;
    break;
  case Type::BF16x2:
    d.out.exec = atomic<PackedBrain>;
    break;
  case Type::B16:
    d.out.exec = atomic<uint16_t>;
    break;
  default:
    d.out.exec = atomic<uint32_t>;
  }
}

#define GIRIH_SCOPES "cta|cluster|gpu|sys?"
const Form forms[] = {
    {"atom",
     "relaxed|acquire|release|acq_rel? " GIRIH_SCOPES
     " global|shared|shared::cta|shared::cluster? add|min|max|inc|dec|and|or|xor|exch|cas "
     "b16|b32|b64|u32|u64|s32|s64",
     buildAtomic, 0, true},
    {"atom",
     "relaxed|acquire|release|acq_rel? " GIRIH_SCOPES
     " global|shared|shared::cta|shared::cluster? add noftz? f32|f64|f16x2|bf16x2",
     buildAtomic, 0, true},
    {"atom",
     "relaxed|acquire|release|acq_rel? " GIRIH_SCOPES
     " global|shared|shared::cta|shared::cluster? exch|cas f32|f64",
     buildAtomic, 0, true},
    {"red",
     "relaxed|release? " GIRIH_SCOPES " global|shared|shared::cta|shared::cluster? "
     "add|min|max|inc|dec|and|or|xor b32|b64|u32|u64|s32|s64",
     buildAtomic, 1, true},
    {"red",
     "relaxed|release? " GIRIH_SCOPES
     " global|shared|shared::cta|shared::cluster? add noftz? f32|f64|f16x2|bf16x2",
     buildAtomic, 1, true},
};

} // namespace

std::span<const Form> atomicForms() { return forms; }

} // namespace girih::emu
