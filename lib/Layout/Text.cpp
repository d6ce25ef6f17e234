// The text form of layouts: the printer, and a reader that says what it expected and what it
// found. The grammar stands in Layout.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Layout/Layout.h"

#include <cctype>

namespace girih {
namespace {

std::string vectorText(const std::vector<int32_t> &vector) {
  std::string text = "[";
  for (size_t i = 0; i < vector.size(); ++i)
    text += (i ? "," : "") + std::to_string(vector[i]);
  return text + "]";
}

/// Recursive descent over the text; the first error stays.
class Reader {
public:
  explicit Reader(std::string_view text) : text(text) {}

  Result<Layout> read() {
    LayoutSpec spec;
    atom(spec);
    if (ok() && word("repeat"))
      repeats(spec);
    if (ok() && word("over"))
      shape(spec);
    skipSpace();
    if (ok() && at != text.size())
      fail("the end of the layout");
    if (!ok())
      return LayoutError{error};
    return Layout::create(spec);
  }

private:
  bool ok() const { return error.empty(); }

  void skipSpace() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }

  static bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  /// The word or mark at the current place, without passing it.
  std::string_view peek() {
    skipSpace();
    if (at == text.size())
      return {};
    size_t end = at + 1;
    while (isWord(text[at]) && end < text.size() && isWord(text[end]))
      ++end;
    return text.substr(at, end - at);
  }

  void fail(const std::string &expected) {
    if (!ok())
      return;
    std::string_view found = peek();
    error = "expected " + expected + " at column " + std::to_string(at + 1) + ", found " +
            (found.empty() ? "the end of the text" : "'" + std::string(found) + "'");
  }

  bool word(std::string_view wanted) {
    if (peek() != wanted)
      return false;
    at += wanted.size();
    return true;
  }

  void expect(std::string_view mark) {
    if (ok() && !word(mark))
      fail("'" + std::string(mark) + "'");
  }

  int32_t integer(const std::string &what) {
    if (!ok())
      return 0;
    std::string_view token = peek();
    int64_t value = 0;
    bool good = !token.empty() && token.size() <= 9;
    for (char c : token) {
      good &= c >= '0' && c <= '9';
      value = value * 10 + (c - '0');
    }
    if (!good) {
      fail(what);
      return 0;
    }
    at += token.size();
    return static_cast<int32_t>(value);
  }

  Dim dimension() {
    if (!ok())
      return Dim::Register;
    std::string_view token = peek();
    if (std::optional<Dim> dim = dimNamed(token)) {
      at += token.size();
      return *dim;
    }
    fail("a dimension (register, lane, warp, warpgroup, offset, row or col)");
    return Dim::Register;
  }

  /// item { `,` item } up to the closing mark, which is consumed.
  template <class Fn> void list(std::string_view close, Fn item) {
    do
      item();
    while (ok() && word(","));
    if (ok() && !word(close))
      fail("',' or '" + std::string(close) + "'");
  }

  std::vector<int32_t> vector() {
    std::vector<int32_t> result;
    expect("[");
    if (ok())
      list("]", [&] { result.push_back(integer("a coordinate")); });
    return result;
  }

  void atom(LayoutSpec &spec) {
    expect("{");
    if (!ok() || word("}"))
      return;
    list("}", [&] {
      Dim dim = dimension();
      expect(":");
      expect("[");
      if (ok() && !word("]"))
        list("]", [&] { spec.bases.push_back({dim, vector()}); });
    });
  }

  void repeats(LayoutSpec &spec) {
    expect("{");
    if (ok())
      list("}", [&] {
        Dim dim = dimension();
        expect(":");
        std::vector<int32_t> step = vector();
        expect("x");
        spec.repeats.push_back({dim, std::move(step), integer("the extent of the repeat")});
      });
  }

  void shape(LayoutSpec &spec) {
    spec.outDims.clear();
    expect("{");
    if (ok())
      list("}", [&] {
        spec.outDims.push_back(dimension());
        expect(":");
        spec.shape.push_back(integer("the extent of the dimension"));
      });
  }

  std::string_view text;
  size_t at = 0;
  std::string error;
};

} // namespace

std::string Layout::str() const {
  std::string text = "{";
  std::optional<Dim> open;
  for (const Base &base : parts.bases) {
    if (open != base.dim) {
      text += (open ? "], " : "") + std::string(nameOf(base.dim)) + ": [";
      open = base.dim;
    } else {
      text += ",";
    }
    text += vectorText(base.to);
  }
  text += open ? "]}" : "}";
  if (!parts.repeats.empty()) {
    text += " repeat {";
    for (size_t i = 0; i < parts.repeats.size(); ++i) {
      const Repeat &repeat = parts.repeats[i];
      text += (i ? ", " : "") + std::string(nameOf(repeat.dim)) + ": " + vectorText(repeat.step) +
              " x " + std::to_string(repeat.extent);
    }
    text += "}";
  }
  bool derived = parts.outDims == std::vector<Dim>{Dim::Row, Dim::Col} &&
                 rows() == reach(Dim::Row) && cols() == reach(Dim::Col);
  if (derived)
    return text;
  text += " over {";
  for (size_t i = 0; i < parts.outDims.size(); ++i)
    text += (i ? ", " : "") + std::string(nameOf(parts.outDims[i])) + ": " +
            std::to_string(parts.shape[i]);
  return text + "}";
}

Result<Layout> Layout::parse(std::string_view text) { return Reader(text).read(); }

} // namespace girih
