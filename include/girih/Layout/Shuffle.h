// A tile's way into another register layout by shuffles, where no element leaves its warp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LAYOUT_SHUFFLE_H
#define GIRIH_LAYOUT_SHUFFLE_H

#include "girih/Layout/Layout.h"

#include <array>
#include <vector>

namespace girih {

/// One of several things, by lane: lane l has `options[of[l]]`.
template <class T> struct LaneChoice {
  std::vector<T> options;
  std::array<uint8_t, 32> of{};
};

/// A word of 32 bits (or of one element, if that is wider) is made by every lane of elements of its
/// own and taken by lanes, each of one lane.
struct ShuffleRound {
  /// The registers of the tile to convert from that a lane puts into its word, lowest bits first.
  LaneChoice<std::vector<int32_t>> word;
  /// Whose word a lane takes: what this leads to, from lane to row, with the bits of `flip`
  /// flipped. Nothing if its own: then no shuffle is needed.
  std::optional<Layout> source;
  int32_t flip = 0;
};

/// Where a register of the result comes from: an element of the word of a round.
struct ShuffledRegister {
  LaneChoice<int32_t> round;
  int32_t element = 0;
};

/// The same in every warp.
struct ShufflePlan {
  std::vector<ShuffleRound> rounds;
  /// By register of the result.
  std::vector<ShuffledRegister> registers;
  /// Instructions of all rounds: shuffles, and selections by lane before and after them.
  int32_t shuffles = 0, selections = 0;
};

/// Plans it. `elementBytes` is 1, 2, 4 or 8: four elements of one byte that travel together share a
/// word, and two of two bytes. Each lane takes its elements in an order of its own, so that all who
/// read a lane in one round want the same word of it; the order is found by trying which bits of
/// the lane flip which bits of the round. Refused, with a reason, if an element changes its warp,
/// the warps are not alike, or no such order is found.
Result<ShufflePlan> planShuffles(const Layout &from, const Layout &to, int32_t elementBytes);

} // namespace girih

#endif // GIRIH_LAYOUT_SHUFFLE_H
