// Register layouts by name. Each follows the figure or table of the PTX ISA that it cites (section
// numbers of PTX ISA 9.0; 9.2 has the same).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LAYOUT_FRAGMENTS_H
#define GIRIH_LAYOUT_FRAGMENTS_H

#include "girih/Layout/Layout.h"

namespace girih {

/// The accumulator of wgmma.mma_async.m64nN, f32, f16 or s32 (9.7.15.5.1.1, "register fragment
/// layout for accumulator matrix D"): rows x cols over `warpgroups` warpgroups, warpgroup w owning
/// rows [w*rows/warpgroups, ...). A warpgroup with more than 64 rows holds its m64 blocks one after
/// the other: registers [b*cols/2, (b+1)*cols/2) are block b. Registers count elements: f32 has one
/// 32-bit register per element, f16 (and an accumulator rounded to bf16) element 2j in the low and
/// 2j+1 in the high half of register j, as the ISA's f16 fragment says. rows is a multiple of
/// 64*warpgroups and cols a multiple of 8; N <= 256 is the instruction's business, not ours.
Result<Layout> wgmmaAccumulator(int32_t rows, int32_t cols, int32_t warpgroups);

/// Operand A of wgmma in registers (9.7.15.5.1.1, figures of m64nNk16, m64nNk8 and m64nNk32): rows
/// x k elements of 16, 32 (tf32) or 8 bits. One instruction reads 256 bits of a row; its registers
/// stand together, k steps follow each other, then come the m64 blocks. rows as for the
/// accumulator, k a multiple of 256/elementBits.
Result<Layout> wgmmaOperandA(int32_t rows, int32_t k, int32_t elementBits, int32_t warpgroups);

/// One 8x8 matrix of 16-bit elements as ldmatrix and stmatrix hold it (9.7.14.5.15 and .16), or 8
/// rows of 16 bytes of wider or narrower elements: four lanes share a row, each with 32 bits of it.
/// With `trans` (16 bits only) four lanes share a column. This is the atom to divide fragments by.
Result<Layout> matrixFragment(int32_t elementBits, bool trans = false);

/// The fragment of ldmatrix/stmatrix .x1, .x2 or .x4 (`count`): the matrices are stacked, (8*count)
/// rows of 16 bytes in memory order, and register pair m holds matrix m. Lane i supplies the
/// address of row i of this stack (9.7.14.5.15, table of addresses). With `trans` memory row r of a
/// matrix is its column in registers; the layout still says where each MEMORY element goes.
Result<Layout> ldmatrixFragment(int32_t count, int32_t elementBits, bool trans = false);

/// Each thread holds `vector` consecutive elements of a row; threads run along a row first, then
/// down the rows, lanes before warps before warpgroups; what is left of the tile repeats in
/// registers, columns before rows. For coalesced access to global and shared memory. cols is a
/// multiple of vector (a power of two), warps is 1, 2 or 4.
Result<Layout> rowBlocked(int32_t rows, int32_t cols, int32_t vector, int32_t warps,
                          int32_t warpgroups);

} // namespace girih

#endif // GIRIH_LAYOUT_FRAGMENTS_H
