// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/GlobalMemory.h"

#include <cstring>
#include <sys/mman.h>

namespace girih::emu {

namespace {
constexpr uint64_t kAlignment = 512;
/// Distance kept between allocations.
constexpr uint64_t kGap = 512;
/// Fresh memory up to this size is filled with a pattern, so that reading it before writing shows
/// in results.
constexpr uint64_t kFillLimit = uint64_t(64) << 20;
constexpr int kPattern = 0xcb;
} // namespace

GlobalMemory::GlobalMemory(uint64_t limit) : limit(limit) {
  reserved = std::max<uint64_t>(limit * 4, uint64_t(1) << 30);
  // Address space only: pages come with the first touch. Halve until the system grants it.
  for (;; reserved /= 2) {
    void *got = mmap(nullptr, reserved, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got != MAP_FAILED) {
      memory = static_cast<uint8_t *>(got);
      break;
    }
    if (reserved < (uint64_t(1) << 20))
      throw DeviceError(ErrorCode::OutOfMemory,
                        "cannot reserve address space for the emulated device's memory");
  }
}

GlobalMemory::~GlobalMemory() { munmap(memory, reserved); }

uint64_t GlobalMemory::allocate(uint64_t bytes) {
  if (bytes == 0)
    throw DeviceError(ErrorCode::InvalidValue, "an allocation of 0 bytes");
  uint64_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment + kGap;
  if (size < bytes || usedBytes + bytes > limit)
    throw DeviceError(ErrorCode::OutOfMemory,
                      "the emulated device has " +
                          std::to_string(limit - std::min(limit, usedBytes)) + " bytes left of " +
                          std::to_string(limit) + ", " + std::to_string(bytes) + " were asked for");
  uint64_t offset = next;
  if (next + size <= reserved) {
    next += size;
  } else {
    // The range is used up: take the first freed hole that fits.
    auto hole = freed.begin();
    while (hole != freed.end() &&
           (hole->second.bytes + kAlignment - 1) / kAlignment * kAlignment + kGap < size)
      ++hole;
    if (hole == freed.end())
      throw DeviceError(ErrorCode::OutOfMemory,
                        "the emulated device's address space is fragmented");
    offset = hole->first - kGlobalBase;
    freed.erase(hole);
  }
  uint64_t address = kGlobalBase + offset;
  if (bytes <= kFillLimit)
    std::memset(memory + offset, kPattern, bytes);
  live[address] = {address, bytes};
  usedBytes += bytes;
  return address;
}

void GlobalMemory::free(uint64_t address) {
  auto found = live.find(address);
  if (found == live.end()) {
    bool wasFreed = freed.count(address) != 0;
    throw DeviceError(ErrorCode::InvalidValue,
                      wasFreed ? "the address was freed before" : "the address was not allocated");
  }
  uint64_t bytes = found->second.bytes;
  usedBytes -= bytes;
  // Give whole pages back to the host.
  uint64_t begin = (address - kGlobalBase + 4095) / 4096 * 4096,
           end = (address - kGlobalBase + bytes) / 4096 * 4096;
  if (end > begin)
    madvise(memory + begin, end - begin, MADV_DONTNEED);
  freed[address] = found->second;
  live.erase(found);
}

const AllocationInfo *GlobalMemory::find(uint64_t address) const {
  auto after = live.upper_bound(address);
  if (after == live.begin())
    return nullptr;
  const AllocationInfo &info = std::prev(after)->second;
  return address - info.address < info.bytes ? &info : nullptr;
}

const AllocationInfo *GlobalMemory::nearest(uint64_t address, bool &wasFreed) const {
  const AllocationInfo *best = nullptr;
  wasFreed = false;
  if (auto after = live.upper_bound(address); after != live.begin())
    best = &std::prev(after)->second;
  if (auto after = freed.upper_bound(address); after != freed.begin()) {
    const AllocationInfo &info = std::prev(after)->second;
    if (!best || info.address > best->address) {
      best = &info;
      wasFreed = true;
    }
  }
  return best;
}

Overlay::Line *Overlay::find(uint64_t address) {
  if (address == lastAddress)
    return &lines[lastLine];
  auto found = index.find(address);
  if (found == index.end())
    return nullptr;
  lastAddress = address;
  lastLine = found->second;
  return &lines[lastLine];
}

Overlay::Line &Overlay::obtain(uint64_t address) {
  if (Line *line = find(address))
    return *line;
  lastAddress = address;
  lastLine = static_cast<uint32_t>(lines.size());
  index.emplace(address, lastLine);
  lines.emplace_back();
  lines.back().address = address;
  return lines.back();
}

void Overlay::write(uint64_t address, const uint8_t *data, uint32_t bytes) {
  while (bytes) {
    uint32_t offset = address % kLine, chunk = std::min(bytes, kLine - offset);
    Line &line = obtain(address - offset);
    std::memcpy(line.data + offset, data, chunk);
    for (uint32_t done = 0; done < chunk;) {
      uint32_t bit = (offset + done) % 64, run = std::min(64 - bit, chunk - done);
      line.mask[(offset + done) / 64] |= (run == 64 ? ~uint64_t(0) : (uint64_t(1) << run) - 1)
                                         << bit;
      done += run;
    }
    address += chunk;
    data += chunk;
    bytes -= chunk;
  }
}

void Overlay::read(const GlobalMemory &memory, uint64_t address, uint8_t *data, uint32_t bytes) {
  if (lines.empty()) {
    std::memcpy(data, memory.host(address), bytes);
    return;
  }
  while (bytes) {
    uint32_t offset = address % kLine, chunk = std::min(bytes, kLine - offset);
    std::memcpy(data, memory.host(address), chunk);
    if (Line *line = find(address - offset))
      for (uint32_t i = 0; i < chunk; ++i)
        if (line->mask[(offset + i) / 64] >> ((offset + i) % 64) & 1)
          data[i] = line->data[offset + i];
    address += chunk;
    data += chunk;
    bytes -= chunk;
  }
}

bool Overlay::commit(GlobalMemory &memory) {
  bool changed = false;
  for (const Line &line : lines) {
    uint8_t *to = memory.host(line.address);
    for (uint32_t word = 0; word < kLine / 64; ++word) {
      uint64_t mask = line.mask[word];
      if (mask == ~uint64_t(0)) {
        if (std::memcmp(to + word * 64, line.data + word * 64, 64) != 0) {
          changed = true;
          std::memcpy(to + word * 64, line.data + word * 64, 64);
        }
        continue;
      }
      for (; mask; mask &= mask - 1) {
        uint32_t i = word * 64 + static_cast<uint32_t>(__builtin_ctzll(mask));
        changed |= to[i] != line.data[i];
        to[i] = line.data[i];
      }
    }
  }
  lines.clear();
  index.clear();
  lastAddress = ~uint64_t(0);
  return changed;
}

} // namespace girih::emu
