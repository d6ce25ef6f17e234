//===- Array.h - girih.Array: an array in device memory
//------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What needs C++ (memory, copies, launches, DLPack) is here; what needs NumPy is Python
// (girih/runtime/array.py) and is imported when it is first used.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_PYTHON_ARRAY_H
#define GIRIH_PYTHON_ARRAY_H

#include "girih/Runtime/Argument.h"
#include "girih/Runtime/Device.h"

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>

namespace girih::python {

namespace nb = nanobind;
namespace rt = girih::runtime;

/// Device memory that views share. It belongs to us, or to whoever exported it by DLPack.
class Memory {
public:
  /// Fresh memory of `bytes` bytes.
  static std::shared_ptr<Memory> allocate(size_t bytes);
  /// Another owner's memory; `release` is called when the last view is gone.
  Memory(uint64_t address, size_t bytes, std::function<void()> release)
      : start(address), size(bytes), release(std::move(release)) {}
  ~Memory() { release(); }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  uint64_t address() const { return start; }
  size_t bytes() const { return size; }

private:
  uint64_t start;
  size_t size;
  std::function<void()> release;
};

/// Shape and strides (in elements) over a piece of device memory.
struct Array {
  std::shared_ptr<Memory> memory;
  rt::ArrayArgument view;
  bool readOnly = false; ///< another library's, who does not want it to be written

  int64_t elements() const;
  /// Where the element with the lowest address is: not the first one if strides are negative.
  uint64_t lowestAddress() const;
  /// Bytes from the lowest element to the end of the highest one; 0 for an empty array.
  size_t spanBytes() const;
};

/// Memory of an array that a Python object keeps alive.
std::shared_ptr<Memory> ownedBy(const Array &array, nb::object owner);

/// Row-major strides of a shape, in elements.
std::vector<int64_t> rowMajorStrides(const std::vector<int64_t> &shape);

nb::tuple toTuple(const std::vector<int64_t> &values);

/// True once Python has a signal handler's exception to raise (Ctrl-C); may be called without the
/// GIL.
bool signalArrived();

/// Waits for a stream, the default one unless it is named, without the GIL. Raises
/// KeyboardInterrupt and what the device reports.
void synchronize(uintptr_t stream = 0);

void bindArray(nb::module_ &module);

} // namespace girih::python

#endif // GIRIH_PYTHON_ARRAY_H
