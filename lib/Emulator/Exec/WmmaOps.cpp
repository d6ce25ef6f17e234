// wmma.load, wmma.store and wmma.mma (PTX ISA 9.0, 9.7.14.4). PTX leaves open which lane holds
// which element; ours is chosen so that nothing is moved for the product. Packed along K, A's rows
// and B's columns are rows of 32-bit words; word number w of all lies in register w / 32 of lane w
// % 32 (a fragment with more registers than that holds the words again). An accumulator is laid out
// as that of mma.sync with the same rows, its blocks of 8 columns one after the other. So the
// layouts of wmma.mma need not be looked at: loads have brought both kinds into the same form.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Address.h"
#include "Emulator/Exec/MmaForm.h"

#include "girih/Emulator/FloatFormats.h"

#include <cfenv>

namespace girih::emu {

namespace {

using ptx::Type;

enum Part : uint8_t { kA, kB, kC };

/// Where a lane's piece of a fragment lies in the matrix: `count` neighbours in `along` K (A and B)
/// or N (C) from (row, column) on.
struct Piece {
  uint32_t row, column, count;
};

struct FragmentShape {
  uint32_t m, n, k;
  Part part;
  uint32_t bits; ///< of an element

  uint32_t rows() const { return part == kB ? k : m; }
  uint32_t columns() const { return part == kA ? k : n; }
  /// 32-bit registers, or 64-bit ones of f64. Fragments of f16 have 8 in every shape.
  uint32_t registers() const {
    if (part != kC && bits == 16 && half)
      return 8;
    return std::max(1u, rows() * columns() * std::max(bits, 1u) / (bits == 64 ? 64 : 32) / 32);
  }
  bool half = false; ///< f16 rather than bf16

