// Which loads the CTAs of a cluster have in common: each brings a part of the tile to all of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BackwardSlice.h"
#include "ProductPlan.h"

using namespace mlir;

namespace girih::wg {

/// Whether an op gives the number of the CTA's cluster: %ctaid.x divided by its CTAs.
static bool isClusterNumber(Operation *op, int64_t ctas) {
  auto divide = dyn_cast<arith::DivUIOp>(op);
  APInt by;
  if (!divide || !matchPattern(divide.getRhs(), m_ConstantInt(&by)) ||
      by.getSExtValue() % ctas != 0)
    return false;
  auto number = divide.getLhs().getDefiningOp<arith::IndexCastOp>();
  auto cta = number ? number.getIn().getDefiningOp<gpu::BlockIdOp>() : gpu::BlockIdOp();
  return cta && cta.getDimension() == gpu::Dimension::x;
}

namespace {
/// What decides about something, as far as the CTAs of a cluster have it in common.
class ClusterSlice : public BackwardSlice {
public:
  explicit ClusterSlice(int64_t ctas)
      : BackwardSlice([ctas](Operation *op) { return isClusterNumber(op, ctas); }) {}

  bool isCommon() const {
    return llvm::none_of(getOps(), [](Operation *op) {
      return isa<gpu::GPUDialect>(op->getDialect()) && !isa<gpu::GridDimOp>(op);
    });
  }
};
} // namespace

/// Whether all CTAs of a cluster come to a block as often.
static bool isReachedInCommon(Block *block, int64_t ctas) {
  ClusterSlice slice(ctas);
  if (Operation *parent = block->getParentOp(); !isa<gpu::GPUFuncOp>(parent))
    slice.addOp(parent);
  return slice.isCommon();
}

/// Why the CTAs of a cluster cannot share a load; empty if they do now.
static std::string share(RingLoad &load, int64_t ctas) {
  ClusterSlice slice(ctas);
  for (ArrayRef<Value> terms : load.place.coordinates)
    for (Value term : terms)
      slice.addValue(term);
  if (!slice.isCommon())
    return "each CTA loads another tile";
  std::optional<ViewType> box = boxOfShare(load.copy, ctas);
  if (!box)
    return "its tile does not fall into " + std::to_string(ctas) + " equal parts of whole panels " +
           "or of 8 lines";
  load.copy.view = *box;
  load.multicast = true;
  return {};
}

LogicalResult shareInClusters(gpu::GPUFuncOp kernel, const HostSide &host, Location hint,
                              ProductPlan &plan) {
  int64_t ctas = clusterCtas(kernel);
  if (ctas == 1)
    return success();
  // The slots of a shared ring are counted in all CTAs together.
  SmallVector<bool> common(plan.rings.size(), true);
  for (const Section &section : plan.sections)
    common[section.ring] &= isReachedInCommon(section.block, ctas);

  SmallVector<std::pair<tile::LoadOp, std::string>> alone;
  bool any = false;
  for (Section &section : plan.sections)
    for (RingLoad &load : section.loads) {
      std::string why = common[section.ring]
                            ? share(load, ctas)
                            : "how often it loads is not the same in all CTAs of a cluster";
      any |= why.empty();
      if (why.empty())
        emitRemark(load.load.getLoc(), "the ")
            << ctas << " CTAs of a cluster share " << host.nameOf(load.place.array)
            << ": each loads a part for all";
      else
        alone.emplace_back(load.load, std::move(why));
    }
  if (any)
    return success();
  InFlightDiagnostic error = emitError(hint, "a cluster of ")
                             << ctas << " CTAs shares nothing here; expected a load by TMA of the "
                             << "same tile in all of them, found none: leave the cluster out";
  for (auto &[load, why] : alone)
    error.attachNote(load.getLoc()) << "not shared: " << why;
  return error;
}

} // namespace girih::wg
