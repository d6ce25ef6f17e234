// Calls of device functions (PTX ISA 9.0, chapter 7 and 9.7.12.5).
//
// A call copies its arguments to where the function's parameters lie and sends the lanes there; a
// return copies the results back. Lanes meet again behind the call, as they do behind a branch,
// also those that an indirect call sent to different functions. Only a recursive function needs
// more: a call saves its registers, which the caller's caller may still need, and takes a frame
// from the lane's stack.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Machine.h"
#include "Emulator/Text.h"

#include <algorithm>

namespace girih::emu {

namespace {

/// Up to 64 bytes of a value on its way, and which of them are undefined.
struct Piece {
  uint8_t data[64];
  uint64_t undefined = 0;
};

/// One side of a call: reads and writes what lies in registers or in the frame.
class Side {
public:
  Side(Cluster &cluster, Warp &warp, const Kernel &kernel, const KernelFunction &function)
      : cluster(cluster), warp(warp), kernel(kernel), function(function) {}

  void read(const Passing &p, uint32_t lane, uint32_t at, uint32_t bytes, Piece &piece) const {
    switch (p.kind) {
    case Passing::Kind::Predicate:
      piece.data[0] = word(p.at) >> lane & 1;
      break;
    case Passing::Kind::Register:
      std::memcpy(piece.data, place(p.at) + size_t(lane) * p.width,
                  std::min<uint32_t>(p.width, bytes));
      break;
    case Passing::Kind::Frame: {
      const size_t from = localPlace(p, lane) + at;
      std::memcpy(piece.data, warp.local.data() + from, bytes);
      if (cluster.checking())
        piece.undefined = warp.localDefined.undefinedMask(from, bytes);
      return;
    }
    }
    if (cluster.checking() && p.at >= 0)
      piece.undefined = warp.defined.bytes(slotOf(p.at), lane) & DefinedBits::maskOf(0, bytes);
  }

  void write(const Passing &p, uint32_t lane, uint32_t at, uint32_t bytes, const Piece &piece,
             uint32_t origin) {
    switch (p.kind) {
    case Passing::Kind::Predicate: {
      uint32_t &mask = *reinterpret_cast<uint32_t *>(warp.registers + p.at);
      mask = (mask & ~(1u << lane)) | uint32_t(piece.data[0] & 1) << lane;
      break;
    }
    case Passing::Kind::Register: {
      uint8_t *to = warp.registers + p.at + size_t(lane) * p.width;
      std::memset(to, 0, p.width);
      std::memcpy(to, piece.data, std::min<uint32_t>(p.width, bytes));
      break;
    }
    case Passing::Kind::Frame: {
      const size_t to = localPlace(p, lane) + at;
      std::memcpy(warp.local.data() + to, piece.data, bytes);
      if (cluster.checking())
        for (uint32_t i = 0; i < bytes; ++i)
          piece.undefined >> i & 1 ? warp.localDefined.clear(to + i, 1)
                                   : warp.localDefined.set(to + i, 1);
      return;
    }
    }
    if (cluster.checking()) {
      const uint16_t all =
          static_cast<uint16_t>(DefinedBits::maskOf(0, std::min(p.width, uint8_t(16))));
      warp.defined.setBytes(slotOf(p.at), lane, static_cast<uint16_t>(piece.undefined) & all, all,
                            origin);
    }
  }

private:
  const uint8_t *place(Src at) const {
    return at >= 0 ? warp.registers + at : kernel.constants.data() + ~at;
  }
  uint32_t word(Src at) const {
    uint32_t value;
    std::memcpy(&value, place(at), 4);
    return value;
  }
  size_t localPlace(const Passing &p, uint32_t lane) const {
    if (p.flexible) {
      uint64_t base;
      std::memcpy(&base, warp.registers + function.flexRegister + lane * 8, 8);
      return size_t(lane) * warp.localBytes + base;
    }
    return size_t(lane) * warp.localBytes + cluster.frameOf(warp, function, lane) + p.offset;
  }

