//===- TensorMap.cpp - The descriptor that TMA copies an array with
//------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The limits are those of cuTensorMapEncodeTiled (CUDA Driver API, "Tensor Map Object Management"),
// checked before the call, since the driver answers every mistake with CUDA_ERROR_INVALID_VALUE.
//
//===--------------------------------------------------------------------------------------------===//
#include "TensorMap.h"

namespace girih::runtime {
namespace {

constexpr uint64_t granule = 16; ///< base addresses and pitches are multiples of this many bytes
constexpr uint64_t pitchLimit = uint64_t{1} << 40;

/// One-byte floats have no type of their own: TMA moves them as bytes.
cuda::CUtensorMapDataType dataType(DType type) {
  switch (type) {
  case DType::F64:
    return cuda::CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  case DType::F32:
    return cuda::CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  case DType::TF32:
    return cuda::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  case DType::F16:
    return cuda::CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  case DType::BF16:
    return cuda::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  case DType::E4M3:
  case DType::E5M2:
  case DType::I8:
  case DType::U8:
  case DType::B1:
    return cuda::CU_TENSOR_MAP_DATA_TYPE_UINT8;
  case DType::I16:
  case DType::U16:
    return cuda::CU_TENSOR_MAP_DATA_TYPE_UINT16;
  case DType::I32:
    return cuda::CU_TENSOR_MAP_DATA_TYPE_INT32;
  case DType::U32:
    return cuda::CU_TENSOR_MAP_DATA_TYPE_UINT32;
  case DType::I64:
    return cuda::CU_TENSOR_MAP_DATA_TYPE_INT64;
  case DType::U64:
    return cuda::CU_TENSOR_MAP_DATA_TYPE_UINT64;
  }
  return cuda::CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

cuda::CUtensorMapSwizzle swizzleMode(unsigned span) {
  switch (span) {
  case 32:
    return cuda::CU_TENSOR_MAP_SWIZZLE_32B;
  case 64:
    return cuda::CU_TENSOR_MAP_SWIZZLE_64B;
  case 128:
    return cuda::CU_TENSOR_MAP_SWIZZLE_128B;
  default:
    return cuda::CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

/// What to call the stride of `dim`: in a matrix, the distance of two rows (or columns).
std::string strideName(const ArrayArgument &array, unsigned dim) {
  if (array.shape.size() == 2)
    return dim == 0 ? "the row pitch" : "the column pitch";
  return "the stride of dimension " + std::to_string(dim);
}

/// The distance in bytes of two elements along `dim`, which is not the fastest dimension.
uint64_t pitchInBytes(const Parameter &parameter, const ArrayArgument &array, unsigned dim,
                      uint64_t innerBytes) {
  uint64_t size = sizeInBytes(array.dtype);
  int64_t stride = array.strides[dim];
  // With one element the pitch is never used, but it must be a legal one.
  if (array.shape[dim] == 1)
    return (innerBytes + granule - 1) / granule * granule;
  auto fail = [&](const std::string &what) {
    throw LaunchError(parameter.name + ": " + strideName(array, dim) + " is " + what);
  };
  if (stride < 0)
    fail(std::to_string(stride) + " elements; TMA needs a positive one, pass a contiguous copy");
  if (static_cast<uint64_t>(stride) >= pitchLimit / size)
    fail(std::to_string(stride) + " elements of " + name(array.dtype) +
         "; TMA needs less than 2^40 bytes");
  uint64_t bytes = stride * size;
  if (bytes % granule != 0 || bytes == 0)
    fail(std::to_string(bytes) + " bytes (" + std::to_string(stride) +
         (stride == 1 ? " element of " : " elements of ") + name(array.dtype) +
         "); TMA needs a multiple of 16");
  return bytes;
}

} // namespace

cuda::CUtensorMap encodeTensorMap(const Driver &driver, const Step &step,
                                  const Parameter &parameter, const ArrayArgument &array) {
  uint64_t size = sizeInBytes(array.dtype);
  unsigned fastest = step.order[0];
  if (array.strides[fastest] != 1 && array.shape[fastest] > 1)
    throw LaunchError(parameter.name + ": the stride of dimension " + std::to_string(fastest) +
                      " is " + std::to_string(array.strides[fastest]) +
                      " elements; TMA needs 1, pass a contiguous copy");
  if (array.address % granule != 0)
    throw LaunchError(parameter.name + ": the first element's address is " +
                      std::to_string(array.address % granule) +
                      " bytes past a multiple of 16; TMA needs a multiple of 16");

  // The driver takes dimensions from the fastest to the slowest.
  uint64_t dims[5], pitches[5];
  uint32_t box[5], steps[5];
  uint64_t innerBytes = array.shape[fastest] * size;
  for (size_t i = 0; i < step.order.size(); ++i) {
    unsigned dim = step.order[i];
    dims[i] = array.shape[dim];
    box[i] = step.box[dim];
    steps[i] = 1;
    if (i > 0)
      pitches[i - 1] = pitchInBytes(parameter, array, dim, innerBytes);
  }
  cuda::CUtensorMap map;
  cuda::CUresult result = driver.cuTensorMapEncodeTiled(
      &map, dataType(step.dtype), step.order.size(), reinterpret_cast<void *>(array.address), dims,
      pitches, box, steps, cuda::CU_TENSOR_MAP_INTERLEAVE_NONE, swizzleMode(step.swizzle),
      cuda::CU_TENSOR_MAP_L2_PROMOTION_L2_128B, cuda::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != cuda::CUDA_SUCCESS)
    driver.check(result, parameter.name + ": the driver refuses a tensor map with box " +
                             printExtents({step.box.begin(), step.box.end()}) + ", swizzle " +
                             std::to_string(step.swizzle) + " over shape " +
                             printExtents(array.shape) + ", strides " +
                             printExtents(array.strides));
  return map;
}

} // namespace girih::runtime
