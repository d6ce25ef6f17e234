// Loads, stores and atomics (PTX ISA 9.0, 9.7.9.8 "ld", 9.7.9.11 "st", 9.7.13.4 to 9.7.13.6 "atom",
// "red", "fence").
//
// Operations on global memory that order threads (volatile, relaxed, acquire, release, atomics)
// wait for the commit at the quantum's end, where they run in cluster order.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Lanes.h"
#include "girih/Emulator/FloatFormats.h"

#include <cmath>

namespace girih::emu {

namespace {

using ptx::OperandKind;
using ptx::Type;

/// Lane addresses: base register plus offset.
inline void addresses(const Context &c, const Instr &in, uint64_t *out) {
  if (in.s[0] == kNone) {
    for (unsigned i = 0; i < 32; ++i)
      out[i] = static_cast<uint64_t>(in.imm);
  } else if (in.width == 4) {
    const uint32_t *base = c.src<uint32_t>(in.s[0]);
    for (unsigned i = 0; i < 32; ++i)
      out[i] = static_cast<uint32_t>(base[i] + static_cast<uint32_t>(in.imm));
  } else {
    const uint64_t *base = c.src<uint64_t>(in.s[0]);
    for (unsigned i = 0; i < 32; ++i)
      out[i] = base[i] + static_cast<uint64_t>(in.imm);
  }
}

AddressSpace classify(AddressSpace space, uint64_t &address) {
  if (space != AddressSpace::Generic)
    return space;
  uint64_t window = address & ~(kWindowBytes - 1);
  if (window == kSharedWindow) {
    address -= kSharedWindow;
    return AddressSpace::Shared;
  }
  if (window == kLocalWindow) {
    address -= kLocalWindow;
    return AddressSpace::Local;
  }
  if (window == kParamWindow)
    return AddressSpace::Param;
  return AddressSpace::Global;
}

/// Collects neighbouring shared-memory accesses of a warp into runs, so that the shadow sees few
/// and whole pieces.
struct Runs {
  Context &c;
  bool writes;
  Cta *cta = nullptr;
  uint32_t begin = 0, end = 0, lane = 0;
  void add(Cta *target, uint32_t offset, uint32_t bytes, uint32_t byLane) {
    if (target == cta && offset == end) {
      end += bytes;
      return;
    }
    if (target == cta && offset >= begin && offset + bytes <= end && !writes)
      return;
    flush();
    cta = target;
    begin = offset;
    end = offset + bytes;
    lane = byLane;
  }
  void flush() {
    if (cta) {
      if (writes)
        c.cluster.sharedWrite(c, *cta, lane, begin, end - begin);
      else
        c.cluster.sharedRead(c, *cta, lane, begin, end - begin);
    }
    cta = nullptr;
  }
};

bool localInBounds(Context &c, unsigned lane, uint64_t address, uint32_t bytes, const char *what) {
  uint32_t size = c.cluster.kernel.localBytes;
  if (address + bytes <= size && address < size)
    return true;
  Site here = c.cluster.here(c, what, static_cast<int>(lane));
  here.space = "local";
  here.address = address;
  here.bytes = bytes;
  c.cluster.fault("local-out-of-bounds",
                  "access to local memory at offset " + std::to_string(address) + " of " +
                      std::to_string(size) + " bytes",
                  {here});
  return false;
}

/// Do the lanes of a whole warp name one aligned, contiguous run of global memory? Most accesses do.
bool contiguousGlobal(Context &c, const Instr &in, const uint64_t *address, uint32_t total) {
  if (c.mask != kFullMask || (in.space != AddressSpace::Global && in.space != AddressSpace::Generic))
    return false;
  uint64_t first = address[0], difference = 0;
  for (unsigned i = 0; i < 32; ++i)
    difference |= address[i] - (first + uint64_t(i) * total);
  return difference == 0 && first >= kGlobalBase && first % total == 0 && c.cluster.globalInBounds(first, 32u * total);
}

bool misaligned(Context &c, unsigned lane, uint64_t address, uint32_t bytes, const char *space,
                const char *what) {
  if (address % bytes == 0)
    return false;
  Site here = c.cluster.here(c, what, static_cast<int>(lane));
  here.space = space;
  here.address = address;
  here.bytes = bytes;
  c.cluster.fault("misaligned",
                  std::string("the address of a ") + std::to_string(bytes) +
                      "-byte access is not a multiple of " + std::to_string(bytes),
                  {here});
  return true;
}

/// Puts the instruction off until the commit if a lane of it touches global memory.
bool mustOrder(Context &c, const Instr &in, const uint64_t *address) {
  if (c.committing)
    return false;
  if (in.space == AddressSpace::Global)
    return true;
  if (in.space != AddressSpace::Generic)
    return false;
  for (uint32_t m = c.mask; m; m &= m - 1) {
    uint64_t a = address[__builtin_ctz(m)];
    if (classify(AddressSpace::Generic, a) == AddressSpace::Global)
      return true;
  }
  return false;
}
Step order(Context &c) {
  c.frag().wait = Wait::Ordered;
  return Step::Block;
}

constexpr uint8_t kOrdered = 1, kYields = 2;

template <typename M, typename R> inline R extendTo(M value) { return static_cast<R>(value); }

/// M: type in memory (signed if it is to be sign-extended); R: the register's unsigned type.
template <typename M, typename R> Step load(Context &c, const Instr &in) {
  uint64_t address[32];
  addresses(c, in, address);
  if ((in.sub & kOrdered) && mustOrder(c, in, address))
    return order(c);
  const uint32_t total = sizeof(M) * in.count;
  const int32_t *list = c.cluster.kernel.lists.data() + in.list;
  if (in.space == AddressSpace::Param && in.s[0] == kNone &&
      static_cast<uint64_t>(in.imm) - kParamWindow + total <= c.cluster.launch.params.size()) {
    // A parameter by name: one value for all lanes.
    for (unsigned e = 0; e < in.count; ++e) {
      M value;
      std::memcpy(&value, c.cluster.launch.params.data() + (in.imm - kParamWindow) + e * sizeof(M), sizeof(M));
      R t[32];
      std::fill(std::begin(t), std::end(t), static_cast<R>(value));
      storeLanes(c, list[e], t);
    }
    return Step::Next;
  }
  if (contiguousGlobal(c, in, address, total)) {
    M run[32 * 8];
    c.cluster.readGlobal(address[0], run, 32 * total);
    for (unsigned e = 0; e < in.count; ++e) {
      R t[32];
      for (unsigned i = 0; i < 32; ++i)
        t[i] = static_cast<R>(run[i * in.count + e]);
      storeLanes(c, list[e], t);
    }
    return in.sub & kYields ? Step::Yield : Step::Next;
  }
  M values[8][32];
  Runs runs{c, false};
  const bool check = c.cluster.checking();
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint64_t a = address[lane];
    M piece[8];
    switch (classify(in.space, a)) {
    case AddressSpace::Shared: {
      uint32_t offset = 0;
      Cta *target = c.cluster.sharedTarget(c, lane, a, total, offset, "reads");
      if (!target)
        return Step::Block;
      if (misaligned(c, lane, offset, total, "shared", "reads"))
        return Step::Block;
      if (in.sub & kOrdered)
        c.cluster.atomicOrder(c, *target, lane, offset, total, false);
      else if (check)
        runs.add(target, offset, total, lane);
      std::memcpy(piece, target->shared.data() + offset, total);
      break;
    }
    case AddressSpace::Param:
      a -= kParamWindow;
      if (a + total > c.cluster.launch.params.size()) {
        c.cluster.fault("param-out-of-bounds", "read past the kernel's parameters",
                        {c.cluster.here(c, "reads", static_cast<int>(lane))});
        return Step::Block;
      }
      std::memcpy(piece, c.cluster.launch.params.data() + a, total);
      break;
    case AddressSpace::Local:
      if (!localInBounds(c, lane, a, total, "reads"))
        return Step::Block;
      std::memcpy(piece, c.warp.local.data() + size_t(lane) * c.cluster.kernel.localBytes + a,
                  total);
      break;
    default:
      if (!c.cluster.globalInBounds(a, total) && !c.cluster.checkGlobal(c, lane, a, total, "reads"))
        return Step::Block;
      if (misaligned(c, lane, a, total, "global", "reads"))
        return Step::Block;
      c.cluster.readGlobal(a, piece, total);
    }
    for (unsigned e = 0; e < in.count; ++e)
      values[e][lane] = piece[e];
  }
  if (check)
    runs.flush();
  for (unsigned e = 0; e < in.count; ++e) {
    R t[32];
    for (unsigned i = 0; i < 32; ++i)
      t[i] = static_cast<R>(values[e][i]);
    storeLanes(c, list[e], t);
  }
  return in.sub & kYields ? Step::Yield : Step::Next;
}

template <typename M, typename R> Step store(Context &c, const Instr &in) {
  uint64_t address[32];
  addresses(c, in, address);
  if ((in.sub & kOrdered) && mustOrder(c, in, address))
    return order(c);
  const uint32_t total = sizeof(M) * in.count;
  const int32_t *list = c.cluster.kernel.lists.data() + in.list;
  if (contiguousGlobal(c, in, address, total)) {
    M run[32 * 8];
    for (unsigned e = 0; e < in.count; ++e) {
      const R *v = c.src<R>(list[e]);
      for (unsigned i = 0; i < 32; ++i)
        run[i * in.count + e] = static_cast<M>(v[i]);
    }
    c.cluster.writeGlobal(address[0], run, 32 * total);
    ++c.cluster.progress;
    return in.sub & kYields ? Step::Yield : Step::Next;
  }
  Runs runs{c, true};
  const bool check = c.cluster.checking();
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint64_t a = address[lane];
    M piece[8];
    for (unsigned e = 0; e < in.count; ++e)
      piece[e] = static_cast<M>(c.src<R>(list[e])[lane]);
    switch (classify(in.space, a)) {
    case AddressSpace::Shared: {
      uint32_t offset = 0;
      Cta *target = c.cluster.sharedTarget(c, lane, a, total, offset, "writes");
      if (!target)
        return Step::Block;
      if (misaligned(c, lane, offset, total, "shared", "writes"))
        return Step::Block;
      if (in.sub & kOrdered)
        c.cluster.atomicOrder(c, *target, lane, offset, total, true);
      else if (check)
        runs.add(target, offset, total, lane);
      std::memcpy(target->shared.data() + offset, piece, total);
      break;
    }
    case AddressSpace::Local:
      if (!localInBounds(c, lane, a, total, "writes"))
        return Step::Block;
      std::memcpy(c.warp.local.data() + size_t(lane) * c.cluster.kernel.localBytes + a, piece,
                  total);
      break;
    case AddressSpace::Param:
      c.cluster.fault("param-write", "write to a kernel parameter",
                      {c.cluster.here(c, "writes", static_cast<int>(lane))});
      return Step::Block;
    default:
      if (!c.cluster.globalInBounds(a, total) &&
          !c.cluster.checkGlobal(c, lane, a, total, "writes"))
        return Step::Block;
      if (misaligned(c, lane, a, total, "global", "writes"))
        return Step::Block;
      c.cluster.writeGlobal(a, piece, total);
    }
  }
  if (check)
    runs.flush();
  ++c.cluster.progress;
  return in.sub & kYields ? Step::Yield : Step::Next;
}

