// wgmma: which operands the instruction takes, and what waits for it.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PendingUses.h"
#include "girih/Dialect/WG/IR/WG.h"
#include "girih/Layout/Algebra.h"
#include "girih/Layout/Fragments.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace girih::wg;

using Async = AsyncEffect;

/// wgmma needs whole warpgroups, and a tile that is split over all of the role.
static LogicalResult verifyWholeRole(Operation *op, RankedTensorType tile) {
  auto role = op->getParentOfType<RoleOp>();
  if (!role)
    return success();
  if (role.getWarps() % 4)
    return op->emitOpError("is executed by ")
           << role.getWarps() << " warps of role '" << role.getRoleName()
           << "': wgmma needs whole warpgroups, declare the role with warpgroups(n)";
  int64_t over = getLayout(tile).getWarpgroups();
  if (over != role.getTileWarpgroups())
    return op->emitOpError("has an accumulator over ")
           << over << " warpgroups in role '" << role.getRoleName() << "' of "
           << role.getNumWarpgroups() << (role.getEach() ? ", each for itself" : "")
           << ": expected the layout of " << (role.getEach() ? "one warpgroup" : "the whole role");
  return success();
}

/// The layout that the instruction gives a fragment, or a message about the first element that
/// differs.
static LogicalResult verifyFragment(Operation *op, StringRef what, RankedTensorType tile,
                                    const girih::Result<girih::Layout> &wanted) {
  if (!wanted)
    return op->emitOpError() << what << " is no wgmma fragment: " << wanted.error();
  const girih::Layout &found = getLayout(tile).getLayout();
  if (found == *wanted)
    return success();
  InFlightDiagnostic error =
      op->emitOpError() << what << " has a layout that wgmma does not have: expected #wg.layout<"
                        << wanted->str() << ">";
  if (std::optional<std::string> conflict = girih::firstConflict(*wanted, found))
    error.attachNote() << *conflict;
  return error;
}

LogicalResult AccOp::verify() {
  RankedTensorType tile = getAccumulator().getType().getTile();
  if (failed(verifyWholeRole(*this, tile)))
    return failure();
  return verifyPendingUses(getAccumulator());
}

namespace {

/// The checks of wg.mma, each with its message.
class MmaVerifier {
public:
  explicit MmaVerifier(MmaOp op)
      : op(op), tile(op.getAccumulator().getType().getTile()), b(op.getB().getType()),
        aBuffer(dyn_cast<BufferType>(op.getA().getType())),
        aTile(dyn_cast<RankedTensorType>(op.getA().getType())) {}

  LogicalResult run() {
    return success(succeeded(elementTypes()) && succeeded(shapes()) && succeeded(extents()) &&
                   succeeded(storage()) && succeeded(fragments()) && succeeded(start()));
  }

private:
  // PTX ISA 9.0, 9.7.15.5.2: the types that go together.
  LogicalResult elementTypes() {
    Type aType = op.getAElementType(), bType = b.getElementType();
    for (auto [name, buffer, kDim] : {std::tuple("a", aBuffer, 1), std::tuple("b", b, 0)}) {
      if (!buffer || buffer.getFastestDim() == kDim)
        continue;
      // PTX ISA 9.0, 9.7.15.5.1.2: imm-trans exists for 16-bit types only.
      if (getStorageBits(buffer.getElementType()) != 16)
        return op.emitOpError("operand ")
               << name << " of " << buffer.getElementType() << " has dimension "
               << buffer.getFastestDim()
               << " fastest: wgmma reads 8-bit and tf32 operands K-major only, expected order = ["
               << kDim << ", " << 1 - kDim << "]";
    }
    auto is8BitFloat = [](Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); };
    for (auto [name, type] : {std::pair("a", aType), std::pair("b", bType)})
      if (!isa<BFloat16Type, Float16Type, FloatTF32Type, Float32Type>(type) && !is8BitFloat(type) &&
          !type.isInteger(8))
        return op.emitOpError("operand ") << name << " has elements of " << type
                                          << ": expected bf16, f16, tf32, f32, e4m3, e5m2 or i8";
    if (aType != bType && !(is8BitFloat(aType) && is8BitFloat(bType)))
      return op.emitOpError("multiplies ")
             << aType << " by " << bType << ": expected operands of one type";
    bool integers = aType.isInteger();
    if ((op.getUnsignedA() || op.getUnsignedB()) && !integers)
      return op.emitOpError("says that ") << aType << " is unsigned: expected i8";
    if (integers ? !tile.getElementType().isInteger(32) : !tile.getElementType().isF32())
      return op.emitOpError("accumulates in ")
             << tile.getElementType() << ": expected " << (integers ? "i32" : "f32");
    return success();
  }

