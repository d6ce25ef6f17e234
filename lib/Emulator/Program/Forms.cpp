// Which form an instruction has: the tables of all families, for the instruction set of this host.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Program/Decoder.h"
#include "Emulator/Program/Linker.h"
#include "Emulator/Units/Isa.h"

namespace girih::emu {

namespace {

using ptx::Type;

/// Hints that steer caches and nothing else (PTX ISA 9.0, 9.7.9.1 and 9.7.9.8).
bool isHint(std::string_view m) {
  return m.substr(0, 4) == "L1::" || m.substr(0, 4) == "L2::" || m == "ca" || m == "cg" ||
         m == "cs" || m == "lu" || m == "cv" || m == "wb" || m == "wt" || m == "nc";
}

/// Does the set of modifiers match the pattern of a form? Asked once for each way in which a module
/// writes an instruction.
bool matches(const char *pattern, std::span<const std::string_view> modifiers, bool hints) {
  uint64_t used = 0;
  size_t count = modifiers.size();
  std::string_view rest(pattern);
  while (!rest.empty()) {
    size_t space = rest.find(' ');
    std::string_view token = rest.substr(0, space);
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
    bool optional = token.back() == '?';
    if (optional)
      token.remove_suffix(1);
    bool found = false;
    while (!token.empty() && !found) {
      size_t bar = token.find('|');
      std::string_view one = token.substr(0, bar);
      token = bar == std::string_view::npos ? std::string_view() : token.substr(bar + 1);
      // Types keep their order (destination, then sources); everything else is a set.
      bool typeSeen = false;
      for (size_t i = 0; i < count && !found; ++i) {
        if (used >> i & 1)
          continue;
        bool isType = ptx::parseType(modifiers[i]) != Type::None;
        if (modifiers[i] == one && !(isType && typeSeen)) {
          used |= uint64_t(1) << i;
          found = true;
        }
        typeSeen |= isType;
      }
    }
    if (!found && !optional)
      return false;
  }
  for (size_t i = 0; i < count; ++i)
    if (!(used >> i & 1) && !(hints && isHint(modifiers[i])))
      return false;
  return true;
}

const std::unordered_map<std::string_view, std::vector<const Form *>> &formsByOpcode() {
  static const auto table = [] {
    std::unordered_map<std::string_view, std::vector<const Form *>> result;
    std::vector<std::span<const Form>> families = {
        roundedForms(), videoForms(),   atomicForms(),      fenceForms(),
        callForms(),    controlForms(), warpForms(),        barrierForms(),
        asyncForms(),   cpAsyncForms(), remoteStoreForms(), tensorMapForms(),
        wgmmaForms(),   matrixForms(),  mmaForms(),         wmmaForms()};
    const Isa isa = activeIsa();
#define GIRIH_ADD(name)                                                                            \
  families.push_back(isa == Isa::Avx512 ? avx512::name()                                           \
                     : isa == Isa::Avx2 ? avx2::name()                                             \
                                        : plain::name());
    GIRIH_LANE_FAMILIES(GIRIH_ADD)
#undef GIRIH_ADD
    for (std::span<const Form> family : families)
      for (const Form &form : family)
        result[form.opcode].push_back(&form);
    return result;
  }();
  return table;
}

} // namespace

const Form *findForm(const ptx::Instruction &instruction) {
  auto forms = formsByOpcode().find(instruction.opcode);
  if (forms != formsByOpcode().end())
    for (const Form *form : forms->second)
      if (matches(form->modifiers, instruction.modifiers, form->hints))
        return form;
  return nullptr;
}

} // namespace girih::emu
