// The plan dialect's registration, its types and their text.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/Plan/IR/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace girih::plan;

#include "girih/Dialect/Plan/IR/PlanDialect.cpp.inc"
#include "girih/Dialect/Plan/IR/PlanEnums.cpp.inc"
#include "girih/Dialect/Plan/IR/PlanTypeInterfaces.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "girih/Dialect/Plan/IR/PlanTypes.cpp.inc"

void PlanDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "girih/Dialect/Plan/IR/PlanTypes.cpp.inc"
      >();
}

void PlanDialect::initialize() {
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "girih/Dialect/Plan/IR/PlanOps.cpp.inc"
      >();
}

// <bf16, rank = 2, contiguous = 1, aligned, in>; contiguous and aligned may be absent
Type ArrayType::parse(AsmParser &parser) {
  SMLoc start = parser.getCurrentLocation();
  Type elementType;
  int64_t rank = 0, contiguous = -1;
  if (parser.parseLess() || parser.parseType(elementType) || parser.parseComma() ||
      parser.parseKeyword("rank") || parser.parseEqual() || parser.parseInteger(rank) ||
      parser.parseComma())
    return {};
  if (succeeded(parser.parseOptionalKeyword("contiguous"))) {
    SMLoc where = parser.getCurrentLocation();
    if (parser.parseEqual() || parser.parseInteger(contiguous) || parser.parseComma())
      return {};
    if (contiguous < 0) {
      parser.emitError(where) << "expected a dimension, found " << contiguous
                              << ": leave 'contiguous' out for an array of any strides";
      return {};
    }
  }
  bool aligned = succeeded(parser.parseOptionalKeyword("aligned"));
  if (aligned && parser.parseComma())
    return {};
  StringRef keyword;
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return {};
  std::optional<Access> access = symbolizeAccess(keyword);
  if (!access) {
    parser.emitError(where) << "expected 'in', 'out' or 'inout', found '" << keyword << "'";
    return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ArrayType>(start, parser.getContext(), elementType, rank, contiguous,
                                      aligned, *access);
}

void ArrayType::print(AsmPrinter &printer) const {
  printer << "<" << getElementType() << ", rank = " << getRank();
  if (getContiguous() >= 0)
    printer << ", contiguous = " << getContiguous();
  printer << (getAligned() ? ", aligned" : "") << ", " << stringifyAccess(getAccess()) << ">";
}

LogicalResult ArrayType::verify(function_ref<InFlightDiagnostic()> emitError, Type elementType,
                                int64_t rank, int64_t contiguous, bool, Access) {
  if (!elementType.isIntOrFloat())
    return emitError() << "expected an integer or float element type, found " << elementType;
  if (rank < 0)
    return emitError() << "expected a rank of 0 or more, found " << rank;
  if (contiguous < -1 || contiguous >= rank)
    return emitError() << "expected the contiguous dimension to be less than the rank, which is "
                       << rank << ", found " << contiguous;
  return success();
}
