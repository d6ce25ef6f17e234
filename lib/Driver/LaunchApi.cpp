// Entry points: launches. Everything that a caller can get wrong is refused before the launch is
// queued, with the code that a GPU's driver gives; what the kernel does wrong fails the context
// later.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "State.h"

#include <cstdio>
#include <cstring>

using namespace girih::cuda;
using girih::emu::DeviceLimits;
using girih::emu::Dim3;

namespace {

/// A refusal: a code and why.
struct Refusal {
  CUresult code = CUDA_SUCCESS;
  std::string reason;
  explicit operator bool() const { return code != CUDA_SUCCESS; }
};

std::string text(const Dim3 &extent) {
  return std::to_string(extent.x) + " x " + std::to_string(extent.y) + " x " +
         std::to_string(extent.z);
}

constexpr uint32_t kPortableCluster = 8;

Refusal checkShape(const CUfunc_st &function, const Dim3 &grid, const Dim3 &block,
                   uint32_t dynamicShared) {
  const girih::emu::FunctionAttributes &facts = function.attributes();
  std::string kernel = "kernel " + facts.name + ": ";
  if (!grid.x || !grid.y || !grid.z || grid.x > 2147483647 || grid.y > 65535 || grid.z > 65535)
    return {CUDA_ERROR_INVALID_VALUE,
            kernel + "the grid is " + text(grid) +
                "; it must be 1 to 2147483647 by 1 to 65535 by 1 to 65535"};
  if (!block.x || !block.y || !block.z || block.x > 1024 || block.y > 1024 || block.z > 64 ||
      block.count() > DeviceLimits::maxThreadsPerBlock)
    return {CUDA_ERROR_INVALID_VALUE,
            kernel + "the block is " + text(block) +
                "; it may have 1024 x 1024 x 64 threads, and 1024 in all"};
  if (facts.requiredBlock && !(*facts.requiredBlock == block))
    return {CUDA_ERROR_INVALID_VALUE, kernel + "the block is " + text(block) +
                                          ", but .reqntid says " + text(*facts.requiredBlock)};
  if (block.count() > facts.maxThreadsPerBlock)
    return {CUDA_ERROR_INVALID_VALUE, kernel + "the block has " + std::to_string(block.count()) +
                                          " threads, and the kernel allows " +
                                          std::to_string(facts.maxThreadsPerBlock)};
  if (dynamicShared > static_cast<uint32_t>(function.maxDynamicShared))
    return {CUDA_ERROR_INVALID_VALUE,
            kernel + std::to_string(dynamicShared) + " bytes of dynamic shared memory, but " +
                std::to_string(function.maxDynamicShared) +
                " are allowed (cuFuncSetAttribute with "
                "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES allows more)"};
  return {};
}

Refusal checkCluster(const CUfunc_st &function, const Dim3 &grid,
                     const std::optional<Dim3> &asked) {
  const auto &required = function.attributes().requiredCluster;
  std::string kernel = "kernel " + function.attributes().name + ": ";
  if (asked && required && !(*asked == *required))
    return {CUDA_ERROR_INVALID_CLUSTER_SIZE, kernel + "the cluster is " + text(*asked) +
                                                 ", but .reqnctapercluster says " +
                                                 text(*required)};
  Dim3 cluster = asked ? *asked : required ? *required : Dim3{};
  if (!cluster.x || !cluster.y || !cluster.z || grid.x % cluster.x || grid.y % cluster.y ||
      grid.z % cluster.z)
    return {CUDA_ERROR_INVALID_CLUSTER_SIZE, kernel + "the grid of " + text(grid) +
                                                 " is not made of whole clusters of " +
                                                 text(cluster)};
  uint32_t limit = function.nonPortableCluster ? DeviceLimits::maxClusterSize : kPortableCluster;
  if (cluster.count() > limit)
    return {CUDA_ERROR_INVALID_CLUSTER_SIZE,
            kernel + "a cluster of " + std::to_string(cluster.count()) + " blocks; at most " +
                std::to_string(limit) + " are allowed"};
  return {};
}

/// Attributes that matter or may be ignored; others could change what a program means.
Refusal readAttributes(const CUlaunchConfig &config, girih::emu::LaunchConfig &launch) {
  if (config.numAttrs && !config.attrs)
    return {CUDA_ERROR_INVALID_VALUE, "attrs is null"};
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute &attribute = config.attrs[i];
    switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      launch.cluster = Dim3{attribute.value.clusterDim.x, attribute.value.clusterDim.y,
                            attribute.value.clusterDim.z};
      break;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      launch.cooperative = attribute.value.cooperative != 0;
      break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      launch.programmatic = attribute.value.programmaticStreamSerializationAllowed != 0;
      break;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      break;
    default:
      return {CUDA_ERROR_NOT_SUPPORTED, "launch attribute " + std::to_string(attribute.id) +
                                            " is not modelled by the emulated device"};
    }
  }
  return {};
}

