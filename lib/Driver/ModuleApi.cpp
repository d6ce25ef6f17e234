// Entry points: modules and functions. An image is an ELF cubin with girih's sections, or PTX text;
// the emulated device runs the PTX.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "State.h"

#include "girih/Image/Image.h"

#include <algorithm>
#include <cstring>

using namespace girih::cuda;
using girih::emu::DeviceLimits;

namespace {

/// Without cuFuncSetAttribute a block may take 48 KiB, static shared memory included.
constexpr int kDefaultShared = 48 * 1024;

/// Turns `.loc file line number` into the user's lines through the image's table; see
/// Image/LocationTable.h.
girih::emu::LocationResolver resolverFor(girih::image::LocationTable table) {
  auto shared = std::make_shared<girih::image::LocationTable>(std::move(table));
  return [shared](std::string_view, unsigned, unsigned number) {
    std::string text;
    for (const girih::image::ResolvedFrame &frame : shared->resolve(number)) {
      text += text.empty() ? "" : "\n";
      text += frame.file.empty()
                  ? frame.text()
                  : frame.file + ":" + std::to_string(frame.line) + " in " + frame.function;
    }
    return text;
  };
}

bool looksLikePtx(const char *text) {
  // PTX begins with comments, blanks, or a directive; the first directive must be .version.
  constexpr size_t longestPreamble = 1 << 16;
  size_t length = strnlen(text, longestPreamble);
  return std::string_view(text, length).find(".version") != std::string_view::npos;
}

/// What loading an image came to.
struct Loaded {
  CUresult code = CUDA_SUCCESS;
  std::string error;
  std::shared_ptr<girih::emu::Module> module;
};

Loaded load(const void *image) {
  Loaded loaded;
  girih::emu::ModuleOptions options;
  std::string_view ptx;
  const char *bytes = static_cast<const char *>(image);
  try {
    if (std::memcmp(bytes,
                    "\x7f"
                    "ELF",
                    4) == 0) {
      std::string_view file(bytes, girih::image::fileSize(image));
      std::optional<std::string_view> section =
          girih::image::readSection(file, girih::image::ptxSection);
      if (!section) {
        loaded.code = CUDA_ERROR_NO_BINARY_FOR_GPU;
        loaded.error = "this cubin holds no PTX, and the emulated device runs nothing else; "
                       "assemble it with girih, "
                       "which keeps the PTX in the section .girih.ptx";
        return loaded;
      }
      ptx = *section;
      girih::image::LocationTable table = girih::image::readLocations(file);
      if (!table.locations.empty())
        options.resolveLocation = resolverFor(std::move(table));
    } else if (looksLikePtx(bytes)) {
      ptx = bytes;
    } else {
      loaded.code = CUDA_ERROR_INVALID_IMAGE;
      loaded.error = "the image is neither an ELF cubin with girih's sections nor PTX text";
      return loaded;
    }
    // A section may end with the zero that terminates the text.
    while (!ptx.empty() && ptx.back() == '\0')
      ptx.remove_suffix(1);
    loaded.module = State::get().device().loadModule(ptx, options);
  } catch (const girih::image::Error &error) {
    loaded.code = CUDA_ERROR_INVALID_IMAGE;
    loaded.error = error.what();
  } catch (const girih::emu::DeviceError &error) {
    loaded.code = error.code() == girih::emu::ErrorCode::OutOfMemory ? CUDA_ERROR_OUT_OF_MEMORY
                                                                     : CUDA_ERROR_INVALID_PTX;
    loaded.error = error.what();
  }
  return loaded;
}

/// The options that have an effect: where to write why an image cannot be loaded. Sizes travel as
/// pointers.
void writeErrorLog(const std::string &error, unsigned count, const CUjit_option *options,
                   void **values) {
  char *buffer = nullptr;
  size_t size = 0, sizeAt = count;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      buffer = static_cast<char *>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
      size = reinterpret_cast<uintptr_t>(values[i]);
      sizeAt = i;
    }
  }
  if (!buffer || size == 0)
    return;
  size_t length = std::min(error.size(), size - 1);
  std::memcpy(buffer, error.data(), length);
  buffer[length] = '\0';
  values[sizeAt] = reinterpret_cast<void *>(length);
}

CUfunc_st *findFunction(CUfunction handle) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  auto found = state.functions.find(handle);
  return found == state.functions.end() ? nullptr : found->second;
}

std::string text(const void *handle) { return hex(reinterpret_cast<uintptr_t>(handle)); }

int clusterExtent(const CUfunc_st &function, uint32_t girih::emu::Dim3::*axis) {
  const auto &cluster = function.attributes().requiredCluster;
  return cluster ? static_cast<int>((*cluster).*axis) : 0;
}

} // namespace

#define GIRIH_FIND_FUNCTION(name, handle)                                                          \
  CUfunc_st *name = findFunction(handle);                                                          \
  if (!name)                                                                                       \
  GIRIH_REFUSE(CUDA_ERROR_INVALID_HANDLE, text(handle) + " is no function")

namespace girih::cuda {

GIRIH_EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                                         CUjit_option *options, void **values) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_POINTER(module);
  GIRIH_REQUIRE_POINTER(image);
  if (count > 0 && (!options || !values))
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, "options or values is null");
  Loaded loaded = load(image);
  State &state = State::get();
  if (loaded.code != CUDA_SUCCESS) {
    state.addReport(loaded.error);
    writeErrorLog(loaded.error, count, options, values);
    GIRIH_REFUSE(loaded.code, loaded.error);
  }
  auto created = std::make_unique<CUmod_st>();
  created->module = std::move(loaded.module);
  std::lock_guard lock(state.mutex);
  *module = created.release();
  state.modules.insert(*module);
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

