// Rounds of shuffles; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Layout/Shuffle.h"

#include "girih/Layout/Algebra.h"

#include "Enumerate.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace girih {
namespace {

constexpr size_t kLanes = 32;
/// Bits of the number of a round that lanes may flip, and orders that are tried.
constexpr size_t kMaxBits = 5;
constexpr int kMaxTries = 4096;

/// The elements of one warp, by lane and register: elements[lane * registers + register].
struct WarpElements {
  size_t registers;
  std::vector<size_t> elements;

  size_t at(size_t lane, size_t reg) const { return elements[lane * registers + reg]; }
};

/// Those of every warp, warps of one warpgroup after the other.
std::vector<WarpElements> warpsOf(const Layout &layout) {
  detail::Numbering numbering(layout);
  size_t registers = static_cast<size_t>(layout.inSize(Dim::Register));
  size_t warps = static_cast<size_t>(layout.inSize(Dim::Warp));
  std::vector<WarpElements> result(
      warps * static_cast<size_t>(layout.inSize(Dim::Warpgroup)),
      {registers, std::vector<size_t>(kLanes * registers, numbering.count())});
  detail::forEachSlot(layout.spec(), [&](const Point &slot, const Point &element) {
    if (numbering.contains(element))
      result[static_cast<size_t>(slot[Dim::Warpgroup]) * warps +
             static_cast<size_t>(slot[Dim::Warp])]
          .elements[static_cast<size_t>(slot[Dim::Lane]) * registers +
                    static_cast<size_t>(slot[Dim::Register])] = numbering.of(element);
  });
  return result;
}

struct Place {
  size_t lane, reg;
};

/// Registers of the result that every lane takes from one lane at once.
using Item = std::vector<size_t>;

class Planner {
public:
  Planner(const Layout &from, const Layout &to, size_t perWord)
      : sources(warpsOf(from)), results(warpsOf(to)), perWord(perWord) {}

  Result<ShufflePlan> run() {
    if (std::string error = findPlaces(); !error.empty())
      return LayoutError{error};
    collectItems();
    bool found = findOrder();
    if (!found) {
      addIdleItems();
      found = findOrder();
    }
    if (!found)
      return LayoutError{"no order of " + std::to_string(items.size()) +
                         " words was found in which all who read a lane want the same"};
    return plan();
  }

private:
  size_t registers() const { return results.front().registers; }
  const Place &placeOf(size_t lane, size_t reg) const { return places[lane * registers() + reg]; }

  /// Finds where each register of each lane comes from: of several slots, the one in the lane whose
  /// number differs in the lowest bits, and there in the first register.
  std::string findPlaces() {
    const WarpElements &source = sources.front(), &result = results.front();
    std::map<size_t, std::vector<Place>> held;
    for (size_t lane = 0; lane < kLanes; ++lane)
      for (size_t reg = 0; reg < source.registers; ++reg)
        held[source.at(lane, reg)].push_back({lane, reg});
    places.reserve(kLanes * registers());
    for (size_t lane = 0; lane < kLanes; ++lane)
      for (size_t reg = 0; reg < registers(); ++reg) {
        auto found = held.find(result.at(lane, reg));
        if (found == held.end())
          return "an element comes from another warp, or from none";
        places.push_back(*std::min_element(
            found->second.begin(), found->second.end(), [&](const Place &a, const Place &b) {
              return std::pair(a.lane ^ lane, a.reg) < std::pair(b.lane ^ lane, b.reg);
            }));
      }
    for (size_t warp = 1; warp < sources.size(); ++warp)
      for (size_t lane = 0; lane < kLanes; ++lane)
        for (size_t reg = 0; reg < registers(); ++reg) {
          const Place &place = placeOf(lane, reg);
          if (sources[warp].at(place.lane, place.reg) != results[warp].at(lane, reg))
            return "elements come from other places in other warps";
        }
    return {};
  }

