// Address spaces as numbers: cvta and isspacep (PTX ISA 9.0, 9.7.9.19 and 9.7.9.20).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/AddressSpace.cpp"
#include "Emulator/Exec/Targets.h"

GIRIH_TARGET_BEGIN

namespace {

// Address spaces. Global, constant and parameter addresses are generic addresses; shared and local
// ones are offsets in their windows.
template <bool to> Step cvta(Context &c, const Instr &in) {
  const uint64_t window = static_cast<uint64_t>(in.imm);
  if (in.width == 4)
    return lanes1<uint32_t, uint32_t>(c, in, [&](uint32_t a) { return a; });
  return lanes1<uint64_t, uint64_t>(c, in,
                                    [&](uint64_t a) { return to ? a - window : a + window; });
}
// The address of a parameter may have passed through a 32-bit register (`mov.b32 %r, name`), which
// keeps the offset and drops the window.
Step cvtaParam(Context &c, const Instr &in) {
  return lanes1<uint64_t, uint64_t>(
      c, in, [](uint64_t a) { return kParamWindow | (a & (kWindowBytes - 1)); });
}
void buildCvta(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  AddressSpace space = d.spaceModifier();
  if (d.bytes() != 8)
    return d.fail("only 64-bit generic addresses are modelled");
  d.out.width = 8;
  d.out.d[0] = d.dest(0, 8);
  d.out.s[0] = d.source(1, 8);
  d.out.imm = static_cast<int64_t>(space == AddressSpace::Shared  ? kSharedWindow
                                   : space == AddressSpace::Local ? kLocalWindow
                                                                  : 0);
  d.out.exec = d.has("to")                    ? ExecFn(cvta<true>)
               : space == AddressSpace::Param ? ExecFn(cvtaParam)
                                              : ExecFn(cvta<false>);
}
bool isConstant(const ModuleImage &module, uint64_t address) {
  for (const AllocationInfo &variable : module.constants)
    if (address - variable.address < variable.bytes)
      return true;
  return false;
}
Step isspacep(Context &c, const Instr &in) {
  const uint64_t *a = c.src<uint64_t>(in.s[0]);
  uint8_t flags[32];
  for (unsigned i = 0; i < 32; ++i) {
    uint64_t window = a[i] & ~(kWindowBytes - 1);
    switch (in.space) {
    case AddressSpace::Shared:
      // Without ::cluster: of this CTA, also by way of its own rank.
      flags[i] = window == kSharedWindow && (in.sub || (a[i] & 0xffffffff) >> kRankShift == 0 ||
                                             (a[i] & 0xffffffff) >> kRankShift == c.cta.rank + 1);
      break;
    case AddressSpace::Local:
      flags[i] = window == kLocalWindow;
      break;
    case AddressSpace::Param:
      flags[i] = window == kParamWindow;
      break;
    default: {
      // Parameters lie in the global window (9.7.9.19), constants in a part of ours.
      const bool constant = isConstant(*c.cluster.kernel.module, a[i]);
      flags[i] = in.space == AddressSpace::Const
                     ? constant
                     : window == kParamWindow || (a[i] >= kGlobalBase && !constant);
    }
    }
  }
  storePred(c, in.d[0], packFlags(flags));
  return Step::Next;
}
void buildIsspacep(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  d.out.d[0] = d.predDest(d.operand(0));
  d.out.s[0] = d.source(1, 8);
  d.out.space = d.spaceModifier();
  d.out.sub = d.has("shared::cluster");
  d.out.exec = isspacep;
}

const Form forms[] = {
    {"cvta", "to? global|shared|local|const|param|shared::cta|shared::cluster|param::entry u64|u32",
     buildCvta},
    {"isspacep", "global|shared|local|const|param|shared::cta|shared::cluster|param::entry",
     buildIsspacep},
};

} // namespace

std::span<const Form> addressSpaceForms() { return forms; }

GIRIH_TARGET_END
