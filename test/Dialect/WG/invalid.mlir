// Every message of the dialect's ops, one case each; those of types and attributes are in types-invalid.mlir.
// RUN: girih-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error @+1 {{'wg.specialize' op has no role: expected at least one wg.role}}
  wg.specialize {
  }
  return
}

// -----

func.func @f() {
  wg.specialize {
    // expected-error @+1 {{'arith.constant' op cannot stand between roles: move it before the wg.specialize or into a wg.role}}
    %c = arith.constant 0 : i32
  }
  return
}

// -----

func.func @f() {
  wg.specialize {
    // expected-note @+1 {{the other one is here}}
    wg.role @load warps(1) {
    }
    // expected-error @+1 {{'wg.role' op has the name of another role: give each its own}}
    wg.role @load warps(1) {
    }
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'wg.specialize' op has roles of 1152 threads, idle warps included, and a CTA has at most 1024: give the roles fewer warps}}
  wg.specialize {
    wg.role @load warps(1) {
    }
    wg.role @multiply warpgroups(8) {
    }
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'wg.specialize' op has 1 roles with registers(...) and 1 without: every role states a budget, or none does}}
  wg.specialize {
    wg.role @load warps(1) registers(40) {
    }
    wg.role @multiply warpgroups(2) {
    }
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'wg.specialize' op has roles that ask for 66560 registers, idle warps included, and a launch of 384 threads allots 64512 (168 a thread), so that one would wait for ever: lower a budget}}
  wg.specialize {
    // expected-note @+1 {{role 'load' takes 1 warpgroups, 40 registers a thread}}
    wg.role @load warps(1) registers(40) {
    }
    // expected-note @+1 {{role 'multiply' takes 2 warpgroups, 240 registers a thread}}
    wg.role @multiply warpgroups(2) registers(240) {
    }
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'wg.specialize' op has roles that ask for 69632 registers, idle warps included, and a launch of 512 threads allots 65536 (128 a thread), so that one would wait for ever: lower a budget}}
  wg.specialize {
    // expected-note @+1 {{role 'load' takes 1 warpgroups, 40 registers a thread}}
    wg.role @load warps(1) registers(40) {
    }
    // expected-note @+1 {{role 'multiply' takes 3 warpgroups, 168 registers a thread}}
    wg.role @multiply warpgroups(3) registers(168) {
    }
  }
  return
}

// -----

func.func @f() {
  wg.specialize {
    // expected-error @+1 {{expected 'warps(n)' or 'warpgroups(n)', found 'threads'}}
    wg.role @load threads(32) {
    }
  }
  return
}

// -----

func.func @f() {
  wg.specialize {
    // expected-error @+1 {{'wg.role' op expects a register budget that is a multiple of 8 from 24 to 256, found 44}}
    wg.role @load warps(1) registers(44) {
    }
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'wg.set_registers' op expects a register budget that is a multiple of 8 from 24 to 256, found 16}}
  wg.set_registers decrease 16
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'wg.specialize' op has a body with arguments: expected none}}
  "wg.specialize"() ({
  ^bb0(%i: i32):
  }) : () -> ()
  return
}

// -----

func.func @f() {
  wg.specialize {
    // expected-error @+1 {{'wg.role' op has a body with arguments: expected none, values from outside may be used}}
    "wg.role"() <{role_name = "load", warps = 1 : i32}> ({
    ^bb0(%i: i32):
    }) : () -> ()
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'wg.alloc_buffer' op has offset 512: expected a multiple of 1024, since the swizzle works on absolute address bits}}
  %a = wg.alloc_buffer {offset = 512 : i32} : !wg.buffer<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'wg.alloc_barrier' op has offset 4: expected a multiple of 8}}
  %a = wg.alloc_barrier {offset = 4 : i32} : !wg.barrier<4>
  return
}

// -----

func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>, %i: i32) {
  // expected-error @+1 {{'wg.slot' op expects the result of a wg.alloc_buffer with a count: only that is an array of slots}}
  %s = wg.slot %a[%i] : !wg.buffer<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @f() {
  %c2 = arith.constant 2 : i32
  %a = wg.alloc_buffer {count = 2 : i32} : !wg.buffer<64x64xbf16, swizzle = 128>
  // expected-error @+1 {{'wg.slot' op asks for slot 2 of 2}}
  %s = wg.slot %a[%c2] : !wg.buffer<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>) {
  // expected-error @+1 {{'wg.subbuffer' op expects a part of the source's element type, order and swizzle, found '!wg.buffer<64x32xf16, swizzle = 128>' from '!wg.buffer<64x64xbf16, swizzle = 128>'}}
  %s = wg.subbuffer %a[0, 0] : !wg.buffer<64x64xbf16, swizzle = 128> -> !wg.buffer<64x32xf16, swizzle = 128>
  return
}

// -----

func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>) {
  // expected-error @+1 {{'wg.subbuffer' op expects two offsets, one for each dimension}}
  %s = wg.subbuffer %a[0] : !wg.buffer<64x64xbf16, swizzle = 128> -> !wg.buffer<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>) {
  // expected-error @+1 {{'wg.subbuffer' op takes elements 8 to 72 of dimension 0, which has 64}}
  %s = wg.subbuffer %a[8, 0] : !wg.buffer<64x64xbf16, swizzle = 128> -> !wg.buffer<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>) {
  // expected-error @+1 {{'wg.subbuffer' op starts at 4 in dimension 0: expected a multiple of 8, the lines of the swizzle's pattern}}
  %s = wg.subbuffer %a[4, 0] : !wg.buffer<64x64xbf16, swizzle = 128> -> !wg.buffer<32x64xbf16, swizzle = 128>
  return
}

// -----

func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>) {
  // expected-error @+1 {{'wg.subbuffer' op starts at 32 in dimension 1: expected a multiple of 64, the elements of one panel}}
  %s = wg.subbuffer %a[0, 32] : !wg.buffer<64x64xbf16, swizzle = 128> -> !wg.buffer<64x32xbf16, swizzle = 128>
  return
}