  Piece piece(uint32_t reg, uint32_t lane) const {
    if (bits == 64) {
      if (part == kC)
        return {lane / 4, 2 * (lane % 4) + reg, 1};
      return part == kA ? Piece{lane / 4, lane % 4, 1} : Piece{lane % 4, lane / 4, 1};
    }
    if (part != kC) {
      const uint32_t perWord = 32 / bits, wordsPerRow = k / perWord;
      const uint32_t word = (reg * 32 + lane) % ((part == kA ? m : n) * wordsPerRow);
      const uint32_t line = word / wordsPerRow, first = word % wordsPerRow * perWord;
      return part == kA ? Piece{line, first, perWord} : Piece{first, line, perWord};
    }
    // The planes of Units/BlockProduct.h.
    const uint32_t blocks = m == 8 ? 1 : 2, perColumn = bits == 16 ? blocks : 2 * blocks;
    const uint32_t perGroup = perColumn * n / 8;
    const uint32_t group = reg / perGroup, j = reg % perGroup / perColumn, rest = reg % perColumn;
    const uint32_t block = bits == 16 ? rest : rest / 2, parity = bits == 16 ? 0 : rest % 2;
    return {8 * (group * blocks + block) + lane / 4, 8 * j + 2 * (lane % 4) + parity,
            bits == 16 ? 2u : 1u};
  }
};

/// The fragment that a load or store names: its shape is in a form of its own.
FragmentShape shapeOf(const Context &c, const Instr &in) {
  const MmaOperation &op = c.cluster.kernel.mmas[in.target]->operation;
  return {op.m, op.n, op.k, static_cast<Part>(in.sub & 3), in.width2, (in.sub & 8) != 0};
}
constexpr uint8_t kColumnMajor = 4, kHalf = 8;

/// One lane's access to shared or global memory; false: reported, the cluster has stopped.
bool access(Context &c, const Instr &in, uint32_t lane, uint64_t address, uint32_t bytes,
            bool writes, void *data, bool &undefined) {
  const char *what = writes ? "wmma.store writes" : "wmma.load reads";
  Cluster &cluster = c.cluster;
  switch (classify(in.space, address)) {
  case AddressSpace::Shared: {
    uint32_t offset = 0;
    Cta *target = cluster.sharedTarget(c, lane, address, bytes, offset, what);
    if (!target || misaligned(c, lane, offset, bytes, "shared", what))
      return false;
    uint8_t *memory = target->shared.data() + offset;
    if (writes) {
      if (cluster.checking())
        cluster.sharedWrite(c, *target, lane, offset, bytes);
      std::memcpy(memory, data, bytes);
      return true;
    }
    if (cluster.checking()) {
      cluster.sharedRead(c, *target, lane, offset, bytes);
      if (target->sharedDefined.undefinedMask(offset, bytes)) {
        undefined = true;
        cluster.readUndefinedShared(c, *target, lane, offset, bytes);
      }
    }
    std::memcpy(data, memory, bytes);
    return true;
  }
  case AddressSpace::Global:
    if (!cluster.checkGlobal(c, lane, address, bytes, what) ||
        misaligned(c, lane, address, bytes, "global", what))
      return false;
    if (cluster.checking())
      cluster.noteGlobal(c, lane, address, bytes, bytes, writes ? kAccessWrite : uint16_t(0));
    if (writes) {
      cluster.writeGlobal(address, data, bytes);
      return true;
    }
    if (cluster.checking() && cluster.globalUndefined(address, bytes))
      undefined = true;
    cluster.readGlobal(address, data, bytes);
    return true;
  default:
    cluster.fault("shared-out-of-bounds",
                  std::string(what) + " an address that is in neither global nor shared memory",
                  {cluster.here(c, what, static_cast<int>(lane))});
    return false;
  }
}

/// Moves the fragment between registers and memory.
template <typename R> Step move(Context &c, const Instr &in, bool writes) {
  const FragmentShape shape = shapeOf(c, in);
  const bool byColumns = in.sub & kColumnMajor;
  alignas(64) uint64_t address[32];
  addresses(c, in, address);
  const uint32_t *stride = in.s[1] == kNone ? nullptr : c.src<uint32_t>(in.s[1]);
  // Neighbours of a piece are neighbours in memory when its direction is the contiguous one.
  const bool contiguous = shape.part == kB ? byColumns : !byColumns;
  const int32_t *list = c.cluster.kernel.lists.data() + in.list;
  const uint32_t elementBytes = std::max(8u, shape.bits) / 8;
  for (uint32_t reg = 0; reg < in.count; ++reg) {
    R values[32] = {};
    uint32_t undefinedLanes = 0;
    if (writes)
      std::memcpy(values, c.src<R>(list[reg]), sizeof(values));
    for (uint32_t lane = 0; lane < 32; ++lane) {
      if (!(c.mask >> lane & 1))
        continue;
      const Piece piece = shape.piece(reg, lane);
      const uint64_t pitch = stride ? stride[lane] : byColumns ? shape.rows() : shape.columns();
      bool undefined = false;
      // Sub-byte elements always lie along the contiguous direction.
      const uint32_t parts = contiguous ? 1 : piece.count;
      const uint32_t bytes = contiguous ? piece.count * shape.bits / 8 : elementBytes;
      for (uint32_t i = 0; i < parts; ++i) {
        const uint32_t row = piece.row + (shape.part == kB ? i : 0);
        const uint32_t column = piece.column + (shape.part == kB ? 0 : i);
        const uint64_t element = byColumns ? column * pitch + row : row * pitch + column;
        uint8_t *data = reinterpret_cast<uint8_t *>(&values[lane]) + i * elementBytes;
        if (!access(c, in, lane, address[lane] + element * shape.bits / 8, bytes, writes, data,
                    undefined))
          return Step::Block;
      }
      undefinedLanes |= uint32_t(undefined) << lane;
    }
    if (!writes) {
      storeLanes(c, list[reg], values);
      c.setDefined(list[reg], undefinedLanes, c.pc);
    }
  }
  if (writes)
    ++c.cluster.progress;
  return Step::Next;
}
template <typename R> Step load(Context &c, const Instr &in) { return move<R>(c, in, false); }
template <typename R> Step store(Context &c, const Instr &in) { return move<R>(c, in, true); }

uint32_t elementBits(Type type) {
  return type == Type::B1 ? 1 : type == Type::S4 || type == Type::U4 ? 4 : 8 * ptx::typeBytes(type);
}

void buildMove(Decoder &d, int variant) {
  const bool writes = variant == 1;
  if (!d.expectOperands(2, 3))
    return;
  FragmentShape shape{};
  for (std::string_view m : d.ast->modifiers)
    mmaShape(m, shape.m, shape.n, shape.k);
  shape.part = d.has("a") ? kA : d.has("b") ? kB : kC;
  shape.bits = elementBits(d.type());
  shape.half = d.type() == Type::F16;
  const ptx::Operand &fragment = d.operand(writes ? 1 : 0);
  const uint32_t count = shape.registers();
  if (fragment.kind != ptx::OperandKind::Vector || fragment.elements.size() != count)
    return d.fail("expected " + std::to_string(count) + " registers in braces");
  d.address(d.operand(writes ? 0 : 1), d.spaceModifier());
  if (d.operandCount() == 3)
    d.out.s[1] = d.source(2, 4);
  const unsigned width = shape.bits == 64 ? 8 : 4;
  d.listStart();
  for (const ptx::Operand &e : fragment.elements)
    d.listAdd(writes ? d.source(e, width) : d.dest(e, width));
  d.out.count = static_cast<uint8_t>(count);
  auto form = std::make_shared<MmaForm>();
  form->operation.m = shape.m;
  form->operation.n = shape.n;
  form->operation.k = shape.k;
  d.out.target = static_cast<uint32_t>(d.kernel.mmas.size());
  d.kernel.mmas.push_back(std::move(form));
  d.out.width2 = static_cast<uint8_t>(shape.bits);
  d.out.sub = static_cast<uint8_t>(shape.part | (d.has("col") ? kColumnMajor : 0) |
                                   (shape.half ? kHalf : 0));
  d.out.flags |= kAligned;
  d.out.exec = width == 8 ? (writes ? store<uint64_t> : load<uint64_t>)
                          : (writes ? store<uint32_t> : load<uint32_t>);
}

Step multiply(Context &c, const Instr &in) {
  const MmaForm &form = *c.cluster.kernel.mmas[static_cast<size_t>(in.imm)];
  MmaOperation op = form.operation;
  const bool roundD = op.d == WgmmaAccumulator::F16 && form.c.size() > form.d.size();
  const bool widenC = op.d == WgmmaAccumulator::F32 && form.c.size() < form.d.size();
  if (roundD)
    op.d = WgmmaAccumulator::F32;
  alignas(64) uint32_t a[8][32], b[8][32], result[8][32];
  uint32_t *d[8];
  for (size_t i = 0; i < form.a.size(); ++i)
    std::memcpy(a[i], c.src<uint32_t>(form.a[i]), sizeof(a[i]));
  for (size_t i = 0; i < form.b.size(); ++i)
    std::memcpy(b[i], c.src<uint32_t>(form.b[i]), sizeof(b[i]));
  for (size_t i = 0; i < 8; ++i)
    d[i] = result[i];
  // Plane 2 i + parity of a binary32 accumulator is in the halves of plane i of an f16 one.
  for (size_t i = 0; i < form.c.size(); ++i) {
    const uint32_t *from = c.src<uint32_t>(form.c[i]);
    if (!widenC) {
      std::memcpy(result[i], from, sizeof(result[i]));
      continue;
    }
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t parity = 0; parity < 2; ++parity)
        result[2 * i + parity][lane] =
            std::bit_cast<uint32_t>(f16ToFloat(static_cast<uint16_t>(from[lane] >> 16 * parity)));
  }
  multiplyDense(op,
                c.cluster.launch.options.numerics == Numerics::Hopper ? WgmmaNumerics::Hopper
                                                                      : WgmmaNumerics::Exact,
                reinterpret_cast<uint8_t *>(a), reinterpret_cast<uint8_t *>(b), d, activeIsa());
  for (size_t i = 0; i < form.d.size(); ++i) {
    if (roundD)
      for (uint32_t lane = 0; lane < 32; ++lane)
        result[i][lane] = floatToF16(std::bit_cast<float>(result[2 * i][lane])) |
                          uint32_t(floatToF16(std::bit_cast<float>(result[2 * i + 1][lane]))) << 16;
    storeLanes(c, form.d[i], result[i]);
  }
  return Step::Next;
}

Step multiplyF64(Context &c, const Instr &in) {
  const MmaForm &form = *c.cluster.kernel.mmas[static_cast<size_t>(in.imm)];
  alignas(64) double result[2][32];
  double *d[2] = {result[0], result[1]};
  for (size_t i = 0; i < 2; ++i)
    std::memcpy(result[i], c.src<double>(form.c[i]), sizeof(result[i]));
  const double *a = c.src<double>(form.a[0]), *b = c.src<double>(form.b[0]);
  multiplyMmaF64(8, 4, &a, &b, d, form.rounding);
  for (size_t i = 0; i < 2; ++i)
    storeLanes(c, form.d[i], d[i]);
  return Step::Next;
}

void buildMultiply(Decoder &d, int) {
  auto form = std::make_shared<MmaForm>();
  MmaOperation &op = form->operation;
  for (std::string_view m : d.ast->modifiers)
    mmaShape(m, op.m, op.n, op.k);
  if (!d.expectOperands(4))
    return;
  op.satfinite = d.has("satfinite");
  op.exclusiveOr = d.has("xor");
  // f16 products name the types of D and C only.
  const bool short16 = d.types.size() == 2;
  const Type typeA = short16 ? Type::F16 : d.type(1), typeB = short16 ? Type::F16 : d.type(2);
  const Type typeC = d.type(short16 ? 1 : 3), typeD = d.type(0);
  const bool f64 = typeA == Type::F64;
  if (!f64 && (!mmaType(typeA, op.a) || !mmaType(typeB, op.b)))
    return d.fail("this combination of types is not modelled");
  op.d = typeD == Type::F16   ? WgmmaAccumulator::F16
         : typeD == Type::S32 ? WgmmaAccumulator::S32
                              : WgmmaAccumulator::F32;
  constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  const int mode = d.which({"rn", "rz", "rm", "rp"});
  form->rounding = modes[mode < 0 ? 0 : mode];
  const unsigned width = f64 ? 8 : 4;
  auto operand = [&](size_t index, Part part, Type type, const char *name, auto each) {
    FragmentShape shape{op.m, op.n, op.k, part, elementBits(type), type == Type::F16};
    const ptx::Operand &vector = d.operand(index);
    if (vector.kind != ptx::OperandKind::Vector || vector.elements.size() != shape.registers())
      return d.fail("expected " + std::to_string(shape.registers()) + " registers of " + name +
                    " in braces");
    for (const ptx::Operand &e : vector.elements)
      each(e);
  };
  operand(0, kC, typeD, "D", [&](auto &e) { form->d.push_back(d.dest(e, width)); });
  operand(1, kA, typeA, "A", [&](auto &e) { form->a.push_back(d.source(e, width)); });
  operand(2, kB, typeB, "B", [&](auto &e) { form->b.push_back(d.source(e, width)); });
  operand(3, kC, typeC, "C", [&](auto &e) { form->c.push_back(d.source(e, width)); });
  if (d.failed())
    return;
  d.out.imm = static_cast<int64_t>(d.kernel.mmas.size());
  d.kernel.mmas.push_back(std::move(form));
  d.out.flags |= kAligned;
  d.out.exec = f64 ? multiplyF64 : multiply;
}

#define GIRIH_SPACE " global|shared|shared::cta?"
#define GIRIH_SHAPES16 " m16n16k16|m8n32k16|m32n8k16"
const Form forms[] = {
    {"wmma", "load sync aligned a|b row|col" GIRIH_SHAPES16 GIRIH_SPACE " f16|bf16|s8|u8",
     buildMove, 0},
    {"wmma", "load sync aligned a|b row|col m16n16k8" GIRIH_SPACE " tf32", buildMove, 0},
    {"wmma", "load sync aligned a|b row|col m8n8k4" GIRIH_SPACE " f64", buildMove, 0},
    {"wmma", "load sync aligned a row m8n8k32" GIRIH_SPACE " s4|u4", buildMove, 0},
    {"wmma", "load sync aligned b col m8n8k32" GIRIH_SPACE " s4|u4", buildMove, 0},
    {"wmma", "load sync aligned a row m8n8k128" GIRIH_SPACE " b1", buildMove, 0},
    {"wmma", "load sync aligned b col m8n8k128" GIRIH_SPACE " b1", buildMove, 0},
    {"wmma", "load sync aligned c row|col" GIRIH_SHAPES16 GIRIH_SPACE " f16|f32|s32", buildMove, 0},
    {"wmma", "load sync aligned c row|col m16n16k8" GIRIH_SPACE " f32", buildMove, 0},
    {"wmma", "load sync aligned c row|col m8n8k4" GIRIH_SPACE " f64", buildMove, 0},
    {"wmma", "load sync aligned c row|col m8n8k32|m8n8k128" GIRIH_SPACE " s32", buildMove, 0},
    {"wmma", "store sync aligned d row|col" GIRIH_SHAPES16 GIRIH_SPACE " f16|f32|s32", buildMove,
     1},
    {"wmma", "store sync aligned d row|col m16n16k8" GIRIH_SPACE " f32", buildMove, 1},
    {"wmma", "store sync aligned d row|col m8n8k4" GIRIH_SPACE " f64", buildMove, 1},
    {"wmma", "store sync aligned d row|col m8n8k32|m8n8k128" GIRIH_SPACE " s32", buildMove, 1},
    {"wmma", "mma sync aligned row|col row|col" GIRIH_SHAPES16 " f16|f32 f16|f32", buildMultiply},
    {"wmma", "mma sync aligned row|col row|col" GIRIH_SHAPES16 " f32 bf16 bf16 f32", buildMultiply},
    {"wmma", "mma sync aligned row|col row|col" GIRIH_SHAPES16 " s32 s8 s8 s32 satfinite?",
     buildMultiply},
    {"wmma", "mma sync aligned row|col row|col" GIRIH_SHAPES16 " s32 u8 u8 s32 satfinite?",
     buildMultiply},
    {"wmma", "mma sync aligned row|col row|col m16n16k8 f32 tf32 tf32 f32", buildMultiply},
    {"wmma", "mma sync aligned row|col row|col m8n8k4 rn|rz|rm|rp? f64 f64 f64 f64", buildMultiply},
    {"wmma", "mma sync aligned row col m8n8k32 s32 s4 s4 s32 satfinite?", buildMultiply},
    {"wmma", "mma sync aligned row col m8n8k32 s32 u4 u4 s32 satfinite?", buildMultiply},
    {"wmma", "mma and|xor popc sync aligned row col m8n8k128 s32 b1 b1 s32", buildMultiply},
};

} // namespace

std::span<const Form> wmmaForms() { return forms; }

} // namespace girih::emu
