// RUN: girih-opt %s -wg-allocate-shared -split-input-file -verify-diagnostics

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @too_much() kernel {
    // expected-note @below {{a: 65536 bytes (4 slots of 16384)}}
    %a = wg.alloc_buffer {count = 4 : i32, name = "a"} : !wg.buffer<128x64xbf16, swizzle = 128>
    // expected-error @below {{kernel 'too_much' needs 294944 bytes of shared memory, and a CTA has 232448 (62496 too many); reduce the tile, the number of stages or the store ring's slots}}
    // expected-note @below {{b: 229376 bytes (7 slots of 32768)}}
    %b = wg.alloc_buffer {count = 7 : i32, name = "b"} : !wg.buffer<64x256xbf16, swizzle = 128>
    // expected-note @below {{full: 32 bytes}}
    %f = wg.alloc_barrier {name = "full"} : !wg.barrier<4>
    gpu.return
  }
}
