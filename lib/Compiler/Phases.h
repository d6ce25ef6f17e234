//===- Phases.h - Which dialects and passes the compiler runs
//-------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_LIB_COMPILER_PHASES_H
#define GIRIH_LIB_COMPILER_PHASES_H

#include "girih/Compiler/Compiler.h"

#include <string_view>

namespace mlir {
class DialectRegistry;
class ModuleOp;
class OpPassManager;
} // namespace mlir

namespace girih::compiler {

/// Every dialect that a module may hold in any phase.
void registerPhases(mlir::DialectRegistry &registry);

/// False if each kernel is an llvm.func already: the module is in the nvvm phase.
bool needsPasses(mlir::ModuleOp module);

/// False if the module has left the tile phase: each kernel has its roles and each tile its layout.
bool needsTilePasses(mlir::ModuleOp module);

/// The passes from the tile phase to the wg phase.
void buildTilePasses(mlir::OpPassManager &passes, const Options &options);

/// The passes from the wg phase to the nvvm phase.
void buildPasses(mlir::OpPassManager &passes, const Options &options);

/// A kernel that has a bit of everything that compiling one touches.
std::string_view warmUpModule();

} // namespace girih::compiler

#endif // GIRIH_LIB_COMPILER_PHASES_H
