//===- CApi.cpp - The C interface, over the C++ one
//------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No exception leaves a function here: each becomes a status and the text of girih_last_error.
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Runtime/Package.h"
#include "girih/Runtime/girih.h"

using namespace girih::runtime;

static_assert(GIRIH_F64 == static_cast<int>(DType::F64) &&
                  GIRIH_E5M2 == static_cast<int>(DType::E5M2) &&
                  GIRIH_B1 == static_cast<int>(DType::B1),
              "the numbers of girih_dtype are those of DType");

namespace {

thread_local std::string lastError;

girih_status failed(girih_status status, const char *message) noexcept {
  try {
    lastError = message;
  } catch (...) { // no memory for the text
    lastError.clear();
  }
  return status;
}

/// Runs `action` and turns what it throws into a status.
template <typename Action> girih_status guarded(Action &&action) noexcept {
  try {
    action();
    return GIRIH_OK;
  } catch (const LaunchError &error) {
    return failed(GIRIH_ERROR_ARGUMENTS, error.what());
  } catch (const DeviceError &error) {
    return failed(GIRIH_ERROR_DEVICE, error.what());
  } catch (const Error &error) {
    return failed(GIRIH_ERROR_PACKAGE, error.what());
  } catch (const std::bad_alloc &) {
    return failed(GIRIH_ERROR_MEMORY, "no memory on the host");
  } catch (const std::exception &error) {
    return failed(GIRIH_ERROR_INTERNAL, error.what());
  }
}

void require(const void *pointer, const char *what) {
  if (!pointer)
    throw LaunchError(std::string(what) + " is NULL");
}

void checkAbi(uint32_t abi) {
  if (abi != GIRIH_ABI)
    throw LaunchError("the program was compiled with a girih.h of ABI " + std::to_string(abi) +
                      ", this libgirih_runtime has ABI " + std::to_string(GIRIH_ABI) +
                      "; compile it anew with this library's header");
}

/// Sets `result` to an array of the caller's; what it holds already is used again.
void setArray(ArrayArgument &result, const girih_array &array, const std::string &name) {
  if (array.dtype < 0 || array.dtype > GIRIH_B1)
    throw LaunchError(name + ": " + std::to_string(array.dtype) + " is no girih_dtype");
  if (array.rank < 0 || array.rank > GIRIH_MAX_RANK)
    throw LaunchError(name + ": the rank is " + std::to_string(array.rank) + ", expected 0 to " +
                      std::to_string(GIRIH_MAX_RANK));
  if (array.rank > 0 && !array.shape)
    throw LaunchError(name + ": the shape is NULL");
  result.address = array.address;
  result.dtype = static_cast<DType>(array.dtype);
  result.shape.assign(array.shape, array.shape + array.rank);
  for (int64_t extent : result.shape)
    if (extent < 0)
      throw LaunchError(name + ": the shape " + printExtents(result.shape) +
                        " has a negative extent");
  if (array.strides) {
    result.strides.assign(array.strides, array.strides + array.rank);
    return;
  }
  result.strides.resize(array.rank);
  int64_t stride = 1;
  for (int dim = array.rank; dim-- > 0;) {
    result.strides[dim] = stride;
    if (__builtin_mul_overflow(stride, result.shape[dim], &stride))
      throw LaunchError(name + ": the shape " + printExtents(result.shape) +
                        " has more elements than 64 bits count");
  }
}

void setArgument(Argument &result, const girih_argument &argument, const std::string &name) {
  switch (argument.kind) {
  case GIRIH_ABSENT:
    result = Absent{};
    return;
  case GIRIH_ARRAY:
    if (!std::holds_alternative<ArrayArgument>(result))
      result = ArrayArgument();
    setArray(std::get<ArrayArgument>(result), argument.value.array, name);
    return;
  case GIRIH_INTEGER:
    result = argument.value.integer;
    return;
  case GIRIH_FLOAT:
    result = argument.value.real;
    return;
  }
  throw LaunchError(name + ": " + std::to_string(argument.kind) + " is no girih_argument_kind");
}

Package *fromHandle(girih_package *package) { return reinterpret_cast<Package *>(package); }
const Package *fromHandle(const girih_package *package) {
  return reinterpret_cast<const Package *>(package);
}

} // namespace