  LogicalResult shapes() {
    ArrayRef<int64_t> a = aBuffer ? aBuffer.getShape() : aTile.getShape();
    if (a[1] != b.getShape()[0])
      return op.emitOpError("has a of ")
             << a[0] << "x" << a[1] << " and b of " << b.getShape()[0] << "x" << b.getShape()[1]
             << ": expected a's columns to be b's rows";
    if (tile.getRank() != 2 || tile.getDimSize(0) != a[0] ||
        tile.getDimSize(1) != b.getShape()[1]) {
      InFlightDiagnostic error = op.emitOpError("expects an accumulator of ")
                                 << a[0] << "x" << b.getShape()[1]
                                 << ", a's rows by b's columns, found ";
      llvm::interleave(tile.getShape(), error, "x");
      return error;
    }
    return success();
  }

  // PTX ISA 9.0, 9.7.15.2: m64nNkK, N a multiple of 8 from 8 to 256, K of 32 bytes; of integers N
  // is 8, 24 or a multiple of 16.
  LogicalResult extents() {
    int64_t warpgroups = getLayout(tile).getWarpgroups();
    if (op.getM() % (64 * warpgroups))
      return op.emitOpError("has M = ")
             << op.getM() << " over " << warpgroups << " warpgroups: expected a multiple of "
             << 64 * warpgroups;
    if (op.getN() % 8 || op.getN() > 256)
      return op.emitOpError("has N = ")
             << op.getN() << ": expected a multiple of 8 up to 256, split a wider tile";
    if (op.getAElementType().isInteger() && op.getN() % 16 && op.getN() != 8 && op.getN() != 24)
      return op.emitOpError("has N = ")
             << op.getN() << " of integers: expected 8, 24 or a multiple of 16";
    int64_t step = 256 / b.getElementBits();
    if (op.getK() % step)
      return op.emitOpError("has K = ") << op.getK() << ": expected a multiple of " << step;
    return success();
  }

  LogicalResult storage() {
    for (auto [name, buffer] : {std::pair("a", aBuffer), std::pair("b", b)})
      if (buffer && !buffer.getSwizzle())
        return op.emitOpError("operand ")
               << name
               << " is stored without a swizzle, line after line, which no wgmma descriptor "
               << "can say: expected a swizzle of 32, 64 or 128 bytes";
    return success();
  }

  LogicalResult fragments() {
    auto warpgroups = static_cast<int32_t>(getLayout(tile).getWarpgroups());
    auto m = static_cast<int32_t>(op.getM()), n = static_cast<int32_t>(op.getN()),
         k = static_cast<int32_t>(op.getK()), bits = static_cast<int32_t>(b.getElementBits());
    if (failed(
            verifyFragment(op, "the accumulator", tile, girih::wgmmaAccumulator(m, n, warpgroups))))
      return failure();
    if (aTile && failed(verifyFragment(op, "operand a", aTile,
                                       girih::wgmmaOperandA(m, k, bits, warpgroups))))
      return failure();
    return verifyWholeRole(op, tile);
  }

  LogicalResult start() {
    auto fresh = op.getAccumulator().getDefiningOp<AccOp>();
    if (op.getAccumulate() || !fresh || fresh.getFrom())
      return success();
    InFlightDiagnostic error = op.emitOpError("adds to an accumulator that nothing has been "
                                              "written to: say accumulate(%p) with %p false");
    error.attachNote(op.getAccumulator().getLoc()) << "the accumulator is made here";
    return error;
  }

  MmaOp op;
  RankedTensorType tile;
  BufferType b, aBuffer;
  RankedTensorType aTile;
};

} // namespace

Type MmaOp::getAElementType() {
  if (auto buffer = dyn_cast<BufferType>(getA().getType()))
    return buffer.getElementType();
  return cast<RankedTensorType>(getA().getType()).getElementType();
}

LogicalResult MmaOp::verify() {
  if (failed(MmaVerifier(*this).run()))
    return failure();
  return verifyPendingUses(getResult());
}

