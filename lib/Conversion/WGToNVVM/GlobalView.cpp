// Views of global memory as structs; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GlobalView.h"

#include "girih/Conversion/WGToNVVM/Registers.h"

using namespace mlir;

namespace girih::wg {

Type memoryType(Type elementType) {
  unsigned bits = elementType.getIntOrFloatBitWidth();
  return bits <= 8 ? Type(IntegerType::get(elementType.getContext(), 8)) : elementType;
}

LLVM::LLVMStructType GlobalView::structOf(tile::ViewType type) {
  MLIRContext *context = type.getContext();
  SmallVector<Type> fields = {LLVM::LLVMPointerType::get(context, 1)};
  fields.append(type.getRank(), IntegerType::get(context, 32));
  fields.append(type.getRank(), IntegerType::get(context, 64));
  return LLVM::LLVMStructType::getLiteral(context, fields);
}

GlobalView GlobalView::open(OpBuilder &builder, Location loc, tile::ViewType type,
                            Value structValue) {
  SmallVector<Value> fields = unpack(builder, loc, structValue);
  GlobalView view{type, fields.front(), {}, {}};
  int64_t rank = type.getRank();
  view.extents.assign(fields.begin() + 1, fields.begin() + 1 + rank);
  view.strides.assign(fields.begin() + 1 + rank, fields.end());
  return view;
}

Value GlobalView::close(OpBuilder &builder, Location loc) const {
  SmallVector<Value> fields = {pointer};
  llvm::append_range(fields, extents);
  llvm::append_range(fields, strides);
  return pack(builder, loc, fields);
}

Value GlobalView::advance(OpBuilder &builder, Location loc, Value from, int64_t dim,
                          Value count) const {
  Type i64 = builder.getI64Type();
  Value wide =
      count.getType() == i64 ? count : Value(LLVM::SExtOp::create(builder, loc, i64, count));
  if (dim != type.getContiguous())
    wide = LLVM::MulOp::create(builder, loc, wide, strides[dim]);
  return LLVM::GEPOp::create(builder, loc, from.getType(), memoryType(type.getElementType()), from,
                             ArrayRef<LLVM::GEPArg>{wide});
}

Value GlobalView::addressOf(OpBuilder &builder, Location loc, ValueRange indices) const {
  Value address = pointer;
  for (auto [dim, index] : llvm::enumerate(indices))
    address = advance(builder, loc, address, static_cast<int64_t>(dim), index);
  return address;
}

} // namespace girih::wg
