// Trailing zeros of integers; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Divisor.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace girih::wg {

namespace {

/// One question: what a loop carries is assumed to be as even as what it starts with, until an
/// iteration shows otherwise.
class Zeros {
public:
  int of(Value value) {
    if (auto known = assumed.find(value); known != assumed.end())
      return known->second;
    // Index arithmetic is shallow; what is deeper is not worth the time.
    if (depth == kMaxDepth)
      return 0;
    ++depth;
    int zeros = compute(value);
    --depth;
    return std::min(zeros, kAllZeros);
  }

private:
  static constexpr int kMaxDepth = 32;

  int compute(Value value) {
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return constant.isZero() ? kAllZeros : static_cast<int>(constant.countr_zero());
    if (auto argument = dyn_cast<BlockArgument>(value))
      return ofArgument(argument);
    Operation *op = value.getDefiningOp();
    return llvm::TypeSwitch<Operation *, int>(op)
        .Case<arith::AddIOp, arith::SubIOp, arith::OrIOp, arith::XOrIOp, arith::MinSIOp,
              arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp, arith::RemSIOp, arith::RemUIOp>(
            [&](auto) { return std::min(of(op->getOperand(0)), of(op->getOperand(1))); })
        .Case([&](arith::AndIOp) { return std::max(of(op->getOperand(0)), of(op->getOperand(1))); })
        .Case([&](arith::MulIOp) { return of(op->getOperand(0)) + of(op->getOperand(1)); })
        .Case([&](arith::ShLIOp shift) {
          APInt amount;
          bool known = matchPattern(shift.getRhs(), m_ConstantInt(&amount));
          return of(shift.getLhs()) +
                 (known ? static_cast<int>(amount.getLimitedValue(kAllZeros)) : 0);
        })
        .Case([&](arith::SelectOp select) {
          return std::min(of(select.getTrueValue()), of(select.getFalseValue()));
        })
        .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp,
              arith::IndexCastUIOp>([&](auto) { return of(op->getOperand(0)); })
        .Case([&](scf::IfOp branch) {
          unsigned number = cast<OpResult>(value).getResultNumber();
          return std::min(of(branch.thenYield().getOperand(number)),
                          of(branch.elseYield().getOperand(number)));
        })
        .Case([&](scf::ForOp loop) {
          unsigned number = cast<OpResult>(value).getResultNumber();
          return ofCarried(loop, number);
        })
        .Default(0);
  }

  int ofArgument(BlockArgument argument) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop)
      return 0;
    if (argument == loop.getInductionVar())
      return std::min(of(loop.getLowerBound()), of(loop.getStep()));
    return ofCarried(loop, argument.getArgNumber() - loop.getNumInductionVars());
  }

  int ofCarried(scf::ForOp loop, unsigned number) {
    Value argument = loop.getRegionIterArg(number);
    if (auto known = assumed.find(argument); known != assumed.end())
      return known->second;
    int zeros = of(loop.getInitArgs()[number]);
    while (true) {
      assumed[argument] = zeros;
      int next = std::min(
          zeros, of(cast<scf::YieldOp>(loop.getBody()->getTerminator()).getOperand(number)));
      if (next == zeros)
        break;
      zeros = next;
    }
    assumed.erase(argument);
    return zeros;
  }

  llvm::DenseMap<Value, int> assumed;
  int depth = 0;
};

} // namespace

int trailingZeros(Value value) { return Zeros().of(value); }

} // namespace girih::wg
