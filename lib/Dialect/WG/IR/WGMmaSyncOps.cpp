// mma.sync: the types and extents that the instruction takes, and its fragments.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/IR/WG.h"
#include "girih/Layout/Algebra.h"
#include "girih/Layout/MmaFragments.h"

using namespace mlir;
using namespace girih::wg;

/// The type of a sum of products of `a` and `b` (PTX ISA 9.0, 9.7.14.5.14); null without.
static Type sumOf(Type a, Type b) {
  auto is8BitFloat = [](Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); };
  if (is8BitFloat(a) && is8BitFloat(b))
    return Float32Type::get(a.getContext());
  if (a != b)
    return {};
  if (a.isInteger(8))
    return IntegerType::get(a.getContext(), 32);
  if (isa<Float64Type>(a))
    return a;
  return isa<BFloat16Type, Float16Type, FloatTF32Type, Float32Type>(a)
             ? Type(Float32Type::get(a.getContext()))
             : Type();
}

static LogicalResult verifyFragment(MmaSyncOp op, StringRef what, RankedTensorType tile,
                                    const girih::Result<girih::Layout> &wanted) {
  if (!wanted)
    return op.emitOpError() << what << " is no fragment: " << wanted.error();
  const girih::Layout &found = getLayout(tile).getLayout();
  if (found == *wanted)
    return success();
  InFlightDiagnostic error =
      op.emitOpError() << what << " has a layout that mma.sync does not have: expected #wg.layout<"
                       << wanted->str() << ">";
  if (std::optional<std::string> conflict = girih::firstConflict(*wanted, found))
    error.attachNote() << *conflict;
  return error;
}

LogicalResult MmaSyncOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType(), sum = getResult().getType();
  Type aType = a.getElementType(), bType = b.getElementType(), wanted = sumOf(aType, bType);
  if (!wanted)
    return emitOpError("multiplies ") << aType << " by " << bType
                                      << ": expected two of bf16, f16, tf32, f32, i8 or f64, or "
                                         "e4m3 or e5m2 for each";
  if (sum.getElementType() != wanted)
    return emitOpError("adds up in ") << sum.getElementType() << ": expected " << wanted;
  if ((getUnsignedA() || getUnsignedB()) && !aType.isInteger())
    return emitOpError("says that ") << aType << " is unsigned: expected i8";
  if (a.getRank() != 2 || b.getRank() != 2 || sum.getRank() != 2 ||
      a.getDimSize(1) != b.getDimSize(0) || sum.getDimSize(0) != a.getDimSize(0) ||
      sum.getDimSize(1) != b.getDimSize(1)) {
    InFlightDiagnostic error = emitOpError("multiplies ");
    llvm::interleave(a.getShape(), error, "x");
    error << " by ";
    llvm::interleave(b.getShape(), error, "x");
    error << " into ";
    llvm::interleave(sum.getShape(), error, "x");
    return error << ": expected MxK, KxN and MxN";
  }

  const girih::Layout &layout = getLayout(sum).getLayout();
  girih::MmaShare share{static_cast<int32_t>(sum.getDimSize(0)),
                        static_cast<int32_t>(sum.getDimSize(1)),
                        static_cast<int32_t>(a.getDimSize(1)), layout.inSize(girih::Dim::Warp),
                        layout.inSize(girih::Dim::Warpgroup)};
  auto bits = static_cast<int32_t>(getStorageBits(aType));
  if (failed(verifyFragment(*this, "the accumulator", sum, girih::mmaAccumulator(share))) ||
      failed(verifyFragment(*this, "operand a", a, girih::mmaOperandA(share, bits))))
    return failure();
  return verifyFragment(*this, "operand b", b, girih::mmaOperandB(share, bits));
}
