//===- Graph.cpp - girih._runtime.Graph: launches captured and replayed
//---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "Graph.h"

#include "Array.h"
#include "Recipe.h"

#include "girih/Runtime/Graph.h"

#include <vector>

namespace girih::python {
namespace {

struct PythonGraph {
  rt::Graph graph{rt::Device::get()};
  std::vector<nb::object> kept, keptBefore; ///< what the launches use; of the last capture
};

thread_local PythonGraph *capturing = nullptr;

void begin(PythonGraph &self) {
  self.graph.begin();
  self.keptBefore = std::move(self.kept);
  self.kept.clear();
  capturing = &self;
}

void end(PythonGraph &self) {
  capturing = nullptr;
  try {
    self.graph.end();
    self.keptBefore.clear();
  } catch (...) {
    self.kept = std::move(self.keptBefore); // the graph is what it was
    throw;
  }
}

void abandon(PythonGraph &self) {
  capturing = nullptr;
  self.graph.abandon();
  self.kept = std::move(self.keptBefore);
}

void launch(PythonGraph &self, nb::handle stream) {
  LaunchOptions options({nullptr, stream.ptr()});
  rt::Wait outcome;
  {
    nb::gil_scoped_release released;
    outcome = self.graph.launch(reinterpret_cast<cuda::CUstream>(options.stream), signalArrived);
  }
  if (outcome == rt::Wait::Stopped)
    nb::raise_python_error();
}

} // namespace

uintptr_t captureStream() {
  return capturing ? reinterpret_cast<uintptr_t>(capturing->graph.stream()) : 0;
}

void keepForGraph(nb::object object) { capturing->kept.push_back(std::move(object)); }

void bindGraph(nb::module_ &module) {
  nb::class_<PythonGraph>(module, "Graph", "Launches, captured once and replayed.")
      .def(nb::init<>())
      .def("begin", &begin, "From here on this thread's launches are captured.")
      .def("end", &end, "Makes the graph, or gives it new arguments.")
      .def("abandon", &abandon, "Ends a capture without effect.")
      .def("launch", &launch, nb::arg("stream").none(), "Replays the launches.");
  module.def(
      "is_capturing", [] { return captureStream() != 0; },
      "Whether this thread's launches are captured.");
}

} // namespace girih::python
