//===- HostPlan.h - A package's host plan, made to be run again and again
//------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_LIB_RUNTIME_HOSTPLAN_H
#define GIRIH_LIB_RUNTIME_HOSTPLAN_H

#include "girih/Runtime/Program.h"

namespace girih::runtime {

/// The plan as a short linear program over memory of its own. The arguments stay from run to run;
/// setting one notes what has to be computed anew: nothing for another address of an array that
/// only pointers refer to, a tensor map where an array moved, the expressions where a shape, a
/// stride or a number changed that they read. A run allocates nothing but what the plan asks for.
///
/// What a kernel takes never moves: the driver gets the addresses of the arguments themselves, of
/// the expressions' values and of the tensor maps.
class HostPlan {
public:
  explicit HostPlan(const Manifest &manifest);
  HostPlan(const HostPlan &) = delete;
  HostPlan &operator=(const HostPlan &) = delete;

  /// Throw LaunchError for an argument that does not fit its parameter, which then has none.
  void set(unsigned parameter, const ArrayArgument &array);
  void set(unsigned parameter, int64_t integer);
  void set(unsigned parameter, double real);
  void set(unsigned parameter, Absent nothing);
  /// What a query for the number of multiprocessors gives.
  void setMultiprocessors(int64_t count);
  /// Whether the plan asks for that number.
  bool asksForMultiprocessors() const { return queries; }

  /// Checks requirements, encodes tensor maps, allocates workspaces, launches `functions` (one per
  /// kernel of the manifest) on `stream`. Throws LaunchError and DeviceError.
  void run(const Device &device, const std::vector<cuda::CUfunction> &functions,
           cuda::CUstream stream);
  /// Throws LaunchError if a run would allocate memory, which a graph cannot hold.
  void requireNoAllocation() const;
  /// Frees what the last run allocated, which waits for its launches.
  void release(const Device &device) noexcept;

  /// Whether kernels leave records for the host.
  bool hasRecords() const { return records; }
  using Resolve = std::function<std::string(const Step &)>;
  /// Once the launches have run: prints what kernels recorded; throws DeviceError for a failed
  /// assertion, after what `resolve` says of its place ("gemm.py:20:8: ").
  void report(const Device &device, const Print &print, const Resolve &resolve) const;

private:
  /// One argument: an array with its extents, or a number.
  struct Slot {
    const Parameter *parameter = nullptr;
    bool isSet = false;
    bool steers = false; ///< a number that expressions read
    ArrayArgument array;
    uint64_t version = 1; ///< grows whenever something of the array changes
    int64_t integer = 0;
    double real = 0;
    uint64_t bits = 0; ///< of a float parameter
  };

  /// An expression or a requirement.
  struct Instruction {
    StepKind kind = StepKind::Add;
    int64_t *result = nullptr;
    const int64_t *operands[3] = {};
    const Step *step = nullptr;
  };

  struct Map {
    const Step *step = nullptr;
    uint64_t version = 0; ///< the array's when the map was encoded; 0: never
    cuda::CUtensorMap *encoded = nullptr;
  };

  /// Memory that a run allocates: a workspace, or records.
  struct Allocation {
    const Step *step = nullptr;
    int64_t *address = nullptr;
  };

  /// An integer that is passed on as a narrower one.
  struct Narrowed {
    const int64_t *value = nullptr;
    unsigned index = 0; ///< of the kernel's argument
    DType dtype = DType::I32;
  };

  struct Launch {
    const Step *step = nullptr;
    const Kernel *kernel = nullptr;
    bool empty = false; ///< no CTA
    cuda::CUlaunchConfig config = {};
    std::array<cuda::CUlaunchAttribute, 2> attributes = {};
    std::vector<void *> arguments;
    std::vector<Narrowed> narrowed;
  };

  void addLaunch(const Step &step);
  const int64_t *place(unsigned step) const;
  bool isChecked(unsigned source, DType dtype) const;
  void markSteering(unsigned step);
  void evaluate();
  void require(const Instruction &instruction) const;
  void checkOutputs() const;
  void prepareLaunch(Launch &launch) const;
  int64_t capacity(const Launch &launch, cuda::CUfunction function, const Device &device) const;
  [[noreturn]] void refuse(const Launch &launch, cuda::CUfunction function,
                           const Device &device) const;
  void encode(Map &map, const Device &device, cuda::CUstream stream);
  uint64_t allocate(size_t bytes, bool zero, const Device &device, cuda::CUstream stream);

  const Manifest &manifest;
  std::vector<Slot> slots;
  std::vector<int64_t> values; ///< one per step; an expression's value, an allocation's address
  int64_t multiprocessors = 0;
  bool queries = false, records = false;
  bool stale = true;         ///< expressions must be computed
  bool outputsMoved = false; ///< and may overlap
  std::vector<Instruction> program;
  std::vector<Map> maps;
  std::vector<cuda::CUtensorMap> encodedMaps;
  std::vector<Allocation> allocations;
  std::vector<Launch> launches;
  std::vector<unsigned> outputs;    ///< parameters that kernels write
  std::vector<uint64_t> workspaces; ///< of the last run
};

} // namespace girih::runtime

#endif // GIRIH_LIB_RUNTIME_HOSTPLAN_H
