// Calls, returns, branches through tables, and memory on the stack (PTX ISA 9.0, 9.7.12.4 to
// 9.7.12.6 and 9.7.18 "stack manipulation").
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Calls.h"
#include "Emulator/Exec/Lanes.h"
#include "Emulator/Program/ControlFlow.h"
#include "Emulator/Program/Linker.h"
#include "Emulator/Text.h"

#include <algorithm>

namespace girih::emu {

namespace {

using ptx::Operand;
using ptx::OperandKind;

template <typename T> Step addFrame(Context &c, const Instr &in) {
  const uint64_t *base = c.src<uint64_t>(in.s[0]);
  T t[32];
  for (unsigned i = 0; i < 32; ++i)
    t[i] = static_cast<T>(base[i] + static_cast<uint64_t>(in.imm));
  storeLanes(c, in.d[0], t);
  return Step::Next;
}

Step callDirect(Context &c, const Instr &in) {
  uint32_t function[32];
  std::fill(std::begin(function), std::end(function), in.target);
  return c.cluster.enterCall(c, static_cast<uint32_t>(in.imm), function);
}

bool sameSizes(const std::vector<Passing> &a, const std::vector<Passing> &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].bytes != b[i].bytes && !b[i].flexible)
      return false;
  return true;
}

template <typename T> Step callIndirect(Context &c, const Instr &in) {
  const Kernel &kernel = c.cluster.kernel;
  const CallSite &site = kernel.calls[static_cast<size_t>(in.imm)];
  const T *pointer = c.src<T>(in.s[0]);
  if (uint32_t undefined = c.undefinedLanes(in.s[0]))
    c.cluster.reportUndefined(c, "the target of a call is",
                              static_cast<uint32_t>(__builtin_ctz(undefined)),
                              c.warp.defined.origin(slotOf(in.s[0])));
  uint32_t function[32] = {};
  for (uint32_t m = c.mask; m; m &= m - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint32_t index = 1;
    while (index < kernel.functions.size() && kernel.functions[index].address != pointer[lane])
      ++index;
    const char *problem = nullptr;
    if (index == kernel.functions.size())
      problem = "is no function of this module";
    else if (!site.anyTarget &&
             std::find(site.targets.begin(), site.targets.end(), index) == site.targets.end())
      problem = "is not among the call's targets";
    else if (!sameSizes(site.arguments, kernel.functions[index].parameters) ||
             (!site.results.empty() && !sameSizes(site.results, kernel.functions[index].results)))
      problem = "takes or returns values of other sizes than the call passes";
    if (problem) {
      std::string name = index < kernel.functions.size()
                             ? "'" + std::string(kernel.functions[index].name) + "'"
                             : hex(pointer[lane]);
      c.cluster.fault("call-target", "the target of an indirect call, " + name + ", " + problem,
                      {c.cluster.here(c, "calls", static_cast<int>(lane))});
      return Step::Block;
    }
    function[lane] = index;
  }
  return c.cluster.enterCall(c, static_cast<uint32_t>(in.imm), function);
}

Step returnFromCall(Context &c, const Instr &) { return c.cluster.leaveCall(c); }

Step exitThread(Context &c, const Instr &) {
  c.cluster.exitLanes(c, c.mask);
  return Step::Jumped;
}

/// The values of one side of a call, against what the other side declares.
bool passAll(Decoder &d, const Operand *list, const std::vector<ptx::Formal> &formals,
             const char *what, const std::string &callee, std::vector<Passing> &to) {
  const bool isResult = what[0] == 'r';
  const size_t count = list ? list->elements.size() : 0;
  if (count != formals.size()) {
    d.fail(callee + " has " + std::to_string(formals.size()) + " " + what + "s, the call passes " +
           std::to_string(count));
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    const ptx::Formal &formal = formals[i];
    if (isResult && list->elements[i].kind == OperandKind::Sink) {
      d.fail("'_' in place of a result; leave the list of results out");
      return false;
    }
    const std::string which = std::string(what) + " " + std::to_string(i + 1) + " of " + callee;
    const std::string size =
        (formal.flexible ? std::string("any number of") : std::to_string(formal.bytes)) + " bytes";
    if (list->elements[i].kind != OperandKind::Symbol &&
        (formal.flexible || formal.bytes != ptx::typeBytes(formal.type))) {
      d.fail(which + " has " + size + " and must be a .param variable");
      return false;
    }
    Passing p = d.passing(list->elements[i], formal, isResult);
    if (d.failed())
      return false;
    if (p.bytes != formal.bytes && !formal.flexible) {
      d.fail(which + " has " + size + ", the call passes " + std::to_string(p.bytes));
      return false;
    }
    to.push_back(p);
  }
  return true;
}

