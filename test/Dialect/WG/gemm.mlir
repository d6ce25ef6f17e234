// The kernel of the project at wg level, whole: B stored as KxN and as NxK, bf16 and f32 output, two and three consumer
// warpgroups, tiles whose last chunk is narrower, persistent and one tile per CTA. Every form survives printing in the
// pretty and in the generic form.
// RUN: girih-opt %s --split-input-file --mlir-print-debuginfo=false > %t.pretty
// RUN: girih-opt %t.pretty --split-input-file --mlir-print-debuginfo=false | diff %t.pretty -
// RUN: girih-opt %s --split-input-file --mlir-print-debuginfo=false --mlir-print-op-generic > %t.generic
// RUN: girih-opt %t.generic --split-input-file --mlir-print-debuginfo=false | diff %t.pretty -
// RUN: FileCheck %s < %t.pretty

// CHECK-COUNT-2: wg.tma_load
// CHECK: wg.drain {{.*}} lag(1) as (%{{.*}}, %{{.*}}, %{{.*}}) iter_args
// CHECK-NEXT: wg.mma {{.*}} accumulate(
// CHECK: wg.wait {{.*}} in_flight(0) written(
// CHECK-COUNT-4: wg.tma_store

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 32, warpgroup: [64,0] x 2}>
#part = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8, warpgroup: [64,0] x 2}>
module attributes {girih.sources = [{name = "kn_bf16", file = "gemm.py", line = 12 : i64}]} {
  gpu.module @kn_bf16_device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
    gpu.func @kn_bf16(%A: !wg.view<bf16, box = [128, 64], swizzle = 128>, %B: !wg.view<bf16, box = [64, 64], swizzle = 128>, %C: !wg.view<bf16, box = [64, 64], swizzle = 128>, %M: i32, %N: i32, %K: i32) kernel {
      %c1 = arith.constant 1 : i32
      %c8 = arith.constant 8 : i32
      %c64 = arith.constant 64 : i32
      %c128 = arith.constant 128 : i32
      %c192 = arith.constant 192 : i32
      %c256 = arith.constant 256 : i32
      %false = arith.constant false
      %true = arith.constant true
      %ring = wg.ring : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x256xbf16, swizzle = 128>]>
      %out = wg.store_ring {stages = 2 : i32} : !wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>
      %nk = arith.ceildivsi %K, %c64 : i32
      %tm = arith.ceildivsi %M, %c128 : i32
      %tn = arith.ceildivsi %N, %c256 : i32
      %tiles = arith.muli %tm, %tn : i32
      %x = gpu.block_id x
      %bid = arith.index_cast %x : index to i32
      %g = gpu.grid_dim x
      %ctas = arith.index_cast %g : index to i32
      wg.specialize {
        wg.role @load warps(1) registers(40) {
          %p0 = wg.cursor producer %ring : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x256xbf16, swizzle = 128>]>
          %pn = scf.for %t = %bid to %tiles step %ctas iter_args(%p = %p0) -> (!wg.cursor) : i32 {
            %group = arith.muli %c8, %tn : i32
            %first = arith.divsi %t, %group : i32
            %m0 = arith.muli %first, %c8 : i32
            %left = arith.subi %tm, %m0 : i32
            %rows = arith.minsi %left, %c8 : i32
            %in = arith.remsi %t, %group : i32
            %mi = arith.remsi %in, %rows : i32
            %m = arith.addi %m0, %mi : i32
            %n = arith.divsi %in, %rows : i32
            %row = arith.muli %m, %c128 : i32
            %col = arith.muli %n, %c256 : i32
            %p1 = wg.fill %ring[%p] count(%nk) as (%k, %sa, %sb) : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x256xbf16, swizzle = 128>]> {
              %kk = arith.muli %k, %c64 : i32
              wg.tma_load %A[%row, %kk] to %sa : !wg.view<bf16, box = [128, 64], swizzle = 128>, !wg.buffer<128x64xbf16, swizzle = 128>
              wg.tma_load %B[%kk, %col] to %sb : !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.buffer<64x256xbf16, swizzle = 128>
            }
            scf.yield %p1 : !wg.cursor
          }
        }
        wg.role @multiply warpgroups(2) registers(232) {
          %q0 = wg.cursor consumer %ring : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x256xbf16, swizzle = 128>]>
          %o0 = wg.cursor producer %out : !wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>
          %qn, %on = scf.for %t = %bid to %tiles step %ctas iter_args(%q = %q0, %o = %o0) -> (!wg.cursor, !wg.cursor) : i32 {
            %group = arith.muli %c8, %tn : i32
            %first = arith.divsi %t, %group : i32
            %m0 = arith.muli %first, %c8 : i32
            %left = arith.subi %tm, %m0 : i32
            %rows = arith.minsi %left, %c8 : i32
            %in = arith.remsi %t, %group : i32
            %mi = arith.remsi %in, %rows : i32
            %m = arith.addi %m0, %mi : i32
            %n = arith.divsi %in, %rows : i32
            %row = arith.muli %m, %c128 : i32
            %col = arith.muli %n, %c256 : i32
            %acc0 = wg.acc : !wg.pending<tensor<128x256xf32, #acc>>
            %q1, %acc1, %w1 = wg.drain %ring[%q] count(%nk) lag(1) as (%k, %sa, %sb) iter_args(%acc = %acc0, %w = %false) -> (!wg.pending<tensor<128x256xf32, #acc>>, i1) : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x256xbf16, swizzle = 128>]> {
              %d = wg.mma %sa, %sb, %acc accumulate(%w) : !wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x256xbf16, swizzle = 128>, !wg.pending<tensor<128x256xf32, #acc>>
              wg.yield %d, %true : !wg.pending<tensor<128x256xf32, #acc>>, i1
            }
            %sum = wg.wait %acc1 in_flight(0) written(%w1) : !wg.pending<tensor<128x256xf32, #acc>> -> tensor<128x256xf32, #acc>
            %h0 = wg.slice %sum[0, 0] : tensor<128x256xf32, #acc> -> tensor<128x64xf32, #part>
            %r0 = arith.truncf %h0 : tensor<128x64xf32, #part> to tensor<128x64xbf16, #part>
            %s0 = wg.store_acquire %out[%o] : !wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>
            wg.local_store %r0 to %s0 : tensor<128x64xbf16, #part>, !wg.buffer<128x64xbf16, swizzle = 128>
            wg.tma_store %s0 to %C[%row, %col] : !wg.buffer<128x64xbf16, swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>
            wg.store_commit %out[%o] : !wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>
            %o1 = wg.advance %out[%o] : !wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>
            %h1 = wg.slice %sum[0, 64] : tensor<128x256xf32, #acc> -> tensor<128x64xf32, #part>
            %r1 = arith.truncf %h1 : tensor<128x64xf32, #part> to tensor<128x64xbf16, #part>
            %s1 = wg.store_acquire %out[%o1] : !wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>
            wg.local_store %r1 to %s1 : tensor<128x64xbf16, #part>, !wg.buffer<128x64xbf16, swizzle = 128>
            %col1 = arith.addi %col, %c64 : i32
            wg.tma_store %s1 to %C[%row, %col1] : !wg.buffer<128x64xbf16, swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>
            wg.store_commit %out[%o1] : !wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>
            %o2 = wg.advance %out[%o1] : !wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>
            %h2 = wg.slice %sum[0, 128] : tensor<128x256xf32, #acc> -> tensor<128x64xf32, #part>
            %r2 = arith.truncf %h2 : tensor<128x64xf32, #part> to tensor<128x64xbf16, #part>
            %s2 = wg.store_acquire %out[%o2] : !wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>
            wg.local_store %r2 to %s2 : tensor<128x64xbf16, #part>, !wg.buffer<128x64xbf16, swizzle = 128>
            %col2 = arith.addi %col, %c128 : i32
            wg.tma_store %s2 to %C[%row, %col2] : !wg.buffer<128x64xbf16, swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>
            wg.store_commit %out[%o2] : !wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>
            %o3 = wg.advance %out[%o2] : !wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>
            %h3 = wg.slice %sum[0, 192] : tensor<128x256xf32, #acc> -> tensor<128x64xf32, #part>
            %r3 = arith.truncf %h3 : tensor<128x64xf32, #part> to tensor<128x64xbf16, #part>
            %s3 = wg.store_acquire %out[%o3] : !wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>
            wg.local_store %r3 to %s3 : tensor<128x64xbf16, #part>, !wg.buffer<128x64xbf16, swizzle = 128>
            %col3 = arith.addi %col, %c192 : i32
            wg.tma_store %s3 to %C[%row, %col3] : !wg.buffer<128x64xbf16, swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>
            wg.store_commit %out[%o3] : !wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>
            %o4 = wg.advance %out[%o3] : !wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>
            scf.yield %q1, %o4 : !wg.cursor, !wg.cursor
          }
        }
      }
      gpu.return
    }
  }
  plan.host @kn_bf16(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>, %b: !plan.array<bf16, rank = 2, contiguous = 1, in>, %c: !plan.array<bf16, rank = 2, contiguous = 1, out>) attributes {arg_names = ["a", "b", "c"]} {
    %m = plan.dim %a[0] : !plan.array<bf16, rank = 2, contiguous = 1, in>
    %k = plan.dim %a[1] : !plan.array<bf16, rank = 2, contiguous = 1, in>
    %kb = plan.dim %b[0] : !plan.array<bf16, rank = 2, contiguous = 1, in>
    %n = plan.dim %b[1] : !plan.array<bf16, rank = 2, contiguous = 1, in>
    %sameK = arith.cmpi eq, %k, %kb : i64
    plan.require %sameK, "a has K = {0}, b has K = {1}: dimensions named K must agree"(%k, %kb)
    %bm = arith.constant 128 : i64
    %bn = arith.constant 256 : i64
    %one = arith.constant 1 : i64
    %tm = arith.ceildivsi %m, %bm : i64
    %tn = arith.ceildivsi %n, %bn : i64
    %tiles = arith.muli %tm, %tn : i64
    %sms = plan.query multiprocessor_count
    %grid = arith.minsi %tiles, %sms : i64
    %va = plan.tensor_map %a : !plan.array<bf16, rank = 2, contiguous = 1, in> -> !wg.view<bf16, box = [128, 64], swizzle = 128>
    %vb = plan.tensor_map %b : !plan.array<bf16, rank = 2, contiguous = 1, in> -> !wg.view<bf16, box = [64, 64], swizzle = 128>
    %vc = plan.tensor_map %c : !plan.array<bf16, rank = 2, contiguous = 1, out> -> !wg.view<bf16, box = [64, 64], swizzle = 128>
    %m32 = arith.trunci %m : i64 to i32
    %n32 = arith.trunci %n : i64 to i32
    %k32 = arith.trunci %k : i64 to i32
    plan.launch @kn_bf16_device::@kn_bf16 grid(%grid, %one, %one) args(%va, %vb, %vc, %m32, %n32, %k32) : !wg.view<bf16, box = [128, 64], swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>, i32, i32, i32
  }
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 32, warpgroup: [64,0] x 2}>
#part = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 4, warpgroup: [64,0] x 2}>
module attributes {girih.sources = [{name = "nk_f32", file = "gemm.py", line = 12 : i64}]} {
  gpu.module @nk_f32_device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
    gpu.func @nk_f32(%A: !wg.view<bf16, box = [128, 64], swizzle = 128>, %B: !wg.view<bf16, box = [64, 256], order = [0, 1], swizzle = 128>, %C: !wg.view<f32, box = [64, 32], swizzle = 128>, %M: i32, %N: i32, %K: i32) kernel {
      %c1 = arith.constant 1 : i32
      %c8 = arith.constant 8 : i32
      %c32 = arith.constant 32 : i32
      %c64 = arith.constant 64 : i32
      %c96 = arith.constant 96 : i32
      %c128 = arith.constant 128 : i32
      %c160 = arith.constant 160 : i32
      %c192 = arith.constant 192 : i32
      %c224 = arith.constant 224 : i32
      %c256 = arith.constant 256 : i32
      %false = arith.constant false
      %true = arith.constant true
      %ring = wg.ring : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x256xbf16, order = [0, 1], swizzle = 128>]>
      %out = wg.store_ring {stages = 2 : i32} : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
      %nk = arith.ceildivsi %K, %c64 : i32
      %tm = arith.ceildivsi %M, %c128 : i32
      %tn = arith.ceildivsi %N, %c256 : i32
      %tiles = arith.muli %tm, %tn : i32
      %x = gpu.block_id x
      %bid = arith.index_cast %x : index to i32
      %g = gpu.grid_dim x
      %ctas = arith.index_cast %g : index to i32
      wg.specialize {
        wg.role @load warps(1) registers(40) {
          %p0 = wg.cursor producer %ring : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x256xbf16, order = [0, 1], swizzle = 128>]>
          %pn = scf.for %t = %bid to %tiles step %ctas iter_args(%p = %p0) -> (!wg.cursor) : i32 {
            %group = arith.muli %c8, %tn : i32
            %first = arith.divsi %t, %group : i32
            %m0 = arith.muli %first, %c8 : i32
            %left = arith.subi %tm, %m0 : i32
            %rows = arith.minsi %left, %c8 : i32
            %in = arith.remsi %t, %group : i32
            %mi = arith.remsi %in, %rows : i32
            %m = arith.addi %m0, %mi : i32
            %n = arith.divsi %in, %rows : i32
            %row = arith.muli %m, %c128 : i32
            %col = arith.muli %n, %c256 : i32
            %p1 = wg.fill %ring[%p] count(%nk) as (%k, %sa, %sb) : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x256xbf16, order = [0, 1], swizzle = 128>]> {
              %kk = arith.muli %k, %c64 : i32
              wg.tma_load %A[%row, %kk] to %sa : !wg.view<bf16, box = [128, 64], swizzle = 128>, !wg.buffer<128x64xbf16, swizzle = 128>
              wg.tma_load %B[%kk, %col] to %sb : !wg.view<bf16, box = [64, 256], order = [0, 1], swizzle = 128>, !wg.buffer<64x256xbf16, order = [0, 1], swizzle = 128>
            }
            scf.yield %p1 : !wg.cursor
          }
        }
        wg.role @multiply warpgroups(2) registers(232) {
          %q0 = wg.cursor consumer %ring : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x256xbf16, order = [0, 1], swizzle = 128>]>
          %o0 = wg.cursor producer %out : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
          %qn, %on = scf.for %t = %bid to %tiles step %ctas iter_args(%q = %q0, %o = %o0) -> (!wg.cursor, !wg.cursor) : i32 {
            %group = arith.muli %c8, %tn : i32
            %first = arith.divsi %t, %group : i32
            %m0 = arith.muli %first, %c8 : i32
            %left = arith.subi %tm, %m0 : i32
            %rows = arith.minsi %left, %c8 : i32
            %in = arith.remsi %t, %group : i32
            %mi = arith.remsi %in, %rows : i32
            %m = arith.addi %m0, %mi : i32
            %n = arith.divsi %in, %rows : i32
            %row = arith.muli %m, %c128 : i32
            %col = arith.muli %n, %c256 : i32
            %acc0 = wg.acc : !wg.pending<tensor<128x256xf32, #acc>>
            %q1, %acc1, %w1 = wg.drain %ring[%q] count(%nk) lag(1) as (%k, %sa, %sb) iter_args(%acc = %acc0, %w = %false) -> (!wg.pending<tensor<128x256xf32, #acc>>, i1) : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x256xbf16, order = [0, 1], swizzle = 128>]> {
              %d = wg.mma %sa, %sb, %acc accumulate(%w) : !wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x256xbf16, order = [0, 1], swizzle = 128>, !wg.pending<tensor<128x256xf32, #acc>>
              wg.yield %d, %true : !wg.pending<tensor<128x256xf32, #acc>>, i1
            }
            %sum = wg.wait %acc1 in_flight(0) written(%w1) : !wg.pending<tensor<128x256xf32, #acc>> -> tensor<128x256xf32, #acc>
            %h0 = wg.slice %sum[0, 0] : tensor<128x256xf32, #acc> -> tensor<128x32xf32, #part>
            %s0 = wg.store_acquire %out[%o] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            wg.local_store %h0 to %s0 : tensor<128x32xf32, #part>, !wg.buffer<128x32xf32, swizzle = 128>
            wg.tma_store %s0 to %C[%row, %col] : !wg.buffer<128x32xf32, swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>
            wg.store_commit %out[%o] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %o1 = wg.advance %out[%o] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %h1 = wg.slice %sum[0, 32] : tensor<128x256xf32, #acc> -> tensor<128x32xf32, #part>
            %s1 = wg.store_acquire %out[%o1] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            wg.local_store %h1 to %s1 : tensor<128x32xf32, #part>, !wg.buffer<128x32xf32, swizzle = 128>
            %col1 = arith.addi %col, %c32 : i32
            wg.tma_store %s1 to %C[%row, %col1] : !wg.buffer<128x32xf32, swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>
            wg.store_commit %out[%o1] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %o2 = wg.advance %out[%o1] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %h2 = wg.slice %sum[0, 64] : tensor<128x256xf32, #acc> -> tensor<128x32xf32, #part>
            %s2 = wg.store_acquire %out[%o2] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            wg.local_store %h2 to %s2 : tensor<128x32xf32, #part>, !wg.buffer<128x32xf32, swizzle = 128>
            %col2 = arith.addi %col, %c64 : i32
            wg.tma_store %s2 to %C[%row, %col2] : !wg.buffer<128x32xf32, swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>
            wg.store_commit %out[%o2] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %o3 = wg.advance %out[%o2] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %h3 = wg.slice %sum[0, 96] : tensor<128x256xf32, #acc> -> tensor<128x32xf32, #part>
            %s3 = wg.store_acquire %out[%o3] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            wg.local_store %h3 to %s3 : tensor<128x32xf32, #part>, !wg.buffer<128x32xf32, swizzle = 128>
            %col3 = arith.addi %col, %c96 : i32
            wg.tma_store %s3 to %C[%row, %col3] : !wg.buffer<128x32xf32, swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>
            wg.store_commit %out[%o3] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %o4 = wg.advance %out[%o3] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %h4 = wg.slice %sum[0, 128] : tensor<128x256xf32, #acc> -> tensor<128x32xf32, #part>
            %s4 = wg.store_acquire %out[%o4] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            wg.local_store %h4 to %s4 : tensor<128x32xf32, #part>, !wg.buffer<128x32xf32, swizzle = 128>
            %col4 = arith.addi %col, %c128 : i32
            wg.tma_store %s4 to %C[%row, %col4] : !wg.buffer<128x32xf32, swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>
            wg.store_commit %out[%o4] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %o5 = wg.advance %out[%o4] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %h5 = wg.slice %sum[0, 160] : tensor<128x256xf32, #acc> -> tensor<128x32xf32, #part>
            %s5 = wg.store_acquire %out[%o5] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            wg.local_store %h5 to %s5 : tensor<128x32xf32, #part>, !wg.buffer<128x32xf32, swizzle = 128>
            %col5 = arith.addi %col, %c160 : i32
            wg.tma_store %s5 to %C[%row, %col5] : !wg.buffer<128x32xf32, swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>
            wg.store_commit %out[%o5] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %o6 = wg.advance %out[%o5] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %h6 = wg.slice %sum[0, 192] : tensor<128x256xf32, #acc> -> tensor<128x32xf32, #part>
            %s6 = wg.store_acquire %out[%o6] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            wg.local_store %h6 to %s6 : tensor<128x32xf32, #part>, !wg.buffer<128x32xf32, swizzle = 128>
            %col6 = arith.addi %col, %c192 : i32
            wg.tma_store %s6 to %C[%row, %col6] : !wg.buffer<128x32xf32, swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>
            wg.store_commit %out[%o6] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %o7 = wg.advance %out[%o6] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %h7 = wg.slice %sum[0, 224] : tensor<128x256xf32, #acc> -> tensor<128x32xf32, #part>
            %s7 = wg.store_acquire %out[%o7] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            wg.local_store %h7 to %s7 : tensor<128x32xf32, #part>, !wg.buffer<128x32xf32, swizzle = 128>
            %col7 = arith.addi %col, %c224 : i32
            wg.tma_store %s7 to %C[%row, %col7] : !wg.buffer<128x32xf32, swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>
            wg.store_commit %out[%o7] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %o8 = wg.advance %out[%o7] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            scf.yield %q1, %o8 : !wg.cursor, !wg.cursor
          }
        }
      }
      gpu.return
    }
  }
  plan.host @nk_f32(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>, %b: !plan.array<bf16, rank = 2, contiguous = 0, in>, %c: !plan.array<f32, rank = 2, contiguous = 1, out>) attributes {arg_names = ["a", "b", "c"]} {
    %m = plan.dim %a[0] : !plan.array<bf16, rank = 2, contiguous = 1, in>
    %k = plan.dim %a[1] : !plan.array<bf16, rank = 2, contiguous = 1, in>
    %kb = plan.dim %b[0] : !plan.array<bf16, rank = 2, contiguous = 0, in>
    %n = plan.dim %b[1] : !plan.array<bf16, rank = 2, contiguous = 0, in>
    %sameK = arith.cmpi eq, %k, %kb : i64
    plan.require %sameK, "a has K = {0}, b has K = {1}: dimensions named K must agree"(%k, %kb)
    %bm = arith.constant 128 : i64
    %bn = arith.constant 256 : i64
    %one = arith.constant 1 : i64
    %tm = arith.ceildivsi %m, %bm : i64
    %tn = arith.ceildivsi %n, %bn : i64
    %tiles = arith.muli %tm, %tn : i64
    %sms = plan.query multiprocessor_count
    %grid = arith.minsi %tiles, %sms : i64
    %va = plan.tensor_map %a : !plan.array<bf16, rank = 2, contiguous = 1, in> -> !wg.view<bf16, box = [128, 64], swizzle = 128>
    %vb = plan.tensor_map %b : !plan.array<bf16, rank = 2, contiguous = 0, in> -> !wg.view<bf16, box = [64, 256], order = [0, 1], swizzle = 128>
    %vc = plan.tensor_map %c : !plan.array<f32, rank = 2, contiguous = 1, out> -> !wg.view<f32, box = [64, 32], swizzle = 128>
    %m32 = arith.trunci %m : i64 to i32
    %n32 = arith.trunci %n : i64 to i32
    %k32 = arith.trunci %k : i64 to i32
    plan.launch @nk_f32_device::@nk_f32 grid(%grid, %one, %one) args(%va, %vb, %vc, %m32, %n32, %k32) : !wg.view<bf16, box = [128, 64], swizzle = 128>, !wg.view<bf16, box = [64, 256], order = [0, 1], swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>, i32, i32, i32
  }
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 22, warpgroup: [64,0] x 3}>
#part = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8, warpgroup: [64,0] x 3}>
#last = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 6, warpgroup: [64,0] x 3}>
module attributes {girih.sources = [{name = "nk_bf16_192x176", file = "gemm.py", line = 12 : i64}]} {
  gpu.module @nk_bf16_192x176_device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
    gpu.func @nk_bf16_192x176(%A: !wg.view<bf16, box = [192, 64], swizzle = 128>, %B: !wg.view<bf16, box = [64, 176], order = [0, 1], swizzle = 128>, %C: !wg.view<bf16, box = [64, 64], swizzle = 128>, %L: !wg.view<bf16, box = [64, 48], swizzle = 128>, %M: i32, %N: i32, %K: i32) kernel {
      %c1 = arith.constant 1 : i32
      %c8 = arith.constant 8 : i32
      %c64 = arith.constant 64 : i32
      %c128 = arith.constant 128 : i32
      %c176 = arith.constant 176 : i32
      %c192 = arith.constant 192 : i32
      %false = arith.constant false
      %true = arith.constant true
      %ring = wg.ring : !wg.ring<[!wg.buffer<192x64xbf16, swizzle = 128>, !wg.buffer<64x176xbf16, order = [0, 1], swizzle = 128>]>
      %out = wg.store_ring {stages = 2 : i32} : !wg.store_ring<!wg.buffer<192x64xbf16, swizzle = 128>>
      %nk = arith.ceildivsi %K, %c64 : i32
      %tm = arith.ceildivsi %M, %c192 : i32
      %tn = arith.ceildivsi %N, %c176 : i32
      %tiles = arith.muli %tm, %tn : i32
      %x = gpu.block_id x
      %bid = arith.index_cast %x : index to i32
      wg.specialize {
        wg.role @load warps(1) registers(32) {
          %p0 = wg.cursor producer %ring : !wg.ring<[!wg.buffer<192x64xbf16, swizzle = 128>, !wg.buffer<64x176xbf16, order = [0, 1], swizzle = 128>]>
          %group = arith.muli %c8, %tn : i32
          %first = arith.divsi %bid, %group : i32
          %m0 = arith.muli %first, %c8 : i32
          %left = arith.subi %tm, %m0 : i32
          %rows = arith.minsi %left, %c8 : i32
          %in = arith.remsi %bid, %group : i32
          %mi = arith.remsi %in, %rows : i32
          %m = arith.addi %m0, %mi : i32
          %n = arith.divsi %in, %rows : i32
          %row = arith.muli %m, %c192 : i32
          %col = arith.muli %n, %c176 : i32
          %p1 = wg.fill %ring[%p0] count(%nk) as (%k, %sa, %sb) : !wg.ring<[!wg.buffer<192x64xbf16, swizzle = 128>, !wg.buffer<64x176xbf16, order = [0, 1], swizzle = 128>]> {
            %kk = arith.muli %k, %c64 : i32
            wg.tma_load %A[%row, %kk] to %sa : !wg.view<bf16, box = [192, 64], swizzle = 128>, !wg.buffer<192x64xbf16, swizzle = 128>
            wg.tma_load %B[%kk, %col] to %sb : !wg.view<bf16, box = [64, 176], order = [0, 1], swizzle = 128>, !wg.buffer<64x176xbf16, order = [0, 1], swizzle = 128>
          }
        }
        wg.role @multiply warpgroups(3) registers(160) {
          %q0 = wg.cursor consumer %ring : !wg.ring<[!wg.buffer<192x64xbf16, swizzle = 128>, !wg.buffer<64x176xbf16, order = [0, 1], swizzle = 128>]>
          %o0 = wg.cursor producer %out : !wg.store_ring<!wg.buffer<192x64xbf16, swizzle = 128>>
          %group = arith.muli %c8, %tn : i32
          %first = arith.divsi %bid, %group : i32
          %m0 = arith.muli %first, %c8 : i32
          %left = arith.subi %tm, %m0 : i32
          %rows = arith.minsi %left, %c8 : i32
          %in = arith.remsi %bid, %group : i32
          %mi = arith.remsi %in, %rows : i32
          %m = arith.addi %m0, %mi : i32
          %n = arith.divsi %in, %rows : i32
          %row = arith.muli %m, %c192 : i32
          %col = arith.muli %n, %c176 : i32
          %acc0 = wg.acc : !wg.pending<tensor<192x176xf32, #acc>>
          %q1, %acc1, %w1 = wg.drain %ring[%q0] count(%nk) lag(1) as (%k, %sa, %sb) iter_args(%acc = %acc0, %w = %false) -> (!wg.pending<tensor<192x176xf32, #acc>>, i1) : !wg.ring<[!wg.buffer<192x64xbf16, swizzle = 128>, !wg.buffer<64x176xbf16, order = [0, 1], swizzle = 128>]> {
            %d = wg.mma %sa, %sb, %acc accumulate(%w) : !wg.buffer<192x64xbf16, swizzle = 128>, !wg.buffer<64x176xbf16, order = [0, 1], swizzle = 128>, !wg.pending<tensor<192x176xf32, #acc>>
            wg.yield %d, %true : !wg.pending<tensor<192x176xf32, #acc>>, i1
          }
          %sum = wg.wait %acc1 in_flight(0) written(%w1) : !wg.pending<tensor<192x176xf32, #acc>> -> tensor<192x176xf32, #acc>
          %h0 = wg.slice %sum[0, 0] : tensor<192x176xf32, #acc> -> tensor<192x64xf32, #part>
          %r0 = arith.truncf %h0 : tensor<192x64xf32, #part> to tensor<192x64xbf16, #part>
          %s0 = wg.store_acquire %out[%o0] : !wg.store_ring<!wg.buffer<192x64xbf16, swizzle = 128>>
          wg.local_store %r0 to %s0 : tensor<192x64xbf16, #part>, !wg.buffer<192x64xbf16, swizzle = 128>
          wg.tma_store %s0 to %C[%row, %col] : !wg.buffer<192x64xbf16, swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>
          wg.store_commit %out[%o0] : !wg.store_ring<!wg.buffer<192x64xbf16, swizzle = 128>>
          %o1 = wg.advance %out[%o0] : !wg.store_ring<!wg.buffer<192x64xbf16, swizzle = 128>>
          %h1 = wg.slice %sum[0, 64] : tensor<192x176xf32, #acc> -> tensor<192x64xf32, #part>
          %r1 = arith.truncf %h1 : tensor<192x64xf32, #part> to tensor<192x64xbf16, #part>
          %s1 = wg.store_acquire %out[%o1] : !wg.store_ring<!wg.buffer<192x64xbf16, swizzle = 128>>
          wg.local_store %r1 to %s1 : tensor<192x64xbf16, #part>, !wg.buffer<192x64xbf16, swizzle = 128>
          %col1 = arith.addi %col, %c64 : i32
          wg.tma_store %s1 to %C[%row, %col1] : !wg.buffer<192x64xbf16, swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>
          wg.store_commit %out[%o1] : !wg.store_ring<!wg.buffer<192x64xbf16, swizzle = 128>>
          %o2 = wg.advance %out[%o1] : !wg.store_ring<!wg.buffer<192x64xbf16, swizzle = 128>>
          %h2 = wg.slice %sum[0, 128] : tensor<192x176xf32, #acc> -> tensor<192x48xf32, #last>
          %r2 = arith.truncf %h2 : tensor<192x48xf32, #last> to tensor<192x48xbf16, #last>
          %s2 = wg.store_acquire %out[%o2] : !wg.store_ring<!wg.buffer<192x64xbf16, swizzle = 128>>
          %n2 = wg.subbuffer %s2[0, 0] : !wg.buffer<192x64xbf16, swizzle = 128> -> !wg.buffer<192x48xbf16, swizzle = 128>
          wg.local_store %r2 to %n2 : tensor<192x48xbf16, #last>, !wg.buffer<192x48xbf16, swizzle = 128>
          %col2 = arith.addi %col, %c128 : i32
          wg.tma_store %n2 to %L[%row, %col2] : !wg.buffer<192x48xbf16, swizzle = 128>, !wg.view<bf16, box = [64, 48], swizzle = 128>
          wg.store_commit %out[%o2] : !wg.store_ring<!wg.buffer<192x64xbf16, swizzle = 128>>
          %o3 = wg.advance %out[%o2] : !wg.store_ring<!wg.buffer<192x64xbf16, swizzle = 128>>
        }
      }
      gpu.return
    }
  }
  plan.host @nk_bf16_192x176(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>, %b: !plan.array<bf16, rank = 2, contiguous = 0, in>, %c: !plan.array<bf16, rank = 2, contiguous = 1, out>) attributes {arg_names = ["a", "b", "c"]} {
    %m = plan.dim %a[0] : !plan.array<bf16, rank = 2, contiguous = 1, in>
    %k = plan.dim %a[1] : !plan.array<bf16, rank = 2, contiguous = 1, in>
    %kb = plan.dim %b[0] : !plan.array<bf16, rank = 2, contiguous = 0, in>
    %n = plan.dim %b[1] : !plan.array<bf16, rank = 2, contiguous = 0, in>
    %sameK = arith.cmpi eq, %k, %kb : i64
    plan.require %sameK, "a has K = {0}, b has K = {1}: dimensions named K must agree"(%k, %kb)
    %bm = arith.constant 192 : i64
    %bn = arith.constant 176 : i64
    %one = arith.constant 1 : i64
    %tm = arith.ceildivsi %m, %bm : i64
    %tn = arith.ceildivsi %n, %bn : i64
    %tiles = arith.muli %tm, %tn : i64
    %va = plan.tensor_map %a : !plan.array<bf16, rank = 2, contiguous = 1, in> -> !wg.view<bf16, box = [192, 64], swizzle = 128>
    %vb = plan.tensor_map %b : !plan.array<bf16, rank = 2, contiguous = 0, in> -> !wg.view<bf16, box = [64, 176], order = [0, 1], swizzle = 128>
    %vc = plan.tensor_map %c : !plan.array<bf16, rank = 2, contiguous = 1, out> -> !wg.view<bf16, box = [64, 64], swizzle = 128>
    %vl = plan.tensor_map %c : !plan.array<bf16, rank = 2, contiguous = 1, out> -> !wg.view<bf16, box = [64, 48], swizzle = 128>
    %m32 = arith.trunci %m : i64 to i32
    %n32 = arith.trunci %n : i64 to i32
    %k32 = arith.trunci %k : i64 to i32
    plan.launch @nk_bf16_192x176_device::@nk_bf16_192x176 grid(%tiles, %one, %one) args(%va, %vb, %vc, %vl, %m32, %n32, %k32) : !wg.view<bf16, box = [192, 64], swizzle = 128>, !wg.view<bf16, box = [64, 176], order = [0, 1], swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.view<bf16, box = [64, 48], swizzle = 128>, i32, i32, i32
  }
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 18, warpgroup: [64,0] x 2}>
#part = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 4, warpgroup: [64,0] x 2}>
#last = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 2, warpgroup: [64,0] x 2}>
module attributes {girih.sources = [{name = "nk_f32_128x144", file = "gemm.py", line = 12 : i64}]} {
  gpu.module @nk_f32_128x144_device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
    gpu.func @nk_f32_128x144(%A: !wg.view<bf16, box = [128, 64], swizzle = 128>, %B: !wg.view<bf16, box = [64, 144], order = [0, 1], swizzle = 128>, %C: !wg.view<f32, box = [64, 32], swizzle = 128>, %L: !wg.view<f32, box = [64, 16], swizzle = 128>, %M: i32, %N: i32, %K: i32) kernel {
      %c1 = arith.constant 1 : i32
      %c8 = arith.constant 8 : i32
      %c32 = arith.constant 32 : i32
      %c64 = arith.constant 64 : i32
      %c96 = arith.constant 96 : i32
      %c128 = arith.constant 128 : i32
      %c144 = arith.constant 144 : i32
      %false = arith.constant false
      %true = arith.constant true
      %ring = wg.ring : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x144xbf16, order = [0, 1], swizzle = 128>]>
      %out = wg.store_ring {stages = 2 : i32} : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
      %nk = arith.ceildivsi %K, %c64 : i32
      %tm = arith.ceildivsi %M, %c128 : i32
      %tn = arith.ceildivsi %N, %c144 : i32
      %tiles = arith.muli %tm, %tn : i32
      %x = gpu.block_id x
      %bid = arith.index_cast %x : index to i32
      %g = gpu.grid_dim x
      %ctas = arith.index_cast %g : index to i32
      wg.specialize {
        wg.role @load warps(1) registers(40) {
          %p0 = wg.cursor producer %ring : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x144xbf16, order = [0, 1], swizzle = 128>]>
          %pn = scf.for %t = %bid to %tiles step %ctas iter_args(%p = %p0) -> (!wg.cursor) : i32 {
            %group = arith.muli %c8, %tn : i32
            %first = arith.divsi %t, %group : i32
            %m0 = arith.muli %first, %c8 : i32
            %left = arith.subi %tm, %m0 : i32
            %rows = arith.minsi %left, %c8 : i32
            %in = arith.remsi %t, %group : i32
            %mi = arith.remsi %in, %rows : i32
            %m = arith.addi %m0, %mi : i32
            %n = arith.divsi %in, %rows : i32
            %row = arith.muli %m, %c128 : i32
            %col = arith.muli %n, %c144 : i32
            %p1 = wg.fill %ring[%p] count(%nk) as (%k, %sa, %sb) : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x144xbf16, order = [0, 1], swizzle = 128>]> {
              %kk = arith.muli %k, %c64 : i32
              wg.tma_load %A[%row, %kk] to %sa : !wg.view<bf16, box = [128, 64], swizzle = 128>, !wg.buffer<128x64xbf16, swizzle = 128>
              wg.tma_load %B[%kk, %col] to %sb : !wg.view<bf16, box = [64, 144], order = [0, 1], swizzle = 128>, !wg.buffer<64x144xbf16, order = [0, 1], swizzle = 128>
            }
            scf.yield %p1 : !wg.cursor
          }
        }
        wg.role @multiply warpgroups(2) registers(232) {
          %q0 = wg.cursor consumer %ring : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x144xbf16, order = [0, 1], swizzle = 128>]>
          %o0 = wg.cursor producer %out : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
          %qn, %on = scf.for %t = %bid to %tiles step %ctas iter_args(%q = %q0, %o = %o0) -> (!wg.cursor, !wg.cursor) : i32 {
            %group = arith.muli %c8, %tn : i32
            %first = arith.divsi %t, %group : i32
            %m0 = arith.muli %first, %c8 : i32
            %left = arith.subi %tm, %m0 : i32
            %rows = arith.minsi %left, %c8 : i32
            %in = arith.remsi %t, %group : i32
            %mi = arith.remsi %in, %rows : i32
            %m = arith.addi %m0, %mi : i32
            %n = arith.divsi %in, %rows : i32
            %row = arith.muli %m, %c128 : i32
            %col = arith.muli %n, %c144 : i32
            %acc0 = wg.acc : !wg.pending<tensor<128x144xf32, #acc>>
            %q1, %acc1, %w1 = wg.drain %ring[%q] count(%nk) lag(1) as (%k, %sa, %sb) iter_args(%acc = %acc0, %w = %false) -> (!wg.pending<tensor<128x144xf32, #acc>>, i1) : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x144xbf16, order = [0, 1], swizzle = 128>]> {
              %d = wg.mma %sa, %sb, %acc accumulate(%w) : !wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x144xbf16, order = [0, 1], swizzle = 128>, !wg.pending<tensor<128x144xf32, #acc>>
              wg.yield %d, %true : !wg.pending<tensor<128x144xf32, #acc>>, i1
            }
            %sum = wg.wait %acc1 in_flight(0) written(%w1) : !wg.pending<tensor<128x144xf32, #acc>> -> tensor<128x144xf32, #acc>
            %h0 = wg.slice %sum[0, 0] : tensor<128x144xf32, #acc> -> tensor<128x32xf32, #part>
            %s0 = wg.store_acquire %out[%o] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            wg.local_store %h0 to %s0 : tensor<128x32xf32, #part>, !wg.buffer<128x32xf32, swizzle = 128>
            wg.tma_store %s0 to %C[%row, %col] : !wg.buffer<128x32xf32, swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>
            wg.store_commit %out[%o] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %o1 = wg.advance %out[%o] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %h1 = wg.slice %sum[0, 32] : tensor<128x144xf32, #acc> -> tensor<128x32xf32, #part>
            %s1 = wg.store_acquire %out[%o1] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            wg.local_store %h1 to %s1 : tensor<128x32xf32, #part>, !wg.buffer<128x32xf32, swizzle = 128>
            %col1 = arith.addi %col, %c32 : i32
            wg.tma_store %s1 to %C[%row, %col1] : !wg.buffer<128x32xf32, swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>
            wg.store_commit %out[%o1] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %o2 = wg.advance %out[%o1] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %h2 = wg.slice %sum[0, 64] : tensor<128x144xf32, #acc> -> tensor<128x32xf32, #part>
            %s2 = wg.store_acquire %out[%o2] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            wg.local_store %h2 to %s2 : tensor<128x32xf32, #part>, !wg.buffer<128x32xf32, swizzle = 128>
            %col2 = arith.addi %col, %c64 : i32
            wg.tma_store %s2 to %C[%row, %col2] : !wg.buffer<128x32xf32, swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>
            wg.store_commit %out[%o2] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %o3 = wg.advance %out[%o2] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %h3 = wg.slice %sum[0, 96] : tensor<128x144xf32, #acc> -> tensor<128x32xf32, #part>
            %s3 = wg.store_acquire %out[%o3] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            wg.local_store %h3 to %s3 : tensor<128x32xf32, #part>, !wg.buffer<128x32xf32, swizzle = 128>
            %col3 = arith.addi %col, %c96 : i32
            wg.tma_store %s3 to %C[%row, %col3] : !wg.buffer<128x32xf32, swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>
            wg.store_commit %out[%o3] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %o4 = wg.advance %out[%o3] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %h4 = wg.slice %sum[0, 128] : tensor<128x144xf32, #acc> -> tensor<128x16xf32, #last>
            %s4 = wg.store_acquire %out[%o4] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %n4 = wg.subbuffer %s4[0, 0] : !wg.buffer<128x32xf32, swizzle = 128> -> !wg.buffer<128x16xf32, swizzle = 128>
            wg.local_store %h4 to %n4 : tensor<128x16xf32, #last>, !wg.buffer<128x16xf32, swizzle = 128>
            %col4 = arith.addi %col, %c128 : i32
            wg.tma_store %n4 to %L[%row, %col4] : !wg.buffer<128x16xf32, swizzle = 128>, !wg.view<f32, box = [64, 16], swizzle = 128>
            wg.store_commit %out[%o4] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            %o5 = wg.advance %out[%o4] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
            scf.yield %q1, %o5 : !wg.cursor, !wg.cursor
          }
        }
      }
      gpu.return
    }
  }
  plan.host @nk_f32_128x144(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>, %b: !plan.array<bf16, rank = 2, contiguous = 0, in>, %c: !plan.array<f32, rank = 2, contiguous = 1, out>) attributes {arg_names = ["a", "b", "c"]} {
    %m = plan.dim %a[0] : !plan.array<bf16, rank = 2, contiguous = 1, in>
    %k = plan.dim %a[1] : !plan.array<bf16, rank = 2, contiguous = 1, in>
    %kb = plan.dim %b[0] : !plan.array<bf16, rank = 2, contiguous = 0, in>
    %n = plan.dim %b[1] : !plan.array<bf16, rank = 2, contiguous = 0, in>
    %sameK = arith.cmpi eq, %k, %kb : i64
    plan.require %sameK, "a has K = {0}, b has K = {1}: dimensions named K must agree"(%k, %kb)
    %bm = arith.constant 128 : i64
    %bn = arith.constant 144 : i64
    %one = arith.constant 1 : i64
    %tm = arith.ceildivsi %m, %bm : i64
    %tn = arith.ceildivsi %n, %bn : i64
    %tiles = arith.muli %tm, %tn : i64
    %sms = plan.query multiprocessor_count
    %grid = arith.minsi %tiles, %sms : i64
    %va = plan.tensor_map %a : !plan.array<bf16, rank = 2, contiguous = 1, in> -> !wg.view<bf16, box = [128, 64], swizzle = 128>
    %vb = plan.tensor_map %b : !plan.array<bf16, rank = 2, contiguous = 0, in> -> !wg.view<bf16, box = [64, 144], order = [0, 1], swizzle = 128>
    %vc = plan.tensor_map %c : !plan.array<f32, rank = 2, contiguous = 1, out> -> !wg.view<f32, box = [64, 32], swizzle = 128>
    %vl = plan.tensor_map %c : !plan.array<f32, rank = 2, contiguous = 1, out> -> !wg.view<f32, box = [64, 16], swizzle = 128>
    %m32 = arith.trunci %m : i64 to i32
    %n32 = arith.trunci %n : i64 to i32
    %k32 = arith.trunci %k : i64 to i32
    plan.launch @nk_f32_128x144_device::@nk_f32_128x144 grid(%grid, %one, %one) args(%va, %vb, %vc, %vl, %m32, %n32, %k32) : !wg.view<bf16, box = [128, 64], swizzle = 128>, !wg.view<bf16, box = [64, 144], order = [0, 1], swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>, !wg.view<f32, box = [64, 16], swizzle = 128>, i32, i32, i32
  }
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 16, warpgroup: [64,0] x 2}>
#part = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 4, warpgroup: [64,0] x 2}>
module attributes {girih.sources = [{name = "kn_f32_128x128", file = "gemm.py", line = 12 : i64}]} {
  gpu.module @kn_f32_128x128_device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
    gpu.func @kn_f32_128x128(%A: !wg.view<bf16, box = [128, 64], swizzle = 128>, %B: !wg.view<bf16, box = [64, 64], swizzle = 128>, %C: !wg.view<f32, box = [64, 32], swizzle = 128>, %M: i32, %N: i32, %K: i32) kernel {
      %c1 = arith.constant 1 : i32
      %c8 = arith.constant 8 : i32
      %c32 = arith.constant 32 : i32
      %c64 = arith.constant 64 : i32
      %c96 = arith.constant 96 : i32
      %c128 = arith.constant 128 : i32
      %false = arith.constant false
      %true = arith.constant true
      %ring = wg.ring : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x128xbf16, swizzle = 128>]>
      %out = wg.store_ring {stages = 2 : i32} : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
      %nk = arith.ceildivsi %K, %c64 : i32
      %tm = arith.ceildivsi %M, %c128 : i32
      %tn = arith.ceildivsi %N, %c128 : i32
      %tiles = arith.muli %tm, %tn : i32
      %x = gpu.block_id x
      %bid = arith.index_cast %x : index to i32
      wg.specialize {
        wg.role @load warps(1) registers(40) {
          %p0 = wg.cursor producer %ring : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x128xbf16, swizzle = 128>]>
          %group = arith.muli %c8, %tn : i32
          %first = arith.divsi %bid, %group : i32
          %m0 = arith.muli %first, %c8 : i32
          %left = arith.subi %tm, %m0 : i32
          %rows = arith.minsi %left, %c8 : i32
          %in = arith.remsi %bid, %group : i32
          %mi = arith.remsi %in, %rows : i32
          %m = arith.addi %m0, %mi : i32
          %n = arith.divsi %in, %rows : i32
          %row = arith.muli %m, %c128 : i32
          %col = arith.muli %n, %c128 : i32
          %p1 = wg.fill %ring[%p0] count(%nk) as (%k, %sa, %sb) : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x128xbf16, swizzle = 128>]> {
            %kk = arith.muli %k, %c64 : i32
            wg.tma_load %A[%row, %kk] to %sa : !wg.view<bf16, box = [128, 64], swizzle = 128>, !wg.buffer<128x64xbf16, swizzle = 128>
            wg.tma_load %B[%kk, %col] to %sb : !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.buffer<64x128xbf16, swizzle = 128>
          }
        }
        wg.role @multiply warpgroups(2) registers(232) {
          %q0 = wg.cursor consumer %ring : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x128xbf16, swizzle = 128>]>
          %o0 = wg.cursor producer %out : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
          %group = arith.muli %c8, %tn : i32
          %first = arith.divsi %bid, %group : i32
          %m0 = arith.muli %first, %c8 : i32
          %left = arith.subi %tm, %m0 : i32
          %rows = arith.minsi %left, %c8 : i32
          %in = arith.remsi %bid, %group : i32
          %mi = arith.remsi %in, %rows : i32
          %m = arith.addi %m0, %mi : i32
          %n = arith.divsi %in, %rows : i32
          %row = arith.muli %m, %c128 : i32
          %col = arith.muli %n, %c128 : i32
          %acc0 = wg.acc : !wg.pending<tensor<128x128xf32, #acc>>
          %q1, %acc1, %w1 = wg.drain %ring[%q0] count(%nk) lag(1) as (%k, %sa, %sb) iter_args(%acc = %acc0, %w = %false) -> (!wg.pending<tensor<128x128xf32, #acc>>, i1) : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x128xbf16, swizzle = 128>]> {
            %d = wg.mma %sa, %sb, %acc accumulate(%w) : !wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x128xbf16, swizzle = 128>, !wg.pending<tensor<128x128xf32, #acc>>
            wg.yield %d, %true : !wg.pending<tensor<128x128xf32, #acc>>, i1
          }
          %sum = wg.wait %acc1 in_flight(0) written(%w1) : !wg.pending<tensor<128x128xf32, #acc>> -> tensor<128x128xf32, #acc>
          %h0 = wg.slice %sum[0, 0] : tensor<128x128xf32, #acc> -> tensor<128x32xf32, #part>
          %s0 = wg.store_acquire %out[%o0] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
          wg.local_store %h0 to %s0 : tensor<128x32xf32, #part>, !wg.buffer<128x32xf32, swizzle = 128>
          wg.tma_store %s0 to %C[%row, %col] : !wg.buffer<128x32xf32, swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>
          wg.store_commit %out[%o0] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
          %o1 = wg.advance %out[%o0] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
          %h1 = wg.slice %sum[0, 32] : tensor<128x128xf32, #acc> -> tensor<128x32xf32, #part>
          %s1 = wg.store_acquire %out[%o1] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
          wg.local_store %h1 to %s1 : tensor<128x32xf32, #part>, !wg.buffer<128x32xf32, swizzle = 128>
          %col1 = arith.addi %col, %c32 : i32
          wg.tma_store %s1 to %C[%row, %col1] : !wg.buffer<128x32xf32, swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>
          wg.store_commit %out[%o1] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
          %o2 = wg.advance %out[%o1] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
          %h2 = wg.slice %sum[0, 64] : tensor<128x128xf32, #acc> -> tensor<128x32xf32, #part>
          %s2 = wg.store_acquire %out[%o2] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
          wg.local_store %h2 to %s2 : tensor<128x32xf32, #part>, !wg.buffer<128x32xf32, swizzle = 128>
          %col2 = arith.addi %col, %c64 : i32
          wg.tma_store %s2 to %C[%row, %col2] : !wg.buffer<128x32xf32, swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>
          wg.store_commit %out[%o2] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
          %o3 = wg.advance %out[%o2] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
          %h3 = wg.slice %sum[0, 96] : tensor<128x128xf32, #acc> -> tensor<128x32xf32, #part>
          %s3 = wg.store_acquire %out[%o3] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
          wg.local_store %h3 to %s3 : tensor<128x32xf32, #part>, !wg.buffer<128x32xf32, swizzle = 128>
          %col3 = arith.addi %col, %c96 : i32
          wg.tma_store %s3 to %C[%row, %col3] : !wg.buffer<128x32xf32, swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>
          wg.store_commit %out[%o3] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
          %o4 = wg.advance %out[%o3] : !wg.store_ring<!wg.buffer<128x32xf32, swizzle = 128>>
        }
      }
      gpu.return
    }
  }
  plan.host @kn_f32_128x128(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>, %b: !plan.array<bf16, rank = 2, contiguous = 1, in>, %c: !plan.array<f32, rank = 2, contiguous = 1, out>) attributes {arg_names = ["a", "b", "c"]} {
    %m = plan.dim %a[0] : !plan.array<bf16, rank = 2, contiguous = 1, in>
    %k = plan.dim %a[1] : !plan.array<bf16, rank = 2, contiguous = 1, in>
    %kb = plan.dim %b[0] : !plan.array<bf16, rank = 2, contiguous = 1, in>
    %n = plan.dim %b[1] : !plan.array<bf16, rank = 2, contiguous = 1, in>
    %sameK = arith.cmpi eq, %k, %kb : i64
    plan.require %sameK, "a has K = {0}, b has K = {1}: dimensions named K must agree"(%k, %kb)
    %bm = arith.constant 128 : i64
    %bn = arith.constant 128 : i64
    %one = arith.constant 1 : i64
    %tm = arith.ceildivsi %m, %bm : i64
    %tn = arith.ceildivsi %n, %bn : i64
    %tiles = arith.muli %tm, %tn : i64
    %va = plan.tensor_map %a : !plan.array<bf16, rank = 2, contiguous = 1, in> -> !wg.view<bf16, box = [128, 64], swizzle = 128>
    %vb = plan.tensor_map %b : !plan.array<bf16, rank = 2, contiguous = 1, in> -> !wg.view<bf16, box = [64, 64], swizzle = 128>
    %vc = plan.tensor_map %c : !plan.array<f32, rank = 2, contiguous = 1, out> -> !wg.view<f32, box = [64, 32], swizzle = 128>
    %m32 = arith.trunci %m : i64 to i32
    %n32 = arith.trunci %n : i64 to i32
    %k32 = arith.trunci %k : i64 to i32
    plan.launch @kn_f32_128x128_device::@kn_f32_128x128 grid(%tiles, %one, %one) args(%va, %vb, %vc, %m32, %n32, %k32) : !wg.view<bf16, box = [128, 64], swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.view<f32, box = [64, 32], swizzle = 128>, i32, i32, i32
  }
}
