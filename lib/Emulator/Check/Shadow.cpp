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

void Shadow::noteMore(Cell &cell, const Accessor &who) {
  if (!cell.more)
    cell.more = std::make_unique<std::vector<Epoch>>();
  for (Epoch &reader : *cell.more)
    if (reader.agent == who.agent) {
      reader = epochOf(who);
      return;
    }
  cell.more->push_back(epochOf(who));
}

void Shadow::splitCell(Cell &cell) {
  auto bytes = std::make_unique<std::array<Cell, 16>>();
  for (Cell &byte : *bytes) {
    byte.write = cell.write;
    byte.reads[0] = cell.reads[0];
    byte.reads[1] = cell.reads[1];
    byte.initialised = cell.initialised;
    if (cell.more)
      byte.more = std::make_unique<std::vector<Epoch>>(*cell.more);
  }
  cell.more.reset();
  cell.split = std::move(bytes);
}

void Shadow::mergeCell(Cell &cell) {
  // All sixteen bytes were just written by one accessor, so they have one history again.
  cell.write = (*cell.split)[0].write;
  cell.reads[0].clock = cell.reads[1].clock = 0;
  cell.initialised = true;
  cell.split.reset();
}

void Shadow::forget(uint32_t address, uint32_t bytes) {
  for (uint32_t a = address; a < address + bytes; ++a) {
    Cell &cell = cells[a / 16];
    if (!cell.split)
      splitCell(cell);
    Cell &byte = (*cell.split)[a & 15];
    byte = Cell();
    byte.initialised = true;
  }
}

} // namespace girih::emu
