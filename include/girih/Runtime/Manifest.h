//===- Manifest.h - What a package says about itself
//---------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The manifest is the JSON section of an image that the compiler writes: the parameters of the
// call, the kernels with their resources, and the host plan. docs/Packages.md describes it field by
// field. Parsing checks everything that can be checked without arguments, so that running a plan
// cannot meet a step that makes no sense.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_RUNTIME_MANIFEST_H
#define GIRIH_RUNTIME_MANIFEST_H

#include "girih/Runtime/DType.h"

#include <array>
#include <string>
#include <vector>

namespace girih::runtime {

enum class Access { In, Out, InOut };

/// What an aligned array promises, in bytes: what TMA and the widest accesses of a thread need.
constexpr uint64_t alignment = 16;

/// A parameter of the call.
struct Parameter {
  std::string name;
  bool isArray = false;
  DType dtype = DType::I32;
  unsigned rank = 0;    ///< arrays only
  int contiguous = -1;  ///< the dimension whose stride is 1; -1: none is promised
  bool aligned = false; ///< address and all other strides are multiples of `alignment` bytes
  Access access = Access::In;
};

enum class KernelParameterKind {
  TensorMap, ///< 128 bytes by value
  Scalar,    ///< a number of `dtype`
  Pointer,   ///< the address of an array or a workspace
};

struct KernelParameter {
  KernelParameterKind kind = KernelParameterKind::Scalar;
  DType dtype = DType::I32; ///< scalars only
};

struct Kernel {
  std::string name;
  std::array<uint32_t, 3> block = {1, 1, 1};
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  /// CTAs wait for one another: all of a launch must be on the device at once.
  bool coResident = false;
  /// Per thread, as ptxas reports them.
  uint32_t registers = 0, spillBytes = 0, stackBytes = 0;
  std::vector<KernelParameter> parameters;
};

/// What a step of the plan does. Those from Add on are expressions over earlier steps.
enum class StepKind {
  Constant,
  Dim,
  Stride,
  Query,
  Scalar,
  Address,
  Require,
  TensorMap,
  Workspace,
  Launch,
  Records,
  Print,
  Assert,
  Select,
  Add,
  Sub,
  Mul,
  Div,     ///< truncates towards zero
  CeilDiv, ///< rounds towards positive infinity
  Rem,     ///< has the sign of the dividend
  Min,
  Max,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  And,
  Or,
};

/// What a query may ask of the device.
enum class DeviceQuery { MultiprocessorCount };

/// A place in a function of the user's: lines count from the function's first.
struct PlaceInFunction {
  std::string function;
  int64_t line = 0, column = 0;
};

/// One step of the plan; its value is referred to by its index.
struct Step {
  StepKind kind = StepKind::Constant;
  int64_t value = 0;      ///< Constant: the value; Records: how many
  unsigned parameter = 0; ///< Dim, Stride, Scalar, Address, TensorMap: index of the parameter
  unsigned dim = 0;       ///< Dim, Stride
  DeviceQuery query = DeviceQuery::MultiprocessorCount;
  /// Expressions: the operands. Require: the condition, then the values of the message. Workspace:
  /// its bytes. Launch: the three extents of the grid, then the kernel's arguments.
  std::vector<unsigned> operands;
  /// Require: "{0}" stands for the first value. Assert: the message. Print: the label.
  std::string message;
  unsigned records = 0, site = 0;     ///< Print, Assert: the step with the records; whose they are
  std::vector<int64_t> shape;         ///< Print, with `dtype`
  std::vector<PlaceInFunction> where; ///< Assert: innermost first
  // TensorMap: box in logical order, dimensions from the fastest to the slowest, swizzle span in
  // bytes (0: none).
  DType dtype = DType::F32;
  std::vector<uint32_t> box;
  std::vector<unsigned> order;
  unsigned swizzle = 0;
  bool zero = false;   ///< Workspace: filled with zeros before the launch
  unsigned kernel = 0; ///< Launch: index of the kernel
};

struct Manifest {
  std::string name;
  std::string arch; ///< "sm_90a"
  std::vector<Parameter> parameters;
  std::vector<Kernel> kernels;
  std::vector<Step> plan;

  /// Throws Error: "the manifest is damaged: ..." names the field or the step.
  GIRIH_RUNTIME_API static Manifest parse(std::string_view json);
};

} // namespace girih::runtime

#endif // GIRIH_RUNTIME_MANIFEST_H
