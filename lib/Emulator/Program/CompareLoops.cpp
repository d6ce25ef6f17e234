// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Program/CompareLoops.h"

#include "Emulator/Check/Access.h"

#include <algorithm>
#include <numeric>

namespace girih::emu {

namespace {

/// The opcode of a statement, without its guard.
std::string_view opcodeOf(std::string_view text) {
  auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  auto skip = [&](bool while_) {
    auto stop = std::find_if(text.begin(), text.end(), [&](char c) { return blank(c) != while_; });
    text.remove_prefix(static_cast<size_t>(stop - text.begin()));
  };
  skip(true);
  if (!text.empty() && text[0] == '@') {
    skip(false);
    skip(true);
  }
  return text.substr(0, text.find_first_of(" \t\r\n"));
}

} // namespace

void markCompareLoops(Kernel &kernel) {
  // The slots that compare operands lie in.
  std::vector<uint32_t> compared;
  for (size_t pc = 0; pc < kernel.code.size(); ++pc) {
    const Instr &instr = kernel.code[pc];
    if (!(instr.access & kAccessAtomic) ||
        opcodeOf(kernel.info[pc].text).find(".cas.") == std::string_view::npos)
      continue;
    const int32_t operand = kernel.lists[instr.list + (instr.width2 ? instr.count : 0)];
    if (operand >= 0)
      compared.push_back(slotOf(operand));
  }
  if (compared.empty())
    return;
  // Registers that moves connect are one.
  std::vector<uint32_t> parent(kernel.registerBytes / 64 + 1);
  std::iota(parent.begin(), parent.end(), 0u);
  auto find = [&](uint32_t slot) {
    while (parent[slot] != slot)
      slot = parent[slot] = parent[parent[slot]];
    return slot;
  };
  for (const Instr &instr : kernel.code)
    if ((instr.flags & kPlainMove) && instr.s[0] >= 0 && instr.d[0] >= 0)
      parent[find(slotOf(instr.s[0]))] = find(slotOf(instr.d[0]));
  for (uint32_t &slot : compared)
    slot = find(slot);
  for (size_t pc = 0; pc < kernel.code.size(); ++pc) {
    Instr &instr = kernel.code[pc];
    if (instr.access || instr.count != 1 || instr.writeCount != 1 ||
        !opcodeOf(kernel.info[pc].text).starts_with("ld."))
      continue;
    const uint32_t slot = find(kernel.uses[instr.uses + instr.readCount].slot);
    if (std::find(compared.begin(), compared.end(), slot) != compared.end())
      instr.access = static_cast<uint16_t>(kAccessStrong | accessScope(Scope::Sys));
  }
}

} // namespace girih::emu
