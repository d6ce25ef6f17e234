// From a parsed module to kernels: which device functions a kernel can reach, where their frames
// and variables lie, and which of them are recursive.
//
// A kernel holds the code of every function that it may call, once. A function that cannot be
// called while it runs needs one place for its registers and variables in each lane, like the
// kernel itself, so a call copies its arguments and jumps.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_PROGRAM_LINKER_H
#define GIRIH_EMULATOR_PROGRAM_LINKER_H

#include "Emulator/Program/Program.h"

#include <unordered_map>

namespace girih::emu {

struct Form;

/// What pointers to device functions hold: addresses that are no memory.
constexpr uint64_t kCodeBase = 0xf0000000;

class Linker {
public:
  /// Gives every device function its address (the first of them `firstAddress`) and resolves
  /// aliases.
  Linker(const ptx::ModuleAst &ast, ModuleImage &image, uint64_t firstAddress,
         std::vector<ptx::Diagnostic> &errors);
  /// Decodes a kernel with all that it can call.
  void link(const ptx::Function &entry, Kernel &kernel);

  // For the decoder.
  /// The device function of a name, aliases resolved; nullptr if there is none.
  const ptx::Function *find(std::string_view name) const;
  static SystemCall systemCall(std::string_view name);
  /// Index in Kernel::functions, or ~0.
  uint32_t indexInKernel(const ptx::Function &function) const;
  uint64_t address(const ptx::Function &function) const;
  /// The form of an instruction; nullptr if there is none.
  const Form *form(const ptx::Instruction &instruction);
  /// Shared memory of a variable of the module, the same in all functions of a kernel.
  uint64_t placeShared(const ptx::Symbol &symbol);
  /// The name of a variable in the module; a function's own have longer names there.
  std::string_view nameOf(const ptx::Symbol &symbol) const {
    return symbol.moduleIndex < 0 ? symbol.name
                                  : ast.variables[static_cast<size_t>(symbol.moduleIndex)].name;
  }
  std::vector<uint32_t> callTable(const ptx::Symbol &symbol) const;

  Kernel *kernel = nullptr;
  /// End of shared memory so far.
  uint64_t sharedEnd = 0;
  /// Sizes of `.local` variables of all functions.
  uint64_t localVariables = 0;

private:
  void collect(const ptx::Function &entry);
  void markRecursion();
  template <typename F> void forEachCallee(const ptx::Function &function, F f) const;

  const ptx::ModuleAst &ast;
  ModuleImage &image;
  std::vector<ptx::Diagnostic> &errors;
  std::unordered_map<std::string_view, const ptx::Function *> byName;
  std::vector<const ptx::Function *> pointedTo;
  struct KnownForm {
    bool known = false;
    const Form *form = nullptr;
  };
  std::vector<KnownForm> forms;
  // Of the kernel at hand.
  std::vector<const ptx::Function *> members;
  std::unordered_map<int32_t, uint64_t> sharedPlaces;
};

/// The forms of the instruction set of this host; nullptr if none matches.
const Form *findForm(const ptx::Instruction &instruction);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_PROGRAM_LINKER_H