  Cluster &cluster;
  Warp &warp;
  const Kernel &kernel;
  const KernelFunction &function;
};

/// The values of a list of arguments in every lane, on their way.
class Parcel {
public:
  void collect(const Side &side, const std::vector<Passing> &values, uint32_t lanes) {
    for (uint32_t m = lanes; m; m &= m - 1)
      for (const Passing &p : values)
        for (uint32_t at = 0; at < p.bytes; at += 64)
          side.read(p, static_cast<uint32_t>(__builtin_ctz(m)), at, std::min(64u, p.bytes - at),
                    pieces.emplace_back());
  }
  /// `sizes`: the list that was collected, `values` where it goes.
  void deliver(Side &side, const std::vector<Passing> &values, const std::vector<Passing> &sizes,
               uint32_t lanes, uint32_t origin) {
    size_t next = 0;
    for (uint32_t m = lanes; m; m &= m - 1)
      for (size_t i = 0; i < values.size(); ++i)
        for (uint32_t at = 0; at < sizes[i].bytes; at += 64)
          side.write(values[i], static_cast<uint32_t>(__builtin_ctz(m)), at,
                     std::min(64u, sizes[i].bytes - at), pieces[next++], origin);
  }

private:
  std::vector<Piece> pieces;
};

/// Makes room in every lane's local memory.
void growLocal(Warp &warp, uint32_t bytes, bool checks) {
  const uint32_t old = warp.localBytes;
  // Doubling, so that a deep recursion does not copy at every call.
  const uint32_t size = std::min(kMaxLocalBytes, std::max(bytes, 2 * old) + 255u & ~255u);
  std::vector<uint8_t> local(size_t(32) * size, 0xcb);
  DefinedBits defined;
  if (checks)
    defined.reset(local.size());
  for (size_t lane = 0; lane < 32; ++lane) {
    std::copy_n(warp.local.begin() + static_cast<std::ptrdiff_t>(lane * old), old,
                local.begin() + static_cast<std::ptrdiff_t>(lane * size));
    if (checks)
      for (uint32_t at = 0; at < old; at += 64) {
        const uint32_t run = std::min(64u, old - at);
        uint64_t undefined = warp.localDefined.undefinedMask(lane * old + at, run);
        for (uint32_t i = 0; i < run; ++i)
          if (!(undefined >> i & 1))
            defined.set(lane * size + at + i, 1);
      }
  }
  warp.local = std::move(local);
  warp.localDefined = std::move(defined);
  warp.localBytes = size;
}

} // namespace

bool Cluster::pushStack(Context &c, uint32_t lane, uint64_t bytes, uint32_t alignment,
                        uint32_t &address) {
  Warp &warp = c.warp;
  const uint64_t begin = (uint64_t(warp.stack[lane]) + alignment - 1) / alignment * alignment;
  if (bytes > kMaxLocalBytes || begin + bytes > kMaxLocalBytes) {
    fault("stack",
          "the stack of a lane would grow to " + std::to_string(begin + bytes) +
              " bytes; local memory has " + std::to_string(kMaxLocalBytes),
          {here(c, "takes " + std::to_string(bytes) + " bytes", static_cast<int>(lane))},
          "a recursion without end?");
    return false;
  }
  if (begin + bytes > warp.localBytes)
    growLocal(warp, static_cast<uint32_t>(begin + bytes), checking());
  address = static_cast<uint32_t>(begin);
  warp.stack[lane] = static_cast<uint32_t>(begin + bytes);
  if (checking())
    warp.localDefined.clear(size_t(lane) * warp.localBytes + begin, bytes);
  return true;
}

bool Cluster::heapFree(Context &c, uint32_t lane, uint64_t address) {
  if (address == 0)
    return true;
  if (launch.memory->heapFree(address)) {
    forgetAllocations();
    return true;
  }
  fault("heap", "free of " + hex(address) + ", which malloc did not return or which was freed",
        {here(c, "frees", static_cast<int>(lane))});
  return false;
}

Step Cluster::enterCall(Context &c, uint32_t siteIndex, const uint32_t *function) {
  Warp &warp = c.warp;
  const CallSite &site = kernel.calls[siteIndex];
  Fragment caller = c.frag();
  // Lanes whose guard is false wait behind the call.
  Meeting behind{.pc = c.pc + 1,
                 .mask = caller.mask,
                 .arrived = caller.mask & ~c.mask,
                 .parent = caller.meet,
                 .ofCall = true,
                 .call = caller.call};
  const int32_t meeting = newMeeting(warp, behind);
  bool first = true;
  for (uint32_t left = c.mask; left;) {
    const uint32_t target = function[__builtin_ctz(left)];
    uint32_t lanes = 0;
    for (uint32_t m = left; m; m &= m - 1)
      if (function[__builtin_ctz(m)] == target)
        lanes |= m & -m;
    left &= ~lanes;
    const KernelFunction &callee = kernel.functions[target];
    Side from(*this, warp, kernel, kernel.functions[site.caller]);
    Parcel parcel;
    parcel.collect(from, site.arguments, lanes);

    int32_t slot = 0;
    while (slot < static_cast<int32_t>(warp.calls.size()) &&
           (warp.calls[static_cast<size_t>(slot)].lanes & warp.live))
      ++slot;
    if (slot == static_cast<int32_t>(warp.calls.size()))
      warp.calls.emplace_back();
    Call &call = warp.calls[static_cast<size_t>(slot)];
    call.function = target;
    call.site = siteIndex;
    call.pc = c.pc;
    call.lanes = lanes;
    call.parent = caller.call;
    call.meeting = meeting;
    std::copy(std::begin(warp.stack), std::end(warp.stack), std::begin(call.stack));

    const uint32_t firstSlot = slotOf(callee.registersBegin);
    const uint32_t slots = static_cast<uint32_t>(callee.registersEnd - callee.registersBegin) / 64;
    if (callee.recursive) {
      call.saved.assign(warp.registers + callee.registersBegin,
                        warp.registers + callee.registersEnd);
      call.savedUndefined.clear();
      if (checking())
        for (uint32_t i = 0; i < slots; ++i)
          call.savedUndefined.push_back(warp.defined.lanes(firstSlot + i));
    }
    // A function's registers and variables are undefined whenever it begins.
    if (checking())
      for (uint32_t i = 0; i < slots; ++i)
        warp.defined.setUndefined(firstSlot + i, lanes, kNeverWritten);
    for (uint32_t m = lanes; m; m &= m - 1) {
      const uint32_t lane = static_cast<uint32_t>(__builtin_ctz(m));
      if (callee.recursive) {
        // What the chip would save on the stack counts, or a recursion without end would not end.
        uint32_t address = 0;
        const uint64_t bytes =
            callee.frameBytes +
            static_cast<uint64_t>(callee.registersEnd - callee.registersBegin) / 32;
        if (!pushStack(c, lane, bytes, callee.frameAlignment, address))
          return Step::Block;
        const uint64_t base = address;
        std::memcpy(warp.registers + callee.frameRegister + lane * 8, &base, 8);
        if (checking())
          warp.defined.setDefined(slotOf(callee.frameRegister), 1u << lane);
      } else if (checking() && callee.frameBytes) {
        warp.localDefined.clear(size_t(lane) * warp.localBytes + callee.frameBase,
                                callee.frameBytes);
      }
      if (callee.flexRegister != kNone) {
        // The array of any size, copied to the stack.
        uint32_t address = 0;
        if (!pushStack(c, lane, site.arguments.back().bytes, 128, address))
          return Step::Block;
        const uint64_t base = address;
        std::memcpy(warp.registers + callee.flexRegister + lane * 8, &base, 8);
        if (checking())
          warp.defined.setDefined(slotOf(callee.flexRegister), 1u << lane);
      }
    }
    Side to(*this, warp, kernel, callee);
    parcel.deliver(to, callee.parameters, site.arguments, lanes, c.pc);

    Fragment inside = caller;
    inside.mask = lanes;
    inside.pc = callee.first;
    inside.meet = meeting;
    inside.meetPc = ~0u;
    inside.call = slot;
    inside.polls = 0;
    if (first) {
      c.frag() = inside;
    } else {
      inside.id = nextFragment++;
      warp.fragments.push_back(inside);
    }
    first = false;
  }
  return Step::Jumped;
}

Step Cluster::leaveCall(Context &c) {
  Warp &warp = c.warp;
  Fragment &f = c.frag();
  const uint32_t lanes = c.mask;
  Call &call = warp.calls[static_cast<size_t>(f.call)];
  const CallSite &site = kernel.calls[call.site];
  const KernelFunction &callee = kernel.functions[call.function];
  Side from(*this, warp, kernel, callee);
  Parcel parcel;
  parcel.collect(from, site.results.empty() ? site.results : callee.results, lanes);
  if (callee.recursive) {
    // Give the lanes that return the registers of the call before.
    for (int32_t offset = callee.registersBegin; offset < callee.registersEnd;) {
      const uint32_t slot = slotOf(offset), width = kernel.slotBytes[slot];
      const uint8_t *saved = call.saved.data() + (offset - callee.registersBegin);
      uint8_t *registers = warp.registers + offset;
      if (width == 1) {
        uint32_t old, now;
        std::memcpy(&old, saved, 4);
        std::memcpy(&now, registers, 4);
        now = (now & ~lanes) | (old & lanes);
        std::memcpy(registers, &now, 4);
      } else {
        for (uint32_t m = lanes; m; m &= m - 1) {
          const uint32_t lane = static_cast<uint32_t>(__builtin_ctz(m));
          std::memcpy(registers + lane * width, saved + lane * width, width);
        }
      }
      if (checking()) {
        const uint32_t undefined = call.savedUndefined[slot - slotOf(callee.registersBegin)];
        warp.defined.setDefined(slot, lanes);
        warp.defined.setUndefined(slot, undefined & lanes, call.pc);
      }
      offset += static_cast<int32_t>(width == 1 ? 64 : 32 * width);
    }
  }
  for (uint32_t m = lanes; m; m &= m - 1) {
    const uint32_t lane = static_cast<uint32_t>(__builtin_ctz(m));
    warp.stack[lane] = call.stack[lane];
  }
  Side to(*this, warp, kernel, kernel.functions[site.caller]);
  parcel.deliver(to, site.results, callee.results, lanes, c.pc);

  call.lanes &= ~lanes;
  Meeting &meeting = warp.meetings[static_cast<size_t>(call.meeting)];
  if (lanes == f.mask && (meeting.mask & warp.live) == lanes && !meeting.arrived) {
    // All at once, the common case.
    meeting.live = false;
    f.pc = meeting.pc;
    f.meet = meeting.parent;
    f.meetPc = meetPcOf(warp, meeting.parent);
    f.call = meeting.call;
    return Step::Jumped;
  }
  meeting.arrived |= lanes;
  f.mask &= ~lanes;
  f.pc = c.pc + 1;
  if (!f.mask)
    removeFragment(warp, c.fragment);
  completeMeetings(warp);
  return Step::Jumped;
}

} // namespace girih::emu
