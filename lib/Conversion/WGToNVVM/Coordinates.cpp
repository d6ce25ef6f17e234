// Coordinates of a thread's elements; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Coordinates.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <bit>

using namespace mlir;

namespace girih::wg {

Extents extentsOf(RankedTensorType tile) {
  Extents extents;
  for (int64_t extent : tile.getShape())
    extents.push_back(static_cast<int32_t>(extent));
  return extents;
}

static Result<Coordinate> split(const Layout &layout) {
  LayoutSpec flips{{Dim::Row}, {}, {}, {}}, sums = flips;
  Coordinate coordinate;
  int32_t threadBits = 0; // bits that some thread flips
  int32_t all = 1 << 30;  // has no bit below those that threads move by
  bool hasSums = false;
  // Both parts keep all digits, so that an index is read the same way; what belongs to the other
  // part is zero.
  for (const Base &base : layout.spec().bases) {
    if (base.dim == Dim::Register)
      continue;
    flips.bases.push_back(base);
    sums.bases.push_back({base.dim, {0}});
    threadBits |= base.to[0];
    all |= base.to[0];
  }
  for (const Repeat &repeat : layout.spec().repeats) {
    if (repeat.dim == Dim::Register)
      continue;
    flips.repeats.push_back({repeat.dim, {0}, repeat.extent});
    sums.repeats.push_back(repeat);
    all |= repeat.step[0];
    hasSums |= repeat.step[0] != 0;
  }
  coordinate.threadZeros = std::countr_zero(static_cast<uint32_t>(all));

  // The registers' digits: the XOR of bases, which is a sum where no thread flips its bits, and
  // the counters.
  Layout registers = layout;
  LayoutSpec bases{{Dim::Row}, {}, {}, {}}, counters = bases;
  for (const Base &base : layout.spec().bases)
    if (base.dim == Dim::Register) {
      bases.bases.push_back(base);
      counters.bases.push_back({base.dim, {0}});
    }
  for (const Repeat &repeat : layout.spec().repeats)
    if (repeat.dim == Dim::Register) {
      bases.repeats.push_back({repeat.dim, {0}, repeat.extent});
      counters.repeats.push_back(repeat);
    }
  Result<Layout> flipOf = Layout::create(bases), addOf = Layout::create(counters);
  Result<Layout> threadFlips = Layout::create(flips), threadSums = Layout::create(sums);
  for (const Result<Layout> *part : {&flipOf, &addOf, &threadFlips, &threadSums})
    if (!*part)
      return LayoutError{part->error()};
  for (int32_t reg = 0; reg < layout.inSize(Dim::Register); ++reg) {
    Point slot;
    slot[Dim::Register] = reg;
    int32_t flip = flipOf->apply(slot)[Dim::Row], add = addOf->apply(slot)[Dim::Row];
    coordinate.steps.push_back({flip & threadBits, (flip & ~threadBits) + add});
  }
  if (threadBits)
    coordinate.flips = *threadFlips;
  if (hasSums)
    coordinate.sums = *threadSums;
  return coordinate;
}

Result<std::vector<Coordinate>> coordinatesOf(const Layout &layout, const Extents &shape) {
  std::vector<Coordinate> coordinates;
  for (int32_t dim = 0; dim < static_cast<int32_t>(shape.size()); ++dim) {
    Result<Layout> one = coordinateOf(layout, shape, dim);
    if (!one)
      return LayoutError{"the coordinates along dimension " + std::to_string(dim) + ": " +
                         one.error()};
    Result<Coordinate> coordinate = split(*one);
    if (!coordinate)
      return LayoutError{coordinate.error()};
    coordinates.push_back(std::move(*coordinate));
  }
  return coordinates;
}

CoordinateValues::CoordinateValues(OpBuilder &builder, Location loc, const Coordinate &coordinate,
                                   const ThreadPlace &place, Value start)
    : loc(loc), coordinate(coordinate), rest(start) {
  if (coordinate.flips)
    flips = emitLayout(builder, loc, *coordinate.flips, Dim::Row, place, 1);
  if (coordinate.sums) {
    Value sum = emitLayout(builder, loc, *coordinate.sums, Dim::Row, place, 1);
    rest = rest ? Value(LLVM::AddOp::create(builder, loc, rest, sum)) : sum;
  }
}

static Value constantOf(OpBuilder &builder, Location loc, int32_t value) {
  return LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
}

Value CoordinateValues::base(OpBuilder &builder, int32_t flip) {
  Value &value = known[{flip, 0}];
  if (value)
    return value;
  Value part = flips;
  if (part && flip)
    part = LLVM::XOrOp::create(builder, loc, part, constantOf(builder, loc, flip));
  if (part && rest)
    value = LLVM::AddOp::create(builder, loc, rest, part);
  else
    value = part ? part : rest ? rest : constantOf(builder, loc, 0);
  return value;
}

Value CoordinateValues::at(OpBuilder &builder, size_t reg) {
  auto [flip, add] = step(reg);
  Value from = base(builder, flip);
  if (!add)
    return from;
  Value &value = known[{flip, add}];
  if (!value)
    value = LLVM::AddOp::create(builder, loc, from, constantOf(builder, loc, add));
  return value;
}

} // namespace girih::wg
