// Kernels of the tile phase with teams: the roles are those of the teams, one of which executes
// everything else, too.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BackwardSlice.h"
#include "Hints.h"
#include "OperandChain.h"
#include "Roles.h"
#include "girih/Conversion/TileToWG/TileToWG.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace girih::wg {

namespace {

/// A role that does its part of each team and of the rest only what that depends on.
class Member : public RoleCloner {
public:
  Member(OpBuilder &builder, const ProductPlan &plan, HostSide &host, const MadeRings &made,
         StringRef name)
      : RoleCloner(builder, plan, host, made), name(name) {
    for (TeamOp team : plan.teams) {
      RoleOp role = roleOf(team, name);
      usesTeam(role);
      if (Operation *parent = team->getParentOp(); !isa<gpu::GPUFuncOp>(parent))
        slice.addOp(parent);
      role.walk([&](Operation *op) {
        for (Value operand : op->getOperands())
          if (!role->isAncestor(operand.getParentBlock()->getParentOp())) {
            captured.insert({operand, op});
            slice.addValue(operand);
          }
      });
    }
  }

  /// Whether the role can find out by itself all that it needs; or an error at what it cannot.
  LogicalResult check() {
    auto refuse = [&](Operation *at, const Twine &what) {
      return at->emitError("role '")
             << name << "' needs " << what
             << ", which only the role that executes the rest of the kernel "
                "has; expected numbers that follow from parameters, and "
                "from arrays that the kernel does not write";
    };
    for (auto [value, user] : captured)
      if (tile::isTile(value.getType()))
        return refuse(user, "a tile from outside of its @wg.function");
    for (Operation *op : slice.getOps()) {
      if (isa<RingOp, TurnsOp, AllocBufferOp, AllocBarrierOp>(op))
        continue; // before the roles, for all of them
      if (isa<TeamOp>(op))
        return refuse(op, "what a @wg.function gives");
      if (!op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() && !isMemoryEffectFree(op) &&
          !readsInput(op, host))
        return refuse(op, "what " + op->getName().getStringRef() + " gives");
    }
    return success();
  }

  void start(Location loc) { startCursors(loc, CursorEnd::Producer); }

protected:
  bool needs(Operation *op) const override { return isa<TeamOp>(op) || slice.contains(op); }
  bool needsCarried(Operation *op, unsigned index) const override {
    return slice.carries(op, index);
  }
  void visit(Operation *op) override {
    if (auto team = dyn_cast<TeamOp>(op))
      return join(roleOf(team, name));
    clone(op);
  }

private:
  static RoleOp roleOf(TeamOp team, StringRef name) {
    return *llvm::find_if(team.getRoles(), [&](RoleOp role) { return role.getRoleName() == name; });
  }

  StringRef name;
  BackwardSlice slice;
  llvm::SetVector<std::pair<Value, Operation *>> captured;
};

/// What all teams of a kernel have alike.
std::string describe(TeamOp team) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::interleaveComma(team.getRoles(), out, [&](RoleOp role) {
    out << role.getRoleName() << " of " << role.getWarps() << " warps";
    if (role.getEach())
      out << ", each for itself";
    if (role.getRegisters())
      out << " with " << *role.getRegisters() << " registers";
    if (role == team.getGiver())
      out << ", which executes the rest";
  });
  return text;
}

LogicalResult checkAlike(ArrayRef<TeamOp> teams) {
  std::string first = describe(TeamOp(teams.front()));
  for (TeamOp team : teams.drop_front()) {
    if (describe(team) == first)
      continue;
    InFlightDiagnostic error = team.emitOpError("has other roles than another one of the kernel: "
                                                "expected ")
                               << first << "; found " << describe(team);
    error.attachNote(TeamOp(teams.front()).getLoc()) << "the other one is here";
    return error;
  }
  return success();
}

LogicalResult checkHints(gpu::GPUFuncOp kernel) {
  auto hints = kernel->getAttrOfType<DictionaryAttr>(kHintsAttr);
  for (NamedAttribute hint : hints ? hints.getValue() : ArrayRef<NamedAttribute>())
    if (hint.getName() != kHintsLocation)
      return emitError(locationOfHints(kernel), "the hint ")
             << hint.getName().getValue()
             << " is for kernels whose roles passes choose, and this one calls a @wg.function "
                "(wg.team), which says its own; expected no hint";
  return success();
}

} // namespace

SmallVector<TeamOp> teamsOf(gpu::GPUFuncOp kernel) {
  SmallVector<TeamOp> teams;
  kernel.walk([&](TeamOp team) { teams.push_back(team); });
  return teams;
}

LogicalResult specializeTeams(gpu::GPUFuncOp kernel, ArrayRef<TeamOp> teams) {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitOpError("has several blocks; expected structured control flow (scf)");
  if (failed(checkHints(kernel)) || failed(checkAlike(teams)))
    return failure();
  HostSide host(kernel);
  TeamOp first = teams.front();
  ProductPlan plan;
  plan.teams.assign(teams.begin(), teams.end());
  plan.warpgroups = first.getGiver().getNumWarpgroups();
  planStores(kernel, host, plan);

  Block &body = kernel.getBody().front();
  llvm::SetVector<Operation *> cloned = clonedOps(body);
  auto isCloned = [&](Operation *op) { return cloned.contains(op); };

  Location loc = kernel.getLoc();
  OpBuilder builder(body.getTerminator());
  MadeRings made = makeRings(builder, kernel, plan);
  kernel.walk([&](RingOp ring) { made.rings.push_back(ring); });
  auto specialize = SpecializeOp::create(builder, loc);
  builder.createBlock(&specialize.getBody());
  for (RoleOp role : first.getRoles()) {
    builder.setInsertionPointToEnd(&specialize.getBody().front());
    auto copy = RoleOp::create(builder, role.getLoc(), role.getRoleNameAttr(), role.getWarpsAttr(),
                               role.getEachAttr(), role.getRegistersAttr());
    builder.createBlock(&copy.getBody());
    if (role == first.getGiver()) {
      buildConsumer(builder, body, plan, host, made, isCloned);
      continue;
    }
    Member member(builder, plan, host, made, role.getRoleName());
    if (failed(member.check()))
      return failure();
    member.start(role.getLoc());
    member.run(body, isCloned);
  }

  for (Operation *op : llvm::reverse(cloned.getArrayRef()))
    op->erase();
  dropDead(body);
  host.dropUnusedParameters();
  multiplyInRoles(kernel);
  return success();
}

} // namespace girih::wg
