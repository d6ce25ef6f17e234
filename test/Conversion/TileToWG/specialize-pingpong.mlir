// RUN: girih-opt %s --mlir-print-debuginfo=false --tile-specialize --canonicalize --cse 2>/dev/null | FileCheck %s
// RUN: girih-opt %s --mlir-print-debuginfo=false --tile-specialize --verify-diagnostics -o /dev/null
// RUN: girih-opt %s --mlir-print-debuginfo=false --girih-tile-to-wg 2>/dev/null | FileCheck %s --check-prefix=BUDGET
// RUN: girih-opt %s --mlir-print-debuginfo=false --girih-tile-to-wg --girih-wg-to-nvvm=stop-at-wg 2>/dev/null | FileCheck %s --check-prefix=STORES

// Two warpgroups on alternate tiles, in a cluster of two CTAs that lie below each other and share b, as the hand-written kernel
// says it: who has a tile skips the slots of the other's, and one multiplies while the other stores.
// CHECK: gpu.func @matmul(%[[M:[^:]*]]: i32, %[[K:[^:]*]]: i32,
// CHECK-SAME: %[[MAPA:[^:]*]]: !wg.view<bf16, box = [64, 64], swizzle = 128>, %[[MAPB:[^:]*]]: !wg.view<bf16, box = [64, 64], swizzle = 128>, %[[MAPC:[^:]*]]: !wg.view<bf16, box = [64, 64], swizzle = 128>) kernel
// CHECK-DAG: %[[STEPS:.*]] = arith.ceildivsi %[[K]]
// CHECK-DAG: %[[CLUSTERS:.*]] = arith.divui %{{.*}}, %c2_i32
// CHECK: %[[RING:.*]] = wg.ring {name = "a_b", one_reader}
// CHECK: %[[OUT:.*]] = wg.store_ring {name = "out", stages = 2 : i32} : !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>
// CHECK: %[[MULTIPLYING:.*]] = wg.turns {name = "multiplying"} : !wg.turns<2>
// CHECK: %[[STORING:.*]] = wg.turns {name = "storing"} : !wg.turns<2>
// CHECK: wg.role @load warps(1) {
// CHECK: scf.for
// CHECK: wg.fill
// CHECK: wg.tma_load %[[MAPA]][{{[^]]*}}] to %{{[^ ]*}} :
// CHECK: wg.tma_load %[[MAPB]][{{[^]]*}}] to %{{[^ ]*}} multicast :
// CHECK: wg.role @compute warpgroups(2) each {
// CHECK-DAG: %[[Q:.*]] = wg.cursor consumer %[[RING]]
// CHECK-DAG: %[[MINE:.*]] = wg.warpgroup_index
// CHECK-DAG: %[[SLOTS:.*]] = arith.maxsi %[[STEPS]], %c0_i32
// CHECK-DAG: %[[BEFORE:.*]] = arith.muli %[[MINE]], %[[SLOTS]]
// CHECK: %[[Q0:.*]] = wg.advance %[[RING]][%[[Q]]] by(%[[BEFORE]])
// CHECK: %[[SKIPPED:.*]] = arith.muli %[[MINE]], %[[BY:.*]] : i32
// CHECK-NEXT: %[[LOW:.*]] = arith.addi %{{.*}}, %[[SKIPPED]]
// CHECK-NEXT: %[[STEP:.*]] = arith.muli %[[BY]], %c2_i32
// CHECK-NEXT: scf.for %{{.*}} = %[[LOW]] to %{{.*}} step %[[STEP]] iter_args(%[[Q1:.*]] = %[[Q0]], %{{.*}} = %{{.*}})
// CHECK: wg.take_turn %[[MULTIPLYING]]
// CHECK: %[[END:.*]] = arith.subi %[[STEPS]], %c1_i32
// CHECK: %[[Q2:[^,]*]], %{{.*}} = wg.drain %[[RING]][%[[Q1]]] count(%[[STEPS]]) lag(1) as (%[[S:[^,]*]],
// CHECK-NEXT: wg.mma
// CHECK-NEXT: %[[LAST:.*]] = arith.cmpi eq, %[[S]], %[[END]]
// CHECK-NEXT: scf.if %[[LAST]] {
// CHECK-NEXT: wg.pass_turn %[[MULTIPLYING]]
// CHECK-NEXT: }
// CHECK-NEXT: wg.yield
// Without a step nobody has passed the turn on.
// CHECK: %[[NONE:.*]] = arith.cmpi slt, %[[END]], %c0_i32
// CHECK-NEXT: scf.if %[[NONE]] {
// CHECK-NEXT: wg.pass_turn %[[MULTIPLYING]]
// CHECK-NEXT: }
// CHECK-NEXT: wg.wait
// CHECK: %[[Q3:.*]] = wg.advance %[[RING]][%[[Q2]]] by(%[[SLOTS]])
// CHECK: wg.take_turn %[[STORING]]
// CHECK: wg.tma_store
// CHECK: wg.pass_turn %[[STORING]]
// CHECK-NEXT: scf.yield %[[Q3]],

