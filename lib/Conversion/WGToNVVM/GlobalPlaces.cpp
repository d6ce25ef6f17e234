// Places of elements; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GlobalPlaces.h"

#include "Patterns.h"

#include "girih/Conversion/WGToNVVM/Registers.h"

using namespace mlir;

namespace girih::wg {

Value zeroElement(OpBuilder &builder, Location loc, Type elementType) {
  return LLVM::ZeroOp::create(builder, loc, llvmElementType(elementType));
}

Value bothTrue(OpBuilder &builder, Location loc, Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return LLVM::AndOp::create(builder, loc, a, b);
}

Value insideAsAWhole(OpBuilder &builder, Location loc, const GlobalView &view, ValueRange indices,
                     ArrayRef<int32_t> shape, std::optional<int64_t> except) {
  Value inside;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (except && *except == static_cast<int64_t>(dim))
      continue;
    Value room =
        LLVM::SubOp::create(builder, loc, view.extents[dim], i32Constant(builder, loc, shape[dim]));
    Value low = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::sge, index,
                                     i32Constant(builder, loc, 0));
    Value high = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::sle, index, room);
    inside = bothTrue(builder, loc, inside, bothTrue(builder, loc, low, high));
  }
  if (inside)
    return inside;
  return LLVM::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
}

PartTest::PartTest(OpBuilder &builder, Location loc, const TileAccess &plan, RankedTensorType tile,
                   ArrayRef<int32_t> part, const ThreadPlace &place)
    : loc(loc), part(part) {
  for (auto [dim, extent] : llvm::enumerate(part)) {
    if (extent == tile.getDimSize(dim))
      continue;
    dims.push_back(dim);
    coordinates.emplace_back(builder, loc, plan.coordinates[dim], place, Value());
  }
}

Value PartTest::inside(OpBuilder &builder, size_t reg) {
  Value result;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    auto [flip, add] = coordinates[i].step(reg);
    Value &known = tests[{i, flip, add}];
    if (!known)
      known = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ult,
                                   coordinates[i].at(builder, reg),
                                   i32Constant(builder, loc, part[dim]));
    result = bothTrue(builder, loc, result, known);
  }
  return result;
}

Places::Places(OpBuilder &builder, Location loc, const TileAccess &plan, const GlobalView &view,
               const ThreadPlace &place, ValueRange indices, const ListedDim *listed,
               ArrayRef<Value> listedPlaces)
    : loc(loc), view(view), listed(listed), places(listedPlaces) {
  for (auto [coordinate, index] : llvm::zip_equal(plan.coordinates, indices))
    coordinates.emplace_back(builder, loc, coordinate, place, index);
  if (listed)
    for (Value &value : places)
      value = LLVM::AddOp::create(builder, loc, value, indices[listed->dim]);
}

/// A listed dimension counts its places in the bits to flip: each has an address of its own.
Coordinate::Step Places::step(size_t dim, size_t reg) const {
  return isListed(dim) ? Coordinate::Step{listed->numberOf[reg], 0} : coordinates[dim].step(reg);
}

Value Places::insideAlong(OpBuilder &builder, size_t dim, size_t reg) {
  auto [flip, add] = step(dim, reg);
  Value &known = tests[{dim, flip, add}];
  // One comparison: what is below 0 is a large unsigned number.
  if (!known)
    known = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ult,
                                 isListed(dim) ? places[flip] : coordinates[dim].at(builder, reg),
                                 view.extents[dim]);
  return known;
}

Value Places::room(OpBuilder &builder, size_t dim, size_t reg) {
  return LLVM::SubOp::create(builder, loc, view.extents[dim],
                             isListed(dim) ? places[listed->numberOf[reg]]
                                           : coordinates[dim].at(builder, reg));
}

Value Places::inside(OpBuilder &builder, size_t reg) {
  Value result;
  for (size_t dim = 0; dim < coordinates.size(); ++dim)
    result = bothTrue(builder, loc, result, insideAlong(builder, dim, reg));
  return result;
}

std::pair<Value, int64_t> Places::address(OpBuilder &builder, size_t reg) {
  Numbers flips, adds;
  int64_t offset = 0;
  for (size_t dim = 0; dim < coordinates.size(); ++dim) {
    auto [flip, add] = step(dim, reg);
    bool contiguous = static_cast<int64_t>(dim) == view.type.getContiguous();
    flips.push_back(flip);
    adds.push_back(contiguous ? 0 : add);
    if (contiguous)
      offset = add;
  }
  return {pointer(builder, flips, adds), offset};
}

/// Constants are reached bit by bit from smaller ones, so that a row costs one addition, and few
/// multiples of a stride are kept.
Value Places::pointer(OpBuilder &builder, const Numbers &flips, const Numbers &adds) {
  Value &known = pointers[{flips, adds}];
  if (known)
    return known;
  auto last = llvm::find_if(llvm::reverse(adds), [](int32_t add) { return add != 0; });
  if (last == adds.rend()) {
    Value made = view.pointer;
    for (size_t dim = 0; dim < coordinates.size(); ++dim)
      made = view.advance(builder, loc, made, static_cast<int64_t>(dim),
                          isListed(dim) ? places[flips[dim]]
                                        : coordinates[dim].base(builder, flips[dim]));
    return known = made;
  }
  Numbers less = adds;
  size_t dim = static_cast<size_t>(std::distance(last, adds.rend())) - 1;
  int32_t bit = adds[dim] & -adds[dim];
  less[dim] -= bit;
  Value from = pointer(builder, flips, less);
  return known = view.advance(builder, loc, from, static_cast<int64_t>(dim),
                              i32Constant(builder, loc, bit));
}

} // namespace girih::wg
