// Our encoding of a tensor map.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Emulator/TensorMap.h"

#include "Emulator/Text.h"
#include "Emulator/Units/TensorMapRules.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace girih::emu {
namespace {

// Byte offsets of the fields, little-endian. Bytes not named are zero. Widths hold more than is
// allowed, so that an edited map keeps a wrong value until a copy checks it.
constexpr uint32_t kMark = 0x324d5447;   // "GTM2"
constexpr size_t kMarkAt = 0;            // u32
constexpr size_t kCheckAt = 4;           // u32, of the bytes from 8 on
constexpr size_t kAddressAt = 8;         // u64
constexpr size_t kDimsAt = 16;           // 5 x u64
constexpr size_t kStridesAt = 56;        // 4 x u64
constexpr size_t kBoxAt = 88;            // 5 x u16
constexpr size_t kElementStridesAt = 98; // 5 x u8
constexpr size_t kRankAt = 103;
constexpr size_t kTypeAt = 104;
constexpr size_t kInterleaveAt = 105;
constexpr size_t kSwizzleAt = 106;
constexpr size_t kPromotionAt = 107;
constexpr size_t kFillAt = 108;
constexpr size_t kKindAt = 109;   // TensorMapKind
constexpr size_t kLowerAt = 110;  // 3 x s16, W first
constexpr size_t kUpperAt = 116;  // 3 x s16
constexpr size_t kPixelsAt = 122; // u16

template <typename T> T load(const uint8_t *bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes + at, sizeof(T));
  return value;
}
template <typename T> void store(uint8_t *bytes, size_t at, T value) {
  std::memcpy(bytes + at, &value, sizeof(T));
}
/// The value, or the greatest that the field holds, which is never a right one.
template <typename T> T clamped(uint64_t value) {
  return static_cast<T>(std::min<uint64_t>(value, std::numeric_limits<T>::max()));
}

/// FNV-1a over 64-bit words, folded: enough to tell a map from bytes that are not one.
uint32_t checksum(const uint8_t *bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t at = 8; at < kTensorMapBytes; at += 8)
    hash = (hash ^ load<uint64_t>(bytes, at)) * 0x100000001b3;
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

/// What both kinds of map hold.
template <typename Arguments> void storeCommon(const Arguments &args, uint8_t *bytes) {
  std::memset(bytes, 0, kTensorMapBytes);
  store(bytes, kMarkAt, kMark);
  store(bytes, kAddressAt, args.globalAddress);
  for (uint32_t d = 0; d < kMaxTensorRank; ++d) {
    bool used = d < args.rank;
    store(bytes, kDimsAt + 8 * d, used ? args.globalDim[d] : uint64_t(1));
    store(bytes, kBoxAt + 2 * d, uint16_t(1));
    // Without interleave TMA ignores the traversal stride of dimension 0 (CUDA driver API,
    // elementStrides).
    store(bytes, kElementStridesAt + d,
          static_cast<uint8_t>(used && d > 0 ? args.elementStrides[d] : 1));
    if (d > 0)
      store(bytes, kStridesAt + 8 * (d - 1), used ? args.globalStrides[d - 1] : uint64_t(0));
  }
  bytes[kRankAt] = static_cast<uint8_t>(args.rank);
  bytes[kTypeAt] = static_cast<uint8_t>(args.dataType);
  bytes[kInterleaveAt] = static_cast<uint8_t>(args.interleave);
  bytes[kSwizzleAt] = static_cast<uint8_t>(args.swizzle);
  bytes[kPromotionAt] = static_cast<uint8_t>(args.l2Promotion);
  bytes[kFillAt] = static_cast<uint8_t>(args.oobFill);
}

