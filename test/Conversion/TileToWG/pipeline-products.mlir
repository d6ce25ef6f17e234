// RUN: girih-opt %s --split-input-file --mlir-print-debuginfo=false --tile-pipeline-products 2>/dev/null | FileCheck %s
// RUN: girih-opt %s --split-input-file --tile-pipeline-products --verify-diagnostics -o /dev/null

// The second product of a step runs in the next, where it stands behind the first; what depends on its sum comes last, and
// the cast of its operand after that. V is read where the step before would have read it.
// CHECK-LABEL: gpu.func @chain(
// CHECK-SAME: %[[Q:.*]]: !tile{{.*}}, %[[K:.*]]: !tile{{.*}}, %[[V:.*]]: !tile{{.*}}, %[[LOW:.*]]: i32, %[[HIGH:.*]]: i32)
// CHECK: %[[ANY:.*]] = arith.cmpi slt, %[[LOW]], %[[HIGH]] : i32
// CHECK: %{{.*}} = scf.if %[[ANY]] -> (tensor<64x64xf32>)
// CHECK: %[[R0:.*]] = arith.muli %[[LOW]], %c64
// CHECK: tile.load %[[K]][%[[R0]],
// CHECK: %[[S0:.*]] = tile.dot
// CHECK: %[[E0:.*]] = math.exp2 %[[S0]]
// CHECK: %[[P0:.*]] = tile.cast %[[E0]]
// CHECK: %[[O0:.*]] = arith.mulf %cst{{.*}}, %[[E0]]
// CHECK-NOT: tile.dot
// CHECK: %[[SECOND:.*]] = arith.addi %[[LOW]], %c1
// CHECK: %[[R:.*]]:2 = scf.for %[[J:.*]] = %[[SECOND]] to %[[HIGH]] step %c1{{.*}} iter_args(%[[O:.*]] = %[[O0]], %[[P:.*]] = %[[P0]])
// CHECK: tile.load %[[K]]
// CHECK: %[[S:.*]] = tile.dot
// CHECK: %[[BEFORE:.*]] = arith.subi %[[J]], %c1
// CHECK: %[[ROW:.*]] = arith.muli %[[BEFORE]], %c64
// CHECK: %[[VT:.*]] = tile.load %[[V]][%[[ROW]],
// CHECK: %[[SUM:.*]] = tile.dot %[[P]], %[[VT]], %[[O]]
// CHECK: %[[E:.*]] = math.exp2 %[[S]]
// CHECK-NEXT: %[[O1:.*]] = arith.mulf %[[SUM]], %[[E]]
// CHECK-NEXT: %[[P1:.*]] = tile.cast %[[E]]
// CHECK-NEXT: scf.yield %[[O1]], %[[P1]]
// CHECK: %[[LAST:.*]] = arith.subi %[[HIGH]], %c1
// CHECK: %[[ROW:.*]] = arith.muli %[[LAST]], %c64
// CHECK: %[[VT:.*]] = tile.load %[[V]][%[[ROW]],
// CHECK: %[[SUM:.*]] = tile.dot %[[R]]#1, %[[VT]], %[[R]]#0
// CHECK: scf.yield %[[SUM]]
// CHECK: } else {
// CHECK-NEXT: scf.yield %cst
!v = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @chain(%Q: !v, %K: !v, %V: !v, %low: i32, %high: i32) kernel {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c64 = arith.constant 64 : i32
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %q = tile.load %Q[%c0, %c0] : !v -> tensor<64x64xbf16>
      %r = scf.for %j = %low to %high step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
        %row = arith.muli %j, %c64 : i32
        %k = tile.load %K[%row, %c0] : !v -> tensor<64x64xbf16>
        %kt = tile.transpose %k [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
        %s = tile.dot %q, %kt : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %e = math.exp2 %s : tensor<64x64xf32>
        %p = tile.cast %e : tensor<64x64xf32> to tensor<64x64xbf16>
        %o = arith.mulf %acc, %e : tensor<64x64xf32>
        %vt = tile.load %V[%row, %c0] : !v -> tensor<64x64xbf16>
        // expected-remark@+1 {{product pipelined: it runs under the next step of the loop}}
        %sum = tile.dot %p, %vt, %o : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        scf.yield %sum : tensor<64x64xf32>
      }
      gpu.return
  }
}

// -----

