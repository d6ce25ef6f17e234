//===- ScalarizeStructs.cpp - Structs of accumulators become scalars
//-----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accumulators travel as one struct, from the asm that writes them through phis to the asm that
// reads them. LLVM's optimiser leaves struct phis alone, and its instruction selection copies the
// whole struct once for every field that is read of a phi, or of a value of another block: 128
// times 128 copies for a tile of 128x256, a third of the time that the backend takes.
//
//===--------------------------------------------------------------------------------------------===//

#include "ScalarizeStructs.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace girih;

static bool readsOneField(const llvm::User *user) {
  auto *extract = llvm::dyn_cast<llvm::ExtractValueInst>(user);
  return extract && extract->getNumIndices() == 1;
}

namespace {
class Scalarizer {
public:
  void run(llvm::Function &function) {
    collect(function);
    for (llvm::PHINode *phi : phis)
      declare(phi);
    for (llvm::PHINode *phi : phis)
      connect(phi);
    for (llvm::PHINode *phi : phis)
      for (llvm::User *user : llvm::make_early_inc_range(phi->users()))
        if (auto *extract = llvm::dyn_cast<llvm::ExtractValueInst>(user))
          replace(extract, scalars[phi][extract->getIndices().front()]);
    // They may still refer to each other.
    for (llvm::PHINode *phi : phis)
      phi->replaceAllUsesWith(llvm::PoisonValue::get(phi->getType()));
    for (llvm::PHINode *phi : phis)
      phi->eraseFromParent();
    moveToDefinition(function);
  }

private:
  /// The struct phis of which only fields are read, by instructions or by each other.
  void collect(llvm::Function &function) {
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *phi = llvm::dyn_cast<llvm::PHINode>(&instruction);
          phi && phi->getType()->isStructTy())
        phis.insert(phi);
    bool changed = true;
    while (changed)
      changed = phis.remove_if([&](llvm::PHINode *phi) {
        return !llvm::all_of(phi->users(), [&](llvm::User *user) {
          auto *other = llvm::dyn_cast<llvm::PHINode>(user);
          return readsOneField(user) || (other && phis.contains(other));
        });
      });
  }

  void declare(llvm::PHINode *phi) {
    auto *type = llvm::cast<llvm::StructType>(phi->getType());
    for (llvm::Type *element : type->elements()) {
      auto *scalar =
          llvm::PHINode::Create(element, phi->getNumIncomingValues(), "", phi->getIterator());
      scalar->setDebugLoc(phi->getDebugLoc());
      scalars[phi].push_back(scalar);
    }
  }

  void connect(llvm::PHINode *phi) {
    llvm::ArrayRef<llvm::PHINode *> fields = scalars[phi];
    for (unsigned i = 0; i < fields.size(); ++i)
      for (unsigned k = 0; k < phi->getNumIncomingValues(); ++k)
        fields[i]->addIncoming(field(phi->getIncomingValue(k), i), phi->getIncomingBlock(k));
  }

  /// Field `index` of a struct value.
  llvm::Value *field(llvm::Value *value, unsigned index) {
    if (auto *phi = llvm::dyn_cast<llvm::PHINode>(value); phi && phis.contains(phi))
      return scalars[phi][index];
    if (auto *constant = llvm::dyn_cast<llvm::Constant>(value))
      if (llvm::Constant *element = constant->getAggregateElement(index))
        return element;
    // A chain of insertions that ends with this field needs no extraction.
    if (auto *insert = llvm::dyn_cast<llvm::InsertValueInst>(value))
      if (insert->getNumIndices() == 1)
        return insert->getIndices().front() == index ? insert->getInsertedValueOperand()
                                                     : field(insert->getAggregateOperand(), index);
    return atDefinition(value, index);
  }

  /// An extraction right behind the value's definition; one for each field.
  llvm::Value *atDefinition(llvm::Value *value, unsigned index) {
    llvm::Value *&known = extractions[{value, index}];
    if (known)
      return known;
    llvm::BasicBlock::iterator place;
    llvm::DebugLoc location;
    if (auto *instruction = llvm::dyn_cast<llvm::Instruction>(value)) {
      place = llvm::isa<llvm::PHINode>(instruction)
                  ? instruction->getParent()->getFirstInsertionPt()
                  : std::next(instruction->getIterator());
      location = instruction->getDebugLoc();
    } else {
      place = llvm::cast<llvm::Argument>(value)->getParent()->getEntryBlock().getFirstInsertionPt();
    }
    auto *extract = llvm::ExtractValueInst::Create(value, {index}, "", place);
    extract->setDebugLoc(location);
    known = extract;
    return known;
  }

  void replace(llvm::ExtractValueInst *extract, llvm::Value *by) {
    extract->replaceAllUsesWith(by);
    extract->eraseFromParent();
  }

  /// Fields are read in the block that makes the struct, and pass to other blocks as scalars.
  void moveToDefinition(llvm::Function &function) {
    llvm::SmallVector<llvm::ExtractValueInst *> away;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *extract = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction);
          extract && readsOneField(extract))
        if (auto *maker = llvm::dyn_cast<llvm::Instruction>(extract->getAggregateOperand());
            maker && !maker->isTerminator() && maker->getParent() != extract->getParent())
          away.push_back(extract);
    for (llvm::ExtractValueInst *extract : away)
      replace(extract, atDefinition(extract->getAggregateOperand(), extract->getIndices().front()));
  }

  llvm::SetVector<llvm::PHINode *> phis;
  llvm::DenseMap<llvm::PHINode *, llvm::SmallVector<llvm::PHINode *, 0>> scalars;
  llvm::DenseMap<std::pair<llvm::Value *, unsigned>, llvm::Value *> extractions;
};
} // namespace

void target::scalarizeStructs(llvm::Function &function) { Scalarizer().run(function); }
