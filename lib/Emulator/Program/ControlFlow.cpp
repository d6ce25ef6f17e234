// Post-dominators by the iterative algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast
// Dominance Algorithm") on the reversed control-flow graph of basic blocks.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Program/ControlFlow.h"

#include <algorithm>

namespace girih::emu {

std::vector<uint32_t> reconvergencePoints(const Kernel &kernel) {
  const uint32_t size = static_cast<uint32_t>(kernel.code.size());
  std::vector<uint32_t> result(size, size);
  std::vector<bool> leader(size + 1, false);
  leader[0] = true;
  for (uint32_t pc = 0; pc < size; ++pc) {
    Flow flow = flowOf(kernel.code[pc]);
    if (flow == Flow::Next)
      continue;
    leader[pc + 1] = true;
    if (flow == Flow::Branch)
      leader[kernel.code[pc].target] = true;
    if (flow == Flow::Table)
      for (uint32_t target : kernel.branchTables[static_cast<size_t>(kernel.code[pc].imm)])
        leader[target] = true;
  }
  std::vector<uint32_t> begin, blockOf(size);
  for (uint32_t pc = 0; pc < size; ++pc) {
    if (leader[pc])
      begin.push_back(pc);
    blockOf[pc] = static_cast<uint32_t>(begin.size()) - 1;
  }
  const uint32_t blocks = static_cast<uint32_t>(begin.size()), exit = blocks;
  std::vector<std::vector<uint32_t>> successors(blocks), predecessors(blocks + 1);
  for (uint32_t b = 0; b < blocks; ++b) {
    uint32_t last = (b + 1 < blocks ? begin[b + 1] : size) - 1;
    const Instr &instr = kernel.code[last];
    Flow flow = flowOf(instr);
    bool guarded = instr.flags & kGuarded;
    if (flow == Flow::Branch)
      successors[b].push_back(instr.target < size ? blockOf[instr.target] : exit);
    if (flow == Flow::Table)
      for (uint32_t target : kernel.branchTables[static_cast<size_t>(instr.imm)])
        successors[b].push_back(target < size ? blockOf[target] : exit);
    if (flow == Flow::Exit)
      successors[b].push_back(exit);
    if (flow == Flow::Next || guarded)
      successors[b].push_back(b + 1 < blocks ? b + 1 : exit);
    for (uint32_t s : successors[b])
      predecessors[s].push_back(b);
  }
  // Reverse post-order of the reversed graph, from the exit.
  std::vector<uint32_t> order, number(blocks + 1, ~0u);
  std::vector<std::pair<uint32_t, uint32_t>> stack{{exit, 0}};
  std::vector<bool> seen(blocks + 1, false);
  seen[exit] = true;
  while (!stack.empty()) {
    auto &[node, next] = stack.back();
    if (next < predecessors[node].size()) {
      uint32_t p = predecessors[node][next++];
      if (!seen[p]) {
        seen[p] = true;
        stack.push_back({p, 0});
      }
    } else {
      order.push_back(node);
      stack.pop_back();
    }
  }
  std::reverse(order.begin(), order.end());
  for (uint32_t i = 0; i < order.size(); ++i)
    number[order[i]] = i;
  std::vector<uint32_t> dominator(blocks + 1, ~0u);
  dominator[exit] = exit;
  auto intersect = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (number[a] > number[b])
        a = dominator[a];
      while (number[b] > number[a])
        b = dominator[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t node : order) {
      if (node == exit)
        continue;
      uint32_t best = ~0u;
      for (uint32_t s : successors[node])
        if (number[s] != ~0u && dominator[s] != ~0u)
          best = best == ~0u ? s : intersect(best, s);
      if (best != dominator[node]) {
        dominator[node] = best;
        changed = true;
      }
    }
  }
  for (uint32_t b = 0; b < blocks; ++b) {
    uint32_t last = (b + 1 < blocks ? begin[b + 1] : size) - 1;
    Flow flow = flowOf(kernel.code[last]);
    if ((flow == Flow::Branch || flow == Flow::Table) && dominator[b] != ~0u &&
        dominator[b] != exit)
      result[last] = begin[dominator[b]];
  }
  return result;
}

} // namespace girih::emu
