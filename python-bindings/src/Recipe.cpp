//===- Recipe.cpp - How the arguments of one signature reach the driver
//--------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "Recipe.h"

#include "Array.h"
#include "DLPack.h"
#include "Graph.h"
#include "Program.h"

#include <nanobind/stl/string.h>

#include <algorithm>

namespace girih::python {
namespace {

int visitAll(const std::vector<nb::object> &objects, visitproc visit, void *arg) {
  for (const nb::object &object : objects)
    Py_VISIT(object.ptr());
  return 0;
}

/// Whether `array` is one and not of a type that derives from it.
const Array *asArray(PyObject *object) {
  static const PyTypeObject *const type = reinterpret_cast<PyTypeObject *>(nb::type<Array>().ptr());
  return Py_TYPE(object) == type ? nb::inst_ptr<Array>(object) : nullptr;
}

bool stepsEvenly(const rt::ArrayArgument &view, int contiguous) {
  constexpr int64_t unit = rt::alignment;
  int64_t size = rt::sizeInBytes(view.dtype);
  if (view.address % unit != 0)
    return false;
  for (size_t dim = 0; dim < view.shape.size(); ++dim)
    if (static_cast<int>(dim) != contiguous && view.shape[dim] != 1 &&
        view.strides[dim] % unit * size % unit != 0)
      return false;
  return true;
}

/// What Description.promises() of girih/runtime/array.py says: the dimension whose elements are
/// neighbours, or -1, and whether the address and all other strides are multiples of 16 bytes.
std::pair<int, bool> promises(const rt::ArrayArgument &view) {
  int rank = view.shape.size(), best = -1;
  int64_t bestSteps = 0;
  bool bestAligned = false;
  for (int dim = 0; dim < rank; ++dim) {
    if (view.shape[dim] == 0)
      return {rank - 1, true};
    // A stride along a single element means nothing; one of 0 is a broadcast.
    int64_t steps = view.shape[dim] == 1 ? 0 : view.strides[dim] == 0 ? -1 : view.strides[dim];
    if (steps != 0 && steps != 1)
      continue;
    bool aligned = stepsEvenly(view, dim);
    // The last one wins, as in NumPy; but first one that is aligned, then one that has steps.
    if (best < 0 || std::make_tuple(aligned, steps) >= std::make_tuple(bestAligned, bestSteps)) {
      best = dim;
      bestSteps = steps;
      bestAligned = aligned;
    }
  }
  // An extent of 0 further on was seen above, as every dimension was.
  return {best, best < 0 ? stepsEvenly(view, -1) : bestAligned};
}

} // namespace

// ---- Options ------------------------------------------------------------------------------------

bool GivenOptions::take(PyObject *name, PyObject *value) {
  static PyObject *const ctasName = PyUnicode_InternFromString("ctas"),
                         *const streamName = PyUnicode_InternFromString("stream");
  if (name == ctasName || PyUnicode_Compare(name, ctasName) == 0)
    ctas = value;
  else if (name == streamName || PyUnicode_Compare(name, streamName) == 0)
    stream = value;
  else
    return false;
  return true;
}

LaunchOptions::LaunchOptions(const GivenOptions &given) {
  auto integer = [](nb::handle object, const char *what) {
    int64_t value = PyLong_Check(object.ptr()) ? PyLong_AsLongLong(object.ptr()) : -1;
    if (PyErr_Occurred())
      nb::raise_python_error();
    if (!PyLong_Check(object.ptr()) || value < 0)
      throw rt::LaunchError(std::string(what) + ", found " + nb::repr(object).c_str());
    return value;
  };
  if (given.ctas && given.ctas != Py_None) {
    ctas = integer(given.ctas, "ctas is a number of CTAs, at least 1");
    if (ctas == 0)
      throw rt::LaunchError("ctas is a number of CTAs, at least 1, found 0");
  }
  stream = captureStream();
  if (!given.stream || given.stream == Py_None)
    return;
  if (stream)
    throw rt::LaunchError("a launch that is captured into a graph takes no stream; the graph does");
  const char *what = "stream is a CUDA stream: a number, or an object with __cuda_stream__, "
                     "cuda_stream or ptr";
  nb::object found = nb::borrow(given.stream);
  if (!PyLong_Check(given.stream)) {
    if (nb::hasattr(found, "__cuda_stream__"))
      found = nb::object(found.attr("__cuda_stream__")()[1]); // (version, handle)
    else if (nb::hasattr(found, "cuda_stream"))
      found = found.attr("cuda_stream");
    else if (nb::hasattr(found, "ptr"))
      found = found.attr("ptr");
  }
  stream = integer(found, what);
}

// ---- Binder -------------------------------------------------------------------------------------

Binder::Binder(nb::sequence parameterNames, size_t positional, nb::sequence parameterDefaults,
               nb::handle none)
    : positional(positional) {
  for (nb::handle name : parameterNames)
    names.push_back(nb::borrow(name));
  for (nb::handle value : parameterDefaults)
    defaults.push_back(value.is(none) ? nb::object() : nb::borrow(value));
}

bool Binder::bind(PyObject *const *arguments, size_t count, PyObject *keywords, PyObject **bound,
                  GivenOptions *options) const {
  size_t parameters = names.size();
  if (count > positional || parameters > most)
    return false;
  std::copy(arguments, arguments + count, bound);
  std::fill(bound + count, bound + parameters, nullptr);
  size_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (size_t k = 0; k < named; ++k) {
    // Names in source code are interned, as the names of parameters are.
    PyObject *name = PyTuple_GET_ITEM(keywords, k);
    if (options && options->take(name, arguments[count + k]))
      continue;
    size_t index = count;
    while (index < parameters && names[index].ptr() != name)
      ++index;
    if (index == parameters || bound[index])
      return false;
    bound[index] = arguments[count + k];
  }
  for (size_t index = count; index < parameters; ++index) {
    if (!bound[index])
      bound[index] = defaults[index].ptr();
    if (!bound[index])
      return false;
  }
  return true;
}

int Binder::traverse(visitproc visit, void *arg) const { return visitAll(defaults, visit, arg); }

// ---- Constant -----------------------------------------------------------------------------------

Constant::Constant(nb::object given) : value(std::move(given)) {
  if (PyTuple_CheckExact(value.ptr()))
    for (nb::handle item : nb::borrow<nb::tuple>(value))
      items.emplace_back(nb::borrow(item));
  if (!PyFunction_Check(value.ptr()))
    return;
  code = nb::borrow(PyFunction_GET_CODE(value.ptr()));
  if (PyObject *given = PyFunction_GET_DEFAULTS(value.ptr()))
    defaults = nb::borrow(given);
  if (PyObject *closure = PyFunction_GET_CLOSURE(value.ptr()))
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(closure); ++i)
      contents.push_back(nb::borrow(PyCell_GET(PyTuple_GET_ITEM(closure, i))));
}

