// The wg dialect's registration.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace girih::wg;

#include "girih/Dialect/WG/IR/WGDialect.cpp.inc"
#include "girih/Dialect/WG/IR/WGEnums.cpp.inc"
#include "girih/Dialect/WG/IR/WGOpInterfaces.cpp.inc"

void WGDialect::initialize() {
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "girih/Dialect/WG/IR/WGOps.cpp.inc"
      >();
}
