// Bulk and tensor copies, reductions and prefetches, and their groups (PTX ISA 9.0, 9.7.9.25.4
// "cp.async.bulk", "cp.reduce.async.bulk", "cp.async.bulk.prefetch", 9.7.9.27
// "cp.async.bulk.tensor" and its relatives).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/AddressList.h"
#include "Emulator/Exec/ReduceForms.h"
#include "Emulator/Exec/TensorOperand.h"

#include <optional>

namespace girih::emu {

namespace {

BulkGroups &bulkGroups(Warp &warp) {
  if (!warp.bulk)
    warp.bulk = std::make_unique<BulkGroups>();
  return *warp.bulk;
}

/// Instr::sub. With kReduce, Instr::target is the reduction, whose type a tensor map says.
enum : uint8_t {
  kMulticast = 1,
  kFromCta = 2,   ///< the source is shared memory
  kBulkBytes = 4, ///< plain bytes, no tensor
  kReduce = 8,
  kIm2col = 16,
  kOffsets = 32,    ///< im2col offsets are given
  kOwnCta = 64,     ///< the destination must lie in the executing CTA
  kIgnoreOob = 128, ///< bytes at either end may not exist
};

Step invalid(Context &c, unsigned lane, const char *kind, std::string message,
             std::string hint = {}) {
  c.cluster.fault(kind, std::move(message),
                  {c.cluster.here(c, "issues it", static_cast<int>(lane))}, std::move(hint));
  return Step::Block;
}
/// 9.7.9.25.4.1: sizes and addresses are multiples of 16.
bool sixteens(Context &c, unsigned lane, uint32_t bytes, uint64_t a, uint64_t b) {
  if (bytes != 0 && bytes % 16 == 0 && a % 16 == 0 && b % 16 == 0)
    return true;
  invalid(c, lane, "bulk-copy-invalid",
          "a bulk operation on " + std::to_string(bytes) +
              " bytes: size and addresses must be multiples of 16");
  return false;
}
/// Coordinates, and offsets where there are some.
struct Place {
  int32_t coordinates[kMaxTensorRank] = {};
  uint16_t offsets[3] = {};
  const uint16_t *given = nullptr;
  Place(const Context &c, const Instr &in, const int32_t *&list, unsigned lane) {
    for (uint32_t i = 0; i < in.count; ++i)
      coordinates[i] = static_cast<int32_t>(c.src<uint32_t>(*list++)[lane]);
    if (!(in.sub & kOffsets))
      return;
    given = offsets;
    for (uint32_t i = 0; i + 2 < in.count; ++i)
      offsets[i] = c.src<uint16_t>(*list++)[lane];
  }
};
/// The reduction of a tensor's elements; false (reported) where PTX has none (9.7.9.27.1.3).
bool tensorReduction(Context &c, unsigned lane, const Instr &in, const TensorMap &map,
                     uint32_t &index) {
  const auto op = static_cast<ReduceOp>(in.target);
  std::optional<ReduceType> type;
  switch (map.type) {
  case TensorDataType::U32:
    type = ReduceType::U32;
    break;
  case TensorDataType::S32:
    type = ReduceType::S32;
    break;
  case TensorDataType::U64:
    type = ReduceType::U64;
    break;
  case TensorDataType::S64:
    type = ReduceType::S64;
    break;
  case TensorDataType::F16:
    type = ReduceType::F16;
    break;
  case TensorDataType::BF16:
    type = ReduceType::BF16;
    break;
  case TensorDataType::F32:
  case TensorDataType::F32Ftz:
    type = ReduceType::F32;
    break;
  default:
    break;
  }
  if (type && !(op == ReduceOp::Add && *type == ReduceType::S64) && reduction(op, *type)) {
    index = static_cast<uint32_t>(op) * kReduceTypes + static_cast<uint32_t>(*type);
    return true;
  }
  static constexpr const char *names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  invalid(c, lane, "tensor-copy-invalid",
          std::string("no reduction .") + names[in.target] + " on elements of type " +
              dataTypeName(map.type));
  return false;
}

/// list: dst, barrier, map or source, coordinates or size [, offsets] [, ignored bytes] [, mask].
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
    if (barrierCta != target)
      return invalid(c, lane, "tensor-copy-invalid",
                     "the destination and the mbarrier lie in different CTAs");
    if ((in.sub & kOwnCta) && target != &c.cta)
      return invalid(c, lane, "bulk-copy-invalid",
                     "a copy to .shared::cta names the memory of another CTA",
                     "to reach another CTA write .shared::cluster");
    if (!c.cluster.mbarrier(c, lane, *barrierCta, barrierOffset,
                            "issues a copy that signals an mbarrier"))
      return Step::Block;
    op->barrier = barrierOffset;
    if (in.sub & kBulkBytes) {
      op->bytes = c.src<uint32_t>(*list++)[lane];
      op->destination = offset;
      op->source = source;
      if (!sixteens(c, lane, op->bytes, offset, source) ||
          !c.cluster.sharedTarget(c, lane, destination, op->bytes, offset,
                                  "asynchronous copy writes"))
        return Step::Block;
      if (in.sub & kIgnoreOob) {
        op->ignoreLeft = c.src<uint32_t>(*list++)[lane];
        op->ignoreRight = c.src<uint32_t>(*list++)[lane];
        if (op->ignoreLeft > 15 || op->ignoreRight > 15)
          return invalid(c, lane, "bulk-copy-invalid",
                         "a copy ignores " + std::to_string(op->ignoreLeft) + " and " +
                             std::to_string(op->ignoreRight) +
                             " bytes at its ends; at most 15 are possible");
      }
      if (in.sub & kFromCta) {
        uint32_t sourceOffset = 0;
        op->sourceCta = c.cluster.sharedTarget(c, lane, source, op->bytes, sourceOffset,
                                               "asynchronous copy reads");
        if (!op->sourceCta)
          return Step::Block;
        if (op->sourceCta != &c.cta)
          return invalid(c, lane, "bulk-copy-invalid",
                         "the source of a copy from .shared::cta lies in another CTA");
        if (!(in.sub & kReduce) && target == &c.cta)
          return invalid(c, lane, "bulk-copy-invalid",
                         "a copy from .shared::cta to .shared::cluster stays in its own CTA",
                         "such copies must go to another CTA of the cluster (9.7.9.25.4.1)");
        op->source = sourceOffset;
      }
      if (in.sub & kReduce) {
        op->reduce = reduceFn(in.target, false);
        op->element = reduceElement(in.target);
      }
    } else {
      const Place place(c, in, list, lane);
      if (!loadTensorMap(c, lane, source, op->map) ||
          !makeTensorBox(c, lane, in.count, in.sub & kIm2col, place.coordinates, place.given,
                         offset, *target, op->map, op->box))
        return Step::Block;
    }
    if (in.sub & kMulticast) {
      uint32_t mask = c.src<uint16_t>(*list++)[lane];
      for (uint32_t rank = 0; rank < 16; ++rank)
        if (mask >> rank & 1) {
          if (rank >= c.cluster.ctas.size())
            return invalid(c, lane, "multicast-mask",
                           "the multicast mask names CTA " + std::to_string(rank) +
                               " of a cluster of " + std::to_string(c.cluster.ctas.size()));
          op->targets.push_back(c.cluster.ctas[rank].get());
        }
      if (op->targets.empty())
        return invalid(c, lane, "multicast-mask", "the multicast mask names no CTA");
    } else {
      op->targets.push_back(target);
    }
    op->pieces = c.cluster.copyPieces();
    ++c.cluster.stats.tmaLoads;
    c.cluster.addAsync(std::move(op));
  }
  return Step::Next;
}
/// Flags of the tensor modes, and the operand that names im2col offsets, {a, b, c}.
bool tensorMode(Decoder &d, size_t offsets) {
  if (d.has("im2col") || d.has("im2col_no_offs"))
    d.out.sub |= kIm2col;
  if (!d.has("im2col"))
    return true;
  d.out.sub |= kOffsets;
  const ptx::Operand &given = d.operand(offsets);
  if (given.kind != ptx::OperandKind::Vector || given.elements.size() + 2 != d.out.count) {
    d.fail("expected " + std::to_string(d.out.count - 2) + " im2col offsets in braces");
    return false;
  }
  for (const ptx::Operand &e : given.elements)
    d.listAdd(d.source(e, 2));
  return true;
}
void buildToShared(Decoder &d, int variant) {
  // dst, [map, coordinates] or src, size [, ignored, ignored]; then the barrier, offsets, the mask
  // and the cache policy.
  const bool tensor = variant == 0, multicast = d.has("multicast::cluster"),
             offsets = d.has("im2col"), ignores = d.has("ignore_oob");
  const size_t barrier = (tensor ? 2u : 3u) + (ignores ? 2 : 0);
  if (!d.expectOperands(barrier + 1 + multicast + offsets + d.has("L2::cache_hint")))
    return;
  d.listStart();
  listAddress(d, d.operand(0));
  listAddress(d, d.operand(barrier));
  if (tensor) {
    if (!listTensor(d, d.operand(1)) || !tensorMode(d, barrier + 1))
      return;
  } else {
    listAddress(d, d.operand(1));
    d.listAdd(d.source(2, 4));
    d.out.sub |= kBulkBytes;
    if (!d.has("global"))
      d.out.sub |= kFromCta;
    if (ignores) {
      d.out.sub |= kIgnoreOob;
      d.listAdd(d.source(3, 4));
      d.listAdd(d.source(4, 4));
    }
  }
  if (multicast) {
    d.listAdd(d.source(barrier + 1 + offsets, 2));
    d.out.sub |= kMulticast;
  }
  if (!d.has("shared::cluster"))
    d.out.sub |= kOwnCta;
  if (d.has("reduce")) {
    d.out.sub |= kReduce;
    d.out.target = reduceIndex(d);
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
    uint32_t offset = 0, index = in.target;
    Cta *from = c.cluster.sharedTarget(c, lane, source, 16, offset, "asynchronous store reads");
    if (!from)
      return Step::Block;
    if (from != &c.cta)
      return invalid(c, lane, "bulk-copy-invalid",
                     "the source of a copy from .shared::cta lies in another CTA");
    if (in.sub & kBulkBytes) {
      op->bytes = c.src<uint32_t>(*list++)[lane];
      op->source = offset;
      op->destination = destination;
      if (!sixteens(c, lane, op->bytes, offset, destination) ||
          !c.cluster.sharedTarget(c, lane, source, op->bytes, offset, "asynchronous store reads"))
        return Step::Block;
    } else {
      const Place place(c, in, list, lane);
      if (!loadTensorMap(c, lane, destination, op->map) ||
          !makeTensorBox(c, lane, in.count, in.sub & kIm2col, place.coordinates, nullptr, offset,
                         *from, op->map, op->box))
        return Step::Block;
      if ((in.sub & kReduce) && !tensorReduction(c, lane, in, op->map, index))
        return Step::Block;
    }
    if (in.sub & kReduce) {
      op->reduce = reduceFn(index, true);
      op->element = reduceElement(index);
    }
    Warp &warp = c.warp;
    std::shared_ptr<BulkGroup> &open = bulkGroups(warp).open[lane];
    if (!open)
      open = std::make_shared<BulkGroup>();
    op->group = open;
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
  const bool tensor = variant == 0;
  if (!d.expectOperands((tensor ? 2u : 3u) + d.has("L2::cache_hint")))
    return;
  d.listStart();
  listAddress(d, d.operand(1));
  if (tensor) {
    if (!listTensor(d, d.operand(0)) || !tensorMode(d, 0))
      return;
  } else {
    listAddress(d, d.operand(0));
    d.listAdd(d.source(2, 4));
    d.out.sub |= kBulkBytes;
  }
  if (d.has("reduce")) {
    d.out.sub |= kReduce;
    // Of a tensor the map says the type.
    d.out.target = tensor ? reduceIndex(d) / kReduceTypes : reduceIndex(d);
  }
  d.out.flags |= kSelfChecked;
  d.out.exec = copyToGlobal;
}

Step commitGroup(Context &c, const Instr &) {
  BulkGroups &groups = bulkGroups(c.warp);
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    groups.committed[lane].push_back(std::move(groups.open[lane])); // null if it is empty
    groups.open[lane].reset();
  }
  return Step::Next;
}
void buildCommit(Decoder &d, int) {
  if (d.expectOperands(0, 0))
    d.out.exec = commitGroup;
}
Step waitGroup(Context &c, const Instr &in) {
  Warp &warp = c.warp;
  if (!warp.bulk)
    return Step::Next;
  const size_t keep = static_cast<size_t>(in.imm);
  for (uint32_t m = c.mask; m; m &= m - 1) {
    auto &groups = warp.bulk->committed[__builtin_ctz(m)];
    for (size_t i = 0; i + keep < groups.size(); ++i)
      if (groups[i] && (groups[i]->readsLeft || (!in.sub && groups[i]->writesLeft))) {
        c.frag().wait = Wait::Bulk;
        return Step::Block;
      }
  }
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    auto &groups = warp.bulk->committed[lane];
    if (groups.size() <= keep)
      continue;
    size_t covered = groups.size() - keep;
    for (BulkRecord &record : warp.bulkRecords)
      if (record.lane == lane && !record.done) {
        // Groups that have left the list before were covered then.
        bool later = record.group == warp.bulk->open[lane];
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
/// list: map and coordinates [, offsets], or address and size. Nothing moves, but what a copy would
/// be refused for is reported here too.
Step prefetch(Context &c, const Instr &in) {
  const int32_t *start = c.cluster.kernel.lists.data() + in.list;
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    const int32_t *list = start;
    uint64_t address = addressAt(c, list, lane);
    if (in.sub & kBulkBytes) {
      uint32_t bytes = c.src<uint32_t>(*list++)[lane];
      if (!sixteens(c, lane, bytes, address, 0) ||
          !c.cluster.checkGlobal(c, lane, address, bytes, "prefetches"))
        return Step::Block;
      continue;
    }
    const Place place(c, in, list, lane);
    TensorMap map;
    if (!loadTensorMap(c, lane, address, map) ||
        !checkTensorMode(c, lane, in.count, in.sub & kIm2col, place.coordinates, place.given, map))
      return Step::Block;
  }
  return Step::Next;
}
void buildPrefetch(Decoder &d, int variant) {
  const bool tensor = variant == 0, offsets = d.has("im2col");
  if (!d.expectOperands((tensor ? 1u : 2u) + offsets + d.has("L2::cache_hint")))
    return;
  d.listStart();
  if (tensor) {
    if (!listTensor(d, d.operand(0)) || !tensorMode(d, 1))
      return;
  } else {
    listAddress(d, d.operand(0));
    d.listAdd(d.source(1, 4));
    d.out.sub |= kBulkBytes;
  }
  d.out.exec = prefetch;
}

#define GIRIH_RANK "1d|2d|3d|4d|5d "
#define GIRIH_RANK3 "3d|4d|5d "
#define GIRIH_BYTES "mbarrier::complete_tx::bytes "
#define GIRIH_HINT "L2::cache_hint?"
#define GIRIH_REMOTE "reduce async bulk shared::cluster shared::cta " GIRIH_BYTES
// The semantics and scope of a reduction, which PTX 9.3 lets one write.
#define GIRIH_GLOBAL "reduce async bulk relaxed? gpu? global shared::cta bulk_group " GIRIH_HINT " "
#define GIRIH_TENSOR "reduce async bulk tensor "
#define GIRIH_OPERATIONS "add|min|max|inc|dec|and|or|xor "
const Form forms[] = {
    // Tensors.
    {"cp",
     "async bulk tensor " GIRIH_RANK "shared::cluster global tile? " GIRIH_BYTES
     "multicast::cluster? " GIRIH_HINT,
     buildToShared, 0},
    {"cp", "async bulk tensor " GIRIH_RANK "shared::cta global tile? " GIRIH_BYTES GIRIH_HINT,
     buildToShared, 0},
    {"cp",
     "async bulk tensor " GIRIH_RANK3 "shared::cluster global im2col " GIRIH_BYTES
     "multicast::cluster? " GIRIH_HINT,
     buildToShared, 0},
    {"cp", "async bulk tensor " GIRIH_RANK3 "shared::cta global im2col " GIRIH_BYTES GIRIH_HINT,
     buildToShared, 0},
    {"cp", "async bulk tensor " GIRIH_RANK "global shared::cta tile? bulk_group " GIRIH_HINT,
     buildToGlobal, 0},
    {"cp",
     "async bulk tensor " GIRIH_RANK3 "global shared::cta im2col_no_offs bulk_group " GIRIH_HINT,
     buildToGlobal, 0},
    {"cp",
     GIRIH_TENSOR GIRIH_RANK "global shared::cta " GIRIH_OPERATIONS "tile? bulk_group " GIRIH_HINT,
     buildToGlobal, 0},
    {"cp",
     GIRIH_TENSOR GIRIH_RANK3 "global shared::cta " GIRIH_OPERATIONS
                              "im2col_no_offs bulk_group " GIRIH_HINT,
     buildToGlobal, 0},
    {"cp", "async bulk prefetch tensor " GIRIH_RANK "L2 global tile? " GIRIH_HINT, buildPrefetch,
     0},
    {"cp", "async bulk prefetch tensor " GIRIH_RANK3 "L2 global im2col " GIRIH_HINT, buildPrefetch,
     0},
    // Plain bytes. PTX 9.3 may say .weak.
    {"cp", "async bulk weak? shared::cluster global " GIRIH_BYTES "multicast::cluster? " GIRIH_HINT,
     buildToShared, 1},
    {"cp", "async bulk weak? shared::cta global " GIRIH_BYTES "ignore_oob? " GIRIH_HINT,
     buildToShared, 1},
    {"cp", "async bulk weak? shared::cluster shared::cta mbarrier::complete_tx::bytes",
     buildToShared, 1},
    {"cp", "async bulk weak? global shared::cta bulk_group " GIRIH_HINT, buildToGlobal, 1},
    {"cp", "async bulk prefetch L2 global " GIRIH_HINT, buildPrefetch, 1},
    {"cp", GIRIH_REMOTE "add u32|s32|u64", buildToShared, 1},
    {"cp", GIRIH_REMOTE "min|max u32|s32", buildToShared, 1},
    {"cp", GIRIH_REMOTE "inc|dec u32", buildToShared, 1},
    {"cp", GIRIH_REMOTE "and|or|xor b32", buildToShared, 1},
    {"cp", GIRIH_GLOBAL "add u32|s32|u64|f32|f64", buildToGlobal, 1},
    {"cp", GIRIH_GLOBAL "add noftz f16|bf16", buildToGlobal, 1},
    {"cp", GIRIH_GLOBAL "min|max u32|s32|u64|s64|f16|bf16", buildToGlobal, 1},
    {"cp", GIRIH_GLOBAL "inc|dec u32", buildToGlobal, 1},
    {"cp", GIRIH_GLOBAL "and|or|xor b32|b64", buildToGlobal, 1},
    {"cp", "async bulk commit_group", buildCommit},
    {"cp", "async bulk wait_group read?", buildWaitGroup},
};

} // namespace

std::span<const Form> asyncForms() { return forms; }

} // namespace girih::emu
