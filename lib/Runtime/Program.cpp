//===- Program.cpp - An image, ready to be called
//------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Runtime/Program.h"

#include "CheckArguments.h"
#include "HostPlan.h"

#include "girih/Image/Image.h"

namespace girih::runtime {

Program::Program(std::string_view bytes, const std::vector<Source> &sources) {
  // Errors of the image library become the runtime's own, so that users catch one family.
  try {
    // Drivers take an image without its size and believe its headers.
    image::checkComplete(bytes);
    contents = Manifest::parse(image::requireSection(bytes, image::manifestSection));
    std::vector<image::Source> places;
    for (const Source &source : sources)
      places.push_back({source.name, source.file, source.firstLine});
    image = image::setSources(bytes, places);
  } catch (const image::Error &error) {
    throw Error(error.what());
  }
  // The only architecture so far; a driver would answer with a code.
  if (contents.arch != Driver::architecture)
    throw Error(contents.name + " was compiled for " + contents.arch +
                ", this runtime launches kernels for " + Driver::architecture);
}

Program::~Program() {
  delete idle.load();
  if (!module)
    return;
  const Driver &driver = loadedOn->driver();
  // What fails here is a consequence of an earlier error that has been reported.
  try {
    loadedOn->enter();
    driver.cuModuleUnload(module);
  } catch (const Error &) {
  }
}

void Program::load(Device &device) {
  if (readyOn.load(std::memory_order_acquire) == &device)
    return;
  std::lock_guard<std::mutex> lock(loading);
  if (loadedOn && loadedOn != &device)
    throw Error(contents.name + " is loaded on another device");
  if (!functions.empty())
    return;
  const Driver &driver = device.driver();
  if (!module) {
    cuda::CUmodule loaded = nullptr;
    driver.check(driver.cuModuleLoadData(&loaded, image.data()),
                 contents.name + " cannot be loaded on " + driver.deviceName());
    module = loaded;
    loadedOn = &device;
  }
  std::vector<cuda::CUfunction> found;
  for (const Kernel &kernel : contents.kernels) {
    cuda::CUfunction function = nullptr;
    driver.check(driver.cuModuleGetFunction(&function, module, kernel.name.c_str()),
                 "the image of " + contents.name + " has no kernel " + kernel.name);
    // More than 48 KiB must be asked for (CUDA C++ Programming Guide, "Shared Memory", 9.0).
    driver.check(driver.cuFuncSetAttribute(function,
                                           cuda::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                           kernel.dynamicSharedBytes),
                 kernel.name + " cannot have " + std::to_string(kernel.dynamicSharedBytes) +
                     " bytes of shared memory");
    // Clusters of more than eight CTAs are not portable and must be allowed (the same guide,
    // "Thread Block Clusters").
    if (kernel.cluster[0] * kernel.cluster[1] * kernel.cluster[2] > 8)
      driver.check(driver.cuFuncSetAttribute(
                       function, cuda::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                   kernel.name + " cannot have a cluster of more than 8 CTAs");
    found.push_back(function);
  }
  functions = std::move(found);
  internedName = Device::intern(contents.name);
  readyOn.store(&device, std::memory_order_release);
}

std::string Program::resolve(const Step &assertion) const {
  image::LocationTable table = image::readLocations(image);
  std::string text;
  for (const PlaceInFunction &place : assertion.where) {
    image::ResolvedFrame frame{place.function, "", place.line, place.column};
    for (const image::Function &function : table.functions)
      if (function.name == place.function && !function.file.empty()) {
        frame.file = function.file;
        frame.line += function.line - 1;
      }
    text += (text.empty() ? "" : ", called from ") + frame.text();
  }
  return text.empty() ? "" : text + ": ";
}

void Program::checkCount(size_t arguments) const { runtime::checkCount(contents, arguments); }

std::unique_ptr<Call> Program::borrow() {
  std::unique_ptr<Call> call(idle.exchange(nullptr, std::memory_order_acquire));
  return call ? std::move(call) : std::make_unique<Call>(*this);
}

void Program::giveBack(std::unique_ptr<Call> call) {
  Call *none = nullptr;
  if (idle.compare_exchange_strong(none, call.get(), std::memory_order_release))
    call.release();
}

Wait Program::launch(Device &device, const std::vector<Argument> &arguments, cuda::CUstream stream,
                     const Interrupted &interrupted, const Print &print) {
  checkCount(arguments.size());
  std::unique_ptr<Call> call = borrow();
  for (size_t i = 0; i < arguments.size(); ++i)
    std::visit([&](const auto &value) { call->set(i, value); }, arguments[i]);
  call->setCtas(device, 0);
  Wait outcome = call->launch(device, stream, interrupted, print);
  giveBack(std::move(call));
  return outcome;
}

} // namespace girih::runtime
