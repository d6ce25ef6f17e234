//===- Module.cpp - The extension girih._runtime
//-------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binds the runtime to Python. Importing it touches no device: the first array or launch does.
//
//===--------------------------------------------------------------------------------------------===//
#include "Array.h"
#include "Entry.h"
#include "Errors.h"
#include "Graph.h"
#include "Package.h"
#include "Program.h"
#include "Recipe.h"

#include <nanobind/stl/string.h>

NB_MODULE(_runtime, module) {
  namespace nb = nanobind;
  using namespace girih::python;
  module.doc() = "Device memory and launches; girih's users reach it through the package girih.";
  // Arrays in a script's global variables live until the process ends; that is no leak to report.
  nb::set_leak_warnings(false);
  nb::register_exception_translator(translate);
  bindArray(module);
  bindEntry(module);
  bindGraph(module);
  bindProgram(module);
  bindPackage(module);
  module.def("synchronize", &synchronize, nb::arg("stream") = 0,
             "Waits for every launch on a stream. Raises girih.DeviceError if one of them failed.");
  module.def(
      "stream_handle",
      [](nb::handle stream) { return LaunchOptions({nullptr, stream.ptr()}).stream; },
      nb::arg("stream").none(),
      "The handle of a stream that is given as a number or an object; 0 for None. Raises "
      "girih.LaunchError.");
  module.def(
      "device_name", [] { return rt::Device::get().driver().deviceName(); },
      "The name of the device that runs the kernels.");
  module.def(
      "is_emulated", [] { return rt::Device::get().driver().isEmulated(); },
      "Whether the emulated device runs the kernels.");
  module.def(
      "set_option",
      [](const std::string &option, const std::string &value) {
        rt::Device::get().driver().setOption(option, value);
      },
      nb::arg("option"), nb::arg("value"),
      "Sets an option of the emulated device for the launches that follow.");
  module.def(
      "last_launch", [] { return rt::Device::get().driver().lastLaunchJson(); },
      "What the emulated device counted in the last launch, as JSON; {} for a GPU.");
  module.def(
      "multiprocessor_count", [] { return rt::Device::get().multiprocessorCount(); },
      "How many multiprocessors the device has.");
}