llvm::SmallVector<Async> MmaOp::getAsyncEffects() {
  return {Async{Async::Kind::Start, Async::Engine::Wgmma, getResult()},
          Async{Async::Kind::Commit, Async::Engine::Wgmma, getResult()}};
}

llvm::SmallVector<BufferAccess> MmaOp::getBufferAccesses() {
  llvm::SmallVector<BufferAccess> accesses;
  // Each warpgroup multiplies its own rows of A by all of B.
  for (auto [operand, part] : {std::pair(Value(getA()), BufferAccess::Part::WarpgroupRows),
                               std::pair(Value(getB()), BufferAccess::Part::Whole)})
    if (isa<BufferType>(operand.getType()))
      accesses.push_back({.kind = BufferAccess::Kind::Read,
                          .proxy = BufferAccess::Proxy::Async,
                          .buffer = operand,
                          .outlivesOp = true,
                          .part = part});
  return accesses;
}

LogicalResult WaitOp::verify() {
  if (getPending().empty())
    return emitOpError("waits for no tile: expected at least one pending operand");
  if (getPending().size() != getResults().size())
    return emitOpError("has ") << getPending().size() << " pending operands and "
                               << getResults().size() << " results: expected one for each";
  for (auto [index, pending, result] : llvm::enumerate(getPending(), getResults())) {
    auto from = cast<PendingType>(pending.getType());
    if (result.getType() != from.getTile() && result.getType() != from)
      return emitOpError("turns operand ")
             << index << " of " << from << " into " << result.getType()
             << ": expected its tile, or the same pending type";
    if (isa<PendingType>(result.getType()) && failed(verifyPendingUses(result)))
      return failure();
  }
  return success();
}

llvm::SmallVector<Async> WaitOp::getAsyncEffects() {
  llvm::SmallVector<Async> effects;
  for (Value pending : getPending())
    effects.push_back({Async::Kind::Retire, Async::Engine::Wgmma, pending, getInFlight()});
  return effects;
}

LogicalResult SliceOp::verify() {
  RankedTensorType source = getSource().getType(), part = getPart().getType();
  if (source.getRank() != 2 || part.getRank() != 2 || getOffsets().size() != 2)
    return emitOpError("expects tiles of two dimensions and two offsets");
  if (source.getElementType() != part.getElementType())
    return emitOpError("turns elements of ") << source.getElementType() << " into "
                                             << part.getElementType() << ": expected the same type";
  girih::Layout layout = getLayout(source).getLayout();
  for (auto [axis, dim] : {std::pair(girih::Dim::Row, 0), std::pair(girih::Dim::Col, 1)}) {
    int64_t begin = getOffsets()[dim], end = begin + part.getDimSize(dim);
    if (begin < 0 || end > source.getDimSize(dim))
      return emitOpError("takes elements ") << begin << " to " << end << " of dimension " << dim
                                            << ", which has " << source.getDimSize(dim);
    if (begin == 0 && end == source.getDimSize(dim))
      continue;
    girih::Result<girih::Slice> sliced =
        girih::slice(layout, axis, static_cast<int32_t>(begin), static_cast<int32_t>(end));
    if (!sliced)
      return emitOpError("cannot take elements ")
             << begin << " to " << end << " of dimension " << dim
             << " without moving data between threads: " << sliced.error();
    layout = sliced->layout;
  }
  if (getLayout(part).getLayout() != layout)
    return emitOpError(
               "has a part with another layout than its elements have: expected #wg.layout<")
           << layout.str() << ">";
  return success();
}

LogicalResult ConvertLayoutOp::verify() {
  auto from = cast<RankedTensorType>(getSource().getType());
  auto to = cast<RankedTensorType>(getTile().getType());
  if (from.getShape() != to.getShape() || from.getElementType() != to.getElementType())
    return emitOpError("expected a result of the source's shape and elements, found ")
           << to << " from " << from;
  if (!getFree() || !isTile(from) || !isTile(to))
    return success();
  girih::Layout source = getLayout(from).getLayout(), wanted = getLayout(to).getLayout();
  if (source == wanted)
    return success();
  InFlightDiagnostic error =
      emitOpError(
          "moves elements between registers or threads, which it must not: expected a source "
          "with #wg.layout<")
      << wanted.str() << ">";
  if (std::optional<std::string> conflict = girih::firstConflict(wanted, source))
    error.attachNote() << *conflict;
  return error;
}
