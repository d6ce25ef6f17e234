// Our encoding of a tensor map, and every rule of cuTensorMapEncodeTiled with a sentence of its
// own.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Emulator/TensorMap.h"

#include <cstring>
#include <iterator>

namespace girih::emu {
namespace {

// Byte offsets of the fields, little-endian. Bytes not named are zero.
constexpr uint32_t kMark = 0x314d5447;   // "GTM1"
constexpr size_t kMarkAt = 0;            // u32
constexpr size_t kCheckAt = 4;           // u32, of the bytes from 8 on
constexpr size_t kAddressAt = 8;         // u64
constexpr size_t kDimsAt = 16;           // 5 x u32, each minus one (a dimension may be 2^32)
constexpr size_t kBoxAt = 36;            // 5 x u16
constexpr size_t kElementStridesAt = 46; // 5 x u8
constexpr size_t kRankAt = 51;
constexpr size_t kTypeAt = 52;
constexpr size_t kInterleaveAt = 53;
constexpr size_t kSwizzleAt = 54;
constexpr size_t kPromotionAt = 55;
constexpr size_t kFillAt = 56;
constexpr size_t kKindAt = 57;    // 0: tiled
constexpr size_t kStridesAt = 64; // 4 x u64

constexpr uint32_t kMaxBox = 256;
constexpr uint32_t kMaxElementStride = 8;
constexpr uint64_t kMaxDim = uint64_t(1) << 32;
constexpr uint64_t kStrideLimit = uint64_t(1) << 40;

struct TypeFacts {
  const char *name;
  uint8_t bytes;
  bool isFloat;
};
constexpr TypeFacts kTypes[] = {{"u8", 1, false},     {"u16", 2, false},    {"u32", 4, false},
                                {"s32", 4, false},    {"u64", 8, false},    {"s64", 8, false},
                                {"f16", 2, true},     {"f32", 4, true},     {"f64", 8, true},
                                {"bf16", 2, true},    {"f32.ftz", 4, true}, {"tf32", 4, true},
                                {"tf32.ftz", 4, true}};

template <typename T> T load(const uint8_t *bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes + at, sizeof(T));
  return value;
}
template <typename T> void store(uint8_t *bytes, size_t at, T value) {
  std::memcpy(bytes + at, &value, sizeof(T));
}

/// FNV-1a over 64-bit words, folded: enough to tell a map from bytes that are not one.
uint32_t checksum(const uint8_t *bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t at = 8; at < kTensorMapBytes; at += 8)
    hash = (hash ^ load<uint64_t>(bytes, at)) * 0x100000001b3;
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

std::string number(uint64_t value) { return std::to_string(value); }
std::string hex(uint64_t value) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  do
    text.insert(text.begin(), digits[value & 15]);
  while (value >>= 4);
  return "0x" + text;
}
std::string indexed(const char *name, uint32_t index) {
  return std::string(name) + "[" + number(index) + "]";
}

Swizzle swizzleFromCode(int code) {
  return code == 1   ? Swizzle::B32
         : code == 2 ? Swizzle::B64
         : code == 3 ? Swizzle::B128
                     : Swizzle::None;
}
uint8_t swizzleCode(Swizzle mode) {
  return mode == Swizzle::B32 ? 1 : mode == Swizzle::B64 ? 2 : mode == Swizzle::B128 ? 3 : 0;
}

std::string checkEnumerations(const TiledMapArguments &args) {
  if (args.dataType >= 13 && args.dataType <= 15)
    return "tensorDataType is " + std::to_string(args.dataType) +
           ", a packed 4- or 6-bit type, which compute capability 9.0 does not have";
  if (args.dataType < 0 || args.dataType >= static_cast<int>(std::size(kTypes)))
    return "tensorDataType is " + std::to_string(args.dataType) +
           "; it must be a CUtensorMapDataType, 0 to 12";
  if (args.interleave < 0 || args.interleave > 2)
    return "interleave is " + std::to_string(args.interleave) +
           "; it must be a CUtensorMapInterleave, 0 to 2";
  if (args.interleave != 0)
    return std::string("interleave is ") + (args.interleave == 1 ? "16B" : "32B") +
           "; the emulated device models CU_TENSOR_MAP_INTERLEAVE_NONE only";
  if (args.swizzle >= 4 && args.swizzle <= 6)
    return "swizzle is " + std::to_string(args.swizzle) +
           ", a 128B mode with another atom, which compute capability 9.0 does not have";
  if (args.swizzle < 0 || args.swizzle > 6)
    return "swizzle is " + std::to_string(args.swizzle) +
           "; it must be a CUtensorMapSwizzle, 0 to 3";
  if (args.l2Promotion < 0 || args.l2Promotion > 3)
    return "l2Promotion is " + std::to_string(args.l2Promotion) +
           "; it must be a CUtensorMapL2promotion, 0 to 3";
  if (args.oobFill < 0 || args.oobFill > 1)
    return "oobFill is " + std::to_string(args.oobFill) +
           "; it must be a CUtensorMapFloatOOBfill, 0 or 1";
  if (args.oobFill == 1 && !kTypes[args.dataType].isFloat)
    return std::string("oobFill asks for NaN, but the element type is ") +
           kTypes[args.dataType].name + "; NaN needs a floating-point type";
  return {};
}

