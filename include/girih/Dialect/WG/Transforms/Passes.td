// Passes over the wg dialect, in the order in which the pipeline runs them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_TRANSFORMS_PASSES_TD
#define GIRIH_DIALECT_WG_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckProtocol : Pass<"wg-check-protocol", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Report uses of rings and pending tiles that would race or wait for ever";
  let description = [{
    Looks at every kernel as its author wrote it, before loops are expanded, so that a report names the user's line. It
    changes nothing. Found are:

    - a slot freed while a wgmma that reads it may still run: no `wg.wait` between the two retires it;
    - a ring that is waited for and never filled, or filled and never drained: the kernel would hang;
    - a slot of a ring used after it was freed, or freed twice;
    - a slot of a store ring written again after its store was issued, or acquired again without an advance.

    It runs a role on paper: cursors are numbers, loops run a few steps, what is in flight is a list. (That budgets of
    registers add up, and that nobody reads a pending tile, the verifiers have seen.)

    ```mlir
    %s:2 = wg.get %ring[%q] : ...
    %d = wg.mma %s#0, %s#1, %acc : ...
    wg.free %ring[%q]   // error: slot of %ring freed while the wgmma at gemm.py:20:8 may still read it;
                        // expected wg.wait in_flight(0) before, or lag=1
    ```

    Preconditions: none beyond the verifiers. Preserves everything.
  }];
  let dependentDialects = ["::girih::wg::WGDialect"];
}

def DeriveWaits : Pass<"wg-derive-waits", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Work out how many wgmma groups a wait may leave in flight";
  let description = [{
    A `wg.wait` with `derive` waits for the groups that write its operands and no longer: `in_flight` becomes the number
    of groups that have been started since. Every role is run on paper along all paths, loops until nothing new shows.

    ```mlir
    %s1 = wg.mma %q, %k, %s0 : ...
    %o1 = wg.mma %p, %v, %o0 : ...
    %s = wg.wait %s1 in_flight(0) derive   // becomes in_flight(1): the product with %v goes on
    %o = wg.wait %o1 in_flight(0) derive   // stays in_flight(0)
    ```

    A wait whose operands nothing writes any more, on any path, is marked as `waited`: no instruction comes of it. Where
    the number differs by path (the first iteration and the others, the sides of a branch), no one number is right:
    that is an error that names both. Preserves everything else.
  }];
  let dependentDialects = ["::girih::wg::WGDialect"];
}

def ChooseStages : Pass<"wg-choose-stages", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Give every ring without `stages` the most that fits, at most four";
  let description = [{
    Shared memory that store rings, buffers, barriers and rings with a number of their own leave is shared out: all open
    rings of a kernel get the same number of stages, the largest of 4, 3, 2, 1 that fits. If not even one fits, one is
    chosen and `wg-allocate-shared` reports what does not fit.

    ```mlir
    %r = wg.ring : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>]>
    // becomes
    %r = wg.ring {stages = 4 : i32} : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>]>
    ```

    Preconditions: none. Rings that have `stages` keep it.
  }];
  let dependentDialects = ["::girih::wg::WGDialect"];
}

