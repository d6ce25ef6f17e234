// Casts, products, reductions and scans: verifiers and the text of those with regions.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace girih::tile;

LogicalResult CastOp::verify() {
  Type source = getSource().getType(), result = getResult().getType();
  auto from = dyn_cast<RankedTensorType>(source), to = dyn_cast<RankedTensorType>(result);
  if (static_cast<bool>(from) != static_cast<bool>(to))
    return emitOpError("expected a tile from a tile and a scalar from a scalar");
  if (from && (from.getShape() != to.getShape() || from.getEncoding() != to.getEncoding()))
    return emitOpError("expected a result of the source's shape and layout, found ")
           << result << " from " << source;
  Type a = elementTypeOf(source), b = elementTypeOf(result);
  if (getUnsignedSource() && !isa<IntegerType>(a))
    return emitOpError("unsigned_source is for integers, found ") << a;
  if (getUnsignedResult() && !isa<IntegerType>(b))
    return emitOpError("unsigned_result is for integers, found ") << b;
  return success();
}

// a, b[, acc] [precision tf32] : type, type -> type
ParseResult DotOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SMLoc where = parser.getCurrentLocation();
  Type a, b, type;
  if (parser.parseOperandList(operands))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("precision"))) {
    StringRef word;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    std::optional<Precision> precision = symbolizePrecision(word);
    if (!precision)
      return parser.emitError(at) << "expected 'exact' or 'tf32', found '" << word << "'";
    result.addAttribute("precision", PrecisionAttr::get(parser.getContext(), *precision));
  }
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(a) ||
      parser.parseComma() || parser.parseType(b) || parser.parseArrow() || parser.parseType(type))
    return failure();
  SmallVector<Type> types{a, b};
  if (operands.size() == 3)
    types.push_back(type);
  result.addTypes(type);
  return parser.resolveOperands(operands, types, where, result.operands);
}

void DotOp::print(OpAsmPrinter &printer) {
  printer << " " << getOperands();
  if (getPrecision() != Precision::Exact)
    printer << " precision " << stringifyPrecision(getPrecision());
  printer.printOptionalAttrDict((*this)->getAttrs(), {"precision"});
  printer << " : " << getA().getType() << ", " << getB().getType() << " -> "
          << getResult().getType();
}

/// The element type in which products of these are summed up, null if there is none.
static Type accumulatorOf(Type a, Type b) {
  Builder builder(a.getContext());
  auto isFp8 = [](Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); };
  if (isFp8(a) && isFp8(b))
    return builder.getF32Type();
  if (a != b)
    return {};
  if (a.isBF16() || a.isF16() || a.isF32())
    return builder.getF32Type();
  if (a.isF64())
    return a;
  return a.isInteger(8) ? Type(builder.getI32Type()) : Type();
}

LogicalResult DotOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType(), result = getResult().getType();
  if (a.getRank() != 2 || b.getRank() != 2)
    return emitOpError("expected operands of two dimensions, found ") << a << " and " << b;
  if (a.getDimSize(1) != b.getDimSize(0))
    return emitOpError("operands disagree in K: a has ")
           << a.getDimSize(1) << " columns, b has " << b.getDimSize(0) << " rows";
  Type sum = accumulatorOf(a.getElementType(), b.getElementType());
  if (!sum)
    return emitOpError("expected operands of one type (f16, bf16, f32, f64 or i8) or of e4m3 and "
                       "e5m2, found ")
           << a.getElementType() << " and " << b.getElementType();
  auto expected = RankedTensorType::get({a.getDimSize(0), b.getDimSize(1)}, sum);
  if (result.getShape() != expected.getShape() || result.getElementType() != sum)
    return emitOpError("expected a result of ") << expected << ", found " << result;
  if (getAccumulator() && getAccumulator().getType() != result)
    return emitOpError("expected an accumulator of ")
           << result << ", found " << getAccumulator().getType();
  if (getPrecision() == Precision::TF32 && !a.getElementType().isF32())
    return emitOpError("precision tf32 is for operands of f32, found ") << a.getElementType();
  return success();
}

