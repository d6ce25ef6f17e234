// plan.host: text and verification of the op that holds a plan.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/Plan/IR/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace girih::plan;

// plan.host @name(%a: type, ...) attributes {...} { ... }
ParseResult HostOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name), result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  if (body->empty()) {
    Block &block = body->emplaceBlock();
    for (OpAsmParser::Argument &argument : arguments)
      block.addArgument(argument.type, argument.sourceLoc.value_or(result.location));
  }
  return success();
}

void HostOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {getSymNameAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult HostOp::verify() {
  if (getArgNames().size() != getArguments().size())
    return emitOpError("has ") << getArguments().size() << " arguments and " << getArgNames().size()
                               << " names: 'arg_names' gives one name for each argument";
  llvm::StringSet<> seen;
  for (StringAttr name : getArgNames().getAsRange<StringAttr>())
    if (!seen.insert(name.getValue()).second)
      return emitOpError("has two arguments named '")
             << name.getValue() << "': names must differ, since messages and the manifest use them";
  for (auto [argument, name] : llvm::zip_equal(getArguments(), getArgNames())) {
    Type type = argument.getType();
    if (!isa<ArrayType>(type) && !type.isIntOrFloat())
      return emitOpError("argument ")
             << name << " is of type " << type << ": a caller passes arrays, integers and floats";
  }
  return success();
}

LogicalResult HostOp::verifyRegions() {
  for (Operation &op : getBody().front())
    if (!isa<PlanDialect, arith::ArithDialect>(op.getDialect()))
      return op.emitOpError("cannot stand in a host plan: a plan holds ops of 'arith' and 'plan', "
                            "which the runtime can interpret");
  return success();
}
