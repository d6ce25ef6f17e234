// How many CTAs fit on the chip: threads, registers and shared memory of each multiprocessor.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_MACHINE_OCCUPANCY_H
#define GIRIH_EMULATOR_MACHINE_OCCUPANCY_H

#include "girih/Emulator/Device.h"

#include <vector>

namespace girih::emu {

struct Kernel;

/// What a CTA takes on its multiprocessor.
struct CtaNeeds {
  uint32_t threads = 0;   ///< in whole warps
  uint32_t registers = 0; ///< of all threads together
  uint32_t shared = 0;    ///< with the part that the system reserves
};

/// Bytes of shared memory that a CTA has, static and dynamic.
uint32_t sharedBytesOf(const Kernel &kernel, uint32_t dynamicShared);
/// Registers that each thread has when a CTA of so many threads starts.
uint32_t launchRegistersOf(const Kernel &kernel, uint32_t threads);
CtaNeeds needsOf(const Kernel &kernel, uint32_t threads, uint32_t dynamicShared);
/// CTAs that fit on one empty multiprocessor.
uint32_t ctasPerMultiprocessor(const CtaNeeds &needs);

/// The multiprocessors and what is taken on each.
class Multiprocessors {
public:
  explicit Multiprocessors(uint32_t count) : used(count) {}
  /// Finds room for the CTAs of a cluster, each on the multiprocessor with the fewest, and fills in
  /// their numbers. False if they do not fit beside what is resident; a cluster that is alone is
  /// always taken in.
  bool place(const CtaNeeds &needs, std::vector<uint16_t> &numbers);
  void release(const CtaNeeds &needs, const std::vector<uint16_t> &numbers);
  uint32_t count() const { return static_cast<uint32_t>(used.size()); }

private:
  struct Used {
    uint32_t ctas = 0, threads = 0, registers = 0, shared = 0;
  };
  std::vector<Used> used;
  uint32_t resident = 0, next = 0;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_MACHINE_OCCUPANCY_H
