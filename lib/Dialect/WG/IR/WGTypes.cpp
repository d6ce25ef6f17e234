// Types of the wg dialect: text, what they must satisfy, and the sizes that follow from them.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace girih::wg;

#define GET_TYPEDEF_CLASSES
#include "girih/Dialect/WG/IR/WGTypes.cpp.inc"

void WGDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "girih/Dialect/WG/IR/WGTypes.cpp.inc"
      >();
}

int64_t girih::wg::getStorageBits(Type elementType) {
  if (isa<FloatTF32Type>(elementType))
    return 32; // MLIR counts the 19 bits that carry information
  return elementType.isIntOrFloat() ? elementType.getIntOrFloatBitWidth() : 0;
}

namespace {

using EmitError = function_ref<InFlightDiagnostic()>;

LogicalResult verifyElementType(EmitError emitError, Type elementType) {
  int64_t bits = getStorageBits(elementType);
  if (bits == 8 || bits == 16 || bits == 32 || bits == 64)
    return success();
  return emitError() << "expected an element type of 8, 16, 32 or 64 bits, found " << elementType;
}

LogicalResult verifySwizzle(EmitError emitError, int64_t swizzle) {
  if (swizzle == 0 || swizzle == 32 || swizzle == 64 || swizzle == 128)
    return success();
  return emitError() << "expected a swizzle of 32, 64 or 128 bytes (or none), found " << swizzle;
}

LogicalResult verifyOrder(EmitError emitError, ArrayRef<int64_t> order, size_t rank) {
  if (order.size() == rank && isPermutationVector(order))
    return success();
  InFlightDiagnostic error = emitError();
  error << "expected an order that names each of the " << rank
        << " dimensions once, the fastest first, found [";
  llvm::interleaveComma(order, error);
  return error << "]";
}

/// `swizzle = 128` or `order = [0, 1]`, after a comma each, in any order.
ParseResult parseStorage(AsmParser &parser, SmallVectorImpl<int64_t> &order, int64_t &swizzle) {
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc where = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword) || parser.parseEqual())
      return failure();
    if (keyword == "swizzle") {
      if (parser.parseInteger(swizzle))
        return failure();
    } else if (keyword == "order") {
      order.clear();
      if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                         [&] { return parser.parseInteger(order.emplace_back()); }))
        return failure();
    } else {
      return parser.emitError(where) << "expected 'order' or 'swizzle', found '" << keyword << "'";
    }
  }
  return success();
}

/// Row-major: the last dimension is the fastest.
SmallVector<int64_t> defaultOrder(size_t rank) {
  return llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
}

void printStorage(AsmPrinter &printer, ArrayRef<int64_t> order, int64_t swizzle) {
  if (order != ArrayRef<int64_t>(defaultOrder(order.size()))) {
    printer << ", order = [";
    llvm::interleaveComma(order, printer);
    printer << "]";
  }
  if (swizzle)
    printer << ", swizzle = " << swizzle;
}

} // namespace

//===- buffer -------------------------------------------------------------------------------===//

Type BufferType::parse(AsmParser &parser) {
  SMLoc start = parser.getCurrentLocation();
  SmallVector<int64_t> shape;
  Type elementType;
  int64_t swizzle = 0;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType))
    return {};
  SmallVector<int64_t> order = defaultOrder(shape.size());
  if (parseStorage(parser, order, swizzle) || parser.parseGreater())
    return {};
  return parser.getChecked<BufferType>(start, parser.getContext(), shape, elementType, order,
                                       swizzle);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printDimensionList(getShape());
  printer << "x" << getElementType();
  printStorage(printer, getOrder(), getSwizzle());
  printer << ">";
}

LogicalResult BufferType::verify(EmitError emitError, ArrayRef<int64_t> shape, Type elementType,
                                 ArrayRef<int64_t> order, int64_t swizzle) {
  // More than shared memory holds, and little enough for the products of extents below.
  constexpr int64_t maxExtent = 1 << 20;
  if (shape.size() != 2 ||
      llvm::any_of(shape, [](int64_t extent) { return extent < 1 || extent > maxExtent; }))
    return emitError() << "expected a buffer of two dimensions of 1 to " << maxExtent
                       << " elements";
  if (failed(verifyElementType(emitError, elementType)) ||
      failed(verifyOrder(emitError, order, 2)) || failed(verifySwizzle(emitError, swizzle)))
    return failure();
  int64_t fastest = order.front();
  int64_t innerBytes = shape[fastest] * getStorageBits(elementType) / 8;
  // PTX ISA 9.0, 5.5.4 (TMA) and 9.7.15.5.1 (core matrices): lines are made of 16-byte pieces.
  if (innerBytes % 16)
    return emitError() << "expected the fastest dimension (" << fastest
                       << ") to be a multiple of 16 bytes, found " << shape[fastest]
                       << " elements of " << elementType << ", that is " << innerBytes << " bytes";
  if (swizzle && innerBytes > swizzle && shape[1 - fastest] % 8)
    return emitError() << "expected dimension " << 1 - fastest << " to be a multiple of 8, found "
                       << shape[1 - fastest] << ": " << innerBytes << " bytes along dimension "
                       << fastest << " make several panels of " << swizzle
                       << " bytes, and each starts where the swizzle's pattern of 8 lines does";
  return success();
}

int64_t BufferType::getElementBits() const { return getStorageBits(getElementType()); }

