//===- HostPlan.cpp - Runs a package's host plan
//-------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "HostPlan.h"

#include "Arithmetic.h"
#include "FloatBits.h"
#include "Records.h"
#include "TensorMap.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace girih::runtime {

HostPlan::HostPlan(const Manifest &manifest, const std::vector<Argument> &arguments,
                   const Device &device, const std::vector<cuda::CUfunction> &functions,
                   cuda::CUstream stream)
    : manifest(manifest), arguments(arguments), device(device), functions(functions),
      stream(stream) {}

HostPlan::~HostPlan() {
  for (uint64_t workspace : workspaces)
    device.free(workspace);
}

void HostPlan::run() {
  values.reserve(manifest.plan.size());
  for (const Step &step : manifest.plan) {
    int64_t value = 0;
    switch (step.kind) {
    case StepKind::Require:
      runRequire(step);
      break;
    case StepKind::TensorMap:
      runTensorMap(step);
      value = maps.size() - 1;
      break;
    case StepKind::Workspace:
      value = runWorkspace(step);
      break;
    case StepKind::Launch:
      runLaunch(step);
      break;
    case StepKind::Records:
      value = allocate(recordsHeader + step.value * sizeof(Record), /*zero=*/true);
      break;
    case StepKind::Print:
    case StepKind::Assert: // what they say is done when the launches have run
      break;
    default:
      value = runExpression(step);
    }
    values.push_back(value);
  }
}

int64_t HostPlan::runExpression(const Step &step) const {
  switch (step.kind) {
  case StepKind::Constant:
    return step.value;
  case StepKind::Dim:
    return array(step.parameter).shape[step.dim];
  case StepKind::Stride:
    return array(step.parameter).strides[step.dim];
  case StepKind::Query:
    return device.multiprocessorCount();
  case StepKind::Scalar:
    // A float is taken from the arguments where it is used; plans compute with integers only.
    if (const auto *integer = std::get_if<int64_t>(&arguments[step.parameter]))
      return *integer;
    return 0;
  case StepKind::Address:
    return array(step.parameter).address;
  case StepKind::Select:
    return value(step.operands[0]) ? value(step.operands[1]) : value(step.operands[2]);
  default:
    return evaluate(step.kind, value(step.operands[0]), value(step.operands[1]));
  }
}

void HostPlan::runRequire(const Step &step) const {
  if (value(step.operands[0]))
    return;
  std::string message = step.message;
  for (size_t i = 1; i < step.operands.size(); ++i) {
    std::string mark = "{" + std::to_string(i - 1) + "}",
                text = std::to_string(value(step.operands[i]));
    for (size_t at = message.find(mark); at != std::string::npos;
         at = message.find(mark, at + text.size()))
      message.replace(at, mark.size(), text);
  }
  throw LaunchError(message);
}

uint64_t HostPlan::allocate(size_t bytes, bool zero) {
  workspaces.push_back(device.allocate(bytes));
  if (zero)
    device.fillWithZeros(workspaces.back(), bytes, stream);
  return workspaces.back();
}

int64_t HostPlan::runWorkspace(const Step &step) {
  int64_t bytes = value(step.operands[0]);
  if (bytes < 0)
    throw LaunchError(manifest.name + ": the workspace would have " + std::to_string(bytes) +
                      " bytes");
  return allocate(bytes, step.zero);
}

bool HostPlan::hasRecords() const {
  return std::any_of(manifest.plan.begin(), manifest.plan.end(),
                     [](const Step &step) { return step.kind == StepKind::Records; });
}

void HostPlan::report(const Print &print, const Resolve &resolve) const {
  for (size_t i = 0; i < values.size(); ++i) {
    if (manifest.plan[i].kind != StepKind::Records)
      continue;
    uint32_t asked = 0;
    device.copyToHost(&asked, values[i], sizeof(asked));
    std::vector<Record> records(std::min<int64_t>(asked, manifest.plan[i].value));
    device.copyToHost(records.data(), values[i] + recordsHeader, records.size() * sizeof(Record));
    std::vector<const Step *> sites;
    for (const Step &step : manifest.plan)
      if ((step.kind == StepKind::Print || step.kind == StepKind::Assert) && step.records == i)
        sites.push_back(&step);
    Report found = makeReport(records, sites, asked - records.size());
    if (!found.text.empty())
      print(found.text);
    if (found.failed)
      throw DeviceError(resolve(*found.failed) + found.failed->message + found.failedAt);
  }
}

