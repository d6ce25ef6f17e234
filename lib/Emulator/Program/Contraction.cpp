// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Program/Contraction.h"
#include "Emulator/Exec/Calls.h"
#include "Emulator/Program/ControlFlow.h"

#include <algorithm>

namespace girih::emu {

namespace {

/// Where a basic block begins.
std::vector<bool> blockStarts(const Kernel &kernel) {
  std::vector<bool> starts(kernel.code.size() + 1, false);
  for (const KernelFunction &function : kernel.functions)
    starts[function.first] = true;
  for (const std::vector<uint32_t> &table : kernel.branchTables)
    for (uint32_t target : table)
      starts[target] = true;
  for (size_t pc = 0; pc < kernel.code.size(); ++pc) {
    const Instr &instr = kernel.code[pc];
    const Flow flow = flowOf(instr);
    if (flow == Flow::Branch)
      starts[instr.target] = true;
    if (flow != Flow::Next || isCall(instr))
      starts[pc + 1] = true;
  }
  return starts;
}

bool sameGuard(const Instr &a, const Instr &b) {
  constexpr uint8_t guard = kGuarded | kGuardNegated;
  return (a.flags & guard) == (b.flags & guard) && a.guard == b.guard;
}

} // namespace

std::vector<ContractiblePair> contractiblePairs(const Kernel &kernel) {
  std::vector<ContractiblePair> pairs;
  if (kernel.contractible.empty())
    return pairs;
  const std::vector<bool> starts = blockStarts(kernel);
  /// Products of this block that are still what they were.
  std::vector<const Contractible *> products;
  auto next = kernel.contractible.begin();
  for (uint32_t pc = 0; pc < kernel.code.size(); ++pc) {
    if (starts[pc])
      products.clear();
    const Instr &instr = kernel.code[pc];
    const Contractible *here = nullptr;
    if (next != kernel.contractible.end() && next->pc == pc)
      here = &*next++;
    if (here && here->kind != Contractible::Mul) {
      auto takes = [&](Src operand) {
        return std::any_of(products.begin(), products.end(), [&](const Contractible *product) {
          const Instr &mul = kernel.code[product->pc];
          bool matches = mul.d[0] == operand && product->type == here->type &&
                         (!(mul.flags & kGuarded) || sameGuard(mul, instr));
          if (matches)
            pairs.push_back({product->pc, pc, operand != instr.s[0]});
          return matches;
        });
      };
      // One of two products is fused, as the instruction has room for one.
      if (!takes(instr.s[0]))
        takes(instr.s[1]);
    }
    for (uint32_t i = 0; i < instr.writeCount; ++i) {
      const uint32_t slot = kernel.uses[instr.uses + instr.readCount + i].slot;
      auto touches = [&](int32_t offset) { return offset >= 0 && slotOf(offset) == slot; };
      std::erase_if(products, [&](const Contractible *product) {
        const Instr &mul = kernel.code[product->pc];
        return touches(mul.d[0]) || touches(mul.s[0]) || touches(mul.s[1]) ||
               ((mul.flags & kGuarded) && touches(mul.guard));
      });
    }
    if (here && here->kind == Contractible::Mul && instr.d[0] != instr.s[0] &&
        instr.d[0] != instr.s[1])
      products.push_back(here);
  }
  return pairs;
}

void contract(Kernel &kernel, const std::vector<ContractiblePair> &pairs) {
  for (const ContractiblePair &pair : pairs) {
    const Instr &mul = kernel.code[pair.mul];
    Instr &add = kernel.code[pair.add];
    auto form =
        std::lower_bound(kernel.contractible.begin(), kernel.contractible.end(), pair.add,
                         [](const Contractible &entry, uint32_t pc) { return entry.pc < pc; });
    add.exec = pair.second ? form->fusedSecond : form->fusedFirst;
    add.s[2] = pair.second ? add.s[0] : add.s[1];
    add.s[0] = mul.s[0];
    add.s[1] = mul.s[1];
  }
}

} // namespace girih::emu
