// wg.fill and wg.drain: text and verification of the two loops over a ring.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PendingUses.h"
#include "girih/Dialect/WG/IR/CursorOrigin.h"
#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace girih::wg;

namespace {

/// %ring[%cursor] count(%n) [lag(l)] as (%k, %buffers...) [iter_args(%a = %b, ...) -> (types)] :
/// ring { ... }
template <typename Loop> ParseResult parseRingLoop(OpAsmParser &parser, OperationState &result) {
  constexpr bool hasLag = std::is_same_v<Loop, DrainOp>;
  Builder &builder = parser.getBuilder();
  OpAsmParser::UnresolvedOperand ring, cursor, count;
  if (parser.parseOperand(ring) || parser.parseLSquare() || parser.parseOperand(cursor) ||
      parser.parseRSquare() || parser.parseKeyword("count") || parser.parseLParen() ||
      parser.parseOperand(count) || parser.parseRParen())
    return failure();
  if constexpr (hasLag) {
    int32_t lag;
    if (parser.parseKeyword("lag") || parser.parseLParen() || parser.parseInteger(lag) ||
        parser.parseRParen())
      return failure();
    result.addAttribute(Loop::getLagAttrName(result.name), builder.getI32IntegerAttr(lag));
  }
  SmallVector<OpAsmParser::Argument> names, carried;
  SmallVector<OpAsmParser::UnresolvedOperand> inits;
  SmallVector<Type> carriedTypes;
  if (parser.parseKeyword("as"))
    return failure();
  SMLoc namesLoc = parser.getCurrentLocation();
  if (parser.parseArgumentList(names, OpAsmParser::Delimiter::Paren))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("iter_args")) &&
      (parser.parseAssignmentList(carried, inits) || parser.parseArrow() || parser.parseLParen() ||
       parser.parseTypeList(carriedTypes) || parser.parseRParen()))
    return failure();
  SMLoc typesLoc = parser.getCurrentLocation();
  RingType ringType;
  if (parser.parseColonType(ringType))
    return failure();
  ArrayRef<BufferType> buffers = ringType.getBuffers();
  if (names.size() != 1 + buffers.size())
    return parser.emitError(namesLoc)
           << "expected a name for the step and one for each of the slot's " << buffers.size()
           << " buffers, found " << names.size() << " names";
  if (carried.size() != carriedTypes.size())
    return parser.emitError(typesLoc) << "expected a type for each of the " << carried.size()
                                      << " carried values, found " << carriedTypes.size();
  Type i32 = builder.getI32Type(), cursorType = CursorType::get(builder.getContext());
  names[0].type = i32;
  for (auto [name, type] : llvm::zip_equal(MutableArrayRef(names).drop_front(), buffers))
    name.type = type;
  for (auto [argument, type] : llvm::zip_equal(carried, carriedTypes))
    argument.type = type;
  names.append(carried);
  if (parser.resolveOperand(ring, ringType, result.operands) ||
      parser.resolveOperand(cursor, cursorType, result.operands) ||
      parser.resolveOperand(count, i32, result.operands) ||
      parser.resolveOperands(inits, carriedTypes, typesLoc, result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, names))
    return failure();
  Loop::ensureTerminator(*body, builder, result.location);
  result.addTypes(cursorType);
  result.addTypes(carriedTypes);
  return success();
}

template <typename Loop>
void printRingLoop(Loop loop, OpAsmPrinter &printer, ArrayRef<StringRef> elided) {
  printer << ' ' << loop.getRing() << '[' << loop.getCursor() << "] count(" << loop.getCount()
          << ')';
  if constexpr (std::is_same_v<Loop, DrainOp>)
    printer << " lag(" << loop.getLag() << ')';
  printer << " as (" << loop.getStep();
  for (BlockArgument buffer : loop.getSlot())
    printer << ", " << buffer;
  printer << ')';
  if (!loop.getInits().empty()) {
    printer << " iter_args(";
    llvm::interleaveComma(
        llvm::zip_equal(loop.getIterArgs(), loop.getInits()), printer,
        [&](auto pair) { printer << std::get<0>(pair) << " = " << std::get<1>(pair); });
    printer << ") -> (" << loop.getInits().getTypes() << ')';
  }
  printer << " : " << loop.getRing().getType();
  printer.printOptionalAttrDictWithKeyword(loop->getAttrs(), elided);
  printer << ' ';
  printer.printRegion(loop.getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!loop.getInits().empty());
}

