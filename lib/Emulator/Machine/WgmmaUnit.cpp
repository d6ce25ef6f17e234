// The tensor core's queue of each warpgroup, and what becomes of registers while an operation is in
// flight.
//
// An operation belongs to four warps; it can execute once all four have issued it, and does in
// order of issue. Until a warp has waited for it, its registers are tracked: reading or writing
// them is an error, a plain move gives them another name (compilers write such moves at loop ends),
// and the result goes to every name.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Async.h"
#include "Emulator/Machine/Machine.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <unordered_map>

namespace girih::emu {

namespace {

struct PlanKey {
  uint64_t bits;
  uint32_t shape, end;
  bool operator==(const PlanKey &) const = default;
};
struct PlanHash {
  size_t operator()(const PlanKey &key) const {
    return (key.bits ^ uint64_t(key.shape) << 19 ^ key.end) * 0x9e3779b97f4a7c15u;
  }
};

/// What a descriptor reads. It follows from the descriptor, the shape and the size of shared
/// memory, and few occur, so each host thread keeps them over clusters and launches. The reference
/// holds until the next call.
const OperandPlan &operandPlan(uint64_t bits, const OperandShape &shape, bool isB, uint32_t end) {
  thread_local std::unordered_map<PlanKey, OperandPlan, PlanHash> plans;
  constexpr size_t kMost = 4096;
  if (plans.size() >= kMost)
    plans.clear();
  const uint32_t key = shape.rows / 8 | shape.elementBytes << 8 | shape.rowBytes << 16 |
                       uint32_t(shape.major == Major::MN) << 30 | uint32_t(isB) << 31;
  auto [entry, fresh] = plans.try_emplace(PlanKey{bits, key, end});
  if (fresh)
    entry->second = planOperand(bits, shape, isB, kSharedStart, end);
  return entry->second;
}

} // namespace

void Cluster::issueWgmma(Context &c, const WgmmaForm &form) {
  Warp &warp = c.warp;
  Cta &cta = c.cta;
  const uint32_t group = warp.index / 4, part = warp.index % 4;
  WgmmaQueue &queue = cta.wgmmaQueues[group];
  const uint32_t sequence = ++warp.wgmmaIssued;
  if (cta.warps.size() < group * 4u + 4) {
    fault("wgmma-partial-warpgroup",
          "wgmma needs a warpgroup of four warps; this one has " +
              std::to_string(cta.warps.size() - group * 4),
          {here(c, "issues")});
    return;
  }
  while (queue.operations.empty() || queue.operations.back()->sequence < sequence) {
    std::shared_ptr<WgmmaOp> op;
    if (queue.spare.empty()) {
      op = std::make_shared<WgmmaOp>();
    } else {
      op = std::move(queue.spare.back());
      queue.spare.pop_back();
      op->reuse();
    }
    op->sequence =
        queue.operations.empty() ? queue.executed + 1 : queue.operations.back()->sequence + 1;
    op->form = &form;
    op->pc = c.pc;
    queue.operations.push_back(std::move(op));
  }
  WgmmaOp &op = *queue.operations[sequence - queue.operations.front()->sequence];
  auto uniform = [&](Src source, const char *name) -> uint64_t {
    const uint64_t *v = c.src<uint64_t>(source);
    uint64_t difference = 0;
    for (unsigned i = 1; i < 32; ++i)
      difference |= v[i] ^ v[0];
    if (difference) {
      int lane = 1;
      while (v[lane] == v[0])
        ++lane;
      report("wgmma-mismatch", std::string("the lanes of a warp give different ") + name,
             {here(c, "issues", lane)});
    }
    return v[0];
  };
  uint64_t descriptorA = form.aInRegisters ? 0 : uniform(form.descriptorA, "descriptors of A");
  uint64_t descriptorB = uniform(form.descriptorB, "descriptors of B");
  uint32_t scale = c.predSrc(form.scaleD) ^ (form.scaleDNegated ? ~0u : 0u);
  bool scaleD = scale & 1;
  if (scale != 0 && scale != ~0u)
    report("wgmma-mismatch", "the lanes of a warp give different scale-d", {here(c, "issues")});
  if (!op.arrived) {
    op.form = &form;
    op.pc = c.pc;
    op.descriptorA = descriptorA;
    op.descriptorB = descriptorB;
    op.scaleD = scaleD;
    if (form.aInRegisters)
      op.a.resize(4 * 4 * 32);
  } else if (op.form != &form || op.descriptorA != descriptorA || op.descriptorB != descriptorB ||
             op.scaleD != scaleD) {
    report("wgmma-mismatch",
           "the four warps of a warpgroup do not issue the same wgmma with the same operands",
           {here(c, "issues"), site("another warp of the group issued", op.pc, cta.rank, -1, -1)});
    if (op.form != &form) {
      stopped = true;
      outcome = Outcome::Faulted;
      return;
    }
  }
  if (checking())
    op.arrived ? op.order.join(warp.order) : void(op.order = warp.order);
  op.arrived |= 1u << part;
  if (form.aInRegisters)
    for (unsigned r = 0; r < 4; ++r)
      std::memcpy(op.a.data() + (part * 4 + r) * 32, c.src<uint32_t>(form.a[r]), 128);
  const bool check = checking();
  if (form.operation.sparse) {
    std::memcpy(op.metadata[part], c.src<uint32_t>(form.metadata), 128);
    if (uint32_t bad = badWgmmaMetadata(form.operation, form.selector, op.metadata[part]);
        bad && check) {
      const int lane = __builtin_ctz(bad);
      char text[16];
      std::snprintf(text, sizeof(text), "0x%08x", op.metadata[part][lane]);
      report("sparse-metadata",
             std::string("the sparsity metadata ") + text + " of lane " + std::to_string(lane) +
                 " names positions that PTX does not define",
             {here(c, "issues", lane)},
             "each four bits must be two different indices; of tf32 elements 0b0100 or 0b1110");
    }
  }
  // The state of the registers that it names.
  if (check) {
    auto undefined = [&](int32_t offset, const char *what) {
      if (uint32_t lanes = c.undefinedLanes(offset))
        reportUndefined(c, what, static_cast<uint32_t>(__builtin_ctz(lanes)),
                        warp.defined.origin(slotOf(offset)));
      c.setDefined(offset);
    };
    undefined(form.descriptorA, "the descriptor of A is");
    undefined(form.descriptorB, "the descriptor of B is");
    undefined(form.scaleD, "scale-d is");
    if (form.operation.sparse)
      undefined(form.metadata, "the sparsity metadata is");
    if (form.aInRegisters)
      for (int32_t offset : form.a)
        undefined(offset, "a register of A is");
    // Without scale-d the accumulators are written and not read (9.7.15.5.2).
    uint32_t any = 0;
    const uint32_t *lanes = warp.defined.lanes();
    if (!warp.accumulators[form.set].whole) // else nobody has written them since they were defined
      for (int32_t offset : form.d)
        any |= lanes[slotOf(offset)];
    if (any) [[unlikely]]
      for (int32_t offset : form.d)
        scaleD ? undefined(offset, "an accumulator is") : c.setDefined(offset);
  }
  if (check && warp.fenceEpoch == 1)
    report("missing-wgmma-fence", "the first wgmma of a warp comes without a wgmma.fence before it",
           {here(c, "issues")},
           "wgmma.fence must come before the first wgmma and after every ordinary access to its "
           "registers");
  const char *hint =
      "wgmma.fence must come between ordinary accesses to the registers and the wgmma";
  Warp::Accumulators &accumulators = warp.accumulators[form.set];
  if (!accumulators.whole) {
    for (uint32_t i = 0; i < form.trackedD.size(); ++i) {
      Warp::Pending &p = warp.tracked[form.trackedD[i]];
      if (warp.pendingSequence(p) > warp.wgmmaWaited) {
        if (check && (p.element != i))
          report(
              "wgmma-register-in-flight",
              "an accumulator register is used by two wgmmas in flight in different places",
              {here(c, "issues")},
              "wait for the first (wgmma.wait_group), or use the same registers in the same order");
      } else if (check && p.writtenEpoch == warp.fenceEpoch) {
        report("missing-wgmma-fence",
               "an accumulator register was written since the last wgmma.fence",
               {here(c, "issues"), site("wrote the register", p.writtenPc, cta.rank,
                                        static_cast<int>(warp.index), -1)},
               hint);
      }
      warp.detach(p);
      p.element = i;
    }
    for (uint32_t t : form.trackedD)
      warp.tracked[t].set = static_cast<int32_t>(form.set);
    accumulators.whole = true;
  }
  accumulators.sequence = sequence;
  for (uint32_t t : form.trackedA) {
    Warp::Pending &p = warp.tracked[t];
    if (check && warp.pendingSequence(p) > warp.wgmmaWaited)
      report("wgmma-register-in-flight",
             "a register of A holds the result of a wgmma that has not been waited for",
             {here(c, "issues")}, "wgmma.wait_group first");
    else if (check && p.writtenEpoch == warp.fenceEpoch)
      report("missing-wgmma-fence", "a register of A was written since the last wgmma.fence",
             {here(c, "issues"),
              site("wrote the register", p.writtenPc, cta.rank, static_cast<int>(warp.index), -1)},
             hint);
    p.readSequence = sequence;
  }
  ++stats.wgmmas;
  ++progress;
}

namespace {
/// The last operation of the committed group that an operation belongs to, for all warps of the
/// warpgroup; the operation itself if some have not committed it. A wait covers whole groups, so
/// the reads of a group are over at one moment.
uint32_t endOfGroup(const Cta &cta, uint32_t group, uint32_t sequence) {
  uint32_t end = UINT32_MAX;
  for (uint32_t part = 0; part < 4; ++part) {
    const std::vector<uint32_t> &groups = cta.warps[group * 4 + part]->wgmmaGroups;
    auto last = std::lower_bound(groups.begin(), groups.end(), sequence);
    end = std::min(end, last == groups.end() ? sequence : *last);
  }
  return end;
}
} // namespace

bool Cluster::runWgmma(Cta &cta, uint32_t group) {
  WgmmaQueue &queue = cta.wgmmaQueues[group];
  std::shared_ptr<WgmmaOp> op = std::move(queue.operations.front());
  queue.operations.pop_front();
  const WgmmaForm &form = *op->form;
  const WgmmaOperation &operation = form.operation;
  alignas(64) uint8_t a[64 * kOperandRowBytes], b[kOperandMaxRows * 2 * kOperandRowBytes];
  auto gather = [&](const char *name, uint64_t bits, const OperandShape &shape, bool isB,
                    uint8_t *blocks) {
    const OperandPlan &plan =
        operandPlan(bits, shape, isB, static_cast<uint32_t>(cta.shared.size()));
    if (!plan.problem.empty()) {
      fault("wgmma-descriptor",
            std::string("the descriptor of ") + name + " is wrong: " + plan.problem,
            {site("wgmma", op->pc, cta.rank, static_cast<int>(group * 4), -1)});
      return false;
    }
    if (checking()) {
      Accessor who;
      who.agent = queue.agent;
      who.clock = endOfGroup(cta, group, op->sequence);
      who.order = &op->order;
      who.kind = AccessKind::Wgmma;
      who.pc = op->pc;
      who.warp = static_cast<int>(group * 4);
      who.cluster = worldId();
      who.rank = cta.rank;
      asyncRead(cta, plan.runs, who);
    }
    // A sparse A is spread out before it is arranged.
    if (operation.sparse && !isB)
      return gatherOperand(decodeMatrixDescriptor(bits), shape,
                           {cta.shared.data(), 0, static_cast<uint32_t>(cta.shared.size())},
                           blocks);
    gatherBlocks(plan, shape, isB, cta.shared.data(), blocks);
    return true;
  };
  if (form.aInRegisters && !operation.sparse) {
    // A register is 8 rows of 16 bytes already.
    for (uint32_t i = 0; i < 16; ++i)
      transposeRows(reinterpret_cast<const uint8_t *>(op->a.data() + i * 32), 8, 16,
                    form.shapeA.elementBytes, false,
                    a + (2 * (i / 4) + i % 2) * 8 * kOperandRowBytes + i % 4 / 2 * 128);
  } else if (form.aInRegisters) {
    const uint32_t *registers[16];
    for (unsigned i = 0; i < 16; ++i)
      registers[i] = op->a.data() + i * 32;
    gatherFragmentA(registers, a);
  } else if (!gather("A", op->descriptorA, form.shapeA, false, a)) {
    return true;
  }
  if (!gather("B", op->descriptorB, form.shapeB, true, b))
    return true;
  const uint32_t count = static_cast<uint32_t>(form.d.size());
  queue.planes.resize(kernel.accumulatorSets.size());
  std::vector<uint32_t *> &registers = queue.planes[form.set];
  if (registers.empty())
    for (unsigned part = 0; part < 4; ++part)
      for (uint32_t r = 0; r < count; ++r)
        registers.push_back(
            reinterpret_cast<uint32_t *>(cta.warps[group * 4 + part]->registers + form.d[r]));
  const WgmmaNumerics numerics =
      launch.options.numerics == Numerics::Hopper ? WgmmaNumerics::Hopper : WgmmaNumerics::Exact;
  if (operation.sparse) {
    const uint32_t *metadata[4];
    for (unsigned part = 0; part < 4; ++part)
      metadata[part] = op->metadata[part];
    multiplySparseWgmma(operation, numerics, a, metadata, form.selector, b, op->scaleD,
                        registers.data());
  } else {
    multiplyWgmmaBlocks(operation, numerics, a, b, op->scaleD, registers.data());
  }
  for (const WgmmaOp::Alias &alias : op->aliases) {
    Warp &warp = *cta.warps[group * 4 + alias.part];
    // A name that has since been overwritten by something else keeps that.
    if (warp.pendingSequence(warp.tracked[alias.tracked]) >= op->sequence)
      std::memcpy(warp.registers + alias.offset, registers[alias.part * count + alias.element],
                  128);
  }
  queue.executed = op->sequence;
  queue.spare.push_back(std::move(op));
  wakeWgmma(cta, group);
  return true;
}

void Cluster::wakeWgmma(Cta &cta, uint32_t group) {
  if (trace)
    trace->released(Wait::Wgmma, cta.rank, group);
  for (uint32_t w = group * 4; w < group * 4 + 4 && w < cta.warps.size(); ++w)
    for (Fragment &f : cta.warps[w]->fragments)
      if (f.wait == Wait::Wgmma)
        f.wait = Wait::Ready;
}

void Cluster::drainWgmma(Cta &cta, uint32_t group, uint32_t sequence) {
  WgmmaQueue &queue = cta.wgmmaQueues[group];
  while (!stopped && queue.executed < sequence && !queue.operations.empty() &&
         queue.operations.front()->arrived == 15)
    runWgmma(cta, group);
}

Step Cluster::waitWgmma(Context &c, uint32_t keep) {
  Warp &warp = c.warp;
  if (warp.wgmmaGroups.size() <= keep)
    return Step::Next;
  uint32_t last = warp.wgmmaGroups[warp.wgmmaGroups.size() - 1 - keep];
  WgmmaQueue &queue = c.cta.wgmmaQueues[warp.index / 4];
  if (queue.executed < last) {
    c.frag().wait = Wait::Wgmma;
    c.frag().value = last;
    return Step::Block;
  }
  warp.wgmmaWaited = std::max(warp.wgmmaWaited, last);
  warp.order.seen.raise(queue.agent, last);
  // Only the groups still in flight matter from now on.
  warp.wgmmaGroups.erase(warp.wgmmaGroups.begin(), warp.wgmmaGroups.end() - keep);
  return Step::Next;
}

bool Cluster::checkTracked(Context &c, const Instr &instr) {
  Warp &warp = c.warp;
  const InstrInfo &info = kernel.info[c.pc];
  const uint32_t waited = warp.wgmmaWaited;
  const uint32_t group = warp.index / 4;
  const bool move = instr.flags & kPlainMove;
  const bool inFlight = warp.wgmmaIssued > waited;
  if (!inFlight && !checking())
    return false;
  auto misuse = [&](uint32_t sequence, const char *message) {
    std::vector<Site> sites{here(c, move ? "moves" : "executes")};
    WgmmaQueue &queue = c.cta.wgmmaQueues[group];
    for (const auto &op : queue.operations)
      if (op->sequence == sequence)
        sites.push_back(
            site("wgmma in flight", op->pc, c.cta.rank, static_cast<int>(warp.index), -1));
    if (checking())
      report("wgmma-register-in-flight", message, std::move(sites),
             "wgmma.wait_group before the registers are used");
    drainWgmma(c.cta, group, sequence);
  };
  if (move && c.mask == warp.live && !info.trackedReads.empty() && !info.trackedWrites.empty()) {
    Warp::Pending from = warp.tracked[info.trackedReads[0]];
    from.sequence = warp.pendingSequence(from);
    from.set = -1;
    Warp::Pending &to = warp.tracked[info.trackedWrites[0]];
    warp.detach(to);
    uint32_t keepRead = to.readSequence;
    if (from.sequence > waited) {
      WgmmaQueue &queue = c.cta.wgmmaQueues[group];
      to = from;
      to.readSequence = keepRead;
      if (queue.executed >= from.sequence)
        return false; // the value is there; the check goes on
      WgmmaOp &op = *queue.operations[from.sequence - queue.operations.front()->sequence];
      if (info.trackedReads[0] != info.trackedWrites[0])
        op.aliases.push_back({warp.index % 4, from.element, instr.d[0], info.trackedWrites[0]});
      return true;
    }
    if (to.sequence > waited)
      misuse(to.sequence, "an accumulator of a wgmma in flight is overwritten");
    to.sequence = 0;
    to.writtenEpoch = from.writtenEpoch;
    to.writtenPc = from.writtenPc;
    return false;
  }
  for (uint32_t t : inFlight ? std::span(info.trackedReads) : std::span<const uint32_t>())
    if (uint32_t sequence = warp.pendingSequence(warp.tracked[t]); sequence > waited) {
      misuse(sequence, "an accumulator of a wgmma in flight is read");
      break;
    }
  for (uint32_t t : info.trackedWrites) {
    Warp::Pending &p = warp.tracked[t];
    warp.detach(p);
    if (p.sequence > waited)
      misuse(p.sequence, "an accumulator of a wgmma in flight is overwritten");
    else if (p.readSequence > waited && !move)
      misuse(p.readSequence, "a register that a wgmma in flight reads as A is overwritten");
    p.sequence = 0;
    if (!move) {
      p.writtenEpoch = warp.fenceEpoch;
      p.writtenPc = c.pc;
    }
  }
  return false;
}

} // namespace girih::emu
