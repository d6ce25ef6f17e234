// Bulk and tensor copies and their groups (PTX ISA 9.0, 9.7.9.25 "cp.async.bulk", 9.7.9.27
// "cp.async.bulk.tensor").
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/AddressList.h"

namespace girih::emu {

namespace {

using ptx::OperandKind;

/// Reads and decodes the 128 bytes of a tensor map wherever they are.
bool loadMap(Context &c, unsigned lane, uint64_t address, TensorMap &map) {
  uint8_t bytes[kTensorMapBytes];
  const char *what = "names a tensor map";
  uint64_t window = address & ~(kWindowBytes - 1);
  if (window == kParamWindow) {
    uint64_t offset = address - kParamWindow;
    if (offset + kTensorMapBytes > c.cluster.launch.params.size()) {
      c.cluster.fault("tensor-map-invalid",
                      "the tensor map's address lies past the kernel's parameters",
                      {c.cluster.here(c, what, static_cast<int>(lane))});
      return false;
    }
    std::memcpy(bytes, c.cluster.launch.params.data() + offset, sizeof(bytes));
  } else if (window == kSharedWindow || address < kWindowBytes) {
    uint32_t offset = 0;
    Cta *target = c.cluster.sharedTarget(c, lane, address, kTensorMapBytes, offset, what);
    if (!target)
      return false;
    std::memcpy(bytes, target->shared.data() + offset, sizeof(bytes));
  } else if (window == kLocalWindow) {
    c.cluster.fault("tensor-map-invalid",
                    "the tensor map lies in local memory, where no other unit can read it",
                    {c.cluster.here(c, what, static_cast<int>(lane))},
                    "pass it as a __grid_constant__ parameter");
    return false;
  } else {
    if (!c.cluster.globalInBounds(address, kTensorMapBytes) &&
        !c.cluster.checkGlobal(c, lane, address, kTensorMapBytes, what))
      return false;
    c.cluster.readGlobal(address, bytes, sizeof(bytes));
  }
  std::string problem =
      address % 64 ? "its address is not a multiple of 64" : decodeTensorMap(bytes, map);
  if (problem.empty())
    return true;
  c.cluster.fault("tensor-map-invalid", "the tensor map cannot be used: " + problem,
                  {c.cluster.here(c, what, static_cast<int>(lane))});
  return false;
}

bool makeBox(Context &c, unsigned lane, uint32_t rank, const int32_t *coordinates, uint32_t shared,
             const Cta &cta, const TensorMap &map, std::unique_ptr<TmaBox> &box) {
  std::string problem;
  if (map.rank != rank)
    problem = "the instruction copies " + std::to_string(rank) +
              " dimensions, the tensor map has " + std::to_string(map.rank);
  if (problem.empty()) {
    box = std::make_unique<TmaBox>(map, coordinates, shared);
    problem = checkTmaBox(*box, kSharedStart, static_cast<uint32_t>(cta.shared.size()));
  }
  if (problem.empty())
    return true;
  Site here = c.cluster.here(c, "issues a tensor copy", static_cast<int>(lane));
  here.space = "shared";
  here.address = shared;
  c.cluster.fault("tensor-copy-invalid", problem, {here});
  return false;
}

constexpr uint8_t kMulticast = 1, kFromCta = 2, kBulkBytes = 4;

/// sub: flags above; count: rank of the tensor; list: dst, barrier, map or source, coordinates or
/// size [, mask].
Step copyToShared(Context &c, const Instr &in) {
  const int32_t *start = c.cluster.kernel.lists.data() + in.list;
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    const int32_t *list = start;
    auto op = std::make_unique<CopyToShared>();
    describe(*op, c, lane);
    uint64_t destination = addressAt(c, list, lane), barrier = addressAt(c, list, lane),
             source = addressAt(c, list, lane);
    uint32_t offset = 0, barrierOffset = 0;
    Cta *target =
        c.cluster.sharedTarget(c, lane, destination, 16, offset, "asynchronous copy writes");
    if (!target)
      return Step::Block;
    Cta *barrierCta =
        c.cluster.sharedTarget(c, lane, barrier, 8, barrierOffset, "asynchronous copy signals");
    if (!barrierCta)
      return Step::Block;
    if (barrierCta != target) {
      c.cluster.fault("tensor-copy-invalid",
                      "the destination and the mbarrier lie in different CTAs",
                      {c.cluster.here(c, "issues a copy", static_cast<int>(lane))});
      return Step::Block;
    }
    if (!c.cluster.mbarrier(c, lane, *barrierCta, barrierOffset,
                            "issues a copy that signals an mbarrier"))
      return Step::Block;
    op->barrier = barrierOffset;
    if (in.sub & kBulkBytes) {
      op->bytes = c.src<uint32_t>(*list++)[lane];
      op->destination = offset;
      op->source = source;
      // 9.7.9.25.4.1: sizes and addresses are multiples of 16.
      if (op->bytes == 0 || op->bytes % 16 || offset % 16 || source % 16) {
        c.cluster.fault("bulk-copy-invalid",
                        "a bulk copy of " + std::to_string(op->bytes) +
                            " bytes: size and addresses must be multiples of 16",
                        {c.cluster.here(c, "issues a copy", static_cast<int>(lane))});
        return Step::Block;
      }
      if (!c.cluster.sharedTarget(c, lane, destination, op->bytes, offset,
                                  "asynchronous copy writes"))
        return Step::Block;
      if (in.sub & kFromCta) {
        uint32_t sourceOffset = 0;
        op->sourceCta = c.cluster.sharedTarget(c, lane, source, op->bytes, sourceOffset,
                                               "asynchronous copy reads");
        if (!op->sourceCta)
          return Step::Block;
        op->source = sourceOffset;
      }
    } else {
      int32_t coordinates[5] = {};
      for (uint32_t i = 0; i < in.count; ++i)
        coordinates[i] = static_cast<int32_t>(c.src<uint32_t>(*list++)[lane]);
      if (!loadMap(c, lane, source, op->map) ||
          !makeBox(c, lane, in.count, coordinates, offset, *target, op->map, op->box))
        return Step::Block;
    }
    if (in.sub & kMulticast) {
      uint32_t mask = c.src<uint16_t>(*list++)[lane];
      for (uint32_t rank = 0; rank < 16; ++rank)
        if (mask >> rank & 1) {
          if (rank >= c.cluster.ctas.size()) {
            c.cluster.fault("multicast-mask",
                            "the multicast mask names CTA " + std::to_string(rank) +
                                " of a cluster of " + std::to_string(c.cluster.ctas.size()),
                            {c.cluster.here(c, "issues a multicast copy", static_cast<int>(lane))});
            return Step::Block;
          }
          op->targets.push_back(c.cluster.ctas[rank].get());
        }
    } else {
      op->targets.push_back(target);
    }
    op->pieces = 1 + c.cluster.random.below(4);
    ++c.cluster.stats.tmaLoads;
    c.cluster.addAsync(std::move(op));
  }
  return Step::Next;
}
/// Adds a tensor operand, [map, {coordinates}], to the list; false: the instruction was refused.
bool listTensor(Decoder &d, const ptx::Operand &op) {
  auto refuse = [&](std::string why) {
    d.fail(std::move(why));
    return false;
  };
  if (op.kind != OperandKind::Tensor || op.elements[1].kind != OperandKind::Vector)
    return refuse("expected [map, {coordinates}]");
  listAddress(d, op.elements[0]);
  int rank = d.which({"1d", "2d", "3d", "4d", "5d"}) + 1;
  if (op.elements[1].elements.size() != static_cast<size_t>(rank))
    return refuse("expected " + std::to_string(rank) + " coordinates");
  for (const ptx::Operand &e : op.elements[1].elements)
    d.listAdd(d.source(e, 4));
  d.out.count = static_cast<uint8_t>(rank);
  return true;
}
void buildToShared(Decoder &d, int variant) {
  // dst, [map, coordinates] or src, size; then the barrier, the mask and the cache policy.
  bool tensor = variant == 0, multicast = d.has("multicast::cluster");
  size_t barrier = tensor ? 2 : 3;
  if (!d.expectOperands(barrier + 1 + multicast, barrier + 2 + multicast))
    return;
  d.listStart();
  listAddress(d, d.operand(0));
  listAddress(d, d.operand(barrier));
  if (tensor) {
    if (!listTensor(d, d.operand(1)))
      return;
  } else {
    listAddress(d, d.operand(1));
    d.listAdd(d.source(2, 4));
    d.out.sub |= kBulkBytes;
    if (!d.has("global"))
      d.out.sub |= kFromCta;
  }
  if (multicast) {
    d.listAdd(d.source(barrier + 1, 2));
    d.out.sub |= kMulticast;
  }
  d.out.flags |= kSelfChecked;
  d.out.exec = copyToShared;
}

/// list: source in shared memory, map or destination, coordinates or size.
Step copyToGlobal(Context &c, const Instr &in) {
  const int32_t *start = c.cluster.kernel.lists.data() + in.list;
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    const int32_t *list = start;
    auto op = std::make_unique<CopyToGlobal>();
    describe(*op, c, lane);
    uint64_t source = addressAt(c, list, lane), destination = addressAt(c, list, lane);
    uint32_t offset = 0;
    Cta *from = c.cluster.sharedTarget(c, lane, source, 16, offset, "asynchronous store reads");
    if (!from)
      return Step::Block;
    if (in.sub & kBulkBytes) {
      op->bytes = c.src<uint32_t>(*list++)[lane];
      op->source = offset;
      op->destination = destination;
      if (op->bytes == 0 || op->bytes % 16 || offset % 16 || destination % 16) {
        c.cluster.fault("bulk-copy-invalid",
                        "a bulk store of " + std::to_string(op->bytes) +
                            " bytes: size and addresses must be multiples of 16",
                        {c.cluster.here(c, "issues a store", static_cast<int>(lane))});
        return Step::Block;
      }
      if (!c.cluster.sharedTarget(c, lane, source, op->bytes, offset, "asynchronous store reads"))
        return Step::Block;
    } else {
      int32_t coordinates[5] = {};
      for (uint32_t i = 0; i < in.count; ++i)
        coordinates[i] = static_cast<int32_t>(c.src<uint32_t>(*list++)[lane]);
      if (!loadMap(c, lane, destination, op->map) ||
          !makeBox(c, lane, in.count, coordinates, offset, *from, op->map, op->box))
        return Step::Block;
    }
    Warp &warp = c.warp;
    if (!warp.openGroup[lane])
      warp.openGroup[lane] = std::make_shared<BulkGroup>();
    op->group = warp.openGroup[lane];
    ++op->group->readsLeft;
    ++op->group->writesLeft;
    op->sequence = ++warp.bulkSequence;
    warp.bulkRecords.push_back({op->sequence, lane, op->group, false, false, c.pc});
    ++c.cluster.stats.tmaStores;
    c.cluster.addAsync(std::move(op));
  }
  return Step::Next;
}
void buildToGlobal(Decoder &d, int variant) {
  bool tensor = variant == 0;
  if (!d.expectOperands(tensor ? 2 : 3, tensor ? 3 : 4))
    return;
  d.listStart();
  listAddress(d, d.operand(1));
  if (tensor) {
    if (!listTensor(d, d.operand(0)))
      return;
  } else {
    listAddress(d, d.operand(0));
    d.listAdd(d.source(2, 4));
    d.out.sub |= kBulkBytes;
  }
  d.out.flags |= kSelfChecked;
  d.out.exec = copyToGlobal;
}

