// Which element sits in which lane, warp, register or place of shared memory. A layout is an atom,
// repeated: the atom is a linear map over GF(2), which is what swizzles and fragments are, and the
// repeats are counters of any extent, because the tiles worth having (192x176, say) are no powers
// of two. docs/Layout.md tells the story with pictures.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LAYOUT_LAYOUT_H
#define GIRIH_LAYOUT_LAYOUT_H

#include "girih/Layout/Result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace girih {

/// A named dimension. The first five say a place in the hardware, the last two an element of a
/// tile.
///
/// - Register counts ELEMENTS held by one thread, in the order in which the instruction lists them.
/// 16-bit elements
///   2j and 2j+1 share the 32-bit register j, the even one in the low half; 8-bit elements 4j..4j+3
///   likewise.
/// - Lane is %laneid (0..31), Warp the warp's index inside its warpgroup (0..3), Warpgroup the
/// index of the warpgroup
///   among those that share the tile.
/// - Offset counts ELEMENTS from the start of a shared-memory buffer; the byte is offset * element
/// size. (Bytes would
///   make every layout of wide elements many-to-one; multiplying by a power of two commutes with
///   XOR.)
enum class Dim : uint8_t { Register, Lane, Warp, Warpgroup, Offset, Row, Col };
inline constexpr int kNumDims = 7;
inline constexpr std::array<Dim, kNumDims> kAllDims = {
    Dim::Register, Dim::Lane, Dim::Warp, Dim::Warpgroup, Dim::Offset, Dim::Row, Dim::Col};

/// "register", "lane", "warp", "warpgroup", "offset", "row" or "col".
std::string_view nameOf(Dim dim);
/// The dimension of that name, if there is one.
std::optional<Dim> dimNamed(std::string_view name);

/// One index per dimension; those that a layout does not mention are 0.
struct Point {
  std::array<int32_t, 8> at{}; // the eighth entry is padding for the vector units

  constexpr int32_t &operator[](Dim dim) { return at[static_cast<size_t>(dim)]; }
  constexpr int32_t operator[](Dim dim) const { return at[static_cast<size_t>(dim)]; }
  friend bool operator==(const Point &, const Point &) = default;

  static constexpr Point element(int32_t row, int32_t col) {
    Point point;
    point[Dim::Row] = row;
    point[Dim::Col] = col;
    return point;
  }
};

/// Where one bit of an index of the atom goes; coordinates follow LayoutSpec::outDims.
struct Base {
  Dim dim;
  std::vector<int32_t> to;
  friend bool operator==(const Base &, const Base &) = default;
};

/// A counter above the atom: each count adds `step`.
struct Repeat {
  Dim dim;
  std::vector<int32_t> step;
  int32_t extent;
  friend bool operator==(const Repeat &, const Repeat &) = default;
};

/// The written form of a layout, from which one is built and to which it can be taken apart again.
/// An index of a dimension is read as digits: first one bit per base of that dimension, then one
/// digit per repeat, each in the order of the list, the first one varying fastest. The element is
/// the XOR of the bases of all set bits plus, as ordinary sums, count times step of every repeat.
struct LayoutSpec {
  std::vector<Dim> outDims = {Dim::Row, Dim::Col};
  std::vector<Base> bases;
  std::vector<Repeat> repeats;
  /// Extents of outDims. Empty: as far as the map reaches. Smaller than that: what lies outside is
  /// padding.
  std::vector<int32_t> shape;
  friend bool operator==(const LayoutSpec &, const LayoutSpec &) = default;
};