/// The functions that a list or table of an indirect call names.
bool callTargets(Decoder &d, const Operand &table, CallSite &site,
                 const ptx::Prototype *&prototype) {
  std::vector<std::string_view> names;
  if (table.kind == OperandKind::Table) {
    const ptx::Table &t = d.functionAst().tables[table.index];
    if (t.kind == ptx::Table::Kind::Prototype) {
      prototype = &t.prototype;
      site.anyTarget = true;
      return true;
    }
    if (t.kind == ptx::Table::Kind::Calls)
      for (std::string_view name : t.functions) {
        const ptx::Function *function = d.linker.find(name);
        if (!function || function->isEntry || !function->hasBody) {
          d.fail("'" + std::string(name) + "' in .calltargets is no device function with a body");
          return false;
        }
        site.targets.push_back(d.linker.indexInKernel(*function));
        prototype = &function->prototype;
      }
  } else if (table.kind == OperandKind::Symbol) {
    site.targets = d.linker.callTable(d.functionAst().symbols[table.index]);
    for (uint32_t index : site.targets)
      prototype = &d.linker.find(d.kernel.functions[index].name)->prototype;
  }
  if (prototype)
    return true;
  d.fail("an indirect call needs a prototype or a list of its targets, declared before it");
  return false;
}

void buildCall(Decoder &d, int) {
  // 9.7.12.5: call{.uni} {(results),} target{, (arguments)}{, targets or prototype}.
  const std::span<Operand> operands = d.ast->operands;
  size_t next = 0;
  const Operand *results = nullptr, *arguments = nullptr, *table = nullptr;
  if (next < operands.size() && operands[next].kind == OperandKind::List)
    results = &operands[next++];
  if (next == operands.size())
    return d.fail("a call without a target");
  const Operand &target = operands[next++];
  if (next < operands.size() && operands[next].kind == OperandKind::List)
    arguments = &operands[next++];
  if (next < operands.size())
    table = &operands[next++];
  if (next < operands.size())
    return d.fail("too many operands");
  CallSite site;
  site.caller = d.self();
  const ptx::Prototype *prototype = nullptr;
  std::string callee = "the prototype";
  if (target.kind == OperandKind::Register) {
    if (!table)
      return d.fail("an indirect call needs a prototype or a list of its targets");
    if (!callTargets(d, *table, site, prototype))
      return;
    uint8_t width = 0;
    d.out.s[0] = d.source(target, 8, &width);
    if (width < 4)
      return d.fail("the target of a call in a 16-bit register");
    d.out.exec = width == 8 ? ExecFn(callIndirect<uint64_t>) : ExecFn(callIndirect<uint32_t>);
  } else {
    const std::string name(target.name);
    callee = "'" + name + "'";
    const ptx::Function *function = d.linker.find(target.name);
    if (!function || function->isEntry)
      return d.fail(function ? "a call of kernel " + callee
                             : "no device function " + callee + " is declared");
    prototype = &function->prototype;
    if (function->hasBody) {
      site.function = d.linker.indexInKernel(*function);
      d.out.target = site.function;
      d.out.exec = callDirect;
    } else {
      site.system = Linker::systemCall(target.name);
      if (site.system == SystemCall::None)
        return d.fail("function " + callee +
                      " has no body here: linking is not modelled, and the system provides "
                      "vprintf, malloc, free and __assertfail");
      if (!systemCallFits(site.system, *prototype))
        return d.fail("the declaration of " + callee + " is not that of the system's function");
      d.out.exec = systemCall;
    }
  }
  if (!passAll(d, results, prototype->results, "result", callee, site.results) ||
      !passAll(d, arguments, prototype->parameters, "argument", callee, site.arguments))
    return;
  // Registers that are passed are read, as far as wgmma is concerned.
  d.listStart();
  for (const Passing &p : site.arguments)
    if (p.kind == Passing::Kind::Register)
      d.listAdd(p.at);
  d.out.imm = static_cast<int64_t>(d.kernel.calls.size());
  d.kernel.calls.push_back(std::move(site));
}

/// 9.7.12.4: an index past the table is undefined behaviour.
Step branchIndexed(Context &c, const Instr &in) {
  const std::vector<uint32_t> &table = c.cluster.kernel.branchTables[static_cast<size_t>(in.imm)];
  const uint32_t *index = c.src<uint32_t>(in.s[0]);
  for (uint32_t m = c.mask; m; m &= m - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    if (index[lane] < table.size())
      continue;
    c.cluster.fault("branch-index",
                    "brx.idx with index " + std::to_string(index[lane]) + " into a table of " +
                        std::to_string(table.size()) + " labels",
                    {c.cluster.here(c, "branches", static_cast<int>(lane))});
    return Step::Block;
  }
  // Lanes leave for one target after the other; what is left at the end jumps itself.
  const uint32_t id = c.frag().id;
  uint32_t left = c.mask;
  const bool guarded = c.mask != c.frag().mask;
  while (left) {
    const uint32_t target = table[index[__builtin_ctz(left)]];
    uint32_t lanes = 0;
    for (uint32_t m = left; m; m &= m - 1)
      if (table[index[__builtin_ctz(m)]] == target)
        lanes |= m & -m;
    left &= ~lanes;
    if (!left && !guarded) {
      c.frag().pc = target;
      return Step::Jumped;
    }
    c.cluster.diverge(c, lanes, target);
    // Others may have come or gone before it in the list.
    for (uint32_t i = 0; i < c.warp.fragments.size(); ++i)
      if (c.warp.fragments[i].id == id)
        c.fragment = i;
  }
  return Step::Jumped;
}

