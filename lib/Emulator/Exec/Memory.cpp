// Loads and stores (PTX ISA 9.0, 9.7.9.8 "ld", 9.7.9.11 "st").
//
// Operations on global memory that order threads (volatile, relaxed, acquire, release, atomics)
// wait for the commit at the quantum's end, where they run in cluster order.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Address.h"

namespace girih::emu {

namespace {

using ptx::OperandKind;
using ptx::Type;

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

/// Do the lanes of a whole warp name one aligned, contiguous run of global memory? Most accesses
/// do.
bool contiguousGlobal(Context &c, const Instr &in, const uint64_t *address, uint32_t total) {
  if (c.mask != kFullMask ||
      (in.space != AddressSpace::Global && in.space != AddressSpace::Generic))
    return false;
  uint64_t first = address[0], difference = 0;
  for (unsigned i = 0; i < 32; ++i)
    difference |= address[i] - (first + uint64_t(i) * total);
  return difference == 0 && first >= kGlobalBase && first % total == 0 &&
         c.cluster.globalInBounds(first, 32u * total);
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
      std::memcpy(&value, c.cluster.launch.params.data() + (in.imm - kParamWindow) + e * sizeof(M),
                  sizeof(M));
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

#define GIRIH_TYPES "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"
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
};

} // namespace

std::span<const Form> memoryForms() { return forms; }

} // namespace girih::emu
