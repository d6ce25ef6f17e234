// Verification of the plan's questions and actions.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/Plan/IR/Plan.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace girih::plan;

#define GET_OP_CLASSES
#include "girih/Dialect/Plan/IR/PlanOps.cpp.inc"

static LogicalResult verifyDim(Operation *op, int64_t dim, ArrayType array) {
  if (dim < 0 || dim >= array.getRank())
    return op->emitOpError("asks for dimension ")
           << dim << " of an array of rank " << array.getRank() << ": expected 0 to "
           << array.getRank() - 1;
  return success();
}

LogicalResult DimOp::verify() { return verifyDim(*this, getDim(), getArray().getType()); }
LogicalResult StrideOp::verify() { return verifyDim(*this, getDim(), getArray().getType()); }

// Every {n} has a value, every value a {n}; {{ and }} are braces.
LogicalResult RequireOp::verify() {
  StringRef text = getMessage();
  llvm::SmallBitVector used(getValues().size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c != '{' && c != '}')
      continue;
    if (i + 1 < text.size() && text[i + 1] == c) {
      ++i;
      continue;
    }
    size_t end = text.find('}', i);
    unsigned number;
    if (c == '}' || end == StringRef::npos || text.slice(i + 1, end).getAsInteger(10, number))
      return emitOpError("message has a stray '")
             << c << "' at column " << i + 1
             << ": expected '{0}', '{1}', ... for a value, or the brace twice for a brace";
    if (number >= used.size())
      return emitOpError("message mentions {")
             << number << "} but there are " << used.size() << " values";
    used.set(number);
    i = end;
  }
  if (int first = used.find_first_unset(); first >= 0)
    return emitOpError("value ") << first << " is not mentioned in the message: write {" << first
                                 << "} where it belongs, or leave it out";
  return success();
}

/// Device code knows integers without a sign; the host's part of a kernel knows it.
static Type withoutSign(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer ? IntegerType::get(type.getContext(), integer.getWidth()) : type;
}

LogicalResult TensorMapOp::verify() {
  ArrayType array = getArray().getType();
  // PTX ISA 9.0, 5.5.1: tensors of TMA have one to five dimensions.
  if (array.getRank() < 1 || array.getRank() > 5)
    return emitOpError("makes a map over an array of rank ")
           << array.getRank() << ": expected a rank from 1 to 5";
  auto map = cast<TensorMapTypeInterface>(getMap().getType());
  if (map.getElementType() != withoutSign(array.getElementType()))
    return emitOpError("makes a map of ") << map.getElementType() << " over an array of "
                                          << array.getElementType() << ": element types must agree";
  if (static_cast<int64_t>(map.getBox().size()) != array.getRank())
    return emitOpError("makes a map with a box of rank ")
           << map.getBox().size() << " over an array of rank " << array.getRank()
           << ": ranks must agree";
  if (array.getContiguous() < 0)
    return emitOpError("makes a map over an array without a contiguous dimension: TMA needs one, "
                       "pass the array's address instead");
  if (map.getOrder().front() != array.getContiguous())
    return emitOpError("makes a map whose fastest dimension is ")
           << map.getOrder().front() << " over an array whose contiguous dimension is "
           << array.getContiguous() << ": choose the map's order so that they agree";
  return success();
}

LogicalResult RecordsOp::verify() {
  if (getLimit() < 1 || getLimit() > (int64_t{1} << 24))
    return emitOpError("has room for ") << getLimit() << " records: expected 1 to 16777216";
  return success();
}

/// Whether a site's records are those of a plan.records, and no other op's.
static LogicalResult verifySite(Operation *op, Value records, int64_t site) {
  if (!records.getDefiningOp<RecordsOp>())
    return op->emitOpError("reads a workspace: expected the result of plan.records");
  for (Operation *other : records.getUsers()) {
    if (other == op)
      continue;
    auto print = dyn_cast<PrintOp>(other);
    auto assertion = dyn_cast<AssertOp>(other);
    if ((print && print.getSite() == static_cast<uint64_t>(site)) ||
        (assertion && assertion.getSite() == static_cast<uint64_t>(site)))
      return op->emitOpError("is for site ")
             << site << ", as another op is: sites are numbered apart";
  }
  return success();
}

LogicalResult PrintOp::verify() {
  if (!getElementType().isIntOrFloat())
    return emitOpError("prints numbers of ")
           << getElementType() << ": expected an integer or float";
  return verifySite(*this, getRecords(), getSite());
}

LogicalResult AssertOp::verify() { return verifySite(*this, getRecords(), getSite()); }

/// The address space of global memory: PTX ISA 9.0, 5.1, as NVPTX numbers it.
static constexpr unsigned globalMemory = 1;

/// Whether a value of the plan of type `given` can be passed for a kernel's parameter.
static bool fits(Type given, Type parameter) {
  if (isa<WorkspaceType, ArrayType>(given)) {
    auto pointer = dyn_cast<LLVM::LLVMPointerType>(parameter);
    return pointer && pointer.getAddressSpace() == globalMemory;
  }
  return withoutSign(given) == parameter;
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // In the nvvm phase the kernel is an llvm.func, whose types do not tell a tensor map any more.
  auto lowered = symbols.lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(
      (*this)->getParentOp()->getParentOp(), getKernel());
  if (lowered && lowered->hasAttr("nvvm.kernel") && lowered.getNumArguments() == getArgs().size())
    return success();
  auto kernel = symbols.lookupNearestSymbolFrom<gpu::GPUFuncOp>(
      (*this)->getParentOp()->getParentOp(), getKernel());
  if (!kernel)
    return emitOpError("launches ") << getKernel() << ", which is not a gpu.func in this module";
  if (!kernel.isKernel())
    return emitOpError("launches ")
           << getKernel()
           << ", which lacks the attribute 'kernel' of a gpu.func that can be launched";
  ArrayRef<Type> wanted = kernel.getFunctionType().getInputs();
  if (wanted.size() != getArgs().size())
    return emitOpError("passes ") << getArgs().size() << " arguments to " << getKernel()
                                  << ", which takes " << wanted.size();
  for (auto [index, type, arg] : llvm::enumerate(wanted, getArgs())) {
    Type given = arg.getType();
    if (!fits(given, type))
      return emitOpError("argument ")
             << index << " is of type " << given << ", and " << getKernel() << " takes " << type
             << ": a tensor map or a scalar goes to a parameter of its own type, an array or a "
                "workspace to an !llvm.ptr<1>";
  }
  return success();
}
