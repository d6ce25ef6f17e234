// Residency: what a CTA needs, and where it goes.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Occupancy.h"

#include "Emulator/Machine/Machine.h"

#include <algorithm>

namespace girih::emu {

namespace {
/// PTX does not say how many registers a thread takes; without .maxnreg or setmaxnreg this is
/// assumed.
constexpr uint32_t kAssumedRegisters = 64;

uint32_t wholeWarps(uint32_t threads) { return (threads + 31) / 32 * 32; }
} // namespace

uint32_t sharedBytesOf(const Kernel &kernel, uint32_t dynamicShared) {
  const uint32_t end = dynamicShared ? kernel.dynamicBase + dynamicShared : kernel.staticEnd;
  return end - kSharedStart;
}

uint32_t launchRegistersOf(const Kernel &kernel, uint32_t threads) {
  return kernel.attributes.maxRegisters
             ? kernel.attributes.maxRegisters
             : std::min(256u, DeviceLimits::registersPerSm / wholeWarps(threads) / 8 * 8);
}

CtaNeeds needsOf(const Kernel &kernel, uint32_t threads, uint32_t dynamicShared) {
  const uint32_t given = launchRegistersOf(kernel, threads);
  const uint32_t each = kernel.attributes.maxRegisters || kernel.usesSetmaxnreg
                            ? given
                            : std::min(kAssumedRegisters, given);
  return {wholeWarps(threads), each * wholeWarps(threads),
          sharedBytesOf(kernel, dynamicShared) + DeviceLimits::reservedShared};
}

uint32_t ctasPerMultiprocessor(const CtaNeeds &needs) {
  return std::min({DeviceLimits::maxBlocksPerSm, DeviceLimits::maxThreadsPerSm / needs.threads,
                   DeviceLimits::registersPerSm / needs.registers,
                   DeviceLimits::sharedPerSm / needs.shared});
}

bool Multiprocessors::place(const CtaNeeds &needs, std::vector<uint16_t> &numbers) {
  const uint32_t before = resident;
  for (size_t i = 0; i < numbers.size(); ++i) {
    uint32_t best = ~0u;
    uint32_t at = next % count();
    for (uint32_t step = 0; step < count(); ++step, at = at + 1 == count() ? 0 : at + 1) {
      const Used &u = used[at];
      const bool fits = u.ctas < DeviceLimits::maxBlocksPerSm &&
                        u.threads + needs.threads <= DeviceLimits::maxThreadsPerSm &&
                        u.registers + needs.registers <= DeviceLimits::registersPerSm &&
                        u.shared + needs.shared <= DeviceLimits::sharedPerSm;
      if (fits && (best == ~0u || u.ctas < used[best].ctas))
        best = at;
    }
    if (best == ~0u) {
      if (before) {
        numbers.resize(i);
        release(needs, numbers);
        return false;
      }
      // A chip that was made smaller than a cluster.
      best = (next + static_cast<uint32_t>(i)) % count();
    }
    numbers[i] = static_cast<uint16_t>(best);
    Used &u = used[best];
    ++u.ctas;
    u.threads += needs.threads;
    u.registers += needs.registers;
    u.shared += needs.shared;
    ++resident;
    next = (best + 1) % count();
  }
  return true;
}

void Multiprocessors::release(const CtaNeeds &needs, const std::vector<uint16_t> &numbers) {
  for (uint16_t number : numbers) {
    Used &u = used[number];
    --u.ctas;
    u.threads -= needs.threads;
    u.registers -= needs.registers;
    u.shared -= needs.shared;
    --resident;
  }
}

} // namespace girih::emu