bool Constant::matches(PyObject *other) const {
  if (code.is_valid()) {
    // A lambda that is made anew for each call is the same with the same code and closure.
    if (!PyFunction_Check(other) || PyFunction_GET_CODE(other) != code.ptr() ||
        PyFunction_GET_DEFAULTS(other) != defaults.ptr() ||
        PyFunction_GET_GLOBALS(other) != PyFunction_GET_GLOBALS(value.ptr()))
      return false;
    PyObject *closure = PyFunction_GET_CLOSURE(other);
    size_t count = closure ? PyTuple_GET_SIZE(closure) : 0;
    if (count != contents.size())
      return false;
    for (size_t i = 0; i < count; ++i)
      if (PyCell_GET(PyTuple_GET_ITEM(closure, i)) != contents[i].ptr())
        return false;
    return true;
  }
  if (PyTuple_CheckExact(value.ptr())) {
    if (!PyTuple_CheckExact(other) ||
        PyTuple_GET_SIZE(other) != static_cast<Py_ssize_t>(items.size()))
      return false;
    for (size_t i = 0; i < items.size(); ++i)
      if (!items[i].matches(PyTuple_GET_ITEM(other, i)))
        return false;
    return true;
  }
  if (other == value.ptr())
    return true;
  // 1, 1.0 and True are equal in Python but not in a kernel.
  if (Py_TYPE(other) != Py_TYPE(value.ptr()) ||
      !(PyLong_CheckExact(other) || PyFloat_CheckExact(other) || PyUnicode_CheckExact(other)))
    return false;
  return PyObject_RichCompareBool(other, value.ptr(), Py_EQ) == 1;
}

