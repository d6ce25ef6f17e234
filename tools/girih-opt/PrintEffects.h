// A pass of girih-opt alone.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_TOOLS_GIRIH_OPT_PRINTEFFECTS_H
#define GIRIH_TOOLS_GIRIH_OPT_PRINTEFFECTS_H

namespace girih {

/// Registers `--wg-print-effects`.
void registerPrintEffects();

} // namespace girih

#endif // GIRIH_TOOLS_GIRIH_OPT_PRINTEFFECTS_H
