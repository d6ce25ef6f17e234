// Plans of layout conversions, each made once for a context: to price layouts, to find out what
// shared memory they need, and to write their instructions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_CONVERSIONPLANS_H
#define GIRIH_DIALECT_WG_IR_CONVERSIONPLANS_H

#include "girih/Dialect/WG/IR/WG.h"

#include "girih/Layout/ConversionPlan.h"
#include "girih/Layout/Exchange.h"

#include "mlir/IR/DialectInterface.h"

#include <map>
#include <mutex>

namespace girih::wg {

/// The plans that a context's wg dialect keeps. Several threads may ask at once.
class ConversionPlans : public mlir::DialectInterface::Base<ConversionPlans> {
public:
  explicit ConversionPlans(mlir::Dialect *dialect) : Base(dialect) {}

  /// Those of the dialect's context.
  static const ConversionPlans &of(mlir::MLIRContext *context);

  /// See planConversion() and planExchange().
  const girih::Result<ConversionPlan> &conversion(LayoutAttr from, LayoutAttr to,
                                                  int64_t elementBytes) const;
  const girih::Result<Exchange> &exchange(LayoutAttr from, LayoutAttr to,
                                          int64_t elementBytes) const;

private:
  using Key = std::tuple<const void *, const void *, int64_t>;
  mutable std::mutex mutex;
  mutable std::map<Key, girih::Result<ConversionPlan>> conversions;
  mutable std::map<Key, girih::Result<Exchange>> exchanges;
};

} // namespace girih::wg

#endif // GIRIH_DIALECT_WG_IR_CONVERSIONPLANS_H
