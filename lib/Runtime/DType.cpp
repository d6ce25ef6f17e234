//===- DType.cpp - Element types of arrays and scalars
//-------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table, in the order of the enumeration.
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Runtime/DType.h"

#include <limits>

namespace girih::runtime {
namespace {

struct Entry {
  const char *name;
  unsigned bytes;
  bool integer;
  bool isSigned;
};

constexpr Entry entries[] = {
    {"f64", 8, false, true},  {"f32", 4, false, true},  {"tf32", 4, false, true},
    {"f16", 2, false, true},  {"bf16", 2, false, true}, {"e4m3", 1, false, true},
    {"e5m2", 1, false, true}, {"i8", 1, true, true},    {"u8", 1, true, false},
    {"i16", 2, true, true},   {"u16", 2, true, false},  {"i32", 4, true, true},
    {"u32", 4, true, false},  {"i64", 8, true, true},   {"u64", 8, true, false},
    {"b1", 1, true, false},
};
static_assert(sizeof(entries) / sizeof(Entry) == static_cast<size_t>(DType::B1) + 1);

const Entry &entry(DType type) { return entries[static_cast<size_t>(type)]; }

} // namespace

const char *name(DType type) { return entry(type).name; }
size_t sizeInBytes(DType type) { return entry(type).bytes; }
bool isInteger(DType type) { return entry(type).integer; }

std::optional<DType> parseDType(std::string_view text) {
  for (size_t i = 0; i < sizeof(entries) / sizeof(Entry); ++i)
    if (text == entries[i].name)
      return static_cast<DType>(i);
  return std::nullopt;
}

IntegerRange rangeOf(DType integer) {
  if (integer == DType::B1)
    return {0, 1};
  const Entry &type = entry(integer);
  if (type.bytes == 8)
    return {type.isSigned ? std::numeric_limits<int64_t>::min() : 0,
            std::numeric_limits<int64_t>::max()};
  int64_t values = int64_t{1} << (8 * type.bytes);
  return type.isSigned ? IntegerRange{-values / 2, values / 2 - 1} : IntegerRange{0, values - 1};
}

} // namespace girih::runtime
