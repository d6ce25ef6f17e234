//===- Program.h - girih._runtime.Program: a compiled kernel, ready to be called
//-----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_PYTHON_PROGRAM_H
#define GIRIH_PYTHON_PROGRAM_H

#include "girih/Runtime/Manifest.h"

#include <nanobind/nanobind.h>

#include <string>

namespace girih::python {

/// The value of an integer argument. Throws LaunchError with the parameter's name if it does not
/// fit 64 bits.
int64_t integerArgument(nanobind::handle integer, const runtime::Manifest &manifest, size_t index);

/// Prints through Python's own print, so that notebooks and tests see the text; may be called
/// without the GIL.
void printText(const std::string &text);

void bindProgram(nanobind::module_ &module);

} // namespace girih::python

#endif // GIRIH_PYTHON_PROGRAM_H
