// Passes of girih-opt alone.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_TOOLS_GIRIH_OPT_PLANTFAULT_H
#define GIRIH_TOOLS_GIRIH_OPT_PLANTFAULT_H

namespace girih {

/// Registers `--wg-plant-fault` and `--wg-check-faults`.
void registerPlantFault();

} // namespace girih

#endif // GIRIH_TOOLS_GIRIH_OPT_PLANTFAULT_H
