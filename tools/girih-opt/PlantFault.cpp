// Faulty programs from sound ones, for tests of the checker and of the emulated device:
// --wg-plant-fault=fault=CLASS:N spoils a kernel in one way, --wg-check-faults checks it spoiled in
// every way.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PlantFault.h"
#include "Faults.h"

#include "girih/Dialect/WG/Transforms/Transforms.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace girih::wg;

namespace girih {

namespace {

/// The attribute of a module that names a fault, where the pass's option does not: so that one run
/// with
/// --split-input-file makes many programs.
constexpr StringLiteral kFaultAttr = "wg.fault";

struct PlantFault : PassWrapper<PlantFault, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlantFault)

  PlantFault() = default;
  PlantFault(const PlantFault &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "wg-plant-fault"; }
  StringRef getDescription() const final {
    return "Spoil a kernel whose rings are lowered, for tests: fault=CLASS:N, or the same in the "
           "attribute wg.fault of the "
           "module; classes as in wg-check-barriers";
  }

  void runOnOperation() final {
    std::string wanted = fault;
    if (auto named = getOperation()->getParentOp()->getAttrOfType<StringAttr>(kFaultAttr);
        named && wanted.empty())
      wanted = named.str();
    auto [kind, number] = StringRef(wanted).split(':');
    size_t n = 0;
    if (number.getAsInteger(10, n)) {
      emitError(getOperation().getLoc()) << "expected fault=CLASS:N, found '" << wanted << "'";
      return signalPassFailure();
    }
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      FaultList faults(kernel);
      if (const PlantedFault *found = faults.find(kind, n)) {
        emitRemark(found->loc) << "planted " << wanted << ": " << found->what;
        return found->plant();
      }
      emitError(kernel.getLoc()) << "kernel '" << kernel.getName() << "' offers "
                                 << faults.count(kind) << " places for a fault of class '" << kind
                                 << "'";
      return signalPassFailure();
    }
  }

  Option<std::string> fault{*this, "fault", llvm::cl::desc("CLASS:N")};
};

/// Spoils a copy of each kernel in every way, one after the other, and reports what the checker
/// says: after a remark with the fault's class, number and place come the error with its notes, or
/// a remark that says `ok` or `undecided`.
struct CheckFaults : PassWrapper<CheckFaults, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckFaults)

  StringRef getArgument() const final { return "wg-check-faults"; }
  StringRef getDescription() const final {
    return "Check a kernel whose rings are lowered, spoiled in every way that wg-plant-fault knows";
  }

  void runOnOperation() final {
    for (auto kernel : llvm::to_vector(getOperation().getOps<gpu::GPUFuncOp>())) {
      llvm::StringMap<size_t> numbers;
      for (size_t i = 0, e = FaultList(kernel).all().size(); i < e; ++i) {
        OpBuilder builder(kernel);
        auto copy = cast<gpu::GPUFuncOp>(builder.clone(*kernel));
        FaultList faults(copy);
        const PlantedFault &fault = faults.all()[i];
        emitRemark(fault.loc) << "planted " << fault.kind << ":" << numbers[fault.kind]++ << ": "
                              << fault.what;
        fault.plant();
        (void)checkBarriers(copy, /*remarks=*/true);
        copy->erase();
      }
    }
    markAllAnalysesPreserved();
  }
};

} // namespace

void registerPlantFault() {
  PassRegistration<PlantFault>();
  PassRegistration<CheckFaults>();
}

} // namespace girih