// -----

func.func @f(%a: !wg.buffer<64x128xbf16, swizzle = 128>) {
  // expected-error @+1 {{'wg.subbuffer' op takes 32 of 64 lines of 2 panels, which do not follow each other: take one panel at a time, or all lines}}
  %s = wg.subbuffer %a[0, 0] : !wg.buffer<64x128xbf16, swizzle = 128> -> !wg.buffer<32x128xbf16, swizzle = 128>
  return
}

// -----

func.func @f(%a: !wg.buffer<64x64xbf16>) {
  // expected-error @+1 {{'wg.subbuffer' op takes 32 of 64 elements of a line: without a swizzle take whole lines}}
  %s = wg.subbuffer %a[0, 0] : !wg.buffer<64x64xbf16> -> !wg.buffer<64x32xbf16>
  return
}

// -----

func.func @f(%r: !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>) {
  // expected-error @+1 {{'wg.cursor' op asks for the consumer's end of a store ring: its consumer is the hardware, expected producer}}
  %c = wg.cursor consumer %r : !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>
  return
}

// -----

func.func @f(%r: !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>, %s: !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>) {
  // expected-note @+1 {{the cursor starts here}}
  %c = wg.cursor producer %r : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
  // expected-error @+1 {{'wg.advance' op takes a cursor of another ring: each ring has its own, which starts at a wg.cursor of it}}
  %n = wg.advance %s[%c] : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
  return
}

// -----

func.func @f(%r: !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>, %n: i32) {
  // expected-note @+1 {{the cursor starts here}}
  %c = wg.cursor producer %r : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
  %d = scf.for %i = %n to %n step %n iter_args(%p = %c) -> (!wg.cursor) : i32 {
    // expected-error @+1 {{'wg.get' op expects a cursor of the ring's consumer, found one of its producer: filling and draining each carry their own}}
    %s = wg.get %r[%p] : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
    scf.yield %p : !wg.cursor
  }
  return
}

// -----

func.func @f(%r: !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>) {
  // expected-note @+1 {{the cursor starts here}}
  %c = wg.cursor consumer %r : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
  // expected-error @+1 {{'wg.acquire' op expects a cursor of the ring's producer, found one of its consumer: filling and draining each carry their own}}
  %s = wg.acquire %r[%c] : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
  return
}

// -----

func.func @f(%r: !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>) {
  // expected-note @+1 {{the cursor starts here}}
  %c = wg.cursor consumer %r : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
  // expected-error @+1 {{'wg.publish' op expects a cursor of the ring's producer, found one of its consumer: filling and draining each carry their own}}
  wg.publish %r[%c] : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
  return
}

// -----

func.func @f(%r: !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>) {
  // expected-note @+1 {{the cursor starts here}}
  %c = wg.cursor producer %r : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
  // expected-error @+1 {{'wg.free' op expects a cursor of the ring's consumer, found one of its producer: filling and draining each carry their own}}
  wg.free %r[%c] : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
  return
}

// -----

func.func @f(%r: !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>, %n: i32) {
  // expected-note @+1 {{the cursor starts here}}
  %c = wg.cursor consumer %r : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
  // expected-error @+1 {{'wg.fill' op expects a cursor of the ring's producer, found one of its consumer: filling and draining each carry their own}}
  %d = wg.fill %r[%c] count(%n) as (%k, %a) : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]> {
  }
  return
}

// -----

func.func @f(%r: !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>, %s: !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>) {
  // expected-note @+1 {{the cursor starts here}}
  %c = wg.cursor producer %r : !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>
  // expected-error @+1 {{'wg.store_acquire' op takes a cursor of another ring: each ring has its own, which starts at a wg.cursor of it}}
  %b = wg.store_acquire %s[%c] : !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>
  return
}

// -----

func.func @f(%r: !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>, %s: !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>) {
  // expected-note @+1 {{the cursor starts here}}
  %c = wg.cursor producer %r : !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>
  // expected-error @+1 {{'wg.store_commit' op takes a cursor of another ring: each ring has its own, which starts at a wg.cursor of it}}
  wg.store_commit %s[%c] : !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>
  return
}

// -----

func.func @f(%r: !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>, %p: !wg.cursor, %n: i32) {
  // expected-error @+1 {{expected a name for the step and one for each of the slot's 1 buffers, found 3 names}}
  %q = wg.fill %r[%p] count(%n) as (%k, %a, %b) : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]> {
  }
  return
}

// -----

func.func @f(%r: !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>, %p: !wg.cursor, %n: i32) {
  // expected-error @+1 {{expected a type for each of the 1 carried values, found 2}}
  %q = wg.fill %r[%p] count(%n) as (%k, %a) iter_args(%x = %n) -> (i32, i32) : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]> {
  }
  return
}

// -----

func.func @f(%r: !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>, %p: !wg.cursor, %n: i32) {
  %q, %y = wg.fill %r[%p] count(%n) as (%k, %a) iter_args(%x = %n) -> (i32) : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]> {
    // expected-error @+1 {{'wg.yield' op expects a value for each one that the loop carries: 'i32', found}}
    wg.yield
  }
  return
}

// -----

func.func @f(%r: !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>, %p: !wg.cursor, %n: i32) {
  // expected-error @+1 {{'wg.fill' op expects a body whose arguments are the step (i32), the slot's buffers and the carried values}}
  %q = "wg.fill"(%r, %p, %n) ({
  ^bb0(%k: i32):
    wg.yield
  }) : (!wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>, !wg.cursor, i32) -> !wg.cursor
  return
}

// -----

func.func @f(%r: !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>, %p: !wg.cursor, %n: i32) {
  // expected-error @+1 {{'wg.fill' op expects results of the types of the carried values: , found 'i32'}}
  %q, %x = "wg.fill"(%r, %p, %n) ({
  ^bb0(%k: i32, %a: !wg.buffer<64x64xbf16, swizzle = 128>):
    wg.yield
  }) : (!wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>, !wg.cursor, i32) -> (!wg.cursor, i32)
  return
}

