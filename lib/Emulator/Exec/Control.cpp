// Control flow and miscellany (PTX ISA 9.0, 9.7.12 and 9.7.19).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Calls.h"
#include "Emulator/Exec/Lanes.h"
#include "Emulator/Program/ControlFlow.h"

namespace girih::emu {

namespace {

Step branch(Context &c, const Instr &in) {
  Fragment &f = c.frag();
  if (c.mask == f.mask)
    f.pc = in.target;
  else
    c.cluster.diverge(c, c.mask, in.target);
  return Step::Jumped;
}
void buildBra(Decoder &d, int) {
  if (!d.expectOperands(1))
    return;
  if (d.operand(0).kind != ptx::OperandKind::Label)
    return d.fail("a branch needs a label");
  d.out.target = d.operand(0).index;
  d.out.exec = branch;
}
Step trap(Context &c, const Instr &) {
  c.cluster.fault("trap", "the program executed a trap",
                  {c.cluster.here(c, "traps", __builtin_ctz(c.mask))});
  return Step::Block;
}
void buildTrap(Decoder &d, int) { d.out.exec = trap; }
Step yield(Context &, const Instr &) { return Step::Yield; }
Step nothing(Context &, const Instr &) { return Step::Next; }
void buildYield(Decoder &d, int) { d.out.exec = yield; }
void buildNothing(Decoder &d, int) { d.out.exec = nothing; }

Step setmaxnreg(Context &c, const Instr &in) {
  return c.cluster.setmaxnreg(c, static_cast<uint32_t>(in.imm), in.sub);
}
void buildSetmaxnreg(Decoder &d, int) {
  if (!d.expectOperands(1))
    return;
  d.out.imm = d.literal(0);
  // 9.7.19.5: 24 to 256 in steps of 8.
  if (d.out.imm < 24 || d.out.imm > 256 || d.out.imm % 8 != 0)
    return d.fail("the register count must be a multiple of 8 from 24 to 256");
  d.out.sub = d.has("inc");
  d.out.flags |= kAligned;
  d.kernel.usesSetmaxnreg = true;
  d.out.exec = setmaxnreg;
}

// griddepcontrol (9.7.13.13).
Step launchDependents(Context &c, const Instr &) {
  c.cluster.launchDependents(c.cta);
  return Step::Next;
}
Step waitForGrids(Context &c, const Instr &) { return c.cluster.waitForGrids(c); }
void buildDependents(Decoder &d, int) {
  if (d.expectOperands(0, 0))
    d.out.exec = d.has("wait") ? waitForGrids : launchDependents;
}

const Form forms[] = {
    {"bra", "uni?", buildBra},
    {"trap", "", buildTrap},
    {"brkpt", "", buildTrap},
    {"nanosleep", "u32", buildYield},
    {"griddepcontrol", "launch_dependents|wait", buildDependents},
    {"pmevent", "mask?", buildNothing},
    {"setmaxnreg", "inc|dec sync aligned u32", buildSetmaxnreg},
};

} // namespace

std::span<const Form> controlForms() { return forms; }

Flow flowOf(const Instr &instr) {
  return instr.exec == branch     ? Flow::Branch
         : isIndexedBranch(instr) ? Flow::Table
         : isReturnOrExit(instr)  ? Flow::Exit
                                  : Flow::Next;
}

} // namespace girih::emu