void HostPlan::runTensorMap(const Step &step) {
  ArrayArgument tensor = array(step.parameter);
  // TMA has no tensor without elements. A kernel may still ask for the tiles of an empty array, and
  // sees what lies outside an array: zeros. The map is over one zero of our own.
  if (std::count(tensor.shape.begin(), tensor.shape.end(), 0) > 0) {
    tensor.address = allocate(sizeInBytes(tensor.dtype), /*zero=*/true);
    std::fill(tensor.shape.begin(), tensor.shape.end(), 1);
  }
  maps.push_back(
      encodeTensorMap(device.driver(), step, manifest.parameters[step.parameter], tensor));
}

bool HostPlan::isChecked(unsigned source, DType dtype) const {
  const Step &step = manifest.plan[source];
  return step.kind == StepKind::Scalar &&
         sizeInBytes(manifest.parameters[step.parameter].dtype) == sizeInBytes(dtype);
}

void HostPlan::runLaunch(const Step &step) const {
  const Kernel &kernel = manifest.kernels[step.kernel];
  // CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": the grid's
  // limits.
  constexpr int64_t limits[3] = {std::numeric_limits<int32_t>::max(), 65535, 65535};
  for (int dim = 0; dim < 3; ++dim) {
    int64_t extent = value(step.operands[dim]);
    if (extent < 0 || extent > limits[dim])
      throw LaunchError(kernel.name + ": the grid's extent " + std::string(1, 'x' + dim) + " is " +
                        std::to_string(extent) + ", expected 0 to " + std::to_string(limits[dim]));
    if (extent == 0) // no tile, nothing to do; the driver would refuse the launch
      return;
  }

  // The driver wants the address of each argument.
  size_t count = kernel.parameters.size();
  std::vector<uint64_t> scalars(count);
  std::vector<void *> pointers(count);
  for (size_t i = 0; i < count; ++i) {
    unsigned source = step.operands[3 + i];
    const KernelParameter &parameter = kernel.parameters[i];
    pointers[i] = &scalars[i];
    if (parameter.kind == KernelParameterKind::TensorMap) {
      pointers[i] = const_cast<cuda::CUtensorMap *>(&maps[value(source)]);
    } else if (parameter.kind == KernelParameterKind::Pointer || isInteger(parameter.dtype)) {
      int64_t number = value(source);
      if (parameter.kind == KernelParameterKind::Scalar && !isChecked(source, parameter.dtype)) {
        IntegerRange range = rangeOf(parameter.dtype);
        if (number < range.low || number > range.high)
          throw LaunchError(kernel.name + ": argument " + std::to_string(i) + " of the kernel is " +
                            std::to_string(number) + ", which does not fit " +
                            name(parameter.dtype));
      }
      std::memcpy(&scalars[i], &number, sizeof(number)); // little endian: the low bytes come first
    } else {
      const Argument &argument = arguments[manifest.plan[source].parameter];
      double number = std::holds_alternative<double>(argument)
                          ? std::get<double>(argument)
                          : static_cast<double>(std::get<int64_t>(argument));
      scalars[i] = floatBits(parameter.dtype, number); // little endian, as above
    }
  }

  cuda::CUlaunchConfig config = {};
  config.gridDimX = value(step.operands[0]);
  config.gridDimY = value(step.operands[1]);
  config.gridDimZ = value(step.operands[2]);
  config.blockDimX = kernel.block[0];
  config.blockDimY = kernel.block[1];
  config.blockDimZ = kernel.block[2];
  config.sharedMemBytes = kernel.dynamicSharedBytes;
  config.hStream = stream;
  cuda::CUlaunchAttribute cluster = {};
  if (kernel.cluster != std::array<uint32_t, 3>{1, 1, 1}) {
    cluster.id = cuda::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {kernel.cluster[0], kernel.cluster[1], kernel.cluster[2]};
    config.attrs = &cluster;
    config.numAttrs = 1;
  }
  const Driver &driver = device.driver();
  driver.check(driver.cuLaunchKernelEx(&config, functions[step.kernel], pointers.data(), nullptr),
               kernel.name + " cannot be launched");
}

} // namespace girih::runtime