template <template <typename, typename> class Pick> ExecFn pickAccess(Type type, unsigned width) {
  switch (type) {
  case Type::S8:
    return width == 2   ? Pick<int8_t, uint16_t>::fn
           : width == 4 ? Pick<int8_t, uint32_t>::fn
                        : Pick<int8_t, uint64_t>::fn;
  case Type::S16:
    return width == 2   ? Pick<int16_t, uint16_t>::fn
           : width == 4 ? Pick<int16_t, uint32_t>::fn
                        : Pick<int16_t, uint64_t>::fn;
  case Type::S32:
    return width == 4 ? Pick<int32_t, uint32_t>::fn : Pick<int32_t, uint64_t>::fn;
  default:
    break;
  }
  switch (ptx::typeBytes(type)) {
  case 1:
    return width == 2   ? Pick<uint8_t, uint16_t>::fn
           : width == 4 ? Pick<uint8_t, uint32_t>::fn
                        : Pick<uint8_t, uint64_t>::fn;
  case 2:
    return width == 2   ? Pick<uint16_t, uint16_t>::fn
           : width == 4 ? Pick<uint16_t, uint32_t>::fn
                        : Pick<uint16_t, uint64_t>::fn;
  case 4:
    return width == 4 ? Pick<uint32_t, uint32_t>::fn : Pick<uint32_t, uint64_t>::fn;
  default:
    return Pick<uint64_t, uint64_t>::fn;
  }
}
template <typename M, typename R> struct PickLoad {
  static constexpr ExecFn fn = load<M, R>;
};
template <typename M, typename R> struct PickStore {
  static constexpr ExecFn fn = store<M, R>;
};

