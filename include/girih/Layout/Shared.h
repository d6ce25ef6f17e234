// Shared-memory buffers: offset -> (row, col), with the swizzles of the tensor memory accelerator
// and of wgmma.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LAYOUT_SHARED_H
#define GIRIH_LAYOUT_SHARED_H

#include "girih/Layout/Layout.h"

namespace girih {

/// The swizzle span in bytes. Inside it the 16-byte chunks of a line are permuted by XOR with
/// address bits of the line (PTX ISA 5.5.7 "Swizzling Modes"; CUDA C++ Programming Guide, "Tensor
/// Memory Access", table of swizzle patterns):
///   B128: bits 4..6 ^= bits 7..9;  B64: bits 4..5 ^= bits 7..8;  B32: bit 4 ^= bit 7.
/// The pattern repeats every 8 lines, that is 8 * span bytes.
enum class Swizzle : int32_t { None = 0, B32 = 32, B64 = 64, B128 = 128 };

/// The swizzle of that span in bytes (0, 32, 64 or 128).
std::optional<Swizzle> swizzleOfSpan(int32_t bytes);

/// Where the hardware puts a byte: `address` (absolute, in shared memory) with the XOR of `swizzle`
/// applied.
uint32_t swizzleAddress(uint32_t address, Swizzle swizzle);

/// Alignment in bytes that a buffer needs for its layout to hold at its address: the pattern is a
/// function of absolute address bits, so a swizzled buffer starts where the pattern does
/// (9.7.15.5.1.2, "starting address of the repeating pattern"): 1024, 512 or 256; 128 without
/// swizzle (what a TMA copy asks for).
int32_t swizzleAlignment(Swizzle swizzle);

/// A buffer of rows x cols elements with elements of a row adjacent (`contiguous` = Dim::Col) or of
/// a column (Dim::Row). With a swizzle, the contiguous extent is cut into panels of one span; each
/// panel is the other extent as lines of span bytes; the panels follow each other. A last, narrower
/// panel keeps the full pitch; its tail is padding. This is what one TMA copy per panel writes, and
/// what wgmma reads. Without a swizzle: plain lines, as long as the extent. Refused if the other
/// extent is no multiple of 8 while there are several panels (the second would start inside a
/// pattern). elementBytes is 1, 2, 4 or 8.
Result<Layout> sharedBuffer(int32_t rows, int32_t cols, int32_t elementBytes, Swizzle swizzle,
                            Dim contiguous = Dim::Col);

/// The layout that wgmma reads in its mode without swizzle (9.7.15.5.1.2, "None": 8x1 atoms of 16
/// bytes): panels as above, of 16 bytes, so 8 lines form a core matrix of 128 consecutive bytes.
Result<Layout> coreMatrixBuffer(int32_t rows, int32_t cols, int32_t elementBytes,
                                Dim contiguous = Dim::Col);

/// Bytes that a buffer of this layout occupies, padding included.
int64_t sharedBytes(const Layout &buffer, int32_t elementBytes);

} // namespace girih

#endif // GIRIH_LAYOUT_SHARED_H
