// Named pipelines: the order in which passes run, for tools and for the compiler library alike.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_PIPELINES_PIPELINES_H
#define GIRIH_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassOptions.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace girih {

/// Options of `girih-tile-to-wg`. What they switch off is never needed for a right result.
struct TileToWGOptions : mlir::PassPipelineOptions<TileToWGOptions> {
  PassOptions::Option<bool> simplify{
      *this, "simplify",
      llvm::cl::desc("Fold constants and merge equal values, before roles and behind layouts"),
      llvm::cl::init(true)};
  PassOptions::Option<bool> pipelineProducts{
      *this, "pipeline-products",
      llvm::cl::desc("Let the second of two chained products run under the step after its own"),
      llvm::cl::init(true)};
  PassOptions::Option<bool> keepOperands{
      *this, "keep-operands",
      llvm::cl::desc("Load operands that every step of a loop reads into registers, if they fit"),
      llvm::cl::init(true)};
  PassOptions::Option<bool> padTiles{
      *this, "pad-tiles",
      llvm::cl::desc("Make tiles larger whose extents would leave threads without elements"),
      llvm::cl::init(true)};
  PassOptions::Option<unsigned> alternatives{
      *this, "alternatives",
      llvm::cl::desc("How many accesses to memory are tried as the one whose layout comes first"),
      llvm::cl::init(3)};
  PassOptions::Option<bool> convertAccesses{
      *this, "convert-accesses",
      llvm::cl::desc("Convert tiles of accesses that would touch more sectors of memory than a "
                     "conversion costs"),
      llvm::cl::init(true)};
  PassOptions::Option<bool> computeAnew{
      *this, "compute-anew",
      llvm::cl::desc("Compute tiles in a second layout where that is cheaper than to convert them"),
      llvm::cl::init(true)};
};

/// From the tile phase to the wg phase, for a builtin.module; kernels of the wg phase keep their
/// roles and every layout that they state.
void buildTileToWGPipeline(mlir::OpPassManager &manager, const TileToWGOptions &options);

/// Options of `girih-wg-to-nvvm`.
struct WGToNVVMOptions : mlir::PassPipelineOptions<WGToNVVMOptions> {
  PassOptions::Option<bool> checkProtocol{
      *this, "check-protocol",
      llvm::cl::desc("Report what would race or hang, before rings are lowered and after"),
      llvm::cl::init(true)};
  PassOptions::Option<bool> stopAtWG{
      *this, "stop-at-wg",
      llvm::cl::desc("Stop where rings and roles are lowered: wg ops that are one PTX instruction"),
      llvm::cl::init(false)};
};

/// From the wg phase to the nvvm phase, for a builtin.module; gpu.modules in it are lowered, host
/// plans stay.
void buildWGToNVVMPipeline(mlir::OpPassManager &manager, const WGToNVVMOptions &options);

/// The steps of both pipelines, and LLVM's passes, that a right result does not need, by name and
/// in the order in which they run.
llvm::ArrayRef<llvm::StringRef> optionalSteps();

/// Switches off the options that `without` names; names of other steps are ignored.
void switchOff(TileToWGOptions &options, llvm::ArrayRef<std::string> without);
void switchOff(WGToNVVMOptions &options, llvm::ArrayRef<std::string> without);

/// Registers our passes and pipelines by name; call once per process.
void registerPassesAndPipelines();

} // namespace girih

#endif // GIRIH_PIPELINES_PIPELINES_H
