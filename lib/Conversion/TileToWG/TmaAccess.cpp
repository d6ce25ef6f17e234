// From a view to the array behind it, and from a tile's shape to the box of a copy.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TmaAccess.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace girih::wg {

/// What the walk from a view to its array knows of one dimension of the view it has come to.
namespace {
struct Axis {
  int64_t viewDim = -1; ///< dimension of the view that the walk started from; -1: selected
  SmallVector<Value, 2> terms;
  tile::SliceOp slice;
};
} // namespace

Result<ArrayPlace> findArray(Value view, ValueRange indices, const HostSide &host) {
  SmallVector<Axis> axes;
  for (auto [dim, index] : llvm::enumerate(indices))
    axes.push_back({static_cast<int64_t>(dim), {index}, {}});
  ArrayPlace place;
  place.dims.resize(indices.size());
  place.slices.resize(indices.size());

  tile::ViewOp root;
  while (!root) {
    Operation *op = view.getDefiningOp();
    if (auto slice = dyn_cast_if_present<tile::SliceOp>(op)) {
      Axis &axis = axes[slice.getDim()];
      axis.terms.push_back(slice.getLow());
      axis.slice = slice;
      view = slice.getSource();
    } else if (auto select = dyn_cast_if_present<tile::SelectOp>(op)) {
      axes.insert(axes.begin() + select.getDim(), Axis{-1, {select.getIndex()}, {}});
      view = select.getSource();
    } else if (auto permute = dyn_cast_if_present<tile::PermuteOp>(op)) {
      SmallVector<Axis> before(axes.size());
      for (auto [dim, from] : llvm::enumerate(permute.getOrder()))
        before[from] = axes[dim];
      axes = std::move(before);
      view = permute.getSource();
    } else if (!(root = dyn_cast_if_present<tile::ViewOp>(op))) {
      return LayoutError{"its view is chosen at run time"};
    }
  }

  place.array = host.passedFor(root.getPointer());
  if (!place.array)
    return LayoutError{"its pointer is not passed to the kernel by one launch of a host plan"};
  auto array = dyn_cast<plan::ArrayType>(place.array.getType());
  if (!array)
    return LayoutError{"it lies in scratch memory"};
  std::string name = host.nameOf(place.array);
  if (array.getElementType().isUnsignedInteger())
    return LayoutError{"elements of " + name + " are unsigned, for which there are no maps"};
  if (array.getContiguous() < 0)
    return LayoutError{"no dimension of " + name + " is known to be contiguous"};
  if (!array.getAligned())
    return LayoutError{"base and pitches of " + name +
                       " are not known to be multiples of 16 bytes"};
  if (array.getRank() < 1 || array.getRank() > 5)
    return LayoutError{name + " has " + std::to_string(array.getRank()) +
                       " dimensions, TMA takes one to five"};
  if (array.getRank() != static_cast<int64_t>(axes.size()))
    return LayoutError{"its view has other dimensions than " + name};
  for (auto [dim, axis] : llvm::enumerate(axes)) {
    auto d = static_cast<int64_t>(dim);
    if (!host.isExtent(root.getExtents()[dim], place.array, d) ||
        !host.isStride(root.getStrides()[dim], place.array, d))
      return LayoutError{"dimension " + std::to_string(d) + " of its view is not that of " + name};
    place.coordinates.push_back(axis.terms);
    if (axis.viewDim < 0)
      continue;
    place.dims[axis.viewDim] = d;
    place.slices[axis.viewDim] = axis.slice;
  }
  return place;
}

int64_t swizzleFor(int64_t bytes) {
  for (int64_t span : {128, 64, 32})
    if (bytes % span == 0)
      return span;
  return 0;
}

/// The largest part of an extent, in whole patterns of 8 lines, that one box may hold; 0 without.
static int64_t linesOfBox(int64_t extent) {
  constexpr int64_t kMaxBox = 256;
  if (extent <= kMaxBox)
    return extent;
  for (int64_t part = kMaxBox; part >= 8; part -= 8)
    if (extent % part == 0)
      return part;
  return 0;
}

Result<TmaCopy> chooseCopy(plan::ArrayType array, ArrayRef<int64_t> shape,
                           ArrayRef<int64_t> arrayDims) {
  Type element = array.getElementType();
  int64_t bits = getStorageBits(element);
  if (bits < 8 || bits > 64)
    return LayoutError{"TMA does not copy elements of this type"};
  int64_t fast = arrayDims[1] == array.getContiguous()   ? 1
                 : arrayDims[0] == array.getContiguous() ? 0
                                                         : -1;
  if (fast < 0)
    return LayoutError{"the array's contiguous dimension is not one of the tile's"};
  int64_t slow = 1 - fast, bytes = bits / 8;
  int64_t span = swizzleFor(shape[fast] * bytes);
  if (!span)
    return LayoutError{"a line of the tile has " + std::to_string(shape[fast] * bytes) +
                       " bytes, which no swizzle fits (expected a multiple of 32)"};
  int64_t lines = linesOfBox(shape[slow]);
  if (!lines)
    return LayoutError{std::to_string(shape[slow]) +
                       " lines do not fall into boxes of at most 256"};
  if (shape[fast] * bytes > span && shape[slow] % 8)
    return LayoutError{std::to_string(shape[slow]) + " lines in panels of " + std::to_string(span) +
                       " bytes (expected a multiple of 8)"};

  TmaCopy copy;
  SmallVector<int64_t> box(array.getRank(), 1), order{arrayDims[fast]};
  box[arrayDims[fast]] = std::min(shape[fast], span / bytes);
  box[arrayDims[slow]] = lines;
  for (int64_t dim = array.getRank() - 1; dim >= 0; --dim)
    if (dim != arrayDims[fast])
      order.push_back(dim);
  MLIRContext *context = element.getContext();
  SmallVector<int64_t> bufferOrder{fast, slow};
  copy.buffer = BufferType::get(context, shape, element, bufferOrder, span);
  copy.view = ViewType::get(context, element, box, order, span);
  copy.transposed = arrayDims[0] > arrayDims[1];
  // With a single line the map cannot tell which other dimension it is: the first of its order.
  if (lines == 1 && copy.view.getSlowDim() != arrayDims[slow])
    copy.transposed = (arrayDims[fast] > copy.view.getSlowDim()) != (fast == 1);
  return copy;
}

std::optional<ViewType> boxOfShare(const TmaCopy &copy, int64_t ctas) {
  if (copy.buffer.getNumPanels() % ctas == 0)
    return copy.view;
  int64_t lines = copy.buffer.getOuterExtent();
  if (lines % (8 * ctas) || copy.view.getSlowDim() < 0)
    return std::nullopt;
  SmallVector<int64_t> box(copy.view.getBox());
  box[copy.view.getSlowDim()] = linesOfBox(lines / ctas);
  return ViewType::get(copy.view.getContext(), copy.view.getElementType(), box,
                       copy.view.getOrder(), copy.view.getSwizzle());
}

SmallVector<Value> coordinatesOf(OpBuilder &builder, Location loc, const ArrayPlace &place,
                                 function_ref<Value(Value)> mapped) {
  SmallVector<Value> coordinates;
  for (ArrayRef<Value> terms : place.coordinates) {
    Value sum = mapped(terms.front());
    for (Value term : terms.drop_front())
      sum = arith::AddIOp::create(builder, loc, sum, mapped(term));
    coordinates.push_back(sum);
  }
  return coordinates;
}

} // namespace girih::wg