/// The packed parameters: from one pointer each, or from the buffer that `extra` names.
Refusal packParameters(const girih::emu::FunctionAttributes &facts, void **parameters, void **extra,
                       std::vector<uint8_t> &packed) {
  packed.assign(facts.paramBytes, 0);
  std::string kernel = "kernel " + facts.name + ": ";
  if (parameters && extra)
    return {CUDA_ERROR_INVALID_VALUE, kernel + "kernelParams and extra are both given"};
  if (extra) {
    const void *buffer = nullptr;
    size_t size = 0;
    for (; reinterpret_cast<uintptr_t>(*extra) != launchParamEnd; extra += 2) {
      if (reinterpret_cast<uintptr_t>(*extra) == launchParamBufferPointer)
        buffer = extra[1];
      else if (reinterpret_cast<uintptr_t>(*extra) == launchParamBufferSize)
        size = *static_cast<const size_t *>(extra[1]);
      else
        return {CUDA_ERROR_INVALID_VALUE, kernel + "extra holds an unknown entry"};
    }
    // A buffer may lack the padding after the last parameter.
    size_t needed =
        facts.params.empty() ? 0 : facts.params.back().offset + facts.params.back().size;
    if (!buffer || size < needed)
      return {CUDA_ERROR_INVALID_VALUE, kernel + "the parameter buffer has " +
                                            std::to_string(size) + " bytes, the kernel takes " +
                                            std::to_string(needed)};
    std::memcpy(packed.data(), buffer, std::min<size_t>(size, packed.size()));
    return {};
  }
  for (size_t i = 0; i < facts.params.size(); ++i) {
    if (!parameters || !parameters[i])
      return {CUDA_ERROR_INVALID_VALUE, kernel + "there is no value for parameter " +
                                            std::to_string(i) + " of " +
                                            std::to_string(facts.params.size())};
    std::memcpy(packed.data() + facts.params[i].offset, parameters[i], facts.params[i].size);
  }
  return {};
}

} // namespace

/// A launch as the queue holds it, or a graph.
struct girih::cuda::QueuedLaunch {
  std::shared_ptr<girih::emu::Module> module; // keeps `function`
  const girih::emu::Function *function;
  girih::emu::LaunchConfig config;
  std::vector<uint8_t> parameters;
  StreamPtr stream;
};

