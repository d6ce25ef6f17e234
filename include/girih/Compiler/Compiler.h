//===- Compiler.h - From module text to a kernel package
//------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler as a library: C++ users link it, girih-compile is a thin program over it. Nothing
// here exits, prints or throws for a user's mistake: all that is to be said is in
// Result::diagnostics.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_COMPILER_COMPILER_H
#define GIRIH_COMPILER_COMPILER_H

#include "girih/Target/Diagnostic.h"
#include "girih/Target/Ptxas.h"
#include "girih/Target/Toolchain.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace girih::compiler {

/// What a compilation must produce. Later stages run only if something needs them.
struct Emit {
  bool tile = false;  ///< the module as it was read
  bool wg = false;    ///< in the wg phase: with roles and layouts
  bool nvvm = false;  ///< after the passes
  bool llvm = false;  ///< LLVM IR after the optimiser
  bool ptx = false;   ///< PTX text
  bool image = false; ///< the package: cubin, PTX, location table and manifest in one file

  bool sass = false; ///< the cubin as nvdisasm prints it; needs `image`

  /// Sets the field called `name` and what it needs; false if there is none.
  bool set(std::string_view name);
};

struct Options {
  std::string arch;               ///< replaces the chip of #nvvm.target; empty keeps it
  std::string fileName = "input"; ///< for locations of text that has none of its own
  Emit emit;
  bool remarks = false; ///< keep the remarks of passes among the diagnostics
  bool timing = false;  ///< fill Result::passTimes
  /// Optional steps to do without, of Compiler::optionalSteps(). What ptxas complains of is a
  /// remark then.
  std::vector<std::string> without;
  target::Toolchain tools;
};

/// Wall-clock time of each step in milliseconds.
struct Timings {
  double parse = 0;  ///< MLIR text to module, verified
  double passes = 0; ///< tile to wg to nvvm
  double llvm = 0;   ///< translation, LLVM's passes, PTX
  double ptxas = 0;  ///< the child process
  double total = 0;
};

/// Wall-clock time of one pass in milliseconds, by its name on the command line of girih-opt.
struct PassTime {
  std::string pass;
  double milliseconds = 0;
};

struct Result {
  bool ok = false;
  /// Not empty unless ok; warnings, and remarks if asked for, are possible if ok.
  std::vector<target::Diagnostic> diagnostics;
  std::string tile, wg, nvvm, llvm, ptx, sass;      ///< those of Options::emit
  std::string image;                                ///< if asked for: the bytes of the package
  std::string cubin;                                ///< what ptxas wrote, without girih's sections
  std::string manifest;                             ///< JSON; with the image
  std::string name;                                 ///< of the package: its host plan's
  std::vector<target::FunctionResources> resources; ///< per kernel, as ptxas reports them
  int64_t dynamicSharedBytes = 0;                   ///< the largest of the kernels
  std::vector<target::PtxasMessage> ptxasMessages;  ///< all, the harmless included
  Timings timings;
  std::vector<PassTime> passTimes; ///< in the order in which the passes ended; if asked for
};

/// A compiler that stays warm: one MLIRContext with every dialect loaded, no threads of its own.
/// One compilation at a time; use one Compiler for each thread.
class Compiler {
public:
  Compiler();
  ~Compiler();
  Compiler(const Compiler &) = delete;
  Compiler &operator=(const Compiler &) = delete;

  /// Compiles `text`, a module in the tile, the wg or the nvvm phase. It holds one gpu.module and,
  /// for an image, one plan.host with its launches. A module whose kernels are llvm.func already
  /// goes past the passes.
  Result compile(std::string_view text, const Options &options);

  /// Names of the steps that a right result does not need, in the order in which they run.
  static std::vector<std::string> optionalSteps();

  /// Compiles a tiny kernel, without ptxas, so that the first real one does not pay for reading
  /// pages of the libraries from disk.
  void warmUp();

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace girih::compiler

#endif // GIRIH_COMPILER_COMPILER_H
