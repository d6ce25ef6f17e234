// Device memory: one reserved range of host memory, handed out in allocations that are never
// adjacent, so that running off the end of one is seen. Addresses are reused only when the range is
// used up, so that use after free is seen too.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_MACHINE_GLOBALMEMORY_H
#define GIRIH_EMULATOR_MACHINE_GLOBALMEMORY_H

#include "Emulator/Check/DefinedBits.h"
#include "girih/Emulator/Device.h"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace girih::emu {

/// Where the windows of the generic address space lie. Our own choice; PTX leaves it open.
constexpr uint64_t kGlobalBase = uint64_t(0x7000) << 32;
constexpr uint64_t kSharedWindow = uint64_t(0x6000) << 32;
constexpr uint64_t kLocalWindow = uint64_t(0x5000) << 32;
constexpr uint64_t kParamWindow = uint64_t(0x4000) << 32;
constexpr uint64_t kWindowBytes = uint64_t(1) << 32;
/// Local memory of a thread (CUDA C++ Programming Guide 13, technical specifications, 9.0).
constexpr uint32_t kMaxLocalBytes = 512 * 1024;
/// The heap of device code (the same, "Heap Memory Allocation": 8 MB unless the host changes it).
constexpr uint64_t kHeapBytes = uint64_t(8) << 20;

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
  /// Counts what malloc and free of device code change, so that others forget what they remember.
  uint64_t heapChanges = 0;
  /// For malloc of device code: 0 when its heap is used up.
  uint64_t heapAllocate(uint64_t bytes);
  /// False if malloc did not return the address, or it was freed since.
  bool heapFree(uint64_t address);
  /// Held by whoever changes allocations, and by a launch.
  std::mutex mutex;
  /// Host address of a device address inside an allocation.
  uint8_t *host(uint64_t address) const { return memory + (address - kGlobalBase); }

  // Which bytes hold something defined: what the host has copied or filled and what kernels have
  // stored. Changed by the host and by commits only, never while clusters run.
  void setDefined(uint64_t address, uint64_t bytes);
  void setUndefined(uint64_t address, uint64_t bytes);
  /// For a line of 64 bytes: bit i says that byte i has been written.
  void setDefinedMask(uint64_t line, uint64_t mask) {
    if (uint64_t *words = chunkToChange(line))
      words[(line - kGlobalBase) % kChunk / 64] |= mask;
  }
  void copyDefined(uint64_t to, uint64_t from, uint64_t bytes);
  bool allDefined(uint64_t address, uint64_t bytes) const;
  /// Bit i: byte i from `address` is undefined. At most 64 bytes.
  uint64_t undefinedMask(uint64_t address, uint32_t bytes) const;

private:
  static constexpr uint64_t kChunk = uint64_t(64) << 10;
  static constexpr uint64_t kChunkWords = kChunk / 64;
  /// The bits of the chunk around an address, made if need be; nullptr if all of it is defined.
  uint64_t *chunkToChange(uint64_t address);
  template <typename F> static void forEachChunk(uint64_t address, uint64_t bytes, F f);

  /// Chunks of which everything is defined point here.
  static uint64_t allOfIt[1];
  std::vector<std::unique_ptr<uint64_t[]>> chunkStorage; ///< by number; kept once made
  std::vector<uint64_t *> chunks;                        ///< nullptr: nothing in it is defined
  uint8_t *memory = nullptr;
  uint64_t reserved = 0, limit, next = 0, usedBytes = 0;
  std::map<uint64_t, AllocationInfo> live, freed;
  std::set<uint64_t> heap;
  uint64_t heapBytes = 0;
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
    uint64_t mask[kLine / 64];
    uint8_t data[kLine];
  };
  Line *find(uint64_t address) {
    if (address == lastAddress)
      return &lines[lastLine];
    for (size_t slot = slotOf(address);; slot = (slot + 1) & (index.size() - 1)) {
      if (index[slot] == 0)
        return nullptr;
      Line &line = lines[index[slot] - 1];
      if (line.address == address) {
        lastAddress = address;
        lastLine = index[slot] - 1;
        return &line;
      }
    }
  }
  Line &obtain(uint64_t address);
  size_t slotOf(uint64_t address) const {
    return (address / kLine * 0x9e3779b97f4a7c15u >> 32) & (index.size() - 1);
  }
  void insert(uint64_t address, uint32_t line);

  std::vector<Line> lines;
  /// Open addressing: 1 + the position in `lines`, 0 where free; a power of two, at most half full.
  std::vector<uint32_t> index = std::vector<uint32_t>(64);
  uint64_t lastAddress = ~uint64_t(0);
  uint32_t lastLine = 0;

public:
  /// Bit i: byte i from `address` was written in this quantum. At most 64 bytes.
  uint64_t writtenMask(uint64_t address, uint32_t bytes) {
    uint64_t result = 0;
    for (uint32_t done = 0; done < bytes;) {
      uint32_t offset = (address + done) % kLine, word = offset / 64, bit = offset % 64;
      uint32_t run = std::min(64 - bit, bytes - done);
      if (Line *line = find(address + done - offset))
        result |= (line->mask[word] >> bit & DefinedBits::maskOf(0, run)) << done;
      done += run;
    }
    return result;
  }
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_MACHINE_GLOBALMEMORY_H
