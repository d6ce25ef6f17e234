//===- Json.h - Numbers of a JSON text that are what they must be
//----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nlohmann's get<unsigned>() takes any number: it wraps negative ones around and casts fractions.
// What comes from a file is read by these instead.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_LIB_RUNTIME_JSON_H
#define GIRIH_LIB_RUNTIME_JSON_H

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <stdexcept>

namespace girih::runtime {

/// A number that is not what it must be. Whoever reads a file catches it and says which file.
struct NumberError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A JSON integer that T can hold. Throws NumberError: "expected an integer from 0 to 4294967295,
/// found -1".
template <typename T> T readInteger(const nlohmann::json &value) {
  using Limits = std::numeric_limits<T>;
  bool fits = false;
  if (value.is_number_unsigned())
    fits = value.get<uint64_t>() <= static_cast<uint64_t>(Limits::max());
  else if (value.is_number_integer()) // what is negative; positive numbers are unsigned
    fits = value.get<int64_t>() >= static_cast<int64_t>(Limits::min());
  if (!fits) {
    std::string found = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    throw NumberError("expected an integer from " + std::to_string(Limits::min()) + " to " +
                      std::to_string(Limits::max()) + ", found " +
                      (found.size() > 40 ? found.substr(0, 40) + "..." : found));
  }
  return value.get<T>();
}

/// The integer in a field, or what it is where the field is absent.
template <typename T> T readInteger(const nlohmann::json &object, const char *field, T absent) {
  auto found = object.find(field);
  return found == object.end() ? absent : readInteger<T>(*found);
}

/// The integers of a list.
template <typename T> std::vector<T> readIntegers(const nlohmann::json &list) {
  if (!list.is_array())
    throw NumberError(std::string("expected a list of integers, found ") + list.type_name());
  std::vector<T> integers;
  for (const nlohmann::json &item : list)
    integers.push_back(readInteger<T>(item));
  return integers;
}

} // namespace girih::runtime

#endif // GIRIH_LIB_RUNTIME_JSON_H
