//===- LibDevice.cpp - Link the functions of libdevice that a kernel uses
//------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libdevice.10.bc has some 350 functions; it is opened lazily, so that only the bodies that are
// linked are ever read. Its functions ask __nvvm_reflect for flags, which LLVM's NVVMReflect pass
// answers.
//
//===--------------------------------------------------------------------------------------------===//

#include "girih/Target/CodeGen.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace girih;
using namespace girih::target;

static std::vector<std::string> undefinedMathFunctions(const llvm::Module &module) {
  std::vector<std::string> names;
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && function.getName().starts_with("__nv_"))
      names.push_back(function.getName().str());
  return names;
}

bool target::linkLibdevice(llvm::Module &module, const std::string &path,
                           std::vector<Diagnostic> &diagnostics) {
  std::vector<std::string> wanted = undefinedMathFunctions(module);
  if (wanted.empty())
    return true;
  auto fail = [&](const std::string &message) {
    diagnostics.push_back(makeError(message));
    return false;
  };
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return fail("the kernel calls " + wanted.front() + " of libdevice, which cannot be read at '" +
                path +
                "': run ./dev setup, which installs the pinned nvidia-nvvm wheel, or set "
                "GIRIH_CUDA_HOME");
  auto library = llvm::getOwningLazyBitcodeModule(std::move(*buffer), module.getContext());
  if (!library)
    return fail("libdevice at '" + path +
                "' is no bitcode that LLVM reads: " + llvm::toString(library.takeError()));
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::LinkOnlyNeeded))
    return fail("libdevice at '" + path + "' could not be linked");
  std::vector<std::string> left = undefinedMathFunctions(module);
  if (!left.empty())
    return fail("the kernel calls " + left.front() + ", which libdevice does not have");
  return true;
}
