// Copies by cp.async; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AsyncCopy.h"

#include "girih/Conversion/WGToNVVM/InlineAsm.h"
#include "girih/Conversion/WGToNVVM/Registers.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace girih::wg {

static std::string addressText(const std::string &reg, int64_t bytes) {
  return bytes ? "[" + reg + "+" + llvm::itostr(bytes) + "]" : "[" + reg + "]";
}

/// The load whose tile a value is, through transpositions that move no register, if nothing else
/// uses it.
static Operation *onlyLoadOf(Value tile, const ConversionState &state) {
  while (tile.hasOneUse()) {
    Operation *op = tile.getDefiningOp();
    if (isa_and_present<tile::LoadOp, tile::TakeOp>(op))
      return op;
    auto transpose = dyn_cast_if_present<tile::TransposeOp>(op);
    if (!transpose)
      return nullptr;
    auto renames = state.renames.find(op);
    if (renames == state.renames.end())
      return nullptr;
    for (auto [reg, source] : llvm::enumerate(renames->second.front()))
      if (source != static_cast<int32_t>(reg))
        return nullptr;
    tile = transpose.getSource();
  }
  return nullptr;
}

/// Whether nothing between two ops of a block acts on memory.
static bool followsAtOnce(Operation *first, Operation *second) {
  if (first->getBlock() != second->getBlock() || !first->isBeforeInBlock(second))
    return false;
  for (Operation *op = first->getNextNode(); op != second; op = op->getNextNode())
    if (!isMemoryEffectFree(op))
      return false;
  return true;
}

void planAsyncCopy(LocalStoreOp store, ConversionState &state) {
  Operation *load = onlyLoadOf(store.getTile(), state);
  if (!load || !followsAtOnce(load, store))
    return;
  auto tile = cast<RankedTensorType>(load->getResult(0).getType());
  Value fill = isa<tile::LoadOp>(load) ? cast<tile::LoadOp>(load).getFill()
                                       : cast<tile::TakeOp>(load).getFill();
  auto loaded = dyn_cast<tile::LoadOp>(load);
  if ((fill && !matchPattern(fill, m_Zero()) && !matchPattern(fill, m_AnyZeroFloat())) ||
      (loaded && loaded.getPart()) || tile.getRank() != 2)
    return;
  auto access = state.accesses.find({store.getTile().getType(), store.getBuffer().getType()});
  if (access == state.accesses.end() || access->second.matrix)
    return;
  int64_t bytes = store.getBuffer().getType().getElementBits() / 8;
  int64_t elements =
      std::min(state.vectors.find(load)->second, access->second.registers * 4 / bytes);
  if (elements * bytes < 4)
    return;
  state.copies[load] = {store, access->second, elements};
  state.copied.insert(store);
}

void copyInstead(ConversionPatternRewriter &rewriter, Operation *load, const TileMove &move,
                 const AsyncCopy &copy) {
  Location loc = move.loc;
  auto store = cast<LocalStoreOp>(copy.store);
  BufferType type = store.getBuffer().getType();
  Value buffer = rewriter.getRemappedValue(store.getBuffer());
  int64_t bytes = type.getElementBits() / 8, size = copy.elements * bytes;
  int64_t contiguous = move.view.type.getContiguous();
  Value owner = emitOwner(rewriter, loc, move.plan, move.place);
  auto copyAll = [&](OpBuilder &builder, bool inside) -> SmallVector<Value> {
    Places places = move.places(builder);
    auto sizeOf = [&](size_t reg) -> Value {
      if (inside && !move.listed)
        return {};
      Value whole = i32Constant(builder, loc, size), none = i32Constant(builder, loc, 0);
      if (inside)
        return LLVM::SelectOp::create(
            builder, loc, places.insideAlong(builder, move.listed->dim, reg), whole, none);
      // What lies behind the extent becomes zero, element by element.
      Value room = LLVM::SMinOp::create(builder, loc, places.room(builder, contiguous, reg),
                                        i32Constant(builder, loc, copy.elements));
      Value some = times(builder, loc, room, bytes);
      return LLVM::SelectOp::create(builder, loc, places.inside(builder, reg), some, none);
    };
    size_t first = 0;
    forEachAddress(builder, loc, buffer, type, copy.access, move.place,
                   [&](Value address, int64_t add) {
                     int64_t step = copy.access.registers * 4 / bytes;
                     for (int64_t i = 0; i < step; i += copy.elements) {
                       size_t reg = first + static_cast<size_t>(i);
                       if (!move.plan.owned[reg])
                         continue;
                       auto [pointer, offset] = places.address(builder, reg);
                       InlineAsm text;
                       std::string guard = owner ? "@" + text.input(owner) + " " : "";
                       std::string to = addressText(text.input(address), add + i * bytes);
                       std::string from = addressText(text.input(pointer), offset * bytes);
                       Value limit = sizeOf(reg);
                       text.line(guard + "cp.async." + (size == 16 ? "cg" : "ca") +
                                 ".shared.global " + to + ", " + from + ", " + llvm::itostr(size) +
                                 (limit ? ", " + text.input(limit) : "") + ";");
                       text.emit(builder, loc);
                     }
                     first += static_cast<size_t>(step);
                   });
    return {};
  };
  branch(
      rewriter, loc, TypeRange(), move.all, [&](OpBuilder &inner) { return copyAll(inner, true); },
      [&](OpBuilder &inner) { return copyAll(inner, false); });
  rewriter.replaceOpWithNewOp<LLVM::PoisonOp>(load, registersOf(move.tile));
}

void emitAsyncWait(OpBuilder &builder, Location loc) {
  InlineAsm().line("cp.async.wait_all;").emit(builder, loc);
}

} // namespace girih::wg
