// How long each pass takes; see the header.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PassTimes.h"

#include "mlir/Pass/Pass.h"

using namespace girih::compiler;

void PassTimes::runBeforePass(mlir::Pass *, mlir::Operation *) {
  running.push_back({Clock::now()});
}

void PassTimes::runAfterPass(mlir::Pass *pass, mlir::Operation *) {
  Running ended = running.back();
  running.pop_back();
  double whole = std::chrono::duration<double, std::milli>(Clock::now() - ended.begin).count();
  if (!running.empty())
    running.back().inside += whole;
  // A pass without a name on the command line only hands its operations to others.
  if (!pass->getArgument().empty())
    rows.push_back({pass->getArgument().str(), whole - ended.inside});
}

void PassTimes::runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) {
  runAfterPass(pass, op);
}