  /// Registers that all lanes take from the same lanes share words.
  void collectItems() {
    std::map<std::vector<size_t>, std::vector<size_t>> together;
    for (size_t reg = 0; reg < registers(); ++reg) {
      std::vector<size_t> lanes;
      for (size_t lane = 0; lane < kLanes; ++lane)
        lanes.push_back(placeOf(lane, reg).lane);
      together[lanes].push_back(reg);
    }
    for (const auto &[lanes, all] : together)
      for (size_t i = 0; i < all.size(); ++i) {
        if (i % perWord == 0)
          items.emplace_back();
        items.back().push_back(all[i]);
      }
    std::sort(items.begin(), items.end());
  }

  /// Lanes that want different words of one lane take them in two rounds, and nothing in another
  /// one: behind each item comes one of nothing.
  void addIdleItems() {
    std::vector<Item> more;
    for (Item &item : items) {
      more.push_back(std::move(item));
      more.emplace_back();
    }
    items = std::move(more);
  }
  bool isIdle(size_t item) const { return items[item].empty(); }

  /// The registers that a lane's item is made of, in the lane that it comes from.
  std::vector<int32_t> wordOf(size_t lane, size_t item) const {
    std::vector<int32_t> word;
    for (size_t reg : items[item])
      word.push_back(static_cast<int32_t>(placeOf(lane, reg).reg));
    return word;
  }
  size_t sourceOf(size_t lane, size_t item) const {
    return placeOf(lane, items[item].front()).lane;
  }
  size_t itemOf(size_t lane, size_t round) const { return round ^ flips[lane]; }

  /// Whether all of the first `lanes` lanes that read one lane in one round want the same word.
  bool isConsistent(size_t lanes) const {
    for (size_t round = 0; round < items.size(); ++round) {
      std::array<const std::vector<int32_t> *, kLanes> sent{};
      for (size_t lane = 0; lane < lanes; ++lane) {
        size_t item = itemOf(lane, round);
        if (isIdle(item))
          continue;
        const std::vector<int32_t> *&word = sent[sourceOf(lane, item)];
        const std::vector<int32_t> &wanted = words[lane * items.size() + item];
        if (word && *word != wanted)
          return false;
        word = &wanted;
      }
    }
    return true;
  }

  /// Finds by which number each lane's order of items is flipped: bit by bit of the lane, those
  /// that flip least first.
  bool findOrder() {
    words.clear();
    candidates.clear();
    tries = 0;
    for (size_t lane = 0; lane < kLanes; ++lane)
      for (size_t item = 0; item < items.size(); ++item)
        words.push_back(wordOf(lane, item));
    size_t bits = 0;
    while (bits < kMaxBits && items.size() % (size_t{2} << bits) == 0)
      ++bits;
    for (size_t flip = 0; flip < size_t{1} << bits; ++flip)
      candidates.push_back(flip);
    std::sort(candidates.begin(), candidates.end(), [](size_t a, size_t b) {
      return std::pair(std::popcount(a), a) < std::pair(std::popcount(b), b);
    });
    return flipFrom(1);
  }

  bool flipFrom(size_t lanes) {
    if (lanes == kLanes)
      return true;
    for (size_t flip : candidates) {
      if (++tries > kMaxTries)
        return false;
      for (size_t lane = 0; lane < lanes; ++lane)
        flips[lanes + lane] = flips[lane] ^ flip;
      if (isConsistent(2 * lanes) && flipFrom(2 * lanes))
        return true;
    }
    return false;
  }

  template <class T> static void choose(LaneChoice<T> &choice, size_t lane, const T &option) {
    auto found = std::find(choice.options.begin(), choice.options.end(), option);
    choice.of[lane] = static_cast<uint8_t>(found - choice.options.begin());
    if (found == choice.options.end())
      choice.options.push_back(option);
  }

