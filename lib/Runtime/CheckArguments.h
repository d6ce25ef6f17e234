//===- CheckArguments.h - Do the arguments fit the package's parameters?
//-------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_LIB_RUNTIME_CHECKARGUMENTS_H
#define GIRIH_LIB_RUNTIME_CHECKARGUMENTS_H

#include "girih/Runtime/Argument.h"
#include "girih/Runtime/Manifest.h"

namespace girih::runtime {

/// Throws LaunchError unless there is one argument for each parameter.
void checkCount(const Manifest &manifest, size_t arguments);

/// Throw LaunchError unless an argument fits its parameter in kind, dtype, rank, contiguous
/// dimension, alignment and range; the message names the parameter, what was expected and what was
/// found. Nothing is allocated for an argument that fits.
void checkArgument(const Parameter &parameter, const ArrayArgument &array);
void checkArgument(const Parameter &parameter, int64_t integer);
void checkArgument(const Parameter &parameter, double real);
[[noreturn]] void checkArgument(const Parameter &parameter, Absent nothing);

/// All of that.
void checkArguments(const Manifest &manifest, const std::vector<Argument> &arguments);

/// Whether an array has what code was specialised for: dtype, rank, a stride of 1 in the promised
/// dimension, alignment. What these say is no message: checkArguments has those.
bool fits(const Parameter &parameter, const ArrayArgument &array);

} // namespace girih::runtime

#endif // GIRIH_LIB_RUNTIME_CHECKARGUMENTS_H
