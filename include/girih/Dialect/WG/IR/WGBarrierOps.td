// Barriers themselves: what rings become, and what a kernel may use where no ring fits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_WGBARRIEROPS_TD
#define GIRIH_DIALECT_WG_IR_WGBARRIEROPS_TD

include "girih/Dialect/WG/IR/WGTypes.td"

def WG_BarrierInitOp : WG_Op<"barrier_init", [MemoryEffects<[MemWrite<WG_Barrier>]>]> {
  let summary = "initialises every barrier of an array";
  let description = [{
    `count` is the number of arrivals that complete a phase. One thread executes it; `wg.barrier_init_fence` and a barrier
    of the CTA come between it and the first use.

    Lowers to: `mbarrier.init.shared::cta.b64`, once for each.

    ```mlir
    func.func @init(%full: !wg.barrier<4>) {
      wg.barrier_init %full count(1) : !wg.barrier<4>
      wg.barrier_init_fence
      return
    }
    ```
  }];
  let arguments = (ins WG_BarrierType:$barrier, ConfinedAttr<I32Attr, [IntPositive]>:$count);
  let assemblyFormat = "$barrier `count` `(` $count `)` attr-dict `:` qualified(type($barrier))";
  let hasVerifier = 1;
  let extraClassDeclaration = WG_Declare.barrierEffects;
}

def WG_BarrierInitFenceOp : WG_Op<"barrier_init_fence", [MemoryEffects<[MemRead<WG_Barrier>, MemWrite<WG_Barrier>]>]> {
  let summary = "makes initialised barriers visible to the asynchronous proxy and to the cluster";
  let description = [{
    By the thread that initialised them. The example of `wg.barrier_init` has one.

    Lowers to: `fence.mbarrier_init.release.cluster`.
  }];
  let assemblyFormat = "attr-dict";
}

def WG_BarrierWaitOp : WG_Op<"barrier_wait", [MemoryEffects<[MemRead<WG_Barrier>, MemWrite<WG_Barrier>,
                                                             MemWrite<WG_Shared>]>]> {
  let summary = "waits until the phase of that parity has completed";
  let description = [{
    Parity 0 or 1. A barrier that has just been initialised is in phase 0: a wait for parity 1 passes at once.

    Lowers to: `mbarrier.try_wait.parity.shared::cta.b64` in a loop.

    ```mlir
    func.func @wait(%full: !wg.barrier<4>, %i: i32, %parity: i32) {
      wg.barrier_wait %full[%i] parity(%parity) : !wg.barrier<4>
      return
    }
    ```
  }];
  let arguments = (ins WG_BarrierType:$barrier, I32:$index, I32:$parity);
  let assemblyFormat = "$barrier `[` $index `]` `parity` `(` $parity `)` attr-dict `:` qualified(type($barrier))";
  let hasVerifier = 1;
  let extraClassDeclaration = WG_Declare.barrierEffects;
}

class WG_BarrierSignalOp<string mnemonic> : WG_Op<mnemonic, [MemoryEffects<[MemRead<WG_Barrier>, MemWrite<WG_Barrier>,
                                                                            MemWrite<WG_Shared>]>]> {
  let hasVerifier = 1;
  let extraClassDeclaration = WG_Declare.barrierEffects;
}

def WG_BarrierArriveOp : WG_BarrierSignalOp<"barrier_arrive"> {
  let summary = "arrives once for each executing thread";
  let description = [{
    Lowers to: `mbarrier.arrive.shared::cta.b64 _`.

    ```mlir
    func.func @arrive(%empty: !wg.barrier<4>, %i: i32) {
      wg.barrier_arrive %empty[%i] : !wg.barrier<4>
      return
    }
    ```
  }];
  let arguments = (ins WG_BarrierType:$barrier, I32:$index);
  let assemblyFormat = "$barrier `[` $index `]` attr-dict `:` qualified(type($barrier))";
}

def WG_BarrierArriveClusterOp : WG_BarrierSignalOp<"barrier_arrive_cluster"> {
  let summary = "arrives once at the same barrier of every CTA of the cluster";
  let description = [{
    By a whole warp, together: lane i arrives at CTA i's.

    Lowers to: `mapa.shared::cluster` and `mbarrier.arrive.release.cluster.shared::cluster.b64 _` by as many lanes as the
    cluster has CTAs.

    ```mlir
    gpu.module @device {
      gpu.func @free(%i: i32) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
        %empty = wg.alloc_barrier : !wg.barrier<4>
        wg.barrier_arrive_cluster %empty[%i] : !wg.barrier<4>
        gpu.return
      }
    }
    ```
  }];
  let arguments = (ins WG_BarrierType:$barrier, I32:$index);
  let assemblyFormat = "$barrier `[` $index `]` attr-dict `:` qualified(type($barrier))";
}

