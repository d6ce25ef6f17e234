// The choice of instructions; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LocalAccess.h"

#include "girih/Layout/Shared.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace girih::wg {

void forEachAddress(OpBuilder &builder, Location loc, Value buffer, BufferType type,
                    const LocalAccess &plan, const ThreadPlace &place,
                    function_ref<void(Value, int64_t)> access) {
  int64_t bytes = type.getElementBits() / 8;
  auto constant = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, loc,
                                    builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  };
  Value thread = emitLayout(builder, loc, plan.addresses->thread, Dim::Offset, place, bytes);
  // The swizzle flips bits below the buffer's alignment, so it may act on the whole address.
  Value start = LLVM::AddOp::create(builder, loc, buffer, thread);
  for (const AddressPlan::Step &step : plan.addresses->steps) {
    Value address = start;
    if (step.flip)
      address = LLVM::XOrOp::create(builder, loc, start, constant(step.flip * bytes));
    access(address, step.add * bytes);
  }
}

FailureOr<LocalAccess> planAccess(Operation *op, RankedTensorType tile, BufferType buffer,
                                  bool hasMatrix) {
  int32_t bytes = static_cast<int32_t>(buffer.getElementBits() / 8);
  std::optional<Swizzle> swizzle = swizzleOfSpan(static_cast<int32_t>(buffer.getSwizzle()));
  Result<Layout> shared = sharedBuffer(static_cast<int32_t>(buffer.getShape()[0]),
                                       static_cast<int32_t>(buffer.getShape()[1]), bytes, *swizzle,
                                       buffer.isRowMajor() ? Dim::Col : Dim::Row);
  if (!shared)
    return op->emitOpError("cannot address the buffer: ") << shared.error();
  const Layout &registers = getLayout(tile).getLayout();
  Result<VectorAccess> vector = vectorAccess(registers, *shared, bytes);
  if (bytes <= 4 && hasMatrix)
    if (Result<MatrixAccess> matrix = matrixAccess(registers, *shared, bytes))
      if (!vector || matrix->cost.wavefronts <= vector->cost.wavefronts)
        return LocalAccess{matrix->addresses, matrix->count, true, matrix->trans};
  if (!vector)
    return op->emitOpError("cannot move the tile: ") << vector.error();
  int64_t width = vector->vector * bytes;
  if (width % 4)
    return op->emitOpError("moves ")
           << width << " bytes at a time, less than a 32-bit register; expected a layout in "
           << "which neighbours in a register are neighbours in the buffer";
  return LocalAccess{vector->addresses, width / 4, false, false};
}

} // namespace girih::wg
