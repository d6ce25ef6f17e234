// Chains of transpositions and reshapes; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OperandChain.h"

using namespace mlir;

namespace girih::wg {

/// For each dimension of `to`, that of `from` with the same extent, if they differ in dimensions of
/// one element only.
static std::optional<SmallVector<int64_t>> matchReshape(ArrayRef<int64_t> from,
                                                        ArrayRef<int64_t> to) {
  SmallVector<int64_t> map;
  size_t next = 0;
  for (int64_t extent : to) {
    while (next < from.size() && from[next] != extent && from[next] == 1)
      ++next;
    if (next == from.size() || from[next] != extent)
      return std::nullopt;
    map.push_back(static_cast<int64_t>(next++));
  }
  if (llvm::any_of(from.drop_front(next), [](int64_t extent) { return extent != 1; }))
    return std::nullopt;
  return map;
}

std::optional<OperandChain> chainOf(Value operand) {
  OperandChain chain;
  chain.dims = {0, 1};
  while (Operation *op = operand.getDefiningOp()) {
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      chain.load = load;
      return chain;
    }
    chain.between.push_back(op);
    if (auto transpose = dyn_cast<tile::TransposeOp>(op)) {
      for (int64_t &dim : chain.dims)
        dim = transpose.getOrder()[dim];
      operand = transpose.getSource();
    } else if (auto reshape = dyn_cast<tile::ReshapeOp>(op)) {
      auto map = matchReshape(reshape.getSource().getType().getShape(),
                              reshape.getTile().getType().getShape());
      if (!map)
        return std::nullopt;
      for (int64_t &dim : chain.dims)
        dim = (*map)[dim];
      operand = reshape.getSource();
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<CopiedOperand> copiedOperand(Value operand) {
  CopiedOperand copied;
  while (operand.hasOneUse()) {
    Operation *op = operand.getDefiningOp();
    if (isa_and_present<tile::LoadOp, tile::TakeOp>(op)) {
      if (cast<RankedTensorType>(operand.getType()).getRank() != 2)
        return std::nullopt;
      copied.load = op;
      return copied;
    }
    auto transpose = dyn_cast_if_present<tile::TransposeOp>(op);
    if (!transpose)
      return std::nullopt;
    copied.transposed ^= transpose.getOrder()[0] == 1;
    copied.between.push_back(op);
    operand = transpose.getSource();
  }
  return std::nullopt;
}

bool readsInput(Operation *op, const HostSide &host) {
  if (!isa<tile::ReadOp, tile::LoadOp, tile::TakeOp>(op))
    return false;
  Value view = op->getOperand(0);
  while (Operation *from = view.getDefiningOp()) {
    if (auto root = dyn_cast<tile::ViewOp>(from)) {
      Value array = host.passedFor(root.getPointer());
      auto type = array ? dyn_cast<plan::ArrayType>(array.getType()) : plan::ArrayType();
      return type && type.getAccess() == plan::Access::In;
    }
    if (!isa<tile::SelectOp, tile::SliceOp, tile::PermuteOp>(from))
      return false;
    view = from->getOperand(0);
  }
  return false;
}

} // namespace girih::wg