namespace {

using Launch = girih::cuda::QueuedLaunch;

const char *outcomeText(girih::emu::Outcome outcome) {
  switch (outcome) {
  case girih::emu::Outcome::Faulted:
    return "the kernel was stopped by a fault";
  case girih::emu::Outcome::Deadlock:
    return "no thread of the kernel could go on";
  default:
    return "the kernel ended";
  }
}

void report(const Launch &launch, const girih::emu::LaunchResult &result) {
  std::string seed = std::to_string(launch.config.options.seed);
  std::string findings = result.render(), json;
  for (const girih::emu::Finding &finding : result.findings)
    json += (json.empty() ? "" : ",") + finding.json();
  State::get().fail(CUDA_ERROR_LAUNCH_FAILED,
                    "kernel " + launch.function->attributes().name + " on the emulated device: " +
                        (findings.empty() ? outcomeText(result.outcome) : findings) +
                        "\n(GIRIH_SEED=" + seed + " repeats this run)",
                    "[" + json + "]");
}

std::optional<girih::emu::LaunchId> start(const Launch &launch, WorkQueue::Ticket ticket,
                                          std::vector<girih::emu::LaunchId> after) {
  State &state = State::get();
  if (!state.beginLaunch(ticket)) {
    state.noteCancelled(*launch.stream);
    return std::nullopt;
  }
  girih::emu::LaunchConfig config = launch.config;
  config.params = launch.parameters.data();
  config.paramBytes = launch.parameters.size();
  config.options.cancel = &state.cancelFlag();
  return state.device().enqueue(*launch.function, config, std::move(after));
}

bool finish(const Launch &launch, const girih::emu::LaunchResult &result) {
  State &state = State::get();
  state.noteStats(result.stats);
  if (!result.printed.empty()) {
    // The kernel's printf.
    std::fputs(result.printed.c_str(), stdout);
    std::fflush(stdout);
  }
  if (result.outcome == girih::emu::Outcome::Cancelled) {
    state.addReport("kernel " + launch.function->attributes().name + ": " + result.render());
    state.noteCancelled(*launch.stream);
    return true;
  }
  if (result.clean())
    return true;
  report(launch, result);
  return false;
}

/// Gives a launch to its stream.
void enqueue(std::shared_ptr<Launch> launch) {
  State &state = State::get();
  launch->config.options = state.optionsForLaunch();
  StreamPtr stream = launch->stream;
  state.enqueueLaunch(
      stream,
      [launch](WorkQueue::Ticket ticket, std::vector<girih::emu::LaunchId> after) {
        return start(*launch, ticket, std::move(after));
      },
      [launch](girih::emu::LaunchResult result) { return finish(*launch, result); });
}

/// A live graph or executable of one, or null.
template <typename Set, typename Handle> Handle alive(const Set &set, Handle handle) {
  std::lock_guard lock(State::get().mutex);
  return set.count(handle) ? handle : nullptr;
}

std::string handleText(const void *handle) { return hex(reinterpret_cast<uintptr_t>(handle)); }

/// A cooperative grid must be able to be resident as a whole.
Refusal checkCooperative(const CUfunc_st &function, const girih::emu::LaunchConfig &config) {
  if (!config.cooperative)
    return {};
  const uint64_t size = config.cluster ? config.cluster->count() : 1;
  const uint64_t room =
      State::get()
          .device()
          .occupancy(*function.function, static_cast<uint32_t>(config.block.count()),
                     config.dynamicSharedBytes, static_cast<uint32_t>(size))
          .clusters *
      size;
  if (config.grid.count() <= room)
    return {};
  return {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
          "kernel " + function.attributes().name + ": a cooperative launch of " +
              std::to_string(config.grid.count()) + " blocks, of which " + std::to_string(room) +
              " can be resident at once"};
}

} // namespace

