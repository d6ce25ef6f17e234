// RUN: girih-opt %s --mlir-print-debuginfo=false --tile-specialize --canonicalize --cse 2>/dev/null | FileCheck %s
// RUN: girih-opt %s --mlir-print-debuginfo=false --tile-specialize=keep-operands=false --canonicalize --cse 2>/dev/null | FileCheck %s --check-prefix=SLOT
// RUN: girih-opt %s --mlir-print-debuginfo=false --pass-pipeline='builtin.module(gpu.module(tile-pipeline-products),tile-specialize,canonicalize,cse)' 2>/dev/null | FileCheck %s --check-prefix=FLIGHT

// Attention forward: a head is a coordinate of the copies, K is read by columns as it lies, P goes from one product to the
// next in registers, and slots of K and V are given back each after the product that reads it.
// CHECK: gpu.func @attention(%{{.*}}: i32, %[[MAPQ:[^:]*]]: !wg.view<bf16, box = [1, 128, 64], swizzle = 128>, %[[MAPK:[^:]*]]: !wg.view<bf16, box = [1, 128, 64], swizzle = 128>, %[[MAPV:[^:]*]]: !wg.view
// CHECK: %[[Q:.*]] = wg.ring {name = "q", stages = 1 : i32}
// CHECK: %[[K:.*]] = wg.ring {name = "k"} : !wg.ring<[!wg.buffer<128x128xbf16, order = [0, 1], swizzle = 128>]>
// CHECK: %[[V:.*]] = wg.ring {name = "v"} : !wg.ring<[!wg.buffer<128x128xbf16, swizzle = 128>]>
// CHECK: wg.role @load warps(1)
// CHECK: %[[SQ:.*]] = wg.acquire %[[Q]]
// CHECK-NEXT: wg.tma_load %[[MAPQ]][{{.*}}] to %[[SQ]] :
// CHECK-NEXT: wg.publish %[[Q]]
// CHECK-NEXT: scf.for {{.*}} -> (!wg.cursor, !wg.cursor)
// CHECK-NEXT: arith.muli
// CHECK-NEXT: %[[SK:.*]] = wg.acquire %[[K]]
// CHECK-NEXT: wg.tma_load %[[MAPK]][{{.*}}] to %[[SK]] transposed :
// CHECK-NEXT: wg.publish %[[K]]
// CHECK-NEXT: wg.advance %[[K]]
// CHECK-NEXT: %[[SV:.*]] = wg.acquire %[[V]]
// CHECK-NEXT: wg.tma_load %[[MAPV]][{{.*}}] to %[[SV]] :
// CHECK-NEXT: wg.publish %[[V]]
// CHECK-NEXT: wg.advance %[[V]]
// CHECK-NEXT: scf.yield
// CHECK: wg.role @compute warpgroups(2)
// CHECK: %[[BUF:.*]] = wg.get %[[Q]][%[[CQ:.*]]]
// CHECK-NEXT: %[[SQ:.*]] = wg.local_load %[[BUF]]
// CHECK-NEXT: wg.free %[[Q]][%[[CQ]]]
// CHECK-NEXT: scf.for {{.*}} iter_args(%[[O:[^ ]*]] = {{.*}}, %[[CK:[^ ]*]] = %{{[^ ]*}}, %[[CV:[^ ]*]] = %{{[^ ]*}}) ->
// CHECK-NEXT: %[[SK:.*]] = wg.get %[[K]][%[[CK]]]
// CHECK-NEXT: wg.advance
// CHECK-NEXT: %[[FRESH:.*]] = wg.acc : !wg.pending
// CHECK-NEXT: %[[S:.*]] = wg.mma %[[SQ]], %[[SK]], %[[FRESH]] accumulate(%false)
// CHECK-NEXT: wg.wait %[[S]] in_flight(0)
// CHECK-NEXT: wg.convert_layout
// CHECK-NEXT: wg.free %[[K]][%[[CK]]]
// CHECK: tile.reduce
// CHECK: %[[P:.*]] = tile.cast {{.*}} to tensor<128x128xbf16>
// CHECK-NEXT: %[[SV:.*]] = wg.get %[[V]][%[[CV]]]
// CHECK: %[[PA:.*]] = wg.convert_layout %[[P]] : tensor<128x128xbf16> -> tensor<128x128xbf16, #
// CHECK: %[[SUM:.*]] = wg.acc from(%{{.*}})
// CHECK-NEXT: %[[PV:.*]] = wg.mma %[[PA]], %[[SV]], %[[SUM]] :
// CHECK-NEXT: wg.wait %[[PV]] in_flight(0)
// CHECK-NEXT: wg.convert_layout
// CHECK-NEXT: wg.free %[[V]][%[[CV]]]
// CHECK-NEXT: scf.yield
// CHECK-NOT: wg.free %[[Q]]

