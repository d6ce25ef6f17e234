// How long each pass of a compilation takes.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_COMPILER_PASSTIMES_H
#define GIRIH_LIB_COMPILER_PASSTIMES_H

#include "girih/Compiler/Compiler.h"

#include "mlir/Pass/PassInstrumentation.h"

#include <chrono>

namespace girih::compiler {

/// Adds a row to `rows` for each pass that runs, in the order in which they end: its name on the
/// command line and the time spent in it, passes that it runs itself left out.
class PassTimes : public mlir::PassInstrumentation {
public:
  explicit PassTimes(std::vector<PassTime> &rows) : rows(rows) {}

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override;

private:
  using Clock = std::chrono::steady_clock;
  struct Running {
    Clock::time_point begin;
    double inside = 0; ///< milliseconds of the passes that this one ran
  };
  std::vector<PassTime> &rows;
  std::vector<Running> running;
};

} // namespace girih::compiler

#endif // GIRIH_LIB_COMPILER_PASSTIMES_H