def ExpandRingLoops : Pass<"wg-expand-ring-loops", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn wg.fill and wg.drain into loops with waits and releases in the open";
  let description = [{
    ```mlir
    %q1, %r = wg.drain %ring[%q0] count(%n) lag(1) as (%k, %sa, %sb) iter_args(%acc = %acc0) -> (!wg.pending<...>) {
      %d = wg.mma %sa, %sb, %acc : ...
      wg.yield %d
    }
    // becomes
    %l:3 = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0, %p = %q0, %acc = %acc0) {
      %s:2 = wg.get %ring[%q]
      %d = wg.mma %s#0, %s#1, %acc : ...
      %w = wg.wait %d in_flight(1)       // the group of the iteration before has ended,
      %old = arith.cmpi sge, %k, %c1
      scf.if %old { wg.free %ring[%p] }  // so its slot goes back
      %next = wg.advance %ring[%q]
      scf.yield %next, %q, %w
    }
    %r = wg.wait %l#2 in_flight(0)
    %some = arith.cmpi sge, %n, %c1
    scf.if %some { wg.free %ring[%l#1] } // the last `lag` slots
    ```

    The wait covers every pending tile that the loop carries; a loop that carries none frees at once. An `scf.if` at the
    end of a drain's body that holds in the last step only, and needs nothing of the loop, moves between the loop and
    the last wait: what is to happen once every product has been issued (`wg.pass_turn`) costs the other steps nothing. The loops are
    marked as not to be unrolled or peeled: a peeled first k step doubles the code for nothing, since wgmma has a
    predicate for it.

    Preconditions: none. Does not preserve the structured form, which `wg-check-protocol` reads.
  }];
  let dependentDialects = ["::girih::wg::WGDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def LowerTurns : Pass<"wg-lower-turns", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn wg.turns into named barriers";
  let description = [{
    Turns among W warpgroups take W of the named barriers, counted down from 7, the last that is the user's. A
    warpgroup's barrier completes when the one before has arrived there and the warpgroup itself waits.

    ```mlir
    %turn = wg.turns : !wg.turns<2>
    ...
    wg.take_turn %turn
    wg.pass_turn %turn
    // becomes, at the role's start
    %w = wg.warpgroup_index
    %last = arith.cmpi eq, %w, %c1
    scf.if %last { wg.named_barrier_arrive %c6 threads(256) }   // warpgroup 0 has the first turn
    %mine = arith.addi %w, %c6
    %next = arith.select %last, %c6, %mine + 1
    // and in their place
    wg.named_barrier_sync %mine threads(256)
    wg.named_barrier_arrive %next threads(256)
    ```

    When the role ends, the warpgroup whose turn would be next has been arrived for once more than it has waited; the
    CTA's end takes that back.

    Preconditions: each wg.turns is used in one role. More barriers than there are, or one that the kernel names itself,
    is an error. Does not preserve wg.turns, wg.take_turn and wg.pass_turn: none is left.
  }];
  let dependentDialects = ["::girih::wg::WGDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def LowerRings : Pass<"wg-lower-rings", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn rings and store rings into buffers, mbarriers, and cursors of index and parity";
  let description = [{
    A ring of S stages becomes one array of S slots per buffer and two arrays of S mbarriers, full and empty, set up at
    the kernel's entry. Everything that must agree is computed once, in `RingProtocol`: how many arrive at each barrier,
    how many bytes a slot's copies bring, which fences its writers and readers need.

    ```mlir
    %s = wg.acquire %ring[%c]
    wg.tma_load %A[%i, %j] to %s
    wg.publish %ring[%c]
    %n = wg.advance %ring[%c]
    // becomes, with the cursor as %i (index) and %p (parity)
    wg.barrier_wait %empty[%i] parity(%p)
    wg.barrier_expect %full[%i] bytes(16384)
    %s = wg.slot %buffers[%i]
    wg.tma_load %A[%i, %j] to %s barrier(%full[%i])
    %i1 = arith.addi %i, %c1
    %wrap = arith.cmpi eq, %i1, %c4
    %in = arith.select %wrap, %c0, %i1
    %flip = arith.extui %wrap
    %pn = arith.xori %p, %flip
    ```

    A cursor starts at index 0, with parity 0 for a consumer and 1 for a producer (the phase before the first counts as
    complete), and is carried as two i32 through every loop and branch.

    | writer | reader | before the full barrier's arrival | before the empty barrier's arrival |
    |---|---|---|---|
    | TMA | any | nothing: the copy completes the phase itself | nothing |
    | generic | generic | nothing: the arrival releases | nothing |
    | generic | wgmma, TMA store | `fence.proxy.async` by every writer | nothing |
    | any | generic | | the warpgroup meets: one lane arrives for its warp |

    A generic read followed by a TMA write into the freed slot carries no fence: the arrival orders them, as every
    production kernel assumes.

    Preconditions: `wg-expand-ring-loops` and `wg-choose-stages` have run; each ring is allocated in the kernel's entry
    block, filled by one role. Does not preserve rings, store rings and cursors: none is left.
  }];
  let dependentDialects = ["::girih::wg::WGDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def AllocateShared : Pass<"wg-allocate-shared", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Give every buffer and barrier its offset in shared memory";
  let description = [{
    Offsets are handed out by falling alignment: swizzled buffers start on their pattern (1024 bytes for the 128-byte
    swizzle), barriers come last. The kernel's `wg.shared_bytes` says how much dynamic shared memory a launch needs.

    ```mlir
    %a = wg.alloc_buffer {count = 4 : i32} : !wg.buffer<128x64xbf16, swizzle = 128>
    %b = wg.alloc_barrier : !wg.barrier<4>
    // becomes
    %a = wg.alloc_buffer {count = 4 : i32, offset = 0 : i32} : !wg.buffer<128x64xbf16, swizzle = 128>
    %b = wg.alloc_barrier {offset = 65536 : i32} : !wg.barrier<4>
    ```

    Ops that need scratch (reductions and scans across warps, conversions of layouts through shared memory) share one place
    for each role, since they follow each other and each begins with a barrier of the role; `wg.scratch` on the op says
    where it is and how far apart the places of warpgroups are that each act for themselves.

    Too much is an error at the kernel that lists every allocation with its bytes and says what to reduce.
    Preconditions: `wg-lower-rings` has run.
  }];
  let dependentDialects = ["::girih::wg::WGDialect"];
}

def CheckBarriers : Pass<"wg-check-barriers", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Report deadlocks, races and miscounts of barriers, asynchronous work and shared memory";
  let description = [{
    Looks at what rings have become, and at barriers that a kernel uses by itself, through the ops' interfaces. It changes
    nothing. Each role becomes a program of events over barriers, asynchronous work and buffers; all warps of a CTA run
    theirs on paper, for all combinations of small loop counts. `docs/ProtocolChecker.md` says what is modelled and why
    that suffices.

    | class | what is wrong |
    |---|---|
    | `deadlock` | warps wait for each other, or for a copy or a partner that never comes |
    | `lost-release` | a slot is never given back |
    | `double-release` | a slot is given back too often, or by too many |
    | `wrong-parity` | a wait is for another phase than the next |
    | `wrong-bytes` | the bytes that a phase expects are not those that its copies bring |
    | `in-flight` | a buffer is read before it is filled, or used again while it is in use |
    | `missing-proxy-fence` | generic writes are read through the asynchronous proxy without a fence |
    | `register-budget` | roles ask for more registers than the launch has |

    The error stands at the user's line and ends in the class; its last note is the schedule that leads to the fault.

    ```mlir
    wg.barrier_wait %empty[%i] parity(%p)
    // error: role 'load' waits for ever that slot 0 of 'ring' is empty: 8 of 8 arrivals never come; expected every
    //        reader to give back every slot that it gets [lost-release]
    ```

    What it cannot decide is a remark that says `undecided`, with the reason. `verdicts` adds a remark where all is well.

    Preconditions: `wg-lower-rings` has run, roles are still regions. Preserves everything.
  }];
  let options = [Option<"verdicts", "verdicts", "bool", "false", "Say of every kernel that is ok that it is">];
  let dependentDialects = ["::girih::wg::WGDialect"];
}

def LowerRoles : Pass<"wg-lower-roles", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn wg.specialize into warpgroups that branch to their role";
  let description = [{
    Roles take whole aligned warpgroups in the order in which they stand; the CTA's size is what they add up to. The
    warp's index is broadcast by `shfl.sync.idx`, so that everything computed from it stays in uniform registers. Before
    the branch, one thread initialises the barriers, a fence makes them visible to the asynchronous proxy, and the CTA
    meets; the tensor maps are prefetched.

    ```mlir
    wg.specialize {
      wg.role @load warps(1) registers(40) { ... }
      wg.role @multiply warpgroups(2) registers(232) { ... }
    }
    // becomes
    %warp = wg.warp_index
    %group = arith.shrui %warp, %c2
    %0 = arith.cmpi ult, %group, %c1
    scf.if %0 {
      wg.set_registers decrease 40    // every warp of the warpgroup, the idle ones too
      %first = arith.cmpi eq, %warp, %c0
      scf.if %first {
        %e = wg.elect                 // one lane issues for the whole role
        scf.if %e { ... }
      }
    } else {
      wg.set_registers increase 232
      ...
    }
    ```

    A role of one warp whose ops are all issued by one thread runs in its elected lane alone. In other roles the op
    that needs one thread finds the elected lane, determined once at the role's start.

    Preconditions: `wg-lower-rings` has run. Does not preserve `wg.specialize`, `wg.role`, `wg.warpgroup_index`.
  }];
  let dependentDialects = ["::girih::wg::WGDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect"];
}

#endif // GIRIH_DIALECT_WG_TRANSFORMS_PASSES_TD
