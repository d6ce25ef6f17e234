// RUN: girih-opt %s --mlir-print-debuginfo=false --wg-assign-layouts --split-input-file | FileCheck %s

!x = !tile.view<f32, rank = 2, contiguous = 1, align = 16>
!h = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>

// Vectors of 16 bytes; the layout goes on through arithmetic, to a scalar spread over a tile, to a cast.
// CHECK: #[[ROWS:.*]] = #wg.layout<{register: {{\[\[}}0,1],[0,2],[8,0],[16,0],[32,0]], lane: {{\[\[}}0,4],[0,8],[0,16],[0,32],[1,0]], warp: {{\[\[}}2,0],[4,0]]}>
// CHECK-LABEL: gpu.func @elementwise
gpu.module @device {
  gpu.func @elementwise(%x: !x, %y: !h, %i: i32, %a: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // CHECK: tile.load {{.*}} -> tensor<64x64xf32, #[[ROWS]]>
    %t = tile.load %x[%i, %i] : !x -> tensor<64x64xf32>
    // CHECK: tensor.splat %{{.*}} : tensor<64x64xf32, #[[ROWS]]>
    %s = tensor.splat %a : tensor<64x64xf32>
    %u = arith.mulf %t, %s : tensor<64x64xf32>
    %v = tile.cast %u : tensor<64x64xf32> to tensor<64x64xbf16>
    // CHECK: tile.store %{{.*}} : tensor<64x64xbf16, #[[ROWS]]>
    tile.store %v, %y[%i, %i] : tensor<64x64xbf16>, !h
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 2, contiguous = 1, align = 16>

// A row's maximum stays with the threads that hold the row, and comes back to them.
// CHECK-DAG: #[[ROWS:.*]] = #wg.layout<{register: {{\[\[}}0,1],[0,2],[8,0],[16,0],[32,0]], lane: {{\[\[}}0,4],[0,8],[0,16],[0,32],[1,0]], warp: {{\[\[}}2,0],[4,0]]}>
// CHECK-DAG: #[[VECTOR:.*]] = #wg.layout<{register: {{\[\[}}0,8],[0,16],[0,32]], lane: {{\[\[}}0,0],[0,0],[0,0],[0,0],[0,1]], warp: {{\[\[}}0,2],[0,4]]}>
// CHECK-DAG: #[[COLUMN:.*]] = #wg.layout<{register: {{\[\[}}8,0],[16,0],[32,0]], lane: {{\[\[}}0,0],[0,0],[0,0],[0,0],[1,0]], warp: {{\[\[}}2,0],[4,0]]}>
// CHECK-LABEL: gpu.func @shapes
gpu.module @device {
  gpu.func @shapes(%x: !x, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tile.load %x[%i, %i] : !x -> tensor<64x64xf32>
    // CHECK: tile.reduce %{{.*}} dim(1) : tensor<64x64xf32, #[[ROWS]]> -> tensor<64xf32, #[[VECTOR]]>
    %m = tile.reduce %t dim(1) : tensor<64x64xf32> -> tensor<64xf32> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.maximumf %a, %b : f32
      tile.yield %c : f32
    }
    // CHECK: tile.expand %{{.*}} dim(1) : tensor<64xf32, #[[VECTOR]]> -> tensor<64x1xf32, #[[COLUMN]]>
    %e = tile.expand %m dim(1) : tensor<64xf32> -> tensor<64x1xf32>
    // CHECK: tile.broadcast %{{.*}} : tensor<64x1xf32, #[[COLUMN]]> -> tensor<64x64xf32, #[[ROWS]]>
    %b = tile.broadcast %e : tensor<64x1xf32> -> tensor<64x64xf32>
    %d = arith.subf %t, %b : tensor<64x64xf32>
    // CHECK-NOT: wg.convert_layout
    tile.store %d, %x[%i, %i] : tensor<64x64xf32>, !x
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 2, contiguous = 1, align = 16>

// The store of a transposed tile would touch four times as many sectors; its tile is converted.
// CHECK-DAG: #[[ROWS:.*]] = #wg.layout<{register: {{\[\[}}0,1],[0,2],[8,0],[16,0],[32,0]], lane: {{\[\[}}0,4],[0,8],[0,16],[0,32],[1,0]], warp: {{\[\[}}2,0],[4,0]]}>
// CHECK-DAG: #[[COLUMNS:.*]] = #wg.layout<{register: {{\[\[}}1,0],[2,0],[0,8],[0,16],[0,32]], lane: {{\[\[}}4,0],[8,0],[16,0],[32,0],[0,1]], warp: {{\[\[}}0,2],[0,4]]}>
// CHECK-LABEL: gpu.func @transposed
gpu.module @device {
  gpu.func @transposed(%x: !x, %y: !x, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tile.load %x[%i, %i] : !x -> tensor<64x64xf32>
    // CHECK: tile.transpose %{{.*}} [1, 0] : tensor<64x64xf32, #[[ROWS]]> -> tensor<64x64xf32, #[[COLUMNS]]>
    %u = tile.transpose %t [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
    // CHECK: %[[C:.*]] = wg.convert_layout %{{.*}} : tensor<64x64xf32, #[[COLUMNS]]> -> tensor<64x64xf32, #[[ROWS]]>
    // CHECK: tile.store %[[C]]
    tile.store %u, %y[%i, %i] : tensor<64x64xf32>, !x
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 2, contiguous = 0, align = 16>

// A view whose first dimension is contiguous is read along it.
// CHECK: #wg.layout<{register: {{\[\[}}1,0],[2,0],[0,8],[0,16],[0,32]], lane: {{\[\[}}4,0],[8,0],[16,0],[32,0],[0,1]], warp: {{\[\[}}0,2],[0,4]]}>
gpu.module @device {
  gpu.func @columns(%x: !x, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tile.load %x[%i, %i] : !x -> tensor<64x64xf32>
    tile.store %t, %x[%i, %i] : tensor<64x64xf32>, !x
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 2, contiguous = 1, align = 16>
#acc = #wg.layout<{register: [[0,1],[8,0],[0,8],[0,16],[0,32]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>

// What the author wrote stays. An open side of a conversion takes what is there; a conversion to the same layout goes.
// CHECK: #[[ACC:.*]] = #wg.layout<{register: {{\[\[}}0,1],[8,0],[0,8]
// CHECK-LABEL: gpu.func @fixed
gpu.module @device {
  gpu.func @fixed(%x: !x, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %acc = wg.acc : !wg.pending<tensor<64x64xf32, #acc>>
    %t = wg.wait %acc in_flight(0) : !wg.pending<tensor<64x64xf32, #acc>> -> tensor<64x64xf32, #acc>
    // CHECK-NOT: wg.convert_layout
    %open = wg.convert_layout %t : tensor<64x64xf32, #acc> -> tensor<64x64xf32>
    %one = arith.constant dense<1.0> : tensor<64x64xf32>
    // CHECK: arith.addf %{{.*}} : tensor<64x64xf32, #[[ACC]]>
    %u = arith.addf %open, %one : tensor<64x64xf32>
    // A quad of an accumulator holds whole sectors: nothing to gain.
    // CHECK: tile.store %{{.*}} : tensor<64x64xf32, #[[ACC]]>
    tile.store %u, %x[%i, %i] : tensor<64x64xf32>, !x
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 2, contiguous = 1, align = 16>
#acc = #wg.layout<{register: [[0,1],[8,0],[0,8],[0,16],[0,32]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>

// A bias that is loaded once and needed in the layout of an accumulator is converted as a vector, where it is loaded, and
// not as a matrix in the loop.
// CHECK-LABEL: gpu.func @hoisted
gpu.module @device {
  gpu.func @hoisted(%x: !x, %b: !tile.view<f32, rank = 1, contiguous = 0, align = 16>, %i: i32, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    // CHECK: tile.load {{.*}} -> tensor<64xf32
    %v = tile.load %b[%i] : !tile.view<f32, rank = 1, contiguous = 0, align = 16> -> tensor<64xf32>
    // CHECK-NOT: wg.convert_layout
    // CHECK: scf.for
    scf.for %k = %zero to %n step %one : i32 {
      // CHECK-NOT: wg.convert_layout
      %acc = wg.acc : !wg.pending<tensor<64x64xf32, #acc>>
      %t = wg.wait %acc in_flight(0) : !wg.pending<tensor<64x64xf32, #acc>> -> tensor<64x64xf32, #acc>
      %open = wg.convert_layout %t : tensor<64x64xf32, #acc> -> tensor<64x64xf32>
      %e = tile.expand %v dim(0) : tensor<64xf32> -> tensor<1x64xf32>
      %m = tile.broadcast %e : tensor<1x64xf32> -> tensor<64x64xf32>
      %u = arith.addf %open, %m : tensor<64x64xf32>
      tile.store %u, %x[%k, %i] : tensor<64x64xf32>, !x
    }
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 2, contiguous = 1, align = 16>

// What a loop carries has one layout, its start value included.
// CHECK: #[[ROWS:.*]] = #wg.layout
// CHECK-LABEL: gpu.func @carried
gpu.module @device {
  gpu.func @carried(%x: !x, %i: i32, %n: i32, %p: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %low = arith.constant dense<0.0> : tensor<64x64xf32>
    // CHECK: scf.for {{.*}} -> (tensor<64x64xf32, #[[ROWS]]>)
    %sum = scf.for %k = %zero to %n step %one iter_args(%s = %low) -> tensor<64x64xf32> : i32 {
      %t = tile.load %x[%k, %i] : !x -> tensor<64x64xf32>
      %u = arith.addf %s, %t : tensor<64x64xf32>
      scf.yield %u : tensor<64x64xf32>
    }
    // CHECK: scf.if {{.*}} -> (tensor<64x64xf32, #[[ROWS]]>)
    %r = scf.if %p -> tensor<64x64xf32> {
      scf.yield %sum : tensor<64x64xf32>
    } else {
      scf.yield %low : tensor<64x64xf32>
    }
    // CHECK: scf.while ({{.*}}) : (tensor<64x64xf32, #[[ROWS]]>) -> tensor<64x64xf32, #[[ROWS]]>
    %w = scf.while (%a = %r) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
      scf.condition(%p) %a : tensor<64x64xf32>
    } do {
    // CHECK: ^bb0(%{{.*}}: tensor<64x64xf32, #[[ROWS]]>)
    ^bb0(%b: tensor<64x64xf32>):
      %c = arith.negf %b : tensor<64x64xf32>
      scf.yield %c : tensor<64x64xf32>
    }
    // CHECK-NOT: wg.convert_layout
    tile.store %w, %x[%i, %i] : tensor<64x64xf32>, !x
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 2, contiguous = 1, align = 16>
!i = !tile.view<i32, rank = 1, contiguous = 0>

// The places of rows sit where the rows do; indices and masks of single elements, where the elements do.
// CHECK-DAG: #[[PLACES:.*]] = #wg.layout<{register: {{\[\[}}0,8]], lane: {{\[\[}}0,0],[0,0],[0,0],[0,0],[0,1]], warp: {{\[\[}}0,2],[0,4]]}>
// CHECK-DAG: #[[LINE:.*]] = #wg.layout<{lane: {{\[\[}}0,1],[0,2],[0,4],[0,8],[0,16]], warp: {{\[\[}}0,32],[0,64]]}>
// CHECK-LABEL: gpu.func @lists
gpu.module @device {
  gpu.func @lists(%x: !x, %ids: !i, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // CHECK: tile.load %{{.*}} -> tensor<16xi32, #[[PLACES]]>
    %p = tile.load %ids[%i] : !i -> tensor<16xi32>
    // CHECK: tile.take {{.*}}, tensor<16xi32, #[[PLACES]]> ->
    %t = tile.take %x[%i, %i] at(%p) dim(0) : !x, tensor<16xi32> -> tensor<16x64xf32>
    tile.put %t, %x[%i, %i] at(%p) dim(0) : tensor<16x64xf32>, !x, tensor<16xi32>
    %j = tile.iota dim(0) : tensor<128xi32>
    %one = arith.constant dense<1> : tensor<128xi32>
    %m = arith.cmpi slt, %j, %one : tensor<128xi32>
    // CHECK: tile.gather {{.*}} at tensor<128xi32, #[[LINE]]> mask tensor<128xi1, #[[LINE]]> -> tensor<128xi32, #[[LINE]]>
    %g = tile.gather %ids[%j] mask(%m) : !i at tensor<128xi32> mask tensor<128xi1> -> tensor<128xi32>
    // CHECK: tile.atomic {{.*}} : tensor<128xi32, #[[LINE]]>
    %old = tile.atomic add relaxed gpu %one, %ids[%g] : tensor<128xi32>, !i at tensor<128xi32>
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 2, contiguous = 1, align = 16>
!v = !tile.view<f32, rank = 1, contiguous = 0, align = 16>

// Pairs sit in one thread, and a tile may become a line of its elements.
// CHECK-LABEL: gpu.func @pairs
gpu.module @device {
  gpu.func @pairs(%x: !v, %y: !v, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %re = tile.load %x[%i] : !v -> tensor<512xf32>
    // CHECK: tile.join {{.*}} -> tensor<512x2xf32, #[[PAIRS:[a-z0-9]*]]>
    %z = tile.join %re, %re : tensor<512xf32> -> tensor<512x2xf32>
    // CHECK: tile.split {{.*}} : tensor<512x2xf32, #[[PAIRS]]>
    %a, %b = tile.split %z : tensor<512x2xf32> -> tensor<512xf32>
    // CHECK: tile.reshape {{.*}} : tensor<512x2xf32, #[[PAIRS]]> -> tensor<1024xf32
    %l = tile.reshape %z : tensor<512x2xf32> -> tensor<1024xf32>
    tile.store %l, %y[%i] : tensor<1024xf32>, !v
    tile.store %a, %y[%i] : tensor<512xf32>, !v
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 2, contiguous = 1, align = 16>
!y = !tile.view<f32, rank = 2, contiguous = 0, align = 16>

// One mask for two stores that want it in different layouts is computed twice, and no coordinate goes through memory.
// CHECK-LABEL: gpu.func @masks
gpu.module @device {
  gpu.func @masks(%x: !x, %y: !y, %i: i32, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %j = tile.iota dim(1) : tensor<64x64xi32>
    %s = tensor.splat %n : tensor<64x64xi32>
    // CHECK-COUNT-2: arith.cmpi slt
    // CHECK-NOT: wg.convert_layout
    %m = arith.cmpi slt, %j, %s : tensor<64x64xi32>
    %a = tile.load %x[%i, %i] : !x -> tensor<64x64xf32>
    %b = tile.load %y[%i, %i] : !y -> tensor<64x64xf32>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %c = arith.select %m, %a, %zero : tensor<64x64xi1>, tensor<64x64xf32>
    %d = arith.select %m, %b, %zero : tensor<64x64xi1>, tensor<64x64xf32>
    tile.store %c, %x[%i, %i] : tensor<64x64xf32>, !x
    tile.store %d, %y[%i, %i] : tensor<64x64xf32>, !y
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 3, contiguous = 2, align = 16>

// Extents that are no powers of two: as many threads as divide them, the rest hold the same.
// CHECK-DAG: #wg.layout<{lane: {{\[\[}}0,0],[0,0],[0,0],[0,0],[0,0]], warp: {{\[\[}}0,0],[0,0]]} repeat {register: [0,1] x 3}>
// CHECK-DAG: repeat {register: [0,8] x 5, register: [1,0] x 15}>
// CHECK-LABEL: gpu.func @odd
gpu.module @device {
  gpu.func @odd(%x: !x, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tile.load %x[%i, %i, %i] : !x -> tensor<3x5x40xf32>
    tile.store %t, %x[%i, %i, %i] : tensor<3x5x40xf32>, !x
    %j = tile.iota dim(0) : tensor<3xi32>
    tile.print "j" %j : tensor<3xi32>
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 2, contiguous = 1, align = 16>
!y = !tile.view<f32, rank = 2, contiguous = 0, align = 16>

// One tile lies across, three along: the one is converted, although it is loaded first.
// CHECK-DAG: #[[ACROSS:.*]] = #wg.layout<{register: {{\[\[}}1,0],[2,0],[0,8],[0,16],[0,32]]
// CHECK-DAG: #[[ALONG:.*]] = #wg.layout<{register: {{\[\[}}0,1],[0,2],[8,0],[16,0],[32,0]]
// CHECK-LABEL: gpu.func @majority
gpu.module @device {
  gpu.func @majority(%x: !x, %y: !y, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // CHECK: %[[A:.*]] = tile.load {{.*}} -> tensor<64x64xf32, #[[ACROSS]]>
    // CHECK-NEXT: wg.convert_layout %[[A]] : tensor<64x64xf32, #[[ACROSS]]> -> tensor<64x64xf32, #[[ALONG]]>
    // CHECK-NOT: wg.convert_layout
    %a = tile.load %y[%i, %i] : !y -> tensor<64x64xf32>
    %b = tile.load %x[%i, %i] : !x -> tensor<64x64xf32>
    %c = tile.load %x[%i, %i] : !x -> tensor<64x64xf32>
    %d = arith.addf %a, %b : tensor<64x64xf32>
    %e = arith.mulf %d, %c : tensor<64x64xf32>
    tile.store %e, %x[%i, %i] : tensor<64x64xf32>, !x
    gpu.return
  }
}