/// An immutable layout in canonical form, so that two layouts are equal exactly if they map alike
/// (same shape, same element in every slot), and equal layouts print the same text.
///
/// Text (one line; identifiers, integers and the marks `[ ] { } ( ) = : , x` only, so that any
/// tokeniser reads it):
///
///   layout  ::= atom [ repeats ] [ over ]
///   atom    ::= `{` [ bases { `,` bases } ] `}`
///   bases   ::= dim `:` `[` [ vector { `,` vector } ] `]`    one vector per bit, lowest first
///   repeats ::= `repeat` `{` repeat { `,` repeat } `}`
///   repeat  ::= dim `:` vector `x` integer                   a dim may recur, fastest first
///   over    ::= `over` `{` dim `:` integer { `,` dim `:` integer } `}`
///   vector  ::= `[` integer { `,` integer } `]`              one integer per out dimension
///   dim     ::= `register` | `lane` | `warp` | `warpgroup` | `offset` | `row` | `col`
///
/// `over` names the out dimensions and their extents; without it they are row and col, as far as
/// the map reaches. The accumulator of three warpgroups, 192x176:
///
///   {register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}
///     repeat {register: [0,8] x 22, warpgroup: [64,0] x 3}
class Layout {
public:
  /// Checks and builds. Refused, with a reason: an out dimension named twice, a vector of the
  /// wrong length, negative numbers, more than 32 lanes or 4 warps, more than 2^22 slots. A map
  /// that misses elements of its shape is a layout (that of one register's elements, say), but not
  /// of a tile: see isSurjective() and tileError().
  static Result<Layout> create(const LayoutSpec &spec);
  /// Reads the text form. The reason of a refusal says what was expected and what was found, with
  /// the column.
  static Result<Layout> parse(std::string_view text);
  /// The canonical text.
  std::string str() const;

  /// The canonical parts.
  const LayoutSpec &spec() const { return parts; }
  const std::vector<Dim> &outDims() const { return parts.outDims; }
  /// The element extents, in the order of outDims().
  const std::vector<int32_t> &shape() const { return parts.shape; }
  /// Number of indices of an in dimension; 1 for one that the layout does not have.
  int32_t inSize(Dim dim) const { return inSizes[dim]; }
  /// Extent of an out dimension; 1 for one that the layout does not have.
  int32_t outSize(Dim dim) const { return outSizes[dim]; }
  /// Whichever of the two applies, for layouts that have a dimension on one side only (all but
  /// those that lead from lanes to lanes, say).
  int32_t size(Dim dim) const { return outSizes[dim] > 1 ? outSizes[dim] : inSizes[dim]; }
  int32_t rows() const { return outSizes[Dim::Row]; }
  int32_t cols() const { return outSizes[Dim::Col]; }
  /// How far the map reaches along an out dimension, padding included; equal to outSize() without
  /// padding.
  int32_t reach(Dim dim) const { return box[dim]; }
  /// Number of places: the product of the sizes of the in dimensions.
  int64_t numSlots() const;
  /// In dimensions with more than one index, in the order of the enum.
  std::vector<Dim> inDims() const;

  /// No element sits in two slots.
  bool isInjective() const { return injective; }
  /// Every element of the shape sits in some slot.
  bool isSurjective() const { return missing < 0; }
  /// Some slots hold no element of the shape.
  bool hasPadding() const { return padding; }

  /// The element at a slot. Indices must lie inside the sizes. The answer may be padding: ask
  /// contains().
  Point apply(const Point &slot) const;
  /// Whether an element lies inside the shape.
  bool contains(const Point &element) const;

  /// Why this is not a layout of a whole rows x cols tile (or buffer), in words, if it is not: the
  /// shape differs, or an element sits nowhere.
  std::optional<std::string> tileError(int32_t rows, int32_t cols) const;

  size_t hash() const;
  friend bool operator==(const Layout &a, const Layout &b) { return a.parts == b.parts; }

private:
  Layout() = default;
  LayoutSpec parts;
  std::vector<Point> points; // what each base and then each repeat of `parts` leads to
  Point inSizes, outSizes, box;
  int64_t missing = -1; // row-major index of the first element that sits nowhere
  bool injective = false, padding = false;
};

} // namespace girih

#endif // GIRIH_LAYOUT_LAYOUT_H
