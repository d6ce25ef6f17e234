//===- Errors.h - C++ exceptions as Python's
//-----------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_PYTHON_ERRORS_H
#define GIRIH_PYTHON_ERRORS_H

#include <nanobind/nanobind.h>

#include <exception>

namespace girih::python {

/// Raises the exception class of girih.errors that corresponds to an error of the runtime; rethrows
/// any other exception. The second parameter is nanobind's.
void translate(const std::exception_ptr &error, void *);

/// The result of `action`, a new reference; null with Python's error set if it throws. For
/// functions that Python calls without nanobind in between.
template <typename Action> PyObject *guarded(Action &&action) noexcept {
  try {
    return action();
  } catch (nanobind::python_error &error) {
    error.restore();
  } catch (...) {
    try {
      translate(std::current_exception(), nullptr);
    } catch (nanobind::python_error &error) {
      error.restore();
    } catch (const std::bad_alloc &) {
      PyErr_NoMemory();
    } catch (const std::exception &other) {
      PyErr_SetString(PyExc_RuntimeError, other.what());
    }
  }
  return nullptr;
}

} // namespace girih::python

#endif // GIRIH_PYTHON_ERRORS_H
