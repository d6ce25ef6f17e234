// The tile dialect's registration, the type of views and its text.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace girih::tile;

#include "girih/Dialect/Tile/IR/TileDialect.cpp.inc"
#include "girih/Dialect/Tile/IR/TileEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "girih/Dialect/Tile/IR/TileTypes.cpp.inc"

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "girih/Dialect/Tile/IR/TileTypes.cpp.inc"
      >();
}

void TileDialect::initialize() {
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "girih/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
}

bool girih::tile::isTile(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getRank() > 0 &&
         llvm::all_of(tensor.getShape(), [](int64_t extent) { return extent > 0; });
}

Type girih::tile::elementTypeOf(Type type) { return getElementTypeOrSelf(type); }

static int64_t bytesOf(Type elementType) {
  return std::max<int64_t>(1, elementType.getIntOrFloatBitWidth() / 8);
}

int64_t ViewType::getElementBytes() const { return bytesOf(getElementType()); }

// <bf16, rank = 2, contiguous = 1, align = 16>
Type ViewType::parse(AsmParser &parser) {
  SMLoc start = parser.getCurrentLocation();
  Type elementType;
  int64_t rank = 0, contiguous = -1, align = 0;
  if (parser.parseLess() || parser.parseType(elementType) || parser.parseComma() ||
      parser.parseKeyword("rank") || parser.parseEqual() || parser.parseInteger(rank))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef keyword;
    SMLoc where = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return {};
    if (keyword != "contiguous" && keyword != "align") {
      parser.emitError(where) << "expected 'contiguous' or 'align', found '" << keyword << "'";
      return {};
    }
    if (parser.parseEqual() || parser.parseInteger(keyword == "align" ? align : contiguous))
      return {};
  }
  if (parser.parseGreater())
    return {};
  if (align == 0 && elementType.isIntOrFloat())
    align = bytesOf(elementType);
  return parser.getChecked<ViewType>(start, parser.getContext(), elementType, rank, contiguous,
                                     align);
}

void ViewType::print(AsmPrinter &printer) const {
  printer << "<" << getElementType() << ", rank = " << getRank();
  if (hasContiguous())
    printer << ", contiguous = " << getContiguous();
  if (getAlign() != getElementBytes())
    printer << ", align = " << getAlign();
  printer << ">";
}

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError, Type elementType,
                               int64_t rank, int64_t contiguous, int64_t align) {
  if (!elementType.isIntOrFloat())
    return emitError() << "expected an integer or float element type, found " << elementType;
  if (rank < 0 || rank > 5)
    return emitError() << "expected a rank from 0 to 5, found " << rank;
  if (contiguous < -1 || contiguous >= rank)
    return emitError() << "expected the contiguous dimension to be one of 0 to " << rank - 1
                       << ", found " << contiguous;
  if (align < bytesOf(elementType) || !llvm::isPowerOf2_64(align))
    return emitError() << "expected align to be a power of two of at least " << bytesOf(elementType)
                       << ", the bytes of one element, found " << align;
  return success();
}
