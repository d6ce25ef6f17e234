// Where lanes that part at a branch may run one at a time.
//
// Lanes that take the same way are threads of their own, and PTX promises nothing about when they
// run. But an .aligned instruction needs the lanes that compilers know to be together, and programs
// that ask with activemask who is there (cooperative groups' coalesced_threads) rely on lanes of
// one way being there; so only branches count whose ways meet again before any such instruction.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Machine.h"
#include "Emulator/Program/ControlFlow.h"

namespace girih::emu {

std::vector<bool> branchesOfSingleLanes(const Kernel &kernel) {
  const uint32_t size = static_cast<uint32_t>(kernel.code.size());
  std::vector<bool> result(size, false);
  std::vector<uint32_t> visited(size, ~0u), work;
  for (uint32_t branch = 0; branch < size; ++branch) {
    const uint32_t meet = kernel.reconverge[branch];
    if (meet >= size || flowOf(kernel.code[branch]) != Flow::Branch)
      continue;
    bool allowed = true;
    work.assign({branch + 1, kernel.code[branch].target});
    while (allowed && !work.empty()) {
      const uint32_t pc = work.back();
      work.pop_back();
      if (pc == meet || pc >= size || visited[pc] == branch)
        continue;
      visited[pc] = branch;
      const Instr &in = kernel.code[pc];
      const std::string_view text = kernel.info[pc].text;
      if (in.flags & kAligned || text.find("call") != std::string_view::npos ||
          text.find("activemask") != std::string_view::npos)
        allowed = false;
      switch (flowOf(in)) {
      case Flow::Next:
        work.push_back(pc + 1);
        break;
      case Flow::Branch:
        work.push_back(in.target);
        work.push_back(pc + 1);
        break;
      case Flow::Exit:
        if (in.flags & kGuarded)
          work.push_back(pc + 1);
        break;
      default:
        allowed = false;
      }
    }
    result[branch] = allowed;
  }
  return result;
}

void Cluster::splitLanes(Warp &warp, uint32_t id) {
  for (;;) {
    Fragment *f = findFragment(warp, id);
    if (!f || (f->mask & (f->mask - 1)) == 0)
      return;
    Fragment other = *f;
    other.id = nextFragment++;
    other.mask = f->mask & ~(f->mask & (~f->mask + 1));
    f->mask &= ~other.mask;
    id = other.id;
    warp.fragments.push_back(other);
  }
}

} // namespace girih::emu
