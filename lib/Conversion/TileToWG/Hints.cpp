// Hints: a dictionary on the kernel, as a structure.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Hints.h"

using namespace mlir;

namespace girih::wg {

static DictionaryAttr dictionaryOf(gpu::GPUFuncOp kernel) {
  return kernel->getAttrOfType<DictionaryAttr>(kHintsAttr);
}

Location locationOfHints(gpu::GPUFuncOp kernel) {
  DictionaryAttr hints = dictionaryOf(kernel);
  auto at = hints ? hints.getAs<LocationAttr>(kHintsLocation) : LocationAttr();
  return at ? Location(at) : kernel.getLoc();
}

FailureOr<Hints> readHints(gpu::GPUFuncOp kernel) {
  Hints hints{locationOfHints(kernel), {}, {}, {}};
  auto refuse = [&](NamedAttribute hint, StringRef expected) {
    return emitError(hints.loc, "the hint ")
           << hint.getName().getValue() << " is " << hint.getValue() << "; expected " << expected;
  };
  DictionaryAttr stated = dictionaryOf(kernel);
  for (NamedAttribute hint : stated ? stated.getValue() : ArrayRef<NamedAttribute>()) {
    StringRef name = hint.getName();
    auto number = dyn_cast<IntegerAttr>(hint.getValue());
    auto text = dyn_cast<StringAttr>(hint.getValue());
    if (name == kHintsLocation)
      continue;
    if (name == "warps" && number)
      hints.warps = number.getInt();
    else if (name == "stages" && number && number.getInt() >= 1)
      hints.stages = number.getInt();
    else if (name == "roles" && text && text.getValue() == "cooperative")
      hints.roles = RoleForm::Cooperative;
    else if (name == "roles" && text && text.getValue() == "pingpong")
      hints.roles = RoleForm::PingPong;
    else if (name == "warps" || name == "stages")
      return refuse(hint, "a positive integer");
    else if (name == "roles")
      return refuse(hint, "\"cooperative\" or \"pingpong\"");
    else
      return refuse(hint, "only warps, stages and roles");
  }
  return hints;
}

} // namespace girih::wg