GIRIH_EXPORT CUresult cuModuleUnload(CUmodule module) {
  GIRIH_REQUIRE_INITIALISED();
  State &state = State::get();
  std::shared_ptr<emu::Module> last;
  {
    std::lock_guard lock(state.mutex);
    if (!state.modules.erase(module))
      GIRIH_REFUSE(CUDA_ERROR_INVALID_HANDLE, text(module) + " is no module");
    for (auto &entry : module->functions)
      state.functions.erase(entry.second.get());
    last = module->module;
    delete module;
  }
  // Launches in flight may use its variables: it goes when its turn comes.
  state.enqueue(state.findStream(nullptr), [last = std::move(last)] {});
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_POINTER(function);
  GIRIH_REQUIRE_POINTER(name);
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  if (!state.modules.count(module))
    GIRIH_REFUSE(CUDA_ERROR_INVALID_HANDLE, text(module) + " is no module");
  std::unique_ptr<CUfunc_st> &slot = module->functions[name];
  if (!slot) {
    try {
      auto created = std::make_unique<CUfunc_st>();
      created->module = module->module;
      created->function = &module->module->kernel(name);
      created->maxDynamicShared =
          std::max(0, kDefaultShared - static_cast<int>(created->attributes().sharedBytes));
      slot = std::move(created);
      state.functions[slot.get()] = slot.get();
    } catch (const emu::DeviceError &error) {
      module->functions.erase(name);
      GIRIH_REFUSE(CUDA_ERROR_NOT_FOUND, error.what());
    }
  }
  *function = slot.get();
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module,
                                           const char *name) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_POINTER(name);
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  if (!state.modules.count(module))
    GIRIH_REFUSE(CUDA_ERROR_INVALID_HANDLE, text(module) + " is no module");
  std::optional<emu::AllocationInfo> variable = module->module->variable(name);
  if (!variable)
    GIRIH_REFUSE(CUDA_ERROR_NOT_FOUND, std::string("the module has no variable \"") + name + "\"");
  if (address)
    *address = variable->address;
  if (bytes)
    *bytes = variable->bytes;
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                                         CUfunction handle) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_POINTER(value);
  GIRIH_FIND_FUNCTION(function, handle);
  const emu::FunctionAttributes &facts = function->attributes();
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = static_cast<int>(facts.maxThreadsPerBlock);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = static_cast<int>(facts.sharedBytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = static_cast<int>(facts.localBytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    // PTX says how many a function may take, not how many it takes.
    *value = static_cast<int>(facts.maxRegisters);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    *value = 90;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
  case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    *value = 0;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    *value = -1;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
    std::lock_guard lock(State::get().mutex);
    *value = function->maxDynamicShared;
    return CUDA_SUCCESS;
  }
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: {
    std::lock_guard lock(State::get().mutex);
    *value = function->nonPortableCluster;
    return CUDA_SUCCESS;
  }
  case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    *value = 0;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    *value = clusterExtent(*function, &emu::Dim3::x);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    *value = clusterExtent(*function, &emu::Dim3::y);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    *value = clusterExtent(*function, &emu::Dim3::z);
    return CUDA_SUCCESS;
  }
  GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE,
               "attribute " + std::to_string(attribute) + " is not known here");
}

GIRIH_EXPORT CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute,
                                         int value) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_FIND_FUNCTION(function, handle);
  std::lock_guard lock(State::get().mutex);
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
    int limit = static_cast<int>(DeviceLimits::sharedPerBlock - function->attributes().sharedBytes);
    if (value < 0 || value > limit)
      GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE,
                   "kernel " + function->attributes().name + " asks for " + std::to_string(value) +
                       " bytes of dynamic shared memory; the limit is " + std::to_string(limit) +
                       " (" + std::to_string(DeviceLimits::sharedPerBlock) +
                       " for a block, of which " +
                       std::to_string(function->attributes().sharedBytes) + " are static)");
    function->maxDynamicShared = value;
    return CUDA_SUCCESS;
  }
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    function->nonPortableCluster = value != 0;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    return CUDA_SUCCESS; // a hint
  default:
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE,
                 "attribute " + std::to_string(attribute) + " cannot be set");
  }
}

GIRIH_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle,
                                                                  int blockSize,
                                                                  size_t dynamicSharedBytes) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_POINTER(blocks);
  GIRIH_FIND_FUNCTION(function, handle);
  if (blockSize <= 0)
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, "blockSize is " + std::to_string(blockSize));
  *blocks = static_cast<int>(
      State::get()
          .device()
          .occupancy(*function->function, static_cast<uint32_t>(blockSize),
                     static_cast<uint32_t>(std::min<size_t>(dynamicSharedBytes, UINT32_MAX / 2)))
          .ctasPerMultiprocessor);
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction handle,
                                                   const CUlaunchConfig *config) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_POINTER(clusters);
  GIRIH_REQUIRE_POINTER(config);
  GIRIH_FIND_FUNCTION(function, handle);
  emu::Dim3 cluster = function->attributes().requiredCluster.value_or(emu::Dim3());
  for (unsigned i = 0; config->attrs && i < config->numAttrs; ++i)
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      const auto &given = config->attrs[i].value.clusterDim;
      cluster = {given.x, given.y, given.z};
    }
  const uint64_t threads = uint64_t(config->blockDimX) * config->blockDimY * config->blockDimZ;
  *clusters = static_cast<int>(
      State::get()
          .device()
          .occupancy(*function->function,
                     static_cast<uint32_t>(std::min<uint64_t>(threads, 1u << 20)),
                     config->sharedMemBytes, static_cast<uint32_t>(cluster.count()))
          .clusters);
  return CUDA_SUCCESS;
}

} // namespace girih::cuda
