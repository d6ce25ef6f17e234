// Arithmetic for a layout; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Conversion/WGToNVVM/ThreadAddress.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace girih::wg {

namespace {

/// i32 arithmetic with constants, folding what is zero.
struct Arithmetic {
  OpBuilder &builder;
  Location loc;

  Value constant(int64_t value) {
    return LLVM::ConstantOp::create(builder, loc,
                                    builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value mask(Value x, int64_t bits) { return LLVM::AndOp::create(builder, loc, x, constant(bits)); }
  /// x moved by `amount` bits, to the left if positive.
  Value shift(Value x, int64_t amount) {
    if (amount == 0)
      return x;
    if (amount > 0)
      return LLVM::ShlOp::create(builder, loc, x, constant(amount));
    return LLVM::LShrOp::create(builder, loc, x, constant(-amount));
  }
  Value flip(Value a, Value b) { return a ? Value(LLVM::XOrOp::create(builder, loc, a, b)) : b; }
  Value add(Value a, Value b) { return a ? Value(LLVM::AddOp::create(builder, loc, a, b)) : b; }
  Value scaled(Value x, int64_t factor) {
    return factor == 1 ? x : Value(LLVM::MulOp::create(builder, loc, x, constant(factor)));
  }
};

Value indexOf(const ThreadPlace &place, Dim dim) {
  switch (dim) {
  case Dim::Lane:
    return place.lane;
  case Dim::Warp:
    return place.warp;
  case Dim::Warpgroup:
    return place.warpgroup;
  default:
    llvm_unreachable("a thread's place has no such dimension");
  }
}

} // namespace

Value emitLayout(OpBuilder &builder, Location loc, const Layout &layout, Dim outDim,
                 const ThreadPlace &place, int64_t scale) {
  Arithmetic arith{builder, loc};
  const LayoutSpec &spec = layout.spec();
  size_t out = std::find(spec.outDims.begin(), spec.outDims.end(), outDim) - spec.outDims.begin();

  Value flips, sums;
  for (Dim dim : {Dim::Lane, Dim::Warp, Dim::Warpgroup}) {
    // Bits of the index that move by the same distance are one masked shift.
    llvm::MapVector<int, int64_t> maskOfShift;
    int bits = 0;
    for (const Base &base : spec.bases) {
      if (base.dim != dim)
        continue;
      for (int64_t to = base.to[out] * scale, j = 0; to >> j; ++j)
        if (to >> j & 1)
          maskOfShift[static_cast<int>(j) - bits] |= int64_t{1} << bits;
      ++bits;
    }
    for (auto [distance, mask] : maskOfShift)
      flips = arith.flip(flips, arith.shift(arith.mask(indexOf(place, dim), mask), distance));

    // What is above the atom's bits counts in mixed radix.
    SmallVector<const Repeat *> repeats;
    for (const Repeat &repeat : spec.repeats)
      if (repeat.dim == dim)
        repeats.push_back(&repeat);
    if (repeats.empty())
      continue;
    Value rest = arith.shift(indexOf(place, dim), -bits);
    for (auto [i, repeat] : llvm::enumerate(repeats)) {
      Value digit = rest;
      if (i + 1 < repeats.size()) {
        Value extent = arith.constant(repeat->extent);
        digit = LLVM::URemOp::create(builder, loc, rest, extent);
        rest = LLVM::UDivOp::create(builder, loc, rest, extent);
      }
      if (repeat->step[out])
        sums = arith.add(sums, arith.scaled(digit, repeat->step[out] * scale));
    }
  }
  if (!flips && !sums)
    return arith.constant(0);
  if (!flips)
    return sums;
  return sums ? arith.add(flips, sums) : flips;
}

} // namespace girih::wg
