// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbering on LLVM IR: what the tests on whole modules (test/Target) cannot reach.

#include "girih/Target/Locations.h"

#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <gtest/gtest.h>

using namespace girih;

namespace {
/// A function "kernel" of "k.py" that begins in line 10, with one fence at each of the given lines.
struct Fences {
  explicit Fences(const std::vector<unsigned> &lines) : module("test", context) {
    llvm::DIBuilder debug(module);
    llvm::DIFile *file = debug.createFile("kernel", "k.py");
    debug.createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C99), file, "girih",
                            true, "", 0);
    auto *type = debug.createSubroutineType(debug.getOrCreateTypeArray({}));
    auto *subprogram =
        debug.createFunction(file, "kernel", "kernel", file, 10, type, 10, llvm::DINode::FlagZero,
                             llvm::DISubprogram::SPFlagDefinition);
    llvm::IRBuilder<> builder(context);
    auto *function = llvm::Function::Create(llvm::FunctionType::get(builder.getVoidTy(), false),
                                            llvm::GlobalValue::ExternalLinkage, "kernel", module);
    function->setSubprogram(subprogram);
    builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
    for (unsigned line : lines) {
      builder.SetCurrentDebugLocation(llvm::DILocation::get(context, line, 3, subprogram));
      builder.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
    }
    builder.CreateRetVoid();
    debug.finalize();
  }

  /// Line and column of each fence.
  std::vector<std::pair<unsigned, unsigned>> places() {
    std::vector<std::pair<unsigned, unsigned>> result;
    for (llvm::Instruction &instruction : module.getFunction("kernel")->front())
      if (llvm::isa<llvm::FenceInst>(instruction))
        result.push_back({instruction.getDebugLoc().getLine(), instruction.getDebugLoc().getCol()});
    return result;
  }

  llvm::LLVMContext context;
  llvm::Module module;
};

using Places = std::vector<std::pair<unsigned, unsigned>>;

TEST(NumberLocations, LinesAreRelativeAndColumnsAreNumbers) {
  Fences fences({12, 15, 12});
  auto table = target::numberLocations(fences.module, {{"kernel", "k.py", 10}});
  EXPECT_EQ(fences.places(), (Places{{3, 1}, {6, 2}, {3, 1}}));
  ASSERT_EQ(table.locations.size(), 2u);
  EXPECT_EQ(table.text(2), "k.py:15:3");
  auto *subprogram = fences.module.getFunction("kernel")->getSubprogram();
  EXPECT_EQ(subprogram->getDirectory(), "");
  EXPECT_EQ(subprogram->getLine(), 1u);
}

TEST(NumberLocations, WithoutALineAnInstructionTakesThatOfTheOneBefore) {
  Fences fences({0, 12, 0, 15, 0});
  target::numberLocations(fences.module, {{"kernel", "k.py", 10}});
  EXPECT_EQ(fences.places(), (Places{{3, 1}, {3, 1}, {3, 1}, {6, 2}, {6, 2}}));
}

TEST(NumberLocations, BeyondTheLimitFunctionAndLineStay) {
  std::vector<unsigned> lines;
  for (unsigned i = 0; i < target::maxLocations + 2; ++i)
    lines.push_back(10 + i);
  Fences fences(lines);
  auto table = target::numberLocations(fences.module, {{"kernel", "k.py", 10}});
  EXPECT_EQ(table.locations.size(), target::maxLocations);
  Places places = fences.places();
  EXPECT_EQ(places[target::maxLocations - 1], std::pair(65535u, 65535u));
  EXPECT_EQ(places[target::maxLocations], std::pair(65536u, 0u));
  EXPECT_EQ(places[target::maxLocations + 1], std::pair(65537u, 0u));
}
} // namespace
