//===- Graph.h - girih._runtime.Graph: launches captured and replayed
//-----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_PYTHON_GRAPH_H
#define GIRIH_PYTHON_GRAPH_H

#include <nanobind/nanobind.h>

#include <cstdint>

namespace girih::python {

/// The stream to which this thread's launches go while it captures a graph, else 0.
uintptr_t captureStream();

/// Keeps an object that a captured launch uses as long as the graph does.
void keepForGraph(nanobind::object object);

void bindGraph(nanobind::module_ &module);

} // namespace girih::python

#endif // GIRIH_PYTHON_GRAPH_H
