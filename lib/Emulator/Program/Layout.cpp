// Where the registers and variables of a function lie.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/GlobalMemory.h"
#include "Emulator/Machine/Machine.h"
#include "Emulator/Program/Decoder.h"
#include "Emulator/Program/Linker.h"

#include <algorithm>

namespace girih::emu {

using ptx::Type;

void Decoder::layoutRegisters() {
  // Predicates take 64 bytes although they have four, so that every register has a slot of its own.
  KernelFunction &me = kernel.functions[selfIndex];
  uint32_t offset = static_cast<uint32_t>(alignUp(kernel.registerBytes, 64));
  me.registersBegin = static_cast<int32_t>(offset);
  registerOffset.resize(function.registers.size());
  for (size_t i = 0; i < function.registers.size(); ++i)
    if (function.registers[i].type == Type::Pred) {
      registerOffset[i] = static_cast<int32_t>(offset);
      offset += 64;
    }
  for (size_t i = 0; i < function.registers.size(); ++i) {
    unsigned width = registerWidth(function.registers[i].type);
    if (width < 2)
      continue;
    registerOffset[i] = static_cast<int32_t>(offset);
    offset += 32 * width;
  }
  kernel.registerBytes = offset;
  kernel.slotBytes.resize(offset / 64, 0);
  for (size_t i = 0; i < function.registers.size(); ++i)
    kernel.slotBytes[slotOf(registerOffset[i])] =
        static_cast<uint8_t>(registerWidth(function.registers[i].type));
  if (me.recursive)
    me.frameRegister = temporary(8);
  const std::vector<ptx::Formal> &parameters = function.prototype.parameters;
  if (!parameters.empty() && parameters.back().flexible)
    me.flexRegister = temporary(8);
  me.registersEnd = static_cast<int32_t>(kernel.registerBytes);
}

uint64_t Decoder::symbolAddress(const ptx::Symbol &symbol) {
  auto found = module.variables.find(linker.nameOf(symbol));
  return found == module.variables.end() ? 0 : found->second.address;
}

void Decoder::layoutSymbols() {
  // Shared memory: static variables in order behind the reserved first KiB, dynamic memory at the
  // next multiple of 1024, which kernels with swizzled tiles rely on.
  KernelFunction &me = kernel.functions[selfIndex];
  const size_t count = function.symbols.size();
  symbolOffset.resize(count);
  symbolInFrame.resize(count);
  uint64_t frame = 0;
  for (size_t i = 0; i < count; ++i) {
    const ptx::Symbol &symbol = function.symbols[i];
    me.frameAlignment = std::max(me.frameAlignment, symbol.space == ptx::Space::Local ||
                                                            symbol.space == ptx::Space::Param
                                                        ? symbol.alignment
                                                        : 1);
    switch (symbol.space) {
    case ptx::Space::Shared:
      if (!symbol.dynamic)
        symbolOffset[i] = linker.placeShared(symbol);
      break;
    case ptx::Space::Local:
      frame = alignUp(frame, symbol.alignment);
      symbolOffset[i] = frame;
      symbolInFrame[i] = true;
      frame += symbol.bytes;
      break;
    case ptx::Space::Param:
      symbolInFrame[i] = !isKernel() || i >= function.paramCount;
      symbolOffset[i] = symbolInFrame[i] ? symbol.offset : kParamWindow + symbol.offset;
      break;
    case ptx::Space::Global:
    case ptx::Space::Const:
      symbolOffset[i] = symbolAddress(symbol);
      break;
    case ptx::Space::Generic:
      break;
    }
  }
  linker.localVariables += frame;
  if (function.frameParamBytes) {
    // Behind the variables: parameters, which the parser has laid out.
    frame = alignUp(frame, me.frameAlignment);
    for (size_t i = 0; i < count; ++i)
      if (symbolInFrame[i] && function.symbols[i].space == ptx::Space::Param)
        symbolOffset[i] += frame;
    frame += function.frameParamBytes;
  }
  me.frameBytes = static_cast<uint32_t>(std::min<uint64_t>(frame, kMaxLocalBytes));
  if (!me.recursive) {
    me.frameBase = static_cast<uint32_t>(alignUp(kernel.localBytes, me.frameAlignment));
    kernel.localBytes = std::min(kMaxLocalBytes, me.frameBase + me.frameBytes);
  }
  auto place = [&](const ptx::Formal &formal) {
    Passing p;
    p.bytes = static_cast<uint32_t>(formal.bytes);
    p.flexible = formal.flexible;
    if (formal.inRegister) {
      p.width = static_cast<uint8_t>(registerWidth(formal.type));
      p.kind = p.width == 1 ? Passing::Kind::Predicate : Passing::Kind::Register;
      p.at = registerOffset[formal.index];
    } else {
      p.kind = Passing::Kind::Frame;
      p.offset = static_cast<uint32_t>(symbolOffset[formal.index]);
    }
    return p;
  };
  for (const ptx::Formal &formal : function.prototype.results)
    me.results.push_back(place(formal));
  for (const ptx::Formal &formal : function.prototype.parameters)
    me.parameters.push_back(place(formal));
}

void Decoder::layout() {
  layoutRegisters();
  layoutSymbols();
}

} // namespace girih::emu
