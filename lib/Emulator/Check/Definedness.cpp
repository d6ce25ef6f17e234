// What becomes of undefined operands. Only instructions that have some come here.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Check/Definedness.h"
#include "Emulator/Machine/Machine.h"

namespace girih::emu {

namespace {

uint16_t allBytes(uint32_t width) {
  return static_cast<uint16_t>(width >= 16 ? 0xffff : (1u << width) - 1);
}

/// Value and undefined bytes of an operand in a lane; constants are defined.
struct Operand {
  uint64_t value = 0;
  uint16_t undefined = 0;
};

class Rule {
public:
  Rule(Context &c, const Instr &in) : c(c), in(in), defined(c.warp.defined) {}

  uint32_t widthOf(Src s) const {
    return s >= 0 ? c.cluster.kernel.slotBytes[slotOf(s)] : in.d[0] >= 0 ? widthOf(in.d[0]) : 8;
  }
  Operand operand(Src s, uint32_t lane, bool negated = false) const {
    Operand o;
    const uint32_t width = widthOf(s);
    if (width == 1) {
      o.value = (c.predSrc(s) >> lane & 1) ^ negated ? 0xff : 0;
    } else {
      const uint8_t *from = c.src<uint8_t>(s) + size_t(lane) * width;
      std::memcpy(&o.value, from, std::min(width, 8u));
    }
    if (s >= 0)
      o.undefined = defined.bytes(slotOf(s), lane) & allBytes(width);
    return o;
  }
  void result(int32_t d, uint32_t lane, uint16_t undefined, uint32_t origin) {
    uint16_t all = allBytes(widthOf(d));
    defined.setBytes(slotOf(d), lane, undefined & all, all, origin);
  }
  uint32_t originOf(uint32_t lanes) const {
    const std::vector<RegisterUse> &uses = c.cluster.kernel.uses;
    for (uint32_t i = 0; i < in.readCount; ++i)
      if (defined.lanes(uses[in.uses + i].slot) & lanes)
        return defined.origin(uses[in.uses + i].slot);
    return kNeverWritten;
  }

  void lane(uint32_t lane, uint32_t origin) {
    const int32_t *list = c.cluster.kernel.lists.data() + in.list;
    switch (in.define) {
    case Define::Bytes: {
      uint16_t u = 0;
      for (Src s : in.s)
        if (s != kNone)
          u |= operand(s, lane).undefined;
      result(in.d[0], lane, u, origin);
      break;
    }
    case Define::And:
    case Define::Or: {
      // An operand's byte that alone fixes the result's makes the other one's irrelevant.
      Operand a = operand(in.s[0], lane, in.sub & 1), b = operand(in.s[1], lane, in.sub & 2);
      const uint64_t decides = in.define == Define::And ? 0 : 0xff;
      uint16_t u = 0;
      for (uint32_t i = 0; i < widthOf(in.d[0]); ++i) {
        bool ua = a.undefined >> i & 1, ub = b.undefined >> i & 1;
        bool fixed = i < 8 && ((!ua && (a.value >> 8 * i & 0xff) == decides) ||
                               (!ub && (b.value >> 8 * i & 0xff) == decides));
        if ((ua || ub) && !fixed)
          u |= static_cast<uint16_t>(1u << i);
      }
      result(in.d[0], lane, u, origin);
      break;
    }
    case Define::Select: {
      Operand p = operand(in.s[2], lane, in.sub & 1);
      uint16_t u = p.undefined ? uint16_t(0xffff) : operand(in.s[p.value ? 0 : 1], lane).undefined;
      result(in.d[0], lane, u, origin);
      break;
    }
    case Define::Pack: {
      uint16_t u = 0;
      const uint32_t part = widthOf(in.d[0]) / std::max(1u, in.listCount);
      for (uint32_t i = 0; i < in.listCount; ++i)
        if (list[i] >= 0)
          u |= static_cast<uint16_t>((defined.bytes(slotOf(list[i]), lane) & allBytes(part))
                                     << (part * i));
      result(in.d[0], lane, u, origin);
      break;
    }
    case Define::Unpack: {
      const uint16_t u = operand(in.s[0], lane).undefined;
      const uint32_t part = widthOf(in.s[0]) / std::max(1u, in.listCount);
      for (uint32_t i = 0; i < in.listCount; ++i)
        result(list[i], lane, static_cast<uint16_t>(u >> (part * i)) & allBytes(part), origin);
      break;
    }
    case Define::ShiftLeft:
    case Define::ShiftRight: {
      Operand a = operand(in.s[0], lane);
      Operand n = operand(in.s[1], lane);
      uint16_t u = 0xffff;
      if (!n.undefined) {
        const uint32_t bits = static_cast<uint32_t>(std::min<uint64_t>(n.value & 0xffffffff, 128));
        // Bits that straddle bytes make both undefined.
        u = in.define == Define::ShiftLeft
                ? static_cast<uint16_t>(a.undefined << bits / 8 |
                                        (bits % 8 ? a.undefined << (bits / 8 + 1) : 0))
                : static_cast<uint16_t>(a.undefined >> bits / 8 |
                                        (bits % 8 ? a.undefined >> (bits / 8 + 1) : 0));
        // An arithmetic shift copies the top byte's sign.
        if (in.define == Define::ShiftRight && in.sign &&
            (a.undefined >> (widthOf(in.s[0]) - 1) & 1))
          u = 0xffff;
      }
      result(in.d[0], lane, u, origin);
      break;
    }
    case Define::Extend: {
      const uint16_t u = operand(in.s[0], lane).undefined;
      const uint32_t width = widthOf(in.s[0]);
      // What is added repeats the top byte's sign, or is zero: undefined with it, to be on the safe
      // side.
      uint16_t wide =
          width < 16 && (u >> (width - 1) & 1) ? static_cast<uint16_t>(~allBytes(width)) : 0;
      result(in.d[0], lane, u | wide, origin);
      break;
    }
    default:
      break;
    }
  }