// tiles dim(d) [reverse] : types -> types { region }
template <typename Op>
static ParseResult parseCombining(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SMLoc where = parser.getCurrentLocation();
  IntegerAttr dim;
  if (parser.parseOperandList(operands) || parser.parseKeyword("dim") || parser.parseLParen() ||
      parser.parseAttribute(dim, parser.getBuilder().getI64Type(), "dim", result.attributes) ||
      parser.parseRParen())
    return failure();
  if constexpr (std::is_same_v<Op, ScanOp>)
    if (succeeded(parser.parseOptionalKeyword("reverse")))
      result.addAttribute("reverse", parser.getBuilder().getUnitAttr());
  SmallVector<Type> types;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonTypeList(types) ||
      parser.parseArrowTypeList(result.types))
    return failure();
  Region *region = result.addRegion();
  if (parser.parseRegion(*region))
    return failure();
  Op::ensureTerminator(*region, parser.getBuilder(), result.location);
  return parser.resolveOperands(operands, types, where, result.operands);
}

template <typename Op> static void printCombining(OpAsmPrinter &printer, Op op) {
  printer << " " << op.getTiles() << " dim(" << op.getDim() << ")";
  if constexpr (std::is_same_v<Op, ScanOp>)
    if (op.getReverse())
      printer << " reverse";
  printer.printOptionalAttrDict(op->getAttrs(), {"dim", "reverse"});
  printer << " : " << op.getTiles().getTypes();
  printer.printArrowTypeList(op->getResultTypes());
  printer << " ";
  printer.printRegion(op.getCombiner());
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseCombining<ReduceOp>(parser, result);
}
void ReduceOp::print(OpAsmPrinter &printer) { printCombining(printer, *this); }
ParseResult ScanOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseCombining<ScanOp>(parser, result);
}
void ScanOp::print(OpAsmPrinter &printer) { printCombining(printer, *this); }

template <typename Op> static LogicalResult checkCombining(Op op, bool keepsDim) {
  OperandRange tiles = op.getTiles();
  if (tiles.empty())
    return op.emitOpError("expected at least one tile");
  auto first = cast<RankedTensorType>(tiles.front().getType());
  int64_t dim = op.getDim();
  if (dim < 0 || dim >= first.getRank())
    return op.emitOpError("expected a dimension below ") << first.getRank() << ", found " << dim;
  if (tiles.size() != op->getNumResults())
    return op.emitOpError("expected one result for each tile");
  SmallVector<int64_t> shape(first.getShape());
  if (!keepsDim)
    shape.erase(shape.begin() + dim);
  for (auto [tile, result] : llvm::zip_equal(tiles, op->getResults())) {
    auto type = cast<RankedTensorType>(tile.getType());
    if (type.getShape() != first.getShape() || type.getEncoding() != first.getEncoding())
      return op.emitOpError("expected tiles of one shape and layout, found ")
             << type << " and " << first;
    Type expected = shape.empty() ? type.getElementType()
                                  : Type(RankedTensorType::get(shape, type.getElementType()));
    auto found = dyn_cast<RankedTensorType>(result.getType());
    if (elementTypeOf(result.getType()) != type.getElementType() ||
        (found ? found.getShape() != ArrayRef<int64_t>(shape) : !shape.empty()))
      return op.emitOpError("expected a result of ") << expected << ", found " << result.getType();
  }
  return success();
}

/// The combiner takes two partial results and yields one.
template <typename Op> static LogicalResult checkCombiner(Op op) {
  Block &block = op.getCombiner().front();
  size_t count = op.getTiles().size();
  SmallVector<Type> types;
  for (Value tile : op.getTiles())
    types.push_back(elementTypeOf(tile.getType()));
  SmallVector<Type> twice(types);
  llvm::append_range(twice, types);
  if (!llvm::equal(block.getArgumentTypes(), twice))
    return op.emitOpError("expected a combiner of ")
           << 2 * count << " arguments: the elements of each tile, twice";
  auto yield = cast<YieldOp>(block.getTerminator());
  if (!llvm::equal(yield.getValues().getTypes(), types))
    return yield.emitOpError("expected ") << count << " values of the tiles' element types";
  return success();
}

LogicalResult ReduceOp::verify() { return checkCombining(*this, /*keepsDim=*/false); }
LogicalResult ReduceOp::verifyRegions() { return checkCombiner(*this); }
LogicalResult ScanOp::verify() { return checkCombining(*this, /*keepsDim=*/true); }
LogicalResult ScanOp::verifyRegions() { return checkCombiner(*this); }
