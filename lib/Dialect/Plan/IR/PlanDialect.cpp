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

// <bf16, rank = 2, contiguous = 1, in>
Type ArrayType::parse(AsmParser &parser) {
  SMLoc start = parser.getCurrentLocation();
  Type elementType;
  int64_t rank = 0, contiguous = 0;
  if (parser.parseLess() || parser.parseType(elementType) || parser.parseComma() ||
      parser.parseKeyword("rank") || parser.parseEqual() || parser.parseInteger(rank) ||
      parser.parseComma() || parser.parseKeyword("contiguous") || parser.parseEqual() ||
      parser.parseInteger(contiguous) || parser.parseComma())
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
                                      *access);
}

void ArrayType::print(AsmPrinter &printer) const {
  printer << "<" << getElementType() << ", rank = " << getRank()
          << ", contiguous = " << getContiguous() << ", " << stringifyAccess(getAccess()) << ">";
}

LogicalResult ArrayType::verify(function_ref<InFlightDiagnostic()> emitError, Type elementType,
                                int64_t rank, int64_t contiguous, Access) {
  if (!elementType.isIntOrFloat())
    return emitError() << "expected an integer or float element type, found " << elementType;
  // PTX ISA 9.0, 5.5.1: tensors of TMA have one to five dimensions.
  if (rank < 1 || rank > 5)
    return emitError() << "expected a rank from 1 to 5, found " << rank;
  if (contiguous < 0 || contiguous >= rank)
    return emitError() << "expected the contiguous dimension to be one of 0 to " << rank - 1
                       << ", found " << contiguous;
  return success();
}
