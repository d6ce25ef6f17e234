//===- HostPlan.h - Runs a package's host plan
//---------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_LIB_RUNTIME_HOSTPLAN_H
#define GIRIH_LIB_RUNTIME_HOSTPLAN_H

#include "girih/Runtime/Argument.h"
#include "girih/Runtime/Device.h"
#include "girih/Runtime/Manifest.h"

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

private:
  int64_t runExpression(const Step &step) const;
  int64_t runWorkspace(const Step &step);
  void runRequire(const Step &step) const;
  void runLaunch(const Step &step) const;
  int64_t value(unsigned step) const { return values[step]; }
  const ArrayArgument &array(unsigned parameter) const {
    return std::get<ArrayArgument>(arguments[parameter]);
  }

  const Manifest &manifest;
  const std::vector<Argument> &arguments;
  const Device &device;
  const std::vector<cuda::CUfunction> &functions;
  cuda::CUstream stream;
  /// One per step: the integer; the address of a workspace; for a tensor map its index in `maps`.
  std::vector<int64_t> values;
  std::vector<cuda::CUtensorMap> maps;
  std::vector<uint64_t> workspaces;
};

} // namespace girih::runtime

#endif // GIRIH_LIB_RUNTIME_HOSTPLAN_H
