// Python adds a frame for every Python function that an exception leaves, and none for a C++ one.
// So what stands between the user's call and our Python code is C++, and drops the frames inside.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Entry.h"

namespace nb = nanobind;

namespace girih::python {
namespace {

struct Entry {};

/// Calls a method; girih's own errors lose the frames, cause and context that lie inside it.
nb::object callWithoutFrames(nb::handle self, const char *method, const nb::args &args,
                             const nb::kwargs &kwargs) {
  try {
    return self.attr(method)(*args, **kwargs);
  } catch (nb::python_error &error) {
    nb::object ours = nb::module_::import_("girih.errors").attr("GirihError");
    if (!error.matches(ours))
      throw;
    nb::object value = nb::borrow(error.value());
    PyException_SetTraceback(value.ptr(), Py_None);
    PyException_SetCause(value.ptr(), nullptr);
    PyException_SetContext(value.ptr(), nullptr);
    PyErr_SetObject(value.type().ptr(), value.ptr());
    throw nb::python_error();
  }
}

} // namespace

void bindEntry(nb::module_ &module) {
  auto bind = [](const char *method) {
    return [method](nb::handle self, const nb::args &args, const nb::kwargs &kwargs) {
      return callWithoutFrames(self, method, args, kwargs);
    };
  };
  nb::class_<Entry>(module, "Entry", nb::dynamic_attr(),
                    "What a kernel is called through: errors show the user's frames only.")
      .def(nb::init<>())
      .def("__call__", bind("_call"), "Runs the kernel and returns when its outputs are ready.")
      .def("compile", bind("_compile"),
           "Compiles for a call with these arguments; returns the program.")
      .def("inspect", bind("_inspect"),
           "Every stage of the compilation for a call with these arguments, by name.")
      .def("emit", bind("_emit"), "The MLIR text that a call with these arguments compiles.");
}

} // namespace girih::python
