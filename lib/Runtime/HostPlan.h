//===- HostPlan.h - Runs a package's host plan
//---------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_LIB_RUNTIME_HOSTPLAN_H
#define GIRIH_LIB_RUNTIME_HOSTPLAN_H

#include "girih/Runtime/Program.h"

namespace girih::runtime {

/// Runs every step of the manifest's plan in order: checks requirements, encodes tensor maps,
/// allocates workspaces, launches `functions` (one per kernel of the manifest) on `stream`. The
/// arguments have been checked. Throws LaunchError and DeviceError. A workspace lives until the
/// launches that use it have run: freeing it waits for them.
class HostPlan {
public:
  HostPlan(const Manifest &manifest, const std::vector<Argument> &arguments, const Device &device,
           const std::vector<cuda::CUfunction> &functions, cuda::CUstream stream);
  ~HostPlan();
  HostPlan(const HostPlan &) = delete;
  HostPlan &operator=(const HostPlan &) = delete;

  void run();

  /// Whether kernels leave records for the host.
  bool hasRecords() const;
  using Resolve = std::function<std::string(const Step &)>;
  /// Once the launches have run: prints what kernels recorded; throws DeviceError for a failed
  /// assertion, after what `resolve` says of its place ("gemm.py:20:8: ").
  void report(const Print &print, const Resolve &resolve) const;

private:
  int64_t runExpression(const Step &step) const;
  int64_t runWorkspace(const Step &step);
  void runTensorMap(const Step &step);
  void runRequire(const Step &step) const;
  void runLaunch(const Step &step) const;
  /// Whether a step is an argument that fits a kernel's parameter because it fitted its own:
  /// kernels know integers without a sign, arguments have one.
  bool isChecked(unsigned source, DType dtype) const;
  /// Memory that lives as long as a workspace does.
  uint64_t allocate(size_t bytes, bool zero);
  int64_t value(unsigned step) const { return values[step]; }
  const ArrayArgument &array(unsigned parameter) const {
    return std::get<ArrayArgument>(arguments[parameter]);
  }

  const Manifest &manifest;
  const std::vector<Argument> &arguments;
  const Device &device;
  const std::vector<cuda::CUfunction> &functions;
  cuda::CUstream stream;
  /// One per step: the integer; the address of an array or a workspace; for a tensor map its index
  /// in `maps`.
  std::vector<int64_t> values;
  std::vector<cuda::CUtensorMap> maps;
  std::vector<uint64_t> workspaces;
};

} // namespace girih::runtime

#endif // GIRIH_LIB_RUNTIME_HOSTPLAN_H
