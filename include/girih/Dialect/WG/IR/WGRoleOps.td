// Roles: which warps do what, with how many registers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_WGROLEOPS_TD
#define GIRIH_DIALECT_WG_IR_WGROLEOPS_TD

include "girih/Dialect/WG/IR/WGTypes.td"

def WG_SpecializeOp : WG_Op<"specialize", [NoTerminator, SingleBlock, RecursiveMemoryEffects,
                                           MemoryEffects<[MemWrite<WG_Execution>]>]> {
  let summary = "splits the CTA into roles";
  let description = [{
    Its body holds `wg.role` ops only, in the order of their warpgroups: the first role takes warpgroup 0 and so on. The
    CTA has as many threads as its roles take warpgroups, times 128. Roles run concurrently and meet only through
    rings and barriers; all of them have ended when the op ends.

    If roles say `registers`, all must. A launch of T threads allots floor(65536 / T / 8) * 8 registers a thread, at
    most 255; the budgets, idle warps included, add up to at most T times that (168 * 384 = 64,512 with three
    warpgroups, 128 * 512 = 65,536 with four), since a larger sum assembles silently and waits for ever.

    Lowers to: a branch on the warpgroup's index, which `shfl.sync.idx` makes uniform, with `setmaxnreg` first in each arm.

    ```mlir
    gpu.module @device {
      gpu.func @roles(%view: !wg.view<bf16, box = [128, 64], swizzle = 128>) kernel {
        wg.specialize {
          wg.role @load warps(1) registers(40) {
          }
          wg.role @multiply warpgroups(2) registers(232) {
            %w = wg.warpgroup_index : i32
          }
        }
        gpu.return
      }
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The roles in the order of their warpgroups.
    auto getRoles() { return getBody().front().getOps<::girih::wg::RoleOp>(); }
    /// Threads of the CTA.
    int64_t getNumThreads();
  }];
}

def WG_RoleOp : WG_Op<"role", [NoTerminator, SingleBlock, RecursiveMemoryEffects,
                               MemoryEffects<[MemWrite<WG_Execution>]>,
                               ParentOneOf<["::girih::wg::SpecializeOp", "::girih::wg::TeamOp"]>]> {
  let summary = "what some of the CTA's warps do";
  let description = [{
    `warpgroups(n)` gives the role n whole warpgroups, `warps(n)` n warps; the last warpgroup is filled up with idle
    warps, which execute the role's register change and skip its body. `registers(n)` is the budget of each thread
    (setmaxnreg: a multiple of 8 from 24 to 256). Values from outside may be used in the body.

    With `each` every warpgroup executes the body for itself, on tiles, slots of store rings and elected threads of its
    own, as if it were a role of one warpgroup; `wg.warpgroup_index` tells them apart.

    Lowers to: one arm of the branch of `wg.specialize`; `setmaxnreg.inc` or `.dec`, and for idle warps a branch over the
    body.

    ```mlir
    gpu.module @device {
      gpu.func @one_role() kernel {
        wg.specialize {
          wg.role @all warpgroups(1) {
          }
        }
        gpu.return
      }
    }
    ```
  }];
  let arguments = (ins StrAttr:$role_name, ConfinedAttr<I32Attr, [IntPositive]>:$warps, UnitAttr:$each,
                       OptionalAttr<I32Attr>:$registers);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Warpgroups, idle warps included.
    int64_t getNumWarpgroups() { return (static_cast<int64_t>(getWarps()) + 3) / 4; }
    /// Warpgroups over which the body's tiles are spread: all of the role's, or one with `each`.
    int64_t getTileWarpgroups() { return getEach() ? 1 : getNumWarpgroups(); }
    /// Warps that execute the body together: all of the role's, or a warpgroup's with `each`.
    int64_t getWarpsTogether() { return getEach() ? 4 : static_cast<int64_t>(getWarps()); }
    /// Threads that execute the body.
    int64_t getNumThreads() { return static_cast<int64_t>(getWarps()) * 32; }
  }];
}

def WG_WarpgroupIndexOp : WG_Op<"warpgroup_index", [Pure]> {
  let summary = "index of the warpgroup within its role";
  let description = [{
    From 0; the same in every lane of a warp.

    Lowers to: `%tid.x` / 128 through `shfl.sync.idx`, less the first warpgroup of the role.

    ```mlir
    func.func @index() -> i32 {
      %w = wg.warpgroup_index : i32
      return %w : i32
    }
    ```
  }];
  let results = (outs I32:$index);
  let assemblyFormat = "attr-dict `:` qualified(type($index))";
}

def WG_TurnsOp : WG_Op<"turns", [MemoryEffects<[MemAlloc<WG_Barrier>]>]> {
  let summary = "lets the warpgroups of a role take turns";
  let description = [{
    In the entry block of a kernel. The role that uses it has as many warpgroups as the type says; warpgroup 0 has the
    first turn, then 1 and so on, round and round. `name` is what messages call it.

    Lowers to: a named barrier (PTX ISA 9.0, 9.7.13.1) for each warpgroup, counted down from the last that is the
    user's.

    ```mlir
    gpu.module @device {
      gpu.func @alternate() kernel {
        %turn = wg.turns : !wg.turns<2>
        wg.specialize {
          wg.role @multiply warpgroups(2) each {
            wg.take_turn %turn : !wg.turns<2>
            wg.pass_turn %turn : !wg.turns<2>
          }
        }
        gpu.return
      }
    }
    ```
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$name);
  let results = (outs WG_TurnsType:$turns);
  let assemblyFormat = "attr-dict `:` qualified(type($turns))";
}

class WG_TurnOp<string mnemonic> : WG_Op<mnemonic, [MemoryEffects<[MemRead<WG_Barrier>, MemWrite<WG_Barrier>,
                                                                   MemWrite<WG_AsyncProxy>, MemWrite<WG_Shared>]>]> {
  let arguments = (ins WG_TurnsType:$turns);
  let assemblyFormat = "$turns attr-dict `:` qualified(type($turns))";
  let hasVerifier = 1;
  let extraClassDeclaration = WG_Declare.barrierEffects;
}

def WG_TakeTurnOp : WG_TurnOp<"take_turn"> {
  let summary = "waits for the executing warpgroup's turn";
  let description = [{
    The example of `wg.turns` has one. What the warpgroup issues between `wg.take_turn` and `wg.pass_turn` is issued
    before what the next one issues in its turn; it need not be done by then.

    Lowers to: `barrier.cta.sync.aligned` on the warpgroup's barrier, which the one before passes the turn to.
  }];
}

def WG_PassTurnOp : WG_TurnOp<"pass_turn"> {
  let summary = "passes the turn on to the next warpgroup";
  let description = [{
    Once for each `wg.take_turn`. The example of `wg.turns` has one.

    Lowers to: `barrier.cta.arrive.aligned` on the next warpgroup's barrier. The last warpgroup does so at the start of
    the role, too, which gives warpgroup 0 the first turn.
  }];
}

def WG_ElectOp : WG_Op<"elect", [Pure]> {
  let summary = "true in one lane of the warp";
  let description = [{
    The warp must be converged. The same lane is elected each time, so merging two and moving one out of a loop is fine.

    Lowers to: `elect.sync` with all lanes (PTX ISA 9.0, 9.7.13.15).

    ```mlir
    func.func @elect(%bar: !wg.barrier<1>, %i: i32) {
      %leader = wg.elect : i1
      scf.if %leader {
        wg.barrier_arrive %bar[%i] : !wg.barrier<1>
      }
      return
    }
    ```
  }];
  let results = (outs I1:$elected);
  let assemblyFormat = "attr-dict `:` qualified(type($elected))";
}

def WG_SetRegistersOp : WG_Op<"set_registers", [MemoryEffects<[MemWrite<WG_Execution>]>]> {
  let summary = "changes the register budget of the executing warps";
  let description = [{
    Every warp of a warpgroup executes it. `increase` waits until the registers are free, `decrease` releases at once.
    `wg.role` with `registers` becomes one.

    Lowers to: `setmaxnreg.inc.sync.aligned.u32` or `.dec` (PTX ISA 9.0, 9.7.19.5).

    ```mlir
    func.func @budget() {
      wg.set_registers increase 232
      return
    }
    ```
  }];
  let arguments = (ins WG_RegisterChange:$change, I32Attr:$registers);
  let assemblyFormat = "$change $registers attr-dict";
  let hasVerifier = 1;
}

#endif // GIRIH_DIALECT_WG_IR_WGROLEOPS_TD