namespace girih::cuda {

GIRIH_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction handle,
                                       void **parameters, void **extra) {
  GIRIH_REQUIRE_CONTEXT();
  if (!config)
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, "config is null");
  State &state = State::get();
  GIRIH_FIND_ANY_STREAM(stream, config->hStream);

  auto launch = std::make_shared<Launch>();
  launch->stream = stream;
  Dim3 grid{config->gridDimX, config->gridDimY, config->gridDimZ};
  Dim3 block{config->blockDimX, config->blockDimY, config->blockDimZ};
  launch->config.grid = grid;
  launch->config.block = block;
  launch->config.dynamicSharedBytes = config->sharedMemBytes;
  Refusal refusal = readAttributes(*config, launch->config);
  {
    std::lock_guard lock(state.mutex);
    auto found = state.functions.find(handle);
    if (found == state.functions.end())
      GIRIH_REFUSE(CUDA_ERROR_INVALID_HANDLE,
                   hex(reinterpret_cast<uintptr_t>(handle)) + " is no function");
    const CUfunc_st &function = *found->second;
    if (!refusal)
      refusal = checkShape(function, grid, block, config->sharedMemBytes);
    if (!refusal)
      refusal = checkCluster(function, grid, launch->config.cluster);
    if (!refusal)
      refusal = checkCooperative(function, launch->config);
    if (!refusal)
      refusal = packParameters(function.attributes(), parameters, extra, launch->parameters);
    launch->module = function.module;
    launch->function = function.function;
  }
  if (refusal)
    GIRIH_REFUSE(refusal.code, refusal.reason);

  if (stream->capture)
    stream->capture->launches.push_back(launch);
  else
    enqueue(std::move(launch));
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                                     unsigned gridZ, unsigned blockX, unsigned blockY,
                                     unsigned blockZ, unsigned sharedBytes, CUstream stream,
                                     void **parameters, void **extra) {
  CUlaunchConfig config{gridX,  gridY,       gridZ,  blockX,  blockY,
                        blockZ, sharedBytes, stream, nullptr, 0};
  return cuLaunchKernelEx(&config, function, parameters, extra);
}

#define GIRIH_REQUIRE_GRAPH(set, handle)                                                           \
  if (!alive(State::get().set, handle))                                                            \
  GIRIH_REFUSE(CUDA_ERROR_INVALID_HANDLE, handleText(handle) + " is no graph, or is destroyed")

GIRIH_EXPORT CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_FIND_STREAM(stream, handle);
  if (reinterpret_cast<uintptr_t>(handle) <= streamLegacy)
    GIRIH_REFUSE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the default stream cannot capture");
  stream->capture = std::make_unique<CUgraph_st>();
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_POINTER(graph);
  GIRIH_FIND_ANY_STREAM(stream, handle);
  if (!stream->capture)
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, handleText(handle) + " is not capturing");
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  *graph = stream->capture.release();
  state.graphs.insert(*graph);
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_POINTER(status);
  GIRIH_FIND_ANY_STREAM(stream, handle);
  *status = stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph,
                                                  uint64_t) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_POINTER(executable);
  GIRIH_REQUIRE_GRAPH(graphs, graph);
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  *executable = reinterpret_cast<CUgraphExec>(new CUgraph_st(*graph));
  state.executables.insert(*executable);
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec executable, CUgraph graph,
                                           CUgraphExecUpdateResultInfo *result) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_POINTER(result);
  GIRIH_REQUIRE_GRAPH(executables, executable);
  GIRIH_REQUIRE_GRAPH(graphs, graph);
  auto &old = reinterpret_cast<CUgraph_st *>(executable)->launches;
  *result = {CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr, nullptr};
  if (old.size() != graph->launches.size())
    result->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (size_t i = 0; i < old.size() && result->result == CU_GRAPH_EXEC_UPDATE_SUCCESS; ++i)
    if (old[i]->function != graph->launches[i]->function)
      result->result = CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED;
  if (result->result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
    GIRIH_REFUSE(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the graphs have other kernels");
  old = graph->launches;
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuGraphLaunch(CUgraphExec executable, CUstream handle) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_GRAPH(executables, executable);
  GIRIH_FIND_STREAM(stream, handle);
  for (const auto &captured : reinterpret_cast<CUgraph_st *>(executable)->launches) {
    auto launch = std::make_shared<Launch>(*captured);
    launch->stream = stream;
    enqueue(std::move(launch));
  }
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  GIRIH_REQUIRE_INITIALISED();
  GIRIH_REQUIRE_GRAPH(graphs, graph);
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  state.graphs.erase(graph);
  delete graph;
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuGraphExecDestroy(CUgraphExec executable) {
  GIRIH_REQUIRE_INITIALISED();
  GIRIH_REQUIRE_GRAPH(executables, executable);
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  state.executables.erase(executable);
  delete reinterpret_cast<CUgraph_st *>(executable);
  return CUDA_SUCCESS;
}

} // namespace girih::cuda
