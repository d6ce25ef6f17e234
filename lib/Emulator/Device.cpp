// The public face: memory, modules and launches.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Emulator/Device.h"

#include "Emulator/Machine/Async.h"
#include "Emulator/Machine/Rounds.h"
#include "Emulator/Program/Contraction.h"
#include "Emulator/Program/Linker.h"
#include "Emulator/Ptx/Parser.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace girih::emu {

namespace {

class FunctionImpl final : public Function {
public:
  FunctionImpl(const Kernel &kernel) : kernel(kernel) {}
  const FunctionAttributes &attributes() const override { return kernel.attributes; }
  std::vector<Contraction> contractions() const override {
    std::vector<Contraction> list;
    for (const ContractiblePair &pair : contractiblePairs(kernel)) {
      const InstrInfo &mul = kernel.info[pair.mul], &add = kernel.info[pair.add];
      list.push_back({mul.line, add.line, std::string(mul.text), std::string(add.text)});
    }
    return list;
  }
  /// The kernel with all of them fused, made when a launch first asks for it.
  const Kernel &contracted() const {
    if (!fused) {
      fused = std::make_unique<Kernel>(kernel);
      contract(*fused, contractiblePairs(kernel));
    }
    return *fused;
  }
  const Kernel &kernel;

private:
  mutable std::unique_ptr<Kernel> fused;
};

class ModuleImpl final : public Module {
public:
  ModuleImpl(std::shared_ptr<GlobalMemory> memory) : memory(std::move(memory)) {}
  ~ModuleImpl() override {
    std::lock_guard<std::mutex> lock(memory->mutex);
    for (const auto &variable : image.variables)
      memory->free(variable.second.address);
  }
  std::vector<std::string> kernels() const override {
    std::vector<std::string> names;
    for (const auto &f : functions)
      names.push_back(f->attributes().name);
    return names;
  }
  const Function &kernel(std::string_view name) const override {
    std::string names;
    for (const auto &f : functions) {
      if (f->attributes().name == name)
        return *f;
      names += (names.empty() ? "" : ", ") + f->attributes().name;
    }
    throw DeviceError(ErrorCode::NotFound, "module " + image.name + " has no kernel '" +
                                               std::string(name) +
                                               "'; it has: " + (names.empty() ? "none" : names));
  }
  std::optional<AllocationInfo> variable(std::string_view name) const override {
    auto found = image.variables.find(name);
    if (found == image.variables.end())
      return std::nullopt;
    return found->second;
  }

  ModuleImage image;
  std::vector<std::unique_ptr<FunctionImpl>> functions;
  std::shared_ptr<GlobalMemory> memory;
};

} // namespace

struct Device::Impl {
  explicit Impl(const DeviceOptions &options)
      : options(options), memory(std::make_shared<GlobalMemory>(options.memoryBytes)),
        rounds(options.multiprocessors) {}
  DeviceOptions options;
  std::shared_ptr<GlobalMemory> memory;
  Rounds rounds; ///< under the memory's mutex
  /// What the next device function's pointers hold.
  uint64_t nextFunction = kCodeBase;
  LaunchId launches = 0;
  std::mutex launching; ///< held by Device::launch
};

Device::Device(const DeviceOptions &options) {
  if (options.multiprocessors == 0 || options.multiprocessors > 65535)
    throw DeviceError(ErrorCode::InvalidValue, "a device with " +
                                                   std::to_string(options.multiprocessors) +
                                                   " multiprocessors; 1 to 65535 are possible");
  state = std::make_unique<Impl>(options);
}
Device::~Device() = default;

const DeviceOptions &Device::options() const { return state->options; }