// Without registers for it, Q stays in its slot until the loop is over.
// SLOT: wg.role @compute
// SLOT: %[[SQ:.*]] = wg.get %q[%[[CQ:.*]]]
// SLOT-NEXT: scf.for
// SLOT: wg.mma %[[SQ]], %{{.*}}, %{{.*}} accumulate(%false)
// SLOT: wg.free %q[%[[CQ]]]

// Pipelined: both products of a step are started before the first is waited for, K goes back when the first is done, V when
// the second is, and that one is waited for where its sum is rescaled. K and V of all places share one ring each.
// FLIGHT: wg.ring {name = "k"}
// FLIGHT: wg.ring {name = "v"}
// FLIGHT-NOT: = wg.ring
// FLIGHT: wg.role @load
// FLIGHT: scf.if
// FLIGHT: wg.acquire %k
// FLIGHT: scf.for
// FLIGHT: wg.acquire %k
// FLIGHT: wg.acquire %v
// FLIGHT: scf.yield
// FLIGHT: wg.acquire %v
// FLIGHT: wg.role @compute
// FLIGHT: scf.if
// FLIGHT: wg.mma
// FLIGHT: scf.for {{.*}} iter_args(%[[O:[^ ]*]] = {{.*}}, %{{[^ ]*}} = {{.*}}, %{{[^ ]*}} = {{.*}}, %[[P:[^ ]*]] = {{.*}}, %[[CK:[^ ]*]] = {{.*}}, %[[CV:[^ ]*]] = {{.*}}) ->
// FLIGHT: %[[SK:.*]] = wg.get %k[%[[CK]]]
// FLIGHT: %[[SV:.*]] = wg.get %v[%[[CV]]]
// FLIGHT: %[[S:.*]] = wg.mma %{{.*}}, %[[SK]], %{{.*}} accumulate(%false)
// FLIGHT: %[[PA:.*]] = wg.convert_layout %[[P]]
// FLIGHT: %[[PV:.*]] = wg.mma %[[PA]], %[[SV]]
// FLIGHT-NEXT: wg.wait %[[S]] in_flight(1)
// FLIGHT: wg.free %k[%[[CK]]]
// FLIGHT: math.exp2
// FLIGHT: wg.wait %[[PV]] in_flight(0)
// FLIGHT: wg.free %v[%[[CV]]]
// FLIGHT: arith.mulf
// FLIGHT-NEXT: tile.cast
// FLIGHT: scf.yield
// FLIGHT: wg.mma
!q = !tile.view<bf16, rank = 3, contiguous = 2, align = 16>
!t = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
module {
  gpu.module @attention_device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
    gpu.func @attention(%pq: !llvm.ptr<1>, %pk: !llvm.ptr<1>, %pv: !llvm.ptr<1>, %po: !llvm.ptr<1>, %h: i32, %m: i32, %n: i32, %d: i32, %s0: i64, %s1: i64, %t0: i64, %t1: i64, %u0: i64, %u1: i64, %w0: i64, %w1: i64) kernel {
      %one = arith.constant 1 : i64
      %vq = tile.view %pq[%h, %m, %d] strides(%s0, %s1, %one) : !q
      %vk = tile.view %pk[%h, %n, %d] strides(%t0, %t1, %one) : !q
      %vv = tile.view %pv[%h, %n, %d] strides(%u0, %u1, %one) : !q
      %vo = tile.view %po[%h, %m, %d] strides(%w0, %w1, %one) : !q
      %cta = gpu.block_id x
      %i = arith.index_cast %cta : index to i32
      %ctay = gpu.block_id y
      %head = arith.index_cast %ctay : index to i32
      %c128 = arith.constant 128 : i32
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %hq = tile.select %vq[%head] dim(0) : !q -> !t
      %hk = tile.select %vk[%head] dim(0) : !q -> !t
      %hv = tile.select %vv[%head] dim(0) : !q -> !t
      %ho = tile.select %vo[%head] dim(0) : !q -> !t
      %row = arith.muli %i, %c128 : i32
      %qt = tile.load %hq[%row, %c0] : !t -> tensor<128x128xbf16>
      %zero = arith.constant dense<0.0> : tensor<128x128xf32>
      %low = arith.constant dense<0xFF800000> : tensor<128xf32>
      %none = arith.constant dense<0.0> : tensor<128xf32>
      %steps = arith.ceildivsi %n, %c128 : i32
      %o, %mx, %l = scf.for %j = %c0 to %steps step %c1 iter_args(%acc = %zero, %mo = %low, %lo = %none) -> (tensor<128x128xf32>, tensor<128xf32>, tensor<128xf32>) : i32 {
        %col = arith.muli %j, %c128 : i32
        %kt = tile.load %hk[%col, %c0] : !t -> tensor<128x128xbf16>
        %kk = tile.transpose %kt [1, 0] : tensor<128x128xbf16> -> tensor<128x128xbf16>
        %s = tile.dot %qt, %kk : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
        %mm = tile.reduce %s dim(1) : tensor<128x128xf32> -> tensor<128xf32> {
        ^bb0(%x: f32, %y: f32):
          %z = arith.maximumf %x, %y : f32
          tile.yield %z : f32
        }
        %m1 = arith.maximumf %mm, %mo : tensor<128xf32>
        %me = tile.expand %m1 dim(1) : tensor<128xf32> -> tensor<128x1xf32>
        %mb = tile.broadcast %me : tensor<128x1xf32> -> tensor<128x128xf32>
        %sd = arith.subf %s, %mb : tensor<128x128xf32>
        %p = math.exp2 %sd : tensor<128x128xf32>
        %ll = tile.reduce %p dim(1) : tensor<128x128xf32> -> tensor<128xf32> {
        ^bb0(%x: f32, %y: f32):
          %z = arith.addf %x, %y : f32
          tile.yield %z : f32
        }
        %md = arith.subf %mo, %m1 : tensor<128xf32>
        %al = math.exp2 %md : tensor<128xf32>
        %la = arith.mulf %lo, %al : tensor<128xf32>
        %l1 = arith.addf %la, %ll : tensor<128xf32>
        %ae = tile.expand %al dim(1) : tensor<128xf32> -> tensor<128x1xf32>
        %ab = tile.broadcast %ae : tensor<128x1xf32> -> tensor<128x128xf32>
        %os = arith.mulf %acc, %ab : tensor<128x128xf32>
        %pb = tile.cast %p : tensor<128x128xf32> to tensor<128x128xbf16>
        %vt = tile.load %hv[%col, %c0] : !t -> tensor<128x128xbf16>
        %o1 = tile.dot %pb, %vt, %os : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
        scf.yield %o1, %m1, %l1 : tensor<128x128xf32>, tensor<128xf32>, tensor<128xf32>
      }
      %le = tile.expand %l dim(1) : tensor<128xf32> -> tensor<128x1xf32>
      %lb = tile.broadcast %le : tensor<128x1xf32> -> tensor<128x128xf32>
      %on = arith.divf %o, %lb : tensor<128x128xf32>
      %ob = tile.cast %on : tensor<128x128xf32> to tensor<128x128xbf16>
      tile.store %ob, %ho[%row, %c0] : tensor<128x128xbf16>, !t
      gpu.return
    }
  }
  plan.host @attention(%q: !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>, %k: !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>, %v: !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>, %o: !plan.array<bf16, rank = 3, contiguous = 2, aligned, out>) attributes {arg_names = ["q", "k", "v", "o"]} {
    %h = plan.dim %q[0] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>
    %m = plan.dim %q[1] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>
    %d = plan.dim %q[2] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>
    %n = plan.dim %k[1] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>
    %hk = plan.dim %k[0] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>
    %dk = plan.dim %k[2] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>
    %hv = plan.dim %v[0] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>
    %nv = plan.dim %v[1] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>
    %dv = plan.dim %v[2] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>
    %ho = plan.dim %o[0] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, out>
    %mo = plan.dim %o[1] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, out>
    %do = plan.dim %o[2] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, out>
    %e0 = arith.cmpi eq, %h, %hk : i64
    plan.require %e0, "H"
    %e1 = arith.cmpi eq, %h, %hv : i64
    plan.require %e1, "H"
    %e2 = arith.cmpi eq, %h, %ho : i64
    plan.require %e2, "H"
    %e3 = arith.cmpi eq, %d, %dk : i64
    plan.require %e3, "D"
    %e4 = arith.cmpi eq, %d, %dv : i64
    plan.require %e4, "D"
    %e5 = arith.cmpi eq, %d, %do : i64
    plan.require %e5, "D"
    %e6 = arith.cmpi eq, %n, %nv : i64
    plan.require %e6, "N"
    %e7 = arith.cmpi eq, %m, %mo : i64
    plan.require %e7, "M"
    %s0 = plan.stride %q[0] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>
    %s1 = plan.stride %q[1] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>
    %t0 = plan.stride %k[0] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>
    %t1 = plan.stride %k[1] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>
    %u0 = plan.stride %v[0] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>
    %u1 = plan.stride %v[1] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>
    %w0 = plan.stride %o[0] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, out>
    %w1 = plan.stride %o[1] : !plan.array<bf16, rank = 3, contiguous = 2, aligned, out>
    %h32 = arith.trunci %h : i64 to i32
    %m32 = arith.trunci %m : i64 to i32
    %n32 = arith.trunci %n : i64 to i32
    %d32 = arith.trunci %d : i64 to i32
    %one = arith.constant 1 : i64
    %c128 = arith.constant 128 : i64
    %g = arith.ceildivsi %m, %c128 : i64
    plan.launch @attention_device::@attention grid(%g, %h, %one) args(%q, %k, %v, %o, %h32, %m32, %n32, %d32, %s0, %s1, %t0, %t1, %u0, %u1, %w0, %w1) : !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>, !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>, !plan.array<bf16, rank = 3, contiguous = 2, aligned, in>, !plan.array<bf16, rank = 3, contiguous = 2, aligned, out>, i32, i32, i32, i32, i64, i64, i64, i64, i64, i64, i64, i64
  }
}
