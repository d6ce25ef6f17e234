//===- Array.cpp - girih.Array: an array in device memory
//----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "Array.h"

#include "DLPack.h"

#include <algorithm>
#include <cstdlib>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace girih::python {

std::shared_ptr<Memory> Memory::allocate(size_t bytes) {
  rt::Device &device = rt::Device::get();
  nb::gil_scoped_release released; // another thread's launch may have to end first
  uint64_t address = device.allocate(bytes);
  return std::make_shared<Memory>(address, bytes, [&device, address] { device.free(address); });
}

int64_t Array::elements() const {
  int64_t count = 1;
  for (int64_t extent : view.shape)
    count *= extent;
  return count;
}

uint64_t Array::lowestAddress() const {
  if (elements() == 0)
    return view.address;
  int64_t offset = 0;
  for (size_t dim = 0; dim < view.shape.size(); ++dim)
    offset += (view.shape[dim] - 1) * std::min<int64_t>(view.strides[dim], 0);
  return view.address + offset * static_cast<int64_t>(rt::sizeInBytes(view.dtype));
}

size_t Array::spanBytes() const {
  if (elements() == 0)
    return 0;
  int64_t last = 0;
  for (size_t dim = 0; dim < view.shape.size(); ++dim)
    last += (view.shape[dim] - 1) * std::abs(view.strides[dim]);
  return (last + 1) * rt::sizeInBytes(view.dtype);
}

std::shared_ptr<Memory> ownedBy(const Array &array, nb::object owner) {
  auto kept = std::make_shared<nb::object>(std::move(owner));
  return std::make_shared<Memory>(array.lowestAddress(), array.spanBytes(), [kept] {
    nb::gil_scoped_acquire gil;
    kept->reset();
  });
}

std::vector<int64_t> rowMajorStrides(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= std::max<int64_t>(shape[dim], 1);
  }
  return strides;
}

nb::tuple toTuple(const std::vector<int64_t> &values) {
  nb::list list;
  for (int64_t value : values)
    list.append(value);
  return nb::tuple(list);
}

