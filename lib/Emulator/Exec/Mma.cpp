// Matrix products of a warp on registers: mma.sync and mma.sp (PTX ISA 9.0, 9.7.14.5.14 "mma" and
// 9.7.14.6.3 "mma.sp"). The forms are those that ptxas 13.0 assembles for sm_90a. What they compute
// is Units/Mma.h.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/MmaForm.h"

#include "Emulator/Exec/Lanes.h"

#include <cfenv>
#include <charconv>

namespace girih::emu {

bool mmaType(ptx::Type type, MmaType &out) {
  using ptx::Type;
  static constexpr std::pair<Type, MmaType> types[] = {
      {Type::F16, MmaType::F16},   {Type::BF16, MmaType::BF16}, {Type::TF32, MmaType::TF32},
      {Type::E4M3, MmaType::E4M3}, {Type::E5M2, MmaType::E5M2}, {Type::S8, MmaType::S8},
      {Type::U8, MmaType::U8},     {Type::S4, MmaType::S4},     {Type::U4, MmaType::U4},
      {Type::B1, MmaType::B1}};
  for (auto [from, to] : types)
    if (from == type) {
      out = to;
      return true;
    }
  return false;
}

bool mmaShape(std::string_view text, uint32_t &m, uint32_t &n, uint32_t &k) {
  const char *at = text.data(), *end = at + text.size();
  for (auto [letter, number] : {std::pair{'m', &m}, {'n', &n}, {'k', &k}}) {
    if (at == end || *at != letter)
      return false;
    auto parsed = std::from_chars(at + 1, end, *number);
    if (parsed.ec != std::errc())
      return false;
    at = parsed.ptr;
  }
  return at == end;
}

namespace {

constexpr uint32_t kMaxRegisters = 8;

/// The lanes of each register.
template <typename T>
void gather(const Context &c, const std::vector<Src> &operand, const T **registers) {
  for (size_t i = 0; i < operand.size(); ++i)
    registers[i] = c.src<T>(operand[i]);
}

Step mma(Context &c, const Instr &in) {
  const MmaForm &form = *c.cluster.kernel.mmas[static_cast<size_t>(in.imm)];
  const uint32_t *a[kMaxRegisters], *b[kMaxRegisters], *old[kMaxRegisters];
  alignas(64) uint32_t result[kMaxRegisters][32];
  uint32_t *d[kMaxRegisters];
  gather(c, form.a, a);
  gather(c, form.b, b);
  gather(c, form.c, old);
  for (size_t i = 0; i < form.d.size(); ++i) {
    std::memcpy(result[i], old[i], sizeof(result[i]));
    d[i] = result[i];
  }
  const uint32_t *metadata = nullptr;
  if (form.operation.sparse) {
    metadata = c.src<uint32_t>(form.metadata);
    if (uint32_t bad = badMetadata(form.operation, metadata, form.orderedMetadata);
        bad && c.cluster.checking()) {
      const uint32_t lane = static_cast<uint32_t>(__builtin_ctz(bad));
      char text[16];
      std::snprintf(text, sizeof(text), "0x%08x", metadata[lane]);
      c.cluster.report("sparse-metadata",
                       std::string("the sparsity metadata ") + text + " of lane " +
                           std::to_string(lane) + " names positions that PTX does not define",
                       {c.cluster.here(c, "executes it", static_cast<int>(lane))},
                       "each four bits must be two different indices, the lower one first; of tf32 "
                       "elements 0b0100 or 0b1110");
    }
  }
  multiplyMma(form.operation,
              c.cluster.launch.options.numerics == Numerics::Hopper ? WgmmaNumerics::Hopper
                                                                    : WgmmaNumerics::Exact,
              a, b, metadata, d, activeIsa());
  for (size_t i = 0; i < form.d.size(); ++i)
    storeLanes(c, form.d[i], d[i]);
  return Step::Next;
}

Step mmaF64(Context &c, const Instr &in) {
  const MmaForm &form = *c.cluster.kernel.mmas[static_cast<size_t>(in.imm)];
  const double *a[kMaxRegisters], *b[kMaxRegisters], *old[kMaxRegisters];
  alignas(64) double result[4][32];
  double *d[4];
  gather(c, form.a, a);
  gather(c, form.b, b);
  gather(c, form.c, old);
  for (size_t i = 0; i < form.d.size(); ++i) {
    std::memcpy(result[i], old[i], sizeof(result[i]));
    d[i] = result[i];
  }
  multiplyMmaF64(form.operation.m, form.operation.k, a, b, d, form.rounding);
  for (size_t i = 0; i < form.d.size(); ++i)
    storeLanes(c, form.d[i], d[i]);
  return Step::Next;
}

Step mmaQuadPairs(Context &c, const Instr &in) {
  const MmaForm &form = *c.cluster.kernel.mmas[static_cast<size_t>(in.imm)];
  const uint32_t *a[kMaxRegisters], *b[kMaxRegisters], *old[kMaxRegisters];
  alignas(64) uint32_t result[kMaxRegisters][32];
  uint32_t *d[kMaxRegisters];
  gather(c, form.a, a);
  gather(c, form.b, b);
  gather(c, form.c, old);
  for (size_t i = 0; i < form.d.size(); ++i)
    d[i] = result[i];
  multiplyQuadPairs(form.quadPairs, a, b, old, d);
  for (size_t i = 0; i < form.d.size(); ++i)
    storeLanes(c, form.d[i], d[i]);
  return Step::Next;
}

/// A vector operand of `count` registers.
template <typename F>
void vectorOperand(Decoder &d, size_t index, uint32_t count, const char *name, F each) {
  const ptx::Operand &operand = d.operand(index);
  if (operand.kind != ptx::OperandKind::Vector || operand.elements.size() != count)
    return d.fail("expected " + std::to_string(count) + " registers of " + name + " in braces");
  for (const ptx::Operand &e : operand.elements)
    each(e);
}

void addForm(Decoder &d, std::shared_ptr<MmaForm> form, ExecFn exec) {
  d.out.imm = static_cast<int64_t>(d.kernel.mmas.size());
  d.kernel.mmas.push_back(std::move(form));
  d.out.flags |= kAligned;
  d.out.exec = exec;
}

enum Variant : int { kDense, kSparse, kF64, kQuadPairs };

void buildMma(Decoder &d, int variant) {
  auto form = std::make_shared<MmaForm>();
  MmaOperation &op = form->operation;
  for (std::string_view m : d.ast->modifiers)
    mmaShape(m, op.m, op.n, op.k);
  op.sparse = variant == kSparse;
  if (!d.expectOperands(op.sparse ? 6 : 4))
    return;
  op.satfinite = d.has("satfinite");
  op.exclusiveOr = d.has("xor");
  unsigned width = 4;
  uint32_t countA, countB, countC, countD;
  ExecFn exec = mma;
  if (variant == kF64) {
    width = 8;
    exec = mmaF64;
    countA = op.m / 8 * op.k / 4;
    countB = op.k / 4;
    countC = countD = op.m / 4;
    constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    const int mode = d.which({"rn", "rz", "rm", "rp"});
    form->rounding = modes[mode < 0 ? 0 : mode];
  } else if (variant == kQuadPairs) {
    exec = mmaQuadPairs;
    // The two layouts are a modifier that may occur twice: the first is A's.
    std::vector<std::string_view> layouts;
    for (std::string_view m : d.ast->modifiers)
      if (m == "row" || m == "col")
        layouts.push_back(m);
    form->quadPairs = {layouts[0] == "row", layouts[1] == "row", d.type(0) == ptx::Type::F32,
                       d.type(3) == ptx::Type::F32};
    countA = countB = 2;
    countD = form->quadPairs.f32D ? 8 : 4;
    countC = form->quadPairs.f32C ? 8 : 4;
  } else {
    if (!mmaType(d.type(1), op.a) || !mmaType(d.type(2), op.b))
      return d.fail("this combination of types is not modelled");
    op.d = d.type(0) == ptx::Type::F16   ? WgmmaAccumulator::F16
           : d.type(0) == ptx::Type::S32 ? WgmmaAccumulator::S32
                                         : WgmmaAccumulator::F32;
    countA = mmaRegistersA(op);
    countB = mmaRegistersB(op);
    countC = countD = mmaRegistersD(op);
  }
  vectorOperand(d, 0, countD, "D", [&](auto &e) { form->d.push_back(d.dest(e, width)); });
  vectorOperand(d, 1, countA, "A", [&](auto &e) { form->a.push_back(d.source(e, width)); });
  vectorOperand(d, 2, countB, "B", [&](auto &e) { form->b.push_back(d.source(e, width)); });
  vectorOperand(d, 3, countC, "C", [&](auto &e) { form->c.push_back(d.source(e, width)); });
  if (d.failed())
    return;
  if (op.sparse) {
    form->metadata = d.source(4, 4);
    form->orderedMetadata = d.has("sp::ordered_metadata");
    const int64_t selector = d.literal(5);
    // Four-bit groups in a row of A; see Units/Sparse.h.
    const uint32_t bits = mmaElementBits(op.a);
    const uint32_t groups = op.k / (bits == 32 ? 2 : bits == 4 ? 8 : 4);
    const int64_t choices = 16 / groups;
    if (selector < 0 || selector >= choices)
      return d.fail("the sparsity selector is " + std::to_string(selector) +
                    "; for this shape it must be " +
                    (choices == 1 ? std::string("0") : "0 to " + std::to_string(choices - 1)));
    op.selector = static_cast<uint32_t>(selector);
  }
  addForm(d, std::move(form), exec);
}

#define GIRIH_SPARSE "sp|sp::ordered_metadata sync aligned "
const Form forms[] = {
    {"mma", "sync aligned m16n8k8|m16n8k16 row col f32 f16 f16 f32", buildMma, kDense},
    {"mma", "sync aligned m16n8k8|m16n8k16 row col f16 f16 f16 f16", buildMma, kDense},
    {"mma", "sync aligned m16n8k8|m16n8k16 row col f32 bf16 bf16 f32", buildMma, kDense},
    {"mma", "sync aligned m16n8k4|m16n8k8 row col f32 tf32 tf32 f32", buildMma, kDense},
    {"mma", "sync aligned m16n8k16|m16n8k32 row col f32 e4m3|e5m2 e4m3|e5m2 f32", buildMma, kDense},
    {"mma", "sync aligned m16n8k16|m16n8k32 row col f16 e4m3|e5m2 e4m3|e5m2 f16", buildMma, kDense},
    {"mma", "sync aligned m8n8k16|m16n8k16|m16n8k32 row col satfinite? s32 s8|u8 s8|u8 s32",
     buildMma, kDense},
    {"mma", "sync aligned m8n8k32|m16n8k32|m16n8k64 row col satfinite? s32 s4|u4 s4|u4 s32",
     buildMma, kDense},
    {"mma", "sync aligned m8n8k128|m16n8k128|m16n8k256 row col s32 b1 b1 s32 and|xor popc",
     buildMma, kDense},
    {"mma", "sync aligned m8n8k4|m16n8k4|m16n8k8|m16n8k16 row col rn|rz|rm|rp? f64 f64 f64 f64",
     buildMma, kF64},
    {"mma", "sync aligned m8n8k4 row|col row|col f32 f16 f16 f32|f16", buildMma, kQuadPairs},
    {"mma", "sync aligned m8n8k4 row|col row|col f16 f16 f16 f16", buildMma, kQuadPairs},
    {"mma", GIRIH_SPARSE "m16n8k16|m16n8k32 row col f32 f16 f16 f32", buildMma, kSparse},
    {"mma", GIRIH_SPARSE "m16n8k16|m16n8k32 row col f16 f16 f16 f16", buildMma, kSparse},
    {"mma", GIRIH_SPARSE "m16n8k16|m16n8k32 row col f32 bf16 bf16 f32", buildMma, kSparse},
    {"mma", GIRIH_SPARSE "m16n8k8|m16n8k16 row col f32 tf32 tf32 f32", buildMma, kSparse},
    {"mma", GIRIH_SPARSE "m16n8k64 row col f32 e4m3|e5m2 e4m3|e5m2 f32", buildMma, kSparse},
    {"mma", GIRIH_SPARSE "m16n8k32|m16n8k64 row col satfinite? s32 s8|u8 s8|u8 s32", buildMma,
     kSparse},
    {"mma", GIRIH_SPARSE "m16n8k64|m16n8k128 row col satfinite? s32 s4|u4 s4|u4 s32", buildMma,
     kSparse},
};
#undef GIRIH_SPARSE

} // namespace

std::span<const Form> mmaForms() { return forms; }

} // namespace girih::emu
