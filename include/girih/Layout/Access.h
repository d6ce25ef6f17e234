// Moving a register tile to or from a shared buffer: which instruction fits, what it costs in bank
// conflicts, and how its addresses are made of one value per thread and constants.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LAYOUT_ACCESS_H
#define GIRIH_LAYOUT_ACCESS_H

#include "girih/Layout/Layout.h"

#include <vector>

namespace girih {

/// Cost of moving one warp's part of a tile. A wavefront is one pass over the 32 banks of 4 bytes;
/// accesses of one pass to the same 4-byte word share it. A warp's access of 8 bytes per lane is
/// served 16 lanes at a time, of 16 bytes 8 lanes at a time (CUDA C++ Programming Guide, "Shared
/// Memory" gives the banks; the grouping is inferred from how profilers count). The worst warp
/// counts.
struct AccessCost {
  int32_t instructions = 0;
  int32_t wavefronts = 0;
  /// Wavefronts of the same accesses without any conflict.
  int32_t ideal = 0;
};

/// How the addresses of a sequence of accesses are formed. The offset of access i by a thread is
///   (thread.apply(lane, warp, warpgroup)[Offset] ^ steps[i].flip) + steps[i].add,
/// in elements; multiplied by the element size it is in bytes. It holds for every thread (checked
/// when made), so one value per thread and two constants per access are all the code needs.
struct AddressPlan {
  struct Step {
    int32_t flip, add;
    friend bool operator==(const Step &, const Step &) = default;
  };
  Layout thread;
  std::vector<Step> steps;
};

/// Ordinary loads and stores (ld.shared, st.shared, .v2, .v4): access i moves registers [i*vector,
/// (i+1)*vector).
struct VectorAccess {
  int32_t vector; // elements per access
  AccessCost cost;
  AddressPlan addresses;
};

/// ldmatrix/stmatrix .x`count`, the same instruction `addresses.steps.size()` times. Instruction i
/// moves 32-bit registers [i*count, (i+1)*count) of the fragment (elements packed as Dim::Register
/// says); lane l supplies the address of 16 bytes, row l%8 of matrix l/8; lanes from 8*count on
/// repeat those of the first ones.
struct MatrixAccess {
  int32_t count; // 1, 2 or 4
  bool trans;
  AccessCost cost;
  AddressPlan addresses;
};

/// The widest vector (a power of two, at most 16 bytes) for which every access is contiguous and
/// aligned. Both layouts are over the same (row, col) shape, `registers` from register, lane, warp,
/// warpgroup and `buffer` from offset.
Result<VectorAccess> vectorAccess(const Layout &registers, const Layout &buffer,
                                  int32_t elementBytes);

/// The same with at most `maxVector` elements at a time.
Result<VectorAccess> vectorAccess(const Layout &registers, const Layout &buffer,
                                  int32_t elementBytes, int32_t maxVector);

/// Whether stmatrix (or ldmatrix: the two are mirror images) moves this fragment to this buffer, by
/// division of the fragment by the 8x8 atom. The reason of a refusal is a sentence for a remark.
Result<MatrixAccess> matrixAccess(const Layout &registers, const Layout &buffer,
                                  int32_t elementBytes);

} // namespace girih

#endif // GIRIH_LAYOUT_ACCESS_H
