//===- HostPlan.cpp - A package's host plan, made to be run again and again
//----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "HostPlan.h"

#include "Arithmetic.h"
#include "CheckArguments.h"
#include "FloatBits.h"
#include "Records.h"
#include "TensorMap.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace girih::runtime {
namespace {

bool isExpression(StepKind kind) { return kind >= StepKind::Select; }

bool isEmpty(const ArrayArgument &array) {
  return std::count(array.shape.begin(), array.shape.end(), 0) > 0;
}

/// The bytes of an array whose elements fill their memory in some order of dimensions, else 0.
uint64_t denseBytes(const ArrayArgument &array) {
  int64_t last = 0, elements = 1;
  for (size_t dim = 0; dim < array.shape.size(); ++dim) {
    if (array.strides[dim] < 0)
      return 0;
    last += (array.shape[dim] - 1) * array.strides[dim];
    elements *= array.shape[dim];
  }
  return last + 1 == elements ? elements * sizeInBytes(array.dtype) : 0;
}

/// Whether two arrays certainly have an element in common.
bool shareMemory(const ArrayArgument &a, const ArrayArgument &b) {
  if (isEmpty(a) || isEmpty(b))
    return false;
  if (a.address == b.address)
    return true;
  uint64_t bytesOfA = denseBytes(a), bytesOfB = denseBytes(b);
  return bytesOfA && bytesOfB && a.address < b.address + bytesOfB &&
         b.address < a.address + bytesOfA;
}

} // namespace

HostPlan::HostPlan(const Manifest &manifest)
    : manifest(manifest), slots(manifest.parameters.size()), values(manifest.plan.size()) {
  size_t mapCount = 0, launchCount = 0;
  for (const Step &step : manifest.plan) {
    mapCount += step.kind == StepKind::TensorMap;
    launchCount += step.kind == StepKind::Launch;
  }
  // Nothing of these may move: pointers lead to them.
  encodedMaps.resize(mapCount);
  launches.reserve(launchCount);
  for (size_t i = 0; i < slots.size(); ++i) {
    const Parameter &parameter = manifest.parameters[i];
    slots[i].parameter = &parameter;
    slots[i].array.dtype = parameter.dtype;
    slots[i].array.shape.resize(parameter.isArray ? parameter.rank : 0);
    slots[i].array.strides.resize(slots[i].array.shape.size());
    if (parameter.isArray && parameter.access != Access::In)
      outputs.push_back(i);
  }
  for (size_t i = 0; i < manifest.plan.size(); ++i) {
    const Step &step = manifest.plan[i];
    switch (step.kind) {
    case StepKind::Constant:
      values[i] = step.value;
      break;
    case StepKind::Dim:
    case StepKind::Stride:
    case StepKind::Scalar:
    case StepKind::Address:
    case StepKind::Print: // what they say is done when the launches have run
    case StepKind::Assert:
      break;
    case StepKind::Query:
      queries = true;
      break;
    case StepKind::TensorMap:
      values[i] = maps.size();
      maps.push_back({&step, 0, &encodedMaps[maps.size()]});
      break;
    case StepKind::Workspace:
      markSteering(step.operands[0]);
      allocations.push_back({&step, &values[i]});
      break;
    case StepKind::Records:
      records = true;
      allocations.push_back({&step, &values[i]});
      break;
    case StepKind::Launch:
      addLaunch(step);
      break;
    default: { // Require and expressions
      Instruction instruction{step.kind, &values[i], {}, &step};
      for (size_t k = 0; k < step.operands.size(); ++k) {
        markSteering(step.operands[k]);
        if (k < 3)
          instruction.operands[k] = place(step.operands[k]);
      }
      program.push_back(instruction);
    }
    }
  }
  workspaces.reserve(allocations.size() + maps.size());
}

/// Where the integer that a step stands for is found, or the address.
const int64_t *HostPlan::place(unsigned index) const {
  const Step &step = manifest.plan[index];
  switch (step.kind) {
  case StepKind::Dim:
    return &slots[step.parameter].array.shape[step.dim];
  case StepKind::Stride:
    return &slots[step.parameter].array.strides[step.dim];
  case StepKind::Scalar:
    return &slots[step.parameter].integer;
  case StepKind::Address:
    return reinterpret_cast<const int64_t *>(&slots[step.parameter].array.address);
  case StepKind::Query:
    return &multiprocessors;
  default:
    return &values[index];
  }
}