void orderingOf(Decoder &d) {
  bool orders = d.has("volatile") || d.has("relaxed") || d.has("acquire") || d.has("release") ||
                d.has("mmio");
  d.out.sub |= orders ? kOrdered | kYields : 0;
}
/// The data operand(s), one register each; all of one width.
void dataOperands(Decoder &d, const ptx::Operand &data, bool isLoad) {
  unsigned count = d.has("v2") ? 2 : d.has("v4") ? 4 : d.has("v8") ? 8 : 1;
  unsigned width = std::max(2u, d.bytes());
  d.out.count = static_cast<uint8_t>(count);
  d.listStart();
  std::vector<const ptx::Operand *> elements;
  if (data.kind == OperandKind::Vector)
    for (const ptx::Operand &e : data.elements)
      elements.push_back(&e);
  else
    elements.push_back(&data);
  if (elements.size() != count)
    return d.fail("a vector of " + std::to_string(elements.size()) + " registers where " +
                  std::to_string(count) + " are needed");
  uint8_t common = 0;
  for (const ptx::Operand *e : elements)
    if (e->kind == OperandKind::Register) {
      uint8_t w = 0;
      isLoad ? static_cast<void>(d.dest(*e, width, &w))
             : static_cast<void>(d.source(*e, width, &w));
      if (common && common != w)
        return d.fail("registers of different widths in one vector");
      common = w;
    }
  if (!common)
    common = static_cast<uint8_t>(width);
  if (common < d.bytes())
    return d.fail("a register narrower than the type");
  for (const ptx::Operand *e : elements) {
    uint8_t w = 0;
    d.listAdd(isLoad ? d.dest(*e, common, &w) : d.source(*e, common, &w));
  }
  d.out.width2 = common;
}
void buildLoad(Decoder &d, int) {
  if (!d.expectOperands(2, 3))
    return;
  d.address(d.operand(1), d.spaceModifier());
  if (d.bytes() == 16)
    return d.fail("128-bit accesses (.b128) are not modelled");
  d.out.sub = 0x80;
  orderingOf(d);
  dataOperands(d, d.operand(0), true);
  if (d.failed())
    return;
  d.out.exec = pickAccess<PickLoad>(d.type(), d.out.width2);
}
void buildStore(Decoder &d, int) {
  if (!d.expectOperands(2, 3))
    return;
  d.address(d.operand(0), d.spaceModifier());
  if (d.bytes() == 16)
    return d.fail("128-bit accesses (.b128) are not modelled");
  orderingOf(d);
  dataOperands(d, d.operand(1), false);
  if (d.failed())
    return;
  d.out.exec = pickAccess<PickStore>(d.type(), d.out.width2);
}