// Not done: three products.
!v = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @f(%Q: !v, %K: !v, %V: !v, %low: i32, %high: i32) kernel {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c64 = arith.constant 64 : i32
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %q = tile.load %Q[%c0, %c0] : !v -> tensor<64x64xbf16>
      // expected-remark@+1 {{products not pipelined: the step has 3 products; expected two}}
      %r = scf.for %j = %low to %high step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
        %k = tile.load %K[%j, %c0] : !v -> tensor<64x64xbf16>
        %s = tile.dot %q, %k : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %p = tile.cast %s : tensor<64x64xf32> to tensor<64x64xbf16>
        %vt = tile.load %V[%j, %c0] : !v -> tensor<64x64xbf16>
        %sum = tile.dot %p, %vt, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %more = tile.dot %p, %k, %sum : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        scf.yield %more : tensor<64x64xf32>
      }
      gpu.return
  }
}

// -----

// Not done: products side by side.
!v = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @f(%Q: !v, %K: !v, %V: !v, %low: i32, %high: i32) kernel {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c64 = arith.constant 64 : i32
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %q = tile.load %Q[%c0, %c0] : !v -> tensor<64x64xbf16>
      // expected-remark@+1 {{products not pipelined: operand a of the second product is not computed from the first}}
      %r = scf.for %j = %low to %high step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
        %k = tile.load %K[%j, %c0] : !v -> tensor<64x64xbf16>
        %s = tile.dot %q, %k : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %p = tile.cast %s : tensor<64x64xf32> to tensor<64x64xbf16>
        %vt = tile.load %V[%j, %c0] : !v -> tensor<64x64xbf16>
        %sum = tile.dot %q, %vt, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        scf.yield %sum : tensor<64x64xf32>
      }
      gpu.return
  }
}

// -----

// Not done: an odd depth.
!v = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @f(%Q: !v, %K: !v, %V: !v, %low: i32, %high: i32) kernel {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c64 = arith.constant 64 : i32
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %q = tile.load %Q[%c0, %c0] : !v -> tensor<64x64xbf16>
      // expected-remark@+1 {{products not pipelined: wgmma has no such product: they have no product of f32 with f32 in f32}}
      %r = scf.for %j = %low to %high step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
        %k = tile.load %K[%j, %c0] : !v -> tensor<64x64xbf16>
        %s = tile.dot %q, %k : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %p = tile.cast %s : tensor<64x64xf32> to tensor<64x64xbf16>
        %vt = tile.load %V[%j, %c0] : !v -> tensor<64x64xbf16>
        %pf = tile.cast %p : tensor<64x64xbf16> to tensor<64x64xf32>
        %vf = tile.cast %vt : tensor<64x64xbf16> to tensor<64x64xf32>
        %sum = tile.dot %pf, %vf, %acc : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
        scf.yield %sum : tensor<64x64xf32>
      }
      gpu.return
  }
}

// -----

// Not done: a computed operand.
!v = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @f(%Q: !v, %K: !v, %V: !v, %low: i32, %high: i32) kernel {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c64 = arith.constant 64 : i32
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %q = tile.load %Q[%c0, %c0] : !v -> tensor<64x64xbf16>
      // expected-remark@+1 {{products not pipelined: operand b does not come by TMA, so that each product is waited for: it is computed by the kernel}}
      %r = scf.for %j = %low to %high step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
        %k = tile.load %K[%j, %c0] : !v -> tensor<64x64xbf16>
        %s = tile.dot %q, %k : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %p = tile.cast %s : tensor<64x64xf32> to tensor<64x64xbf16>
        %vt = tile.load %V[%j, %c0] : !v -> tensor<64x64xbf16>
        %vn = arith.negf %vt : tensor<64x64xbf16>
        %sum = tile.dot %p, %vn, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        scf.yield %sum : tensor<64x64xf32>
      }
      gpu.return
  }
}

// -----