uint64_t Device::allocate(uint64_t bytes) {
  std::lock_guard<std::mutex> lock(state->memory->mutex);
  return state->memory->allocate(bytes);
}
void Device::free(uint64_t address) {
  std::lock_guard<std::mutex> lock(state->memory->mutex);
  state->memory->free(address);
}
std::optional<AllocationInfo> Device::findAllocation(uint64_t address) const {
  std::lock_guard<std::mutex> lock(state->memory->mutex);
  const AllocationInfo *info = state->memory->find(address);
  return info ? std::optional(*info) : std::nullopt;
}
uint64_t Device::bytesAllocated() const {
  std::lock_guard<std::mutex> lock(state->memory->mutex);
  return state->memory->used();
}

namespace {
uint8_t *checkedRange(const GlobalMemory &memory, uint64_t address, uint64_t bytes,
                      const char *what) {
  const AllocationInfo *info = memory.find(address);
  if (!info || bytes > info->bytes - (address - info->address)) {
    char buffer[64];
    std::snprintf(buffer, sizeof(buffer), "0x%llx", static_cast<unsigned long long>(address));
    throw DeviceError(
        ErrorCode::InvalidValue,
        std::string(what) + " of " + std::to_string(bytes) + " bytes at " + buffer +
            (info ? " runs past an allocation of " + std::to_string(info->bytes) + " bytes"
                  : ", which is not device memory"));
  }
  return memory.host(address);
}
} // namespace

void Device::copyToDevice(uint64_t destination, const void *source, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(state->memory->mutex);
  if (!bytes)
    return;
  std::memcpy(checkedRange(*state->memory, destination, bytes, "a copy to the device"), source,
              bytes);
  state->memory->setDefined(destination, bytes);
}
void Device::copyFromDevice(void *destination, uint64_t source, uint64_t bytes) const {
  std::lock_guard<std::mutex> lock(state->memory->mutex);
  if (bytes)
    std::memcpy(destination, checkedRange(*state->memory, source, bytes, "a copy from the device"),
                bytes);
}
void Device::copyOnDevice(uint64_t destination, uint64_t source, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(state->memory->mutex);
  if (!bytes)
    return;
  std::memmove(checkedRange(*state->memory, destination, bytes, "a copy on the device"),
               checkedRange(*state->memory, source, bytes, "a copy on the device"), bytes);
  state->memory->copyDefined(destination, source, bytes);
}
void Device::fill(uint64_t destination, uint32_t value, unsigned elementBytes, uint64_t count) {
  std::lock_guard<std::mutex> lock(state->memory->mutex);
  if (elementBytes != 1 && elementBytes != 2 && elementBytes != 4)
    throw DeviceError(ErrorCode::InvalidValue, "a fill of elements of " +
                                                   std::to_string(elementBytes) +
                                                   " bytes; 1, 2 and 4 are possible");
  if (!count)
    return;
  if (count > UINT64_MAX / elementBytes)
    throw DeviceError(ErrorCode::InvalidValue, "a fill of too many elements");
  uint8_t *to = checkedRange(*state->memory, destination, count * elementBytes, "a fill");
  state->memory->setDefined(destination, count * elementBytes);
  if (elementBytes == 1) {
    std::memset(to, static_cast<int>(value & 0xff), count);
    return;
  }
  for (uint64_t i = 0; i < count; ++i)
    std::memcpy(to + i * elementBytes, &value, elementBytes);
}

