// The public face: memory, modules, and the rounds of a launch.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Emulator/Device.h"

#include "Emulator/Machine/Async.h"
#include "Emulator/Machine/Machine.h"
#include "Emulator/Program/Contraction.h"
#include "Emulator/Program/Linker.h"
#include "Emulator/Ptx/Parser.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

namespace girih::emu {

namespace {

/// Instructions of a cluster between two commits.
constexpr uint64_t kQuantum = 20000;
/// Rounds without any change of memory, barriers or copies after which the launch is given up.
constexpr uint64_t kIdleRounds = 400;

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

/// Runs a number of jobs on a fixed set of threads, this one included.
class Workers {
public:
  explicit Workers(unsigned count) {
    for (unsigned i = 1; i < count; ++i)
      threads.emplace_back([this] { loop(); });
  }
  ~Workers() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      quit = true;
      ++generation;
    }
    wake.notify_all();
    for (std::thread &t : threads)
      t.join();
  }
  void run(size_t jobs, const std::function<void(size_t)> &job) {
    if (threads.empty() || jobs < 2) {
      for (size_t i = 0; i < jobs; ++i)
        job(i);
      return;
    }
    {
      std::lock_guard<std::mutex> lock(mutex);
      current = &job;
      count = jobs;
      next = 0;
      busy = static_cast<unsigned>(threads.size());
      ++generation;
    }
    wake.notify_all();
    work();
    std::unique_lock<std::mutex> lock(mutex);
    done.wait(lock, [this] { return busy == 0; });
  }

private:
  void work() {
    for (size_t i; (i = next.fetch_add(1)) < count;)
      (*current)(i);
  }
  void loop() {
    uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock<std::mutex> lock(mutex);
        wake.wait(lock, [&] { return generation != seen; });
        seen = generation;
        if (quit)
          return;
      }
      work();
      std::lock_guard<std::mutex> lock(mutex);
      if (--busy == 0)
        done.notify_one();
    }
  }
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::condition_variable wake, done;
  const std::function<void(size_t)> *current = nullptr;
  size_t count = 0;
  std::atomic<size_t> next{0};
  unsigned busy = 0;
  uint64_t generation = 0;
  bool quit = false;
};

std::string dimText(const Dim3 &d) {
  return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" + std::to_string(d.z);
}

void checkLaunch(const FunctionAttributes &a, const LaunchConfig &config, const Kernel &kernel,
                 const Dim3 &cluster) {
  auto invalid = [&](const std::string &text) {
    throw DeviceError(ErrorCode::InvalidLaunch, "cannot launch '" + a.name + "': " + text);
  };
  uint64_t threads = config.block.count();
  if (config.grid.count() == 0 || threads == 0)
    invalid("an empty grid or block");
  if (config.grid.y > 65535 || config.grid.z > 65535 || config.grid.x > 0x7fffffff)
    invalid("grid " + dimText(config.grid) + " is larger than 2147483647x65535x65535");
  if (threads > DeviceLimits::maxThreadsPerBlock || config.block.x > 1024 ||
      config.block.y > 1024 || config.block.z > 64)
    invalid("block " + dimText(config.block) + " has " + std::to_string(threads) +
            " threads; at most 1024 are possible");
  if (a.requiredBlock && !(config.block == *a.requiredBlock))
    invalid("block " + dimText(config.block) + ", but the kernel requires " +
            dimText(*a.requiredBlock));
  if (threads > a.maxThreadsPerBlock)
    invalid("block " + dimText(config.block) + " has " + std::to_string(threads) +
            " threads; the kernel allows " + std::to_string(a.maxThreadsPerBlock));
  if (a.requiredCluster && !(cluster == *a.requiredCluster))
    invalid("cluster " + dimText(cluster) + ", but the kernel requires " +
            dimText(*a.requiredCluster));
  if (a.explicitCluster && !a.requiredCluster && !config.cluster)
    invalid("the kernel is .explicitcluster: the launch must say how many CTAs a cluster has");
  if (a.maxClusterSize && cluster.count() > a.maxClusterSize)
    invalid("a cluster of " + std::to_string(cluster.count()) + " CTAs; the kernel allows " +
            std::to_string(a.maxClusterSize));
  if (cluster.count() == 0 || cluster.count() > DeviceLimits::maxClusterSize)
    invalid("a cluster of " + std::to_string(cluster.count()) + " CTAs; 1 to 16 are possible");
  if (config.grid.x % cluster.x || config.grid.y % cluster.y || config.grid.z % cluster.z)
    invalid("grid " + dimText(config.grid) + " is no multiple of cluster " + dimText(cluster));
  uint64_t shared = uint64_t(kernel.dynamicBase - kSharedStart) * (config.dynamicSharedBytes != 0) +
                    config.dynamicSharedBytes;
  shared = std::max<uint64_t>(shared, a.sharedBytes);
  if (shared > DeviceLimits::sharedPerBlock)
    invalid(std::to_string(shared) + " bytes of shared memory (" + std::to_string(a.sharedBytes) +
            " static); a CTA can have " + std::to_string(DeviceLimits::sharedPerBlock));
  if (config.paramBytes != a.paramBytes)
    invalid("the parameters are " + std::to_string(config.paramBytes) +
            " bytes, the kernel takes " + std::to_string(a.paramBytes));
}

} // namespace