// -----

func.func @f(%r: !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>, %p: !wg.cursor, %n: i32) {
  // expected-error @+1 {{'wg.drain' op has lag -1: expected at least 0}}
  %q = wg.drain %r[%p] count(%n) lag(-1) as (%k, %a) : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]> {
  }
  return
}

// -----

func.func @f(%n: i32) {
  // expected-note @+1 {{the ring is made here}}
  %r = wg.ring {stages = 2 : i32} : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
  %p = wg.cursor consumer %r : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
  // expected-error @+1 {{'wg.drain' op has lag 2 on a ring of 2 stages: expected less, since a slot is filled again only after it has been freed}}
  %q = wg.drain %r[%p] count(%n) lag(2) as (%k, %a) : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]> {
  }
  return
}

// -----

func.func @f(%r: !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>, %c: !wg.cursor) {
  wg.specialize {
    wg.role @multiply warpgroups(2) {
      // expected-error @+1 {{'wg.store_acquire' op takes a slot of 64 rows in a role of 2 warpgroups: expected a multiple of 128, 64 rows for each, since the buffer is the whole role's}}
      %s = wg.store_acquire %r[%c] : !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>
    }
  }
  return
}

// -----

func.func @f(%r: !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>, %c: !wg.cursor) {
  wg.specialize {
    wg.role @multiply warps(2) {
      // expected-error @+1 {{'wg.store_acquire' op is executed by 2 warps of role 'multiply': a slot is written by whole warpgroups}}
      %s = wg.store_acquire %r[%c] : !wg.store_ring<!wg.buffer<64x64xbf16, swizzle = 128>>
    }
  }
  return
}

// -----