std::shared_ptr<Module> Device::loadModule(std::string_view ptxText, const ModuleOptions &options) {
  auto module =
      std::make_shared<ModuleImpl>(state->memory); // outlives the lock: its destructor takes it
  std::lock_guard<std::mutex> lock(state->memory->mutex);
  ModuleImage &image = module->image;
  image.name = options.name;
  image.text = std::string(ptxText);
  image.resolve = options.resolveLocation;
  ptx::ModuleAst ast = ptx::parseModule(image.text);
  image.callSites = std::move(ast.callSites);
  for (std::string_view file : ast.files)
    image.files.emplace_back(file);
  std::vector<ptx::Diagnostic> errors = std::move(ast.errors);
  // Variables first: functions name their addresses, and initialisers each other's.
  for (const ptx::Symbol &symbol : ast.variables) {
    if (symbol.space == ptx::Space::Shared)
      continue;
    if (symbol.external) {
      errors.push_back({symbol.line, "external variable '" + std::string(symbol.name) +
                                         "': linking is not modelled"});
      continue;
    }
    uint64_t address = 0;
    try {
      address = state->memory->allocate(std::max<uint64_t>(symbol.bytes, 1));
    } catch (const DeviceError &full) {
      errors.push_back(
          {symbol.line, "no room for '" + std::string(symbol.name) + "': " + full.what()});
      continue;
    }
    std::memset(state->memory->host(address), 0, symbol.bytes);
    std::copy_n(symbol.initial.begin(), std::min<uint64_t>(symbol.initial.size(), symbol.bytes),
                state->memory->host(address));
    state->memory->setDefined(address, std::max<uint64_t>(symbol.bytes, 1));
    image.variables[std::string(symbol.name)] = {address, symbol.bytes};
    if (symbol.space == ptx::Space::Const)
      image.constants.push_back({address, symbol.bytes});
  }
  Linker linker(ast, image, state->nextFunction, errors);
  state->nextFunction += 16 * image.functions.size();
  for (const ptx::Symbol &symbol : ast.variables)
    for (const ptx::Symbol::Fixup &fixup : symbol.fixups) {
      auto target = image.variables.find(fixup.symbol);
      auto function = image.functions.find(fixup.symbol);
      auto self = image.variables.find(symbol.name);
      if (self == image.variables.end())
        continue;
      if (target == image.variables.end() && function == image.functions.end()) {
        errors.push_back({symbol.line, "the initialiser of '" + std::string(symbol.name) +
                                           "' names '" + std::string(fixup.symbol) +
                                           "', which is no .global or .const variable and no "
                                           "device function"});
        continue;
      }
      // Generic addresses of global and constant memory are the addresses themselves.
      uint64_t value =
          (function != image.functions.end() ? function->second : target->second.address) +
          static_cast<uint64_t>(fixup.addend);
      if (fixup.mask)
        value = (value & fixup.mask) >> std::countr_zero(fixup.mask);
      std::memcpy(state->memory->host(self->second.address) + fixup.offset, &value,
                  std::min(fixup.bytes, 8u));
    }
  if (errors.empty())
    for (const ptx::Function &function : ast.functions) {
      if (!function.isEntry || !function.hasBody)
        continue;
      auto kernel = std::make_unique<Kernel>();
      linker.link(function, *kernel);
      module->functions.push_back(std::make_unique<FunctionImpl>(*kernel));
      image.kernels.push_back(std::move(kernel));
    }
  if (!errors.empty()) {
    std::string text;
    size_t shown = 0;
    for (const ptx::Diagnostic &error : errors) {
      if (options.maxMessages && ++shown > options.maxMessages) {
        text += "\n(" + std::to_string(errors.size() - options.maxMessages) + " more)";
        break;
      }
      std::string message = error.message.substr(0, 300);
      text += (text.empty() ? "" : "\n") + options.name + ":" + std::to_string(error.line) + ": " +
              message;
    }
    throw DeviceError(ErrorCode::InvalidPtx, text);
  }
  return module;
}

LaunchId Device::enqueue(const Function &function, const LaunchConfig &config,
                         std::vector<LaunchId> after) {
  std::lock_guard<std::mutex> lock(state->memory->mutex);
  const auto &implementation = static_cast<const FunctionImpl &>(function);
  const Kernel &kernel =
      config.options.contract ? implementation.contracted() : implementation.kernel;
  auto grid = std::make_unique<Grid>(kernel, *state->memory, config, state->options.multiprocessors,
                                     ++state->launches);
  grid->after = std::move(after);
  const LaunchId id = grid->id();
  state->rounds.add(std::move(grid));
  return id;
}

bool Device::step() {
  std::lock_guard<std::mutex> lock(state->memory->mutex);
  return state->rounds.step();
}

std::optional<LaunchResult> Device::take(LaunchId id) {
  std::lock_guard<std::mutex> lock(state->memory->mutex);
  return state->rounds.take(id);
}

