// The calls that users make on a kernel, as functions that leave no frame of ours in a traceback.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_PYTHON_ENTRY_H
#define GIRIH_PYTHON_ENTRY_H

#include <nanobind/nanobind.h>

namespace girih::python {

/// Binds the classes `Entry` and `Launcher`.
///
/// Calling an Entry, or its `launch`, finds a recipe that `_remember` left, or else calls the
/// method
/// `_launch` of the subclass with the options (ctas, stream) first. `prepare` calls `_prepare` in
/// the same way and makes a Launcher; `compile`, `inspect` and `emit` call `_compile`, `_inspect`
/// and
/// `_emit`. An error of
/// girih's own that these methods raise continues without their frames, since nothing in them is
/// the user's.
void bindEntry(nanobind::module_ &module);

} // namespace girih::python

#endif // GIRIH_PYTHON_ENTRY_H
