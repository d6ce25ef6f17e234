// Layouts for coalesced access to tiles of any shape and order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LAYOUT_BLOCKED_H
#define GIRIH_LAYOUT_BLOCKED_H

#include "girih/Layout/Shape.h"

namespace girih {

/// Each thread holds `vector` consecutive elements along dimension `fastest` of a tile; lanes run
/// along it first, then along the other dimensions, the last one before the first; warps and
/// warpgroups start at the slowest dimension, so that what is combined along the fastest one stays
/// in a warp where it can. What is left of the tile repeats in registers. Where an extent has no
/// factor for them, several threads hold the same elements: the tile may have any shape. On two
/// dimensions whose extents the threads divide, with the last as the fastest, it is rowBlocked().
/// Refused if `vector` does not divide the extent, or the counts are none that a role has.
Result<Layout> blocked(const Extents &shape, int32_t fastest, int32_t vector, int32_t warps,
                       int32_t warpgroups);

/// Each `group` innermost elements of a tile over lanes, then warps and warpgroups, the groups one
/// after the other in registers; the threads that are left over hold the same. Tiles of any two
/// shapes that have the same elements have it in common if `group`, a power of two, divides both
/// last extents.
Result<Layout> innermost(const Extents &shape, int32_t group, int32_t warps, int32_t warpgroups);

} // namespace girih

#endif // GIRIH_LAYOUT_BLOCKED_H
