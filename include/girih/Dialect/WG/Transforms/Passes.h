// The passes over the wg dialect; Passes.td says what each does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_TRANSFORMS_PASSES_H
#define GIRIH_DIALECT_WG_TRANSFORMS_PASSES_H

#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/Pass/Pass.h"

namespace girih::wg {

#define GEN_PASS_DECL
#include "girih/Dialect/WG/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "girih/Dialect/WG/Transforms/Passes.h.inc"

} // namespace girih::wg

#endif // GIRIH_DIALECT_WG_TRANSFORMS_PASSES_H
