// A launch: what is checked before it runs, which clusters it has, and its result.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Grid.h"

#include <algorithm>

namespace girih::emu {

namespace {

std::string dimText(const Dim3 &d) {
  return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" + std::to_string(d.z);
}

void checkLaunch(const Kernel &kernel, const LaunchConfig &config, const Dim3 &cluster,
                 uint32_t multiprocessors) {
  const FunctionAttributes &a = kernel.attributes;
  auto invalid = [&](const std::string &what) {
    throw DeviceError(ErrorCode::InvalidLaunch, "cannot launch '" + a.name + "': " + what);
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
  if (config.cooperative) {
    const uint64_t each = ctasPerMultiprocessor(
        needsOf(kernel, static_cast<uint32_t>(threads), config.dynamicSharedBytes));
    const uint64_t room = each * multiprocessors / cluster.count() * cluster.count();
    if (config.grid.count() > room)
      throw DeviceError(ErrorCode::TooLarge,
                        "cannot launch '" + a.name + "': a cooperative launch of " +
                            std::to_string(config.grid.count()) + " CTAs, but only " +
                            std::to_string(room) + " can be resident at once (" +
                            std::to_string(each) + " on each of " +
                            std::to_string(multiprocessors) + " multiprocessors)");
  }
}

} // namespace

Grid::Grid(const Kernel &kernel, GlobalMemory &memory, const LaunchConfig &request,
           uint32_t multiprocessors, LaunchId id)
    : programmatic(request.programmatic) {
  LaunchConfig config = request;
  const FunctionAttributes &attributes = kernel.attributes;
  Dim3 cluster = config.cluster ? *config.cluster : attributes.requiredCluster.value_or(Dim3());
  if (attributes.blocksAreClusters)
    config.grid = {config.grid.x * cluster.x, config.grid.y * cluster.y, config.grid.z * cluster.z};
  checkLaunch(kernel, config, cluster, multiprocessors);
  launch.pool = &pool;
  launch.kernel = &kernel;
  launch.memory = &memory;
  launch.options = config.options;
  launch.gridId = id;
  launch.grid = config.grid;
  launch.block = config.block;
  launch.cluster = cluster;
  launch.clusterSize = static_cast<uint32_t>(cluster.count());
  launch.threadsPerCta = static_cast<uint32_t>(config.block.count());
  launch.warpsPerCta = (launch.threadsPerCta + 31) / 32;
  launch.staticShared = attributes.sharedBytes;
  launch.dynamicShared = config.dynamicSharedBytes;
  launch.dynamicBase = kernel.dynamicBase;
  launch.sharedBytes = kSharedStart + sharedBytesOf(kernel, config.dynamicSharedBytes);
  launch.multiprocessors = multiprocessors;
  if (config.paramBytes)
    launch.params.assign(static_cast<const uint8_t *>(config.params),
                         static_cast<const uint8_t *>(config.params) + config.paramBytes);
  launch.launchRegisters = launchRegistersOf(kernel, launch.threadsPerCta);
  // How eagerly copies proceed is one of the things that a seed decides.
  constexpr double shares[] = {0.3, 0.05, 0.6, 0.15, 0.9};
  launch.asyncShare = shares[config.options.seed % 5];
  needs = needsOf(kernel, launch.threadsPerCta, config.dynamicSharedBytes);
  if (!config.options.trace.empty() || config.options.traceSink) {
    launch.traced = true;
    trace = std::make_unique<TraceText>(kernel, config.options.traceEvents);
  }
  chooseClusters();
  if (config.options.adversary == Adversary::LanesSingly)
    launch.singly = branchesOfSingleLanes(kernel);
  begin = std::chrono::steady_clock::now();
}

void Grid::chooseClusters() {
  const uint64_t all = launch.grid.count() / launch.clusterSize;
  if (launch.options.ctas.empty()) {
    ranges.push_back({0, all});
    total = all;
    return;
  }
  // The clusters of the CTAs that the list names.
  const Dim3 &g = launch.grid, &c = launch.cluster;
  auto clusterOf = [&](uint64_t cta) {
    const uint64_t x = cta % g.x / c.x, y = cta / g.x % g.y / c.y, z = cta / g.x / g.y / c.z;
    return x + (g.x / c.x) * (y + (g.y / c.y) * z);
  };
  std::vector<Range> named;
  for (const CtaRange &range : launch.options.ctas) {
    const uint64_t first = range.first == CtaRange::last ? g.count() - 1 : range.first;
    const uint64_t end = std::min(range.end == CtaRange::last ? g.count() : range.end, g.count());
    if (launch.clusterSize == 1) {
      if (first < end)
        named.push_back({first, end});
      continue;
    }
    for (uint64_t cta = first; cta < end; ++cta)
      if (const uint64_t cluster = clusterOf(cta); named.empty() || named.back().first != cluster)
        named.push_back({cluster, cluster + 1});
  }
  std::sort(named.begin(), named.end(),
            [](const Range &a, const Range &b) { return a.first < b.first; });
  for (const Range &range : named) {
    if (!ranges.empty() && range.first <= ranges.back().end)
      ranges.back().end = std::max(ranges.back().end, range.end);
    else
      ranges.push_back(range);
  }
  for (const Range &range : ranges)
    total += range.end - range.first;
  if (!total)
    throw DeviceError(ErrorCode::InvalidLaunch, "cannot launch '" + launch.kernel->attributes.name +
                                                    "': the sample names no CTA of a grid of " +
                                                    std::to_string(g.count()));
}

uint64_t Grid::clusterAt(uint64_t n) const {
  if (launch.options.adversary == Adversary::CtasReversed)
    n = total - 1 - n;
  for (const Range &range : ranges) {
    if (n < range.end - range.first)
      return range.first + n;
    n -= range.end - range.first;
  }
  return 0;
}

void Grid::startCluster(std::vector<uint16_t> numbers) {
  active.push_back(std::make_unique<Cluster>(launch, clusterAt(started++)));
  active.back()->multiprocessors = std::move(numbers);
}

bool Grid::allowsDependents() const {
  if (state != State::Running || started < total)
    return state == State::Done;
  for (const std::unique_ptr<Cluster> &cluster : active)
    if (cluster->dependentsLaunched < launch.clusterSize)
      return false;
  return true;
}

void Grid::collect(Cluster &c) {
  allowedDependents |= c.executedLaunchDependents;
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
    auto [entry, fresh] = findingIndex.try_emplace(std::move(key), result.findings.size());
    if (!fresh) {
      if (entry->second < result.findings.size())
        result.findings[entry->second].count += f.count;
      continue;
    }
    if (findingCount[f.kind]++ >= launch.options.maxFindingsPerKind) {
      entry->second = ~size_t(0);
      continue;
    }
    result.findings.push_back(std::move(f));
  }
  if (c.outcome != Outcome::Completed && result.outcome == Outcome::Completed)
    result.outcome = c.outcome;
}

void Grid::finish() {
  active.clear();
  state = State::Done;
  uint64_t over = 0;
  for (auto &[cluster, text] : printed) {
    constexpr uint64_t kMaxPrinted = uint64_t(1) << 20;
    const uint64_t room = kMaxPrinted - result.printed.size();
    result.printed.append(text.first, 0, room);
    over += text.second + text.first.size() - std::min<uint64_t>(room, text.first.size());
  }
  if (over)
    result.printed += "\n(" + std::to_string(over) + " more bytes were printed)\n";
  result.stats.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace girih::emu
