// What becomes of undefined operands. Only instructions that have some come here.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Check/Definedness.h"
#include "Emulator/Machine/Machine.h"

#include <optional>

namespace girih::emu {

namespace {

/// Value and undefined bits of an operand in a lane; constants are defined.
struct Operand {
  ValueBits value = 0;
  ValueBits undefined = 0;
};

class Rule {
public:
  Rule(Context &c, const Instr &in) : c(c), in(in), defined(c.warp.defined) {}

  uint32_t originOf(uint32_t lanes) const {
    const std::vector<RegisterUse> &uses = c.cluster.kernel.uses;
    for (uint32_t i = 0; i < in.readCount; ++i)
      if (defined.lanes(uses[in.uses + i].slot) & lanes)
        return defined.origin(uses[in.uses + i].slot);
    return kNeverWritten;
  }

  void lane(uint32_t lane, uint32_t origin) {
    const int32_t *list = c.cluster.kernel.lists.data() + in.list;
    if (in.define == Define::Unpack) {
      const ValueBits u = operand(in.s[0], lane).undefined;
      const uint32_t part = 8 * widthOf(in.s[0]) / std::max(1u, in.listCount);
      for (uint32_t i = 0; i < in.listCount; ++i)
        result(list[i], lane, u >> (part * i) & lowBits(part), origin);
      return;
    }
    result(in.d[0], lane, undefinedBits(lane, list), origin);
  }

private:
  uint32_t widthOf(Src s) const {
    return s >= 0 ? c.cluster.kernel.slotBytes[slotOf(s)] : in.d[0] >= 0 ? widthOf(in.d[0]) : 8;
  }
  Operand operand(Src s, uint32_t lane, bool negated = false) const {
    Operand o;
    const uint32_t width = widthOf(s);
    if (width == 1)
      o.value = (c.predSrc(s) >> lane & 1) ^ uint32_t(negated);
    else
      std::memcpy(&o.value, c.src<uint8_t>(s) + size_t(lane) * width, width);
    if (s >= 0)
      o.undefined = defined.bits(slotOf(s), lane) & bitsOfWidth(width);
    return o;
  }
  /// An operand of 32 bits that says where or how many; nothing if it is undefined.
  std::optional<uint32_t> number(Src s, uint32_t lane) const {
    if (s >= 0 && defined.bits(slotOf(s), lane))
      return std::nullopt;
    return c.src<uint32_t>(s)[lane];
  }
  void result(int32_t d, uint32_t lane, ValueBits undefined, uint32_t origin) {
    defined.setBits(slotOf(d), lane, undefined, bitsOfWidth(widthOf(d)), origin);
  }

  ValueBits undefinedBits(uint32_t lane, const int32_t *list) const {
    const ValueBits everything = ~ValueBits(0);
    switch (in.define) {
    case Define::Bits: {
      ValueBits u = 0;
      for (Src s : in.s)
        if (s != kNone)
          u |= operand(s, lane).undefined;
      return u;
    }
    case Define::And:
    case Define::Or: {
      // An operand's bit that alone fixes the result's makes the other one's irrelevant.
      Operand a = operand(in.s[0], lane, in.sub & 1), b = operand(in.s[1], lane, in.sub & 2);
      const ValueBits flip = in.define == Define::And ? everything : 0;
      const ValueBits fixed = (~a.undefined & (a.value ^ flip)) | (~b.undefined & (b.value ^ flip));
      return (a.undefined | b.undefined) & ~fixed;
    }
    case Define::Select: {
      Operand p = operand(in.s[2], lane, in.sub & 1);
      return p.undefined ? everything : operand(in.s[p.value ? 0 : 1], lane).undefined;
    }
    case Define::Pack: {
      ValueBits u = 0;
      const uint32_t part = 8 * widthOf(in.d[0]) / std::max(1u, in.listCount);
      for (uint32_t i = 0; i < in.listCount; ++i)
        if (list[i] >= 0)
          u |= (defined.bits(slotOf(list[i]), lane) & lowBits(part)) << (part * i);
      return u;
    }
    case Define::ShiftLeft:
    case Define::ShiftRight: {
      const ValueBits u = operand(in.s[0], lane).undefined;
      const std::optional<uint32_t> amount = number(in.s[1], lane);
      if (!amount)
        return everything;
      if (in.define == Define::ShiftLeft)
        return *amount >= 128 ? 0 : u << *amount;
      return field(u, widthOf(in.s[0]), *amount, 8 * widthOf(in.s[0]));
    }
    case Define::Extend:
      return field(operand(in.s[0], lane).undefined, widthOf(in.s[0]), 0,
                   8 * std::min(widthOf(in.s[0]), widthOf(in.d[0])));
    case Define::Extract: {
      const std::optional<uint32_t> at = number(in.s[1], lane), count = number(in.s[2], lane);
      if (!at || !count)
        return everything;
      return field(operand(in.s[0], lane).undefined, widthOf(in.s[0]), *at & 0xff, *count & 0xff);
    }
    case Define::Insert: {
      const std::optional<uint32_t> at = number(in.s[2], lane), count = number(in.s[3], lane);
      if (!at || !count)
        return everything;
      const uint32_t place = *at & 0xff;
      const ValueBits mask = place >= 128 ? 0 : lowBits(*count & 0xff) << place;
      const ValueBits inserted = place >= 128 ? 0 : operand(in.s[0], lane).undefined << place;
      return (operand(in.s[1], lane).undefined & ~mask) | (inserted & mask);
    }
    case Define::Permute: {
      const std::optional<uint32_t> selector = number(in.s[2], lane);
      if (!selector)
        return everything;
      const ValueBits both = operand(in.s[0], lane).undefined | operand(in.s[1], lane).undefined
                                                                    << 32;
      ValueBits u = 0;
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t which = *selector >> (4 * i) & 15;
        ValueBits byte = both >> (8 * (which & 7)) & 0xff;
        // The fourth bit asks for copies of the byte's sign.
        if (which & 8)
          byte = byte & 0x80 ? 0xff : 0;
        u |= byte << (8 * i);
      }
      return u;
    }
    default:
      return everything;
    }
  }

  /// `count` bits of a value from bit `at`. What lies above them, or above the value's `width`
  /// bytes, is zero, or with a signed type copies the highest bit.
  ValueBits field(ValueBits undefined, uint32_t width, uint32_t at, uint32_t count) const {
    const uint32_t bits = 8 * width;
    const ValueBits u = at >= bits ? 0 : (undefined >> at) & lowBits(count);
    if (!in.sign || !count)
      return u;
    const uint32_t top = std::min(at + count - 1, bits - 1);
    return undefined >> top & 1 ? u | ~lowBits(top >= at ? top - at : 0) : u;
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
