// Entry points: tensor maps, in the emulated device's own encoding.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "State.h"

#include "girih/Emulator/TensorMap.h"

namespace girih::cuda {

namespace {
bool misplaced(const CUtensorMap *map) { return !map || reinterpret_cast<uintptr_t>(map) % 64; }
std::string misplacedText(const CUtensorMap *map) {
  return "tensorMap is at " + hex(reinterpret_cast<uintptr_t>(map)) +
         "; it must not be null and be aligned to 64 bytes";
}
} // namespace

GIRIH_EXPORT CUresult cuTensorMapEncodeTiled(
    CUtensorMap *map, CUtensorMapDataType type, uint32_t rank, void *address, const uint64_t *dims,
    const uint64_t *strides, const uint32_t *box, const uint32_t *elementStrides,
    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill fill) {
  GIRIH_REQUIRE_INITIALISED();
  if (misplaced(map))
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, misplacedText(map));
  emu::TiledMapArguments arguments;
  arguments.dataType = type;
  arguments.rank = rank;
  arguments.globalAddress = reinterpret_cast<uintptr_t>(address);
  arguments.globalDim = dims;
  arguments.globalStrides = strides;
  arguments.boxDim = box;
  arguments.elementStrides = elementStrides;
  arguments.interleave = interleave;
  arguments.swizzle = swizzle;
  arguments.l2Promotion = promotion;
  arguments.oobFill = fill;
  if (std::string wrong = emu::encodeTiled(arguments, reinterpret_cast<uint8_t *>(map));
      !wrong.empty())
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, wrong);
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuTensorMapEncodeIm2col(
    CUtensorMap *map, CUtensorMapDataType type, uint32_t rank, void *address, const uint64_t *dims,
    const uint64_t *strides, const int *lowerCorner, const int *upperCorner,
    uint32_t channelsPerPixel, uint32_t pixelsPerColumn, const uint32_t *elementStrides,
    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill fill) {
  GIRIH_REQUIRE_INITIALISED();
  if (misplaced(map))
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, misplacedText(map));
  emu::Im2colMapArguments arguments;
  arguments.dataType = type;
  arguments.rank = rank;
  arguments.globalAddress = reinterpret_cast<uintptr_t>(address);
  arguments.globalDim = dims;
  arguments.globalStrides = strides;
  arguments.lowerCorner = lowerCorner;
  arguments.upperCorner = upperCorner;
  arguments.channelsPerPixel = channelsPerPixel;
  arguments.pixelsPerColumn = pixelsPerColumn;
  arguments.elementStrides = elementStrides;
  arguments.interleave = interleave;
  arguments.swizzle = swizzle;
  arguments.l2Promotion = promotion;
  arguments.oobFill = fill;
  if (std::string wrong = emu::encodeIm2col(arguments, reinterpret_cast<uint8_t *>(map));
      !wrong.empty())
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, wrong);
  return CUDA_SUCCESS;
}

} // namespace girih::cuda
