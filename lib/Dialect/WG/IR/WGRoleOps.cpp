// Roles: text, and the arithmetic of registers, which the hardware does not check.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace girih::wg;

static constexpr int64_t kRegisterFile =
    65536; // CUDA C++ Programming Guide, compute capability 9.0
static constexpr int64_t kMaxThreads = 1024;

int64_t girih::wg::getLaunchRegisters(int64_t threads) {
  return std::min<int64_t>(kRegisterFile / threads / 8 * 8, 255);
}

int64_t girih::wg::clusterCtas(Operation *op) {
  auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
  if (!kernel)
    kernel = op->getParentOfType<gpu::GPUFuncOp>();
  int64_t ctas = 1;
  if (kernel)
    for (int32_t extent : kernel.getKnownClusterSize().value_or(ArrayRef<int32_t>()))
      ctas *= extent;
  return ctas;
}

/// PTX ISA 9.0, 9.7.19.5: the immediate of setmaxnreg is a multiple of 8 from 24 to 256.
static LogicalResult verifyBudget(Operation *op, int64_t registers) {
  if (registers >= 24 && registers <= 256 && registers % 8 == 0)
    return success();
  return op->emitOpError("expects a register budget that is a multiple of 8 from 24 to 256, found ")
         << registers;
}

int64_t SpecializeOp::getNumThreads() {
  int64_t warpgroups = 0;
  for (RoleOp role : getRoles())
    warpgroups += role.getNumWarpgroups();
  return warpgroups * 128;
}

LogicalResult SpecializeOp::verify() {
  if (getBody().front().getNumArguments())
    return emitOpError("has a body with arguments: expected none");
  return success();
}

LogicalResult SpecializeOp::verifyRegions() {
  llvm::StringMap<Location> seen;
  for (Operation &op : getBody().front()) {
    auto role = dyn_cast<RoleOp>(op);
    if (!role)
      return op.emitOpError("cannot stand between roles: move it before the wg.specialize or into "
                            "a wg.role");
    auto [known, isNew] = seen.try_emplace(role.getRoleName(), role.getLoc());
    if (!isNew) {
      InFlightDiagnostic error =
          role.emitOpError("has the name of another role: give each its own");
      error.attachNote(known->second) << "the other one is here";
      return error;
    }
  }
  if (seen.empty())
    return emitOpError("has no role: expected at least one wg.role");

  int64_t threads = getNumThreads();
  if (threads > kMaxThreads)
    return emitOpError("has roles of ")
           << threads << " threads, idle warps included, and a CTA has at most " << kMaxThreads
           << ": give the roles fewer warps";

  int64_t asked = 0, with = 0, without = 0;
  for (RoleOp role : getRoles()) {
    ++(role.getRegisters() ? with : without);
    asked += static_cast<int64_t>(role.getRegisters().value_or(0)) * role.getNumWarpgroups() * 128;
  }
  if (with && without)
    return emitOpError("has ") << with << " roles with registers(...) and " << without
                               << " without: every role states a budget, or none does";
  int64_t each = getLaunchRegisters(threads);
  if (asked > each * threads) {
    InFlightDiagnostic error = emitOpError("has roles that ask for ")
                               << asked << " registers, idle warps included, and a launch of "
                               << threads << " threads allots " << each * threads << " (" << each
                               << " a thread), so that one would wait for ever: lower a budget";
    for (RoleOp role : getRoles())
      error.attachNote(role.getLoc())
          << "role '" << role.getRoleName() << "' takes " << role.getNumWarpgroups()
          << " warpgroups, " << *role.getRegisters() << " registers a thread";
    return error;
  }
  return success();
}

// @name (warps|warpgroups)(n) [each] [registers(n)] { ... }
ParseResult RoleOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  StringRef unit;
  int32_t count, registers;
  NamedAttrList unnamed;
  if (parser.parseSymbolName(name, getRoleNameAttrName(result.name), result.attributes))
    return failure();
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseKeyword(&unit))
    return failure();
  if (unit != "warps" && unit != "warpgroups")
    return parser.emitError(where)
           << "expected 'warps(n)' or 'warpgroups(n)', found '" << unit << "'";
  if (parser.parseLParen() || parser.parseInteger(count) || parser.parseRParen())
    return failure();
  Builder &builder = parser.getBuilder();
  int64_t warps = unit == "warps" ? count : 4 * static_cast<int64_t>(count);
  result.addAttribute(getWarpsAttrName(result.name),
                      builder.getI32IntegerAttr(static_cast<int32_t>(warps)));
  if (succeeded(parser.parseOptionalKeyword("each")))
    result.addAttribute(getEachAttrName(result.name), builder.getUnitAttr());
  if (succeeded(parser.parseOptionalKeyword("registers"))) {
    if (parser.parseLParen() || parser.parseInteger(registers) || parser.parseRParen())
      return failure();
    result.addAttribute(getRegistersAttrName(result.name), builder.getI32IntegerAttr(registers));
  }
  Region *body = result.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseRegion(*body))
    return failure();
  if (body->empty())
    body->emplaceBlock();
  return success();
}

void RoleOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getRoleName());
  if (getWarps() % 4)
    printer << " warps(" << getWarps() << ")";
  else
    printer << " warpgroups(" << getWarps() / 4 << ")";
  if (getEach())
    printer << " each";
  if (getRegisters())
    printer << " registers(" << *getRegisters() << ")";
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getRoleNameAttrName(), getWarpsAttrName(), getEachAttrName(), getRegistersAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult RoleOp::verify() {
  if (getBody().front().getNumArguments())
    return emitOpError("has a body with arguments: expected none, values from outside may be used");
  if (getEach() && getWarps() % 4)
    return emitOpError("says each with ")
           << getWarps() << " warps: expected whole warpgroups, each of which executes the body";
  if (getRegisters())
    return verifyBudget(*this, *getRegisters());
  return success();
}

/// Those who take turns are the warpgroups of one role.
static LogicalResult verifyTurn(Operation *op, TurnsType turns) {
  auto role = op->getParentOfType<RoleOp>();
  if (!role)
    return success();
  if (role.getWarps() % 4 || role.getNumWarpgroups() != turns.getWarpgroups())
    return op->emitOpError("is executed by ")
           << role.getWarps() << " warps of role '" << role.getRoleName()
           << "', and the turns are those of " << turns.getWarpgroups()
           << " warpgroups: expected a role of warpgroups(" << turns.getWarpgroups() << ")";
  return success();
}

LogicalResult TakeTurnOp::verify() { return verifyTurn(*this, getTurns().getType()); }
LogicalResult PassTurnOp::verify() { return verifyTurn(*this, getTurns().getType()); }

llvm::SmallVector<BarrierEffect> TakeTurnOp::getBarrierEffects() {
  return {{BarrierEffect::Kind::Sync, BarrierEffect::Side::Named, getTurns()}};
}
llvm::SmallVector<BarrierEffect> PassTurnOp::getBarrierEffects() {
  return {{BarrierEffect::Kind::Arrive, BarrierEffect::Side::Named, getTurns()}};
}

LogicalResult SetRegistersOp::verify() { return verifyBudget(*this, getRegisters()); }
