// Layouts of tiles whose shape changes; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Layout/Shape.h"

#include "girih/Layout/Algebra.h"

#include "Enumerate.h"
#include "Memo.h"

#include <algorithm>

namespace girih {
namespace {

enum class Change {
  Reduce,
  Expand,
  Broadcast,
  BroadcastSource,
  Transpose,
  Reshape,
  Join,
  Split,
  Coordinate
};

detail::Question asked(Change change, const Layout &layout, const Extents &shape,
                       const std::vector<int32_t> &how = {}) {
  return detail::Question().add(static_cast<int32_t>(change)).add(layout).add(shape).add(how);
}

template <class Compute>
Result<Layout> remembered(const detail::Question &question, Compute compute) {
  thread_local detail::Memo<Result<Layout>> memo;
  return memo.get(question, compute);
}

std::string shapeText(const Extents &shape) {
  std::string text;
  for (int32_t extent : shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

std::vector<int32_t> tileShape(const Extents &shape) {
  int32_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    rows *= shape[i];
  return {rows, shape.back()};
}

std::optional<LayoutError> mismatch(const Layout &layout, const Extents &shape) {
  if (shape.empty())
    return LayoutError{"a tile has at least one dimension"};
  if (layout.shape() != tileShape(shape))
    return LayoutError{"the layout is of " + shapeText(layout.shape()) +
                       " elements, which a tile of " + shapeText(shape) + " does not have"};
  return std::nullopt;
}

std::optional<LayoutError> outside(const Extents &shape, int32_t dim, int32_t end) {
  if (dim >= 0 && dim < end)
    return std::nullopt;
  return LayoutError{"dimension " + std::to_string(dim) + " of a tile of " + shapeText(shape) +
                     " does not exist"};
}

/// All in dimensions, with `registers` registers.
std::vector<InDim> insOf(const Layout &layout, int32_t registers) {
  std::vector<InDim> ins = {{Dim::Register, registers}};
  for (Dim dim : {Dim::Lane, Dim::Warp, Dim::Warpgroup})
    ins.push_back({dim, layout.inSize(dim)});
  return ins;
}

/// The layout over `result` of a tile each of whose registers holds what it held, under another
/// name.
Result<Layout> renamed(const Layout &layout, const Extents &result,
                       const std::function<Point(const Point &)> &name) {
  return fitLayout(
      insOf(layout, layout.inSize(Dim::Register)), {Dim::Row, Dim::Col},
      [&](const Point &slot) { return name(layout.apply(slot)); }, tileShape(result));
}

/// As renamed(), but registers that hold an element which a register before them holds are gone.
Result<Layout> merged(const Layout &layout, const Extents &result,
                      const std::function<Point(const Point &)> &name) {
  int32_t registers = layout.inSize(Dim::Register);
  std::vector<int32_t> first;
  std::vector<size_t> classOf;
  std::vector<Point> seen;
  for (int32_t reg = 0; reg < registers; ++reg) {
    Point slot;
    slot[Dim::Register] = reg;
    Point element = name(layout.apply(slot));
    auto found = std::find(seen.begin(), seen.end(), element);
    classOf.push_back(static_cast<size_t>(found - seen.begin()));
    if (found != seen.end())
      continue;
    seen.push_back(element);
    first.push_back(reg);
  }
  // Which registers hold the same must not depend on the thread.
  bool same = true;
  std::vector<Point> names(static_cast<size_t>(registers)); // of the thread being visited
  detail::forEachSlot(layout.spec(), [&](const Point &slot, const Point &element) {
    size_t reg = static_cast<size_t>(slot[Dim::Register]);
    names[reg] = name(element);
    same = same && names[reg] == names[static_cast<size_t>(first[classOf[reg]])];
  });
  if (!same)
    return LayoutError{"which registers hold the same element differs from thread to thread"};
  return fitLayout(
      insOf(layout, static_cast<int32_t>(first.size())), {Dim::Row, Dim::Col},
      [&](Point slot) {
        slot[Dim::Register] = first[static_cast<size_t>(slot[Dim::Register])];
        return name(layout.apply(slot));
      },
      tileShape(result));
}

Result<std::vector<int32_t>> sourcesOf(const Layout &source, const Layout &result,
                                       const std::function<Point(const Point &)> &from) {
  for (Dim dim : {Dim::Lane, Dim::Warp, Dim::Warpgroup})
    if (source.inSize(dim) != result.inSize(dim))
      return LayoutError{"the source is held by " + std::to_string(source.inSize(dim)) +
                         " of dimension '" + std::string(nameOf(dim)) + "', the result by " +
                         std::to_string(result.inSize(dim))};
  detail::Numbering numbering(source);
  // Registers of both, thread by thread: forEachSlot varies the register fastest.
  std::vector<size_t> held;
  detail::forEachSlot(source.spec(), [&](const Point &, const Point &element) {
    held.push_back(numbering.contains(element) ? numbering.of(element) : numbering.count());
  });
  size_t registers = static_cast<size_t>(source.inSize(Dim::Register));
  std::vector<int32_t> sources(static_cast<size_t>(result.inSize(Dim::Register)), -1);
  // Where the current thread holds each element, the first register if there are several.
  std::vector<int32_t> where(numbering.count() + 1, -1);
  size_t thread = 0;
  bool loaded = false;
  std::string error;
  detail::forEachSlot(result.spec(), [&](const Point &slot, const Point &element) {
    if (!error.empty())
      return;
    size_t reg = static_cast<size_t>(slot[Dim::Register]), base = thread * registers;
    if (!loaded) {
      for (size_t i = registers; i-- > 0;)
        where[held[base + i]] = static_cast<int32_t>(i);
      where.back() = -1;
      loaded = true;
    }
    size_t wanted = numbering.of(from ? from(element) : element);
    int32_t &found = sources[reg];
    if (found < 0)
      found = where[wanted];
    // The register that the first thread asks is the one that all ask.
    if (found < 0 || held[base + static_cast<size_t>(found)] != wanted) {
      Point place = from ? from(element) : element;
      error = "element (" + std::to_string(place[Dim::Row]) + ", " +
              std::to_string(place[Dim::Col]) + ") of the source is needed in " +
              describeSlot(result, slot) +
              (where[wanted] < 0 ? ", where it is not" : ", where it is in another register");
    }
    if (reg + 1 == sources.size()) {
      for (size_t i = 0; i < registers; ++i)
        where[held[base + i]] = -1;
      loaded = false;
      ++thread;
    }
  });
  if (!error.empty())
    return LayoutError{error};
  return sources;
}

} // namespace

Point elementOf(const Extents &shape, const Extents &index) {
  int32_t row = 0;
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    row = row * shape[i] + index[i];
  return Point::element(row, index.back());
}

void indexInto(Extents &index, const Extents &shape, const Point &element) {
  index.resize(shape.size());
  index.back() = element[Dim::Col];
  int32_t row = element[Dim::Row];
  for (size_t i = shape.size() - 1; i-- > 0; row /= shape[i])
    index[i] = row % shape[i];
}

Extents indexOf(const Extents &shape, const Point &element) {
  Extents index;
  indexInto(index, shape, element);
  return index;
}

Result<Layout> reduceOf(const Layout &layout, const Extents &shape, int32_t dim) {
  return remembered(asked(Change::Reduce, layout, shape, {dim}), [&]() -> Result<Layout> {
    if (auto error = mismatch(layout, shape))
      return *error;
    if (auto error = outside(shape, dim, static_cast<int32_t>(shape.size())))
      return *error;
    if (shape.size() < 2)
      return LayoutError{"a tile of one dimension reduces to a number, which has no layout"};
    Extents result = shape;
    result.erase(result.begin() + dim);
    Extents index;
    return merged(layout, result, [&](const Point &element) {
      indexInto(index, shape, element);
      index.erase(index.begin() + dim);
      return elementOf(result, index);
    });
  });
}

Result<Layout> expandOf(const Layout &layout, const Extents &shape, int32_t dim) {
  return remembered(asked(Change::Expand, layout, shape, {dim}), [&]() -> Result<Layout> {
    if (auto error = mismatch(layout, shape))
      return *error;
    if (auto error = outside(shape, dim, static_cast<int32_t>(shape.size()) + 1))
      return *error;
    Extents result = shape;
    result.insert(result.begin() + dim, 1);
    Extents index;
    return renamed(layout, result, [&](const Point &element) {
      indexInto(index, shape, element);
      index.insert(index.begin() + dim, 0);
      return elementOf(result, index);
    });
  });
}

static std::optional<LayoutError> broadcastError(const Extents &from, const Extents &to) {
  bool fits = from.size() == to.size();
  for (size_t i = 0; fits && i < from.size(); ++i)
    fits = from[i] == to[i] || from[i] == 1;
  if (fits)
    return std::nullopt;
  return LayoutError{"a tile of " + shapeText(from) + " cannot be broadcast to " + shapeText(to)};
}

Result<Layout> broadcastOf(const Layout &layout, const Extents &shape, const Extents &result) {
  return remembered(asked(Change::Broadcast, layout, shape, result), [&]() -> Result<Layout> {
    if (auto error = mismatch(layout, shape))
      return *error;
    if (auto error = broadcastError(shape, result))
      return *error;
    std::vector<size_t> repeated;
    int32_t copies = 1;
    for (size_t i = shape.size(); i-- > 0;)
      if (shape[i] != result[i]) {
        repeated.push_back(i);
        copies *= result[i];
      }
    int32_t registers = layout.inSize(Dim::Register);
    Extents index;
    return fitLayout(
        insOf(layout, registers * copies), {Dim::Row, Dim::Col},
        [&](Point slot) {
          int32_t copy = slot[Dim::Register] / registers;
          slot[Dim::Register] %= registers;
          indexInto(index, shape, layout.apply(slot));
          for (size_t i : repeated) {
            index[i] = copy % result[i];
            copy /= result[i];
          }
          return elementOf(result, index);
        },
        tileShape(result));
  });
}

Result<Layout> broadcastSourceOf(const Layout &layout, const Extents &result,
                                 const Extents &source) {
  return remembered(asked(Change::BroadcastSource, layout, result, source),
                    [&]() -> Result<Layout> {
                      if (auto error = mismatch(layout, result))
                        return *error;
                      if (auto error = broadcastError(source, result))
                        return *error;
                      Extents index;
                      return merged(layout, source, [&](const Point &element) {
                        indexInto(index, result, element);
                        for (size_t i = 0; i < index.size(); ++i)
                          if (source[i] == 1)
                            index[i] = 0;
                        return elementOf(source, index);
                      });
                    });
}

Result<Layout> transposeOf(const Layout &layout, const Extents &shape,
                           const std::vector<int32_t> &order) {
  return remembered(asked(Change::Transpose, layout, shape, order), [&]() -> Result<Layout> {
    if (auto error = mismatch(layout, shape))
      return *error;
    std::vector<int32_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    Extents result;
    for (size_t i = 0; i < sorted.size() && sorted[i] == static_cast<int32_t>(i); ++i)
      if (order[i] < static_cast<int32_t>(shape.size()))
        result.push_back(shape[static_cast<size_t>(order[i])]);
    if (result.size() != shape.size() || order.size() != shape.size())
      return LayoutError{"the order names each of the " + std::to_string(shape.size()) +
                         " dimensions once"};
    Extents from, index(shape.size());
    return renamed(layout, result, [&](const Point &element) {
      indexInto(from, shape, element);
      for (size_t i = 0; i < index.size(); ++i)
        index[i] = from[static_cast<size_t>(order[i])];
      return elementOf(result, index);
    });
  });
}

Result<Layout> reshapeOf(const Layout &layout, const Extents &shape, const Extents &result) {
  return remembered(asked(Change::Reshape, layout, shape, result), [&]() -> Result<Layout> {
    if (auto error = mismatch(layout, shape))
      return *error;
    if (result.empty())
      return LayoutError{"a tile has at least one dimension"};
    std::vector<int32_t> to = tileShape(result);
    int32_t cols = layout.cols();
    if (int64_t(to[0]) * to[1] != int64_t(layout.rows()) * cols)
      return LayoutError{"a tile of " + shapeText(shape) + " cannot be reshaped to " +
                         shapeText(result)};
    return renamed(layout, result, [&](const Point &element) {
      int32_t number = element[Dim::Row] * cols + element[Dim::Col];
      return Point::element(number / to[1], number % to[1]);
    });
  });
}

Result<Layout> joinOf(const Layout &layout, const Extents &shape) {
  return remembered(asked(Change::Join, layout, shape), [&]() -> Result<Layout> {
    if (auto error = mismatch(layout, shape))
      return *error;
    Extents result = shape;
    result.push_back(2);
    Extents index;
    return fitLayout(
        insOf(layout, 2 * layout.inSize(Dim::Register)), {Dim::Row, Dim::Col},
        [&](Point slot) {
          int32_t place = slot[Dim::Register] % 2;
          slot[Dim::Register] /= 2;
          indexInto(index, shape, layout.apply(slot));
          index.push_back(place);
          return elementOf(result, index);
        },
        tileShape(result));
  });
}

Result<Layout> splitOf(const Layout &layout, const Extents &shape) {
  return remembered(asked(Change::Split, layout, shape), [&]() -> Result<Layout> {
    if (auto error = mismatch(layout, shape))
      return *error;
    if (shape.size() < 2 || shape.back() != 2)
      return LayoutError{"a tile of " + shapeText(shape) +
                         " has no last dimension of extent 2 to split"};
    Result<Layout> part = reduceOf(layout, shape, static_cast<int32_t>(shape.size()) - 1);
    if (!part)
      return part;
    Extents half(shape.begin(), shape.end() - 1);
    for (int32_t place : {0, 1}) {
      Extents index;
      auto sources = registerSources(layout, *part, [&](const Point &element) {
        indexInto(index, half, element);
        index.push_back(place);
        return elementOf(shape, index);
      });
      if (!sources)
        return LayoutError{"not every thread holds both places: " + sources.error()};
    }
    return part;
  });
}

Result<Layout> coordinateOf(const Layout &layout, const Extents &shape, int32_t dim) {
  return remembered(asked(Change::Coordinate, layout, shape, {dim}), [&]() -> Result<Layout> {
    if (auto error = mismatch(layout, shape))
      return *error;
    if (auto error = outside(shape, dim, static_cast<int32_t>(shape.size())))
      return *error;
    if (shape.size() <= 2) {
      // Rows and columns are what the layout counts.
      size_t coordinate = dim + 1 == static_cast<int32_t>(shape.size()) ? 1 : 0;
      LayoutSpec spec{{Dim::Row}, {}, {}, {}};
      for (const Base &base : layout.spec().bases)
        spec.bases.push_back({base.dim, {base.to[coordinate]}});
      for (const Repeat &repeat : layout.spec().repeats)
        spec.repeats.push_back({repeat.dim, {repeat.step[coordinate]}, repeat.extent});
      return Layout::create(spec);
    }
    Extents index;
    return fitLayout(insOf(layout, layout.inSize(Dim::Register)), {Dim::Row},
                     [&](const Point &slot) {
                       indexInto(index, shape, layout.apply(slot));
                       return Point::element(index[static_cast<size_t>(dim)], 0);
                     });
  });
}

Result<std::vector<int32_t>> registerSources(const Layout &source, const Layout &result,
                                             const std::function<Point(const Point &)> &from,
                                             const std::vector<int32_t> &name) {
  if (from && name.empty())
    return sourcesOf(source, result, from);
  thread_local detail::Memo<Result<std::vector<int32_t>>> memo;
  return memo.get(detail::Question().add(source).add(result).add(name),
                  [&] { return sourcesOf(source, result, from); });
}

} // namespace girih