// BUDGET: wg.role @load warps(1) registers(40)
// BUDGET: wg.role @compute warpgroups(2) each registers(232)

// The stores of a tile stay in flight under the next one: in the loop over tiles one waits only until the slot that is to be
// written has been read, and for all stores behind it.
// STORES: wg.role = {first = 0
// STORES-NOT: wg.bulk_wait 0
// STORES: wg.bulk_wait read 1
// STORES-NOT: wg.bulk_wait 0
// STORES: scf.yield {{.*}} : i32, i32, i32, i32
// STORES-NEXT: }
// STORES-NEXT: wg.bulk_wait 0
!a = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
#at = loc("kernel.py":2:5)
module {
  gpu.module @matmul_device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
    gpu.func @matmul(%pa: !llvm.ptr<1>, %pb: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %m: i32, %n: i32, %k: i32, %lda: i64, %ldb: i64, %ldc: i64) kernel attributes {girih.hints = {at = loc(#at), roles = "pingpong"}, known_cluster_size = array<i32: 2, 1, 1>} {
      %one = arith.constant 1 : i64
      %va = tile.view %pa[%m, %k] strides(%lda, %one) : !a
      %vb = tile.view %pb[%k, %n] strides(%ldb, %one) : !a
      %vc = tile.view %pc[%m, %n] strides(%ldc, %one) : !a
      %block = gpu.block_id x
      %cta = arith.index_cast %block : index to i32
      %c2 = arith.constant 2 : i32
      %c64 = arith.constant 64 : i32
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %first = arith.divui %cta, %c2 : i32
      %rank = arith.remui %cta, %c2 : i32
      %tiles = arith.ceildivsi %m, %c64 : i32
      %grid = gpu.grid_dim x
      %ctas = arith.index_cast %grid : index to i32
      %clusters = arith.divui %ctas, %c2 : i32
      scf.for %t = %first to %tiles step %clusters : i32 {
        %steps = arith.ceildivsi %k, %c64 : i32
        %above = arith.muli %t, %c2 : i32
        %i = arith.addi %above, %rank : i32
        %r = arith.muli %i, %c64 : i32
        %zero = arith.constant dense<0.0> : tensor<64x128xf32>
        %acc = scf.for %s = %c0 to %steps step %c1 iter_args(%x = %zero) -> (tensor<64x128xf32>) : i32 {
          %q = arith.muli %s, %c64 : i32
          // expected-remark @+1 {{loads a by TMA, box 64x64, swizzle 128}}
          %a = tile.load %va[%r, %q] : !a -> tensor<64x64xbf16>
          // expected-remark @+2 {{loads b by TMA, box 64x64, swizzle 128}}
          // expected-remark @+1 {{the 2 CTAs of a cluster share b: each loads a part for all}}
          %b = tile.load %vb[%q, %c0] : !a -> tensor<64x128xbf16>
          %y = tile.dot %a, %b, %x : tensor<64x64xbf16>, tensor<64x128xbf16> -> tensor<64x128xf32>
          scf.yield %y : tensor<64x128xf32>
        }
        %o = tile.cast %acc : tensor<64x128xf32> to tensor<64x128xbf16>
        // expected-remark @+1 {{stores c by TMA, in chunks of 64 columns}}
        tile.store %o, %vc[%r, %c0] : tensor<64x128xbf16>, !a
      }
      gpu.return
    }
  }
  plan.host @matmul(%a: !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>, %b: !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>, %c: !plan.array<bf16, rank = 2, contiguous = 1, aligned, out>) attributes {arg_names = ["a", "b", "c"]} {
    %m = plan.dim %c[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, out>
    %ma = plan.dim %a[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %n = plan.dim %c[1] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, out>
    %nb = plan.dim %b[1] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %k = plan.dim %a[1] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %kb = plan.dim %b[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %em = arith.cmpi eq, %m, %ma : i64
    plan.require %em, "M"
    %en = arith.cmpi eq, %n, %nb : i64
    plan.require %en, "N"
    %ek = arith.cmpi eq, %k, %kb : i64
    plan.require %ek, "K"
    %lda = plan.stride %a[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %ldb = plan.stride %b[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %ldc = plan.stride %c[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, out>
    %m32 = arith.trunci %m : i64 to i32
    %n32 = arith.trunci %n : i64 to i32
    %k32 = arith.trunci %k : i64 to i32
    %one = arith.constant 1 : i64
    %sms = plan.query multiprocessor_count
    plan.launch @matmul_device::@matmul grid(%sms, %one, %one) args(%a, %b, %c, %m32, %n32, %k32, %lda, %ldb, %ldc) : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>, !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>, !plan.array<bf16, rank = 2, contiguous = 1, aligned, out>, i32, i32, i32, i64, i64, i64
  }
}