std::string checkMark(const uint8_t *bytes) {
  if (load<uint32_t>(bytes, kMarkAt) != kMark)
    return "these 128 bytes are not a tensor map: the first word is " +
           hex(load<uint32_t>(bytes, kMarkAt)) +
           "; pass the address of a CUtensorMap that cuTensorMapEncodeTiled or "
           "cuTensorMapEncodeIm2col of this driver wrote";
  if (load<uint32_t>(bytes, kCheckAt) != checksum(bytes))
    return "this tensor map was changed after it was encoded: its checksum does not fit its "
           "fields; only tensormap.replace may change one";
  return {};
}

/// The rules of the driver, for a map that tensormap.replace may have changed.
std::string checkFields(const uint8_t *bytes) {
  uint64_t dims[kMaxTensorRank], strides[kMaxTensorRank - 1];
  uint32_t box[kMaxTensorRank], steps[kMaxTensorRank];
  for (uint32_t d = 0; d < kMaxTensorRank; ++d) {
    dims[d] = load<uint64_t>(bytes, kDimsAt + 8 * d);
    box[d] = load<uint16_t>(bytes, kBoxAt + 2 * d);
    steps[d] = bytes[kElementStridesAt + d];
    if (d > 0)
      strides[d - 1] = load<uint64_t>(bytes, kStridesAt + 8 * (d - 1));
  }
  TiledMapArguments args;
  args.dataType = bytes[kTypeAt];
  args.rank = bytes[kRankAt];
  args.globalAddress = load<uint64_t>(bytes, kAddressAt);
  args.globalDim = dims;
  args.globalStrides = strides;
  args.boxDim = box;
  args.elementStrides = steps;
  args.interleave = bytes[kInterleaveAt];
  args.swizzle = bytes[kSwizzleAt];
  args.l2Promotion = bytes[kPromotionAt];
  args.oobFill = bytes[kFillAt];
  return checkTiled(args);
}

} // namespace

uint64_t TensorMap::boxBytes() const {
  uint64_t bytes = uint64_t(boxDims[0]) * elementBytes();
  if (kind == TensorMapKind::Im2col)
    return bytes * pixels;
  for (uint32_t d = 1; d < rank; ++d)
    bytes *= boxCount(d);
  return bytes;
}

std::string encodeTiled(const TiledMapArguments &args, uint8_t *bytes) {
  if (std::string error = checkTiled(args); !error.empty())
    return error;
  storeCommon(args, bytes);
  for (uint32_t d = 0; d < args.rank; ++d)
    store(bytes, kBoxAt + 2 * d, static_cast<uint16_t>(args.boxDim[d]));
  store(bytes, kCheckAt, checksum(bytes));
  return {};
}

std::string encodeIm2col(const Im2colMapArguments &args, uint8_t *bytes) {
  if (std::string error = checkIm2col(args); !error.empty())
    return error;
  storeCommon(args, bytes);
  bytes[kKindAt] = static_cast<uint8_t>(TensorMapKind::Im2col);
  store(bytes, kBoxAt, static_cast<uint16_t>(args.channelsPerPixel));
  store(bytes, kPixelsAt, static_cast<uint16_t>(args.pixelsPerColumn));
  // The API's corners begin with the outermost dimension.
  for (uint32_t i = 0; i + 2 < args.rank; ++i) {
    store(bytes, kLowerAt + 2 * (args.rank - 3 - i), static_cast<int16_t>(args.lowerCorner[i]));
    store(bytes, kUpperAt + 2 * (args.rank - 3 - i), static_cast<int16_t>(args.upperCorner[i]));
  }
  store(bytes, kCheckAt, checksum(bytes));
  return {};
}

