// mma.sync: products of tiles in registers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_WGMMASYNCOPS_TD
#define GIRIH_DIALECT_WG_IR_WGMMASYNCOPS_TD

include "girih/Dialect/WG/IR/WGTypes.td"

def WG_MmaSyncOp : WG_Op<"mma_sync", [Pure, AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "a matrix product of tiles in registers, done when it returns";
  let description = [{
    D = A * B + C for A of M x K, B of K x N and C of M x N, all in the registers of the role's warps: any number of warps,
    of which as many as divide M / 16 share the rows, as many of the others as divide N / 8 the columns, and the rest
    multiply the same as another. The layouts are those of the instruction's fragments (`include/girih/Layout/MmaFragments.h`);
    `wg.convert_layout` and `wg.local_load` lead there. M is a multiple of 16, N of 8.

    | A and B | C and D | K a multiple of |
    |---|---|---|
    | bf16, or f16 | f32 | 16 |
    | tf32, or f32 read as tf32 (its low 13 bits do not count) | f32 | 8 |
    | e4m3 or e5m2, each its own (PTX 8.4 and later) | f32 | 32 |
    | i8, with `unsigned_a` or `unsigned_b` u8, each its own | i32 | 32 |
    | f64 | f64 | 8 |

    Each element of D begins as that of C; instructions add to it in ascending K. Within one instruction the sum is that of
    docs/Numerics.md. For floats of 8 bits sm_90a has no instruction of its own: ptxas multiplies them as f16, exactly, and
    adds C to the sum in f32, so they keep more bits than `wg.mma` does.

    Lowers to: `mma.sync.aligned` of m16n8k16 (16 bits), m16n8k32 (8 bits) or m16n8k8 (tf32, f64), for each 16 rows, 8
    columns and step of K (PTX ISA 9.0, 9.7.14.5.14).

    ```mlir
    #a = #wg.layout<{register: [[0,1],[8,0],[0,8]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]]}>
    #b = #wg.layout<{register: [[1,0],[8,0]], lane: [[2,0],[4,0],[0,1],[0,2],[0,4]]}>
    #c = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]]}>
    func.func @product(%a: tensor<16x16xbf16, #a>, %b: tensor<16x8xbf16, #b>, %c: tensor<16x8xf32, #c>)
        -> tensor<16x8xf32, #c> {
      %d = wg.mma_sync %a, %b, %c : tensor<16x16xbf16, #a>, tensor<16x8xbf16, #b>, tensor<16x8xf32, #c>
      return %d : tensor<16x8xf32, #c>
    }
    ```
  }];
  let arguments = (ins WG_Tile:$a, WG_Tile:$b, WG_Tile:$accumulator, UnitAttr:$unsigned_a, UnitAttr:$unsigned_b);
  let results = (outs WG_Tile:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $accumulator attr-dict `:` qualified(type($a)) `,` qualified(type($b)) `,` qualified(type($accumulator))
  }];
  let hasVerifier = 1;
}

#endif // GIRIH_DIALECT_WG_IR_WGMMASYNCOPS_TD
