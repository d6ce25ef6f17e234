// Ways to spoil a sound kernel whose rings are lowered, class by class as docs/ProtocolChecker.md
// has them.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_TOOLS_GIRIH_OPT_FAULTS_H
#define GIRIH_TOOLS_GIRIH_OPT_FAULTS_H

#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

#include <functional>
#include <string>
#include <vector>

namespace girih {

/// One way to spoil a kernel. `loc` is what a report of it has to name.
struct PlantedFault {
  llvm::StringRef kind;
  mlir::Location loc;
  std::string what;
  std::function<void()> plant;
};

/// Lists every fault that a kernel offers, in program order for each class. Changes that would
/// leave the kernel sound (a slot that nobody fills again need not be given back) are no faults.
class FaultList {
public:
  explicit FaultList(mlir::gpu::GPUFuncOp kernel);

  const std::vector<PlantedFault> &all() const { return faults; }
  /// The n-th of a class; null if there are fewer.
  const PlantedFault *find(llvm::StringRef kind, size_t n) const;
  size_t count(llvm::StringRef kind) const;

private:
  void add(llvm::StringRef kind, mlir::Operation *op, const llvm::Twine &what,
           std::function<void()> plant);
  /// Whether the kernel waits for copies at this barrier: a full one.
  bool isFull(mlir::Value barrier) const { return completed.contains(barrier); }
  /// Whether two arrays of barriers are those of one ring, full and empty.
  bool isOfOneRing(mlir::Value one, mlir::Value other) const;
  /// Whether somebody waits for a slot that is given back here: it is filled again.
  bool matters(mlir::Operation *release, mlir::Value barrier) const;

  void atNamedSync(wg::NamedBarrierSyncOp sync);
  void atNamedArrive(wg::NamedBarrierArriveOp arrive);
  void atInit(wg::BarrierInitOp init);
  void atArrive(wg::BarrierArriveOp arrive);
  void atArriveCluster(wg::BarrierArriveClusterOp arrive);
  /// What the two kinds of arrivals have in common.
  void atRelease(mlir::Operation *arrive, mlir::Value barrier);
  void atBarrierWait(wg::BarrierWaitOp wait);
  void atExpect(wg::BarrierExpectOp expect);
  void atLoad(wg::TmaLoadOp load);
  void atProductsWait(wg::WaitOp wait);
  void atStoresWait(wg::BulkWaitOp wait);
  void atFence(wg::FenceProxyAsyncOp fence);
  void atRole(wg::RoleOp role);
  void atLoop(mlir::scf::ForOp loop);

  mlir::gpu::GPUFuncOp kernel;
  std::vector<PlantedFault> faults;
  /// Barriers that copies complete, and those at which some op waits more than once.
  mlir::DenseSet<mlir::Value> completed, waitedAgain;
  /// The buffers that the copies fill which complete a full barrier.
  llvm::MapVector<mlir::Value, mlir::DenseSet<mlir::Operation *>> filled;
};

} // namespace girih

#endif // GIRIH_TOOLS_GIRIH_OPT_FAULTS_H