std::string replaceTensorMapField(uint8_t *bytes, TensorMapField field, uint32_t ordinal,
                                  uint64_t value) {
  // Compilers also build a map from nothing: zeros, and then every field (Triton's
  // make_tensor_descriptor). What is left out stays zero, and most zeros are refused at the use.
  if (std::all_of(bytes, bytes + kTensorMapBytes, [](uint8_t byte) { return byte == 0; })) {
    store(bytes, kMarkAt, kMark);
    bytes[kKindAt] = static_cast<uint8_t>(TensorMapKind::Tiled);
  } else if (std::string error = checkMark(bytes); !error.empty()) {
    return error;
  }
  if (bytes[kKindAt] != static_cast<uint8_t>(TensorMapKind::Tiled))
    return "this is an im2col map, and tensormap.replace.tile changes tiled ones";
  // The ISA's table of element types: f32.ftz comes before f64 there.
  static constexpr uint8_t types[] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12};
  switch (field) {
  case TensorMapField::GlobalAddress:
    store(bytes, kAddressAt, value);
    break;
  case TensorMapField::Rank:
    bytes[kRankAt] = clamped<uint8_t>(value + 1);
    break;
  case TensorMapField::BoxDim:
    store(bytes, kBoxAt + 2 * ordinal, clamped<uint16_t>(value));
    break;
  case TensorMapField::GlobalDim:
    store(bytes, kDimsAt + 8 * ordinal, value);
    break;
  case TensorMapField::GlobalStride:
    store(bytes, kStridesAt + 8 * ordinal, value);
    break;
  case TensorMapField::ElementStride:
    bytes[kElementStridesAt + ordinal] = clamped<uint8_t>(value);
    break;
  case TensorMapField::ElementType:
    bytes[kTypeAt] = value < sizeof(types) ? types[value] : uint8_t(0xff);
    break;
  case TensorMapField::Interleave:
    bytes[kInterleaveAt] = clamped<uint8_t>(value);
    break;
  case TensorMapField::SwizzleMode:
    bytes[kSwizzleAt] = clamped<uint8_t>(value);
    break;
  case TensorMapField::FillMode:
    bytes[kFillAt] = clamped<uint8_t>(value);
    break;
  }
  store(bytes, kCheckAt, checksum(bytes));
  return {};
}

std::string decodeTensorMap(const uint8_t *bytes, TensorMap &map) {
  if (std::string error = checkMark(bytes); !error.empty())
    return error;
  const bool tiled = bytes[kKindAt] == static_cast<uint8_t>(TensorMapKind::Tiled);
  // An im2col map cannot be edited, so what encodeIm2col admitted still holds.
  if (tiled)
    if (std::string error = checkFields(bytes); !error.empty())
      return error;
  map.kind = static_cast<TensorMapKind>(bytes[kKindAt]);
  map.type = static_cast<TensorDataType>(bytes[kTypeAt]);
  map.rank = bytes[kRankAt];
  map.globalAddress = load<uint64_t>(bytes, kAddressAt);
  for (uint32_t d = 0; d < kMaxTensorRank; ++d) {
    bool used = d < map.rank;
    map.dims[d] = used ? load<uint64_t>(bytes, kDimsAt + 8 * d) : 1;
    map.boxDims[d] = used ? load<uint16_t>(bytes, kBoxAt + 2 * d) : 1;
    map.elementStrides[d] = used && d > 0 ? bytes[kElementStridesAt + d] : 1;
    map.strides[d] = d == 0 ? elementBytes(map.type)
                     : used ? load<uint64_t>(bytes, kStridesAt + 8 * (d - 1))
                            : 0;
  }
  for (uint32_t i = 0; i < 3; ++i) {
    map.lowerCorner[i] = load<int16_t>(bytes, kLowerAt + 2 * i);
    map.upperCorner[i] = load<int16_t>(bytes, kUpperAt + 2 * i);
  }
  map.pixels = load<uint16_t>(bytes, kPixelsAt);
  map.interleave = static_cast<TensorInterleave>(bytes[kInterleaveAt]);
  map.swizzle = swizzleFromCode(bytes[kSwizzleAt]);
  map.fill = static_cast<TensorFill>(bytes[kFillAt]);
  map.l2Promotion = bytes[kPromotionAt];
  return {};
}

} // namespace girih::emu
