// Which instruction moves a register tile to or from a shared buffer, what it costs, and its
// addresses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Layout/Access.h"

#include "girih/Layout/Algebra.h"
#include "girih/Layout/Fragments.h"

#include "Enumerate.h"
#include "Memo.h"

#include <algorithm>
#include <bit>

namespace girih {
namespace {

constexpr int32_t kBanks = 32;
constexpr int32_t kBankBytes = 4;
constexpr int32_t kMaxAccessBytes = 16;

/// The offset of every element of a buffer.
class Offsets {
public:
  explicit Offsets(const Layout &buffer) : numbering(buffer), table(numbering.count(), 0) {
    detail::forEachSlot(buffer.spec(), [&](const Point &slot, const Point &element) {
      if (numbering.contains(element))
        table[numbering.of(element)] = slot[Dim::Offset];
    });
  }

  int32_t of(const Point &element) const { return table[numbering.of(element)]; }

private:
  detail::Numbering numbering;
  std::vector<int32_t> table;
};

/// The threads of a register layout, warp by warp.
struct Threads {
  int32_t lanes, warps, warpgroups;

  explicit Threads(const Layout &layout)
      : lanes(layout.inSize(Dim::Lane)), warps(layout.inSize(Dim::Warp)),
        warpgroups(layout.inSize(Dim::Warpgroup)) {}

  /// fn(thread) with lane, warp and warpgroup set; stops when it answers false, and then answers
  /// false.
  template <class Fn> bool all(Fn fn) const {
    Point thread;
    for (thread[Dim::Warpgroup] = 0; thread[Dim::Warpgroup] < warpgroups; ++thread[Dim::Warpgroup])
      for (thread[Dim::Warp] = 0; thread[Dim::Warp] < warps; ++thread[Dim::Warp])
        for (thread[Dim::Lane] = 0; thread[Dim::Lane] < lanes; ++thread[Dim::Lane])
          if (!fn(static_cast<const Point &>(thread)))
            return false;
    return true;
  }
};

std::optional<std::string> checkOperands(const Layout &registers, const Layout &buffer,
                                         int32_t elementBytes) {
  if (elementBytes < 1 || elementBytes > 8 ||
      !std::has_single_bit(static_cast<uint32_t>(elementBytes)))
    return "elements have 1, 2, 4 or 8 bytes, found " + std::to_string(elementBytes);
  if (std::optional<std::string> error = registers.tileError(buffer.rows(), buffer.cols()))
    return "the tile in registers does not match the buffer: " + *error;
  if (registers.hasPadding())
    return "some registers hold no element";
  if (registers.inSize(Dim::Offset) > 1 || buffer.inDims() != std::vector<Dim>{Dim::Offset})
    return "an access is between a register layout and a shared-memory layout";
  if (std::optional<std::string> error = buffer.tileError(buffer.rows(), buffer.cols()))
    return "the buffer does not hold the tile: " + *error;
  if (!buffer.isInjective())
    return "the buffer holds an element twice";
  return std::nullopt;
}

/// Offset bits that the swizzle flips: everything below the highest base of the buffer's atom that
/// is not a counter.
int32_t atomMask(const Layout &buffer) {
  return (int32_t(1) << detail::toCounters(buffer.spec()).bases.size()) - 1;
}

/// Splits the offsets of `count` accesses into one value per thread and constants.
/// `offsetOf(access, thread)`.
template <class Fn>
Result<AddressPlan> planAddresses(const Threads &threads, int32_t count, int32_t mask,
                                  Fn offsetOf) {
  std::vector<AddressPlan::Step> steps;
  int32_t origin = offsetOf(0, Point());
  Result<Layout> thread = fitLayout({{Dim::Lane, threads.lanes},
                                     {Dim::Warp, threads.warps},
                                     {Dim::Warpgroup, threads.warpgroups}},
                                    {Dim::Offset}, [&](const Point &at) {
                                      Point offset;
                                      offset[Dim::Offset] = offsetOf(0, at);
                                      return offset;
                                    });
  if (!thread)
    return LayoutError{"the address is not linear in the thread: " + thread.error()};
  for (int32_t access = 0; access < count; ++access) {
    int32_t offset = offsetOf(access, Point());
    AddressPlan::Step step{(offset ^ origin) & mask, (offset & ~mask) - (origin & ~mask)};
    bool exact = threads.all([&](const Point &at) {
      return offsetOf(access, at) == (offsetOf(0, at) ^ step.flip) + step.add;
    });
    if (!exact)
      return LayoutError{
          "the address of access " + std::to_string(access) +
          " is not that of the first one with constant bits flipped and a constant added"};
    steps.push_back(step);
  }
  return AddressPlan{*thread, std::move(steps)};
}

/// Passes over the banks for some lanes' accesses of `bytes` bytes each: the most distinct words
/// that one bank serves.
int32_t wavefronts(const std::vector<int32_t> &addresses, int32_t bytes) {
  std::array<std::vector<int32_t>, kBanks> words;
  for (int32_t address : addresses)
    for (int32_t word = address / kBankBytes; word <= (address + bytes - 1) / kBankBytes; ++word)
      words[static_cast<size_t>(word % kBanks)].push_back(word);
  size_t most = 1;
  for (std::vector<int32_t> &bank : words) {
    std::sort(bank.begin(), bank.end());
    most =
        std::max(most, static_cast<size_t>(std::unique(bank.begin(), bank.end()) - bank.begin()));
  }
  return static_cast<int32_t>(most);
}

/// Cost of `count` accesses of `bytes` bytes per lane; lanes are served as many at a time as move
/// 128 bytes.
template <class Fn>
AccessCost costOf(const Threads &threads, int32_t count, int32_t bytes, int32_t elementBytes,
                  Fn offsetOf) {
  int32_t together = std::min(threads.lanes, kBanks * kBankBytes / std::max(bytes, kBankBytes));
  AccessCost cost;
  cost.instructions = count;
  cost.ideal = count * ((threads.lanes + together - 1) / together);
  Point at;
  for (at[Dim::Warpgroup] = 0; at[Dim::Warpgroup] < threads.warpgroups; ++at[Dim::Warpgroup])
    for (at[Dim::Warp] = 0; at[Dim::Warp] < threads.warps; ++at[Dim::Warp]) {
      int32_t sum = 0;
      for (int32_t access = 0; access < count; ++access)
        for (int32_t lane = 0; lane < threads.lanes; lane += together) {
          std::vector<int32_t> addresses;
          for (at[Dim::Lane] = lane; at[Dim::Lane] < std::min(lane + together, threads.lanes);
               ++at[Dim::Lane])
            addresses.push_back(offsetOf(access, at) * elementBytes);
          sum += wavefronts(addresses, bytes);
        }
      cost.wavefronts = std::max(cost.wavefronts, sum);
    }
  return cost;
}

/// The offset of every register of every thread.
class RegisterOffsets {
public:
  RegisterOffsets(const Layout &registers, const Offsets &offsets)
      : perThread(registers.inSize(Dim::Register)), threads(registers),
        table(static_cast<size_t>(registers.numSlots())) {
    detail::forEachSlot(registers.spec(), [&](const Point &slot, const Point &element) {
      table[number(slot, slot[Dim::Register])] = offsets.of(element);
    });
  }

