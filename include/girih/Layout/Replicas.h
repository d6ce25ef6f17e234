// Elements that several threads or registers hold: who of them acts where an effect must happen
// once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LAYOUT_REPLICAS_H
#define GIRIH_LAYOUT_REPLICAS_H

#include "girih/Layout/Layout.h"

namespace girih {

/// Numbers the slots that hold an element: a layout over the one out dimension row, on the in
/// dimensions of `layout`, that is 0 in exactly one slot of every element. Registers are replicas
/// before lanes, lanes before warps, warps before warpgroups, so that the slot 0 is in the lowest
/// of them. Refused if no such numbering is an atom with repeats.
Result<Layout> replicasOf(const Layout &layout);

} // namespace girih

#endif // GIRIH_LAYOUT_REPLICAS_H
