// Numbers of rings; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/Transforms/RingProtocol.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace girih::wg {

RingProtocol ringProtocol(RingOp ring) {
  RingProtocol protocol;
  protocol.stages = ring.getStages().value_or(0);
  auto note = [](SmallVector<RoleOp> &roles, Operation *user) {
    RoleOp role = roleOf(user);
    if (role && !llvm::is_contained(roles, role))
      roles.push_back(role);
  };
  for (Operation *user : ring.getRing().getUsers()) {
    if (isa<FillOp, AcquireOp>(user))
      note(protocol.producers, user);
    if (isa<DrainOp, FreeOp>(user))
      note(protocol.consumers, user);
  }
  // Users are listed last to first.
  std::reverse(protocol.producers.begin(), protocol.producers.end());
  std::reverse(protocol.consumers.begin(), protocol.consumers.end());
  protocol.fullArrivals = protocol.producers.size();
  for (RoleOp role : protocol.consumers)
    protocol.emptyArrivals =
        ring.getOneReader() ? role.getWarpsTogether() : protocol.emptyArrivals + role.getWarps();
  for (Operation *user : ring.getRing().getUsers())
    if (auto acquire = dyn_cast<AcquireOp>(user))
      for (TmaLoadOp load : copiesInto(acquire))
        if (load.getMulticast())
          protocol.ctas = clusterCtas(load);
  protocol.emptyArrivals *= protocol.ctas;
  return protocol;
}

bool reachesOtherCtas(gpu::GPUFuncOp kernel) {
  return kernel
      .walk([](Operation *op) {
        auto load = dyn_cast<TmaLoadOp>(op);
        bool reaches = isa<BarrierArriveClusterOp>(op) || (load && load.getMulticast());
        return reaches ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

int64_t storeSlots(StoreRingOp ring) {
  for (Operation *user : ring.getRing().getUsers())
    if (RoleOp role = roleOf(user); role && role.getEach())
      return ring.getStages() * role.getNumWarpgroups();
  return ring.getStages();
}

int64_t tmaBytes(TmaLoadOp load) { return load.getBytes(); }

SmallVector<TmaLoadOp> copiesInto(AcquireOp acquire) {
  SmallVector<TmaLoadOp> loads;
  SmallVector<Value> worklist(acquire.getSlot());
  while (!worklist.empty()) {
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      if (auto part = dyn_cast<SubbufferOp>(user))
        worklist.push_back(part.getPart());
      else if (auto load = dyn_cast<TmaLoadOp>(user))
        loads.push_back(load);
    }
  }
  return loads;
}

std::optional<int64_t> fillBytes(AcquireOp acquire) {
  int64_t bytes = 0;
  for (TmaLoadOp load : copiesInto(acquire)) {
    if (load->getBlock() != acquire->getBlock())
      return std::nullopt;
    bytes += tmaBytes(load);
  }
  return bytes;
}

bool needsProxyFence(AccessKind writer, AccessKind reader) {
  return writer == AccessKind::Generic && reader != AccessKind::Generic;
}

Value rootBuffer(Value buffer) {
  while (auto part = buffer.getDefiningOp<SubbufferOp>())
    buffer = part.getSource();
  return buffer;
}

RoleOp roleOf(Operation *op) { return op->getParentOfType<RoleOp>(); }

int64_t firstWarpgroup(RoleOp role) {
  int64_t first = 0;
  for (RoleOp other : cast<SpecializeOp>(role->getParentOp()).getRoles()) {
    if (other == role)
      break;
    first += other.getNumWarpgroups();
  }
  return first;
}

std::string placeOf(Location loc) {
  std::string place;
  loc->walk([&](Location part) {
    auto file = dyn_cast<FileLineColLoc>(part);
    if (!file)
      return WalkResult::advance();
    place = (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
             Twine(file.getColumn()))
                .str();
    return WalkResult::interrupt();
  });
  return place.empty() ? "an unknown place" : place;
}

std::string nameOf(Operation *allocation) {
  if (auto name = allocation->getAttrOfType<StringAttr>("name"))
    return name.str();
  StringRef kind = isa<RingOp>(allocation)          ? "ring"
                   : isa<StoreRingOp>(allocation)   ? "store ring"
                   : isa<AllocBufferOp>(allocation) ? "buffer"
                                                    : "barriers";
  return (kind + " at " + placeOf(allocation->getLoc())).str();
}

} // namespace girih::wg