// Not done: an operand that is cut off.
!v = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @f(%Q: !v, %K: !v, %V: !v, %low: i32, %high: i32) kernel {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c64 = arith.constant 64 : i32
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %q = tile.load %Q[%c0, %c0] : !v -> tensor<64x64xbf16>
      // expected-remark@+1 {{products not pipelined: operand b does not come by TMA, so that each product is waited for: it is a slice, beyond whose end TMA would read the neighbours}}
      %r = scf.for %j = %low to %high step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
        %k = tile.load %K[%j, %c0] : !v -> tensor<64x64xbf16>
        %s = tile.dot %q, %k : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %p = tile.cast %s : tensor<64x64xf32> to tensor<64x64xbf16>
        %vs = tile.slice %V[%c0 to %high] dim(0) : !v -> !v
        %vt = tile.load %vs[%j, %c0] : !v -> tensor<64x64xbf16>
        %sum = tile.dot %p, %vt, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        scf.yield %sum : tensor<64x64xf32>
      }
      gpu.return
  }
}

// -----

// Not done: another step.
!v = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @f(%Q: !v, %K: !v, %V: !v, %low: i32, %high: i32) kernel {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c64 = arith.constant 64 : i32
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %q = tile.load %Q[%c0, %c0] : !v -> tensor<64x64xbf16>
      // expected-remark@+1 {{products not pipelined: the loop does not count up by one}}
      %r = scf.for %j = %low to %high step %c2 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
        %k = tile.load %K[%j, %c0] : !v -> tensor<64x64xbf16>
        %s = tile.dot %q, %k : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %p = tile.cast %s : tensor<64x64xf32> to tensor<64x64xbf16>
        %vt = tile.load %V[%j, %c0] : !v -> tensor<64x64xbf16>
        %sum = tile.dot %p, %vt, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        scf.yield %sum : tensor<64x64xf32>
      }
      gpu.return
  }
}

// -----

// Not done: work on the sum.
!v = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @f(%Q: !v, %K: !v, %V: !v, %low: i32, %high: i32) kernel {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c64 = arith.constant 64 : i32
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %q = tile.load %Q[%c0, %c0] : !v -> tensor<64x64xbf16>
      // expected-remark@+1 {{products not pipelined: the second product's sum is used in the same step}}
      %r = scf.for %j = %low to %high step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
        %k = tile.load %K[%j, %c0] : !v -> tensor<64x64xbf16>
        %s = tile.dot %q, %k : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %p = tile.cast %s : tensor<64x64xf32> to tensor<64x64xbf16>
        %vt = tile.load %V[%j, %c0] : !v -> tensor<64x64xbf16>
        %sum = tile.dot %p, %vt, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %twice = arith.addf %sum, %sum : tensor<64x64xf32>
        scf.yield %twice : tensor<64x64xf32>
      }
      gpu.return
  }
}

// -----

// Not done: a first product that needs the sum.
!v = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @f(%Q: !v, %K: !v, %V: !v, %low: i32, %high: i32) kernel {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c64 = arith.constant 64 : i32
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %q = tile.load %Q[%c0, %c0] : !v -> tensor<64x64xbf16>
      // expected-remark@+1 {{products not pipelined: operands depend on the second product of the step before}}
      %r = scf.for %j = %low to %high step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
        %qa = tile.cast %acc : tensor<64x64xf32> to tensor<64x64xbf16>
        %k = tile.load %K[%j, %c0] : !v -> tensor<64x64xbf16>
        %s = tile.dot %qa, %k : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %p = tile.cast %s : tensor<64x64xf32> to tensor<64x64xbf16>
        %vt = tile.load %V[%j, %c0] : !v -> tensor<64x64xbf16>
        %sum = tile.dot %p, %vt, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        scf.yield %sum : tensor<64x64xf32>
      }
      gpu.return
  }
}

// -----

// Not done: a write.
!v = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @f(%Q: !v, %K: !v, %V: !v, %low: i32, %high: i32) kernel {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c64 = arith.constant 64 : i32
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %q = tile.load %Q[%c0, %c0] : !v -> tensor<64x64xbf16>
      // expected-remark@+1 {{products not pipelined: the step has tile.store, which may write memory}}
      %r = scf.for %j = %low to %high step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
        %k = tile.load %K[%j, %c0] : !v -> tensor<64x64xbf16>
        %s = tile.dot %q, %k : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %p = tile.cast %s : tensor<64x64xf32> to tensor<64x64xbf16>
        %vt = tile.load %V[%j, %c0] : !v -> tensor<64x64xbf16>
        tile.store %p, %K[%j, %c0] : tensor<64x64xbf16>, !v
        %sum = tile.dot %p, %vt, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        scf.yield %sum : tensor<64x64xf32>
      }
      gpu.return
  }
}