  int32_t of(const Point &thread, int32_t reg) const { return table[number(thread, reg)]; }

  /// Whether registers [i*vector, (i+1)*vector) of every thread are consecutive and aligned in the
  /// buffer, for all i.
  bool areContiguous(int32_t vector) const {
    int32_t first = 0;
    for (size_t i = 0; i < table.size(); ++i) {
      int32_t within = static_cast<int32_t>(i) % vector;
      if (within == 0)
        first = table[i];
      if (first % vector != 0 || table[i] != first + within)
        return false;
    }
    return true;
  }

private:
  size_t number(const Point &thread, int32_t reg) const {
    int32_t warp = thread[Dim::Warpgroup] * threads.warps + thread[Dim::Warp];
    return static_cast<size_t>((warp * threads.lanes + thread[Dim::Lane]) * perThread + reg);
  }

  int32_t perThread;
  Threads threads;
  std::vector<int32_t> table;
};

/// The 8x8 matrices of a fragment, in the order of its registers, and how their lines lie in a
/// buffer.
struct Matrices {
  Layout places;  // quotient of the fragment by the atom: register -> matrix
  bool byColumns; // the memory line of a matrix is one of its columns, not one of its rows
  int32_t width;  // elements of a line of 16 bytes

  /// The first element of line `line` of matrix `matrix` of the warp of `thread`.
  Point lineOf(int32_t matrix, int32_t line, Point thread) const {
    thread[Dim::Lane] = 0;
    thread[Dim::Register] = matrix;
    Point place = places.apply(thread);
    int32_t height = 8;
    if (byColumns)
      return Point::element(place[Dim::Row] * width, place[Dim::Col] * height + line);
    return Point::element(place[Dim::Row] * height + line, place[Dim::Col] * width);
  }
};

/// Whether every line is 16 consecutive, aligned bytes of the buffer.
bool linesAreContiguous(const Matrices &matrices, const Offsets &offsets, const Threads &threads) {
  Dim along = matrices.byColumns ? Dim::Row : Dim::Col;
  return threads.all([&](const Point &thread) {
    if (thread[Dim::Lane] >= 8)
      return true;
    for (int32_t matrix = 0; matrix < matrices.places.inSize(Dim::Register); ++matrix) {
      Point element = matrices.lineOf(matrix, thread[Dim::Lane], thread);
      int32_t first = offsets.of(element);
      for (int32_t i = 0; i < matrices.width; ++i, ++element[along])
        if (first % matrices.width != 0 || offsets.of(element) != first + i)
          return false;
    }
    return true;
  });
}

Result<VectorAccess> planned(const Layout &registers, const Layout &buffer, int32_t elementBytes,
                             int32_t maxVector) {
  if (std::optional<std::string> error = checkOperands(registers, buffer, elementBytes))
    return LayoutError{*error};
  RegisterOffsets offsets(registers, Offsets(buffer));
  Threads threads(registers);
  int32_t vector = 1;
  for (int32_t wider = 2;
       wider * elementBytes <= kMaxAccessBytes && wider <= maxVector &&
       registers.inSize(Dim::Register) % wider == 0 && offsets.areContiguous(wider);
       wider *= 2)
    vector = wider;
  auto offsetOf = [&](int32_t access, const Point &thread) {
    return offsets.of(thread, access * vector);
  };
  int32_t count = registers.inSize(Dim::Register) / vector;
  Result<AddressPlan> plan = planAddresses(threads, count, atomMask(buffer), offsetOf);
  if (!plan)
    return LayoutError{plan.error()};
  return VectorAccess{vector, costOf(threads, count, vector * elementBytes, elementBytes, offsetOf),
                      std::move(*plan)};
}

Result<MatrixAccess> planned(const Layout &registers, const Layout &buffer, int32_t elementBytes) {
  if (std::optional<std::string> error = checkOperands(registers, buffer, elementBytes))
    return LayoutError{*error};
  if (elementBytes > 4)
    return LayoutError{"ldmatrix and stmatrix move elements of at most 4 bytes, found " +
                       std::to_string(elementBytes)};
  Offsets offsets(buffer);
  Threads threads(registers);
  std::string reason;
  // The fragment may hold rows or columns of its matrices in quads of lanes, and the buffer may
  // hold either of them contiguously; where the two differ, the instruction transposes.
  for (bool quadsHoldColumns : {false, true}) {
    if (quadsHoldColumns && elementBytes != 2)
      continue;
    Result<Layout> atom = matrixFragment(8 * elementBytes, quadsHoldColumns);
    Result<Layout> places = divide(registers, *atom);
    if (!places) {
      if (reason.empty())
        reason = "the fragment is not made of 8x8 matrices: " + places.error();
      continue;
    }
    for (bool byColumns : {quadsHoldColumns, !quadsHoldColumns}) {
      bool trans = byColumns != quadsHoldColumns;
      if (trans && elementBytes != 2)
        continue;
      Matrices matrices{*places, byColumns, kMaxAccessBytes / elementBytes};
      if (!linesAreContiguous(matrices, offsets, threads)) {
        reason = "the lines of the fragment's matrices are not 16 aligned, consecutive bytes of "
                 "the buffer";
        continue;
      }
      int32_t all = places->size(Dim::Register);
      int32_t count = all % 4 == 0 ? 4 : all % 2 == 0 ? 2 : 1;
      auto offsetOf = [&](int32_t access, const Point &thread) {
        int32_t lane = thread[Dim::Lane] % (8 * count);
        return offsets.of(matrices.lineOf(access * count + lane / 8, lane % 8, thread));
      };
      Result<AddressPlan> plan = planAddresses(threads, all / count, atomMask(buffer), offsetOf);
      if (!plan)
        return LayoutError{plan.error()};
      // Each matrix is one pass of 8 lanes; the repeated addresses of .x1 and .x2 move nothing.
      Threads served = threads;
      served.lanes = 8 * count;
      return MatrixAccess{count, trans,
                          costOf(served, all / count, kMaxAccessBytes, elementBytes, offsetOf),
                          std::move(*plan)};
    }
  }
  return LayoutError{reason};
}

} // namespace

Result<VectorAccess> vectorAccess(const Layout &registers, const Layout &buffer,
                                  int32_t elementBytes, int32_t maxVector) {
  thread_local detail::Memo<Result<VectorAccess>> memo;
  return memo.get(detail::Question().add(registers).add(buffer).add(elementBytes).add(maxVector),
                  [&] { return planned(registers, buffer, elementBytes, maxVector); });
}

Result<VectorAccess> vectorAccess(const Layout &registers, const Layout &buffer,
                                  int32_t elementBytes) {
  return vectorAccess(registers, buffer, elementBytes, kMaxAccessBytes);
}

Result<MatrixAccess> matrixAccess(const Layout &registers, const Layout &buffer,
                                  int32_t elementBytes) {
  thread_local detail::Memo<Result<MatrixAccess>> memo;
  return memo.get(detail::Question().add(registers).add(buffer).add(elementBytes),
                  [&] { return planned(registers, buffer, elementBytes); });
}

} // namespace girih
