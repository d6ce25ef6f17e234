// A tensor map (CUtensorMap): what TMA knows about a tensor in global memory. Kernels copy its 128
// bytes and pass their address in any space, so everything lives inside these bytes; there is no
// table keyed by address. The encoding is our own (NVIDIA does not document the chip's) and carries
// a mark and a checksum, so that bytes that are not a tensor map, or were changed by plain stores,
// are recognised.
//
// Sources of the rules: CUDA driver API 13.0, "Tensor Map Object Management",
// cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col; PTX ISA 9.0, 5.5 "Tensors", 9.7.9.28
// "tensormap.replace".
//
// Interleaved layouts are documented by their names alone (NC/8HWC8, and C8 occupies 16 bytes). The
// reading here: dimension 0 is the slice of channels, exactly 16 or 32 bytes, and the slices are a
// dimension like any other, with a stride of its own. Then a copy moves what it would move without
// interleave. Arguments that this reading has no place for are refused.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_EMULATOR_TENSORMAP_H
#define GIRIH_EMULATOR_TENSORMAP_H

#include "girih/Emulator/Swizzle.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace girih::emu {

/// Size of an encoded map; its address must be a multiple of 64 (CUtensorMap's alignment).
inline constexpr size_t kTensorMapBytes = 128;
inline constexpr uint32_t kMaxTensorRank = 5;

/// Values are those of CUtensorMapDataType. The packed 4- and 6-bit types belong to later chips and
/// are refused.
enum class TensorDataType : uint8_t {
  U8 = 0,
  U16 = 1,
  U32 = 2,
  S32 = 3,
  U64 = 4,
  S64 = 5,
  F16 = 6,
  F32 = 7,
  F64 = 8,
  BF16 = 9,
  F32Ftz = 10,
  TF32 = 11,
  TF32Ftz = 12,
};

/// Values are those of CUtensorMapInterleave.
enum class TensorInterleave : uint8_t { None = 0, B16 = 1, B32 = 2 };

/// What a load writes for elements outside the tensor (CUtensorMapFloatOOBfill).
enum class TensorFill : uint8_t { Zero = 0, Nan = 1 };

/// Bytes of an element: 1, 2, 4 or 8.
uint32_t elementBytes(TensorDataType type);
/// "u8", "bf16", ...; for messages.
const char *dataTypeName(TensorDataType type);

/// How a copy walks the tensor: a box of it (5.5.3), or pixels of images in the order of a
/// convolution (5.5.4).
enum class TensorMapKind : uint8_t { Tiled = 0, Im2col = 1 };

/// A decoded map. Index 0 is the innermost, contiguous dimension; entries from `rank` up are 1
/// (strides 0). Of an im2col map dimension 0 holds channels, the last one images, and the ones
/// between, innermost first, W, H and D.
struct TensorMap {
  TensorMapKind kind = TensorMapKind::Tiled;
  TensorDataType type = TensorDataType::U8;
  uint32_t rank = 0;
  uint64_t globalAddress = 0;
  std::array<uint64_t, kMaxTensorRank> dims{};    // elements
  std::array<uint64_t, kMaxTensorRank> strides{}; // bytes; strides[0] is the element's size
  std::array<uint32_t, kMaxTensorRank> boxDims{}; // elements walked, before the traversal stride
  std::array<uint32_t, kMaxTensorRank> elementStrides{}; // traversal stride; [0] is always 1
  /// Of an im2col map: corners of the box in which a filter's base may lie, by dimension from 1 on,
  /// counted from the tensor's first element and from its last; and pixels that a copy moves.
  /// boxDims[0] is the channels of each.
  std::array<int32_t, 3> lowerCorner{}, upperCorner{};
  uint32_t pixels = 0;
  TensorInterleave interleave = TensorInterleave::None;
  Swizzle swizzle = Swizzle::None;
  TensorFill fill = TensorFill::Zero;
  uint8_t l2Promotion = 0; // CUtensorMapL2promotion, no effect here

  uint32_t elementBytes() const { return emu::elementBytes(type); }
  /// Elements that a copy moves along a dimension: ceil(boxDims / elementStrides).
  uint32_t boxCount(uint32_t dim) const {
    return (boxDims[dim] + elementStrides[dim] - 1) / elementStrides[dim];
  }
  /// Bytes of a whole box, as complete_tx counts them, in or out of bounds.
  uint64_t boxBytes() const;
};

/// The arguments of cuTensorMapEncodeTiled, raw, so that every wrong value can be reported.
struct TiledMapArguments {
  int dataType = 0;
  uint32_t rank = 0;
  uint64_t globalAddress = 0;
  const uint64_t *globalDim = nullptr;      // rank entries, elements
  const uint64_t *globalStrides = nullptr;  // rank - 1 entries, bytes
  const uint32_t *boxDim = nullptr;         // rank entries, elements
  const uint32_t *elementStrides = nullptr; // rank entries
  int interleave = 0;
  int swizzle = 0; // CUtensorMapSwizzle: 0 none, 1 32B, 2 64B, 3 128B
  int l2Promotion = 0;
  int oobFill = 0;
};

/// Checks every rule and writes 128 bytes. Returns an empty string, or one sentence that names the
/// argument, its value and what was expected; then `bytes` is untouched.
std::string encodeTiled(const TiledMapArguments &arguments, uint8_t *bytes);

/// The arguments of cuTensorMapEncodeIm2col, raw.
struct Im2colMapArguments {
  int dataType = 0;
  uint32_t rank = 0;
  uint64_t globalAddress = 0;
  const uint64_t *globalDim = nullptr;     // rank entries, elements
  const uint64_t *globalStrides = nullptr; // rank - 1 entries, bytes
  const int *lowerCorner = nullptr;        // rank - 2 entries: (D, H, W), (H, W) or (W)
  const int *upperCorner = nullptr;
  uint32_t channelsPerPixel = 0;
  uint32_t pixelsPerColumn = 0;
  const uint32_t *elementStrides = nullptr; // rank entries
  int interleave = 0;
  int swizzle = 0;
  int l2Promotion = 0;
  int oobFill = 0;
};

/// As encodeTiled.
std::string encodeIm2col(const Im2colMapArguments &arguments, uint8_t *bytes);

/// What tensormap.replace can change.
enum class TensorMapField : uint8_t {
  GlobalAddress,
  Rank,          ///< one less than the rank
  BoxDim,        ///< with an ordinal
  GlobalDim,     ///< with an ordinal
  GlobalStride,  ///< with an ordinal; of dimension ordinal + 1
  ElementStride, ///< with an ordinal
  ElementType,   ///< numbered as in the ISA's table, which is not CUtensorMapDataType
  Interleave,
  SwizzleMode,
  FillMode,
};

/// Changes one field of 128 bytes. Values are not checked until a copy uses the map, because
/// several changes may belong together; only what cannot be written at all, and bytes that are no
/// tiled map, are refused with a sentence.
std::string replaceTensorMapField(uint8_t *bytes, TensorMapField field, uint32_t ordinal,
                                  uint64_t value);

/// Reads 128 bytes. Returns an empty string, or why they are not a tensor map that a copy may use.
std::string decodeTensorMap(const uint8_t *bytes, TensorMap &map);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_TENSORMAP_H