// Atomics: one lane after another.
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

#define GIRIH_TYPES "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"
#define GIRIH_SCOPES "cta|cluster|gpu|sys?"
const Form forms[] = {
    {"ld",
     "weak? global|shared|shared::cta|shared::cluster|local|const|param|param::entry? "
     "v2|v4|v8? " GIRIH_TYPES,
     buildLoad, 0, true},
    {"ld", "volatile global|shared|shared::cta|local? v2|v4? " GIRIH_TYPES, buildLoad, 0, true},
    {"ld",
     "relaxed|acquire cta|cluster|gpu|sys global|shared|shared::cta|shared::cluster? "
     "v2|v4|v8? " GIRIH_TYPES,
     buildLoad, 0, true},
    {"ld", "mmio relaxed sys global? " GIRIH_TYPES, buildLoad, 0, true},
    {"ldu", "global? v2|v4? " GIRIH_TYPES, buildLoad, 0, true},
    {"st", "weak? global|shared|shared::cta|shared::cluster|local? v2|v4|v8? " GIRIH_TYPES,
     buildStore, 0, true},
    {"st", "volatile global|shared|shared::cta|local? v2|v4? " GIRIH_TYPES, buildStore, 0, true},
    {"st",
     "relaxed|release cta|cluster|gpu|sys global|shared|shared::cta|shared::cluster? "
     "v2|v4|v8? " GIRIH_TYPES,
     buildStore, 0, true},
    {"st", "mmio relaxed sys global? " GIRIH_TYPES, buildStore, 0, true},
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

std::span<const Form> memoryForms() { return forms; }

} // namespace girih::emu