std::string checkExtents(const TiledMapArguments &args) {
  if (args.rank < 1 || args.rank > kMaxTensorRank)
    return "tensorRank is " + number(args.rank) + "; it must be 1 to 5";
  if (!args.globalDim || !args.boxDim || !args.elementStrides ||
      (args.rank > 1 && !args.globalStrides))
    return "globalDim, globalStrides, boxDim and elementStrides must not be null (globalStrides "
           "may be for rank 1)";
  if (args.globalAddress % 16)
    return "globalAddress is " + hex(args.globalAddress) + "; it must be a multiple of 16";
  for (uint32_t d = 0; d < args.rank; ++d)
    if (args.globalDim[d] < 1 || args.globalDim[d] > kMaxDim)
      return indexed("globalDim", d) + " is " + number(args.globalDim[d]) +
             "; it must be 1 to 2^32";
  for (uint32_t d = 0; d + 1 < args.rank; ++d) {
    if (args.globalStrides[d] % 16)
      return indexed("globalStrides", d) + " (dimension " + number(d + 1) + ") is " +
             number(args.globalStrides[d]) + " bytes; it must be a multiple of 16";
    if (args.globalStrides[d] >= kStrideLimit)
      return indexed("globalStrides", d) + " (dimension " + number(d + 1) + ") is " +
             number(args.globalStrides[d]) + " bytes; it must be less than 2^40";
  }
  for (uint32_t d = 0; d < args.rank; ++d) {
    if (args.boxDim[d] < 1 || args.boxDim[d] > kMaxBox)
      return indexed("boxDim", d) + " is " + number(args.boxDim[d]) + "; it must be 1 to 256";
    if (args.elementStrides[d] < 1 || args.elementStrides[d] > kMaxElementStride)
      return indexed("elementStrides", d) + " is " + number(args.elementStrides[d]) +
             "; it must be 1 to 8";
  }
  return {};
}

std::string checkInnerBox(const TiledMapArguments &args) {
  uint32_t inner = args.boxDim[0] * kTypes[args.dataType].bytes;
  std::string what = "boxDim[0] is " + number(args.boxDim[0]) + " elements of " +
                     kTypes[args.dataType].name + ", " + number(inner) + " bytes; ";
  if (inner % 16)
    return what + "it must be a multiple of 16 bytes";
  Swizzle mode = swizzleFromCode(args.swizzle);
  if (mode != Swizzle::None && inner > swizzleSpan(mode))
    return what + "with the " + swizzleName(mode) + " swizzle it must be at most " +
           number(swizzleSpan(mode)) + " bytes";
  return {};
}

} // namespace

uint32_t elementBytes(TensorDataType type) { return kTypes[static_cast<size_t>(type)].bytes; }
const char *dataTypeName(TensorDataType type) { return kTypes[static_cast<size_t>(type)].name; }

uint64_t TensorMap::boxBytes() const {
  uint64_t bytes = uint64_t(boxDims[0]) * elementBytes();
  for (uint32_t d = 1; d < rank; ++d)
    bytes *= boxCount(d);
  return bytes;
}

std::string encodeTiled(const TiledMapArguments &args, uint8_t *bytes) {
  if (std::string error = checkEnumerations(args); !error.empty())
    return error;
  if (std::string error = checkExtents(args); !error.empty())
    return error;
  if (std::string error = checkInnerBox(args); !error.empty())
    return error;

  std::memset(bytes, 0, kTensorMapBytes);
  store(bytes, kMarkAt, kMark);
  store(bytes, kAddressAt, args.globalAddress);
  for (uint32_t d = 0; d < kMaxTensorRank; ++d) {
    bool used = d < args.rank;
    store(bytes, kDimsAt + 4 * d, static_cast<uint32_t>((used ? args.globalDim[d] : 1) - 1));
    store(bytes, kBoxAt + 2 * d, static_cast<uint16_t>(used ? args.boxDim[d] : 1));
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
  bytes[kSwizzleAt] = swizzleCode(swizzleFromCode(args.swizzle));
  bytes[kPromotionAt] = static_cast<uint8_t>(args.l2Promotion);
  bytes[kFillAt] = static_cast<uint8_t>(args.oobFill);
  bytes[kKindAt] = 0;
  store(bytes, kCheckAt, checksum(bytes));
  return {};
}

std::string decodeTensorMap(const uint8_t *bytes, TensorMap &map) {
  if (load<uint32_t>(bytes, kMarkAt) != kMark)
    return "these 128 bytes are not a tensor map: the first word is " +
           hex(load<uint32_t>(bytes, kMarkAt)) +
           "; pass the address of a CUtensorMap that cuTensorMapEncodeTiled of this driver wrote";
  if (load<uint32_t>(bytes, kCheckAt) != checksum(bytes))
    return "this tensor map was changed after it was encoded: its checksum does not fit its "
           "fields; only "
           "tensormap.replace may change one";
  if (bytes[kKindAt] != 0)
    return "this tensor map is not a tiled one (kind " + number(bytes[kKindAt]) + ")";
  // The checksum fits, so encodeTiled wrote these fields and they hold what it admits.
  map.type = static_cast<TensorDataType>(bytes[kTypeAt]);
  map.rank = bytes[kRankAt];
  map.globalAddress = load<uint64_t>(bytes, kAddressAt);
  for (uint32_t d = 0; d < kMaxTensorRank; ++d) {
    map.dims[d] = uint64_t(load<uint32_t>(bytes, kDimsAt + 4 * d)) + 1;
    map.boxDims[d] = load<uint16_t>(bytes, kBoxAt + 2 * d);
    map.elementStrides[d] = bytes[kElementStridesAt + d];
    map.strides[d] =
        d == 0 ? kTypes[bytes[kTypeAt]].bytes : load<uint64_t>(bytes, kStridesAt + 8 * (d - 1));
  }
  map.swizzle = swizzleFromCode(bytes[kSwizzleAt]);
  map.fill = static_cast<TensorFill>(bytes[kFillAt]);
  map.l2Promotion = bytes[kPromotionAt];
  return {};
}

} // namespace girih::emu
