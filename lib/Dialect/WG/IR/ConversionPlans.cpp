// The plans that a context keeps; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/IR/ConversionPlans.h"

using namespace mlir;

namespace girih::wg {

const ConversionPlans &ConversionPlans::of(MLIRContext *context) {
  return *context->getLoadedDialect<WGDialect>()->getRegisteredInterface<ConversionPlans>();
}

/// What `known` has for a key, made by `make` at first.
template <typename Map, typename Make>
static const typename Map::mapped_type &lookup(std::mutex &mutex, Map &known,
                                               typename Map::key_type key, Make make) {
  std::lock_guard lock(mutex);
  auto found = known.find(key);
  return found == known.end() ? known.emplace(key, make()).first->second : found->second;
}

const Result<ConversionPlan> &ConversionPlans::conversion(LayoutAttr from, LayoutAttr to,
                                                          int64_t elementBytes) const {
  return lookup(
      mutex, conversions, {from.getAsOpaquePointer(), to.getAsOpaquePointer(), elementBytes}, [&] {
        return planConversion(from.getLayout(), to.getLayout(), static_cast<int32_t>(elementBytes));
      });
}

const Result<Exchange> &ConversionPlans::exchange(LayoutAttr from, LayoutAttr to,
                                                  int64_t elementBytes) const {
  return lookup(
      mutex, exchanges, {from.getAsOpaquePointer(), to.getAsOpaquePointer(), elementBytes}, [&] {
        return planExchange(from.getLayout(), to.getLayout(), static_cast<int32_t>(elementBytes));
      });
}

} // namespace girih::wg