void HostPlan::markSteering(unsigned index) {
  const Step &step = manifest.plan[index];
  if (step.kind == StepKind::Scalar)
    slots[step.parameter].steers = true;
}

/// Whether a step is an argument that fits a kernel's parameter because it fitted its own: kernels
/// know integers without a sign, arguments have one.
bool HostPlan::isChecked(unsigned source, DType dtype) const {
  const Step &step = manifest.plan[source];
  return step.kind == StepKind::Scalar &&
         sizeInBytes(manifest.parameters[step.parameter].dtype) == sizeInBytes(dtype);
}

void HostPlan::addLaunch(const Step &step) {
  Launch &launch = launches.emplace_back();
  launch.step = &step;
  launch.kernel = &manifest.kernels[step.kernel];
  const Kernel &kernel = *launch.kernel;
  for (int dim = 0; dim < 3; ++dim)
    markSteering(step.operands[dim]);
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    unsigned source = step.operands[3 + i];
    const KernelParameter &parameter = kernel.parameters[i];
    const void *argument = nullptr;
    if (parameter.kind == KernelParameterKind::TensorMap) {
      argument = &encodedMaps[values[source]];
    } else if (parameter.kind == KernelParameterKind::Scalar && !isInteger(parameter.dtype)) {
      argument = &slots[manifest.plan[source].parameter].bits;
    } else {
      argument = place(source); // little endian: the low bytes come first
      if (parameter.kind == KernelParameterKind::Scalar && !isChecked(source, parameter.dtype)) {
        markSteering(source);
        launch.narrowed.push_back({place(source), static_cast<unsigned>(i), parameter.dtype});
      }
    }
    launch.arguments.push_back(const_cast<void *>(argument));
  }
  cuda::CUlaunchConfig &config = launch.config;
  config.blockDimX = kernel.block[0];
  config.blockDimY = kernel.block[1];
  config.blockDimZ = kernel.block[2];
  config.sharedMemBytes = kernel.dynamicSharedBytes;
  config.attrs = launch.attributes.data();
  if (kernel.cluster != std::array<uint32_t, 3>{1, 1, 1}) {
    cuda::CUlaunchAttribute &cluster = launch.attributes[config.numAttrs++];
    cluster.id = cuda::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {kernel.cluster[0], kernel.cluster[1], kernel.cluster[2]};
  }
  if (kernel.coResident) {
    cuda::CUlaunchAttribute &cooperative = launch.attributes[config.numAttrs++];
    cooperative.id = cuda::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
  }
}

void HostPlan::set(unsigned parameter, const ArrayArgument &array) {
  Slot &slot = slots[parameter];
  ArrayArgument &known = slot.array;
  bool sameShape = slot.isSet && array.dtype == known.dtype && array.shape == known.shape &&
                   array.strides == known.strides;
  if (sameShape && array.address == known.address)
    return;
  if (!sameShape || array.address % alignment != 0) {
    slot.isSet = false;
    checkArgument(*slot.parameter, array);
    slot.isSet = true;
  }
  if (!sameShape) {
    // Of the same rank, so that nothing moves.
    std::copy(array.shape.begin(), array.shape.end(), known.shape.begin());
    std::copy(array.strides.begin(), array.strides.end(), known.strides.begin());
    stale = true;
  }
  known.address = array.address;
  ++slot.version;
  outputsMoved |= slot.parameter->access != Access::In;
}

void HostPlan::set(unsigned parameter, int64_t integer) {
  Slot &slot = slots[parameter];
  if (!slot.parameter->isArray && !isInteger(slot.parameter->dtype)) {
    checkArgument(*slot.parameter, integer);
    set(parameter, static_cast<double>(integer));
    return;
  }
  if (slot.isSet && integer == slot.integer && !slot.parameter->isArray)
    return;
  slot.isSet = false;
  checkArgument(*slot.parameter, integer);
  slot.isSet = true;
  slot.integer = integer;
  stale |= slot.steers;
}

void HostPlan::set(unsigned parameter, double real) {
  Slot &slot = slots[parameter];
  if (slot.isSet && !slot.parameter->isArray && !isInteger(slot.parameter->dtype) &&
      std::memcmp(&real, &slot.real, sizeof(real)) == 0)
    return;
  slot.isSet = false;
  checkArgument(*slot.parameter, real);
  slot.isSet = true;
  slot.real = real;
  slot.bits = floatBits(slot.parameter->dtype, real); // little endian, as integers are
}

