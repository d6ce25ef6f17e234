// Structured control flow with cursors; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RoleCloner.h"

using namespace mlir;

namespace girih::wg {

RoleCloner::RoleCloner(OpBuilder &builder, const ProductPlan &plan, HostSide &host,
                       const MadeRings &made)
    : builder(builder), plan(plan), host(host), made(made),
      cursors(made.rings.size() + made.storeRings.size()) {}

void RoleCloner::run(Block &body, function_ref<bool(Operation *)> isCloned) {
  for (Operation &op : body.without_terminator())
    if (isCloned(&op) && needs(&op))
      visit(&op);
  leave(body);
}

void RoleCloner::uses(Operation *op, size_t cursor) {
  used.insert(cursor);
  for (; op && !isa<gpu::GPUFuncOp>(op); op = op->getParentOp()) {
    SmallVector<size_t> &known = moved[op];
    if (!llvm::is_contained(known, cursor)) {
      known.push_back(cursor);
      llvm::sort(known);
    }
  }
}

size_t RoleCloner::cursorOf(Value ring) const {
  for (size_t cursor = 0; cursor < cursors.size(); ++cursor)
    if (ringOf(cursor) == ring)
      return cursor;
  llvm_unreachable("a ring of the kernel's entry");
}

void RoleCloner::usesTeam(RoleOp part) {
  for (auto start : part.getBody().getOps<CursorOp>()) {
    size_t cursor = cursorOf(start.getRing());
    uses(part->getParentOp(), cursor);
    ends[cursor] = start.getEnd();
  }
}

void RoleCloner::join(RoleOp part) {
  for (Operation &op : part.getBody().front()) {
    if (auto start = dyn_cast<CursorOp>(op)) {
      mapping.map(start.getCursor(), cursors[cursorOf(start.getRing())]);
    } else if (auto keep = dyn_cast<KeepOp>(op)) {
      cursors[cursorOf(keep.getRing())] = mapped(keep.getCursor());
    } else if (auto give = dyn_cast<GiveOp>(op)) {
      for (auto [result, value] :
           llvm::zip_equal(part->getParentOp()->getResults(), give.getResults()))
        mapping.map(result, mapped(value));
    } else {
      builder.clone(op, mapping);
    }
  }
}

SmallVector<size_t> RoleCloner::cursorsIn(Operation *op) const {
  auto found = moved.find(op);
  return found == moved.end() ? SmallVector<size_t>() : found->second;
}

Value RoleCloner::ringOf(size_t cursor) const {
  if (cursor < made.rings.size())
    return RingOp(made.rings[cursor]).getRing();
  return StoreRingOp(made.storeRings[cursor - made.rings.size()]).getRing();
}

void RoleCloner::advance(Location loc, size_t cursor) {
  cursors[cursor] = AdvanceOp::create(builder, loc, ringOf(cursor), cursors[cursor]);
}

void RoleCloner::advance(Location loc, size_t cursor, Value by) {
  cursors[cursor] = AdvanceOp::create(builder, loc, CursorType::get(builder.getContext()),
                                      ringOf(cursor), cursors[cursor], by);
}

void RoleCloner::startCursors(Location loc, CursorEnd end) {
  for (size_t cursor = 0; cursor < cursors.size(); ++cursor) {
    if (!used.contains(cursor))
      continue;
    CursorEnd own = cursor < made.rings.size() ? end : CursorEnd::Producer;
    auto ofTeam = ends.find(cursor);
    cursors[cursor] =
        CursorOp::create(builder, loc, ofTeam == ends.end() ? own : ofTeam->second, ringOf(cursor));
  }
}

void RoleCloner::cloneBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (needs(&op))
      visit(&op);
  leave(block);
}

void RoleCloner::clone(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return cloneFor(loop, mapped(loop.getLowerBound()), mapped(loop.getStep()));
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return cloneIf(branch);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return cloneWhile(loop);
  builder.clone(*op, mapping);
}

SmallVector<Value> RoleCloner::carriedOut(Operation *op, ValueRange values,
                                          ArrayRef<size_t> carried) {
  SmallVector<Value> out;
  for (auto [index, value] : llvm::enumerate(values))
    if (needsCarried(op, index))
      out.push_back(mapped(value));
  for (size_t cursor : carried)
    out.push_back(cursors[cursor]);
  return out;
}

