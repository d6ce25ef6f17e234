// The choice of a buffer for a conversion; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Layout/Exchange.h"

#include "girih/Layout/Algebra.h"
#include "girih/Layout/Replicas.h"
#include "girih/Layout/Shared.h"

#include "Memo.h"

namespace girih {
namespace {

/// Lines of `contiguous` elements with some bytes of padding behind each, so that lines start at
/// different banks.
Result<Layout> paddedBuffer(int32_t rows, int32_t cols, int32_t elementBytes, Dim contiguous,
                            int32_t padBytes) {
  int32_t length = contiguous == Dim::Col ? cols : rows;
  int32_t lines = contiguous == Dim::Col ? rows : cols;
  int32_t pitch = length + padBytes / elementBytes;
  bool byRows = contiguous == Dim::Col;
  LayoutSpec spec;
  spec.repeats = {
      {Dim::Offset, byRows ? std::vector{0, 1} : std::vector{1, 0}, pitch},
      {Dim::Offset, byRows ? std::vector{1, 0} : std::vector{0, 1}, lines},
  };
  spec.shape = {rows, cols};
  return Layout::create(spec);
}

/// Whether every element that a warp needs is in one of its own slots, and no other warp holds it.
bool staysInWarps(const Layout &from, const Layout &to) {
  Result<Conversion> conversion = convert(from, to);
  if (!conversion || conversion->kind == ConversionKind::SharedMemory)
    return false;
  Result<Layout> replicas = replicasOf(from);
  if (!replicas)
    return false;
  for (const Base &base : replicas->spec().bases)
    if ((base.dim == Dim::Warp || base.dim == Dim::Warpgroup) && base.to[0])
      return false;
  for (const Repeat &repeat : replicas->spec().repeats)
    if ((repeat.dim == Dim::Warp || repeat.dim == Dim::Warpgroup) && repeat.step[0])
      return false;
  return true;
}

Result<Exchange> planned(const Layout &from, const Layout &to, int32_t elementBytes) {
  std::optional<Exchange> best;
  std::string reason;
  // Without a conflict in either direction there is nothing better.
  bool ideal = false;
  auto consider = [&](const Result<Layout> &buffer) {
    if (!buffer) {
      reason = buffer.error();
      return;
    }
    Result<VectorAccess> store = vectorAccess(from, *buffer, elementBytes);
    Result<VectorAccess> load = vectorAccess(to, *buffer, elementBytes);
    if (!store || !load) {
      reason = store ? load.error() : store.error();
      return;
    }
    int64_t bytes = sharedBytes(*buffer, elementBytes);
    auto price = [](const Exchange &exchange) {
      return std::pair(exchange.store.cost.wavefronts + exchange.load.cost.wavefronts,
                       exchange.bytes);
    };
    Exchange exchange{*store, *load, bytes, false};
    ideal =
        store->cost.wavefronts == store->cost.ideal && load->cost.wavefronts == load->cost.ideal;
    if (!best || price(exchange) < price(*best))
      best = std::move(exchange);
  };
  for (Dim contiguous : {Dim::Col, Dim::Row}) {
    for (Swizzle swizzle : {Swizzle::B128, Swizzle::None, Swizzle::B64, Swizzle::B32})
      if (!ideal)
        consider(sharedBuffer(from.rows(), from.cols(), elementBytes, swizzle, contiguous));
    for (int32_t pad : {4, 16})
      if (!ideal && pad >= elementBytes)
        consider(paddedBuffer(from.rows(), from.cols(), elementBytes, contiguous, pad));
  }
  if (!best)
    return LayoutError{reason};
  best->withinWarps = staysInWarps(from, to);
  return *best;
}

} // namespace

Result<Exchange> planExchange(const Layout &from, const Layout &to, int32_t elementBytes) {
  thread_local detail::Memo<Result<Exchange>> memo;
  return memo.get(detail::Question().add(from).add(to).add(elementBytes),
                  [&] { return planned(from, to, elementBytes); });
}

} // namespace girih
