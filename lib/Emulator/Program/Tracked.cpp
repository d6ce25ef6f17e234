// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Program/Tracked.h"

namespace girih::emu {

void trackRegister(Kernel &kernel, int32_t offset) {
  size_t slot = static_cast<size_t>(offset) / 64;
  if (kernel.trackedAt.size() <= slot)
    kernel.trackedAt.resize(slot + 1);
  if (kernel.trackedAt[slot])
    return;
  kernel.tracked.push_back(offset);
  kernel.trackedAt[slot] = static_cast<uint32_t>(kernel.tracked.size());
}

void collectTracked(Kernel &kernel) {
  if (kernel.tracked.empty())
    return;
  // Registers that plain moves connect to a tracked one hold the same value in other names: track
  // them too.
  bool changed = true;
  auto isTracked = [&](int32_t offset) {
    size_t slot = static_cast<size_t>(offset) / 64;
    return offset >= 0 && slot < kernel.trackedAt.size() && kernel.trackedAt[slot];
  };
  while (changed) {
    changed = false;
    for (const Instr &instr : kernel.code)
      if ((instr.flags & kPlainMove) && instr.s[0] >= 0 && instr.width == 4) {
        bool from = isTracked(instr.s[0]), to = isTracked(instr.d[0]);
        if (from == to)
          continue;
        trackRegister(kernel, from ? instr.d[0] : instr.s[0]);
        changed = true;
      }
  }
  for (size_t pc = 0; pc < kernel.code.size(); ++pc) {
    Instr &instr = kernel.code[pc];
    if (instr.flags & kSelfChecked)
      continue;
    InstrInfo &info = kernel.info[pc];
    const RegisterUse *use = kernel.uses.data() + instr.uses;
    for (uint32_t i = 0; i < uint32_t(instr.readCount) + instr.writeCount; ++i, ++use)
      if (use->slot < kernel.trackedAt.size() && kernel.trackedAt[use->slot])
        (i < instr.readCount ? info.trackedReads : info.trackedWrites)
            .push_back(kernel.trackedAt[use->slot] - 1);
    if (!info.trackedReads.empty() || !info.trackedWrites.empty())
      instr.flags |= kTracked;
  }
}

} // namespace girih::emu
