// One form per map. Any layout is first written with as many counters and as few bases as
// possible, which is unique (each counter is the longest run of its step); then leading counters
// of a power of two join the atom again.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Enumerate.h"

#include <algorithm>
#include <bit>

namespace girih::detail {
namespace {

using Vector = std::vector<int32_t>;

bool disjoint(const Vector &a, const Vector &b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] & b[i])
      return false;
  return true;
}

Vector times(const Vector &v, int32_t factor) {
  Vector result = v;
  for (int32_t &x : result)
    x *= factor;
  return result;
}

std::vector<Base> basesOf(const LayoutSpec &spec, Dim dim) {
  std::vector<Base> result;
  std::copy_if(spec.bases.begin(), spec.bases.end(), std::back_inserter(result),
               [&](const Base &base) { return base.dim == dim; });
  return result;
}

std::vector<Repeat> repeatsOf(const LayoutSpec &spec, Dim dim) {
  std::vector<Repeat> result;
  std::copy_if(spec.repeats.begin(), spec.repeats.end(), std::back_inserter(result),
               [&](const Repeat &repeat) { return repeat.dim == dim; });
  return result;
}

/// A base that shares no bit with another one may be read as a counter of two.
bool isCounter(const LayoutSpec &spec, const Base &base) {
  int sharing = 0;
  for (const Base &other : spec.bases)
    sharing += !disjoint(base.to, other.to);
  bool zero = std::all_of(base.to.begin(), base.to.end(), [](int32_t x) { return x == 0; });
  return sharing == (zero ? 0 : 1); // itself
}

/// Moves a counter into the atom if XOR and sum agree there. `used` are the bits that the atom has.
bool absorb(const Repeat &counter, Vector &used, std::vector<Base> &bases) {
  if (!std::has_single_bit(static_cast<uint32_t>(counter.extent)))
    return false;
  Vector now = used;
  std::vector<Base> added;
  for (int32_t factor = 1; factor < counter.extent; factor *= 2) {
    Vector to = times(counter.step, factor);
    if (!disjoint(to, now))
      return false;
    for (size_t i = 0; i < now.size(); ++i)
      now[i] |= to[i];
    added.push_back({counter.dim, to});
  }
  used = now;
  bases.insert(bases.end(), added.begin(), added.end());
  return true;
}

} // namespace

LayoutSpec toCounters(const LayoutSpec &spec) {
  LayoutSpec result{spec.outDims, {}, {}, spec.shape};
  for (Dim dim : kAllDims) {
    std::vector<Base> bases = basesOf(spec, dim);
    std::vector<Repeat> counters = repeatsOf(spec, dim);
    while (!bases.empty() && isCounter(spec, bases.back())) {
      counters.insert(counters.begin(), {dim, bases.back().to, 2});
      bases.pop_back();
    }
    result.bases.insert(result.bases.end(), bases.begin(), bases.end());
    size_t first = result.repeats.size();
    for (const Repeat &counter : counters) {
      if (counter.extent == 1)
        continue;
      if (result.repeats.size() > first &&
          times(result.repeats.back().step, result.repeats.back().extent) == counter.step)
        result.repeats.back().extent *= counter.extent;
      else
        result.repeats.push_back(counter);
    }
  }
  return result;
}

LayoutSpec canonical(const LayoutSpec &spec) {
  LayoutSpec counters = toCounters(spec);
  LayoutSpec result{spec.outDims, {}, {}, spec.shape};
  Vector used(spec.outDims.size(), 0);
  for (const Base &base : counters.bases)
    for (size_t i = 0; i < used.size(); ++i)
      used[i] |= base.to[i];
  for (Dim dim : kAllDims) {
    std::vector<Base> bases = basesOf(counters, dim);
    std::vector<Repeat> repeats = repeatsOf(counters, dim);
    while (!repeats.empty() && absorb(repeats.front(), used, bases))
      repeats.erase(repeats.begin());
    result.bases.insert(result.bases.end(), bases.begin(), bases.end());
    result.repeats.insert(result.repeats.end(), repeats.begin(), repeats.end());
  }
  return result;
}

} // namespace girih::detail
