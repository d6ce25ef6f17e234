// Loads and stores (PTX ISA 9.0, 9.7.9.8 "ld", 9.7.9.11 "st").
//
// Operations on global memory that order threads (volatile, relaxed, acquire, release, atomics)
// wait for the commit at the quantum's end, where they run in cluster order.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/Memory.cpp"
#include "Emulator/Exec/Targets.h"

#include "Emulator/Exec/Address.h"

GIRIH_TARGET_BEGIN

namespace {

using ptx::OperandKind;
using ptx::Type;
/// A .b128 register.
using Wide = unsigned __int128;

/// Collects neighbouring shared-memory accesses of a warp into runs, so that the shadow sees few
/// and whole pieces.
struct Runs {
  Context &c;
  uint16_t access;
  Cta *cta = nullptr; ///< null for global memory
  uint64_t begin = 0, end = 0;
  uint32_t lane = 0, next = 0, laneBytes = 0;
  bool unchanged = false; ///< stores of what was there
  /// Lanes that follow each other in memory make one run, and those that name the same bytes.
  void add(Cta *target, uint64_t address, uint32_t bytes, uint32_t byLane, bool same) {
    if (target == cta && laneBytes == bytes && same == unchanged) {
      if (address == end && byLane == next) {
        end += bytes;
        ++next;
        return;
      }
      if (address == begin && end - begin == bytes) {
        lane = kSeveral;
        next = ~0u;
        return;
      }
    }
    flush();
    cta = target;
    begin = address;
    end = address + bytes;
    lane = byLane;
    next = byLane + 1;
    laneBytes = bytes;
    unchanged = same;
  }
  void flush() {
    const uint32_t bytes = static_cast<uint32_t>(end - begin);
    const uint32_t at = static_cast<uint32_t>(begin);
    if (!laneBytes)
      return;
    if (!cta)
      c.cluster.noteGlobal(c, lane, begin, bytes, laneBytes, access);
    else if (access & kAccessWrite)
      c.cluster.sharedWrite(c, *cta, lane, at, bytes, laneBytes, unchanged);
    else
      c.cluster.sharedRead(c, *cta, lane, at, bytes, laneBytes);
    laneBytes = 0;
  }
  static constexpr uint32_t kSeveral = 32;
};

bool localInBounds(Context &c, unsigned lane, uint64_t address, uint32_t bytes, const char *what) {
  uint32_t size = c.warp.localBytes;
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
[[gnu::always_inline]] inline bool contiguousGlobal(Context &c, const Instr &in,
                                                    const uint64_t *address, uint32_t total) {
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

/// Where a lane's access goes.
struct Place {
  AddressSpace space = AddressSpace::Global;
  Cta *cta = nullptr;          ///< shared memory
  uint8_t *bytes = nullptr;    ///< not for global memory
  uint64_t address = 0;        ///< offset in its space; of global memory the address
  DefinedBits *bits = nullptr; ///< with checks: of shared and local memory
};

/// Checks one lane's access and finds its bytes. False: reported, the cluster has stopped.
[[gnu::always_inline]] inline bool place(Context &c, const Instr &in, unsigned lane,
                                         uint64_t address, uint32_t bytes, bool writes,
                                         Place &out) {
  const char *what = writes ? "writes" : "reads";
  const bool check = c.cluster.checking();
  out.space = classify(in.space, address);
  switch (out.space) {
  case AddressSpace::Shared: {
    uint32_t offset = 0;
    out.cta = c.cluster.sharedTarget(c, lane, address, bytes, offset, what);
    if (!out.cta)
      return false;
    if (misaligned(c, lane, offset, bytes, "shared", what))
      return false;
    out.address = offset;
    out.bytes = out.cta->shared.data() + offset;
    out.bits = check ? &out.cta->sharedDefined : nullptr;
    return true;
  }
  case AddressSpace::Local: {
    if (!localInBounds(c, lane, address, bytes, what) ||
        misaligned(c, lane, address, bytes, "local", what))
      return false;
    out.address = size_t(lane) * c.warp.localBytes + address;
    out.bytes = c.warp.local.data() + out.address;
    out.bits = check ? &c.warp.localDefined : nullptr;
    return true;
  }
  case AddressSpace::Param:
    if (writes) {
      c.cluster.fault("param-write", "write to a kernel parameter",
                      {c.cluster.here(c, what, static_cast<int>(lane))});
      return false;
    }
    out.address = address & (kWindowBytes - 1); // see cvta: a 32-bit register drops the window
    if (out.address + bytes > c.cluster.launch.params.size()) {
      c.cluster.fault("param-out-of-bounds", "read past the kernel's parameters",
                      {c.cluster.here(c, what, static_cast<int>(lane))});
      return false;
    }
    // Parameters are only read.
    out.bytes = const_cast<uint8_t *>(c.cluster.launch.params.data()) + out.address;
    return true;
  default:
    out.address = address;
    return (c.cluster.globalInBounds(address, bytes) ||
            c.cluster.checkGlobal(c, lane, address, bytes, what)) &&
           !misaligned(c, lane, address, bytes, "global", what);
  }
}

/// Tells the checks of one lane's access; `unchanged`: a store of what is there.
void note(Context &c, const Instr &in, Runs &runs, const Place &at, unsigned lane, uint32_t bytes,
          bool unchanged = false) {
  if (at.space != AddressSpace::Shared && at.space != AddressSpace::Global &&
      at.space != AddressSpace::Generic)
    return;
  if (!(in.access & kAccessStrong))
    runs.add(at.cta, at.address, bytes, lane, unchanged);
  else if (at.cta)
    c.cluster.sharedStrong(c, *at.cta, lane, static_cast<uint32_t>(at.address), bytes, in.access);
  else
    c.cluster.noteGlobal(c, lane, at.address, bytes, bytes, in.access);
}

/// Marks what a lane has loaded. `byteBits(i)`: the undefined bits of byte i in memory.
template <typename M, typename R, typename F>
void passLoaded(Context &c, const Instr &in, const int32_t *list, unsigned lane, F byteBits) {
  Definedness &defined = c.warp.defined;
  for (unsigned e = 0; e < in.count; ++e) {
    ValueBits bits = 0;
    for (unsigned i = 0; i < sizeof(M); ++i)
      bits |= ValueBits(byteBits(e * sizeof(M) + i)) << (8 * i);
    // An extended value depends on its top bit.
    if (sizeof(M) < sizeof(R) && std::is_signed_v<M> && bits >> (8 * sizeof(M) - 1) & 1)
      bits |= ~lowBits(8 * sizeof(M));
    defined.setBits(slotOf(list[e]), lane, bits, bitsOfWidth(sizeof(R)), c.pc);
  }
}
/// The same where whole bytes are defined or not, a bit for each.
template <typename M, typename R>
void passLoadedBytes(Context &c, const Instr &in, const int32_t *list, unsigned lane,
                     uint64_t undefined) {
  passLoaded<M, R>(c, in, list, lane, [&](unsigned i) { return undefined >> i & 1 ? 0xffu : 0u; });
}

/// M: type in memory (signed if it is to be sign-extended); R: the register's unsigned type.
template <typename M, typename R> Step load(Context &c, const Instr &in) {
  const uint32_t total = sizeof(M) * in.count;
  const int32_t *list = c.cluster.kernel.lists.data() + in.list;
  const bool check = c.cluster.checking();
  const Step next = in.sub & kYields ? Step::Yield : Step::Next;
  if (in.space == AddressSpace::Param && in.s[0] == kNone &&
      static_cast<uint64_t>(in.imm) - kParamWindow + total <= c.cluster.launch.params.size()) {
    // A parameter by name: one value for all lanes.
    for (unsigned e = 0; e < in.count; ++e) {
      M value;
      std::memcpy(&value, c.cluster.launch.params.data() + (in.imm - kParamWindow) + e * sizeof(M),
                  sizeof(M));
      R t[32];
      for (R &lane : t)
        lane = static_cast<R>(value);
      storeLanes(c, list[e], t);
      c.setDefined(list[e]);
    }
    return next;
  }
  alignas(64) uint64_t address[32];
  addresses(c, in, address);
  if ((in.sub & kOrdered) && mustOrder(c, in, address))
    return order(c);
  if (c.cluster.counting()) [[unlikely]]
    c.cluster.countAccess(c, c.mask, in.space, address, sizeof(M) * in.count);
  if (contiguousGlobal(c, in, address, total)) {
    alignas(64) M run[32 * 4];
    c.cluster.readGlobal(address[0], run, 32 * total);
    for (unsigned e = 0; e < in.count; ++e) {
      if (in.count == 1 && sizeof(M) == sizeof(R)) {
        std::memcpy(c.dst<R>(list[0]), run, sizeof(R) * 32);
      } else {
        R t[32];
        for (unsigned i = 0; i < 32; ++i)
          t[i] = static_cast<R>(run[i * in.count + e]);
        storeLanes(c, list[e], t);
      }
      c.setDefined(list[e]);
    }
    if (in.access & kAccessStrong)
      for (unsigned lane = 0; lane < 32; ++lane)
        c.cluster.noteGlobal(c, lane, address[lane], total, total, in.access);
    else if (check)
      c.cluster.noteGlobal(c, 0, address[0], 32 * total, total, in.access);
    if (check && !c.cluster.globalDefined(address[0], 32 * total)) [[unlikely]]
      for (unsigned lane = 0; lane < 32; ++lane)
        passLoadedBytes<M, R>(c, in, list, lane, c.cluster.globalUndefined(address[lane], total));
    return next;
  }
  M values[4][32];
  uint64_t undefined[32] = {};
  uint64_t anyUndefined = 0;
  // Where lanes with undefined bytes have read them; nullptr in global memory.
  const DefinedBits *bits[32];
  uint64_t offsets[32];
  Runs runs{c, in.access};
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    Place at;
    if (!place(c, in, lane, address[lane], total, false, at))
      return Step::Block;
    M piece[4];
    if (at.bytes)
      std::memcpy(piece, at.bytes, total);
    else
      c.cluster.readGlobal(at.address, piece, total);
    if (check) {
      note(c, in, runs, at, lane, total);
      if (at.bits)
        undefined[lane] = at.bits->undefinedMask(at.address, total);
      else if (!at.bytes)
        undefined[lane] = c.cluster.globalUndefined(at.address, total);
      if (undefined[lane] && at.cta)
        c.cluster.readUndefinedShared(c, *at.cta, lane, static_cast<uint32_t>(at.address), total);
      anyUndefined |= undefined[lane];
      bits[lane] = at.bits;
      offsets[lane] = at.address;
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
    c.setDefined(list[e]);
  }
  if (anyUndefined) [[unlikely]]
    for (uint32_t m = c.mask; m; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      if (bits[lane])
        passLoaded<M, R>(c, in, list, lane,
                         [&](unsigned i) { return bits[lane]->undefinedBits(offsets[lane] + i); });
      else
        passLoadedBytes<M, R>(c, in, list, lane, undefined[lane]);
    }
  return next;
}

/// Undefined bits of what a lane stores in element `e`.
template <typename M>
ValueBits storedUndefined(Context &c, const int32_t *list, unsigned lane, unsigned e) {
  return list[e] >= 0 ? c.warp.defined.bits(slotOf(list[e]), lane) & lowBits(8 * sizeof(M)) : 0;
}
/// An element whose first byte is undefined must not reach global memory. Padding may, which lies
/// behind something in the element that a compiler copies it with; so may bits of a byte.
template <typename M>
void checkStored(Context &c, const Instr &in, const int32_t *list, unsigned lane) {
  for (unsigned e = 0; e < in.count; ++e)
    if ((storedUndefined<M>(c, list, lane, e) & 0xff) == 0xff) {
      c.cluster.reportUndefined(c, "a value stored to global memory is", lane,
                                c.warp.defined.origin(slotOf(list[e])));
      return;
    }
}

template <typename M, typename R> Step store(Context &c, const Instr &in) {
  alignas(64) uint64_t address[32];
  addresses(c, in, address);
  if ((in.sub & kOrdered) && mustOrder(c, in, address))
    return order(c);
  if (c.cluster.counting()) [[unlikely]]
    c.cluster.countAccess(c, c.mask, in.space, address, sizeof(M) * in.count);
  const uint32_t total = sizeof(M) * in.count;
  const int32_t *list = c.cluster.kernel.lists.data() + in.list;
  const bool check = c.cluster.checking();
  const Step next = in.sub & kYields ? Step::Yield : Step::Next;
  uint32_t undefinedLanes = 0;
  if (check)
    for (unsigned e = 0; e < in.count; ++e)
      undefinedLanes |= c.undefinedLanes(list[e]);
  if (contiguousGlobal(c, in, address, total)) {
    alignas(64) M run[32 * 4];
    for (unsigned e = 0; e < in.count; ++e) {
      const R *v = c.src<R>(list[e]);
      for (unsigned i = 0; i < 32; ++i)
        run[i * in.count + e] = static_cast<M>(v[i]);
    }
    for (uint32_t m = undefinedLanes; m; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      checkStored<M>(c, in, list, lane);
    }
    if (in.access & kAccessStrong)
      for (unsigned lane = 0; lane < 32; ++lane)
        c.cluster.noteGlobal(c, lane, address[lane], total, total, in.access);
    else if (check)
      c.cluster.noteGlobal(c, 0, address[0], 32 * total, total, in.access);
    c.cluster.writeGlobal(address[0], run, 32 * total);
    ++c.cluster.progress;
    return next;
  }
  struct Undefined {
    DefinedBits *bits;
    uint64_t address;
    unsigned lane;
  };
  std::vector<Undefined> partly;
  Runs runs{c, in.access};
  // Of the lane before: lanes that store to one place find there what this instruction has left.
  uint64_t placeBefore = ~uint64_t(0);
  bool unchanged = false;
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    Place at;
    if (!place(c, in, lane, address[lane], total, true, at))
      return Step::Block;
    M piece[4];
    for (unsigned e = 0; e < in.count; ++e)
      piece[e] = static_cast<M>(c.src<R>(list[e])[lane]);
    if (check) {
      if (address[lane] != placeBefore)
        unchanged = at.cta && !(undefinedLanes >> lane & 1) && at.bits->all(at.address, total) &&
                    !std::memcmp(at.bytes, piece, total);
      placeBefore = address[lane];
      note(c, in, runs, at, lane, total, unchanged);
      if (at.bits)
        at.bits->set(at.address, total);
      if (undefinedLanes >> lane & 1) {
        if (at.bits)
          partly.push_back({at.bits, at.address, lane});
        else
          checkStored<M>(c, in, list, lane);
      }
    }
    if (at.bytes)
      std::memcpy(at.bytes, piece, total);
    else
      c.cluster.writeGlobal(at.address, piece, total);
  }
  if (check)
    runs.flush();
  for (const Undefined &u : partly)
    for (unsigned e = 0; e < in.count; ++e) {
      ValueBits undefined = storedUndefined<M>(c, list, u.lane, e);
      for (unsigned i = 0; i < sizeof(M); ++i, undefined >>= 8)
        u.bits->setUndefinedBits(u.address + e * sizeof(M) + i, static_cast<uint8_t>(undefined));
    }
  ++c.cluster.progress;
  return next;
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
  case 16:
    return Pick<Wide, Wide>::fn;
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
  unsigned count = d.has("v2") ? 2 : d.has("v4") ? 4 : 1;
  unsigned width = std::max(2u, d.bytes());
  // 9.7.9.8: 256 bits from sm_100 on.
  if (count * d.bytes() > 16)
    return d.fail("an access of " + std::to_string(8 * count * d.bytes()) +
                  " bits; sm_90 has at most 128");
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
  d.out.sub = 0x80;
  d.out.access = accessFlags(d, false, false);
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
  if (d.out.space == AddressSpace::Param)
    return d.fail("a kernel's parameters cannot be written");
  d.out.access = accessFlags(d, true, false);
  orderingOf(d);
  dataOperands(d, d.operand(1), false);
  if (d.failed())
    return;
  d.out.exec = pickAccess<PickStore>(d.type(), d.out.width2);
}

#define GIRIH_TYPES "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"
const Form forms[] = {
    {"ld",
     "weak? global|shared|shared::cta|shared::cluster|local|const|param|param::entry|param::func? "
     "v2|v4? " GIRIH_TYPES,
     buildLoad, 0, true},
    {"ld", "volatile global|shared|shared::cta|local? v2|v4? " GIRIH_TYPES, buildLoad, 0, true},
    {"ld",
     "relaxed|acquire cta|cluster|gpu|sys global|shared|shared::cta|shared::cluster? "
     "v2|v4? " GIRIH_TYPES,
     buildLoad, 0, true},
    {"ld", "mmio relaxed sys global? " GIRIH_TYPES, buildLoad, 0, true},
    {"ldu", "global? v2|v4? " GIRIH_TYPES, buildLoad, 0, true},
    {"st",
     "weak? global|shared|shared::cta|shared::cluster|local|param|param::func? "
     "v2|v4? " GIRIH_TYPES,
     buildStore, 0, true},
    {"st", "volatile global|shared|shared::cta|local? v2|v4? " GIRIH_TYPES, buildStore, 0, true},
    {"st",
     "relaxed|release cta|cluster|gpu|sys global|shared|shared::cta|shared::cluster? "
     "v2|v4? " GIRIH_TYPES,
     buildStore, 0, true},
    {"st", "mmio relaxed sys global? " GIRIH_TYPES, buildStore, 0, true},
};

} // namespace

std::span<const Form> memoryForms() { return forms; }

GIRIH_TARGET_END
