// The lists in square brackets of wg.subbuffer (literals and values) and wg.slice (literals only).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OffsetList.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

ParseResult girih::wg::parseOffsets(OpAsmParser &parser,
                                    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &values,
                                    DenseI64ArrayAttr &literals) {
  SmallVector<int64_t> list;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        OptionalParseResult isValue = parser.parseOptionalOperand(values.emplace_back());
        if (isValue.has_value()) {
          list.push_back(ShapedType::kDynamic);
          return *isValue;
        }
        values.pop_back();
        return parser.parseInteger(list.emplace_back());
      }))
    return failure();
  literals = parser.getBuilder().getDenseI64ArrayAttr(list);
  return success();
}

void girih::wg::printOffsets(OpAsmPrinter &printer, Operation *, OperandRange values,
                             DenseI64ArrayAttr literals) {
  auto next = values.begin();
  printer << "[";
  llvm::interleaveComma(literals.asArrayRef(), printer, [&](int64_t literal) {
    if (ShapedType::isDynamic(literal) && next != values.end())
      printer << *next++;
    else
      printer << literal;
  });
  printer << "]";
}

ParseResult girih::wg::parseStaticOffsets(OpAsmParser &parser, DenseI64ArrayAttr &literals) {
  SmallVector<int64_t> list;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(list.emplace_back()); }))
    return failure();
  literals = parser.getBuilder().getDenseI64ArrayAttr(list);
  return success();
}

void girih::wg::printStaticOffsets(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr literals) {
  printer << "[";
  llvm::interleaveComma(literals.asArrayRef(), printer);
  printer << "]";
}