int Constant::traverse(visitproc visit, void *arg) const {
  Py_VISIT(value.ptr());
  Py_VISIT(code.ptr());
  Py_VISIT(defaults.ptr());
  for (const Constant &item : items)
    if (int stop = item.traverse(visit, arg))
      return stop;
  return visitAll(contents, visit, arg);
}

// ---- Adopter ------------------------------------------------------------------------------------

/// What an object says by DLPack, without Python code of ours; none for other objects, for the
/// host's arrays and for producers older than DLPack 1.0.
nb::object Adopter::takeCapsule(PyObject *object) {
  static PyObject *const deviceName = PyUnicode_InternFromString("__dlpack_device__"),
                         *const name = PyUnicode_InternFromString("__dlpack__"),
                         *const keywords = Py_BuildValue("(ss)", "stream", "max_version"),
                         *const version = Py_BuildValue("(ii)", 1, 0);
  nb::object device = nb::steal(PyObject_CallMethodNoArgs(object, deviceName));
  if (!device.is_valid())
    nb::raise_python_error();
  int64_t type = nb::cast<int64_t>(device[0]);
  if (type != 2 && type != 13) // kDLCUDA, kDLCUDAManaged
    return {};
  findStream(object);
  // DLPack's name of the default stream is 1; -1 asks for no order, which a capture cannot express.
  nb::object stream = captureStream()  ? nb::cast(-1)
                      : options.stream ? nb::cast(options.stream)
                                       : nb::cast(1);
  PyObject *arguments[] = {object, stream.ptr(), version};
  nb::object capsule = nb::steal(
      PyObject_VectorcallMethod(name, arguments, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords));
  if (!capsule.is_valid())
    nb::raise_python_error();
  return nb::cast(fromDlpack(capsule));
}

/// Without a stream of the caller's, the first library's counts.
void Adopter::findStream(PyObject *object) {
  if (!streamIsGiven)
    options.stream = nb::cast<uintptr_t>(
        nb::module_::import_("girih.runtime.foreign").attr("current_stream")(nb::handle(object)));
  streamIsGiven = true;
}

/// An array of another library on the GPU as ours; none for other objects. May raise.
nb::object Adopter::take(PyObject *object) {
  if (std::optional<Exchanged> exchanged = fromExchange(object)) {
    if (!streamIsGiven)
      options.stream = exchanged->stream;
    streamIsGiven = true;
    return nb::cast(std::move(exchanged->array));
  }
  if (nb::hasattr(object, "__dlpack__"))
    return takeCapsule(object);
  if (!nb::hasattr(object, "__cuda_array_interface__"))
    return {};
  findStream(object);
  nb::object wrap = nb::module_::import_("girih.runtime.foreign").attr("wrap");
  return wrap(nb::handle(object), options.stream);
}

PyObject *Adopter::adopt(PyObject *object) {
  if (rt::Device::get().driver().isEmulated())
    return nullptr;
  try {
    adopted.push_back(take(object));
    return adopted.back().ptr();
  } catch (nb::python_error &error) {
    if (!error.matches(PyExc_Exception))
      throw;
  } catch (const nb::builtin_exception &) {
  }
  return nullptr; // what is wrong is said with the argument's name where Python looks at it
}

// ---- Recipe -------------------------------------------------------------------------------------

bool Guard::holds() const {
  if (PyCell_Check(container.ptr()))
    return PyCell_GET(container.ptr()) == value.ptr();
  PyObject *now = PyDict_GetItemWithError(container.ptr(), name.ptr());
  if (!now)
    PyErr_Clear();
  return now == value.ptr();
}

