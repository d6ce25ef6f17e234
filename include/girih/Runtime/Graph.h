//===- Graph.h - A sequence of launches, captured once and replayed
//------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CUDA graph of launches: replaying it costs one call of the driver. To run the same sequence on
// other arrays it is captured again; the graph then takes over the new arguments.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_RUNTIME_GRAPH_H
#define GIRIH_RUNTIME_GRAPH_H

#include "girih/Runtime/Device.h"

namespace girih::runtime {

class GIRIH_RUNTIME_API Graph {
public:
  /// Throws DeviceError if the driver has no graphs.
  explicit Graph(Device &device);
  ~Graph();
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;

  /// The stream to launch on between begin and end. Nothing runs then; a kernel that needs memory
  /// of its own is refused (LaunchError).
  cuda::CUstream stream() const { return captureStream; }
  /// Throws Error while another capture of the device is under way.
  void begin();
  /// Makes the graph of what was captured. If there is one, it takes over grids and arguments;
  /// throws LaunchError if the kernels are not the same ones in the same order.
  void end();
  /// Ends a capture and forgets what it captured.
  void abandon() noexcept;

  /// Replays the launches; waits where the device is emulated, as a launch does. Throws Error if
  /// nothing has been captured.
  Wait launch(cuda::CUstream stream = nullptr, const Interrupted &interrupted = {});

private:
  Device &device;
  cuda::CUstream captureStream = nullptr;
  cuda::CUgraphExec executable = nullptr;
};

} // namespace girih::runtime

#endif // GIRIH_RUNTIME_GRAPH_H
