//===- PackageText.h - A package in words, and as a header for C
//-----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_RUNTIME_PACKAGETEXT_H
#define GIRIH_RUNTIME_PACKAGETEXT_H

#include "girih/Runtime/Package.h"

namespace girih::runtime {

/// What `girih-package show` prints about a package: its kernels, for each variant the calls that
/// it is for, the launches, resources, requirements and source functions. Throws Error.
GIRIH_RUNTIME_API std::string packageText(std::string_view bytes);

/// A C header with a typed function for each kernel of a package. Functions are called
/// `<prefix>_<kernel>`. What C does not take as a name is changed as little as it needs.
GIRIH_RUNTIME_API std::string packageHeader(const Package &package, const std::string &prefix);

} // namespace girih::runtime

#endif // GIRIH_RUNTIME_PACKAGETEXT_H
