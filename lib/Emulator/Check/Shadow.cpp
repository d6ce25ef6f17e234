// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Check/Shadow.h"

namespace girih::emu {

const char *accessName(AccessKind kind, bool write) {
  switch (kind) {
  case AccessKind::Generic:
    return write ? "wrote" : "read";
  case AccessKind::TmaLoad:
    return write ? "asynchronous copy wrote" : "asynchronous copy read";
  case AccessKind::TmaStore:
    return "asynchronous store read";
  case AccessKind::Wgmma:
    return "wgmma read";
  }
  return "accessed";
}

Shadow::Extra &Shadow::extraOf(Cell &cell) {
  if (!cell.extra) {
    if (freeExtras.empty()) {
      extras.emplace_back();
      cell.extra = static_cast<uint32_t>(extras.size());
    } else {
      cell.extra = freeExtras.back();
      freeExtras.pop_back();
    }
  }
  return extras[cell.extra - 1];
}

void Shadow::dropExtra(Cell &cell) {
  extras[cell.extra - 1].readers.clear();
  freeExtras.push_back(cell.extra);
  cell.extra = 0;
  cell.split = 0;
}

void Shadow::noteMore(Cell &cell, const Accessor &who) {
  std::vector<Epoch> &readers = extraOf(cell).readers;
  for (Epoch &reader : readers)
    if (reader.agent == who.agent) {
      reader = epochOf(who);
      return;
    }
  readers.push_back(epochOf(who));
}

void Shadow::splitCell(Cell &cell) {
  std::vector<Epoch> readers;
  if (cell.extra)
    readers.swap(extras[cell.extra - 1].readers);
  Extra &extra = extraOf(cell);
  for (Cell &byte : extra.bytes) {
    byte = Cell();
    byte.write = cell.write;
    byte.reads[0] = cell.reads[0];
    byte.reads[1] = cell.reads[1];
    byte.initialised = cell.initialised;
    if (!readers.empty())
      extraOf(byte).readers = readers;
  }
  cell.split = 1;
}

void Shadow::mergeCell(Cell &cell) {
  // All sixteen bytes were just written by one accessor, so they have one history again.
  cell.write = extras[cell.extra - 1].bytes[0].write;
  cell.reads[0].clock = cell.reads[1].clock = 0;
  cell.initialised = 1;
  dropExtra(cell);
}

void Shadow::forget(uint32_t address, uint32_t bytes) {
  for (uint32_t a = address; a < address + bytes; ++a) {
    Cell &cell = cells[a / 16];
    if (!cell.split)
      splitCell(cell);
    Cell &byte = extras[cell.extra - 1].bytes[a & 15];
    if (byte.extra)
      dropExtra(byte);
    byte = Cell();
    byte.initialised = 1;
  }
}

} // namespace girih::emu