void RoleCloner::bind(Operation *op, ValueRange old, ValueRange now, ArrayRef<size_t> carried) {
  size_t next = 0;
  for (auto [index, value] : llvm::enumerate(old))
    if (needsCarried(op, index))
      mapping.map(value, now[next++]);
  for (size_t cursor : carried)
    cursors[cursor] = now[next++];
}

void RoleCloner::cloneFor(scf::ForOp loop, Value low, Value step) {
  SmallVector<size_t> carried = cursorsIn(loop);
  SmallVector<Value> inits = carriedOut(loop, loop.getInitArgs(), carried);
  auto copy = scf::ForOp::create(builder, loop.getLoc(), low, mapped(loop.getUpperBound()), step,
                                 inits, nullptr, loop.getUnsignedCmp());
  copy->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Block *body = copy.getBody();
  if (!body->empty())
    body->back().erase();
  mapping.map(loop.getInductionVar(), copy.getInductionVar());
  bind(loop, loop.getRegionIterArgs(), copy.getRegionIterArgs(), carried);
  builder.setInsertionPointToEnd(body);
  cloneBlock(*loop.getBody());
  scf::YieldOp::create(builder, loop.getLoc(), carriedOut(loop, loop.getYieldedValues(), carried));
  builder.setInsertionPointAfter(copy);
  bind(loop, loop.getResults(), copy.getResults(), carried);
}

void RoleCloner::cloneIf(scf::IfOp branch) {
  SmallVector<size_t> carried = cursorsIn(branch);
  SmallVector<Type> types;
  for (auto [index, type] : llvm::enumerate(branch.getResultTypes()))
    if (needsCarried(branch, index))
      types.push_back(type);
  types.append(carried.size(), CursorType::get(branch.getContext()));
  auto copy = scf::IfOp::create(builder, branch.getLoc(), types, mapped(branch.getCondition()),
                                /*addThenBlock=*/true,
                                /*addElseBlock=*/!types.empty() || branch.elseBlock());
  SmallVector<Value> before(cursors);
  for (auto [from, to] : {std::pair(branch.thenBlock(), copy.thenBlock()),
                          std::pair(branch.elseBlock(), copy.elseBlock())}) {
    if (!to)
      continue;
    cursors = before;
    builder.setInsertionPointToEnd(to);
    SmallVector<Value> out;
    if (from) {
      cloneBlock(*from);
      out = carriedOut(branch, from->getTerminator()->getOperands(), carried);
    } else {
      for (size_t cursor : carried)
        out.push_back(cursors[cursor]);
    }
    scf::YieldOp::create(builder, branch.getLoc(), out);
  }
  builder.setInsertionPointAfter(copy);
  cursors = before;
  bind(branch, branch.getResults(), copy.getResults(), carried);
}

void RoleCloner::cloneWhile(scf::WhileOp loop) {
  SmallVector<size_t> carried = cursorsIn(loop);
  scf::ConditionOp condition = loop.getConditionOp();
  SmallVector<Value> inits = carriedOut(loop, loop.getInits(), carried);
  SmallVector<Type> results;
  for (auto [index, type] : llvm::enumerate(loop.getResultTypes()))
    if (needsCarried(condition, index))
      results.push_back(type);
  results.append(carried.size(), CursorType::get(loop.getContext()));
  auto copy = scf::WhileOp::create(builder, loop.getLoc(), results, inits);
  auto start = [&](Operation *key, Region &from, Region &to, TypeRange types) {
    Block *block = builder.createBlock(&to, to.end(), types,
                                       SmallVector<Location>(types.size(), loop.getLoc()));
    bind(key, from.getArguments(), block->getArguments(), carried);
    cloneBlock(from.front());
  };
  start(loop, loop.getBefore(), copy.getBefore(), ValueRange(inits).getTypes());
  scf::ConditionOp::create(builder, loop.getLoc(), mapped(condition.getCondition()),
                           carriedOut(condition, condition.getArgs(), carried));
  start(condition, loop.getAfter(), copy.getAfter(), results);
  scf::YieldOp::create(builder, loop.getLoc(),
                       carriedOut(loop, loop.getYieldOp().getOperands(), carried));
  builder.setInsertionPointAfter(copy);
  bind(condition, loop.getResults(), copy.getResults(), carried);
}

} // namespace girih::wg