void HostPlan::set(unsigned parameter, Absent nothing) {
  slots[parameter].isSet = false;
  checkArgument(*slots[parameter].parameter, nothing);
}

void HostPlan::setMultiprocessors(int64_t count) {
  stale |= queries && count != multiprocessors;
  multiprocessors = count;
}

void HostPlan::run(const Device &device, const std::vector<cuda::CUfunction> &functions,
                   cuda::CUstream stream) {
  if (stale) {
    evaluate();
    stale = false;
  }
  if (outputsMoved && outputs.size() > 1)
    checkOutputs();
  outputsMoved = false;
  for (Map &map : maps)
    if (map.version != slots[map.step->parameter].version)
      encode(map, device, stream);
  for (const Allocation &allocation : allocations) {
    const Step &step = *allocation.step;
    bool isRecords = step.kind == StepKind::Records;
    int64_t bytes =
        isRecords ? recordsHeader + step.value * sizeof(Record) : *place(step.operands[0]);
    if (bytes < 0)
      throw LaunchError(manifest.name + ": the workspace would have " + std::to_string(bytes) +
                        " bytes");
    *allocation.address = allocate(bytes, isRecords || step.zero, device, stream);
  }
  const Driver &driver = device.driver();
  for (Launch &launch : launches) {
    if (launch.empty)
      continue;
    launch.config.hStream = stream;
    cuda::CUresult result = driver.cuLaunchKernelEx(&launch.config, functions[launch.step->kernel],
                                                    launch.arguments.data(), nullptr);
    if (result == cuda::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)
      refuse(launch, functions[launch.step->kernel], device);
    if (result != cuda::CUDA_SUCCESS)
      device.check(result, launch.kernel->name + " cannot be launched");
  }
}

/// How many CTAs of a launch's kernel the device holds at once.
int64_t HostPlan::capacity(const Launch &launch, cuda::CUfunction function,
                           const Device &device) const {
  const Driver &driver = device.driver();
  const std::string problem =
      launch.kernel->name + ": the device does not say how many CTAs it holds";
  const cuda::CUlaunchConfig &config = launch.config;
  const auto &[x, y, z] = launch.kernel->cluster;
  int count = 0;
  if (int64_t size = int64_t{x} * y * z; size > 1) {
    driver.check(driver.cuOccupancyMaxActiveClusters(&count, function, &config), problem);
    return count * size;
  }
  driver.check(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                   &count, function, config.blockDimX * config.blockDimY * config.blockDimZ,
                   config.sharedMemBytes),
               problem);
  return int64_t{count} * device.multiprocessorCount();
}

/// Throws for a grid whose CTAs must all be on the device at once and do not fit.
void HostPlan::refuse(const Launch &launch, cuda::CUfunction function, const Device &device) const {
  const cuda::CUlaunchConfig &config = launch.config;
  throw LaunchError(launch.kernel->name + ": its CTAs wait for one another, so all " +
                    std::to_string(uint64_t{config.gridDimX} * config.gridDimY * config.gridDimZ) +
                    " must be on the device at once, which holds " +
                    std::to_string(capacity(launch, function, device)) +
                    " of them; launch as many or fewer");
}

void HostPlan::evaluate() {
  for (const Instruction &instruction : program) {
    const auto &operands = instruction.operands;
    if (instruction.kind == StepKind::Select)
      *instruction.result = *operands[0] ? *operands[1] : *operands[2];
    else if (isExpression(instruction.kind))
      *instruction.result = runtime::evaluate(instruction.kind, *operands[0], *operands[1]);
    else if (!*operands[0])
      require(instruction);
  }
  for (Launch &launch : launches)
    prepareLaunch(launch);
}

/// Throws what a requirement that does not hold says.
void HostPlan::require(const Instruction &instruction) const {
  const Step &step = *instruction.step;
  std::string message = step.message;
  for (size_t i = 1; i < step.operands.size(); ++i) {
    std::string mark = "{" + std::to_string(i - 1) + "}",
                text = std::to_string(*place(step.operands[i]));
    for (size_t at = message.find(mark); at != std::string::npos;
         at = message.find(mark, at + text.size()))
      message.replace(at, mark.size(), text);
  }
  throw LaunchError(message);
}