struct Device::Impl {
  DeviceOptions options;
  std::shared_ptr<GlobalMemory> memory;
  /// What the next device function's pointers hold.
  uint64_t nextFunction = kCodeBase;
  uint64_t launches = 0;
};

Device::Device(const DeviceOptions &options) : state(std::make_unique<Impl>()) {
  if (options.multiprocessors == 0)
    throw DeviceError(ErrorCode::InvalidValue, "a device without multiprocessors");
  state->options = options;
  state->memory = std::make_shared<GlobalMemory>(options.memoryBytes);
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

LaunchResult Device::launch(const Function &function, const LaunchConfig &request) {
  std::lock_guard<std::mutex> lock(state->memory->mutex);
  const auto begin = std::chrono::steady_clock::now();
  const auto &implementation = static_cast<const FunctionImpl &>(function);
  const Kernel &kernel =
      request.options.contract ? implementation.contracted() : implementation.kernel;
  const FunctionAttributes &attributes = kernel.attributes;
  LaunchConfig config = request;
  Dim3 cluster = config.cluster ? *config.cluster : attributes.requiredCluster.value_or(Dim3());
  if (attributes.blocksAreClusters)
    config.grid = {config.grid.x * cluster.x, config.grid.y * cluster.y, config.grid.z * cluster.z};
  checkLaunch(attributes, config, kernel, cluster);

  CtaPool pool; // outlives the clusters
  LaunchContext launch;
  launch.pool = &pool;
  launch.kernel = &kernel;
  launch.memory = state->memory.get();
  launch.options = config.options;
  launch.grid = config.grid;
  launch.block = config.block;
  launch.cluster = cluster;
  launch.clusterSize = static_cast<uint32_t>(cluster.count());
  launch.threadsPerCta = static_cast<uint32_t>(config.block.count());
  launch.warpsPerCta = (launch.threadsPerCta + 31) / 32;
  launch.staticShared = attributes.sharedBytes;
  launch.dynamicShared = config.dynamicSharedBytes;
  launch.dynamicBase = kernel.dynamicBase;
  launch.sharedBytes =
      config.dynamicSharedBytes ? kernel.dynamicBase + config.dynamicSharedBytes : kernel.staticEnd;
  launch.gridId = ++state->launches;
  launch.multiprocessors = state->options.multiprocessors;
  launch.params.assign(static_cast<const uint8_t *>(config.params),
                       static_cast<const uint8_t *>(config.params) + config.paramBytes);
  uint32_t roundedThreads = launch.warpsPerCta * 32;
  launch.launchRegisters =
      attributes.maxRegisters
          ? attributes.maxRegisters
          : std::min(256u, DeviceLimits::registersPerSm / roundedThreads / 8 * 8);
  // How eagerly copies proceed is one of the things that a seed decides.
  constexpr double shares[] = {0.3, 0.05, 0.6, 0.15, 0.9};
  launch.asyncShare = shares[config.options.seed % 5];

  // CTAs that fit on a multiprocessor. PTX does not say how many registers a thread takes; without
  // .maxnreg or setmaxnreg 64 are assumed.
  uint32_t registers = attributes.maxRegisters || kernel.usesSetmaxnreg
                           ? launch.launchRegisters
                           : std::min(64u, launch.launchRegisters);
  uint32_t perSm =
      std::min({DeviceLimits::maxBlocksPerSm, DeviceLimits::maxThreadsPerSm / roundedThreads,
                DeviceLimits::registersPerSm / (registers * roundedThreads),
                DeviceLimits::sharedPerSm /
                    (launch.sharedBytes - kSharedStart + DeviceLimits::reservedShared)});
  uint64_t slots = std::max<uint64_t>(1, uint64_t(std::max(1u, perSm)) * launch.multiprocessors /
                                             launch.clusterSize);

  const uint64_t total = config.grid.count() / launch.clusterSize;
  uint64_t started = 0;
  LaunchResult result;
  std::vector<std::unique_ptr<Cluster>> active;
  Workers workers(std::max(1u, config.options.threads));
  uint64_t idle = 0;
  SyncPoints syncPoints;
  launch.syncPoints = &syncPoints;
  GlobalShadow shadow(kGlobalBase);
  std::unordered_map<std::string, size_t> index;
  std::unordered_map<std::string, unsigned> perKind;
  std::map<uint64_t, std::pair<std::string, uint64_t>> printed;
  auto collect = [&](Cluster &c) {
    result.traceHash = (result.traceHash ^ c.traceHash ^ c.linearId()) * 0x9e3779b97f4a7c15u;
    result.stats.warpInstructions += c.stats.warpInstructions;
    result.stats.threadInstructions += c.stats.threadInstructions;
    result.stats.tmaLoads += c.stats.tmaLoads;
    result.stats.tmaStores += c.stats.tmaStores;
    result.stats.wgmmas += c.stats.wgmmas;
    result.stats.tmaBytes += c.stats.tmaBytes;
    if (c.stats.shadowBytes > result.stats.shadowBytes) {
      result.stats.shadowBytes = c.stats.shadowBytes;
      result.stats.touchedBytes = c.stats.touchedBytes;
    }
    if (!c.printed.empty())
      printed[c.linearId()] = {std::move(c.printed), c.printedOver};
    c.collectCounters(result.lines);
    for (Finding &f : c.findings) {
      std::string key = (f.severity == Severity::Note ? "note " : "") + f.kind;
      for (size_t i = 0; i < f.sites.size() && i < 2; ++i)
        key += ":" + std::to_string(f.sites[i].ptxLine);
      auto [entry, fresh] = index.try_emplace(std::move(key), result.findings.size());
      if (!fresh) {
        if (entry->second < result.findings.size())
          result.findings[entry->second].count += f.count;
        continue;
      }
      if (perKind[f.kind]++ >= config.options.maxFindingsPerKind) {
        entry->second = ~size_t(0);
        continue;
      }
      result.findings.push_back(std::move(f));
    }
    if (c.outcome != Outcome::Completed && result.outcome == Outcome::Completed)
      result.outcome = c.outcome;
  };
  while (started < total || !active.empty()) {
    while (active.size() < slots && started < total)
      active.push_back(std::make_unique<Cluster>(launch, started++));
    ++result.stats.rounds;
    uint64_t before = 0, after = 0;
    std::vector<uint64_t> polls;
    for (const auto &c : active) {
      before += c->progress;
      polls.push_back(c->pollOps);
    }
    workers.run(active.size(), [&](size_t i) { active[i]->runQuantum(kQuantum); });
    bool changed = false, stop = false;
    for (auto &c : active) {
      c->memoryChanged = false;
      c->commit();
      changed |= c->memoryChanged;
      after += c->progress;
      stop |= c->stopped;
    }
    if (launch.options.checks) {
      std::vector<AccessLog *> logs;
      for (auto &c : active)
        logs.push_back(&c->log);
      for (const GlobalShadow::Found &found :
           shadow.check(logs, std::max(1u, config.options.threads),
                        [&](size_t jobs, const std::function<void(size_t)> &job) {
                          workers.run(jobs, job);
                        }))
        active[found.log]->reportGlobalConflict(found);
    }
    if (stop) {
      for (auto &c : active)
        collect(*c);
      break;
    }
    // Who does not even ask is computing.
    for (size_t i = 0; i < active.size(); ++i)
      changed |= active[i]->pollOps == polls[i];
    size_t kept = 0;
    for (auto &c : active) {
      if (c->finished())
        collect(*c);
      else
        active[kept++] = std::move(c);
    }
    changed |= kept < active.size() || after != before;
    active.resize(kept);
    idle = changed ? 0 : idle + 1;
    if (idle > kIdleRounds && !active.empty()) {
      for (auto &c : active) {
        c->reportLivelock();
        collect(*c);
      }
      break;
    }
  }
  result.stats.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  uint64_t over = 0;
  for (auto &[cluster, text] : printed) {
    constexpr uint64_t kMaxPrinted = uint64_t(1) << 20;
    const uint64_t room = kMaxPrinted - result.printed.size();
    result.printed.append(text.first, 0, room);
    over += text.second + text.first.size() - std::min<uint64_t>(room, text.first.size());
  }
  if (over)
    result.printed += "\n(" + std::to_string(over) + " more bytes were printed)\n";
  if (launch.options.checks) {
    result.stats.shadowBytes += shadow.bytes();
    result.stats.touchedBytes += shadow.touched();
  }
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
