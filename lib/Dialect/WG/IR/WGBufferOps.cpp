// Shared memory: alignment of what is allocated, and which parts of a buffer are buffers
// themselves.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace girih::wg;

void AllocBufferOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getBuffer(), getName().value_or("buffer"));
}

void AllocBarrierOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getBarrier(), getName().value_or("barrier"));
}

LogicalResult AllocBufferOp::verify() {
  int64_t alignment = getBuffer().getType().getAlignment();
  if (getOffset() && *getOffset() % alignment)
    return emitOpError("has offset ") << *getOffset() << ": expected a multiple of " << alignment
                                      << ", since the swizzle works on absolute address bits";
  return success();
}

LogicalResult AllocBarrierOp::verify() {
  if (getOffset() && *getOffset() % 8)
    return emitOpError("has offset ") << *getOffset() << ": expected a multiple of 8";
  return success();
}

LogicalResult SlotOp::verify() {
  auto alloc = getBuffers().getDefiningOp<AllocBufferOp>();
  if (!alloc)
    return emitOpError(
        "expects the result of a wg.alloc_buffer with a count: only that is an array "
        "of slots");
  APInt index;
  if (matchPattern(getIndex(), m_ConstantInt(&index)) &&
      (index.isNegative() || index.sge(alloc.getSlots())))
    return emitOpError("asks for slot ") << index.getSExtValue() << " of " << alloc.getSlots();
  return success();
}

LogicalResult SubbufferOp::verify() {
  BufferType source = getSource().getType(), part = getPart().getType();
  if (source.getElementType() != part.getElementType() || source.getOrder() != part.getOrder() ||
      source.getSwizzle() != part.getSwizzle())
    return emitOpError("expects a part of the source's element type, order and swizzle, found ")
           << part << " from " << source;
  ArrayRef<int64_t> offsets = getStaticOffsets();
  int64_t values = llvm::count_if(offsets, ShapedType::isDynamic);
  if (offsets.size() != 2 || values != static_cast<int64_t>(getOffsets().size()))
    return emitOpError("expects two offsets, one for each dimension");
  int64_t fastest = source.getFastestDim();
  for (int64_t dim : {int64_t{0}, int64_t{1}}) {
    int64_t offset = offsets[dim], extent = part.getShape()[dim], whole = source.getShape()[dim];
    int64_t first = ShapedType::isDynamic(offset) ? 0 : offset;
    if (first < 0 || first + extent > whole)
      return emitOpError("takes elements ") << first << " to " << first + extent << " of dimension "
                                            << dim << ", which has " << whole;
    if (!source.getSwizzle())
      continue;
    int64_t unit = dim == fastest ? source.getPanelExtent() : 8;
    if (first % unit)
      return emitOpError("starts at ")
             << first << " in dimension " << dim << ": expected a multiple of " << unit << ", "
             << (dim == fastest ? "the elements of one panel"
                                : "the lines of the swizzle's pattern");
  }
  if (part.getNumPanels() > 1 && part.getOuterExtent() != source.getOuterExtent())
    return emitOpError("takes ")
           << part.getOuterExtent() << " of " << source.getOuterExtent() << " lines of "
           << part.getNumPanels()
           << " panels, which do not follow each other: take one panel at a time, or all lines";
  if (!source.getSwizzle() && part.getInnerExtent() != source.getInnerExtent())
    return emitOpError("takes ") << part.getInnerExtent() << " of " << source.getInnerExtent()
                                 << " elements of a line: without a swizzle take whole lines";
  return success();
}