const char *girih_last_error(void) { return lastError.c_str(); }

girih_status girih_load_file(uint32_t abi, const char *path, girih_package **package) {
  return guarded([&] {
    checkAbi(abi);
    require(path, "path");
    require(package, "package");
    *package = reinterpret_cast<girih_package *>(Package::load(path).release());
  });
}

girih_status girih_load_memory(uint32_t abi, const void *data, size_t bytes,
                               girih_package **package) {
  return guarded([&] {
    checkAbi(abi);
    require(data, "data");
    require(package, "package");
    auto loaded =
        std::make_unique<Package>(std::string_view(static_cast<const char *>(data), bytes));
    *package = reinterpret_cast<girih_package *>(loaded.release());
  });
}

void girih_free_package(girih_package *package) { delete fromHandle(package); }

size_t girih_kernel_count(const girih_package *package) {
  return package ? fromHandle(package)->kernels().size() : 0;
}

const char *girih_kernel_name(const girih_package *package, size_t index) {
  if (index >= girih_kernel_count(package))
    return nullptr;
  return fromHandle(package)->kernels()[index]->entry().name.c_str();
}

girih_status girih_find_kernel(girih_package *package, const char *name, girih_kernel **kernel) {
  return guarded([&] {
    require(package, "package");
    require(name, "name");
    require(kernel, "kernel");
    *kernel = reinterpret_cast<girih_kernel *>(&fromHandle(package)->kernel(name));
  });
}

girih_status girih_launch(girih_kernel *handle, const girih_argument *arguments, size_t count,
                          girih_stream stream) {
  return guarded([&] {
    require(handle, "kernel");
    auto &kernel = *reinterpret_cast<PackagedKernel *>(handle);
    if (count > 0)
      require(arguments, "arguments");
    // Kept from call to call, so that the next one allocates nothing.
    thread_local std::vector<Argument> passed;
    passed.resize(count, Absent{});
    // A wrong count is the kernel's to complain about.
    if (const auto &parameters = kernel.entry().parameters; count == parameters.size())
      for (size_t i = 0; i < count; ++i)
        setArgument(passed[i], arguments[i], parameters[i].name);
    kernel.launch(Device::get(), passed, static_cast<girih::cuda::CUstream>(stream));
  });
}

girih_status girih_device_name(const char **name) {
  return guarded([&] {
    require(name, "name");
    *name = Device::get().driver().deviceName().c_str();
  });
}

girih_status girih_device_is_emulated(int *emulated) {
  return guarded([&] {
    require(emulated, "emulated");
    *emulated = Device::get().driver().isEmulated();
  });
}

girih_status girih_allocate(size_t bytes, uint64_t *address) {
  return guarded([&] {
    require(address, "address");
    *address = Device::get().allocate(bytes);
  });
}

girih_status girih_free(uint64_t address) {
  return guarded([&] { Device::get().free(address); });
}

girih_status girih_copy_to_device(uint64_t destination, const void *source, size_t bytes) {
  return guarded([&] {
    if (bytes > 0)
      require(source, "source");
    Device::get().copyToDevice(destination, source, bytes);
  });
}

girih_status girih_copy_to_host(void *destination, uint64_t source, size_t bytes) {
  return guarded([&] {
    if (bytes > 0)
      require(destination, "destination");
    Device::get().copyToHost(destination, source, bytes);
  });
}

girih_status girih_synchronize(girih_stream stream) {
  return guarded([&] { Device::get().synchronize(static_cast<girih::cuda::CUstream>(stream)); });
}