void buildBrx(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  d.out.s[0] = d.source(0, 4);
  const Operand &table = d.operand(1);
  if (table.kind != OperandKind::Table ||
      d.functionAst().tables[table.index].kind != ptx::Table::Kind::Branches)
    return d.fail("brx.idx needs the label of a .branchtargets declared before it");
  d.out.imm = static_cast<int64_t>(d.kernel.branchTables.size());
  d.kernel.branchTables.push_back(d.functionAst().tables[table.index].labels);
  d.out.exec = branchIndexed;
}

template <typename T> Step allocate(Context &c, const Instr &in) {
  const T *bytes = c.src<T>(in.s[0]);
  T t[32] = {};
  for (uint32_t m = c.mask; m; m &= m - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint32_t address = 0;
    if (!c.cluster.pushStack(c, lane, bytes[lane], static_cast<uint32_t>(in.imm), address))
      return Step::Block;
    t[lane] = static_cast<T>(address);
  }
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
void buildAlloca(Decoder &d, int) {
  if (!d.expectOperands(2, 3))
    return;
  d.out.d[0] = d.dest(0, d.bytes());
  d.out.s[0] = d.source(1, d.bytes());
  d.out.imm = 8;
  if (d.operandCount() == 3)
    d.out.imm = d.literal(2);
  // 9.7.18.3: a power of two up to 2^23; here frames are aligned to no more than local memory.
  if (d.out.imm < 1 || d.out.imm > 1 << 23 || (d.out.imm & (d.out.imm - 1)))
    return d.fail("an alignment must be a power of two up to 2^23");
  d.out.exec = d.bytes() == 8 ? ExecFn(allocate<uint64_t>) : ExecFn(allocate<uint32_t>);
}
template <typename T> Step saveStack(Context &c, const Instr &in) {
  T t[32];
  std::copy(std::begin(c.warp.stack), std::end(c.warp.stack), t);
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
void buildStackSave(Decoder &d, int) {
  if (!d.expectOperands(1))
    return;
  d.out.d[0] = d.dest(0, d.bytes());
  d.out.exec = d.bytes() == 8 ? ExecFn(saveStack<uint64_t>) : ExecFn(saveStack<uint32_t>);
}
template <typename T> Step restoreStack(Context &c, const Instr &in) {
  const T *value = c.src<T>(in.s[0]);
  for (uint32_t m = c.mask; m; m &= m - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    const int32_t call = c.frag().call;
    const uint32_t bottom = call < 0 ? c.cluster.kernel.localBytes
                                     : c.warp.calls[static_cast<size_t>(call)].stack[lane];
    if (value[lane] < bottom || value[lane] > c.warp.stack[lane]) {
      c.cluster.fault("stack",
                      "stackrestore of " + hex(value[lane]) +
                          ", which no stacksave in this function gave",
                      {c.cluster.here(c, "restores", static_cast<int>(lane))});
      return Step::Block;
    }
    c.warp.stack[lane] = static_cast<uint32_t>(value[lane]);
  }
  return Step::Next;
}
void buildStackRestore(Decoder &d, int) {
  if (!d.expectOperands(1))
    return;
  d.out.s[0] = d.source(0, d.bytes());
  d.out.exec = d.bytes() == 8 ? ExecFn(restoreStack<uint64_t>) : ExecFn(restoreStack<uint32_t>);
}

const Form forms[] = {
    {"call", "uni?", buildCall},
    {"ret", "uni?", buildReturn},
    {"exit", "", buildExit},
    {"brx", "idx uni?", buildBrx},
    {"alloca", "u32|u64", buildAlloca},
    {"stacksave", "u32|u64", buildStackSave},
    {"stackrestore", "u32|u64", buildStackRestore},
};

} // namespace

Instr frameAdd(unsigned width) {
  Instr add;
  add.exec = width == 8 ? ExecFn(addFrame<uint64_t>) : ExecFn(addFrame<uint32_t>);
  return add;
}

void buildExit(Decoder &d, int) {
  if (d.expectOperands(0, 0))
    d.out.exec = exitThread;
}

void buildReturn(Decoder &d, int) {
  // In a kernel it ends the thread.
  if (d.expectOperands(0, 0))
    d.out.exec = d.isKernel() ? exitThread : returnFromCall;
}

std::span<const Form> callForms() { return forms; }

bool isReturnOrExit(const Instr &instr) {
  return instr.exec == exitThread || instr.exec == returnFromCall;
}
bool isCall(const Instr &instr) {
  return instr.exec == callDirect || instr.exec == callIndirect<uint64_t> ||
         instr.exec == callIndirect<uint32_t> || instr.exec == systemCall;
}
bool isIndexedBranch(const Instr &instr) { return instr.exec == branchIndexed; }

} // namespace girih::emu