Step commitGroup(Context &c, const Instr &) {
  Warp &warp = c.warp;
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    if (warp.openGroup[lane])
      warp.groups[lane].push_back(std::move(warp.openGroup[lane]));
    else
      warp.groups[lane].push_back(nullptr); // an empty group
    warp.openGroup[lane].reset();
  }
  return Step::Next;
}
void buildCommit(Decoder &d, int) {
  if (d.expectOperands(0, 0))
    d.out.exec = commitGroup;
}
Step waitGroup(Context &c, const Instr &in) {
  Warp &warp = c.warp;
  const size_t keep = static_cast<size_t>(in.imm);
  for (uint32_t m = c.mask; m; m &= m - 1) {
    auto &groups = warp.groups[__builtin_ctz(m)];
    for (size_t i = 0; i + keep < groups.size(); ++i)
      if (groups[i] && (groups[i]->readsLeft || (!in.sub && groups[i]->writesLeft))) {
        c.frag().wait = Wait::Bulk;
        return Step::Block;
      }
  }
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    auto &groups = warp.groups[lane];
    if (groups.size() <= keep)
      continue;
    size_t covered = groups.size() - keep;
    for (BulkRecord &record : warp.bulkRecords)
      if (record.lane == lane && !record.done) {
        // Groups that have left the list before were covered then.
        bool later = record.group == warp.openGroup[lane];
        for (size_t i = covered; i < groups.size(); ++i)
          later |= record.group == groups[i];
        record.waited |= !later;
        record.done |= !later && !in.sub;
      }
    size_t done = 0;
    while (done < covered &&
           (!groups[done] || (!groups[done]->readsLeft && !groups[done]->writesLeft)))
      ++done;
    groups.erase(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(done));
  }
  c.cluster.settleBulk(warp);
  return Step::Next;
}
void buildWaitGroup(Decoder &d, int) {
  if (!d.expectOperands(1))
    return;
  d.out.imm = d.literal(0);
  d.out.sub = d.has("read");
  d.out.exec = waitGroup;
}
Step nothing(Context &, const Instr &) { return Step::Next; }
void buildPrefetch(Decoder &d, int) { d.out.exec = nothing; }

