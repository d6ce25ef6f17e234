//===- PackageIndex.h - What is in a package: kernels and their variants
//---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The index of a package says which kernels it holds, what their authors declared, and for which
// calls each image is. How an image is called stands in the image's own manifest. docs/Packages.md
// describes the JSON field by field.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_RUNTIME_PACKAGEINDEX_H
#define GIRIH_RUNTIME_PACKAGEINDEX_H

#include "girih/Runtime/Manifest.h"

#include <limits>

namespace girih::runtime {

/// A dimension of an array as it was declared: gr.In["M,K%8"] has M and K, multiples of 1 and 8.
struct DeclaredDim {
  std::string name;
  int64_t multiple = 1;
};

/// A parameter of a packaged kernel, as its author declared it. Dtypes and strides of arrays are
/// the variants'.
struct DeclaredParameter {
  std::string name;
  bool isArray = false;
  bool optional = false;         ///< may be absent
  Access access = Access::In;    ///< arrays only
  std::vector<DeclaredDim> dims; ///< arrays only; empty where any number of them may be passed
  DType dtype = DType::I32;      ///< scalars only
};

/// What an extent or an integer must be for a variant to be taken: from `low` to `high`, and a
/// multiple of `multiple`.
struct Condition {
  std::string name;       ///< as the author calls it: "M", "n"
  unsigned parameter = 0; ///< the array whose extent it is, or the scalar
  unsigned dim = 0;       ///< arrays only
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
  int64_t multiple = 1;

  /// "M from 1 to 64", "K a multiple of 8".
  GIRIH_RUNTIME_API std::string text() const;
};

/// One image and the calls that it is for.
struct Variant {
  std::string arch;
  unsigned image = 0;                                         ///< index into the package's images
  std::vector<bool> absent;                                   ///< one per parameter of the kernel
  std::vector<Condition> when;                                ///< all of them hold
  std::vector<std::pair<std::string, std::string>> constants; ///< what it was compiled with
};

struct KernelEntry {
  std::string name;
  std::string summary; ///< one line of what the author says about it, or ""
  std::vector<DeclaredParameter> parameters;
  std::vector<Variant> variants; ///< the first one that fits a call is taken
};

struct PackageIndex {
  std::string writer; ///< "girih 0.1.0"
  std::vector<KernelEntry> kernels;

  /// Throws Error: "the package's index is damaged: ..." names the kernel and the field.
  GIRIH_RUNTIME_API static PackageIndex parse(std::string_view json, size_t images);
};

} // namespace girih::runtime

#endif // GIRIH_RUNTIME_PACKAGEINDEX_H