bool signalArrived() {
  nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

void synchronize(uintptr_t stream) {
  rt::Device &device = rt::Device::get();
  rt::Wait outcome;
  {
    nb::gil_scoped_release released;
    outcome = device.synchronize(reinterpret_cast<cuda::CUstream>(stream), signalArrived);
  }
  if (outcome == rt::Wait::Stopped)
    nb::raise_python_error();
}

namespace {

rt::DType dtypeNamed(const std::string &name) {
  if (std::optional<rt::DType> type = rt::parseDType(name))
    return *type;
  throw nb::type_error(("unknown dtype \"" + name + "\"").c_str());
}

Array makeEmpty(const std::string &dtype, const std::vector<int64_t> &shape,
                const std::optional<std::vector<int64_t>> &strides) {
  Array array;
  array.view.dtype = dtypeNamed(dtype);
  array.view.shape = shape;
  int64_t bytes = rt::sizeInBytes(array.view.dtype);
  for (int64_t extent : shape) {
    if (extent < 0)
      throw nb::value_error(
          ("a shape has no negative extents, found " + rt::printExtents(shape)).c_str());
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      throw nb::value_error(
          ("an array of shape " + rt::printExtents(shape) + " is larger than 2^63 bytes").c_str());
  }
  array.view.strides = strides ? *strides : rowMajorStrides(shape);
  bool valid = array.view.strides.size() == shape.size();
  for (int64_t stride : array.view.strides)
    valid = valid && stride >= 0;
  if (!valid)
    throw nb::value_error(("expected one stride per dimension of " + rt::printExtents(shape) +
                           " and none negative, found " + rt::printExtents(array.view.strides))
                              .c_str());
  array.memory = Memory::allocate(array.spanBytes());
  array.view.address = array.memory->address();
  return array;
}

/// An array over memory of the GPU that `owner` keeps.
Array overMemory(const std::string &dtype, const std::vector<int64_t> &shape,
                 const std::vector<int64_t> &strides, uint64_t address, nb::object owner,
                 bool readOnly) {
  Array array;
  array.view = {address, dtypeNamed(dtype), shape, strides};
  array.readOnly = readOnly;
  array.memory = ownedBy(array, std::move(owner));
  return array;
}

/// The same memory with the dimensions in another order.
Array permuted(const Array &array, const std::vector<size_t> &dims) {
  Array result = array;
  for (size_t i = 0; i < dims.size(); ++i) {
    result.view.shape[i] = array.view.shape[dims[i]];
    result.view.strides[i] = array.view.strides[dims[i]];
  }
  return result;
}

Array transposed(const Array &array) {
  std::vector<size_t> dims(array.view.shape.size());
  for (size_t i = 0; i < dims.size(); ++i)
    dims[i] = dims.size() - 1 - i;
  return permuted(array, dims);
}

Array transpose(const Array &array, const std::vector<int64_t> &order) {
  std::vector<size_t> dims;
  std::vector<bool> seen(array.view.shape.size());
  for (int64_t dim : order) {
    bool valid = dim >= 0 && dim < static_cast<int64_t>(seen.size()) && !seen[dim];
    if (!valid)
      break;
    seen[dim] = true;
    dims.push_back(dim);
  }
  if (dims.size() != seen.size() || order.size() != seen.size())
    throw nb::value_error(("expected a permutation of " + std::to_string(seen.size()) +
                           " dimensions, found " + rt::printExtents(order))
                              .c_str());
  return permuted(array, dims);
}

/// The view that indices and slices choose, as NumPy's basic indexing does: an integer drops its
/// dimension, None adds one, an ellipsis stands for all dimensions that the others leave.
Array item(const Array &array, nb::handle key) {
  nb::tuple parts =
      nb::isinstance<nb::tuple>(key) ? nb::borrow<nb::tuple>(key) : nb::make_tuple(nb::borrow(key));
  size_t rank = array.view.shape.size(), named = 0, ellipses = 0;
  for (nb::handle part : parts) {
    ellipses += part.is(Py_Ellipsis);
    named += !part.is_none() && !part.is(Py_Ellipsis);
  }
  if (named > rank || ellipses > 1)
    throw nb::index_error(("expected at most one index for each of " + std::to_string(rank) +
                           " dimensions and one ellipsis, found " +
                           std::string(nb::repr(key).c_str()))
                              .c_str());
  Array result = array;
  result.view.shape.clear();
  result.view.strides.clear();
  auto keep = [&](int64_t extent, int64_t stride) {
    result.view.shape.push_back(extent);
    result.view.strides.push_back(stride);
  };
  int64_t size = rt::sizeInBytes(array.view.dtype);
  size_t dim = 0;
  auto take = [&](nb::handle part) {
    int64_t extent = array.view.shape[dim], stride = array.view.strides[dim];
    Py_ssize_t start = 0;
    if (PySlice_Check(part.ptr())) {
      Py_ssize_t stop = 0, step = 0;
      if (PySlice_Unpack(part.ptr(), &start, &stop, &step) != 0)
        nb::raise_python_error();
      keep(PySlice_AdjustIndices(extent, &start, &stop, step), stride * step);
    } else {
      start = PyNumber_AsSsize_t(part.ptr(), PyExc_IndexError);
      if (start == -1 && PyErr_Occurred())
        nb::raise_python_error();
      if (start < -extent || start >= extent)
        throw nb::index_error(("index " + std::to_string(start) + " is outside dimension " +
                               std::to_string(dim) + " of extent " + std::to_string(extent))
                                  .c_str());
      start += start < 0 ? extent : 0;
    }
    result.view.address += start * stride * size;
    ++dim;
  };
  nb::object all = nb::steal(PySlice_New(nullptr, nullptr, nullptr));
  auto takeAll = [&](size_t count) {
    for (size_t i = 0; i < count; ++i)
      take(all);
  };
  for (nb::handle part : parts) {
    if (part.is_none())
      keep(1, 0);
    else if (part.is(Py_Ellipsis))
      takeAll(rank - named);
    else
      take(part);
  }
  takeAll(rank - dim);
  return result;
}

/// The array seen in a larger shape: what has one element, or is not there, is repeated.
Array broadcastTo(const Array &array, const std::vector<int64_t> &shape) {
  size_t rank = array.view.shape.size();
  bool valid = shape.size() >= rank;
  Array result = array;
  result.view.shape = shape;
  result.view.strides.assign(shape.size(), 0);
  for (size_t dim = 0; valid && dim < rank; ++dim) {
    size_t there = shape.size() - rank + dim;
    int64_t extent = array.view.shape[dim];
    valid = extent == shape[there] || extent == 1;
    if (extent == shape[there])
      result.view.strides[there] = array.view.strides[dim];
  }
  if (!valid || std::any_of(shape.begin(), shape.end(), [](int64_t e) { return e < 0; }))
    throw nb::value_error(("an array of shape " + rt::printExtents(array.view.shape) +
                           " cannot be broadcast to " + rt::printExtents(shape))
                              .c_str());
  return result;
}

/// A host buffer of exactly the array's bytes, held while it is copied.
class HostBuffer {
public:
  HostBuffer(nb::handle object, int flags, size_t bytes) {
    if (PyObject_GetBuffer(object.ptr(), &buffer, flags) != 0)
      nb::raise_python_error();
    if (static_cast<size_t>(buffer.len) != bytes) {
      std::string found = std::to_string(buffer.len);
      PyBuffer_Release(&buffer);
      throw nb::value_error(
          ("expected a buffer of " + std::to_string(bytes) + " bytes, found " + found).c_str());
    }
  }
  ~HostBuffer() { PyBuffer_Release(&buffer); }
  HostBuffer(const HostBuffer &) = delete;
  HostBuffer &operator=(const HostBuffer &) = delete;
  void *data() const { return buffer.buf; }

private:
  Py_buffer buffer;
};

void write(const Array &array, nb::handle source) {
  HostBuffer buffer(source, PyBUF_SIMPLE, array.spanBytes());
  synchronize(); // a launch may still read what is overwritten
  nb::gil_scoped_release released;
  rt::Device::get().copyToDevice(array.lowestAddress(), buffer.data(), array.spanBytes());
}

void read(const Array &array, nb::handle destination) {
  HostBuffer buffer(destination, PyBUF_WRITABLE, array.spanBytes());
  synchronize();
  nb::gil_scoped_release released;
  rt::Device::get().copyToHost(buffer.data(), array.lowestAddress(), array.spanBytes());
}

std::string repr(const Array &array) {
  std::string text = "girih.Array(shape=" + rt::printExtents(array.view.shape) +
                     ", dtype=" + rt::name(array.view.dtype);
  if (array.view.strides != rowMajorStrides(array.view.shape))
    text += ", strides=" + rt::printExtents(array.view.strides);
  return text + ")";
}

nb::object helper(const char *name) {
  return nb::module_::import_("girih.runtime.array").attr(name);
}

} // namespace

void bindArray(nb::module_ &module) {
  module.def(
      "_describe_dlpack", &describeDlpack, nb::arg("capsule"),
      "(dtype name, shape, strides in elements, address) that the array in a capsule has on the "
      "device; address 0 stands for memory yet to be allocated.");
  module.def("_is_read_only", &isReadOnly, nb::arg("capsule"),
             "Whether the array in a DLPack capsule may not be written.");
  nb::class_<Array>(
      module, "Array",
      "An array in device memory. Make one with girih.asarray, girih.empty, girih.zeros "
      "or girih.from_dlpack. Strides count elements.")
      .def_static("_empty", &makeEmpty, nb::arg("dtype"), nb::arg("shape"),
                  nb::arg("strides") = nb::none(),
                  "Uninitialised memory for a shape, row-major unless strides are given.")
      .def_static("_over", &overMemory, nb::arg("dtype"), nb::arg("shape"), nb::arg("strides"),
                  nb::arg("address"), nb::arg("owner"), nb::arg("read_only"),
                  "An array over memory of the GPU that an object keeps.")
      .def_static("_from_dlpack", &fromDlpack, nb::arg("capsule"),
                  "Takes over a DLPack capsule: GPU memory is shared, host memory copied.")
      .def("_write", &write, nb::arg("source"),
           "Copies a host buffer over the bytes of the array, from the lowest address, gaps of "
           "strides included.")
      .def("_read", &read, nb::arg("destination"),
           "Copies the bytes of the array, from the lowest address, to a host buffer.")
      .def("_write_back", &writeBack, nb::arg("capsule"),
           "Copies the array over the host array in a DLPack capsule.")
      .def(
          "_zero",
          [](const Array &array) {
            nb::gil_scoped_release released;
            rt::Device::get().fillWithZeros(array.lowestAddress(), array.spanBytes());
          },
          "Fills the bytes of the array with zeros.")
      .def_prop_ro("_span", &Array::spanBytes,
                   "Bytes from the lowest element to the end of the highest one.")
      .def_prop_ro(
          "shape", [](const Array &array) { return toTuple(array.view.shape); },
          "Extents, one per dimension.")
      .def_prop_ro(
          "strides", [](const Array &array) { return toTuple(array.view.strides); },
          "Distance of neighbours along each dimension, in elements.")
      .def_prop_ro(
          "dtype",
          [](const Array &array) { return helper("dtype_named")(rt::name(array.view.dtype)); },
          "The element type, a girih.DType.")
      .def_prop_ro(
          "ndim", [](const Array &array) { return array.view.shape.size(); },
          "Number of dimensions.")
      .def_prop_ro("size", &Array::elements, "Number of elements.")
      .def_prop_ro(
          "nbytes",
          [](const Array &array) { return array.elements() * rt::sizeInBytes(array.view.dtype); },
          "Bytes of all elements.")
      .def_prop_ro(
          "address", [](const Array &array) { return array.view.address; },
          "The first element's address in device memory.")
      .def_prop_ro("T", &transposed,
                   "The array with its dimensions reversed; the memory is shared.")
      .def("transpose", &transpose, nb::arg("order"),
           "The array with its dimensions in another order; the memory is shared.")
      .def(
          "numpy", [](nb::object self, bool raw) { return helper("to_numpy")(self, raw); },
          nb::kw_only(), nb::arg("raw") = false,
          "A NumPy array with a copy of the elements, after all launches. NumPy has no bf16, "
          "e4m3 and e5m2: such elements come as float32, exactly, or with raw=True as their bits "
          "in "
          "uint16 or uint8.")
      .def(
          "__array__",
          [](nb::object self, nb::object dtype, nb::object copy) {
            return helper("as_numpy_protocol")(self, dtype, copy);
          },
          nb::arg("dtype") = nb::none(), nb::kw_only(), nb::arg("copy") = nb::none())
      .def("__dlpack_device__", &dlpackDevice)
      .def("__dlpack__", &toDlpack, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none(),
           "Exports the array. On a GPU the memory is shared. Memory of the emulated device is not "
           "the host's: the consumer gets a copy, marked as such and read-only.")
      .def("__getitem__", &item, nb::arg("key").none(),
           "The view that integers, slices, None and ... choose; the memory is shared.")
      .def("broadcast_to", &broadcastTo, nb::arg("shape"),
           "The array repeated to a larger shape with strides of 0; the memory is shared.")
      .def("__len__",
           [](const Array &array) {
             if (array.view.shape.empty())
               throw nb::type_error("an array without dimensions has no length");
             return array.view.shape[0];
           })
      .def("__repr__", &repr);
}

} // namespace girih::python
