// #wg.layout: the written form of a girih::Layout, read token by token so that an error points at
// the token.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace girih::wg;
using girih::Base;
using girih::Dim;
using girih::Layout;
using girih::LayoutSpec;
using girih::Repeat;

#define GET_ATTRDEF_CLASSES
#include "girih/Dialect/WG/IR/WGAttrs.cpp.inc"

void WGDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "girih/Dialect/WG/IR/WGAttrs.cpp.inc"
      >();
}

static ParseResult parseDim(AsmParser &parser, Dim &dim) {
  SMLoc where = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<Dim> found = girih::dimNamed({name.data(), name.size()});
  if (!found)
    return parser.emitError(where)
           << "expected 'register', 'lane', 'warp', 'warpgroup', 'offset', 'row' or 'col', found '"
           << name << "'";
  dim = *found;
  return success();
}

static ParseResult parseVector(AsmParser &parser, std::vector<int32_t> &vector) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(vector.emplace_back()); });
}

/// `dim` `:` `[` vector, ... `]`, one base for each bit.
static ParseResult parseBases(AsmParser &parser, LayoutSpec &spec) {
  Dim dim;
  if (parseDim(parser, dim) || parser.parseColon())
    return failure();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    spec.bases.push_back({dim, {}});
    return parseVector(parser, spec.bases.back().to);
  });
}

/// `dim` `:` vector `x` integer.
static ParseResult parseRepeat(AsmParser &parser, LayoutSpec &spec) {
  Repeat &repeat = spec.repeats.emplace_back();
  return failure(parseDim(parser, repeat.dim) || parser.parseColon() ||
                 parseVector(parser, repeat.step) || parser.parseKeyword("x") ||
                 parser.parseInteger(repeat.extent));
}

/// `dim` `:` integer.
static ParseResult parseExtent(AsmParser &parser, LayoutSpec &spec) {
  Dim &dim = spec.outDims.emplace_back();
  return failure(parseDim(parser, dim) || parser.parseColon() ||
                 parser.parseInteger(spec.shape.emplace_back()));
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SMLoc start = parser.getCurrentLocation();
  LayoutSpec spec;
  auto inBraces = [&](auto parseOne) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces,
                                          [&] { return parseOne(parser, spec); });
  };
  if (parser.parseLess() || inBraces(parseBases))
    return {};
  if (succeeded(parser.parseOptionalKeyword("repeat")) && inBraces(parseRepeat))
    return {};
  if (succeeded(parser.parseOptionalKeyword("over"))) {
    spec.outDims.clear();
    if (inBraces(parseExtent))
      return {};
  }
  if (parser.parseGreater())
    return {};
  girih::Result<Layout> layout = Layout::create(spec);
  if (!layout) {
    parser.emitError(start) << "is no layout: " << layout.error();
    return {};
  }
  return get(parser.getContext(), *layout);
}

void LayoutAttr::print(AsmPrinter &printer) const { printer << "<" << getLayout().str() << ">"; }

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.empty() || llvm::any_of(shape, ShapedType::isDynamic))
    return emitError() << "expected a tile of static dimensions";
  for (Dim dim : getLayout().inDims())
    if (dim == Dim::Offset || dim == Dim::Row || dim == Dim::Col)
      return emitError() << "expected the layout of a tile to map 'register', 'lane', 'warp' and "
                            "'warpgroup', found '"
                         << StringRef(girih::nameOf(dim)) << "'";
  // Leading dimensions count as rows, in row-major order; a tile of one dimension is one row.
  int64_t rows = ShapedType::getNumElements(shape.drop_back());
  if (std::optional<std::string> error =
          getLayout().tileError(static_cast<int32_t>(rows), static_cast<int32_t>(shape.back())))
    return emitError() << "expected a layout of the whole tile: " << *error;
  return success();
}

int64_t LayoutAttr::getWarpgroups() const { return getLayout().inSize(Dim::Warpgroup); }
int64_t LayoutAttr::getElementsPerThread() const { return getLayout().inSize(Dim::Register); }

bool girih::wg::isTile(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && isa_and_nonnull<LayoutAttr>(tensor.getEncoding());
}

LayoutAttr girih::wg::getLayout(RankedTensorType tile) {
  return dyn_cast_if_present<LayoutAttr>(tile.getEncoding());
}
