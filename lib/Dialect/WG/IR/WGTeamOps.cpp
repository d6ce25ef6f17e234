// Teams: which roles there are, and who gives the results.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/IR/CursorOrigin.h"
#include "girih/Dialect/WG/IR/WG.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace girih::wg;

/// The op with which a role gives results; null without.
static GiveOp giveOf(RoleOp role) {
  Block &body = role.getBody().front();
  return body.empty() ? GiveOp() : dyn_cast<GiveOp>(body.back());
}

RoleOp TeamOp::getGiver() {
  for (RoleOp role : getRoles())
    if (giveOf(role))
      return role;
  return {};
}

LogicalResult TeamOp::verifyRegions() {
  llvm::StringSet<> names;
  RoleOp giver;
  for (Operation &op : getBody().front()) {
    auto role = dyn_cast<RoleOp>(op);
    if (!role)
      return op.emitOpError("cannot stand between the roles of a team: move it before the wg.team "
                            "or into a wg.role");
    if (!names.insert(role.getRoleName()).second)
      return role.emitOpError("has the name of another role: give each its own");
    WalkResult cursors = role.walk([&](CursorOp cursor) {
      if (cursor->getParentOp() == role)
        return WalkResult::advance();
      cursor.emitOpError(
          "stands in a loop or branch of a team's role: expected at its start, since "
          "it is where the role goes on");
      return WalkResult::interrupt();
    });
    if (cursors.wasInterrupted())
      return failure();
    if (!giveOf(role))
      continue;
    if (giver) {
      InFlightDiagnostic error =
          role.emitOpError("gives results, and so does another role of the team: expected one "
                           "that executes the rest of the kernel");
      error.attachNote(giver.getLoc()) << "the other one is here";
      return error;
    }
    giver = role;
  }
  if (!giver)
    return emitOpError("has no role that ends in wg.give: expected one, which executes the rest of "
                       "the kernel");
  if (giver.getWarps() % 4 || giver.getEach())
    return giver.emitOpError("executes the rest of the kernel: expected whole warpgroups that work "
                             "together, found ")
           << giver.getWarps() << " warps" << (giver.getEach() ? ", each for itself" : "");
  return success();
}

LogicalResult KeepOp::verify() {
  if (!isa<TeamOp>((*this)->getParentOp()->getParentOp()))
    return emitOpError("stands in a role of its own: expected a role of a wg.team");
  return verifyCursor(*this, getRing(), getCursor(), std::nullopt);
}

LogicalResult GiveOp::verify() {
  auto team = dyn_cast<TeamOp>((*this)->getParentOp()->getParentOp());
  if (!team)
    return emitOpError("stands in a role of its own: expected a role of a wg.team");
  if (TypeRange(getResults()) == TypeRange(team.getResults()))
    return success();
  return emitOpError("gives other types than the team has as results: expected (")
         << team.getResultTypes() << "), found (" << getResults().getTypes() << ")";
}