int64_t BufferType::getPitchBytes() const {
  return getSwizzle() ? getSwizzle() : getInnerExtent() * getElementBits() / 8;
}

int64_t BufferType::getPanelExtent() const {
  return getSwizzle() ? getSwizzle() * 8 / getElementBits() : getInnerExtent();
}

int64_t BufferType::getNumPanels() const {
  return llvm::divideCeil(getInnerExtent(), getPanelExtent());
}

//===- view ---------------------------------------------------------------------------------===//

Type ViewType::parse(AsmParser &parser) {
  SMLoc start = parser.getCurrentLocation();
  Type elementType;
  SmallVector<int64_t> box;
  int64_t swizzle = 0;
  if (parser.parseLess() || parser.parseType(elementType) || parser.parseComma() ||
      parser.parseKeyword("box") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(box.emplace_back()); }))
    return {};
  SmallVector<int64_t> order = defaultOrder(box.size());
  if (parseStorage(parser, order, swizzle) || parser.parseGreater())
    return {};
  return parser.getChecked<ViewType>(start, parser.getContext(), elementType, box, order, swizzle);
}

void ViewType::print(AsmPrinter &printer) const {
  printer << "<" << getElementType() << ", box = [";
  llvm::interleaveComma(getBox(), printer);
  printer << "]";
  printStorage(printer, getOrder(), getSwizzle());
  printer << ">";
}

// PTX ISA 9.0, 5.5.4 "Bounding box", and CUDA driver API, cuTensorMapEncodeTiled: boxDim and
// interleave.
LogicalResult ViewType::verify(EmitError emitError, Type elementType, ArrayRef<int64_t> box,
                               ArrayRef<int64_t> order, int64_t swizzle) {
  if (box.empty() || box.size() > 5)
    return emitError() << "expected a box of one to five dimensions, found " << box.size();
  if (failed(verifyElementType(emitError, elementType)) ||
      failed(verifyOrder(emitError, order, box.size())) ||
      failed(verifySwizzle(emitError, swizzle)))
    return failure();
  for (auto [dim, extent] : llvm::enumerate(box))
    if (extent < 1 || extent > 256)
      return emitError() << "expected every extent of a box to be 1 to 256, found " << extent
                         << " in dimension " << dim
                         << ": a larger buffer is filled by several copies of a smaller box";
  int64_t innerBytes = box[order.front()] * getStorageBits(elementType) / 8;
  if (innerBytes % 16)
    return emitError() << "expected the box's fastest dimension (" << order.front()
                       << ") to be a multiple of 16 bytes, found " << innerBytes << " bytes";
  if (swizzle && innerBytes > swizzle)
    return emitError() << "expected the box's fastest dimension (" << order.front()
                       << ") to be at most the swizzle's span of " << swizzle << " bytes, found "
                       << innerBytes
                       << " bytes: a wider buffer is filled by several copies of one span";
  return success();
}

int64_t ViewType::getBoxBytes() const {
  int64_t elements = 1;
  for (int64_t extent : getBox())
    elements *= extent;
  return elements * getStorageBits(getElementType()) / 8;
}

int64_t ViewType::getSlowDim() const {
  ArrayRef<int64_t> others = getOrder().drop_front();
  const int64_t *found = llvm::find_if(others, [&](int64_t dim) { return getBox()[dim] > 1; });
  return found != others.end() ? *found : others.empty() ? -1 : others.front();
}

int64_t ViewType::getNumCopies(BufferType buffer) const {
  int64_t slow = getSlowDim();
  return llvm::divideCeil(buffer.getInnerExtent(), getBox()[getFastestDim()]) *
         llvm::divideCeil(buffer.getOuterExtent(), slow < 0 ? 1 : getBox()[slow]);
}

//===- ring, barrier, pending ---------------------------------------------------------------===//

Type RingType::parse(AsmParser &parser) {
  SMLoc start = parser.getCurrentLocation();
  SmallVector<BufferType> buffers;
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseType(buffers.emplace_back()); }) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<RingType>(start, parser.getContext(), buffers);
}

void RingType::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getBuffers(), printer);
  printer << "]>";
}

LogicalResult RingType::verify(EmitError emitError, ArrayRef<BufferType> buffers) {
  if (buffers.empty())
    return emitError() << "expected a slot of at least one buffer, found none";
  return success();
}

int64_t RingType::getSlotBytes() const {
  int64_t alignment = 1, bytes = 0;
  for (BufferType buffer : getBuffers())
    alignment = std::max(alignment, buffer.getAlignment());
  for (BufferType buffer : getBuffers())
    bytes += llvm::alignTo(buffer.getBytes(), alignment);
  return bytes;
}

LogicalResult BarrierType::verify(EmitError emitError, int64_t count) {
  if (count < 1)
    return emitError() << "expected an array of at least one barrier, found " << count;
  return success();
}

LogicalResult TurnsType::verify(EmitError emitError, int64_t warpgroups) {
  // A CTA has at most eight warpgroups.
  if (warpgroups < 2 || warpgroups > 8)
    return emitError() << "expected turns among 2 to 8 warpgroups, found " << warpgroups;
  return success();
}

LogicalResult PendingType::verify(EmitError emitError, RankedTensorType tile) {
  if (!isTile(tile))
    return emitError() << "expected a tile (a ranked tensor with a #wg.layout encoding), found "
                       << tile;
  return success();
}