template <typename Loop> LogicalResult verifyRingLoop(Loop loop, CursorEnd end) {
  SmallVector<Type> wanted{IntegerType::get(loop.getContext(), 32)};
  llvm::append_range(wanted, loop.getRing().getType().getBuffers());
  llvm::append_range(wanted, loop.getInits().getTypes());
  if (loop.getBody().front().getArgumentTypes() != TypeRange(wanted))
    return loop.emitOpError("expects a body whose arguments are the step (i32), the slot's buffers "
                            "and the carried values: ")
           << wanted;
  if (loop.getResults().getTypes() != loop.getInits().getTypes())
    return loop.emitOpError("expects results of the types of the carried values: ")
           << loop.getInits().getTypes() << ", found " << loop.getResults().getTypes();
  return verifyCursor(loop, loop.getRing(), loop.getCursor(), end);
}

template <typename Loop> LogicalResult verifyRingLoopBody(Loop loop) {
  YieldOp yield = loop.getYield();
  if (yield.getValues().getTypes() != loop.getInits().getTypes())
    return yield.emitOpError("expects a value for each one that the loop carries: ")
           << loop.getInits().getTypes() << ", found " << yield.getValues().getTypes();
  return success();
}

} // namespace

ParseResult FillOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseRingLoop<FillOp>(parser, result);
}
void FillOp::print(OpAsmPrinter &printer) { printRingLoop(*this, printer, {}); }
LogicalResult FillOp::verify() { return verifyRingLoop(*this, CursorEnd::Producer); }
LogicalResult FillOp::verifyRegions() { return verifyRingLoopBody(*this); }
YieldOp FillOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

llvm::SmallVector<BarrierEffect> FillOp::getBarrierEffects() {
  return {{BarrierEffect::Kind::Wait, BarrierEffect::Side::Empty, getRing(), getCursor()},
          {BarrierEffect::Kind::Expect, BarrierEffect::Side::Full, getRing(), getCursor()},
          {BarrierEffect::Kind::Arrive, BarrierEffect::Side::Full, getRing(), getCursor()}};
}

ParseResult DrainOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseRingLoop<DrainOp>(parser, result);
}
void DrainOp::print(OpAsmPrinter &printer) { printRingLoop(*this, printer, {getLagAttrName()}); }

LogicalResult DrainOp::verify() {
  if (static_cast<int32_t>(getLag()) < 0)
    return emitOpError("has lag ") << static_cast<int32_t>(getLag()) << ": expected at least 0";
  if (auto ring = getRing().getDefiningOp<RingOp>())
    if (ring.getStages() && getLag() >= *ring.getStages()) {
      InFlightDiagnostic error = emitOpError("has lag ")
                                 << getLag() << " on a ring of " << *ring.getStages()
                                 << " stages: expected less, since a slot is filled again only "
                                    "after it has been freed";
      error.attachNote(ring.getLoc()) << "the ring is made here";
      return error;
    }
  for (BlockArgument argument : getIterArgs())
    if (isa<PendingType>(argument.getType()) && failed(verifyPendingUses(argument)))
      return failure();
  for (Value result : getResults())
    if (isa<PendingType>(result.getType()) && failed(verifyPendingUses(result)))
      return failure();
  return verifyRingLoop(*this, CursorEnd::Consumer);
}

LogicalResult DrainOp::verifyRegions() { return verifyRingLoopBody(*this); }
YieldOp DrainOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

llvm::SmallVector<BarrierEffect> DrainOp::getBarrierEffects() {
  return {{BarrierEffect::Kind::Wait, BarrierEffect::Side::Full, getRing(), getCursor()},
          {BarrierEffect::Kind::Arrive, BarrierEffect::Side::Empty, getRing(), getCursor()}};
}

llvm::SmallVector<AsyncEffect> DrainOp::getAsyncEffects() {
  // What the op itself waits for; the products are those of its body.
  AsyncEffect retire{AsyncEffect::Kind::Retire, AsyncEffect::Engine::Wgmma};
  return {retire};
}
