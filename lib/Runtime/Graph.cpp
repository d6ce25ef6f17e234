//===- Graph.cpp - A sequence of launches, captured once and replayed
//----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Runtime/Graph.h"

namespace girih::runtime {
namespace {

constexpr unsigned nonBlocking = 1; ///< CU_STREAM_NON_BLOCKING

bool hasGraphs(const Driver &driver) {
#define GIRIH_HAS(function) &&driver.function
  return true GIRIH_CUDA_GRAPH_FUNCTIONS(GIRIH_HAS);
#undef GIRIH_HAS
}

} // namespace

Graph::Graph(Device &device) : device(device) {
  const Driver &driver = device.driver();
  if (!hasGraphs(driver))
    throw DeviceError("the driver of " + driver.deviceName() + " has no graphs");
  device.enter();
  driver.check(driver.cuStreamCreate(&captureStream, nonBlocking),
               "the graph's stream cannot be created");
}

Graph::~Graph() {
  abandon();
  const Driver &driver = device.driver();
  // What fails here is a consequence of an earlier error that has been reported.
  try {
    device.enter();
    if (executable)
      driver.cuGraphExecDestroy(executable);
    driver.cuStreamDestroy_v2(captureStream);
  } catch (const Error &) {
  }
}

void Graph::begin() {
  device.enter();
  cuda::CUstream none = nullptr;
  if (!device.capturingOn.compare_exchange_strong(none, captureStream))
    throw Error("launches are being captured already: one graph at a time");
  const Driver &driver = device.driver();
  // Other threads and libraries may do what a capture forbids, such as allocating memory.
  cuda::CUresult result =
      driver.cuStreamBeginCapture_v2(captureStream, cuda::CU_STREAM_CAPTURE_MODE_RELAXED);
  if (result != cuda::CUDA_SUCCESS)
    device.capturingOn = nullptr;
  driver.check(result, "the capture cannot begin");
}

void Graph::end() {
  const Driver &driver = device.driver();
  device.enter();
  cuda::CUgraph graph = nullptr;
  cuda::CUresult result = driver.cuStreamEndCapture(captureStream, &graph);
  device.capturingOn = nullptr;
  driver.check(result, "the capture failed");
  if (!executable) {
    result = driver.cuGraphInstantiateWithFlags(&executable, graph, 0);
    driver.cuGraphDestroy(graph);
    return driver.check(result, "the graph cannot be made");
  }
  cuda::CUgraphExecUpdateResultInfo info = {};
  result = driver.cuGraphExecUpdate_v2(executable, graph, &info);
  driver.cuGraphDestroy(graph);
  if (result == cuda::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
    throw LaunchError(
        "the graph holds other launches than were captured now: the same kernels in the "
        "same order can take new arguments, others need a new graph");
  driver.check(result, "the graph cannot take new arguments");
}

void Graph::abandon() noexcept {
  if (device.capturingOn.load() != captureStream)
    return;
  cuda::CUgraph graph = nullptr;
  const Driver &driver = device.driver();
  if (driver.cuStreamEndCapture(captureStream, &graph) == cuda::CUDA_SUCCESS)
    driver.cuGraphDestroy(graph);
  device.capturingOn = nullptr;
}

Wait Graph::launch(cuda::CUstream stream, const Interrupted &interrupted) {
  if (!executable)
    throw Error("the graph is empty: capture launches first");
  device.announce();
  Device::Turn turn = device.takeTurn(interrupted);
  if (!device.isMine(turn))
    return Wait::Stopped;
  device.enter();
  device.check(device.driver().cuGraphLaunch(executable, stream), "the graph cannot be launched");
  return device.driver().isEmulated() ? device.synchronize(stream, interrupted) : Wait::Done;
}

} // namespace girih::runtime
