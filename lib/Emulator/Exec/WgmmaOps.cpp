// Warpgroup matrix products: issue, fence, commit, wait (PTX ISA 9.0, 9.7.15). What an operation
// computes is girih/Emulator/Wgmma.h; when it does, Machine/WgmmaUnit.cpp.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Lanes.h"
#include "Emulator/Machine/Async.h"

#include <algorithm>
#include <charconv>

namespace girih::emu {

namespace {

using ptx::OperandKind;
using ptx::Type;

Step issue(Context &c, const Instr &in) {
  c.cluster.issueWgmma(c, *c.cluster.kernel.wgmmas[static_cast<size_t>(in.imm)]);
  return c.cluster.stopped ? Step::Block : Step::Next;
}

bool operandType(Type type, WgmmaType &out) {
  switch (type) {
  case Type::F16:
    out = WgmmaType::F16;
    return true;
  case Type::BF16:
    out = WgmmaType::BF16;
    return true;
  case Type::TF32:
    out = WgmmaType::TF32;
    return true;
  case Type::E4M3:
    out = WgmmaType::E4M3;
    return true;
  case Type::E5M2:
    out = WgmmaType::E5M2;
    return true;
  case Type::S8:
    out = WgmmaType::S8;
    return true;
  case Type::U8:
    out = WgmmaType::U8;
    return true;
  case Type::B1:
    out = WgmmaType::B1;
    return true;
  default:
    return false;
  }
}

void buildIssue(Decoder &d, int) {
  auto form = std::make_shared<WgmmaForm>();
  WgmmaOperation &operation = form->operation;
  // The shape is m64nNkK.
  std::string_view shape;
  for (std::string_view m : d.ast->modifiers)
    if (m.substr(0, 4) == "m64n")
      shape = m;
  uint32_t n = 0, k = 0;
  const char *p = shape.data() + std::min<size_t>(4, shape.size()),
             *end = shape.data() + shape.size();
  auto parsed = std::from_chars(p, end, n);
  if (parsed.ptr != end && *parsed.ptr == 'k')
    std::from_chars(parsed.ptr + 1, end, k);
  operation.n = n;
  if (d.types.size() != 3 || !operandType(d.type(1), operation.a) ||
      !operandType(d.type(2), operation.b))
    return d.fail("this combination of types is not modelled");
  operation.d = d.type(0) == Type::F16   ? WgmmaAccumulator::F16
                : d.type(0) == Type::S32 ? WgmmaAccumulator::S32
                                         : WgmmaAccumulator::F32;
  operation.satfinite = d.has("satfinite");
  operation.sparse = d.has("sp");
  if (k != wgmmaK(operation))
    return d.fail("the shape's K must be " + std::to_string(wgmmaK(operation)) + " for this type");
  const ptx::Operand &dOperand = d.operand(0), &aOperand = d.operand(1);
  form->aInRegisters = aOperand.kind == OperandKind::Vector;
  bool integers = operation.d == WgmmaAccumulator::S32;
  bool transposes = operation.a == WgmmaType::F16 || operation.a == WgmmaType::BF16;
  size_t transposeCount = transposes ? (form->aInRegisters ? 1 : 2) : 0;
  const size_t scaleAt = operation.sparse ? 5 : 3;
  if (!d.expectOperands(scaleAt + 1 + (integers ? 0 : 2) + transposeCount))
    return;
  if (operation.sparse) {
    form->metadata = d.source(3, 4);
    // 9.7.15.6.1: 8-bit elements take the metadata of all lanes.
    const int64_t selector = d.literal(4), choices = wgmmaElementBytes(operation.a) == 1 ? 1 : 2;
    if (selector < 0 || selector >= choices)
      return d.fail("the sparsity selector is " + std::to_string(selector) + "; it must be " +
                    (choices == 1 ? "0" : "0 or 1") + " for this type");
    form->selector = static_cast<uint32_t>(selector);
    form->shapeB.rowBytes = 2 * kOperandRowBytes;
  }
  size_t next = scaleAt + 1;
  if (!integers) {
    int64_t scaleA = d.literal(next++), scaleB = d.literal(next++);
    if ((scaleA != 1 && scaleA != -1) || (scaleB != 1 && scaleB != -1))
      return d.fail("imm-scale must be 1 or -1");
    operation.negateA = scaleA == -1;
    operation.negateB = scaleB == -1;
  }
  if (transposes) {
    if (!form->aInRegisters)
      form->shapeA.major = d.literal(next++) ? Major::MN : Major::K;
    form->shapeB.major = d.literal(next++) ? Major::MN : Major::K;
  }
  form->shapeA.elementBytes = form->shapeB.elementBytes =
      operation.a == WgmmaType::B1 ? 4 : wgmmaElementBytes(operation.a);
  form->shapeB.rows = operation.n;
  if (std::string problem = checkWgmma(operation); !problem.empty())
    return d.fail(problem);
  uint32_t registers = accumulatorRegisters(operation);
  if (dOperand.kind != OperandKind::Vector || dOperand.elements.size() != registers)
    return d.fail("expected " + std::to_string(registers) + " accumulator registers");
  for (const ptx::Operand &e : dOperand.elements) {
    if (e.kind != OperandKind::Register)
      return d.fail("an accumulator must be a register");
    int32_t offset = d.dest(e, 4);
    d.track(offset);
    form->d.push_back(offset);
    form->trackedD.push_back(d.kernel.trackedAt[static_cast<size_t>(offset) / 64] - 1);
  }
  auto &sets = d.kernel.accumulatorSets;
  form->set = static_cast<uint32_t>(std::find(sets.begin(), sets.end(), form->d) - sets.begin());
  if (form->set == sets.size())
    sets.push_back(form->d);
  if (form->aInRegisters) {
    if (aOperand.elements.size() != 4)
      return d.fail("expected 4 registers of A");
    for (int i = 0; i < 4; ++i) {
      const ptx::Operand &e = aOperand.elements[static_cast<size_t>(i)];
      form->a[i] = d.source(e, 4);
      if (e.kind == OperandKind::Register) {
        d.track(form->a[i]);
        form->trackedA.push_back(d.kernel.trackedAt[static_cast<size_t>(form->a[i]) / 64] - 1);
      }
    }
  } else {
    form->descriptorA = d.source(aOperand, 8);
  }
  form->descriptorB = d.source(2, 8);
  form->scaleD = d.predSource(d.operand(scaleAt), form->scaleDNegated);
  d.out.imm = static_cast<int64_t>(d.kernel.wgmmas.size());
  d.kernel.wgmmas.push_back(form);
  d.out.flags |= kAligned | kSelfChecked;
  d.out.exec = issue;
}

Step fence(Context &c, const Instr &) {
  ++c.warp.fenceEpoch;
  return Step::Next;
}
Step commit(Context &c, const Instr &) {
  c.warp.wgmmaGroups.push_back(c.warp.wgmmaIssued);
  return Step::Next;
}
Step wait(Context &c, const Instr &in) {
  return c.cluster.waitWgmma(c, static_cast<uint32_t>(in.imm));
}
void buildFence(Decoder &d, int) {
  d.out.flags |= kAligned;
  d.out.exec = fence;
}
void buildCommit(Decoder &d, int) {
  d.out.flags |= kAligned;
  d.out.exec = commit;
}
void buildWait(Decoder &d, int) {
  if (!d.expectOperands(1))
    return;
  d.out.imm = d.literal(0);
  d.out.flags |= kAligned;
  d.out.exec = wait;
}

#define GIRIH_N                                                                                    \
  "m64n8k@|m64n16k@|m64n24k@|m64n32k@|m64n40k@|m64n48k@|m64n56k@|m64n64k@|m64n72k@|m64n80k@|"      \
  "m64n88k@|m64n96k@|"                                                                             \
  "m64n104k@|m64n112k@|m64n120k@|m64n128k@|m64n136k@|m64n144k@|m64n152k@|m64n160k@|m64n168k@|"     \
  "m64n176k@|m64n184k@|"                                                                           \
  "m64n192k@|m64n200k@|m64n208k@|m64n216k@|m64n224k@|m64n232k@|m64n240k@|m64n248k@|m64n256k@"

/// One row per family of types; the 32 values of N are spelt out by replacing '@'.
std::vector<Form> makeForms() {
  struct Row {
    const char *prefix;
    const char *k;
    const char *suffix;
  };
  static const Row rows[] = {
      {"mma_async sync aligned ", "16", " f32|f16 f16 f16"},
      {"mma_async sync aligned ", "16", " f32 bf16 bf16"},
      {"mma_async sync aligned ", "8", " f32 tf32 tf32"},
      {"mma_async sync aligned ", "32", " f32|f16 e4m3|e5m2 e4m3|e5m2"},
      {"mma_async sync aligned satfinite? ", "32", " s32 s8|u8 s8|u8"},
      {"mma_async sync aligned and popc ", "256", " s32 b1 b1"},
      {"mma_async sp sync aligned ", "32", " f32|f16 f16 f16"},
      {"mma_async sp sync aligned ", "32", " f32 bf16 bf16"},
      {"mma_async sp sync aligned ", "16", " f32 tf32 tf32"},
      {"mma_async sp sync aligned ", "64", " f32|f16 e4m3|e5m2 e4m3|e5m2"},
      {"mma_async sp sync aligned satfinite? ", "64", " s32 s8|u8 s8|u8"},
  };
  static std::vector<std::string> texts;
  std::vector<Form> result;
  for (const Row &row : rows) {
    std::string shapes;
    for (char ch : std::string_view(GIRIH_N))
      ch == '@' ? shapes += row.k : shapes += ch;
    texts.push_back(std::string(row.prefix) + shapes + row.suffix);
  }
  for (const std::string &text : texts)
    result.push_back({"wgmma", text.c_str(), buildIssue});
  result.push_back({"wgmma", "fence sync aligned", buildFence});
  result.push_back({"wgmma", "commit_group sync aligned", buildCommit});
  result.push_back({"wgmma", "wait_group sync aligned", buildWait});
  return result;
}

} // namespace

std::span<const Form> wgmmaForms() {
  static const std::vector<Form> forms = makeForms();
  return forms;
}

} // namespace girih::emu
