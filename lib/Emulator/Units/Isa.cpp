// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Units/Isa.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace girih::emu {

namespace {
Isa best() {
  __builtin_cpu_init();
  // The features that Exec/Targets.h names, in x86-64's levels: v3 is AVX2 with its companions, v4
  // AVX-512.
  if (__builtin_cpu_supports("x86-64-v4"))
    return Isa::Avx512;
  return __builtin_cpu_supports("x86-64-v3") ? Isa::Avx2 : Isa::Plain;
}
Isa choose() {
  const Isa have = best();
  const char *asked = std::getenv("GIRIH_EMULATOR_ISA");
  if (!asked || !*asked)
    return have;
  constexpr std::string_view names[] = {"plain", "avx2", "avx512"};
  for (unsigned i = 0; i < 3; ++i)
    if (names[i] == asked) {
      if (i <= static_cast<unsigned>(have))
        return static_cast<Isa>(i);
      std::fprintf(
          stderr,
          "girih: GIRIH_EMULATOR_ISA=%s, but this machine has no more than %s, which is used\n",
          asked, names[static_cast<unsigned>(have)].data());
      return have;
    }
  std::fprintf(stderr, "girih: GIRIH_EMULATOR_ISA=%s is none of plain, avx2 and avx512; using %s\n",
               asked, names[static_cast<unsigned>(have)].data());
  return have;
}
} // namespace

Isa activeIsa() {
  static const Isa isa = choose();
  return isa;
}

} // namespace girih::emu
