// The wg dialect's registration.
//
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

namespace {

/// Layouts are long, so they are written once, as #layout, #layout1, ...
struct Aliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attribute, llvm::raw_ostream &os) const override {
    if (!isa<LayoutAttr>(attribute))
      return AliasResult::NoAlias;
    os << "layout";
    return AliasResult::FinalAlias;
  }
};

} // namespace

void WGDialect::initialize() {
  addInterfaces<Aliases>();
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "girih/Dialect/WG/IR/WGOps.cpp.inc"
      >();
}