void HostPlan::prepareLaunch(Launch &launch) const {
  const Kernel &kernel = *launch.kernel;
  // CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": the grid's
  // limits.
  constexpr int64_t limits[3] = {std::numeric_limits<int32_t>::max(), 65535, 65535};
  int64_t grid[3] = {};
  launch.empty = false;
  for (int dim = 0; dim < 3; ++dim) {
    grid[dim] = *place(launch.step->operands[dim]);
    if (grid[dim] < 0 || grid[dim] > limits[dim])
      throw LaunchError(kernel.name + ": the grid's extent " + std::string(1, 'x' + dim) + " is " +
                        std::to_string(grid[dim]) + ", expected 0 to " +
                        std::to_string(limits[dim]));
    if (grid[dim] == 0) { // no tile, nothing to do; the driver would refuse the launch
      launch.empty = true;
      return;
    }
  }
  launch.config.gridDimX = grid[0];
  launch.config.gridDimY = grid[1];
  launch.config.gridDimZ = grid[2];
  for (const Narrowed &argument : launch.narrowed) {
    IntegerRange range = rangeOf(argument.dtype);
    if (*argument.value < range.low || *argument.value > range.high)
      throw LaunchError(kernel.name + ": argument " + std::to_string(argument.index) +
                        " of the kernel is " + std::to_string(*argument.value) +
                        ", which does not fit " + name(argument.dtype));
  }
}

/// Two outputs that share memory: which of the values would stay is undefined. Views that may
/// interleave are left alone.
void HostPlan::checkOutputs() const {
  for (size_t i = 0; i < outputs.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (const Slot &slot = slots[outputs[i]], &other = slots[outputs[j]];
          shareMemory(slot.array, other.array))
        throw LaunchError(slot.parameter->name +
                          ": the kernel writes it, and it shares memory with " +
                          other.parameter->name +
                          ", which the kernel writes, too; pass arrays of their own memory");
}

void HostPlan::encode(Map &map, const Device &device, cuda::CUstream stream) {
  const Slot &slot = slots[map.step->parameter];
  // TMA has no tensor without elements. A kernel may still ask for the tiles of an empty array, and
  // sees what lies outside an array: zeros. The map is over one zero of our own, for this run only.
  if (isEmpty(slot.array)) {
    ArrayArgument zero = slot.array;
    zero.address = allocate(sizeInBytes(zero.dtype), /*zero=*/true, device, stream);
    std::fill(zero.shape.begin(), zero.shape.end(), 1);
    *map.encoded = encodeTensorMap(device.driver(), *map.step, *slot.parameter, zero);
    return;
  }
  *map.encoded = encodeTensorMap(device.driver(), *map.step, *slot.parameter, slot.array);
  map.version = slot.version;
}

uint64_t HostPlan::allocate(size_t bytes, bool zero, const Device &device, cuda::CUstream stream) {
  workspaces.push_back(device.allocate(bytes));
  if (zero)
    device.fillWithZeros(workspaces.back(), bytes, stream);
  return workspaces.back();
}

void HostPlan::requireNoAllocation() const {
  bool allocates = !allocations.empty();
  for (const Map &map : maps)
    allocates |= isEmpty(slots[map.step->parameter].array);
  if (allocates)
    throw LaunchError(manifest.name +
                      ": its launches need memory of their own (a workspace, records of prints and "
                      "assertions, an empty array), which a graph cannot hold; launch it outside");
}

void HostPlan::release(const Device &device) noexcept {
  for (uint64_t workspace : workspaces)
    device.free(workspace);
  workspaces.clear();
}

void HostPlan::report(const Device &device, const Print &print, const Resolve &resolve) const {
  for (size_t i = 0; i < values.size(); ++i) {
    if (manifest.plan[i].kind != StepKind::Records)
      continue;
    uint32_t asked = 0;
    device.copyToHost(&asked, values[i], sizeof(asked));
    std::vector<Record> found(std::min<int64_t>(asked, manifest.plan[i].value));
    device.copyToHost(found.data(), values[i] + recordsHeader, found.size() * sizeof(Record));
    std::vector<const Step *> sites;
    for (const Step &step : manifest.plan)
      if ((step.kind == StepKind::Print || step.kind == StepKind::Assert) && step.records == i)
        sites.push_back(&step);
    Report report = makeReport(found, sites, asked - found.size());
    if (!report.text.empty())
      print(report.text);
    if (report.failed)
      throw DeviceError(resolve(*report.failed) + report.failed->message + report.failedAt);
  }
}

} // namespace girih::runtime