  Result<ShufflePlan> plan() const {
    ShufflePlan plan;
    plan.registers.resize(registers());
    for (size_t round = 0; round < items.size(); ++round) {
      ShuffleRound &made = plan.rounds.emplace_back();
      bool own = true;
      std::array<const std::vector<int32_t> *, kLanes> sent{};
      for (size_t lane = 0; lane < kLanes; ++lane) {
        size_t item = itemOf(lane, round);
        if (isIdle(item))
          continue;
        size_t source = sourceOf(lane, item);
        own &= source == lane;
        sent[source] = &words[lane * items.size() + item];
        for (size_t element = 0; element < items[item].size(); ++element) {
          ShuffledRegister &reg = plan.registers[items[item][element]];
          choose(reg.round, lane, static_cast<int32_t>(round));
          reg.element = static_cast<int32_t>(element);
        }
      }
      for (size_t lane = 0; lane < kLanes; ++lane)
        if (sent[lane])
          choose(made.word, lane, *sent[lane]);
      if (own)
        continue;
      auto sourceOfLane = [&](size_t lane) {
        // In an idle round, from where the item before the idle one comes: it has a form then.
        size_t item = itemOf(lane, round);
        return static_cast<int32_t>(sourceOf(lane, isIdle(item) ? item - 1 : item));
      };
      made.flip = sourceOfLane(0);
      Result<Layout> source = fitLayout({{Dim::Lane, kLanes}}, {Dim::Row}, [&](const Point &at) {
        return Point::element(sourceOfLane(static_cast<size_t>(at[Dim::Lane])) ^ made.flip, 0);
      });
      if (!source)
        return LayoutError{"whose word a lane takes has no form: " + source.error()};
      made.source = *source;
    }
    return plan;
  }

  std::vector<WarpElements> sources, results;
  size_t perWord;
  std::vector<Place> places;               ///< by lane and register of the result
  std::vector<Item> items;                 ///< in the order of their first register
  std::vector<std::vector<int32_t>> words; ///< by lane and item
  std::array<size_t, kLanes> flips{};      ///< by lane
  std::vector<size_t> candidates;
  int tries = 0;
};

} // namespace

/// Counts the instructions. What neighbours of one word choose alike is chosen once, for the word.
static void countInstructions(ShufflePlan &plan, int32_t perWord) {
  size_t shuffles = 0, selections = 0;
  for (const ShuffleRound &round : plan.rounds) {
    shuffles += round.source.has_value();
    selections += round.word.options.size() - 1;
  }
  std::set<std::pair<std::vector<int32_t>, std::array<uint8_t, kLanes>>> chosen;
  for (const ShuffledRegister &reg : plan.registers)
    if (chosen.emplace(reg.round.options, reg.round.of).second)
      selections += reg.round.options.size() - 1;
  plan.shuffles = static_cast<int32_t>(shuffles) * perWord;
  plan.selections = static_cast<int32_t>(selections) * perWord;
}

Result<ShufflePlan> planShuffles(const Layout &from, const Layout &to, int32_t elementBytes) {
  if (from.outDims() != to.outDims() || from.shape() != to.shape())
    return LayoutError{"the two layouts are of different shapes"};
  for (Dim dim : {Dim::Lane, Dim::Warp, Dim::Warpgroup})
    if (from.inSize(dim) != to.inSize(dim))
      return LayoutError{"the two layouts are held by different numbers of '" +
                         std::string(nameOf(dim)) + "'"};
  if (from.inSize(Dim::Lane) != static_cast<int32_t>(kLanes) || from.inSize(Dim::Offset) > 1 ||
      to.inSize(Dim::Offset) > 1)
    return LayoutError{"shuffles are between register layouts over 32 lanes"};
  Result<ShufflePlan> plan =
      Planner(from, to, static_cast<size_t>(std::max(1, 4 / elementBytes))).run();
  if (plan)
    countInstructions(*plan, elementBytes > 4 ? 2 : 1);
  return plan;
}

} // namespace girih
