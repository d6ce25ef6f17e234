// Operands a that every step of a loop reads: in registers, if these are enough.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProductPlan.h"

using namespace mlir;

namespace girih::wg {

int64_t registersOf(RankedTensorType type, int64_t warpgroups) {
  return type.getNumElements() * getStorageBits(type.getElementType()) / 32 / (128 * warpgroups);
}

/// What the products of one step have in registers at once: sums, and operands a that the role
/// computes.
static int64_t registersOfStep(const ProductPlan &plan, Block *step) {
  int64_t sum = 0;
  for (const Product &product : plan.products) {
    tile::DotOp dot = product.dot;
    if (dot->getBlock() != step)
      continue;
    sum += registersOf(dot.getResult().getType(), plan.warpgroups);
    if (product.a.source == OperandSource::Registers)
      sum += registersOf(dot.getA().getType(), plan.warpgroups);
  }
  return sum;
}

int64_t registersToCompute(int64_t warpgroups) {
  constexpr int64_t most = 240;
  int64_t forLoads = warpgroups > 2 ? 32 : 40;
  int64_t all = (warpgroups + 1) * getLaunchRegisters((warpgroups + 1) * 128);
  return std::min(most, (all - forLoads) / warpgroups / 8 * 8);
}

void keepOperands(ProductPlan &plan) {
  int64_t registers = registersToCompute(plan.warpgroups * plan.alternates);
  for (Section &section : plan.sections) {
    if (section.drains || section.loads.size() != 1)
      continue;
    tile::LoadOp load = section.loads.front().load;
    SmallVector<Product *> readers;
    bool keeps = true, inLoop = false;
    int64_t most = 0;
    for (Product &product : plan.products) {
      if (product.b.source == OperandSource::Ring && product.b.load == load)
        keeps = false;
      if (product.a.source != OperandSource::Ring || product.a.load != load)
        continue;
      keeps &= product.unit == ProductUnit::Wgmma;
      // ldmatrix brings 8 bytes of a row, so 16-bit elements along K, to each lane.
      keeps &= product.a.buffer.getElementBits() == 16 && product.a.buffer.getFastestDim() == 1;
      inLoop |=
          isa<scf::ForOp>(product.dot->getParentOp()) && product.dot->getBlock() != section.block;
      most = std::max(most, registersOfStep(plan, product.dot->getBlock()));
      readers.push_back(&product);
    }
    if (!keeps || !inLoop)
      continue;
    int64_t more = registersOf(readers.front()->dot.getA().getType(), plan.warpgroups);
    if (most + more + kOtherRegisters > registers) {
      emitRemark(load.getLoc(), "operand a not kept in registers: of ")
          << registers << " the products of a step take " << most << ", addresses and rows "
          << kOtherRegisters << ", and it would take " << more;
      continue;
    }
    emitRemark(load.getLoc(), "operand a is kept in registers, ")
        << more << " of a thread, for all steps of the loop";
    section.kept = true;
    for (Product *reader : readers)
      reader->a.kept = true;
  }
}

} // namespace girih::wg