  Context &c;
  const Instr &in;
  Definedness &defined;
};

const char *roleText(Role role) {
  switch (role) {
  case Role::Address:
    return "an address is";
  case Role::Branch:
    return "the condition of a branch, or of an operation with an effect, is";
  case Role::Matrix:
    return "an operand of a matrix instruction is";
  default:
    return "an operand is";
  }
}

} // namespace

void Cluster::reportUndefined(const Context &c, std::string what, uint32_t lane, uint32_t origin) {
  std::vector<Site> sites{here(c, "uses it", static_cast<int>(lane))};
  if (origin != kNeverWritten)
    sites.push_back(site("the undefined value comes from here", origin, c.cta.rank,
                         static_cast<int>(c.warp.index), -1));
  report("undefined-value",
         what + " undefined" +
             (origin == kNeverWritten ? ": the register that it comes from was never written" : ""),
         std::move(sites), "initialise the register or the memory on every path that leads here");
}

void Cluster::passUndefined(Context &c, const Instr &in, uint32_t lanes) {
  Definedness &defined = c.warp.defined;
  const RegisterUse *uses = kernel.uses.data() + in.uses;
  uint32_t guardUndefined = 0, seen = 0;
  for (uint32_t i = 0; i < in.readCount; ++i) {
    const uint32_t slot = uses[i].slot, undefined = defined.lanes(slot) & lanes;
    switch (uses[i].role) {
    case Role::Guard:
      guardUndefined |= undefined;
      break;
    case Role::Value:
      seen |= undefined;
      break;
    default:
      // Lanes that the guard excludes do not use their operands.
      if (uint32_t used = uses[i].role == Role::Branch ? undefined : undefined & c.mask) {
        reportUndefined(c, roleText(uses[i].role), static_cast<uint32_t>(__builtin_ctz(used)),
                        defined.origin(slot));
        // Said once; what follows from it would only repeat it.
        defined.setDefined(slot, used);
      }
    }
  }
  if (in.define == Define::Self)
    return;
  Rule rule(c, in);
  const uint32_t origin = rule.originOf(seen | guardUndefined);
  const bool general = in.define == Define::Any || in.define == Define::Warp;
  const uint32_t valueUndefined =
      in.define == Define::Warp ? (seen & c.mask ? c.mask : 0) : seen & c.mask;
  const RegisterUse *writes = uses + in.readCount;
  if (!general && (seen & c.mask))
    for (uint32_t m = c.mask; m; m &= m - 1)
      rule.lane(static_cast<uint32_t>(__builtin_ctz(m)), origin);
  for (uint32_t i = 0; i < in.writeCount; ++i) {
    if (general || !(seen & c.mask)) {
      defined.setDefined(writes[i].slot, c.mask & ~valueUndefined);
      defined.setUndefined(writes[i].slot, valueUndefined, origin);
    }
    // With an undefined guard nobody knows whether the result was written.
    defined.setUndefined(writes[i].slot, guardUndefined, origin);
  }
}

} // namespace girih::emu