def WG_ClusterSyncOp : WG_Op<"cluster_sync", [MemoryEffects<[MemRead<WG_Barrier>, MemWrite<WG_Barrier>,
                                                             MemWrite<WG_Shared>]>]> {
  let summary = "waits until every thread of the cluster has come here";
  let description = [{
    `wg-lower-roles` puts one behind the initialisation of barriers that other CTAs arrive at, and one at the kernel's
    end: no CTA may leave while another may still write into its shared memory.

    Lowers to: `barrier.cluster.arrive` and `barrier.cluster.wait` (PTX ISA 9.0, 9.7.13.4).

    ```mlir
    func.func @meet() {
      wg.cluster_sync
      return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def WG_BarrierExpectOp : WG_BarrierSignalOp<"barrier_expect"> {
  let summary = "arrives once and adds to the bytes that the phase waits for";
  let description = [{
    Lowers to: `mbarrier.arrive.expect_tx.shared::cta.b64 _`.

    ```mlir
    func.func @expect(%full: !wg.barrier<4>, %i: i32) {
      wg.barrier_expect %full[%i] bytes(49152) : !wg.barrier<4>
      return
    }
    ```
  }];
  let arguments = (ins WG_BarrierType:$barrier, I32:$index, ConfinedAttr<I32Attr, [IntPositive]>:$bytes);
  let assemblyFormat = "$barrier `[` $index `]` `bytes` `(` $bytes `)` attr-dict `:` qualified(type($barrier))";
}

def WG_BarrierExpectOnlyOp : WG_BarrierSignalOp<"barrier_expect_only"> {
  let summary = "adds to the bytes that the phase waits for, without arriving";
  let description = [{
    Lowers to: `mbarrier.expect_tx.relaxed.cta.shared::cta.b64`.

    ```mlir
    func.func @expect_only(%full: !wg.barrier<4>, %i: i32) {
      wg.barrier_expect_only %full[%i] bytes(16384) : !wg.barrier<4>
      return
    }
    ```
  }];
  let arguments = (ins WG_BarrierType:$barrier, I32:$index, ConfinedAttr<I32Attr, [IntPositive]>:$bytes);
  let assemblyFormat = "$barrier `[` $index `]` `bytes` `(` $bytes `)` attr-dict `:` qualified(type($barrier))";
}

class WG_NamedBarrierOp<string mnemonic> : WG_BarrierSignalOp<mnemonic> {
  let arguments = (ins I32:$id, I32Attr:$threads);
  let assemblyFormat = "$id `threads` `(` $threads `)` attr-dict";
}

def WG_NamedBarrierSyncOp : WG_NamedBarrierOp<"named_barrier_sync"> {
  let summary = "arrives at a named barrier and waits for the others";
  let description = [{
    Sixteen barriers, 0 to 15, of which 0 is the CTA's own. `threads` counts all that arrive and is a multiple of 32.

    Lowers to: `barrier.cta.sync.aligned`.

    ```mlir
    func.func @sync(%id: i32) {
      wg.named_barrier_sync %id threads(128)
      return
    }
    ```
  }];
}

def WG_NamedBarrierArriveOp : WG_NamedBarrierOp<"named_barrier_arrive"> {
  let summary = "arrives at a named barrier and goes on";
  let description = [{
    Lowers to: `barrier.cta.arrive.aligned`.

    ```mlir
    func.func @arrive(%id: i32) {
      wg.named_barrier_arrive %id threads(256)
      return
    }
    ```
  }];
}

def WG_FenceProxyAsyncOp : WG_Op<"fence_proxy_async", [MemoryEffects<[MemRead<WG_Shared>, MemWrite<WG_Shared>,
                                                                      MemWrite<WG_AsyncProxy>]>]> {
  let summary = "orders generic accesses of shared memory before asynchronous ones";
  let description = [{
    By every thread that wrote, before the barrier after which another thread starts the asynchronous read.

    Lowers to: `fence.proxy.async.shared::cta`.

    ```mlir
    func.func @fence() {
      wg.fence_proxy_async
      return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
  let extraClassDeclaration = WG_Declare.asyncEffects;
}

#endif // GIRIH_DIALECT_WG_IR_WGBARRIEROPS_TD
