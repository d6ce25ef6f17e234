// Operations that run beside the warps: copies by TMA and products by the tensor core. Each takes
// effect at moments that the scheduler picks between its issue and its completion.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_MACHINE_ASYNC_H
#define GIRIH_EMULATOR_MACHINE_ASYNC_H

#include "Emulator/Machine/Machine.h"
#include "girih/Emulator/MatrixDescriptor.h"
#include "girih/Emulator/Reduction.h"
#include "girih/Emulator/TmaBox.h"
#include "girih/Emulator/Wgmma.h"

namespace girih::emu {

/// A copy in flight.
struct AsyncOp {
  virtual ~AsyncOp() = default;
  /// Does the next part. True when nothing is left.
  virtual bool advance(Cluster &cluster) = 0;
  /// After the last part: does it end at the commit, in the order of the clusters?
  virtual bool endsAtCommit() const { return false; }
  virtual void commit(Cluster &) {}
  /// Would it still deliver bytes to this barrier?
  virtual bool signals(const Cta &, uint32_t) const { return false; }
  /// Would it still write shared memory of this CTA that others may come to use?
  virtual bool fills(const Cta &) const { return false; }
  /// Would it still write bytes of this range?
  virtual bool writes(const Cta &, uint32_t, uint32_t) const { return false; }

  Cta *cta = nullptr; ///< of the issuing thread
  Warp *warp = nullptr;
  uint32_t pc = 0;
  uint32_t lane = 0;
  /// What happened before the issue. Shared with the records of global memory that it makes, which
  /// outlive it.
  std::shared_ptr<Snapshot> snapshot = std::make_shared<Snapshot>();
  Order &order = snapshot->order;
  std::shared_ptr<const Snapshot> globalSnapshot() const { return snapshot; }

  /// For Mbarrier::lastCopy.
  Mbarrier::Arrival landing(uint32_t phase) const {
    return {pc, static_cast<int16_t>(warp->index), static_cast<int8_t>(lane),
            static_cast<uint16_t>(cta->rank), phase};
  }
  Site site(const Cluster &cluster, std::string action) const {
    return cluster.site(std::move(action), pc, cta->rank, static_cast<int>(warp->index),
                        static_cast<int>(lane));
  }
  Accessor accessor(AgentId agent, uint32_t clock, AccessKind kind) const {
    Accessor who;
    who.agent = agent;
    who.clock = clock;
    who.order = &order;
    who.kind = kind;
    who.pc = pc;
    who.warp = static_cast<int>(warp->index);
    who.lane = static_cast<int>(lane);
    who.cluster = cta->cluster->worldId();
    who.rank = cta->rank;
    return who;
  }
};

/// After a copy from global to shared memory, with checks: bytes that nobody has written stay
/// undefined in the copy.
void passUndefined(Cluster &cluster, Cta &target, uint32_t offset, uint64_t address,
                   uint32_t bytes);

/// Global to shared memory, with an mbarrier that counts the bytes; one box of a tensor, or plain
/// bytes.
struct CopyToShared : AsyncOp {
  std::vector<Cta *> targets; ///< one, or all of a multicast
  uint32_t barrier = 0;       ///< offset of the mbarrier in each target
  TensorMap map;
  std::unique_ptr<TmaBox> box;
  // Plain bytes: from global memory, or from the shared memory of this CTA.
  uint64_t source = 0;
  uint32_t destination = 0, bytes = 0;
  Cta *sourceCta = nullptr;
  /// Bytes at either end that may not exist.
  uint32_t ignoreLeft = 0, ignoreRight = 0;
  /// A reduction of elements of this many bytes, instead of a copy.
  ReduceFn reduce = nullptr;
  uint32_t element = 0;
  uint32_t next = 0, pieces = 1;

  bool advance(Cluster &cluster) override;
  bool signals(const Cta &target, uint32_t offset) const override;
  bool writes(const Cta &target, uint32_t offset, uint32_t size) const override;
  bool fills(const Cta &target) const override {
    return std::find(targets.begin(), targets.end(), &target) != targets.end();
  }

private:
  uint32_t units() const { return box ? box->rowCount() : (bytes + 127) / 128; }
  bool moveRows(Cluster &cluster, Cta &target, uint32_t first, uint32_t last, const Accessor &who);
  bool moveBytes(Cluster &cluster, Cta &target, uint32_t first, uint32_t last, const Accessor &who);
};

/// Shared to global memory: reads its source at one moment, writes the destination at a later one.
struct CopyToGlobal : AsyncOp {
  TensorMap map;
  std::unique_ptr<TmaBox> box;
  uint64_t destination = 0;
  uint32_t source = 0, bytes = 0;
  std::shared_ptr<BulkGroup> group;
  uint32_t sequence = 0;
  bool hasRead = false;
  std::vector<uint8_t> staging;
  /// A reduction: other clusters reduce into the same memory, so it takes effect at the commit.
  ReduceFn reduce = nullptr;
  uint32_t element = 0;

  bool advance(Cluster &cluster) override;
  bool endsAtCommit() const override { return reduce != nullptr; }
  void commit(Cluster &cluster) override;

private:
  void readSource(Cluster &cluster);
  void writeDestination(Cluster &cluster);
  void write(Cluster &cluster, const Accessor &who, uint64_t address, const uint8_t *data,
             uint32_t size);
};

/// What is fixed about a wgmma instruction.
struct WgmmaForm {
  WgmmaOperation operation;
  bool aInRegisters = false;
  OperandShape shapeA, shapeB;
  uint32_t set = 0; ///< D in Kernel::accumulatorSets
  std::vector<int32_t> d;
  int32_t a[4] = {};
  Src descriptorA = kNone, descriptorB = kNone;
  Src scaleD = kNone;
  Src metadata = kNone; ///< sparse only
  uint32_t selector = 0;
  bool scaleDNegated = false;
  /// Indices of D and A in Kernel::tracked.
  std::vector<uint32_t> trackedD, trackedA;
};

/// One wgmma of four warps.
struct WgmmaOp {
  const WgmmaForm *form = nullptr;
  uint32_t pc = 0;
  uint32_t sequence = 0;
  uint32_t arrived = 0; ///< bit per warp of the group
  uint64_t descriptorA = 0, descriptorB = 0;
  bool scaleD = true;
  std::vector<uint32_t> a;  ///< A from registers: 4 warps x 4 registers x 32 lanes
  uint32_t metadata[4][32]; ///< of a sparse A
  Order order;
  /// Registers that plain moves have made further names of D's: (warp of the group, element,
  /// offset).
  struct Alias {
    uint32_t part, element;
    int32_t offset;
    uint32_t tracked;
  };
  std::vector<Alias> aliases;

  /// As new, with the memory of the old one; `order` is set when the first warp arrives.
  void reuse() {
    arrived = 0;
    aliases.clear();
  }
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_MACHINE_ASYNC_H
