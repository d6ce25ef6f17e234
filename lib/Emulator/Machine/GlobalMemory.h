// Device memory: one reserved range of host memory, handed out in allocations that are never
// adjacent, so that running off the end of one is seen. Addresses are reused only when the range is
// used up, so that use after free is seen too.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_MACHINE_GLOBALMEMORY_H
#define GIRIH_EMULATOR_MACHINE_GLOBALMEMORY_H

#include "girih/Emulator/Device.h"

#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace girih::emu {

/// Where the windows of the generic address space lie. Our own choice; PTX leaves it open.
constexpr uint64_t kGlobalBase = uint64_t(0x7000) << 32;
constexpr uint64_t kSharedWindow = uint64_t(0x6000) << 32;
constexpr uint64_t kLocalWindow = uint64_t(0x5000) << 32;
constexpr uint64_t kParamWindow = uint64_t(0x4000) << 32;
constexpr uint64_t kWindowBytes = uint64_t(1) << 32;

class GlobalMemory {
public:
  explicit GlobalMemory(uint64_t limit);
  ~GlobalMemory();
  GlobalMemory(const GlobalMemory &) = delete;
  GlobalMemory &operator=(const GlobalMemory &) = delete;

  uint64_t allocate(uint64_t bytes);
  void free(uint64_t address);
  const AllocationInfo *find(uint64_t address) const;
  /// The live or freed allocation nearest below `address`, for messages; nullptr if none.
  const AllocationInfo *nearest(uint64_t address, bool &freed) const;
  uint64_t used() const { return usedBytes; }
  /// Held by whoever changes allocations, and by a launch.
  std::mutex mutex;
  /// Host address of a device address inside an allocation.
  uint8_t *host(uint64_t address) const { return memory + (address - kGlobalBase); }

private:
  uint8_t *memory = nullptr;
  uint64_t reserved = 0, limit, next = 0, usedBytes = 0;
  std::map<uint64_t, AllocationInfo> live, freed;
};

/// Writes to global memory that a quantum has made and that others must not see before its commit.
class Overlay {
public:
  bool empty() const { return lines.empty(); }
  void write(uint64_t address, const uint8_t *data, uint32_t bytes);
  /// Copies memory as this cluster sees it.
  void read(const GlobalMemory &memory, uint64_t address, uint8_t *data, uint32_t bytes);
  /// Applies all writes and forgets them. True if any byte changed.
  bool commit(GlobalMemory &memory);

private:
  static constexpr uint32_t kLine = 256;
  struct Line {
    uint64_t address;
    uint64_t mask[kLine / 64] = {};
    uint8_t data[kLine];
  };
  Line *find(uint64_t address);
  Line &obtain(uint64_t address);

  std::vector<Line> lines;
  std::unordered_map<uint64_t, uint32_t> index;
  uint64_t lastAddress = ~uint64_t(0);
  uint32_t lastLine = 0;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_MACHINE_GLOBALMEMORY_H
