//===- Report.h - A compilation in words for a reader
//----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_TOOLS_COMPILE_REPORT_H
#define GIRIH_TOOLS_COMPILE_REPORT_H

#include "girih/Compiler/Compiler.h"

#include <string>

namespace girih::compiler {

/// Kernels with their resources, what ptxas said, and where the time went.
std::string report(const Result &result);

/// Times of the steps and, if they were asked for, of the passes.
std::string timeTable(const Result &result);

} // namespace girih::compiler

#endif // GIRIH_TOOLS_COMPILE_REPORT_H
