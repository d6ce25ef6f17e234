// Construction, checks and evaluation of layouts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Layout/Layout.h"

#include "Enumerate.h"
#include "Memo.h"

#include <algorithm>
#include <functional>

namespace girih {
namespace {

constexpr std::array<std::string_view, kNumDims> kNames = {"register", "lane", "warp", "warpgroup",
                                                           "offset",   "row",  "col"};
/// More than shared memory and the register file of an SM hold, and small enough to visit.
constexpr int64_t kMaxSlots = int64_t(1) << 22;
/// The largest box whose elements are counted one by one.
constexpr int64_t kMaxElements = int64_t(1) << 24;
/// Coordinates stay far from overflow when they are added up.
constexpr int32_t kMaxCoordinate = 1 << 24;

std::string quoted(Dim dim) { return "'" + std::string(nameOf(dim)) + "'"; }

/// The reason why the parts make no layout, or an empty string.
std::string checkParts(const LayoutSpec &spec) {
  if (spec.outDims.empty())
    return "a layout needs at least one out dimension";
  for (size_t i = 0; i < spec.outDims.size(); ++i)
    if (std::count(spec.outDims.begin(), spec.outDims.end(), spec.outDims[i]) > 1)
      return "out dimension " + quoted(spec.outDims[i]) + " is named twice";
  auto check = [&](Dim dim, const std::vector<int32_t> &vector) -> std::string {
    if (vector.size() != spec.outDims.size())
      return "a vector of " + quoted(dim) + " has " + std::to_string(vector.size()) +
             " coordinates, expected " + std::to_string(spec.outDims.size());
    for (int32_t x : vector)
      if (x < 0 || x > kMaxCoordinate)
        return "a vector of " + quoted(dim) + " has the coordinate " + std::to_string(x) +
               ", expected 0 to " + std::to_string(kMaxCoordinate);
    return {};
  };
  std::array<int64_t, kNumDims> sizes;
  sizes.fill(1);
  std::vector<int64_t> reach(spec.outDims.size(), 0);
  int64_t slots = 1;
  auto grow = [&](Dim dim, int64_t extent) -> std::string {
    sizes[static_cast<size_t>(dim)] *= extent;
    slots *= extent;
    if (slots > kMaxSlots)
      return "a layout has at most " + std::to_string(kMaxSlots) + " slots";
    return {};
  };
  for (const Base &base : spec.bases) {
    if (std::string error = check(base.dim, base.to); !error.empty())
      return error;
    if (std::string error = grow(base.dim, 2); !error.empty())
      return error;
    for (size_t i = 0; i < reach.size(); ++i)
      reach[i] |= base.to[i];
  }
  for (const Repeat &repeat : spec.repeats) {
    if (std::string error = check(repeat.dim, repeat.step); !error.empty())
      return error;
    if (repeat.extent < 1 || repeat.extent > kMaxSlots)
      return "a repeat of " + quoted(repeat.dim) + " has the extent " +
             std::to_string(repeat.extent) + ", expected 1 to " + std::to_string(kMaxSlots);
    if (std::string error = grow(repeat.dim, repeat.extent); !error.empty())
      return error;
    for (size_t i = 0; i < reach.size(); ++i)
      reach[i] += int64_t(repeat.step[i]) * (repeat.extent - 1);
  }
  for (size_t i = 0; i < reach.size(); ++i)
    if (reach[i] > kMaxCoordinate)
      return quoted(spec.outDims[i]) + " reaches " + std::to_string(reach[i]) +
             ", expected at most " + std::to_string(kMaxCoordinate);
  auto limit = [&](Dim dim, int64_t most, const char *why) -> std::string {
    int64_t size = sizes[static_cast<size_t>(dim)];
    return size <= most ? std::string()
                        : quoted(dim) + " has " + std::to_string(size) + " indices, but " + why +
                              " has " + std::to_string(most);
  };
  if (std::string error = limit(Dim::Lane, 32, "a warp"); !error.empty())
    return error;
  if (std::string error = limit(Dim::Warp, 4, "a warpgroup"); !error.empty())
    return error;
  if (!spec.shape.empty() && spec.shape.size() != spec.outDims.size())
    return "the shape has " + std::to_string(spec.shape.size()) + " extents, expected " +
           std::to_string(spec.outDims.size());
  for (int32_t extent : spec.shape)
    if (extent < 1 || extent > kMaxCoordinate)
      return "the shape has the extent " + std::to_string(extent) + ", expected 1 to " +
             std::to_string(kMaxCoordinate);
  return {};
}

/// One more than the largest coordinate: the largest XOR of bases, found with a basis in echelon
/// form, and all counters at their end.
int32_t reachOf(const LayoutSpec &spec, size_t coordinate) {
  std::vector<int32_t> basis;
  for (const Base &base : spec.bases) {
    int32_t value = base.to[coordinate];
    for (int32_t b : basis)
      value = std::min(value, value ^ b);
    if (value)
      basis.push_back(value);
  }
  std::sort(basis.rbegin(), basis.rend());
  int32_t most = 0;
  for (int32_t b : basis)
    most = std::max(most, most ^ b);
  for (const Repeat &repeat : spec.repeats)
    most += repeat.step[coordinate] * (repeat.extent - 1);
  return most + 1;
}

/// "element (3, 17)", or with names where the out dimensions are not row and col.
std::string describeElement(const LayoutSpec &spec, int64_t index) {
  std::vector<int64_t> at(spec.shape.size());
  for (size_t i = at.size(); i-- > 0; index /= spec.shape[i])
    at[i] = index % spec.shape[i];
  bool plain = spec.outDims == std::vector<Dim>{Dim::Row, Dim::Col};
  std::string text = "element (";
  for (size_t i = 0; i < at.size(); ++i)
    text += (i ? ", " : "") + (plain ? "" : std::string(nameOf(spec.outDims[i])) + " ") +
            std::to_string(at[i]);
  return text + ")";
}

} // namespace

std::string_view nameOf(Dim dim) { return kNames[static_cast<size_t>(dim)]; }

std::optional<Dim> dimNamed(std::string_view name) {
  for (Dim dim : kAllDims)
    if (nameOf(dim) == name)
      return dim;
  return std::nullopt;
}

namespace detail {

std::vector<Digit> digitsOf(const LayoutSpec &spec) {
  std::vector<Digit> digits;
  for (Dim dim : kAllDims) {
    int32_t stride = 1;
    auto push = [&](Digit digit) {
      int32_t extent = static_cast<int32_t>(digit.flip.size());
      if (extent > 1)
        digits.push_back(std::move(digit));
      stride *= extent;
    };
    Digit atom{dim, 1, {Point()}, {}};
    for (const Base &base : spec.bases) {
      if (base.dim != dim)
        continue;
      Point to = toPoint(spec.outDims, base.to);
      size_t half = atom.flip.size();
      for (size_t i = 0; i < half; ++i)
        atom.flip.push_back(xorOf(atom.flip[i], to));
    }
    atom.add.resize(atom.flip.size());
    push(std::move(atom));
    for (const Repeat &repeat : spec.repeats) {
      if (repeat.dim != dim)
        continue;
      Digit counter{dim, stride, std::vector<Point>(static_cast<size_t>(repeat.extent)), {Point()}};
      Point step = toPoint(spec.outDims, repeat.step);
      while (counter.add.size() < counter.flip.size())
        counter.add.push_back(sumOf(counter.add.back(), step));
      push(std::move(counter));
    }
  }
  return digits;
}

} // namespace detail

Result<Layout> Layout::create(const LayoutSpec &spec) {
  thread_local detail::Memo<Result<Layout>> memo;
  return memo.get(detail::Question().add(spec), [&]() -> Result<Layout> {
    if (std::string error = checkParts(spec); !error.empty())
      return LayoutError{error};
    Layout layout;
    layout.parts = detail::canonical(spec);
    layout.inSizes.at.fill(1);
    layout.outSizes.at.fill(1);
    layout.box.at.fill(1);
    for (const Base &base : layout.parts.bases) {
      layout.inSizes[base.dim] *= 2;
      layout.points.push_back(detail::toPoint(layout.parts.outDims, base.to));
    }
    for (const Repeat &repeat : layout.parts.repeats) {
      layout.inSizes[repeat.dim] *= repeat.extent;
      layout.points.push_back(detail::toPoint(layout.parts.outDims, repeat.step));
    }

    for (size_t i = 0; i < layout.parts.outDims.size(); ++i)
      layout.box[layout.parts.outDims[i]] = reachOf(layout.parts, i);
    if (layout.parts.shape.empty())
      for (Dim dim : layout.parts.outDims)
        layout.parts.shape.push_back(layout.box[dim]);
    int64_t elements = 1;
    for (size_t i = 0; i < layout.parts.outDims.size() && elements <= kMaxElements; ++i) {
      layout.outSizes[layout.parts.outDims[i]] = layout.parts.shape[i];
      elements *= layout.parts.shape[i];
    }
    if (elements > kMaxElements)
      return LayoutError{"the layout spans " + std::to_string(elements) +
                         " elements, expected at most " + std::to_string(kMaxElements)};

    std::vector<uint8_t> count(static_cast<size_t>(elements), 0);
    layout.injective = true;
    detail::Numbering numbering(layout);
    detail::forEachSlot(layout.parts, [&](const Point &, const Point &element) {
      if (!numbering.contains(element)) {
        layout.padding = true;
        return;
      }
      uint8_t &seen = count[numbering.of(element)];
      layout.injective &= seen == 0;
      seen = 1;
    });
    if (auto hole = std::find(count.begin(), count.end(), 0); hole != count.end())
      layout.missing = hole - count.begin();
    return layout;
  });
}

int64_t Layout::numSlots() const {
  int64_t slots = 1;
  for (Dim dim : inDims())
    slots *= inSizes[dim];
  return slots;
}

std::vector<Dim> Layout::inDims() const {
  std::vector<Dim> dims;
  for (Dim dim : kAllDims)
    if (inSizes[dim] > 1)
      dims.push_back(dim);
  return dims;
}

Point Layout::apply(const Point &slot) const {
  Point rest = slot, flip, add;
  const Point *to = points.data();
  for (const Base &base : parts.bases) {
    if (rest[base.dim] & 1)
      flip = detail::xorOf(flip, *to);
    rest[base.dim] >>= 1;
    ++to;
  }
  for (const Repeat &repeat : parts.repeats) {
    int32_t count = rest[repeat.dim] % repeat.extent;
    rest[repeat.dim] /= repeat.extent;
    for (size_t i = 0; i < add.at.size(); ++i)
      add.at[i] += count * to->at[i];
    ++to;
  }
  return detail::sumOf(flip, add);
}

bool Layout::contains(const Point &element) const {
  for (size_t i = 0; i < parts.outDims.size(); ++i)
    if (element[parts.outDims[i]] >= parts.shape[i])
      return false;
  return true;
}

std::optional<std::string> Layout::tileError(int32_t rows, int32_t cols) const {
  if (parts.outDims != std::vector<Dim>{Dim::Row, Dim::Col})
    return "a layout of a tile leads to (row, col)";
  if (rows != this->rows() || cols != this->cols())
    return "the layout is of " + std::to_string(this->rows()) + "x" + std::to_string(this->cols()) +
           " elements, expected " + std::to_string(rows) + "x" + std::to_string(cols);
  if (!isSurjective())
    return describeElement(parts, missing) + " sits in no slot of the layout";
  return std::nullopt;
}

size_t Layout::hash() const { return std::hash<std::string>()(str()); }

} // namespace girih
