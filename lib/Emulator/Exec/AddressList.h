// Operands of asynchronous instructions, which have more addresses than an instruction has slots
// for: they live in the instruction's list.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_EXEC_ADDRESSLIST_H
#define GIRIH_EMULATOR_EXEC_ADDRESSLIST_H

#include "Emulator/Exec/Lanes.h"
#include "Emulator/Machine/Async.h"

namespace girih::emu {

/// Adds an address to the list: base, its width, offset low and high.
inline void listAddress(Decoder &d, const ptx::Operand &op) {
  d.address(op, AddressSpace::Shared, 0);
  d.listAdd(d.out.s[0]);
  d.listAdd(d.out.width);
  d.listAdd(static_cast<int32_t>(d.out.imm & 0xffffffff));
  d.listAdd(static_cast<int32_t>(d.out.imm >> 32));
  d.out.s[0] = kNone;
  d.out.imm = 0;
}
/// Reads it back, and moves on in the list.
inline uint64_t addressAt(const Context &c, const int32_t *&list, unsigned lane) {
  Src base = list[0];
  int32_t width = list[1];
  uint64_t address =
      static_cast<uint32_t>(list[2]) | static_cast<uint64_t>(static_cast<uint32_t>(list[3])) << 32;
  list += 4;
  if (base != kNone)
    address += width == 4 ? c.src<uint32_t>(base)[lane] : c.src<uint64_t>(base)[lane];
  return address;
}
/// Who issues an operation, and what happened before. What the warp does later is told apart from
/// that.
inline void describe(AsyncOp &op, Context &c, unsigned lane) {
  op.cta = &c.cta;
  op.warp = &c.warp;
  op.pc = c.pc;
  op.lane = lane;
  op.order = c.warp.order;
  c.cluster.tick(c.warp);
}

} // namespace girih::emu

#endif // GIRIH_EMULATOR_EXEC_ADDRESSLIST_H
