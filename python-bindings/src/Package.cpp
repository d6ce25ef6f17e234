//===- Package.cpp - girih._runtime.Package: kernels from a file
//-----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call picks a program here; Python launches it like any other (girih/packages/load.py).
//
//===--------------------------------------------------------------------------------------------===//
#include "Package.h"

#include "Array.h"

#include "girih/Runtime/PackageText.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace girih::python {
namespace {

using SourceTuple = std::tuple<std::string, std::string, int64_t>;

/// An array as girih.runtime.array.Description has it: dtype, shape, strides, address.
rt::ArrayArgument fromDescription(nb::handle description) {
  rt::ArrayArgument array;
  std::string dtype = nb::cast<std::string>(description.attr("dtype").attr("name"));
  array.dtype = *rt::parseDType(dtype);
  array.shape = nb::cast<std::vector<int64_t>>(description.attr("shape"));
  array.strides = nb::cast<std::vector<int64_t>>(description.attr("strides"));
  array.address = nb::cast<uint64_t>(description.attr("address"));
  return array;
}

/// What matters of an argument for the choice of a variant: the launch looks at the rest.
rt::Argument toArgument(nb::handle object) {
  if (object.is_none())
    return rt::Absent{};
  if (nb::isinstance<Array>(object))
    return nb::cast<const Array &>(object).view;
  if (nb::hasattr(object, "strides"))
    return fromDescription(object);
  if (PyIndex_Check(object.ptr())) {
    nb::object integer = nb::steal(PyNumber_Index(object.ptr()));
    if (!integer.is_valid())
      nb::raise_python_error();
    int overflow = 0;
    int64_t value = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
    if (overflow == 0)
      return value;
    throw rt::LaunchError("the integer " + std::string(nb::str(integer).c_str()) +
                          " does not fit 64 bits");
  }
  double value = PyFloat_AsDouble(object.ptr());
  if (value == -1.0 && PyErr_Occurred())
    nb::raise_python_error();
  return value;
}

rt::Program &choose(rt::PackagedKernel &kernel, nb::sequence objects) {
  std::vector<rt::Argument> arguments;
  for (nb::handle object : objects)
    arguments.push_back(toArgument(object));
  return *kernel.program(kernel.choose(rt::Device::get(), arguments));
}

nb::list parameters(const rt::PackagedKernel &kernel) {
  nb::list list;
  for (const rt::DeclaredParameter &parameter : kernel.entry().parameters) {
    nb::dict entry;
    entry["name"] = parameter.name;
    entry["kind"] = parameter.isArray ? "array" : "scalar";
    entry["optional"] = parameter.optional;
    if (parameter.isArray) {
      nb::list dims;
      for (const rt::DeclaredDim &dim : parameter.dims)
        dims.append(dim.multiple == 1 ? dim.name : dim.name + "%" + std::to_string(dim.multiple));
      entry["dims"] = nb::tuple(dims);
    } else {
      entry["dtype"] = rt::name(parameter.dtype);
    }
    list.append(entry);
  }
  return list;
}

nb::list variants(rt::PackagedKernel &kernel) {
  nb::list list;
  for (size_t i = 0; i < kernel.entry().variants.size(); ++i) {
    const rt::Variant &variant = kernel.entry().variants[i];
    nb::dict entry, constants;
    nb::list conditions;
    for (const auto &[name, value] : variant.constants)
      constants[name.c_str()] = value;
    for (const rt::Condition &condition : variant.when)
      conditions.append(condition.text());
    entry["arch"] = variant.arch;
    entry["constants"] = constants;
    entry["when"] = nb::tuple(conditions);
    list.append(entry);
  }
  return list;
}

nb::list kernels(nb::handle self) {
  nb::list list;
  for (const std::unique_ptr<rt::PackagedKernel> &kernel :
       nb::cast<const rt::Package &>(self).kernels())
    list.append(nb::cast(kernel.get(), nb::rv_policy::reference_internal, self));
  return list;
}

nb::bytes write(const std::string &index,
                const std::vector<std::tuple<nb::bytes, std::vector<SourceTuple>>> &images) {
  std::vector<rt::ImageToPack> packed;
  for (const auto &[bytes, sources] : images) {
    packed.push_back({{static_cast<const char *>(bytes.data()), bytes.size()}, {}});
    for (const auto &[name, file, line] : sources)
      packed.back().sources.push_back({name, file, line});
  }
  std::string file = rt::Package::write(index, packed);
  return nb::bytes(file.data(), file.size());
}

} // namespace

void bindPackage(nb::module_ &module) {
  nb::class_<rt::PackagedKernel>(module, "PackagedKernel", "A kernel of a package.")
      .def_prop_ro("name", [](const rt::PackagedKernel &kernel) { return kernel.entry().name; })
      .def_prop_ro("summary",
                   [](const rt::PackagedKernel &kernel) { return kernel.entry().summary; })
      .def_prop_ro("parameters", &parameters,
                   "One dict per parameter: name, kind, optional, and dims or dtype.")
      .def_prop_ro("variants", &variants, "One dict per variant: arch, constants, when.")
      .def("choose", &choose, nb::arg("args"), nb::rv_policy::reference_internal,
           "The program of the first variant that takes the arguments: girih.Arrays, descriptions "
           "of arrays, numbers, None for what is absent.");
  nb::class_<rt::Package>(module, "Package", "The kernels of a package file.")
      .def(
          "__init__",
          [](rt::Package *self, nb::bytes data) {
            new (self) rt::Package({static_cast<const char *>(data.data()), data.size()});
          },
          nb::arg("data"))
      .def_static("load", &rt::Package::load, nb::arg("path"))
      .def_prop_ro("writer", &rt::Package::writer)
      .def_prop_ro("kernels", &kernels)
      .def("header", &rt::packageHeader, nb::arg("prefix"),
           "A C header with a typed function for each kernel, called PREFIX_KERNEL.");
  module.def("write_package", &write, nb::arg("index"), nb::arg("images"),
             "The bytes of a package with an index (JSON) and images, each with its sources.");
}

} // namespace girih::python
