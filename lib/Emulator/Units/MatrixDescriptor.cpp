// Descriptors of wgmma operands: fields, checks, and the walk over granules. One function,
// `granuleAddress`, holds the layouts; everything else visits granules through it.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Emulator/MatrixDescriptor.h"

#include <algorithm>
#include <cstring>

namespace girih::emu {
namespace {

constexpr uint32_t kGranule = 16;
// Bits 14-15, 30-31, 46-48 and 52-61 have no meaning (PTX ISA 9.0, 9.7.15.5.1.2.2).
constexpr uint64_t kReservedBits = 0x3ff1c000c000c000;

Swizzle decodeSwizzle(uint64_t code) {
  return code == 1   ? Swizzle::B128
         : code == 2 ? Swizzle::B64
         : code == 3 ? Swizzle::B32
                     : Swizzle::None;
}
uint64_t encodeSwizzle(Swizzle mode) {
  return mode == Swizzle::B128 ? 1 : mode == Swizzle::B64 ? 2 : mode == Swizzle::B32 ? 3 : 0;
}

/// Granules of an operand form a grid. K-major: outer is the row (M or N), inner the half of its 32
/// bytes of K. MN-major: outer is the column of K, inner counts 16 bytes of rows.
struct Grid {
  uint32_t outer, inner;
};
Grid gridOf(const OperandShape &shape) {
  if (shape.major == Major::K)
    return {shape.rows, shape.rowBytes / kGranule};
  return {shape.rowBytes / shape.elementBytes, shape.rows * shape.elementBytes / kGranule};
}

/// Address of a granule before the swizzle; the formulas at the head of MatrixDescriptor.h, in
/// granules.
inline uint32_t granuleAddress(const MatrixDescriptor &desc, Major major, uint32_t outer,
                               uint32_t inner) {
  uint32_t span = swizzleSpan(desc.swizzle);
  bool plain = desc.swizzle == Swizzle::None;
  uint32_t line = (outer % 8) * span;
  if (major == Major::K)
    return desc.start + line + (outer / 8) * desc.stride +
           inner * (plain ? desc.leading : kGranule);
  if (plain)
    return desc.start + line + (outer / 8) * desc.leading + inner * desc.stride;
  uint32_t perLine = span / kGranule;
  return desc.start + line + (outer / 8) * desc.stride + (inner / perLine) * desc.leading +
         (inner % perLine) * kGranule;
}

template <typename Visitor>
inline void forEachGranule(const MatrixDescriptor &desc, const OperandShape &shape,
                           Visitor &&visit) {
  Grid grid = gridOf(shape);
  auto granule = [&](uint32_t outer, uint32_t inner) {
    visit(outer, inner,
          swizzleAddress(granuleAddress(desc, shape.major, outer, inner), desc.swizzle));
  };
  // Neighbours in memory are neighbours in the walk: with a swizzle lines are wider than a granule,
  // without one the granules of consecutive lines touch.
  if (desc.swizzle != Swizzle::None) {
    for (uint32_t outer = 0; outer < grid.outer; ++outer)
      for (uint32_t inner = 0; inner < grid.inner; ++inner)
        granule(outer, inner);
    return;
  }
  for (uint32_t inner = 0; inner < grid.inner; ++inner)
    for (uint32_t outer = 0; outer < grid.outer; ++outer)
      granule(outer, inner);
}

/// Sixteen bytes, as elements.
typedef uint8_t Bytes __attribute__((vector_size(16)));
typedef uint16_t Halves __attribute__((vector_size(16)));
typedef uint32_t Words __attribute__((vector_size(16)));

inline void interleave(const Bytes &a, const Bytes &b, Bytes &low, Bytes &high) {
  low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  high =
      __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
inline void interleave(const Halves &a, const Halves &b, Halves &low, Halves &high) {
  low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
inline void interleave(const Words &a, const Words &b, Words &low, Words &high) {
  low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

/// Transposes 8 rows of 16 bytes: three rounds of interleaving the first half of the rows with the
/// second. Each round moves the highest bit of an element's position to the lowest place.
template <typename V> [[gnu::always_inline]] inline void transpose(V (&rows)[8]) {
  for (uint32_t round = 0; round < 3; ++round) {
    V next[8];
    for (uint32_t i = 0; i < 4; ++i)
      interleave(rows[i], rows[i + 4], next[2 * i], next[2 * i + 1]);
    std::memcpy(rows, next, sizeof(next));
  }
}

/// Eight granules, one of each row of a block, become 128 bytes of [k][row].
template <typename V, typename Source>
[[gnu::always_inline]] inline void transposeBlock(Source source, uint8_t *to) {
  V rows[8];
  for (uint32_t r = 0; r < 8; ++r)
    std::memcpy(&rows[r], source(r), kGranule);
  transpose(rows);
  std::memcpy(to, rows, sizeof(rows));
}
template <typename Source>
[[gnu::always_inline]] inline void transposeBlock(uint32_t elementBytes, Source source,
                                                  uint8_t *to) {
  if (elementBytes == 2)
    return transposeBlock<Halves>(source, to);
  if (elementBytes == 1)
    return transposeBlock<Bytes>(source, to);
  transposeBlock<Words>(source, to);
}

/// Row `i` of a block as gatherBlocks orders them.
constexpr uint32_t blockRow(uint32_t i, bool evenOdd) { return evenOdd ? 2 * (i % 4) + i / 4 : i; }

std::string number(uint64_t value) { return std::to_string(value); }

/// The base offset that a start address asks for. The pattern's rows are `span` bytes apart; K and
/// MN steps inside a row do not move where the pattern starts.
uint32_t expectedBaseOffset(const MatrixDescriptor &desc) {
  uint32_t pattern = desc.start & ~(swizzleSpan(desc.swizzle) - 1);
  return pattern % swizzlePeriod(desc.swizzle) == 0 ? 0 : (pattern >> 7) & 7;
}

std::string checkSwizzledStart(const MatrixDescriptor &desc, const OperandShape &shape) {
  std::string mode = swizzleName(desc.swizzle);
  uint32_t span = swizzleSpan(desc.swizzle);
  uint32_t within = desc.start % span;
  uint32_t used =
      shape.major == Major::K ? shape.rowBytes : std::min(span, shape.rows * shape.elementBytes);
  if (within + used > span)
    return "the start address " + number(desc.start) + " lies " + number(within) +
           " bytes into a " + number(span) + "-byte row of the " + mode +
           " swizzle, and the instruction reads " + number(used) +
           " bytes of that row; they must not cross its end";
  uint32_t pattern = desc.start - within;
  if (pattern % 128)
    return "the " + mode + " swizzle's pattern starts at " + number(pattern) +
           "; it must start at a multiple of 128, the unit of the base offset";
  uint32_t expected = expectedBaseOffset(desc);
  if (desc.baseOffset != expected)
    return "the base offset is " + number(desc.baseOffset) + ", but the " + mode +
           " swizzle's pattern starts at " + number(pattern) + ", which needs " + number(expected) +
           "; place the tile at a multiple of " + number(swizzlePeriod(desc.swizzle)) +
           " bytes, or set the base offset to (pattern start >> 7) & 7";
  return {};
}

} // namespace

MatrixDescriptor decodeMatrixDescriptor(uint64_t bits) {
  MatrixDescriptor desc;
  desc.start = static_cast<uint32_t>(bits & 0x3fff) << 4;
  desc.leading = static_cast<uint32_t>((bits >> 16) & 0x3fff) << 4;
  desc.stride = static_cast<uint32_t>((bits >> 32) & 0x3fff) << 4;
  desc.baseOffset = static_cast<uint32_t>((bits >> 49) & 7);
  desc.swizzle = decodeSwizzle(bits >> 62);
  return desc;
}

uint64_t encodeMatrixDescriptor(const MatrixDescriptor &desc) {
  auto field = [](uint32_t value) { return uint64_t((value & 0x3ffff) >> 4); };
  return field(desc.start) | field(desc.leading) << 16 | field(desc.stride) << 32 |
         uint64_t(desc.baseOffset & 7) << 49 | encodeSwizzle(desc.swizzle) << 62;
}

std::string checkMatrixDescriptor(uint64_t bits, const OperandShape &shape, uint32_t sharedBase,
                                  uint32_t sharedEnd) {
  if (shape.major == Major::MN && shape.elementBytes != 2)
    return "the operand is MN-major (transposed) with " + number(shape.elementBytes) +
           "-byte elements; wgmma transposes 2-byte elements (f16, bf16) only";
  if (bits & kReservedBits)
    return "the matrix descriptor sets bits that have no meaning (14-15, 30-31, 46-48 and 52-61 "
           "must be 0)";
  MatrixDescriptor desc = decodeMatrixDescriptor(bits);
  if (desc.swizzle != Swizzle::None) {
    if (std::string error = checkSwizzledStart(desc, shape); !error.empty())
      return error;
  } else if (desc.baseOffset != 0) {
    return "the base offset is " + number(desc.baseOffset) + "; without a swizzle it must be 0";
  }
  std::string error;
  forEachGranule(desc, shape, [&](uint32_t, uint32_t, uint32_t address) {
    if (error.empty() && (address < sharedBase || address + kGranule > sharedEnd))
      error = "the matrix descriptor (start " + number(desc.start) + ", leading " +
              number(desc.leading) + ", stride " + number(desc.stride) + " bytes, " +
              swizzleName(desc.swizzle) + " swizzle) reads shared-memory bytes " + number(address) +
              " to " + number(address + kGranule) + ", but shared memory is " + number(sharedBase) +
              " to " + number(sharedEnd);
  });
  return error;
}

void operandRuns(const MatrixDescriptor &desc, const OperandShape &shape,
                 std::vector<GranuleRun> &runs) {
  runs.clear();
  forEachGranule(desc, shape, [&](uint32_t, uint32_t, uint32_t address) {
    if (!runs.empty()) {
      GranuleRun &last = runs.back();
      if (last.address + last.bytes == address) {
        last.bytes += kGranule;
        return;
      }
      // The swizzle may exchange the two granules of a pair.
      if (address + kGranule == last.address) {
        last.address = address;
        last.bytes += kGranule;
        return;
      }
    }
    runs.push_back({address, kGranule});
  });
}

bool gatherOperand(const MatrixDescriptor &desc, const OperandShape &shape,
                   const SharedView &shared, uint8_t *dense) {
  bool inside = true;
  auto granule = [&](uint32_t address) -> const uint8_t * {
    uint32_t offset = address - shared.base;
    if (address < shared.base || uint64_t(offset) + kGranule > shared.size) {
      inside = false;
      return nullptr;
    }
    return shared.data + offset;
  };
  if (shape.major == Major::K) {
    forEachGranule(desc, shape, [&](uint32_t row, uint32_t half, uint32_t address) {
      if (const uint8_t *bytes = granule(address))
        std::memcpy(dense + row * shape.rowBytes + half * kGranule, bytes, kGranule);
    });
    return inside;
  }
  // MN-major: a granule holds 8 rows of one column; 8 of them, of neighbouring columns, are turned
  // at once.
  for (uint32_t column = 0; column < shape.rowBytes / 2; column += 8)
    for (uint32_t group = 0; group < shape.rows / 8; ++group) {
      Halves block[8];
      for (uint32_t c = 0; c < 8; ++c) {
        const uint8_t *bytes = granule(
            swizzleAddress(granuleAddress(desc, Major::MN, column + c, group), desc.swizzle));
        if (!bytes)
          return false;
        std::memcpy(&block[c], bytes, kGranule);
      }
      transpose(block);
      for (uint32_t r = 0; r < 8; ++r)
        std::memcpy(dense + (8 * group + r) * shape.rowBytes + 2 * column, &block[r], kGranule);
    }
  return inside;
}

OperandPlan planOperand(uint64_t bits, const OperandShape &shape, bool evenOdd, uint32_t sharedBase,
                        uint32_t sharedEnd) {
  OperandPlan plan;
  plan.problem = checkMatrixDescriptor(bits, shape, sharedBase, sharedEnd);
  if (!plan.problem.empty())
    return plan;
  MatrixDescriptor desc = decodeMatrixDescriptor(bits);
  operandRuns(desc, shape, plan.runs);
  // Few and long, for the shadow: the walk order of a swizzled operand hides that its lines touch.
  std::sort(plan.runs.begin(), plan.runs.end(),
            [](const GranuleRun &a, const GranuleRun &b) { return a.address < b.address; });
  size_t last = 0;
  for (size_t i = 1; i < plan.runs.size(); ++i) {
    GranuleRun &run = plan.runs[last];
    if (plan.runs[i].address <= run.address + run.bytes)
      run.bytes = std::max(run.bytes, plan.runs[i].address + plan.runs[i].bytes - run.address);
    else
      plan.runs[++last] = plan.runs[i];
  }
  plan.runs.resize(last + 1);
  auto add = [&](uint32_t outer, uint32_t inner) {
    plan.granules.push_back(
        swizzleAddress(granuleAddress(desc, shape.major, outer, inner), desc.swizzle));
  };
  Grid grid = gridOf(shape);
  if (shape.major == Major::K) {
    for (uint32_t block = 0; block < shape.rows / 8; ++block)
      for (uint32_t inner = 0; inner < grid.inner; ++inner)
        for (uint32_t r = 0; r < 8; ++r)
          add(8 * block + blockRow(r, evenOdd), inner);
    return plan;
  }
  for (uint32_t group = 0; group < grid.inner; ++group)
    for (uint32_t k = 0; k < grid.outer; ++k)
      add(k, group);
  return plan;
}

void gatherBlocks(const OperandPlan &plan, const OperandShape &shape, bool evenOdd,
                  const uint8_t *shared, uint8_t *blocks) {
  const uint32_t *at = plan.granules.data(), *end = at + plan.granules.size();
  if (shape.major == Major::K) {
    for (; at != end; at += 8, blocks += 8 * kGranule)
      transposeBlock(shape.elementBytes, [&](uint32_t r) { return shared + at[r]; }, blocks);
    return;
  }
  // A granule holds 8 rows of one column already.
  for (; at != end; ++at, blocks += kGranule) {
    Halves eight;
    std::memcpy(&eight, shared + *at, kGranule);
    if (evenOdd)
      eight = __builtin_shufflevector(eight, eight, 0, 2, 4, 6, 1, 3, 5, 7);
    std::memcpy(blocks, &eight, kGranule);
  }
}

void transposeRows(const uint8_t *dense, uint32_t rows, uint32_t rowBytes, uint32_t elementBytes,
                   bool evenOdd, uint8_t *blocks) {
  for (uint32_t block = 0; block < rows / 8; ++block)
    for (uint32_t inner = 0; inner < rowBytes / kGranule; ++inner, blocks += 8 * kGranule)
      transposeBlock(
          elementBytes,
          [&](uint32_t r) {
            return dense + (8 * block + blockRow(r, evenOdd)) * rowBytes + inner * kGranule;
          },
          blocks);
}

} // namespace girih::emu
