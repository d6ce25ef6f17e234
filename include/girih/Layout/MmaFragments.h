// Register layouts of mma.sync, whose warps share a product in rows first, then in columns. Each
// follows the figures of the PTX ISA that it cites (section numbers of PTX ISA 9.0).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LAYOUT_MMAFRAGMENTS_H
#define GIRIH_LAYOUT_MMAFRAGMENTS_H

#include "girih/Layout/Layout.h"

namespace girih {

/// A product of rows x depth by depth x cols, shared by `warps` (1, 2 or 4) of each of
/// `warpgroups`. As many warps as divide the blocks of 16 rows have rows of their own, as many of
/// the others as divide the blocks of 8 columns have columns of their own, and what is left
/// multiplies the same as another; warpgroups likewise, in what their warps leave (columns if they
/// are a power of two). A warp's blocks of rows lie apart as those of wgmma do. Blocks of columns
/// go round among the warps, then the warpgroups, so that in a buffer of panels those of one
/// instruction are all in the same one.
struct MmaShare {
  int32_t rows, cols, depth;
  int32_t warps, warpgroups;
};

/// Elements of K that one instruction multiplies: m16n8k16 for 16 bits, m16n8k32 for 8, m16n8k8
/// for 32 (tf32) and 64 (f64).
int32_t mmaDepth(int32_t elementBits);

/// The sum (9.7.14.5.14, figures of C and D): f32, s32 or f64, two columns of row g and of row
/// g + 8 in each thread of a quad; the blocks of 8 columns follow each other in registers, then
/// those of 16 rows.
Result<Layout> mmaAccumulator(const MmaShare &share);

/// Operand A, rows x depth elements of 8, 16, 32 or 64 bits: an instruction's registers stand
/// together, k steps follow each other, then come the blocks of 16 rows.
Result<Layout> mmaOperandA(const MmaShare &share, int32_t elementBits);

/// Operand B, depth x cols elements: an instruction's registers stand together, k steps follow each
/// other, then come the blocks of 8 columns.
Result<Layout> mmaOperandB(const MmaShare &share, int32_t elementBits);

} // namespace girih

#endif // GIRIH_LAYOUT_MMAFRAGMENTS_H
