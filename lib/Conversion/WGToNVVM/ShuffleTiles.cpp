// wg.convert_layout by shuffles: no shared memory, no barrier.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "RoleScratch.h"

#include "girih/Conversion/WGToNVVM/Registers.h"
#include "girih/Dialect/WG/Transforms/Scratch.h"

#include <map>

using namespace mlir;

namespace girih::wg {

namespace {

class Shuffler {
public:
  Shuffler(OpBuilder &builder, Location loc, const ThreadPlace &place, Type element)
      : builder(builder), loc(loc), place(place), element(element),
        perWord(static_cast<size_t>(std::max<int64_t>(1, 4 / elementBytes(element)))),
        part(builder.getIntegerType(static_cast<unsigned>(8 * elementBytes(element)))) {}

  /// The elements of the result, whose plan is `plan`.
  SmallVector<Value> run(const ShufflePlan &plan, ArrayRef<Value> elements) {
    SmallVector<Value> received;
    for (const ShuffleRound &round : plan.rounds) {
      SmallVector<Value> words;
      for (const std::vector<int32_t> &registers : round.word.options)
        words.push_back(wordOf(registers, elements));
      Value word = words.empty() ? zeroWord() : choose(words, round.word.of);
      received.push_back(round.source ? shuffled(word, round) : word);
    }
    std::map<std::pair<std::vector<int32_t>, std::array<uint8_t, 32>>, Value> chosen;
    SmallVector<Value> results;
    for (const ShuffledRegister &reg : plan.registers) {
      Value &word = chosen[{reg.round.options, reg.round.of}];
      if (!word)
        word = choose(
            llvm::map_to_vector(reg.round.options, [&](int32_t round) { return received[round]; }),
            reg.round.of);
      results.push_back(elementOf(word, reg.element));
    }
    return results;
  }

private:
  Value zeroWord() { return LLVM::ZeroOp::create(builder, loc, wordType()); }
  Type wordType() const { return perWord == 1 ? part : builder.getI32Type(); }

  /// The bits of an element, as an integer of a word's part.
  Value toPart(Value value) {
    if (value.getType().getIntOrFloatBitWidth() < part.getIntOrFloatBitWidth())
      return LLVM::ZExtOp::create(builder, loc, part, value);
    return value.getType() == part ? value
                                   : Value(LLVM::BitcastOp::create(builder, loc, part, value));
  }
  Value fromPart(Value value) {
    Type type = llvmElementType(element);
    if (type.getIntOrFloatBitWidth() < part.getIntOrFloatBitWidth())
      return LLVM::TruncOp::create(builder, loc, type, value);
    return type == part ? value : Value(LLVM::BitcastOp::create(builder, loc, type, value));
  }

  Value wordOf(ArrayRef<int32_t> registers, ArrayRef<Value> elements) {
    if (perWord == 1)
      return toPart(elements[registers.front()]);
    auto vector = VectorType::get(static_cast<int64_t>(perWord), part);
    SmallVector<Value> chosen =
        llvm::map_to_vector(registers, [&](int32_t reg) { return elements[reg]; });
    if (chosen.size() == perWord) {
      // A register as it is.
      auto [whole, first] = consecutive(chosen);
      if (whole && first == 0 &&
          cast<VectorType>(whole.getType()).getDimSize(0) == static_cast<int64_t>(perWord))
        return LLVM::BitcastOp::create(builder, loc, wordType(), whole);
    }
    Value parts = LLVM::ZeroOp::create(builder, loc, vector);
    for (auto [i, value] : llvm::enumerate(chosen))
      parts = LLVM::InsertElementOp::create(builder, loc, parts, toPart(value),
                                            i32Constant(builder, loc, static_cast<int64_t>(i)));
    return LLVM::BitcastOp::create(builder, loc, wordType(), parts);
  }

  Value elementOf(Value word, int32_t index) {
    if (perWord == 1)
      return fromPart(word);
    // In the element's own type where it has the part's width, so that neighbours are known to be
    // of one register.
    Type type = llvmElementType(element);
    bool same = type.getIntOrFloatBitWidth() == part.getIntOrFloatBitWidth();
    auto vector = VectorType::get(static_cast<int64_t>(perWord), same ? type : Type(part));
    Value &parts = partsOf[word];
    if (!parts)
      parts = LLVM::BitcastOp::create(builder, loc, vector, word);
    Value value =
        LLVM::ExtractElementOp::create(builder, loc, parts, i32Constant(builder, loc, index));
    return same ? value : fromPart(value);
  }

  /// One of `values` by lane.
  Value choose(ArrayRef<Value> values, const std::array<uint8_t, 32> &of) {
    Value result = values.front();
    for (auto [i, value] : llvm::enumerate(values.drop_front())) {
      uint32_t lanes = 0;
      for (size_t lane = 0; lane < of.size(); ++lane)
        lanes |= uint32_t{of[lane] == i + 1} << lane;
      result = LLVM::SelectOp::create(builder, loc, isAmong(lanes), value, result);
    }
    return result;
  }

  /// i1: whether this lane is one of those.
  Value isAmong(uint32_t lanes) {
    Value &known = among[lanes];
    if (known)
      return known;
    Value shifted = LLVM::LShrOp::create(
        builder, loc, i32Constant(builder, loc, static_cast<int32_t>(lanes)), place.lane);
    Value bit = LLVM::AndOp::create(builder, loc, shifted, i32Constant(builder, loc, 1));
    return known = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, bit,
                                        i32Constant(builder, loc, 0));
  }

  Value shuffled(Value word, const ShuffleRound &round) {
    bool identity = true;
    for (int32_t lane = 1; lane < 32; lane *= 2) {
      Point at;
      at[Dim::Lane] = lane;
      identity &= round.source->apply(at)[Dim::Row] == lane;
    }
    if (identity)
      return shuffle(builder, loc, word, NVVM::ShflKind::bfly,
                     i32Constant(builder, loc, round.flip));
    Value source = emitLayout(builder, loc, *round.source, Dim::Row, place, 1);
    if (round.flip)
      source = LLVM::XOrOp::create(builder, loc, source, i32Constant(builder, loc, round.flip));
    return shuffle(builder, loc, word, NVVM::ShflKind::idx, source);
  }

  OpBuilder &builder;
  Location loc;
  const ThreadPlace &place;
  Type element;
  size_t perWord;
  IntegerType part;
  DenseMap<uint32_t, Value> among;
  DenseMap<Value, Value> partsOf;
};

} // namespace

Value byShuffles(OpBuilder &builder, Location loc, const ThreadPlace &place,
                 const ShufflePlan &plan, RankedTensorType tile, Value registers) {
  Type element = tile.getElementType();
  // What lanes have loaded before, others may store behind: shuffles do not order that.
  if (plan.shuffles)
    meetWarp(builder, loc);
  Shuffler shuffler(builder, loc, place, element);
  return packElements(builder, loc,
                      shuffler.run(plan, unpackElements(builder, loc, registers, tile)), element);
}

} // namespace girih::wg
