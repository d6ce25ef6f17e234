// Every rule of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col (CUDA driver API 13.0) with a
// sentence of its own.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator/Units/TensorMapRules.h"

#include "Emulator/Text.h"

#include <iterator>

namespace girih::emu {
namespace {

constexpr uint32_t kMaxBox = 256;
constexpr uint32_t kMaxPixels = 1024;
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

std::string number(uint64_t value) { return std::to_string(value); }
std::string indexed(const char *name, uint32_t index) {
  return std::string(name) + "[" + number(index) + "]";
}

/// What the two kinds of map have in common.
struct Common {
  int dataType, interleave, swizzle, l2Promotion, oobFill;
  uint32_t rank;
  uint64_t globalAddress;
  const uint64_t *globalDim, *globalStrides;
  const uint32_t *elementStrides;
};
template <typename Arguments> Common commonOf(const Arguments &a) {
  return {a.dataType, a.interleave,    a.swizzle,   a.l2Promotion,   a.oobFill,
          a.rank,     a.globalAddress, a.globalDim, a.globalStrides, a.elementStrides};
}
uint32_t sliceBytes(int interleave) { return interleave == 0 ? 0 : interleave == 1 ? 16 : 32; }

std::string checkEnumerations(const Common &args) {
  if (args.dataType >= 13 && args.dataType <= 15)
    return "tensorDataType is " + std::to_string(args.dataType) +
           ", a packed 4- or 6-bit type, which compute capability 9.0 does not have";
  if (args.dataType < 0 || args.dataType >= static_cast<int>(std::size(kTypes)))
    return "tensorDataType is " + std::to_string(args.dataType) +
           "; it must be a CUtensorMapDataType, 0 to 12";
  if (args.interleave < 0 || args.interleave > 2)
    return "interleave is " + std::to_string(args.interleave) +
           "; it must be a CUtensorMapInterleave, 0 to 2";
  if (args.swizzle >= 4 && args.swizzle <= 6)
    return "swizzle is " + std::to_string(args.swizzle) +
           ", a 128B mode with another atom, which compute capability 9.0 does not have";
  if (args.swizzle < 0 || args.swizzle > 6)
    return "swizzle is " + std::to_string(args.swizzle) +
           "; it must be a CUtensorMapSwizzle, 0 to 3";
  if (args.interleave == 2 && args.swizzle != 1)
    return std::string("swizzle is ") + swizzleName(swizzleFromCode(args.swizzle)) +
           "; with the 32B interleave it must be 32B";
  if (args.interleave == 1 && args.swizzle != 0)
    return std::string("swizzle is ") + swizzleName(swizzleFromCode(args.swizzle)) +
           "; with the 16B interleave the emulated device models no swizzle only";
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

std::string checkExtents(const Common &args) {
  if (!args.globalDim || !args.elementStrides || (args.rank > 1 && !args.globalStrides))
    return "globalDim, globalStrides and elementStrides must not be null (globalStrides may be for "
           "rank 1)";
  const uint32_t alignment = args.interleave == 2 ? 32 : 16;
  // Texts are made only when one is needed: every copy checks its map.
  auto multiple = [&] { return number(alignment) + (alignment == 32 ? " (32B interleave)" : ""); };
  if (args.globalAddress % alignment)
    return "globalAddress is " + hex(args.globalAddress) + "; it must be a multiple of " +
           multiple();
  for (uint32_t d = 0; d < args.rank; ++d)
    if (args.globalDim[d] < 1 || args.globalDim[d] > kMaxDim)
      return indexed("globalDim", d) + " is " + number(args.globalDim[d]) +
             "; it must be 1 to 2^32";
  for (uint32_t d = 0; d + 1 < args.rank; ++d) {
    if (args.globalStrides[d] % alignment)
      return indexed("globalStrides", d) + " (dimension " + number(d + 1) + ") is " +
             number(args.globalStrides[d]) + " bytes; it must be a multiple of " + multiple();
    if (args.globalStrides[d] >= kStrideLimit)
      return indexed("globalStrides", d) + " (dimension " + number(d + 1) + ") is " +
             number(args.globalStrides[d]) + " bytes; it must be less than 2^40";
  }
  for (uint32_t d = 0; d < args.rank; ++d)
    if (args.elementStrides[d] < 1 || args.elementStrides[d] > kMaxElementStride)
      return indexed("elementStrides", d) + " is " + number(args.elementStrides[d]) +
             "; it must be 1 to 8";
  if (args.interleave && args.elementStrides[0] != 1)
    return "elementStrides[0] is " + number(args.elementStrides[0]) +
           "; with an interleaved layout the emulated device models 1 only";
  return {};
}

/// `name` is the argument that says how many elements of dimension 0 a copy takes.
std::string checkInner(const Common &args, const char *name, uint32_t elements) {
  const uint32_t inner = elements * kTypes[args.dataType].bytes;
  auto what = [&] {
    return std::string(name) + " is " + number(elements) + " elements of " +
           kTypes[args.dataType].name + ", " + number(inner) + " bytes; ";
  };
  if (const uint32_t slice = sliceBytes(args.interleave)) {
    if (inner != slice)
      return what() +
             "the emulated device takes dimension 0 of an interleaved tensor as its slice of " +
             number(slice) + " bytes";
    if (args.globalDim[0] * kTypes[args.dataType].bytes != slice)
      return "globalDim[0] is " + number(args.globalDim[0]) + " elements of " +
             kTypes[args.dataType].name +
             "; the emulated device takes dimension 0 of an interleaved tensor as its slice of " +
             number(slice) + " bytes";
    return {};
  }
  if (inner % 16)
    return what() + "it must be a multiple of 16 bytes";
  const Swizzle mode = swizzleFromCode(args.swizzle);
  if (mode != Swizzle::None && inner > swizzleSpan(mode))
    return what() + "with the " + swizzleName(mode) + " swizzle it must be at most " +
           number(swizzleSpan(mode)) + " bytes";
  return {};
}

} // namespace

Swizzle swizzleFromCode(int code) {
  return code == 1   ? Swizzle::B32
         : code == 2 ? Swizzle::B64
         : code == 3 ? Swizzle::B128
                     : Swizzle::None;
}

uint32_t elementBytes(TensorDataType type) { return kTypes[static_cast<size_t>(type)].bytes; }
const char *dataTypeName(TensorDataType type) { return kTypes[static_cast<size_t>(type)].name; }

std::string checkTiled(const TiledMapArguments &arguments) {
  const Common args = commonOf(arguments);
  if (std::string error = checkEnumerations(args); !error.empty())
    return error;
  if (args.rank < 1 || args.rank > kMaxTensorRank)
    return "tensorRank is " + number(args.rank) + "; it must be 1 to 5";
  if (args.interleave && args.rank < 3)
    return "tensorRank is " + number(args.rank) + "; with an interleaved layout it must be 3 to 5";
  if (!arguments.boxDim)
    return "boxDim must not be null";
  if (std::string error = checkExtents(args); !error.empty())
    return error;
  for (uint32_t d = 0; d < args.rank; ++d)
    if (arguments.boxDim[d] < 1 || arguments.boxDim[d] > kMaxBox)
      return indexed("boxDim", d) + " is " + number(arguments.boxDim[d]) + "; it must be 1 to 256";
  return checkInner(args, "boxDim[0]", arguments.boxDim[0]);
}

std::string checkIm2col(const Im2colMapArguments &arguments) {
  const Common args = commonOf(arguments);
  if (std::string error = checkEnumerations(args); !error.empty())
    return error;
  if (args.rank < 3 || args.rank > kMaxTensorRank)
    return "tensorRank is " + number(args.rank) + "; of an im2col map it must be 3 to 5";
  if (args.interleave)
    return "interleave is not none; the emulated device models im2col maps without it only";
  if (!arguments.lowerCorner || !arguments.upperCorner)
    return "pixelBoxLowerCorner and pixelBoxUpperCorner must not be null";
  if (std::string error = checkExtents(args); !error.empty())
    return error;
  const int limit = args.rank == 3 ? 32768 : args.rank == 4 ? 128 : 16;
  for (uint32_t i = 0; i + 2 < args.rank; ++i) {
    for (auto [name, corner] : {std::pair{"pixelBoxLowerCorner", arguments.lowerCorner[i]},
                                {"pixelBoxUpperCorner", arguments.upperCorner[i]}})
      if (corner < -limit || corner >= limit)
        return indexed(name, i) + " is " + std::to_string(corner) + "; for rank " +
               number(args.rank) + " it must be " + std::to_string(-limit) + " to " +
               std::to_string(limit - 1);
    // Corners are given outermost first.
    const uint64_t extent = args.globalDim[args.rank - 2 - i];
    if (static_cast<int64_t>(extent) - 1 + arguments.upperCorner[i] < arguments.lowerCorner[i])
      return "the pixel box is empty: along a dimension of " + number(extent) + " it goes from " +
             std::to_string(arguments.lowerCorner[i]) + " to " +
             std::to_string(static_cast<int64_t>(extent) - 1 + arguments.upperCorner[i]);
  }
  if (arguments.channelsPerPixel < 1 || arguments.channelsPerPixel > kMaxBox)
    return "channelsPerPixel is " + number(arguments.channelsPerPixel) + "; it must be 1 to 256";
  if (arguments.pixelsPerColumn < 1 || arguments.pixelsPerColumn > kMaxPixels)
    return "pixelsPerColumn is " + number(arguments.pixelsPerColumn) + "; it must be 1 to 1024";
  return checkInner(args, "channelsPerPixel", arguments.channelsPerPixel);
}

} // namespace girih::emu
