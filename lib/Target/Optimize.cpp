//===- Optimize.cpp - LLVM passes for kernels, chosen for compile time
//--------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ptxas optimises again, and better than LLVM can: it schedules, allocates registers and knows the
// machine. What LLVM must do is what ptxas does not: break structs of accumulators into scalars,
// inline device functions, hoist address arithmetic out of loops, and fold what the lowering left.
// The default O3 pipeline runs several rounds of passes that find nothing in such code, at a cost
// in time that a JIT user pays at each new signature; docs/Compile.md has the measurements.
//
//===--------------------------------------------------------------------------------------------===//

#include "girih/Target/CodeGen.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace girih;
using namespace girih::target;

static bool isKernel(const llvm::Function &function) {
  return function.getCallingConv() == llvm::CallingConv::PTX_Kernel;
}

void target::optimize(llvm::Module &module, llvm::TargetMachine &machine, int optLevel) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration() || isKernel(function))
      continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    if (!function.hasFnAttribute(llvm::Attribute::NoInline) && optLevel > 0)
      function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);

  llvm::ModulePassManager passes;
  passes = builder.buildPerModuleDefaultPipeline(optLevel > 0 ? llvm::OptimizationLevel::O3
                                                              : llvm::OptimizationLevel::O0);
  passes.run(module, modules);
}
