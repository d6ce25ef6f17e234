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

#include "ScalarizeStructs.h"
#include "girih/Target/CodeGen.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopDeletion.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/SCCP.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace girih;
using namespace girih::target;

/// InstCombine's later rounds exist to verify that nothing is left to do.
static llvm::InstCombineOptions oneRound() {
  return llvm::InstCombineOptions().setMaxIterations(1);
}

static bool isKernel(const llvm::Function &function) {
  return function.getCallingConv() == llvm::CallingConv::PTX_Kernel;
}

/// One round of everything, with the cheap cleaning passes between the ones that need clean input.
static void buildPipeline(llvm::PassBuilder &builder, llvm::ModulePassManager &passes) {
  const auto level = llvm::OptimizationLevel::O3;
  // The backend's own: answers __nvvm_reflect, gives ranges to thread indices.
  builder.invokePipelineStartEPCallbacks(passes, level);
  passes.addPass(llvm::AlwaysInlinerPass());
  passes.addPass(llvm::GlobalDCEPass());

  llvm::FunctionPassManager function;
  function.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  function.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
  function.addPass(llvm::SimplifyCFGPass());
  // Rotation first: only then is a loop's header a place that LICM may hoist past. And before
  // InstCombine, which makes an instruction in the header of each register that the loop carries,
  // more than rotation copies.
  llvm::LoopPassManager rotate;
  rotate.addPass(llvm::LoopRotatePass(/*EnableHeaderDuplication=*/true));
  function.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(rotate)));
  function.addPass(llvm::InstCombinePass(oneRound()));

  llvm::LoopPassManager hoist;
  hoist.addPass(llvm::LICMPass(llvm::LICMOptions()));
  function.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(hoist), /*UseMemorySSA=*/true));
  function.addPass(llvm::SimplifyCFGPass());
  llvm::LoopPassManager induction;
  induction.addPass(llvm::IndVarSimplifyPass());
  induction.addPass(llvm::LoopDeletionPass());
  function.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(induction)));

  function.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  function.addPass(llvm::GVNPass(llvm::GVNOptions().setPRE(false).setLoadPRE(false)));
  function.addPass(llvm::SCCPPass());
  function.addPass(llvm::InstCombinePass(oneRound()));
  function.addPass(llvm::ADCEPass());
  function.addPass(
      llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions().convertSwitchRangeToICmp(true)));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(function)));
  passes.addPass(llvm::GlobalDCEPass());
}

void target::optimize(llvm::Module &module, llvm::TargetMachine &machine, int optLevel) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration() || isKernel(function))
      continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    if (!function.hasFnAttribute(llvm::Attribute::NoInline) && optLevel > 0)
      function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  llvm::PassBuilder builder(&machine);
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
  if (optLevel == 0)
    passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O0);
  else
    buildPipeline(builder, passes);
  passes.run(module, modules);
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      scalarizeStructs(function);
}
