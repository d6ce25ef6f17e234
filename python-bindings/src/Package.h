//===- Package.h - girih._runtime.Package: kernels from a file
//-------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_PYTHON_PACKAGE_H
#define GIRIH_PYTHON_PACKAGE_H

#include <nanobind/nanobind.h>

namespace girih::python {

void bindPackage(nanobind::module_ &module);

} // namespace girih::python

#endif // GIRIH_PYTHON_PACKAGE_H
