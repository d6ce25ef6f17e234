//===- Errors.cpp - C++ exceptions as Python's
//---------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "Errors.h"

#include "girih/Runtime/Error.h"

#include <nanobind/stl/string.h>

namespace girih::python {

namespace nb = nanobind;
namespace rt = girih::runtime;

void translate(const std::exception_ptr &error, void *) {
  auto raise = [](const char *type, const char *message) {
    nb::object errors = nb::module_::import_("girih.errors");
    PyErr_SetString(errors.attr(type).ptr(), message);
  };
  try {
    std::rethrow_exception(error);
  } catch (const rt::LaunchError &launch) {
    raise("LaunchError", launch.what());
  } catch (const rt::DeviceError &device) {
    // The findings, one dict each, for programs; the text is for people.
    nb::object exception = nb::module_::import_("girih.errors").attr("DeviceError")(device.what());
    exception.attr("findings") = nb::module_::import_("json").attr("loads")(device.findings());
    PyErr_SetObject(exception.type().ptr(), exception.ptr());
  } catch (const rt::Error &other) {
    raise("GirihError", other.what());
  }
}

} // namespace girih::python
