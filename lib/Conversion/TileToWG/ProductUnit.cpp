// Which types and extents the tensor cores' instructions have; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProductUnit.h"

#include "girih/Layout/Access.h"
#include "girih/Layout/MmaFragments.h"
#include "girih/Layout/Shared.h"

using namespace mlir;

namespace girih::wg {

namespace {

/// The types and extents of a product.
struct Extent {
  Type a, b, sum;
  int64_t rows, columns, depth;
  bool isTF32;

  explicit Extent(tile::DotOp dot)
      : a(dot.getA().getType().getElementType()), b(dot.getB().getType().getElementType()),
        sum(dot.getResult().getType().getElementType()),
        rows(dot.getResult().getType().getDimSize(0)),
        columns(dot.getResult().getType().getDimSize(1)), depth(dot.getA().getType().getDimSize(1)),
        isTF32(a.isF32() && b.isF32() && dot.getPrecision() == tile::Precision::TF32) {}

  std::string types(const char *unit) const {
    std::string text;
    llvm::raw_string_ostream(text)
        << unit << " no product of " << a << " with " << b << " in " << sum;
    return text;
  }
};

std::string notMultiple(const char *what, int64_t found, const std::string &of) {
  return std::string(what) + " = " + std::to_string(found) + " is " + of;
}

/// Whether both instructions have operands of these types with this sum (PTX ISA 9.0, 9.7.15.5.2
/// and 9.7.14.5.14); mma.sync has f64 as well.
bool hasTypes(const Extent &of) {
  auto is8BitFloat = [](Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); };
  if (of.a.isInteger(8) && of.b.isInteger(8))
    return of.sum.isInteger(32);
  bool floats = (of.a == of.b && (of.a.isF16() || of.a.isBF16())) ||
                (is8BitFloat(of.a) && is8BitFloat(of.b)) || of.isTF32;
  return floats && of.sum.isF32();
}

/// Why wgmma does not do a product; empty if it does. PTX ISA 9.0, 9.7.15.2: 32 bytes of K an
/// instruction, N; 9.7.15.5: N of integers.
std::string whyNotWgmma(const Extent &of) {
  if (!hasTypes(of))
    return of.types("wgmma has");
  int64_t step = 256 / getStorageBits(of.a);
  if (of.depth % step)
    return notMultiple("K", of.depth, "no multiple of " + std::to_string(step));
  if (of.rows % 64)
    return notMultiple("M", of.rows, "no multiple of 64");
  if (of.columns % 8 || of.columns > 256)
    return notMultiple("N", of.columns, "no multiple of 8 up to 256");
  if (of.a.isInteger() && of.columns % 16 && of.columns != 8 && of.columns != 24)
    return notMultiple("N", of.columns, "of integers no multiple of 16, nor 8 or 24");
  return {};
}

/// Why mma.sync does not do a product; empty if it does, after its rows are repeated where there
/// are fewer than an instruction has.
std::string whyNotMmaSync(const Extent &of) {
  bool doubles = of.a.isF64() && of.b.isF64() && of.sum.isF64();
  if (!doubles && !hasTypes(of))
    return of.types("they have");
  int64_t step = mmaDepth(static_cast<int32_t>(getStorageBits(of.a)));
  if (of.depth % step)
    return notMultiple("K", of.depth, "no multiple of " + std::to_string(step));
  if (of.rows % kMmaSyncRows && kMmaSyncRows % of.rows)
    return notMultiple("M", of.rows, "neither a multiple of 16 nor a part of it");
  if (of.columns % 8)
    return notMultiple("N", of.columns, "no multiple of 8");
  return {};
}

/// Why the registers of a thread do not hold a product by mma.sync, whose rows an instruction has;
/// empty if they do.
std::string whyNotInRegisters(tile::DotOp dot, int64_t warps, int64_t warpgroups) {
  constexpr int64_t most = 255 - 24; // without addresses and cursors
  if (dot.getResult().getType().getDimSize(0) % kMmaSyncRows)
    return {};
  MmaSyncTypes types = mmaSyncTypes(dot, warps, warpgroups);
  int64_t needed = threadRegisters(types.a) + threadRegisters(types.b) + threadRegisters(types.sum);
  if (needed <= most)
    return {};
  return "mma.sync would take " + std::to_string(needed) + " registers of each of " +
         std::to_string(warps * warpgroups * 32) + " threads";
}

RankedTensorType withLayout(RankedTensorType type, const Result<Layout> &layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               LayoutAttr::get(type.getContext(), *layout));
}

} // namespace