// -----

// Not done: a place that the loop carries.
!v = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @f(%Q: !v, %K: !v, %V: !v, %low: i32, %high: i32) kernel {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c64 = arith.constant 64 : i32
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %q = tile.load %Q[%c0, %c0] : !v -> tensor<64x64xbf16>
      // expected-remark@+1 {{products not pipelined: where operand b of the second product lies depends on what the loop carries}}
      %r:2 = scf.for %j = %low to %high step %c1 iter_args(%acc = %zero, %at = %c0) -> (tensor<64x64xf32>, i32) : i32 {
        %k = tile.load %K[%j, %c0] : !v -> tensor<64x64xbf16>
        %s = tile.dot %q, %k : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %p = tile.cast %s : tensor<64x64xf32> to tensor<64x64xbf16>
        %vt = tile.load %V[%at, %c0] : !v -> tensor<64x64xbf16>
        %sum = tile.dot %p, %vt, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %next = arith.addi %at, %c2 : i32
        scf.yield %sum, %next : tensor<64x64xf32>, i32
      }
      gpu.return
  }
}

// -----

// Not done: tiles that are too large: 128 and 128 registers of sums and 64 of operand a.
!v = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @f(%Q: !v, %K: !v, %V: !v, %low: i32, %high: i32) kernel {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %zero = arith.constant dense<0.0> : tensor<64x256xf32>
      %q = tile.load %Q[%c0, %c0] : !v -> tensor<64x64xbf16>
      // expected-remark@+1 {{products not pipelined: both sums and operand a of the second product take 344 of 240 registers}}
      %r = scf.for %j = %low to %high step %c1 iter_args(%acc = %zero) -> (tensor<64x256xf32>) : i32 {
        %k = tile.load %K[%j, %c0] : !v -> tensor<64x256xbf16>
        %s = tile.dot %q, %k : tensor<64x64xbf16>, tensor<64x256xbf16> -> tensor<64x256xf32>
        %p = tile.cast %s : tensor<64x256xf32> to tensor<64x256xbf16>
        %vt = tile.load %V[%j, %c0] : !v -> tensor<256x256xbf16>
        %sum = tile.dot %p, %vt, %acc : tensor<64x256xbf16>, tensor<256x256xbf16> -> tensor<64x256xf32>
        scf.yield %sum : tensor<64x256xf32>
      }
      gpu.return
  }
}

// -----

// Of two loops that continue one sum, the one with the shorter step; and the mask needs the place of its step.
!v = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @two(
  // CHECK: scf.if
  // CHECK: scf.for
  // CHECK: else
  // CHECK: scf.for %{{.*}} = %{{.*}} to
  // CHECK-NOT: scf.for
  gpu.func @two(%Q: !v, %K: !v, %V: !v, %low: i32, %high: i32) kernel {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c64 = arith.constant 64 : i32
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %q = tile.load %Q[%c0, %c0] : !v -> tensor<64x64xbf16>
      // expected-note@+1 {{which is this one}}
      %r = scf.for %j = %c0 to %low step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
        %k = tile.load %K[%j, %c0] : !v -> tensor<64x64xbf16>
        %s = tile.dot %q, %k : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %p = tile.cast %s : tensor<64x64xf32> to tensor<64x64xbf16>
        %vt = tile.load %V[%j, %c0] : !v -> tensor<64x64xbf16>
        // expected-remark@+1 {{product pipelined: it runs under the next step of the loop}}
        %sum = tile.dot %p, %vt, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        scf.yield %sum : tensor<64x64xf32>
      }
      // expected-remark@+1 {{products not pipelined: the loop has its sums in common with one that is, and does more in a step}}
      %t = scf.for %j = %low to %high step %c1 iter_args(%acc = %r) -> (tensor<64x64xf32>) : i32 {
        %k = tile.load %K[%j, %c0] : !v -> tensor<64x64xbf16>
        %s = tile.dot %q, %k : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        %m = arith.negf %s : tensor<64x64xf32>
        %p = tile.cast %m : tensor<64x64xf32> to tensor<64x64xbf16>
        %vt = tile.load %V[%j, %c0] : !v -> tensor<64x64xbf16>
        %sum = tile.dot %p, %vt, %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
        scf.yield %sum : tensor<64x64xf32>
      }
      gpu.return
  }
}
