// The calls that users make on a kernel, as functions that leave no frame of ours in a traceback.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_PYTHON_ENTRY_H
#define GIRIH_PYTHON_ENTRY_H

#include <nanobind/nanobind.h>

namespace girih::python {

/// Binds the class `Entry`. Its `__call__`, `compile` and `emit` call the methods `_call`,
/// `_compile` and `_emit` of the subclass; an error of girih's own that they raise continues
/// without their frames, since nothing in them is the user's.
void bindEntry(nanobind::module_ &module);

} // namespace girih::python

#endif // GIRIH_PYTHON_ENTRY_H