func.func @f(%v: !wg.view<bf16, box = [2, 64, 64], swizzle = 128>, %b: !wg.buffer<64x64xbf16, swizzle = 128>, %i: i32) {
  // expected-error @+1 {{'wg.tma_load' op copies boxes of several elements along dimensions 2, 1 and 0: expected at most two such dimensions, as a buffer has}}
  wg.tma_load %v[%i, %i, %i] to %b : !wg.view<bf16, box = [2, 64, 64], swizzle = 128>, !wg.buffer<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @f(%v: !wg.view<bf16, box = [64, 1, 64], swizzle = 128>, %b: !wg.buffer<64x64xbf16, order = [0, 1], swizzle = 128>, %i: i32) {
  // expected-error @+1 {{'wg.tma_load' op copies between a view whose fastest dimension is 2 and a buffer whose fastest is 0: expected the same order, TMA does not transpose}}
  wg.tma_load %v[%i, %i, %i] to %b : !wg.view<bf16, box = [64, 1, 64], swizzle = 128>, !wg.buffer<64x64xbf16, order = [0, 1], swizzle = 128>
  return
}

// -----

func.func @f(%v: !wg.view<bf16, box = [64, 64], swizzle = 128>, %b: !wg.buffer<64x64xbf16, swizzle = 128>, %i: i32) {
  // expected-error @+1 {{'wg.tma_load' op copies between a view whose fastest dimension is 1 and a buffer whose fastest is 1, transposed: expected the same order, TMA does not transpose}}
  wg.tma_load %v[%i, %i] to %b transposed : !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.buffer<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @f(%v: !wg.view<bf16, box = [64, 64], swizzle = 128>, %b: !wg.buffer<64x64xbf16, swizzle = 128>, %i: i32) {
  // expected-error @+1 {{'wg.tma_load' op expects an index for each of the view's 2 dimensions, found 1}}
  wg.tma_load %v[%i] to %b : !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.buffer<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @f(%v: !wg.view<f16, box = [64, 64], swizzle = 128>, %b: !wg.buffer<64x64xbf16, swizzle = 128>, %i: i32) {
  // expected-error @+1 {{'wg.tma_load' op copies between elements of 'f16' in the view and 'bf16' in the buffer: expected one type, TMA does not convert}}
  wg.tma_load %v[%i, %i] to %b : !wg.view<f16, box = [64, 64], swizzle = 128>, !wg.buffer<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @f(%v: !wg.view<bf16, box = [64, 64], order = [0, 1], swizzle = 128>, %b: !wg.buffer<64x64xbf16, swizzle = 128>, %i: i32) {
  // expected-error @+1 {{'wg.tma_load' op copies between a view whose fastest dimension is 0 and a buffer whose fastest is 1: expected the same order, TMA does not transpose}}
  wg.tma_load %v[%i, %i] to %b : !wg.view<bf16, box = [64, 64], order = [0, 1], swizzle = 128>, !wg.buffer<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @f(%v: !wg.view<bf16, box = [64, 64]>, %b: !wg.buffer<64x64xbf16, swizzle = 128>, %i: i32) {
  // expected-error @+1 {{'wg.tma_load' op copies between a view with a swizzle of 0 bytes and a buffer with one of 128: expected the same, the map decides how a box lies in shared memory}}
  wg.tma_load %v[%i, %i] to %b : !wg.view<bf16, box = [64, 64]>, !wg.buffer<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @f(%v: !wg.view<bf16, box = [64, 32], swizzle = 128>, %b: !wg.buffer<64x64xbf16, swizzle = 128>, %i: i32) {
  // expected-error @+1 {{'wg.tma_load' op has a box of 32 elements along dimension 1: expected 64, the width of the buffer's panels}}
  wg.tma_load %v[%i, %i] to %b : !wg.view<bf16, box = [64, 32], swizzle = 128>, !wg.buffer<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @f(%v: !wg.view<bf16, box = [48, 64], swizzle = 128>, %b: !wg.buffer<64x64xbf16, swizzle = 128>, %i: i32) {
  // expected-error @+1 {{'wg.tma_load' op has a box of 48 elements along dimension 0: expected a divisor of 64, which is what it fills}}
  wg.tma_load %v[%i, %i] to %b : !wg.view<bf16, box = [48, 64], swizzle = 128>, !wg.buffer<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @f(%v: !wg.view<bf16, box = [64, 64], swizzle = 128>, %b: !wg.buffer<64x64xbf16, swizzle = 128>, %i: i32, %bar: !wg.barrier<1>) {
  // expected-error @+1 {{'wg.tma_load' op expects a barrier together with its index}}
  "wg.tma_load"(%v, %i, %i, %b, %bar) <{operandSegmentSizes = array<i32: 1, 2, 1, 1, 0>}> : (!wg.view<bf16, box = [64, 64], swizzle = 128>, i32, i32, !wg.buffer<64x64xbf16, swizzle = 128>, !wg.barrier<1>) -> ()
  return
}

// -----

func.func @f(%v: !wg.view<bf16, box = [64, 64], swizzle = 128>, %b: !wg.buffer<64x64xbf16, swizzle = 128>, %i: i32) {
  wg.specialize {
    wg.role @multiply warpgroups(3) {
      // expected-error @+1 {{'wg.tma_store' op stores 64 rows in a role of 3 warpgroups: expected a multiple, each stores its share}}
      wg.tma_store %b to %v[%i, %i] : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>
    }
  }
  return
}

// -----

func.func @f(%v: !wg.view<bf16, box = [64, 64], swizzle = 128>, %b: !wg.buffer<64x112xbf16, swizzle = 128>, %i: i32) {
  // expected-error @+1 {{'wg.tma_store' op stores 112 elements along dimension 1 in boxes of 64: the last would write past the tile, expected a divisor}}
  wg.tma_store %b to %v[%i, %i] : !wg.buffer<64x112xbf16, swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%t: tensor<64x24xf32, #acc>, %b: !wg.buffer<64x64xbf16, swizzle = 128>) {
  // expected-error @+1 {{'wg.local_store' op copies between a tile of 64x24x'f32' and '!wg.buffer<64x64xbf16, swizzle = 128>': expected the same shape and element type}}
  wg.local_store %t to %b : tensor<64x24xf32, #acc>, !wg.buffer<64x64xbf16, swizzle = 128>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%t: tensor<64x24xf32, #acc>, %b: !wg.buffer<64x24xf32, swizzle = 128>) {
  wg.specialize {
    wg.role @multiply warpgroups(2) {
      // expected-error @+1 {{'wg.local_load' op has a tile over 1 warpgroups in role 'multiply' of 2: expected a tile of the whole role}}
      %u = wg.local_load %b : !wg.buffer<64x24xf32, swizzle = 128> -> tensor<64x24xf32, #acc>
    }
  }
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%p: !wg.pending<tensor<64x24xf32, #acc>>, %b: !wg.buffer<64x24xf32, swizzle = 128>) {
  // expected-error @+1 {{'wg.local_store' op operand #0 must be a tile (a ranked tensor with a #wg.layout encoding; a pending tile becomes one through wg.wait), but got '!wg.pending<}}
  wg.local_store %p to %b : !wg.pending<tensor<64x24xf32, #acc>>, !wg.buffer<64x24xf32, swizzle = 128>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x64xf8E4M3FN, swizzle = 64>, %b: !wg.buffer<64x32xf8E4M3FN, swizzle = 32>, %c: !wg.pending<tensor<64x24xf32, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op operand b of 'f8E4M3FN' has dimension 1 fastest: wgmma reads 8-bit and tf32 operands K-major only, expected order = [0, 1]}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x64xf8E4M3FN, swizzle = 64>, !wg.buffer<64x32xf8E4M3FN, swizzle = 32>, !wg.pending<tensor<64x24xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x32xtf32, order = [0, 1], swizzle = 128>, %b: !wg.buffer<32x24xtf32, order = [0, 1], swizzle = 128>, %c: !wg.pending<tensor<64x24xf32, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op operand a of 'tf32' has dimension 0 fastest: wgmma reads 8-bit and tf32 operands K-major only, expected order = [1, 0]}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x32xtf32, order = [0, 1], swizzle = 128>, !wg.buffer<32x24xtf32, order = [0, 1], swizzle = 128>, !wg.pending<tensor<64x24xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x32xi16, swizzle = 64>, %b: !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>, %c: !wg.pending<tensor<64x24xf32, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op operand a has elements of 'i16': expected bf16, f16, tf32, f32, e4m3, e5m2 or i8}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x32xi16, swizzle = 64>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>, !wg.pending<tensor<64x24xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x64xf16, swizzle = 128>, %b: !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>, %c: !wg.pending<tensor<64x24xf32, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op multiplies 'f16' by 'bf16': expected operands of one type}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x64xf16, swizzle = 128>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>, !wg.pending<tensor<64x24xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>, %b: !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>, %c: !wg.pending<tensor<64x24xf16, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op accumulates in 'f16': expected f32}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>, !wg.pending<tensor<64x24xf16, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>, %b: !wg.buffer<32x24xbf16, order = [0, 1], swizzle = 64>, %c: !wg.pending<tensor<64x24xf32, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op has a of 64x64 and b of 32x24: expected a's columns to be b's rows}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<32x24xbf16, order = [0, 1], swizzle = 64>, !wg.pending<tensor<64x24xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>, %b: !wg.buffer<64x16xbf16, order = [0, 1], swizzle = 128>, %c: !wg.pending<tensor<64x24xf32, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op expects an accumulator of 64x16, a's rows by b's columns, found 64x24}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x16xbf16, order = [0, 1], swizzle = 128>, !wg.pending<tensor<64x24xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[8,0],[16,0]], warpgroup: [[32,0]]}>
func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>, %b: !wg.buffer<64x8xbf16, order = [0, 1], swizzle = 128>, %c: !wg.pending<tensor<64x8xf32, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op has M = 64 over 2 warpgroups: expected a multiple of 128}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x8xbf16, order = [0, 1], swizzle = 128>, !wg.pending<tensor<64x8xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 33}>
func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>, %b: !wg.buffer<64x264xbf16, order = [0, 1], swizzle = 128>, %c: !wg.pending<tensor<64x264xf32, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op has N = 264: expected a multiple of 8 up to 256, split a wider tile}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x264xbf16, order = [0, 1], swizzle = 128>, !wg.pending<tensor<64x264xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x8xbf16, swizzle = 32>, %b: !wg.buffer<8x24xbf16, order = [0, 1], swizzle = 32>, %c: !wg.pending<tensor<64x24xf32, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op has K = 8: expected a multiple of 16}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x8xbf16, swizzle = 32>, !wg.buffer<8x24xbf16, order = [0, 1], swizzle = 32>, !wg.pending<tensor<64x24xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>, %b: !wg.buffer<64x24xbf16, order = [0, 1]>, %c: !wg.pending<tensor<64x24xf32, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op operand b is stored without a swizzle, line after line, which no wgmma descriptor can say: expected a swizzle of 32, 64 or 128 bytes}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x24xbf16, order = [0, 1]>, !wg.pending<tensor<64x24xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[8,0],[0,1]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>, %b: !wg.buffer<64x8xbf16, order = [0, 1], swizzle = 128>, %c: !wg.pending<tensor<64x8xf32, #acc>>, %w: i1) {
  // expected-error @+2 {{'wg.mma' op the accumulator has a layout that wgmma does not have: expected #wg.layout<{register: [[0,1],[8,0]]}}
  // expected-note @+1 {{element (0, 1) sits in}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x8xbf16, order = [0, 1], swizzle = 128>, !wg.pending<tensor<64x8xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
#a = #wg.layout<{register: [[0,1],[0,8],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
func.func @f(%a: tensor<64x16xbf16, #a>, %b: !wg.buffer<16x24xbf16, order = [0, 1], swizzle = 32>, %c: !wg.pending<tensor<64x24xf32, #acc>>, %w: i1) {
  // expected-error @+2 {{'wg.mma' op operand a has a layout that wgmma does not have: expected #wg.layout<{register: [[0,1],[8,0],[0,8]]}}
  // expected-note @+1 {{element (0, 8) sits in}}
  %d = wg.mma %a, %b, %c accumulate(%w) : tensor<64x16xbf16, #a>, !wg.buffer<16x24xbf16, order = [0, 1], swizzle = 32>, !wg.pending<tensor<64x24xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>, %b: !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>, %c: !wg.pending<tensor<64x24xf32, #acc>>, %w: i1) {
  wg.specialize {
    wg.role @multiply warps(2) {
      // expected-error @+1 {{'wg.mma' op is executed by 2 warps of role 'multiply': wgmma needs whole warpgroups, declare the role with warpgroups(n)}}
      %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>, !wg.pending<tensor<64x24xf32, #acc>>
    }
  }
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>, %b: !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>, %c: !wg.pending<tensor<64x24xf32, #acc>>, %w: i1) {
  wg.specialize {
    wg.role @multiply warpgroups(2) {
      // expected-error @+1 {{'wg.mma' op has an accumulator over 1 warpgroups in role 'multiply' of 2: expected the layout of the whole role}}
      %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>, !wg.pending<tensor<64x24xf32, #acc>>
    }
  }
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>, %b: !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>) {
  // expected-note @+1 {{the accumulator is made here}}
  %c = wg.acc : !wg.pending<tensor<64x24xf32, #acc>>
  // expected-error @+1 {{'wg.mma' op adds to an accumulator that nothing has been written to: say accumulate(%p) with %p false}}
  %d = wg.mma %a, %b, %c : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>, !wg.pending<tensor<64x24xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>, %b: !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>, %c: !wg.pending<tensor<64x24xf32, #acc>>) {
  // expected-note @+1 {{the tile is pending since here}}
  %d = wg.mma %a, %b, %c : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>, !wg.pending<tensor<64x24xf32, #acc>>
  // expected-error @+1 {{'arith.truncf' op reads a pending tile, which a wgmma may still be writing: wg.wait it first}}
  %e = arith.truncf %d : !wg.pending<tensor<64x24xf32, #acc>> to !wg.pending<tensor<64x24xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>, %b: !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>, %n: i32) {
  // expected-note @+1 {{the tile is pending since here}}
  %c = wg.acc : !wg.pending<tensor<64x24xf32, #acc>>
  %r = scf.for %i = %n to %n step %n iter_args(%x = %c) -> (!wg.pending<tensor<64x24xf32, #acc>>) : i32 {
    // expected-error @+1 {{'arith.addf' op reads a pending tile, which a wgmma may still be writing: wg.wait it first}}
    %e = "arith.addf"(%x, %x) : (!wg.pending<tensor<64x24xf32, #acc>>, !wg.pending<tensor<64x24xf32, #acc>>) -> !wg.pending<tensor<64x24xf32, #acc>>
    scf.yield %e : !wg.pending<tensor<64x24xf32, #acc>>
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'wg.wait' op waits for no tile: expected at least one pending operand}}
  "wg.wait"() <{in_flight = 0 : i32, operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%p: !wg.pending<tensor<64x24xf32, #acc>>) {
  // expected-error @+1 {{'wg.wait' op has 1 pending operands and 2 results: expected one for each}}
  %t, %u = wg.wait %p in_flight(0) : !wg.pending<tensor<64x24xf32, #acc>> -> tensor<64x24xf32, #acc>, tensor<64x24xf32, #acc>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%p: !wg.pending<tensor<64x24xf32, #acc>>) {
  // expected-error @+1 {{'wg.wait' op turns operand 0 of '!wg.pending<tensor<64x24xf32,}}
  %t = wg.wait %p in_flight(0) : !wg.pending<tensor<64x24xf32, #acc>> -> tensor<64x24xbf16, #acc>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
#part = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
func.func @f(%t: tensor<64x24xf32, #acc>) {
  // expected-error @+1 {{'wg.slice' op expects tiles of two dimensions and two offsets}}
  %s = wg.slice %t[0] : tensor<64x24xf32, #acc> -> tensor<64x8xf32, #part>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
#part = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
func.func @f(%t: tensor<64x24xf32, #acc>) {
  // expected-error @+1 {{'wg.slice' op turns elements of 'f32' into 'bf16': expected the same type}}
  %s = wg.slice %t[0, 8] : tensor<64x24xf32, #acc> -> tensor<64x8xbf16, #part>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
#part = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
func.func @f(%t: tensor<64x24xf32, #acc>) {
  // expected-error @+1 {{'wg.slice' op takes elements 24 to 32 of dimension 1, which has 24}}
  %s = wg.slice %t[0, 24] : tensor<64x24xf32, #acc> -> tensor<64x8xf32, #part>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
#half = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0]]} repeat {register: [0,8] x 3}>
func.func @f(%t: tensor<64x24xf32, #acc>) {
  // expected-error @+1 {{'wg.slice' op cannot take elements 0 to 32 of dimension 0 without moving data between threads: }}
  %s = wg.slice %t[0, 0] : tensor<64x24xf32, #acc> -> tensor<32x24xf32, #half>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
#other = #wg.layout<{register: [[8,0],[0,1]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
func.func @f(%t: tensor<64x24xf32, #acc>) {
  // expected-error @+1 {{'wg.slice' op has a part with another layout than its elements have: expected #wg.layout<{register: [[0,1],[8,0]]}}
  %s = wg.slice %t[0, 8] : tensor<64x24xf32, #acc> -> tensor<64x8xf32, #other>
  return
}

// -----

func.func @f(%b: !wg.barrier<4>) {
  // expected-error @+1 {{'wg.barrier_init' op has a count of 1048576: expected 1 to 1048575}}
  wg.barrier_init %b count(1048576) : !wg.barrier<4>
  return
}

// -----

func.func @f(%b: !wg.barrier<4>) {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  // expected-error @+1 {{'wg.barrier_wait' op has parity 2: expected 0 or 1}}
  wg.barrier_wait %b[%c0] parity(%c2) : !wg.barrier<4>
  return
}

// -----

func.func @f(%b: !wg.barrier<4>) {
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  // expected-error @+1 {{'wg.barrier_wait' op names barrier 4 of an array of 4: expected 0 to 3}}
  wg.barrier_wait %b[%c4] parity(%c0) : !wg.barrier<4>
  return
}

// -----

func.func @f(%b: !wg.barrier<4>) {
  %c4 = arith.constant 4 : i32
  // expected-error @+1 {{'wg.barrier_arrive' op names barrier 4 of an array of 4: expected 0 to 3}}
  wg.barrier_arrive %b[%c4] : !wg.barrier<4>
  return
}

// -----

func.func @f(%b: !wg.barrier<4>) {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{'wg.barrier_expect' op expects 1048576 bytes: a phase counts up to 1048575, split the copy}}
  wg.barrier_expect %b[%c0] bytes(1048576) : !wg.barrier<4>
  return
}

// -----

func.func @f(%b: !wg.barrier<4>) {
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{'wg.barrier_expect_only' op expects 1048576 bytes: a phase counts up to 1048575, split the copy}}
  wg.barrier_expect_only %b[%c0] bytes(1048576) : !wg.barrier<4>
  return
}

// -----

func.func @f() {
  %id = arith.constant 16 : i32
  // expected-error @+1 {{'wg.named_barrier_sync' op names barrier 16: expected 0 to 15}}
  wg.named_barrier_sync %id threads(128)
  return
}

// -----

func.func @f(%id: i32) {
  // expected-error @+1 {{'wg.named_barrier_arrive' op has threads(48): expected a multiple of 32 up to 1024}}
  wg.named_barrier_arrive %id threads(48)
  return
}

// -----

func.func @f() {
  wg.specialize {
    // expected-error @+1 {{'wg.role' op says each with 2 warps: expected whole warpgroups, each of which executes the body}}
    wg.role @multiply warps(2) each {
    }
  }
  return
}

// -----

#acc2 = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {warpgroup: [64,0] x 2}>
func.func @f() {
  wg.specialize {
    wg.role @multiply warpgroups(2) each {
      // expected-error @+1 {{'wg.acc' op has an accumulator over 2 warpgroups in role 'multiply' of 2, each for itself: expected the layout of one warpgroup}}
      %c = wg.acc : !wg.pending<tensor<128x8xf32, #acc2>>
    }
  }
  return
}

// -----

// expected-error @+1 {{expected turns among 2 to 8 warpgroups, found 1}}
func.func private @f(!wg.turns<1>)

// -----

func.func @f() {
  %turn = wg.turns : !wg.turns<2>
  wg.specialize {
    wg.role @multiply warpgroups(3) {
      // expected-error @+1 {{'wg.take_turn' op is executed by 12 warps of role 'multiply', and the turns are those of 2 warpgroups: expected a role of warpgroups(2)}}
      wg.take_turn %turn : !wg.turns<2>
    }
  }
  return
}

// -----

func.func @f() {
  %turn = wg.turns : !wg.turns<2>
  wg.specialize {
    wg.role @load warps(2) {
      // expected-error @+1 {{'wg.pass_turn' op is executed by 2 warps of role 'load', and the turns are those of 2 warpgroups: expected a role of warpgroups(2)}}
      wg.pass_turn %turn : !wg.turns<2>
    }
  }
  return
}

// -----

gpu.module @m {
  gpu.func @f(%A: !wg.view<bf16, box = [64, 64], swizzle = 128>, %i: i32) kernel {
    %buffer = wg.alloc_buffer : !wg.buffer<64x128xbf16, swizzle = 128>
    // expected-error @+1 {{'wg.tma_load' op multicasts in a kernel without clusters: expected known_cluster_size on the gpu.func}}
    wg.tma_load %A[%i, %i] to %buffer multicast : !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.buffer<64x128xbf16, swizzle = 128>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @f(%A: !wg.view<bf16, box = [64, 64], swizzle = 128>, %i: i32) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
    %buffer = wg.alloc_buffer : !wg.buffer<64x192xbf16, swizzle = 128>
    // expected-error @+1 {{'wg.tma_load' op multicasts a buffer of 3 panels of 1 boxes to 2 CTAs: expected a multiple of either, since each brings an equal share}}
    wg.tma_load %A[%i, %i] to %buffer multicast : !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.buffer<64x192xbf16, swizzle = 128>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @f(%i: i32) kernel {
    %empty = wg.alloc_barrier : !wg.barrier<2>
    // expected-error @+1 {{'wg.barrier_arrive_cluster' op arrives at other CTAs' barriers in a kernel without clusters: expected known_cluster_size on the gpu.func}}
    wg.barrier_arrive_cluster %empty[%i] : !wg.barrier<2>
    gpu.return
  }
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x32xf32, order = [0, 1], swizzle = 128>, %b: !wg.buffer<32x24xf32, order = [0, 1], swizzle = 128>, %c: !wg.pending<tensor<64x24xf32, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op operand a of 'f32' has dimension 0 fastest: wgmma reads 8-bit and tf32 operands K-major only, expected order = [1, 0]}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x32xf32, order = [0, 1], swizzle = 128>, !wg.buffer<32x24xf32, order = [0, 1], swizzle = 128>, !wg.pending<tensor<64x24xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x64xi8, swizzle = 64>, %b: !wg.buffer<64x32xi8, swizzle = 32>, %c: !wg.pending<tensor<64x24xi32, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op operand b of 'i8' has dimension 1 fastest: wgmma reads 8-bit and tf32 operands K-major only, expected order = [0, 1]}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x64xi8, swizzle = 64>, !wg.buffer<64x32xi8, swizzle = 32>, !wg.pending<tensor<64x24xi32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x64xi8, swizzle = 64>, %b: !wg.buffer<64x24xi8, order = [0, 1], swizzle = 64>, %c: !wg.pending<tensor<64x24xf32, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op accumulates in 'f32': expected i32}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x64xi8, swizzle = 64>, !wg.buffer<64x24xi8, order = [0, 1], swizzle = 64>, !wg.pending<tensor<64x24xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x64xbf16, swizzle = 128>, %b: !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>, %c: !wg.pending<tensor<64x24xf32, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op says that 'bf16' is unsigned: expected i8}}
  %d = wg.mma %a, %b, %c accumulate(%w) {unsigned_a} : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>, !wg.pending<tensor<64x24xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
func.func @f(%a: !wg.buffer<64x16xf8E4M3FN>, %b: !wg.buffer<16x24xf8E5M2, order = [0, 1]>, %c: !wg.pending<tensor<64x24xf32, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op has K = 16: expected a multiple of 32}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x16xf8E4M3FN>, !wg.buffer<16x24xf8E5M2, order = [0, 1]>, !wg.pending<tensor<64x24xf32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 5}>
func.func @f(%a: !wg.buffer<64x32xi8, swizzle = 32>, %b: !wg.buffer<32x40xi8, order = [0, 1], swizzle = 32>, %c: !wg.pending<tensor<64x40xi32, #acc>>, %w: i1) {
  // expected-error @+1 {{'wg.mma' op has N = 40 of integers: expected 8, 24 or a multiple of 16}}
  %d = wg.mma %a, %b, %c accumulate(%w) : !wg.buffer<64x32xi8, swizzle = 32>, !wg.buffer<32x40xi8, order = [0, 1], swizzle = 32>, !wg.pending<tensor<64x40xi32, #acc>>
  return
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
#rows = #wg.layout<{register: [[0,1],[0,2]], lane: [[0,4],[1,0],[2,0],[4,0],[8,0]], warp: [[16,0],[32,0]]}>
func.func @f(%t: tensor<64x8xf32, #acc>) {
  // expected-error @+2 {{'wg.convert_layout' op moves elements between registers or threads, which it must not: expected a source with #wg.layout<}}
  // expected-note @+1 {{}}
  %u = wg.convert_layout %t {free} : tensor<64x8xf32, #acc> -> tensor<64x8xf32, #rows>
  return
}

// -----

#a = #wg.layout<{register: [[0,1],[8,0],[0,8]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]]}>
#b = #wg.layout<{register: [[1,0],[8,0]], lane: [[2,0],[4,0],[0,1],[0,2],[0,4]]}>
#c = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]]}>
func.func @f(%a: tensor<16x16xbf16, #a>, %b: tensor<16x8xf16, #b>, %c: tensor<16x8xf32, #c>) {
  // expected-error @+1 {{'wg.mma_sync' op multiplies 'bf16' by 'f16': expected two of bf16, f16, tf32, f32, i8 or f64, or e4m3 or e5m2 for each}}
  %d = wg.mma_sync %a, %b, %c : tensor<16x16xbf16, #a>, tensor<16x8xf16, #b>, tensor<16x8xf32, #c>
  return
}

// -----

#a = #wg.layout<{register: [[0,1],[8,0],[0,8]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]]}>
#b = #wg.layout<{register: [[1,0],[8,0]], lane: [[2,0],[4,0],[0,1],[0,2],[0,4]]}>
#c = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]]}>
func.func @f(%a: tensor<16x16xbf16, #a>, %b: tensor<16x8xbf16, #b>, %c: tensor<16x8xi32, #c>) {
  // expected-error @+1 {{'wg.mma_sync' op adds up in 'i32': expected 'f32'}}
  %d = wg.mma_sync %a, %b, %c : tensor<16x16xbf16, #a>, tensor<16x8xbf16, #b>, tensor<16x8xi32, #c>
  return
}

// -----

#a = #wg.layout<{register: [[0,1],[8,0],[0,8]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]]}>
#b = #wg.layout<{register: [[1,0],[8,0]], lane: [[2,0],[4,0],[0,1],[0,2],[0,4]]}>
#c = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]]}>
func.func @f(%a: tensor<16x16xbf16, #a>, %b: tensor<16x8xbf16, #b>, %c: tensor<16x8xf32, #c>) {
  // expected-error @+1 {{'wg.mma_sync' op says that 'bf16' is unsigned: expected i8}}
  %d = wg.mma_sync %a, %b, %c {unsigned_a} : tensor<16x16xbf16, #a>, tensor<16x8xbf16, #b>, tensor<16x8xf32, #c>
  return
}

// -----

#a = #wg.layout<{register: [[0,1],[8,0],[0,8]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]]} repeat {register: [0,16] x 2}>
#b = #wg.layout<{register: [[1,0],[8,0]], lane: [[2,0],[4,0],[0,1],[0,2],[0,4]]}>
#c = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]]}>
func.func @f(%a: tensor<16x32xbf16, #a>, %b: tensor<16x8xbf16, #b>, %c: tensor<16x8xf32, #c>) {
  // expected-error @+1 {{'wg.mma_sync' op multiplies 16x32 by 16x8 into 16x8: expected MxK, KxN and MxN}}
  %d = wg.mma_sync %a, %b, %c : tensor<16x32xbf16, #a>, tensor<16x8xbf16, #b>, tensor<16x8xf32, #c>
  return
}

// -----

// The accumulator says how many warps share the product: one.
#a = #wg.layout<{register: [[0,1],[8,0],[0,8]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]]}>
#b = #wg.layout<{register: [[8,0],[1,0]], lane: [[2,0],[4,0],[0,1],[0,2],[0,4]]}>
#c = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]]}>
func.func @f(%a: tensor<16x16xbf16, #a>, %b: tensor<16x8xbf16, #b>, %c: tensor<16x8xf32, #c>) {
  // expected-error @+2 {{'wg.mma_sync' op operand b has a layout that mma.sync does not have: expected #wg.layout<{register: [[1,0],[8,0]], lane: [[2,0],[4,0],[0,1],[0,2],[0,4]]}>}}
  // expected-note @+1 {{element (1, 0) sits in warp 0 lane 0 register 1 on the left and in warp 0 lane 0 register 2 on the right}}
  %d = wg.mma_sync %a, %b, %c : tensor<16x16xbf16, #a>, tensor<16x8xbf16, #b>, tensor<16x8xf32, #c>
  return
}

// -----

#a = #wg.layout<{register: [[0,1]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]]} repeat {register: [0,8] x 2}>
#b = #wg.layout<{register: [[1,0],[8,0]], lane: [[2,0],[4,0],[0,1],[0,2],[0,4]]}>
#c = #wg.layout<{register: [[0,1]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]]}>
func.func @f(%a: tensor<8x16xbf16, #a>, %b: tensor<16x8xbf16, #b>, %c: tensor<8x8xf32, #c>) {
  // expected-error @+1 {{'wg.mma_sync' op the accumulator is no fragment: a product of mma.sync has a multiple of 16 rows, found 8}}
  %d = wg.mma_sync %a, %b, %c : tensor<8x16xbf16, #a>, tensor<16x8xbf16, #b>, tensor<8x8xf32, #c>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'wg.team' op has no role that ends in wg.give: expected one, which executes the rest of the kernel}}
  wg.team {
    wg.role @load warps(1) {
    }
  }
  return
}

// -----

func.func @f() {
  wg.team {
    // expected-note @+1 {{the other one is here}}
    wg.role @a warpgroups(1) {
      wg.give
    }
    // expected-error @+1 {{'wg.role' op gives results, and so does another role of the team: expected one that executes the rest of the kernel}}
    wg.role @b warpgroups(1) {
      wg.give
    }
  }
  return
}

// -----

func.func @f() {
  wg.team {
    // expected-error @+1 {{'wg.role' op executes the rest of the kernel: expected whole warpgroups that work together, found 1 warps}}
    wg.role @a warps(1) {
      wg.give
    }
  }
  return
}

// -----

func.func @f() {
  wg.team {
    wg.role @a warpgroups(1) {
      wg.give
    }
    // expected-error @+1 {{'wg.role' op has the name of another role: give each its own}}
    wg.role @a warps(1) {
    }
  }
  return
}

// -----

func.func @f() {
  wg.team {
    // expected-error @+1 {{'arith.constant' op cannot stand between the roles of a team: move it before the wg.team or into a wg.role}}
    %c = arith.constant 0 : i32
  }
  return
}

// -----

func.func @f() {
  %n = wg.team -> i32 {
    wg.role @a warpgroups(1) {
      %c = arith.constant 0 : i64
      // expected-error @+1 {{'wg.give' op gives other types than the team has as results: expected ('i32'), found ('i64')}}
      wg.give %c : i64
    }
  }
  return
}

// -----

func.func @f() {
  wg.specialize {
    wg.role @a warpgroups(1) {
      // expected-error @+1 {{'wg.give' op stands in a role of its own: expected a role of a wg.team}}
      wg.give
    }
  }
  return
}

// -----

func.func @f(%ring: !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>) {
  wg.specialize {
    wg.role @a warpgroups(1) {
      %c = wg.cursor consumer %ring : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
      // expected-error @+1 {{'wg.keep' op stands in a role of its own: expected a role of a wg.team}}
      wg.keep %ring[%c] : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
    }
  }
  return
}

// -----

func.func @f(%ring: !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>, %w: i1) {
  wg.team {
    wg.role @a warpgroups(1) {
      scf.if %w {
        // expected-error @+1 {{'wg.cursor' op stands in a loop or branch of a team's role: expected at its start, since it is where the role goes on}}
        %c = wg.cursor consumer %ring : !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
      }
      wg.give
    }
  }
  return
}
