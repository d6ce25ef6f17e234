// Video instructions (PTX ISA 9.0, 9.7.18.1 scalar, 9.7.18.2 on two halves and four bytes of a
// register). The chip emulates most of them, and so do we, one lane at a time.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Lanes.h"

#include <algorithm>

namespace girih::emu {

namespace {

enum Operation : uint8_t { Add, Sub, AbsDiff, Min, Max, Average, Shl, Shr, Set, Mad };
enum Compare : uint8_t { Eq, Ne, Lt, Le, Gt, Ge };
enum Second : uint8_t { NoSecond, SecondAdd, SecondMin, SecondMax };

/// What Instr::imm holds, for all of them.
struct Plan {
  uint8_t select[2][4] = {}; ///< scalar: [operand][0]; packed: which element a result takes
  uint8_t merge = 0;         ///< scalar: the destination's part; packed: its elements, as a mask
  uint8_t compare = 0, second = 0;
  bool signedD = false, signedA = false, signedB = false, saturate = false;
  bool negateA = false, negateB = false, negateC = false, plusOne = false, wrap = false;
  uint8_t scale = 0;
};
/// Parts of a register: 0 all of it, 1 to 4 its bytes, 5 and 6 its halves.
constexpr uint8_t kByte0 = 1, kHalf0 = 5;

int64_t part(uint32_t v, uint8_t which, bool isSigned) {
  const unsigned size = which == 0 ? 32 : which >= kHalf0 ? 16 : 8;
  const unsigned shift = which == 0        ? 0
                         : which >= kHalf0 ? 16u * (which - kHalf0)
                                           : 8u * (which - kByte0);
  const unsigned unused = 64 - size;
  const uint64_t raised = static_cast<uint64_t>(v >> shift) << unused;
  return isSigned ? static_cast<int64_t>(raised) >> unused : static_cast<int64_t>(raised >> unused);
}
/// A shifted 32-bit value needs more than 64 bits.
using Wide = __int128;
Wide clampTo(Wide v, unsigned size, bool isSigned) {
  const Wide high = (Wide(1) << (isSigned ? size - 1 : size)) - 1;
  return std::clamp(v, isSigned ? -high - 1 : Wide(0), high);
}
bool holds(uint8_t compare, int64_t a, int64_t b) {
  switch (compare) {
  case Eq:
    return a == b;
  case Ne:
    return a != b;
  case Lt:
    return a < b;
  case Le:
    return a <= b;
  case Gt:
    return a > b;
  default:
    return a >= b;
  }
}
Wide combine(Operation op, const Plan &plan, int64_t a, int64_t b) {
  switch (op) {
  case Add:
    return a + b;
  case Sub:
    return a - b;
  case AbsDiff:
    return a > b ? a - b : b - a;
  case Min:
    return std::min(a, b);
  case Max:
    return std::max(a, b);
  case Average:
    // Rounds halves away from zero below zero too: no increment there.
    return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
  case Shl:
  case Shr: {
    const int64_t amount = plan.wrap ? b & 31 : std::min<int64_t>(b, 32);
    return op == Shl ? static_cast<Wide>(a) * (Wide(1) << amount) : Wide(a >> amount);
  }
  default:
    return holds(plan.compare, a, b);
  }
}

uint32_t scalarLane(Operation op, const Plan &plan, uint32_t a, uint32_t b, uint32_t c) {
  Wide t = combine(op, plan, part(a, plan.select[0][0], plan.signedA),
                   part(b, plan.select[1][0], plan.signedB));
  if (plan.saturate) {
    const unsigned size = plan.merge == 0 ? 32 : plan.merge >= kHalf0 ? 16 : 8;
    t = clampTo(t, size, plan.signedD);
  }
  const int64_t first = part(static_cast<uint32_t>(t), 0, plan.signedD),
                other = part(c, 0, plan.signedD);
  switch (plan.second) {
  case SecondAdd:
    return static_cast<uint32_t>(first + other);
  case SecondMin:
    return static_cast<uint32_t>(std::min(first, other));
  case SecondMax:
    return static_cast<uint32_t>(std::max(first, other));
  default:
    break;
  }
  const auto bits = static_cast<uint32_t>(t);
  if (plan.merge == 0)
    return bits;
  const unsigned size = plan.merge >= kHalf0 ? 16 : 8;
  const unsigned shift = size * (plan.merge - (plan.merge >= kHalf0 ? kHalf0 : kByte0));
  const uint32_t field = ((1u << size) - 1) << shift;
  return (bits << shift & field) | (c & ~field);
}

uint32_t madLane(const Plan &plan, uint32_t a, uint32_t b, uint32_t c) {
  const bool negated = plan.negateA != plan.negateB;
  const bool isSigned = plan.signedA || plan.signedB || negated || plan.negateC;
  Wide t = static_cast<Wide>(part(a, plan.select[0][0], plan.signedA)) *
           part(b, plan.select[1][0], plan.signedB);
  int one = 0;
  if (plan.plusOne) {
    one = 1;
  } else if (negated) {
    t = ~t;
    one = 1;
  } else if (plan.negateC) {
    c = ~c;
    one = 1;
  }
  t = (t + part(c, 0, isSigned) + one) >> plan.scale;
  if (plan.saturate) {
    const Wide high = isSigned ? INT32_MAX : Wide(UINT32_MAX), low = isSigned ? INT32_MIN : Wide(0);
    t = std::clamp(t, low, high);
  }
  return static_cast<uint32_t>(t);
}

template <unsigned count>
uint32_t packedLane(Operation op, const Plan &plan, uint32_t a, uint32_t b, uint32_t c) {
  constexpr unsigned size = 32 / count;
  constexpr uint8_t first = count == 2 ? kHalf0 : kByte0;
  // Elements 0 to count - 1 are those of a, the next those of b.
  auto element = [&](uint8_t which, bool isSigned) {
    return part(which < count ? a : b, static_cast<uint8_t>(first + which % count), isSigned);
  };
  uint32_t result = plan.second == SecondAdd ? c : 0;
  for (unsigned i = 0; i < count; ++i) {
    Wide t = combine(op, plan, element(plan.select[0][i], plan.signedA),
                     element(plan.select[1][i], plan.signedB));
    if (plan.saturate)
      t = clampTo(t, size, plan.signedD);
    const bool chosen = plan.merge >> i & 1;
    if (plan.second == SecondAdd) {
      result += chosen ? static_cast<uint32_t>(t) : 0;
    } else {
      const uint32_t field = ((uint64_t(1) << size) - 1) << (size * i);
      result |= chosen ? static_cast<uint32_t>(t) << (size * i) & field : c & field;
    }
  }
  return result;
}

template <unsigned count> Step video(Context &c, const Instr &in) {
  Plan plan;
  std::memcpy(static_cast<void *>(&plan), &c.cluster.kernel.lists[in.list], sizeof(plan));
  const uint32_t *a = c.src<uint32_t>(in.s[0]), *b = c.src<uint32_t>(in.s[1]),
                 *e = in.s[2] == kNone ? a : c.src<uint32_t>(in.s[2]);
  const auto op = static_cast<Operation>(in.sub);
  uint32_t t[32];
  for (unsigned i = 0; i < 32; ++i) {
    if constexpr (count == 1)
      t[i] = op == Mad ? madLane(plan, a[i], b[i], e[i]) : scalarLane(op, plan, a[i], b[i], e[i]);
    else
      t[i] = packedLane<count>(op, plan, a[i], b[i], e[i]);
  }
  storeLanes(c, in.d[0], t);
  return Step::Next;
}

/// `.b2`, `.h1`; 0 without one.
uint8_t scalarPart(Decoder &d, std::string_view name) {
  if (name.empty())
    return 0;
  const char digit = name.size() == 2 ? name[1] : '9';
  if (name[0] == 'b' && digit >= '0' && digit <= '3')
    return static_cast<uint8_t>(kByte0 + digit - '0');
  if (name[0] == 'h' && (digit == '0' || digit == '1'))
    return static_cast<uint8_t>(kHalf0 + digit - '0');
  d.fail("'." + std::string(name) + "' selects no byte or half of a register");
  return 0;
}
/// The digits of `.h10` or `.b7654`, the last one first.
bool packedParts(Decoder &d, std::string_view name, unsigned count, unsigned limit, uint8_t *to) {
  const bool fine = name.size() == count + 1 && name[0] == (count == 2 ? 'h' : 'b') &&
                    std::all_of(name.begin() + 1, name.end(), [&](char digit) {
                      return digit >= '0' && digit < static_cast<char>('0' + limit);
                    });
  if (!fine) {
    d.fail("'." + std::string(name) + "' selects no elements for this instruction");
    return false;
  }
  for (unsigned i = 0; i < count; ++i)
    to[i] = static_cast<uint8_t>(name[count - i] - '0');
  return true;
}

/// The register behind a selector and a sign, which only these instructions take.
ptx::Operand plain(const ptx::Operand &operand) {
  ptx::Operand result = operand;
  if (result.kind == ptx::OperandKind::Register)
    result.name = {};
  result.minus = false;
  return result;
}
void store(Decoder &d, const Plan &plan) {
  int32_t words[(sizeof(Plan) + 3) / 4] = {};
  std::memcpy(words, &plan, sizeof(plan));
  d.listStart();
  for (int32_t word : words)
    d.listAdd(word);
  // The list holds no registers.
  d.out.listCount = 0;
}
void operands(Decoder &d, Plan &plan, bool mayNegate) {
  for (size_t i = 0; i < d.operandCount(); ++i)
    if (d.operand(i).minus && !mayNegate)
      d.fail("'-' before a register");
  d.out.d[0] = d.dest(plain(d.operand(0)), 4);
  for (size_t i = 1; i < d.operandCount(); ++i)
    d.out.s[i - 1] = d.source(plain(d.operand(i)), 4);
  if (d.operandCount() == 4 && !d.operand(3).name.empty())
    d.fail("a part of the third operand");
  plan.saturate = d.has("sat");
  plan.wrap = d.has("wrap");
  plan.compare = static_cast<uint8_t>(std::max(0, d.which({"eq", "ne", "lt", "le", "gt", "ge"})));
  plan.second = static_cast<uint8_t>(1 + d.which({"add", "min", "max"}));
  // The first type is the destination's, where there are three.
  const size_t first = d.types.size() == 3 ? 1 : 0;
  plan.signedD = first && ptx::isSigned(d.type(0));
  plan.signedA = ptx::isSigned(d.type(first));
  plan.signedB = ptx::isSigned(d.type(first + 1));
}

void buildScalar(Decoder &d, int operation) {
  Plan plan;
  const bool mad = operation == Mad;
  if (!d.expectOperands(mad ? 4 : 3, 4))
    return;
  operands(d, plan, mad);
  plan.merge = scalarPart(d, d.operand(0).name);
  plan.select[0][0] = scalarPart(d, d.operand(1).name);
  plan.select[1][0] = scalarPart(d, d.operand(2).name);
  if (mad) {
    plan.negateA = d.operand(1).minus;
    plan.negateB = d.operand(2).minus;
    plan.negateC = d.operand(3).minus;
    plan.plusOne = d.has("po");
    plan.scale = d.has("shr7") ? 7 : d.has("shr15") ? 15 : 0;
    if (plan.negateC && (plan.negateA || plan.negateB))
      return d.fail("a negated product and a negated addend");
    if (plan.merge)
      return d.fail("vmad writes a whole register");
  } else if ((d.operandCount() == 4) != (plan.second || plan.merge)) {
    return d.fail("a third operand belongs to .add, .min, .max or a part of the destination");
  } else if (plan.second && plan.merge) {
    return d.fail("a part of the destination and a secondary operation");
  }
  store(d, plan);
  d.out.sub = static_cast<uint8_t>(operation);
  d.out.exec = video<1>;
}
template <unsigned count> void buildPacked(Decoder &d, int operation) {
  Plan plan;
  if (!d.expectOperands(4))
    return;
  operands(d, plan, false);
  auto name = [&](size_t i, std::string_view otherwise) {
    std::string_view given = d.operand(i).name;
    return given.empty() ? otherwise : given;
  };
  if (!packedParts(d, name(1, count == 2 ? "h10" : "b3210"), count, 2 * count, plan.select[0]) ||
      !packedParts(d, name(2, count == 2 ? "h32" : "b7654"), count, 2 * count, plan.select[1]))
    return;
  std::string_view mask = name(0, count == 2 ? "h10" : "b3210");
  if (mask[0] != (count == 2 ? 'h' : 'b') || mask.size() < 2)
    return d.fail("'." + std::string(mask) + "' selects no elements for this instruction");
  for (char digit : mask.substr(1)) {
    if (digit < '0' || digit >= static_cast<char>('0' + count))
      return d.fail("'." + std::string(mask) + "' selects no elements for this instruction");
    plan.merge |= static_cast<uint8_t>(1u << (digit - '0'));
  }
  store(d, plan);
  d.out.sub = static_cast<uint8_t>(operation);
  d.out.exec = video<count>;
}

#define GIRIH_THREE "u32|s32 u32|s32 u32|s32 "
const Form forms[] = {
    {"vadd", GIRIH_THREE "sat? add|min|max?", buildScalar, Add},
    {"vsub", GIRIH_THREE "sat? add|min|max?", buildScalar, Sub},
    {"vabsdiff", GIRIH_THREE "sat? add|min|max?", buildScalar, AbsDiff},
    {"vmin", GIRIH_THREE "sat? add|min|max?", buildScalar, Min},
    {"vmax", GIRIH_THREE "sat? add|min|max?", buildScalar, Max},
    {"vshl", "u32|s32 u32|s32 u32 sat? clamp|wrap add|min|max?", buildScalar, Shl},
    {"vshr", "u32|s32 u32|s32 u32 sat? clamp|wrap add|min|max?", buildScalar, Shr},
    {"vset", "u32|s32 u32|s32 eq|ne|lt|le|gt|ge add|min|max?", buildScalar, Set},
    {"vmad", GIRIH_THREE "po? sat? shr7|shr15?", buildScalar, Mad},
    {"vadd2", GIRIH_THREE "sat|add?", buildPacked<2>, Add},
    {"vsub2", GIRIH_THREE "sat|add?", buildPacked<2>, Sub},
    {"vavrg2", GIRIH_THREE "sat|add?", buildPacked<2>, Average},
    {"vabsdiff2", GIRIH_THREE "sat|add?", buildPacked<2>, AbsDiff},
    {"vmin2", GIRIH_THREE "sat|add?", buildPacked<2>, Min},
    {"vmax2", GIRIH_THREE "sat|add?", buildPacked<2>, Max},
    {"vset2", "u32|s32 u32|s32 eq|ne|lt|le|gt|ge add?", buildPacked<2>, Set},
    {"vadd4", GIRIH_THREE "sat|add?", buildPacked<4>, Add},
    {"vsub4", GIRIH_THREE "sat|add?", buildPacked<4>, Sub},
    {"vavrg4", GIRIH_THREE "sat|add?", buildPacked<4>, Average},
    {"vabsdiff4", GIRIH_THREE "sat|add?", buildPacked<4>, AbsDiff},
    {"vmin4", GIRIH_THREE "sat|add?", buildPacked<4>, Min},
    {"vmax4", GIRIH_THREE "sat|add?", buildPacked<4>, Max},
    {"vset4", "u32|s32 u32|s32 eq|ne|lt|le|gt|ge add?", buildPacked<4>, Set},
};
#undef GIRIH_THREE

} // namespace

std::span<const Form> videoForms() { return forms; }

} // namespace girih::emu
