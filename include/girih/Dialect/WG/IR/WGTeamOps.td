// Roles in the middle of code of the tile phase: what a kernel's author says by hand of a kernel
// whose rest passes arrange.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_WGTEAMOPS_TD
#define GIRIH_DIALECT_WG_IR_WGTEAMOPS_TD

include "girih/Dialect/WG/IR/WGTypes.td"

def WG_TeamOp : WG_Op<"team", [NoTerminator, SingleBlock, RecursiveMemoryEffects,
                               MemoryEffects<[MemWrite<WG_Execution>]>]> {
  let summary = "roles that do one part of a kernel of the tile phase together";
  let description = [{
    Its body holds `wg.role` ops only. One of them, of whole warpgroups, ends in `wg.give`: what it gives are the op's
    results, and it executes all of the kernel that stands outside of teams. The others execute what their own bodies and
    the control flow around the team need, and nothing else. All teams of a kernel have the same roles: the same names,
    warps and registers, in the same order.

    Rings are made at the kernel's entry. A `wg.cursor` at the start of a role stands for the place where the role's
    `wg.keep` of that ring has left it, at first for the ring's start; a role that moves a cursor keeps it.

    Becomes (`tile-specialize`): a `wg.specialize` around clones of the kernel's body, one for each role, in which the team
    is the body of that role, with cursors carried through the loops around it.

    ```mlir
    #acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}
                      repeat {register: [0,8] x 3}>
    !slot = !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>]>
    gpu.module @device {
      gpu.func @product(%a: !wg.view<bf16, box = [64, 64], swizzle = 128>, %b: !wg.view<bf16, box = [24, 64], swizzle = 128>,
                        %row: i32, %column: i32, %steps: i32) kernel {
        %c64 = arith.constant 64 : i32
        %ring = wg.ring : !slot
        %sum = wg.team -> tensor<64x24xf32> {
          wg.role @load warps(1) {
            %p = wg.cursor producer %ring : !slot
            %p1 = wg.fill %ring[%p] count(%steps) as (%k, %sa, %sb) : !slot {
              %at = arith.muli %k, %c64 : i32
              wg.tma_load %a[%row, %at] to %sa : !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.buffer<64x64xbf16, swizzle = 128>
              wg.tma_load %b[%column, %at] to %sb transposed
                  : !wg.view<bf16, box = [24, 64], swizzle = 128>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>
            }
            wg.keep %ring[%p1] : !slot
          }
          wg.role @multiply warpgroups(1) {
            %false = arith.constant false
            %true = arith.constant true
            %acc = wg.acc : !wg.pending<tensor<64x24xf32, #acc>>
            %q = wg.cursor consumer %ring : !slot
            %q1, %d, %w = wg.drain %ring[%q] count(%steps) lag(1) as (%k, %sa, %sb) iter_args(%x = %acc, %z = %false)
                -> (!wg.pending<tensor<64x24xf32, #acc>>, i1) : !slot {
              %y = wg.mma %sa, %sb, %x accumulate(%z)
                  : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>,
                    !wg.pending<tensor<64x24xf32, #acc>>
              wg.yield %y, %true : !wg.pending<tensor<64x24xf32, #acc>>, i1
            }
            %t = wg.wait %d in_flight(0) written(%w) : !wg.pending<tensor<64x24xf32, #acc>> -> tensor<64x24xf32, #acc>
            %u = wg.convert_layout %t : tensor<64x24xf32, #acc> -> tensor<64x24xf32>
            wg.keep %ring[%q1] : !slot
            wg.give %u : tensor<64x24xf32>
          }
        }
        gpu.return
      }
    }
    ```
  }];
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`->` type($results)^)? $body attr-dict";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    auto getRoles() { return getBody().front().getOps<::girih::wg::RoleOp>(); }
    /// The role that gives the results, and executes the rest of the kernel.
    ::girih::wg::RoleOp getGiver();
  }];
}

def WG_KeepOp : WG_Op<"keep", [MemoryEffects<[MemWrite<WG_Execution>]>, HasParent<"::girih::wg::RoleOp">]> {
  let summary = "where a role of a team goes on with a ring the next time";
  let description = [{
    At the end of a role of a `wg.team`, once for each ring whose cursor the role has moved: the next execution of the team,
    or of another one of the kernel, begins there.

    Becomes (`tile-specialize`): nothing; the cursor is carried.

    ```mlir
    gpu.module @device {
      gpu.func @once() kernel {
        %ring = wg.ring : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
        wg.team {
          wg.role @use warpgroups(1) {
            %c = wg.cursor consumer %ring : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
            %b = wg.get %ring[%c] : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
            wg.free %ring[%c] : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
            %d = wg.advance %ring[%c] : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
            wg.keep %ring[%d] : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
            wg.give
          }
        }
        gpu.return
      }
    }
    ```
  }];
  let arguments = (ins WG_AnyRing:$ring, WG_CursorType:$cursor);
  let assemblyFormat = "$ring `[` $cursor `]` attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
}

def WG_GiveOp : WG_Op<"give", [Pure, Terminator, HasParent<"::girih::wg::RoleOp">]> {
  let summary = "the results of a team";
  let description = [{
    The end of the role of a `wg.team` that executes the rest of the kernel.

    Becomes (`tile-specialize`): nothing; its operands stand for the team's results.

    ```mlir
    gpu.module @device {
      gpu.func @one() kernel {
        %n = wg.team -> i32 {
          wg.role @all warpgroups(1) {
            %c1 = arith.constant 1 : i32
            wg.give %c1 : i32
          }
        }
        gpu.return
      }
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$results);
  let assemblyFormat = "($results^ `:` type($results))? attr-dict";
  let hasVerifier = 1;
}

#endif // GIRIH_DIALECT_WG_IR_WGTEAMOPS_TD
