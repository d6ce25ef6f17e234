//===- Program.h - girih._runtime.Program: a compiled kernel, ready to be called
//-----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_PYTHON_PROGRAM_H
#define GIRIH_PYTHON_PROGRAM_H

#include <nanobind/nanobind.h>

namespace girih::python {

void bindProgram(nanobind::module_ &module);

} // namespace girih::python

#endif // GIRIH_PYTHON_PROGRAM_H