#define GIRIH_RANK "1d|2d|3d|4d|5d"
const Form forms[] = {
    {"cp",
     "async bulk tensor " GIRIH_RANK
     " shared::cluster|shared::cta global tile? mbarrier::complete_tx::bytes multicast::cluster? "
     "L2::cache_hint?",
     buildToShared, 0},
    {"cp", "async bulk tensor " GIRIH_RANK " global shared::cta tile? bulk_group L2::cache_hint?",
     buildToGlobal, 0},
    {"cp",
     "async bulk shared::cluster|shared::cta global mbarrier::complete_tx::bytes "
     "multicast::cluster? L2::cache_hint?",
     buildToShared, 1},
    {"cp", "async bulk shared::cluster shared::cta mbarrier::complete_tx::bytes", buildToShared, 1},
    {"cp", "async bulk global shared::cta bulk_group L2::cache_hint?", buildToGlobal, 1},
    {"cp", "async bulk commit_group", buildCommit},
    {"cp", "async bulk wait_group read?", buildWaitGroup},
    {"cp", "async bulk prefetch tensor " GIRIH_RANK " L2 global tile? L2::cache_hint?",
     buildPrefetch},
    {"cp", "async bulk prefetch L2 global L2::cache_hint?", buildPrefetch},
};

} // namespace

std::span<const Form> asyncForms() { return forms; }

} // namespace girih::emu
