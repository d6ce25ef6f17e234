// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Program/Linker.h"
#include "Emulator/Machine/Machine.h"
#include "Emulator/Program/CompareLoops.h"
#include "Emulator/Program/ControlFlow.h"
#include "Emulator/Program/Decoder.h"
#include "Emulator/Program/Tracked.h"

#include <algorithm>
#include <functional>

namespace girih::emu {

Linker::Linker(const ptx::ModuleAst &ast, ModuleImage &image, uint64_t firstAddress,
               std::vector<ptx::Diagnostic> &errors)
    : ast(ast), image(image), errors(errors), forms(ast.mnemonics.size()) {
  uint64_t next = firstAddress;
  for (const ptx::Function &function : ast.functions) {
    byName[function.name] = &function;
    if (!function.isEntry) {
      image.functions[std::string(function.name)] = next;
      next += 16;
    }
  }
  for (const ptx::Alias &alias : ast.aliases) {
    // 11.6.5 ".alias": both are functions, and the aliasee has a body.
    const ptx::Function *target = find(alias.target);
    if (!target || target->isEntry || !target->hasBody) {
      errors.push_back({alias.line, "'.alias' needs a defined device function, '" +
                                        std::string(alias.target) + "' is none"});
      continue;
    }
    if (const ptx::Function *declared = find(alias.name); declared && declared->hasBody) {
      errors.push_back(
          {alias.line, "'" + std::string(alias.name) + "' is defined and cannot be an alias"});
      continue;
    }
    byName[alias.name] = target;
    image.functions[std::string(alias.name)] = image.functions[std::string(target->name)];
  }
  // Functions whose address is taken may be called indirectly.
  auto take = [&](std::string_view name) {
    const ptx::Function *function = find(name);
    if (function && !function->isEntry && function->hasBody &&
        std::find(pointedTo.begin(), pointedTo.end(), function) == pointedTo.end())
      pointedTo.push_back(function);
  };
  for (const ptx::Function &function : ast.functions) {
    for (std::string_view name : function.named)
      take(name);
    for (const ptx::Table &table : function.tables)
      for (std::string_view name : table.functions)
        take(name);
  }
  for (const ptx::Symbol &variable : ast.variables)
    for (const ptx::Symbol::Fixup &fixup : variable.fixups)
      take(fixup.symbol);
}

const ptx::Function *Linker::find(std::string_view name) const {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : found->second;
}

SystemCall Linker::systemCall(std::string_view name) {
  return name == "vprintf"        ? SystemCall::Printf
         : name == "malloc"       ? SystemCall::Malloc
         : name == "free"         ? SystemCall::Free
         : name == "__assertfail" ? SystemCall::AssertFail
                                  : SystemCall::None;
}

uint32_t Linker::indexInKernel(const ptx::Function &function) const {
  for (uint32_t i = 0; i < members.size(); ++i)
    if (members[i] == &function)
      return i;
  return ~0u;
}

uint64_t Linker::address(const ptx::Function &function) const {
  auto found = image.functions.find(function.name);
  return found == image.functions.end() ? 0 : found->second;
}

const Form *Linker::form(const ptx::Instruction &instruction) {
  KnownForm &entry = forms[instruction.mnemonic->index];
  if (!entry.known)
    entry = {true, findForm(instruction)};
  return entry.form;
}

uint64_t Linker::placeShared(const ptx::Symbol &symbol) {
  if (symbol.moduleIndex >= 0)
    if (auto known = sharedPlaces.find(symbol.moduleIndex); known != sharedPlaces.end())
      return known->second;
  sharedEnd = alignUp(sharedEnd, symbol.alignment);
  const uint64_t place = sharedEnd;
  sharedEnd += symbol.bytes;
  if (symbol.moduleIndex >= 0)
    sharedPlaces[symbol.moduleIndex] = place;
  return place;
}

std::vector<uint32_t> Linker::callTable(const ptx::Symbol &symbol) const {
  std::vector<uint32_t> result;
  if (symbol.moduleIndex >= 0)
    for (const ptx::Symbol::Fixup &fixup :
         ast.variables[static_cast<size_t>(symbol.moduleIndex)].fixups)
      if (const ptx::Function *function = find(fixup.symbol))
        if (uint32_t index = indexInKernel(*function); index != ~0u)
          result.push_back(index);
  return result;
}

template <typename F> void Linker::forEachCallee(const ptx::Function &function, F f) const {
  for (std::string_view name : function.called)
    if (const ptx::Function *callee = find(name); callee && callee->hasBody && !callee->isEntry)
      f(*callee);
  if (function.callsIndirectly)
    for (const ptx::Function *callee : pointedTo)
      f(*callee);
}

void Linker::collect(const ptx::Function &entry) {
  members = {&entry};
  for (size_t next = 0; next < members.size(); ++next)
    forEachCallee(*members[next], [&](const ptx::Function &callee) {
      if (indexInKernel(callee) == ~0u)
        members.push_back(&callee);
    });
}

void Linker::markRecursion() {
  // Tarjan's strongly connected components: a function in a cycle of calls is recursive.
  const uint32_t count = static_cast<uint32_t>(members.size());
  std::vector<uint32_t> number(count, 0), low(count, 0), stack;
  std::vector<bool> onStack(count, false);
  uint32_t next = 1;
  std::function<void(uint32_t)> visit = [&](uint32_t v) {
    number[v] = low[v] = next++;
    stack.push_back(v);
    onStack[v] = true;
    bool callsItself = false;
    forEachCallee(*members[v], [&](const ptx::Function &callee) {
      uint32_t w = indexInKernel(callee);
      callsItself |= w == v;
      if (!number[w]) {
        visit(w);
        low[v] = std::min(low[v], low[w]);
      } else if (onStack[w]) {
        low[v] = std::min(low[v], number[w]);
      }
    });
    if (low[v] != number[v])
      return;
    const bool cycle = stack.back() != v || callsItself;
    for (uint32_t w = ~0u; w != v;) {
      w = stack.back();
      stack.pop_back();
      onStack[w] = false;
      kernel->functions[w].recursive = cycle;
    }
  };
  visit(0);
}

void Linker::link(const ptx::Function &entry, Kernel &target) {
  kernel = &target;
  sharedEnd = kSharedStart;
  localVariables = 0;
  sharedPlaces.clear();
  target.module = &image;
  collect(entry);
  FunctionAttributes &attributes = target.attributes;
  attributes.name = std::string(entry.name);
  for (uint32_t i = 0; i < entry.paramCount; ++i) {
    const ptx::Symbol &symbol = entry.symbols[i];
    attributes.params.push_back({std::string(symbol.name), static_cast<uint32_t>(symbol.offset),
                                 static_cast<uint32_t>(symbol.bytes), symbol.alignment});
  }
  attributes.paramBytes = entry.paramBytes;
  attributes.maxRegisters = entry.maxRegisters;
  attributes.requiredBlock = entry.requiredThreads;
  attributes.requiredCluster = entry.requiredCluster;
  attributes.maxClusterSize = entry.maxClusterRank;
  attributes.explicitCluster = entry.explicitCluster;
  attributes.blocksAreClusters = entry.blocksAreClusters;
  if (entry.requiredThreads)
    attributes.maxThreadsPerBlock = static_cast<uint32_t>(entry.requiredThreads->count());
  else if (entry.maxThreads)
    attributes.maxThreadsPerBlock = static_cast<uint32_t>(entry.maxThreads->count());

  target.functions.resize(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    target.functions[i].name = members[i]->name;
    target.functions[i].address = address(*members[i]);
  }
  markRecursion();
  // Behind the reserved slots (Check/Definedness.h).
  target.registerBytes = 128;
  target.slotBytes.assign(2, 0);
  std::vector<std::unique_ptr<Decoder>> decoders;
  size_t instructions = 0;
  for (uint32_t i = 0; i < members.size(); ++i) {
    decoders.push_back(std::make_unique<Decoder>(*members[i], i, image, target, *this, errors));
    decoders.back()->layout();
    instructions += members[i]->body.size() + 1;
  }
  if (sharedEnd > 1u << 24 || localVariables > kMaxLocalBytes) {
    errors.push_back({entry.line, "kernel '" + attributes.name + "' has " +
                                      (localVariables > kMaxLocalBytes
                                           ? std::to_string(localVariables) + " bytes of local"
                                           : std::to_string(sharedEnd) + " bytes of shared") +
                                      " variables, more than there is memory"});
    return;
  }
  target.staticEnd = static_cast<uint32_t>(sharedEnd);
  target.dynamicBase = static_cast<uint32_t>(alignUp(sharedEnd, 1024));
  attributes.sharedBytes = target.staticEnd - kSharedStart;
  attributes.localBytes = static_cast<uint32_t>(localVariables);
  if (target.registerBytes >= 1u << 30 || target.localBytes >= kMaxLocalBytes) {
    errors.push_back(
        {entry.line, "kernel '" + attributes.name + "' has too many registers or local variables"});
    return;
  }
  target.code.reserve(instructions);
  target.info.reserve(instructions);
  for (auto &decoder : decoders)
    decoder->run();
  collectTracked(target);
  markCompareLoops(target);
  target.reconverge = reconvergencePoints(target);
}

} // namespace girih::emu
