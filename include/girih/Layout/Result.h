// A value or the sentence that says why there is none. The library is used on layouts that a user
// wrote, so a bad one is an answer to report and not an assertion.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LAYOUT_RESULT_H
#define GIRIH_LAYOUT_RESULT_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace girih {

/// Why a layout could not be built: one sentence in lower case without a full stop, so that it can
/// follow the words of whoever reports it.
struct LayoutError {
  std::string message;
};

template <class T> class [[nodiscard]] Result {
public:
  Result(T value) : value(std::move(value)) {}
  Result(LayoutError error) : text(std::move(error.message)) {}

  explicit operator bool() const { return value.has_value(); }
  /// The reason; empty if there is a value.
  const std::string &error() const { return text; }

  T &operator*() {
    assert(value && "no value in this Result");
    return *value;
  }
  const T &operator*() const {
    assert(value && "no value in this Result");
    return *value;
  }
  T *operator->() { return &**this; }
  const T *operator->() const { return &**this; }

private:
  std::optional<T> value;
  std::string text;
};

} // namespace girih

#endif // GIRIH_LAYOUT_RESULT_H
