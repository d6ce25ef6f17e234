// How what is known of other clusters is merged.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Check/Clock.h"

namespace girih::emu {

namespace {
using Values = World::Values;

/// Componentwise maximum; one of the two where it covers the other.
Values joinValues(const Values &a, const Values &b) {
  if (a == b)
    return a;
  const size_t common = std::min(a->size(), b->size());
  bool aCovers = b->size() <= a->size(), bCovers = a->size() <= b->size();
  for (size_t i = 0; i < common; ++i) {
    aCovers &= (*a)[i] >= (*b)[i];
    bCovers &= (*b)[i] >= (*a)[i];
  }
  if (aCovers)
    return a;
  if (bCovers)
    return b;
  std::vector<uint32_t> joined = a->size() >= b->size() ? *a : *b;
  for (size_t i = 0; i < common; ++i)
    joined[i] = std::max((*a)[i], (*b)[i]);
  return std::make_shared<const std::vector<uint32_t>>(std::move(joined));
}
} // namespace

const std::vector<uint32_t> &World::everything() {
  static const std::vector<uint32_t> values(size_t(1) << 8 * sizeof(AgentId), UINT32_MAX);
  return values;
}

WorldPtr joinWorlds(const WorldPtr &a, const WorldPtr &b) {
  if (!a || a == b)
    return b;
  if (!b)
    return a;
  std::vector<World::Part> parts;
  parts.reserve(a->all().size() + b->all().size());
  auto left = a->all().begin(), leftEnd = a->all().end();
  auto right = b->all().begin(), rightEnd = b->all().end();
  std::vector<World::Range> over = a->allOver();
  for (const World::Range &range : b->allOver())
    if (std::find(over.begin(), over.end(), range) == over.end())
      over.push_back(range);
  bool isA = over.size() == a->allOver().size(), isB = over == b->allOver();
  while (left != leftEnd || right != rightEnd) {
    if (right == rightEnd || (left != leftEnd && left->cluster < right->cluster)) {
      parts.push_back(*left++);
      isB = false;
    } else if (left == leftEnd || right->cluster < left->cluster) {
      parts.push_back(*right++);
      isA = false;
    } else {
      Values joined = joinValues(left->values, right->values);
      isA &= joined == left->values;
      isB &= joined == right->values;
      parts.push_back({left->cluster, std::move(joined)});
      ++left;
      ++right;
    }
  }
  if (isA)
    return a;
  if (isB)
    return b;
  return std::make_shared<const World>(std::move(parts), std::move(over));
}

void Clock::join(const WorldPtr &world, uint32_t own) {
  if (!world)
    return;
  if (const std::vector<uint32_t> *mine = world->find(own)) {
    if (mine->size() > values.size())
      values.resize(mine->size());
    for (size_t i = 0; i < mine->size(); ++i)
      values[i] = std::max(values[i], (*mine)[i]);
  }
  // The own part stays in there: nobody asks for it.
  if (world->all().size() != 1 || world->all()[0].cluster != own || !world->allOver().empty())
    others = joinWorlds(others, world);
  ++changes;
}

WorldPtr Clock::publish(uint32_t own) const {
  auto mine = std::make_shared<const World>(
      std::vector<World::Part>{{own, std::make_shared<const std::vector<uint32_t>>(values)}});
  return joinWorlds(others, mine);
}

} // namespace girih::emu
