//===- Locations.h - The user's lines, through LLVM, into PTX
//------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two steps on either side of LLVM's optimiser:
//
//   1. attachDebugScopes, on MLIR: every llvm.func gets a subprogram and every op a location that
//   the
//      translation keeps. A frame's function becomes the file name of its debug scope and the real
//      file that scope's directory, so that both survive to the next step. Calls of helpers become
//      inlined-at chains.
//   2. numberLocations, on optimised LLVM IR: the distinct chains are numbered from 1 and each
//      instruction's location becomes (file = function of the innermost frame, line = relative to
//      the function's first line, column = the number), without a chain and without a path. The
//      numbers' meanings go into the location table of the image.
//
// Numbering comes after the optimiser because two instructions that it merges keep a common line
// but not a common number, and because the inliner makes new chains.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_TARGET_LOCATIONS_H
#define GIRIH_TARGET_LOCATIONS_H

#include "girih/Target/Diagnostic.h"

namespace llvm {
class Module;
} // namespace llvm

namespace mlir {
class Location;
class ModuleOp;
class Operation;
} // namespace mlir

namespace girih::target {

/// PTX's .loc has a 16-bit column in LLVM, so no more locations than this can be numbered.
inline constexpr unsigned maxLocations = 65535;

/// The functions that the front end declared in `girih.sources` of `module`: an array of
/// {name = "matmul", file = "gemm.py", line = 12 : i64}. Entries that lack a name are skipped.
std::vector<image::Function> declaredSources(mlir::ModuleOp module);

/// Step 1, on a gpu.module in the nvvm phase. Ops with an unknown location get their function's.
void attachDebugScopes(mlir::Operation *gpuModule);

/// Step 2. A function that is not in `sources` (a plain .mlir file) has first line 1. An
/// instruction without a line takes that of the instruction before it. Locations beyond
/// maxLocations keep function and line and have number 0.
image::LocationTable numberLocations(llvm::Module &module,
                                     const std::vector<image::Function> &sources);

/// The chain that a location says, innermost first, with lines as they are in the file. Of a fused
/// location the first part that says anything.
std::vector<Place> placesOf(mlir::Location location);

} // namespace girih::target

#endif // GIRIH_TARGET_LOCATIONS_H
