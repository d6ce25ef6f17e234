// What the system provides for device code to call (CUDA C++ Programming Guide 13: formatted
// output, assertions, dynamic global memory): vprintf, __assertfail, malloc and free.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Address.h"
#include "Emulator/Exec/Calls.h"
#include "Emulator/Exec/PrintFormat.h"

namespace girih::emu {

namespace {

/// What a cluster's printf may write; the chip's buffer holds as much for a whole launch.
constexpr uint64_t kMaxPrinted = uint64_t(1) << 20;
constexpr uint64_t kMaxString = uint64_t(1) << 16;

/// Reads memory through a generic address. False: reported, the cluster has stopped.
bool readGeneric(Context &c, unsigned lane, uint64_t address, void *to, uint32_t bytes) {
  uint64_t at = address;
  switch (classify(AddressSpace::Generic, at)) {
  case AddressSpace::Shared: {
    uint32_t offset = 0;
    Cta *target = c.cluster.sharedTarget(c, lane, at, bytes, offset, "reads");
    if (!target)
      return false;
    std::memcpy(to, target->shared.data() + offset, bytes);
    return true;
  }
  case AddressSpace::Local:
    if (at + bytes > c.warp.localBytes) {
      c.cluster.fault("local-out-of-bounds",
                      "access to local memory at offset " + std::to_string(at) + " of " +
                          std::to_string(c.warp.localBytes) + " bytes",
                      {c.cluster.here(c, "reads", static_cast<int>(lane))});
      return false;
    }
    std::memcpy(to, c.warp.local.data() + size_t(lane) * c.warp.localBytes + at, bytes);
    return true;
  case AddressSpace::Param:
    at -= kParamWindow;
    if (at + bytes > c.cluster.launch.params.size()) {
      c.cluster.fault("param-out-of-bounds", "read past the kernel's parameters",
                      {c.cluster.here(c, "reads", static_cast<int>(lane))});
      return false;
    }
    std::memcpy(to, c.cluster.launch.params.data() + at, bytes);
    return true;
  default:
    if (!c.cluster.globalInBounds(at, bytes) && !c.cluster.checkGlobal(c, lane, at, bytes, "reads"))
      return false;
    c.cluster.readGlobal(at, to, bytes);
    return true;
  }
}

bool readString(Context &c, unsigned lane, uint64_t address, std::string &to) {
  for (char ch; to.size() < kMaxString; to += ch) {
    if (!readGeneric(c, lane, address + to.size(), &ch, 1))
      return false;
    if (ch == 0)
      return true;
  }
  return true;
}

/// One argument in one lane, as an integer.
uint64_t argument(const Context &c, const CallSite &site, size_t index, unsigned lane) {
  const Passing &p = site.arguments[index];
  const KernelFunction &caller = c.cluster.kernel.functions[site.caller];
  uint64_t value = 0;
  if (p.kind == Passing::Kind::Frame)
    std::memcpy(&value,
                c.warp.local.data() + size_t(lane) * c.warp.localBytes +
                    c.cluster.frameOf(c.warp, caller, lane) + p.offset,
                std::min(8u, p.bytes));
  else
    std::memcpy(&value, c.src<uint8_t>(p.at) + size_t(lane) * p.width,
                std::min<uint32_t>(8, p.width));
  return value;
}

void result(Context &c, const CallSite &site, unsigned lane, uint64_t value) {
  if (site.results.empty())
    return;
  const Passing &p = site.results[0];
  if (p.kind == Passing::Kind::Frame) {
    const size_t at = size_t(lane) * c.warp.localBytes +
                      c.cluster.frameOf(c.warp, c.cluster.kernel.functions[site.caller], lane) +
                      p.offset;
    std::memcpy(c.warp.local.data() + at, &value, std::min(8u, p.bytes));
    if (c.cluster.checking())
      c.warp.localDefined.set(at, p.bytes);
    return;
  }
  std::memcpy(c.registers + p.at + size_t(lane) * p.width, &value, p.width);
  if (c.cluster.checking())
    c.warp.defined.setDefined(slotOf(p.at), 1u << lane);
}

/// vprintf(format, arguments): the number of arguments, or -1 without a format.
bool printText(Context &c, const CallSite &site, unsigned lane) {
  const uint64_t format = argument(c, site, 0, lane), buffer = argument(c, site, 1, lane);
  if (!format) {
    result(c, site, lane, static_cast<uint32_t>(-1));
    return true;
  }
  std::string text, out;
  if (!readString(c, lane, format, text))
    return false;
  uint32_t count = 0;
  PrintArguments arguments{
      [&](uint64_t offset, void *to, uint32_t bytes) {
        return readGeneric(c, lane, buffer + offset, to, bytes);
      },
      [&](uint64_t address, std::string &to) { return readString(c, lane, address, to); }};
  if (!formatPrint(text, arguments, out, count))
    return false;
  std::string &printed = c.cluster.printed;
  const uint64_t room = kMaxPrinted - std::min<uint64_t>(kMaxPrinted, printed.size());
  printed.append(out, 0, std::min<uint64_t>(room, out.size()));
  c.cluster.printedOver += out.size() - std::min<uint64_t>(room, out.size());
  result(c, site, lane, count);
  return true;
}

/// __assertfail(message, file, line, function, size of a character).
void assertionFailed(Context &c, const CallSite &site, unsigned lane) {
  std::string message, file, function;
  if (!readString(c, lane, argument(c, site, 0, lane), message) ||
      !readString(c, lane, argument(c, site, 1, lane), file) ||
      !readString(c, lane, argument(c, site, 3, lane), function))
    return;
  c.cluster.fault("assertion",
                  file + ":" + std::to_string(static_cast<uint32_t>(argument(c, site, 2, lane))) +
                      ": " + function + ": assertion '" + message + "' failed",
                  {c.cluster.here(c, "asserts", static_cast<int>(lane))});
}

} // namespace

bool systemCallFits(SystemCall call, const ptx::Prototype &declared) {
  auto sizes = [](const std::vector<ptx::Formal> &formals, std::initializer_list<uint64_t> bytes) {
    size_t i = 0;
    for (uint64_t size : bytes)
      if (i >= formals.size() || formals[i++].bytes != size)
        return false;
    return i == formals.size();
  };
  switch (call) {
  case SystemCall::Printf:
    return sizes(declared.results, {4}) && sizes(declared.parameters, {8, 8});
  case SystemCall::Malloc:
    return sizes(declared.results, {8}) && sizes(declared.parameters, {8});
  case SystemCall::Free:
    return sizes(declared.results, {}) && sizes(declared.parameters, {8});
  case SystemCall::AssertFail:
    return sizes(declared.results, {}) && sizes(declared.parameters, {8, 8, 4, 8, 8});
  case SystemCall::None:
    break;
  }
  return false;
}

Step systemCall(Context &c, const Instr &in) {
  const CallSite &site = c.cluster.kernel.calls[static_cast<size_t>(in.imm)];
  // The heap is one for all: who gets what is decided at the commit, in the clusters' order.
  if ((site.system == SystemCall::Malloc || site.system == SystemCall::Free) && !c.committing)
    return order(c);
  ++c.cluster.progress;
  for (uint32_t m = c.mask; m; m &= m - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    switch (site.system) {
    case SystemCall::Printf:
      if (!printText(c, site, lane))
        return Step::Block;
      break;
    case SystemCall::AssertFail:
      assertionFailed(c, site, lane);
      return Step::Block;
    case SystemCall::Malloc:
      result(c, site, lane, c.cluster.heapAllocate(argument(c, site, 0, lane)));
      break;
    case SystemCall::Free:
      if (!c.cluster.heapFree(c, lane, argument(c, site, 0, lane)))
        return Step::Block;
      break;
    case SystemCall::None:
      break;
    }
  }
  return Step::Next;
}

} // namespace girih::emu