Recipe::Recipe(nb::object program, nb::sequence kinds, nb::sequence outer)
    : owner(std::move(program)), native(nb::inst_ptr<rt::Program>(owner)) {
  unsigned parameter = 0;
  for (nb::handle item : kinds) {
    auto kind = nb::cast<std::string>(item[0]);
    Argument argument;
    argument.parameter = parameter;
    if (kind == "array") {
      argument.kind = Kind::Array;
      argument.dtype = rt::parseDType(nb::cast<std::string>(item[1])).value();
      argument.rank = nb::cast<size_t>(item[2]);
      argument.contiguous = nb::cast<int>(item[3]);
      argument.aligned = nb::cast<bool>(item[4]);
      argument.written = native->manifest().parameters.at(parameter).access != rt::Access::In;
    } else if (kind == "scalar") {
      argument.kind = Kind::Scalar;
    } else {
      argument.constant.emplace(nb::object(item[1]));
    }
    parameter += argument.kind != Kind::Constant;
    arguments.push_back(std::move(argument));
  }
  for (nb::handle item : outer)
    guards.push_back({nb::object(item[0]), nb::object(item[1]), nb::object(item[2])});
}

bool Recipe::matches(PyObject **bound, Adopter &adopter) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument &expected = arguments[i];
    PyObject *found = bound[i];
    if (expected.kind == Kind::Array) {
      const Array *array = asArray(found);
      if (!array) {
        found = adopter.adopt(found);
        if (!found)
          return false;
        bound[i] = found;
        array = asArray(found);
      }
      if ((array->readOnly && expected.written) || array->view.dtype != expected.dtype ||
          array->view.shape.size() != expected.rank ||
          promises(array->view) != std::pair(expected.contiguous, expected.aligned))
        return false;
    } else if (expected.kind == Kind::Scalar) {
      if (!PyFloat_Check(found) && !PyLong_Check(found))
        return false;
    } else if (!expected.constant->matches(found)) {
      return false;
    }
  }
  return true;
}

bool Recipe::isCurrent() const {
  return std::all_of(guards.begin(), guards.end(),
                     [](const Guard &guard) { return guard.holds(); });
}

void Recipe::set(rt::Call &call, PyObject *const *bound) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument &argument = arguments[i];
    if (argument.kind == Kind::Constant)
      continue;
    if (argument.kind == Kind::Array) {
      call.set(argument.parameter, asArray(bound[i])->view);
    } else if (PyFloat_Check(bound[i])) {
      call.set(argument.parameter, PyFloat_AS_DOUBLE(bound[i]));
    } else {
      call.set(argument.parameter,
               integerArgument(bound[i], native->manifest(), argument.parameter));
    }
  }
}

void Recipe::collectArrays(PyObject *const *bound, std::vector<nb::object> &arrays) const {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].kind == Kind::Array)
      arrays.push_back(nb::borrow(bound[i]));
}

int Recipe::traverse(visitproc visit, void *arg) const {
  Py_VISIT(owner.ptr());
  for (const Argument &argument : arguments)
    if (argument.constant)
      if (int stop = argument.constant->traverse(visit, arg))
        return stop;
  for (const Guard &guard : guards) {
    Py_VISIT(guard.container.ptr());
    Py_VISIT(guard.value.ptr());
  }
  return 0;
}

void Recipe::keep(PyObject *const *bound) const {
  keepForGraph(owner);
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].kind == Kind::Array)
      keepForGraph(nb::borrow(bound[i]));
}

void launchCall(rt::Call &call, const LaunchOptions &options) {
  static const rt::Interrupted interrupted = signalArrived;
  static const rt::Print print = printText;
  rt::Device &device = rt::Device::get();
  call.setCtas(device, options.ctas);
  rt::Wait outcome;
  {
    nb::gil_scoped_release released;
    outcome =
        call.launch(device, reinterpret_cast<cuda::CUstream>(options.stream), interrupted, print);
  }
  if (outcome == rt::Wait::Stopped)
    nb::raise_python_error();
}

} // namespace girih::python
