//===- Program.cpp - A package, ready to be called
//-----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Runtime/Program.h"

#include "CheckArguments.h"
#include "HostPlan.h"

#include "girih/Image/Image.h"

#include <cstdio>

namespace girih::runtime {

static void printToStdout(const std::string &text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

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

Wait Program::launch(Device &device, const std::vector<Argument> &arguments, cuda::CUstream stream,
                     const Interrupted &interrupted, const Print &print) {
  checkArguments(contents, arguments);
  device.announce();
  Device::Turn turn = device.takeTurn(interrupted);
  if (!device.isMine(turn))
    return Wait::Stopped;
  device.enter();
  load(device);
  HostPlan plan(contents, arguments, device, functions, stream);
  plan.run();
  if (!plan.hasRecords())
    return device.driver().isEmulated() ? device.synchronize(stream, interrupted) : Wait::Done;
  auto report = [&] {
    plan.report(print ? print : printToStdout, [&](const Step &step) { return resolve(step); });
  };
  Wait outcome;
  try {
    outcome = device.synchronize(stream, interrupted);
  } catch (const DeviceError &) {
    // What was printed until then helps, and a failed assertion says more than what came of it. The
    // memory of a GPU cannot be read after an error.
    if (device.driver().isEmulated())
      report();
    throw;
  }
  if (outcome == Wait::Done)
    report();
  return outcome;
}

} // namespace girih::runtime
