// A tile's trip through shared memory from one register layout into another.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LAYOUT_EXCHANGE_H
#define GIRIH_LAYOUT_EXCHANGE_H

#include "girih/Layout/Access.h"

namespace girih {

struct Exchange {
  VectorAccess store, load; ///< of the two register layouts
  int64_t bytes = 0;        ///< of shared memory
  bool withinWarps = false; ///< every warp reads only what it has written itself
};

/// The cheapest way, in wavefronts of both directions, through lines of rows or of columns, with a
/// swizzle or without. `elementBytes` is 1, 2, 4 or 8.
Result<Exchange> planExchange(const Layout &from, const Layout &to, int32_t elementBytes);

} // namespace girih

#endif // GIRIH_LAYOUT_EXCHANGE_H