UnitChoice chooseUnit(tile::DotOp dot) {
  Extent of(dot);
  std::string why = whyNotWgmma(of);
  if (why.empty())
    return {ProductUnit::Wgmma, {}};
  std::string whyNot = whyNotMmaSync(of);
  if (whyNot.empty())
    whyNot = whyNotInRegisters(dot, 4, 2);
  return whyNot.empty() ? UnitChoice{ProductUnit::MmaSync, why}
                        : UnitChoice{ProductUnit::Threads, whyNot};
}

UnitChoice chooseUnitInRole(tile::DotOp dot) {
  std::string whyNot = whyNotMmaSync(Extent(dot));
  int64_t warps = dot->getParentOfType<RoleOp>().getWarpsTogether();
  if (whyNot.empty())
    whyNot = whyNotInRegisters(dot, std::min<int64_t>(warps, 4), std::max<int64_t>(warps / 4, 1));
  return whyNot.empty() ? UnitChoice{ProductUnit::MmaSync, "its operands are tiles of a role"}
                        : UnitChoice{ProductUnit::Threads, whyNot};
}

int64_t threadRegisters(RankedTensorType tile) {
  return getLayout(tile).getLayout().inSize(Dim::Register) * getStorageBits(tile.getElementType()) /
         32;
}

MmaSyncTypes mmaSyncTypes(tile::DotOp dot, int64_t warps, int64_t warpgroups) {
  RankedTensorType a = dot.getA().getType(), b = dot.getB().getType(),
                   sum = dot.getResult().getType();
  MmaShare share{static_cast<int32_t>(sum.getDimSize(0)), static_cast<int32_t>(sum.getDimSize(1)),
                 static_cast<int32_t>(a.getDimSize(1)), static_cast<int32_t>(warps),
                 static_cast<int32_t>(warpgroups)};
  auto bits = static_cast<int32_t>(getStorageBits(a.getElementType()));
  return {withLayout(a, mmaOperandA(share, bits)), withLayout(b, mmaOperandB(share, bits)),
          withLayout(sum, mmaAccumulator(share))};
}

bool isReadable(RankedTensorType fragment, BufferType buffer) {
  auto bytes = static_cast<int32_t>(buffer.getElementBits() / 8);
  Result<Layout> shared = sharedBuffer(static_cast<int32_t>(buffer.getShape()[0]),
                                       static_cast<int32_t>(buffer.getShape()[1]), bytes,
                                       *swizzleOfSpan(static_cast<int32_t>(buffer.getSwizzle())),
                                       buffer.isRowMajor() ? Dim::Col : Dim::Row);
  if (!shared)
    return false;
  const Layout &registers = getLayout(fragment).getLayout();
  if (bytes <= 4 && matrixAccess(registers, *shared, bytes))
    return true;
  Result<VectorAccess> vector = vectorAccess(registers, *shared, bytes);
  return vector && vector->vector * bytes % 4 == 0;
}

Value createMmaSync(OpBuilder &builder, tile::DotOp dot, Value a, Value b, Value accumulator,
                    RankedTensorType sum) {
  Location loc = dot.getLoc();
  if (!accumulator)
    accumulator = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(sum));
  return MmaSyncOp::create(builder, loc, sum, a, b, accumulator, dot.getUnsignedA(),
                           dot.getUnsignedB());
}

} // namespace girih::wg
