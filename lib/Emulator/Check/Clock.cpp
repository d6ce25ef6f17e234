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

WorldPtr joinWorlds(const WorldPtr &a, const WorldPtr &b) {
  if (!a || a == b)
    return b;
  if (!b)
    return a;
  std::vector<World::Part> parts;
  parts.reserve(a->all().size() + b->all().size());
  auto left = a->all().begin(), leftEnd = a->all().end();
  auto right = b->all().begin(), rightEnd = b->all().end();
  bool isA = true, isB = true;
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
  return std::make_shared<const World>(std::move(parts));
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
  if (world->all().size() > 1 || world->all()[0].cluster != own)
    others = joinWorlds(others, world);
  ++changes;
}

WorldPtr Clock::publish(uint32_t own) const {
  auto mine = std::make_shared<const World>(
      std::vector<World::Part>{{own, std::make_shared<const std::vector<uint32_t>>(values)}});
  return joinWorlds(others, mine);
}

} // namespace girih::emu
