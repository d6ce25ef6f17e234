//===- Program.cpp - girih._runtime.Program: a compiled kernel, ready to be called
//---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "Program.h"

#include "Array.h"
#include "Graph.h"
#include "Recipe.h"

#include "girih/Runtime/Program.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace girih::python {
namespace {

using SourceTuple = std::tuple<std::string, std::string, int64_t>;

std::string typeName(nb::handle object) { return nb::inst_name(object).c_str(); }

/// Which argument a message is about: "b", or "argument 5" where the kernel has no such parameter.
std::string argumentName(const rt::Manifest &manifest, size_t index) {
  return index < manifest.parameters.size() ? manifest.parameters[index].name
                                            : "argument " + std::to_string(index);
}

rt::Argument toArgument(nb::handle object, const rt::Manifest &manifest, size_t index) {
  if (nb::isinstance<Array>(object)) {
    const Array &array = nb::cast<const Array &>(object);
    if (array.readOnly && index < manifest.parameters.size() &&
        manifest.parameters[index].access != rt::Access::In)
      throw rt::LaunchError(manifest.parameters[index].name +
                            ": the kernel writes it, and the array is read-only");
    return array.view;
  }
  // Numbers of other libraries (NumPy's scalars) say so by __index__ or __float__.
  if (PyIndex_Check(object.ptr())) {
    nb::object integer = nb::steal(PyNumber_Index(object.ptr()));
    if (!integer.is_valid())
      nb::raise_python_error();
    return integerArgument(integer, manifest, index);
  }
  if (PyFloat_Check(object.ptr()) || nb::hasattr(object, "__float__")) {
    double value = PyFloat_AsDouble(object.ptr());
    if (value == -1.0 && PyErr_Occurred())
      nb::raise_python_error();
    return value;
  }
  throw rt::LaunchError(argumentName(manifest, index) +
                        ": expected a girih.Array or a number, found an object of type " +
                        typeName(nb::handle(object)));
}

void launch(rt::Program &program, nb::sequence objects, nb::handle stream, nb::handle ctas) {
  const rt::Manifest &manifest = program.manifest();
  size_t count = nb::len(objects);
  program.checkCount(count);
  std::unique_ptr<rt::Call> call = program.borrow();
  std::vector<nb::object> kept; // the arrays' memory, while the launch runs
  for (size_t i = 0; i < count; ++i) {
    kept.push_back(nb::object(objects[i]));
    std::visit([&](const auto &value) { call->set(i, value); },
               toArgument(kept.back(), manifest, i));
  }
  launchCall(*call, LaunchOptions({ctas.ptr(), stream.ptr()}));
  if (captureStream()) {
    keepForGraph(nb::find(program));
    for (const nb::object &object : kept)
      keepForGraph(object);
  }
  program.giveBack(std::move(call));
}

const char *accessName(rt::Access access) {
  switch (access) {
  case rt::Access::In:
    return "in";
  case rt::Access::Out:
    return "out";
  case rt::Access::InOut:
    return "inout";
  }
  return "";
}

nb::list parameters(const rt::Program &program) {
  nb::list list;
  for (const rt::Parameter &parameter : program.manifest().parameters) {
    nb::dict entry;
    entry["name"] = parameter.name;
    entry["kind"] = parameter.isArray ? "array" : "scalar";
    entry["dtype"] = rt::name(parameter.dtype);
    if (parameter.isArray) {
      entry["rank"] = parameter.rank;
      entry["contiguous"] = parameter.contiguous;
      entry["access"] = accessName(parameter.access);
    }
    list.append(entry);
  }
  return list;
}

nb::tuple triple(const std::array<uint32_t, 3> &extents) {
  return nb::make_tuple(extents[0], extents[1], extents[2]);
}

nb::list kernels(const rt::Program &program) {
  nb::list list;
  for (const rt::Kernel &kernel : program.manifest().kernels) {
    nb::dict entry;
    entry["name"] = kernel.name;
    entry["block"] = triple(kernel.block);
    entry["cluster"] = triple(kernel.cluster);
    entry["registers"] = kernel.registers;
    entry["spill_bytes"] = kernel.spillBytes;
    entry["stack_bytes"] = kernel.stackBytes;
    entry["shared_bytes"] = kernel.dynamicSharedBytes;
    list.append(entry);
  }
  return list;
}

} // namespace

int64_t integerArgument(nb::handle integer, const rt::Manifest &manifest, size_t index) {
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
  if (overflow != 0)
    throw rt::LaunchError(argumentName(manifest, index) + ": the integer " +
                          nb::str(integer).c_str() + " does not fit 64 bits");
  return value;
}

void printText(const std::string &text) {
  nb::gil_scoped_acquire gil;
  nb::module_::import_("builtins").attr("print")(text, nb::arg("end") = "");
}

void bindProgram(nb::module_ &module) {
  // The compiler's client adds what it knows about the compilation.
  nb::class_<rt::Program>(module, "Program", nb::dynamic_attr(),
                          "A kernel package: an image with its manifest. Nothing is loaded before "
                          "the first launch.")
      .def(
          "__init__",
          [](rt::Program *self, nb::bytes image, const std::vector<SourceTuple> &sources) {
            std::vector<rt::Source> places;
            for (const auto &[name, file, line] : sources)
              places.push_back({name, file, line});
            new (self) rt::Program({static_cast<const char *>(image.data()), image.size()}, places);
          },
          nb::arg("image"), nb::arg("sources") = std::vector<SourceTuple>(),
          "Sources are (function name, file, first line): where the kernel's functions stand "
          "today.")
      .def("launch", &launch, nb::arg("args"), nb::arg("stream") = nb::none(),
           nb::arg("ctas") = nb::none(),
           "Runs the kernel on girih.Arrays and numbers, in the order of the parameters, on a "
           "stream (a number or an object that knows one) and, if it is persistent, with a number "
           "of CTAs. On the emulated device it returns when the kernel has run, on a GPU at once.")
      .def_prop_ro(
          "name", [](const rt::Program &program) { return program.manifest().name; },
          "The kernel's name.")
      .def_prop_ro(
          "image",
          [](const rt::Program &program) {
            return nb::bytes(program.bytes().data(), program.bytes().size());
          },
          "The image, with the sources in its location table.")
      .def_prop_ro("parameters", &parameters,
                   "One dict per parameter: name, kind, dtype, and for arrays rank, contiguous, "
                   "access.")
      .def_prop_ro("kernels", &kernels,
                   "One dict per device kernel: name, block, cluster, registers, spill_bytes, "
                   "stack_bytes, shared_bytes.")
      .def_prop_ro(
          "info", [](const rt::Program &program) { return nb::object(kernels(program)[0]); },
          "The dict of the first device kernel.");
}

} // namespace girih::python