void Device::cancelAll() {
  std::lock_guard<std::mutex> lock(state->memory->mutex);
  state->rounds.cancelAll();
}

LaunchResult Device::launch(const Function &function, const LaunchConfig &config) {
  std::lock_guard<std::mutex> turn(state->launching);
  const LaunchId id = enqueue(function, config);
  std::lock_guard<std::mutex> lock(state->memory->mutex);
  while (!state->rounds.isDone(id))
    state->rounds.step();
  return *state->rounds.take(id);
}

Occupancy Device::occupancy(const Function &function, uint32_t threads, uint32_t dynamicSharedBytes,
                            uint32_t clusterSize) const {
  const Kernel &kernel = static_cast<const FunctionImpl &>(function).kernel;
  Occupancy result;
  if (!threads || threads > kernel.attributes.maxThreadsPerBlock || !clusterSize ||
      clusterSize > DeviceLimits::maxClusterSize ||
      sharedBytesOf(kernel, dynamicSharedBytes) > DeviceLimits::sharedPerBlock)
    return result;
  result.ctasPerMultiprocessor =
      ctasPerMultiprocessor(needsOf(kernel, threads, dynamicSharedBytes));
  result.clusters = result.ctasPerMultiprocessor * state->options.multiprocessors / clusterSize;
  return result;
}

std::string LaunchStats::json() const {
  char text[512];
  std::snprintf(text, sizeof(text),
                "{\"warp_instructions\":%llu,\"thread_instructions\":%llu,\"rounds\":%llu,"
                "\"tma_loads\":%llu,\"tma_stores\":%llu,\"tma_bytes\":%llu,\"wgmmas\":%llu,"
                "\"shadow_bytes\":%llu,\"touched_bytes\":%llu,\"seconds\":%.9f}",
                static_cast<unsigned long long>(warpInstructions),
                static_cast<unsigned long long>(threadInstructions),
                static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(tmaLoads),
                static_cast<unsigned long long>(tmaStores),
                static_cast<unsigned long long>(tmaBytes), static_cast<unsigned long long>(wgmmas),
                static_cast<unsigned long long>(shadowBytes),
                static_cast<unsigned long long>(touchedBytes), seconds);
  return text;
}

std::string LaunchResult::renderCounters() const {
  if (lines.empty())
    return {};
  std::vector<const LineCounters *> order;
  for (const LineCounters &line : lines)
    order.push_back(&line);
  auto waste = [](const LineCounters *l) {
    return l->sharedPasses - l->sharedIdeal + l->globalSectors - l->globalIdeal;
  };
  std::sort(order.begin(), order.end(), [&](const auto *a, const auto *b) {
    return std::pair(waste(b), a->instruction) < std::pair(waste(a), b->instruction);
  });
  char buffer[160];
  std::snprintf(buffer, sizeof(buffer), "%8s %12s %14s %14s  %s\n", "PTX line", "executions",
                "bank passes", "sectors", "instruction, source");
  std::string text = buffer;
  auto ratio = [](uint64_t got, uint64_t ideal) {
    return got ? std::to_string(got) + "/" + std::to_string(ideal) : std::string("-");
  };
  for (const LineCounters *line : order) {
    std::snprintf(buffer, sizeof(buffer), "%8u %12llu %14s %14s  ", line->ptxLine,
                  static_cast<unsigned long long>(line->executions),
                  ratio(line->sharedPasses, line->sharedIdeal).c_str(),
                  ratio(line->globalSectors, line->globalIdeal).c_str());
    text += buffer + line->ptxText.substr(0, 60);
    if (!line->source.empty())
      text += "  " + line->source.substr(0, line->source.find('\n'));
    text += "\n";
  }
  return text;
}

std::string LaunchResult::render() const {
  std::string text;
  for (const Finding &f : findings)
    text += (text.empty() ? "" : "\n\n") + f.render();
  return text;
}

} // namespace girih::emu
