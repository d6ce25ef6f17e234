// Named pipelines: the order in which passes run, for tools and for the compiler library alike.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_PIPELINES_PIPELINES_H
#define GIRIH_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace girih {

/// Options of `girih-wg-to-nvvm`.
struct WGToNVVMOptions : mlir::PassPipelineOptions<WGToNVVMOptions> {
  PassOptions::Option<bool> checkProtocol{
      *this, "check-protocol",
      llvm::cl::desc("Report what would race or hang before anything is lowered"),
      llvm::cl::init(true)};
  PassOptions::Option<bool> stopAtWG{
      *this, "stop-at-wg",
      llvm::cl::desc("Stop where rings and roles are lowered: wg ops that are one PTX instruction"),
      llvm::cl::init(false)};
};

/// From the wg phase to the nvvm phase, for a builtin.module; gpu.modules in it are lowered, host
/// plans stay.
void buildWGToNVVMPipeline(mlir::OpPassManager &manager, const WGToNVVMOptions &options);

/// Registers our passes and pipelines by name; call once per process.
void registerPassesAndPipelines();

} // namespace girih

#endif // GIRIH_PIPELINES_PIPELINES_H
