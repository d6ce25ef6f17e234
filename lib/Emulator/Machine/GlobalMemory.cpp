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
  setUndefined(address, bytes);
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
  if (heap.erase(address))
    heapBytes -= bytes;
  usedBytes -= bytes;
  // Give whole pages back to the host.
  uint64_t begin = (address - kGlobalBase + 4095) / 4096 * 4096,
           end = (address - kGlobalBase + bytes) / 4096 * 4096;
  if (end > begin)
    madvise(memory + begin, end - begin, MADV_DONTNEED);
  freed[address] = found->second;
  live.erase(found);
}

uint64_t GlobalMemory::heapAllocate(uint64_t bytes) {
  if (bytes == 0 || bytes > kHeapBytes - heapBytes)
    return 0;
  uint64_t address = 0;
  try {
    address = allocate(bytes);
  } catch (const DeviceError &) {
    return 0; // the device is full, which malloc says in the same way
  }
  heap.insert(address);
  heapBytes += bytes;
  ++heapChanges;
  return address;
}

bool GlobalMemory::heapFree(uint64_t address) {
  if (!heap.erase(address))
    return false;
  heapBytes -= live.at(address).bytes;
  free(address);
  ++heapChanges;
  return true;
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

uint64_t GlobalMemory::allOfIt[1];

template <typename F> void GlobalMemory::forEachChunk(uint64_t address, uint64_t bytes, F f) {
  for (uint64_t at = address - kGlobalBase; bytes;) {
    uint64_t offset = at % kChunk, run = std::min(kChunk - offset, bytes);
    f(at / kChunk, offset, run);
    at += run;
    bytes -= run;
  }
}

uint64_t *GlobalMemory::chunkToChange(uint64_t address) {
  const uint64_t number = (address - kGlobalBase) / kChunk;
  if (number >= chunks.size())
    chunks.resize(number + 1);
  if (chunks[number] == allOfIt)
    return nullptr;
  if (!chunks[number]) {
    chunkStorage.resize(std::max(chunkStorage.size(), chunks.size()));
    std::unique_ptr<uint64_t[]> &words = chunkStorage[number];
    if (words)
      std::fill_n(words.get(), kChunkWords, 0);
    else
      words = std::make_unique<uint64_t[]>(kChunkWords);
    chunks[number] = words.get();
  }
  return chunks[number];
}

namespace {
/// Calls f(word, mask) for the words of a chunk's range.
template <typename F> void forEachWord(uint64_t offset, uint64_t bytes, F f) {
  while (bytes) {
    uint64_t bit = offset % 64, run = std::min<uint64_t>(64 - bit, bytes);
    f(offset / 64, DefinedBits::maskOf(bit, run));
    offset += run;
    bytes -= run;
  }
}
} // namespace

void GlobalMemory::setDefined(uint64_t address, uint64_t bytes) {
  forEachChunk(address, bytes, [&](uint64_t number, uint64_t offset, uint64_t run) {
    if (number >= chunks.size())
      chunks.resize(number + 1);
    if (run == kChunk) {
      chunks[number] = allOfIt;
      return;
    }
    if (uint64_t *words = chunkToChange(kGlobalBase + number * kChunk))
      forEachWord(offset, run, [&](uint64_t word, uint64_t mask) { words[word] |= mask; });
  });
}

void GlobalMemory::setUndefined(uint64_t address, uint64_t bytes) {
  forEachChunk(address, bytes, [&](uint64_t number, uint64_t offset, uint64_t run) {
    if (number >= chunks.size() || !chunks[number])
      return;
    if (run == kChunk) {
      chunks[number] = nullptr;
      return;
    }
    if (chunks[number] == allOfIt) {
      chunks[number] = nullptr;
      std::fill_n(chunkToChange(kGlobalBase + number * kChunk), kChunkWords, ~uint64_t(0));
    }
    forEachWord(offset, run, [&](uint64_t word, uint64_t mask) { chunks[number][word] &= ~mask; });
  });
}

void GlobalMemory::copyDefined(uint64_t to, uint64_t from, uint64_t bytes) {
  if (allDefined(from, bytes))
    return setDefined(to, bytes);
  std::vector<uint64_t> masks;
  for (uint64_t done = 0; done < bytes; done += 64)
    masks.push_back(
        undefinedMask(from + done, static_cast<uint32_t>(std::min<uint64_t>(64, bytes - done))));
  setDefined(to, bytes);
  for (uint64_t i = 0; i < masks.size(); ++i)
    for (uint64_t m = masks[i]; m; m &= m - 1)
      setUndefined(to + 64 * i + static_cast<uint64_t>(__builtin_ctzll(m)), 1);
}

bool GlobalMemory::allDefined(uint64_t address, uint64_t bytes) const {
  bool good = true;
  forEachChunk(address, bytes, [&](uint64_t number, uint64_t offset, uint64_t run) {
    if (number >= chunks.size() || !chunks[number])
      good = false;
    else if (chunks[number] != allOfIt)
      forEachWord(offset, run, [&](uint64_t word, uint64_t mask) {
        good &= (chunks[number][word] & mask) == mask;
      });
  });
  return good;
}

uint64_t GlobalMemory::undefinedMask(uint64_t address, uint32_t bytes) const {
  uint64_t result = 0, done = 0;
  forEachChunk(address, bytes, [&](uint64_t number, uint64_t offset, uint64_t run) {
    if (number >= chunks.size() || !chunks[number])
      result |= DefinedBits::maskOf(done, run);
    else if (chunks[number] != allOfIt)
      forEachWord(offset, run, [&](uint64_t word, uint64_t mask) {
        const uint64_t shift = static_cast<uint64_t>(__builtin_ctzll(mask));
        const uint64_t count = static_cast<uint64_t>(__builtin_popcountll(mask));
        result |= ((~chunks[number][word] & mask) >> shift) << done;
        done += count;
      });
    if (number >= chunks.size() || !chunks[number] || chunks[number] == allOfIt)
      done += run;
  });
  return result;
}

void Overlay::insert(uint64_t address, uint32_t line) {
  size_t slot = slotOf(address);
  while (index[slot])
    slot = (slot + 1) & (index.size() - 1);
  index[slot] = line + 1;
}

Overlay::Line &Overlay::obtain(uint64_t address) {
  if (Line *line = find(address))
    return *line;
  if (2 * (lines.size() + 1) > index.size()) {
    index.assign(2 * index.size(), 0);
    for (uint32_t i = 0; i < lines.size(); ++i)
      insert(lines[i].address, i);
  }
  lastAddress = address;
  lastLine = static_cast<uint32_t>(lines.size());
  insert(address, lastLine);
  // The data is only read where the mask says that it was written.
  Line &line = lines.emplace_back();
  line.address = address;
  std::memset(line.mask, 0, sizeof(line.mask));
  return line;
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
      for (uint32_t done = 0; done < chunk;) {
        const uint32_t at = offset + done, run = std::min(64 - at % 64, chunk - done);
        const uint64_t mask = line->mask[at / 64] >> (at % 64) & DefinedBits::maskOf(0, run);
        if (mask == DefinedBits::maskOf(0, run))
          std::memcpy(data + done, line->data + at, run);
        else
          for (uint64_t m = mask; m; m &= m - 1) {
            const uint32_t i = static_cast<uint32_t>(__builtin_ctzll(m));
            data[done + i] = line->data[at + i];
          }
        done += run;
      }
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
      if (!mask)
        continue;
      memory.setDefinedMask(line.address + word * 64, mask);
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
  for (const Line &line : lines) {
    size_t slot = slotOf(line.address);
    while (index[slot]) {
      index[slot] = 0;
      slot = (slot + 1) & (index.size() - 1);
    }
  }
  lines.clear();
  lastAddress = ~uint64_t(0);
  return changed;
}

} // namespace girih::emu
