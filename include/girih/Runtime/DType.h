//===- DType.h - Element types of arrays and scalars
//---------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names are those of the manifest and of the Python front end.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_RUNTIME_DTYPE_H
#define GIRIH_RUNTIME_DTYPE_H

#include "girih/Runtime/Error.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace girih::runtime {

enum class DType {
  F64,
  F32,
  TF32,
  F16,
  BF16,
  E4M3,
  E5M2,
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
  B1
};

/// "bf16" and its like.
GIRIH_RUNTIME_API const char *name(DType type);
/// Bytes of one element in memory; a b1 takes a whole byte.
GIRIH_RUNTIME_API size_t sizeInBytes(DType type);
/// True for integers; b1 counts as one.
GIRIH_RUNTIME_API bool isInteger(DType type);
/// Nothing if no type has that name.
GIRIH_RUNTIME_API std::optional<DType> parseDType(std::string_view name);

/// The values that an integer type holds, as far as 64 signed bits go: u64 ends at INT64_MAX.
struct IntegerRange {
  int64_t low, high;
};
GIRIH_RUNTIME_API IntegerRange rangeOf(DType integer);

} // namespace girih::runtime

#endif // GIRIH_RUNTIME_DTYPE_H
