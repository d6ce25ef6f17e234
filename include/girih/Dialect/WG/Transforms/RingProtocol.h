// The one place where the numbers of a ring are worked out: stages, arrivals, bytes, fences, named
// barriers. Passes and checks ask here; nothing of it is written in the IR by hand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_TRANSFORMS_RINGPROTOCOL_H
#define GIRIH_DIALECT_WG_TRANSFORMS_RINGPROTOCOL_H

#include "girih/Dialect/WG/IR/WG.h"

#include <optional>
#include <string>

namespace girih::wg {

/// What a ring's barriers count, from the ops that use it.
struct RingProtocol {
  int64_t stages = 0;
  /// Arrivals that complete a phase of a full barrier: one thread arrives for each filling role,
  /// with the bytes that the copies bring.
  int64_t fullArrivals = 0;
  /// Arrivals that complete a phase of an empty barrier: one lane of each warp of each role that
  /// frees the ring's slots, or of the one that a slot is for; in every CTA that a copy into the
  /// slot brings its bytes to.
  int64_t emptyArrivals = 0;
  /// CTAs whose copies write a slot, and whose readers therefore free it: those of the cluster if a
  /// copy is multicast, else one.
  int64_t ctas = 1;
  /// The roles that fill and that drain, in program order.
  llvm::SmallVector<RoleOp> producers, consumers;
};

/// Works out the protocol of a ring whose loops are structured or expanded. `stages` is 0 if the
/// ring has none yet.
RingProtocol ringProtocol(RingOp ring);

/// Whether anything that a CTA does reaches into another one of its cluster.
bool reachesOtherCtas(mlir::gpu::GPUFuncOp kernel);

/// Slots that a store ring takes: its stages, times the warpgroups that use it each for itself.
int64_t storeSlots(StoreRingOp ring);

/// Bytes that a load adds to its barrier: every copy counts its whole box.
int64_t tmaBytes(TmaLoadOp load);

/// The loads into the slot that `acquire` got, or into parts of it.
llvm::SmallVector<TmaLoadOp> copiesInto(AcquireOp acquire);
/// The bytes of all copies into the slot that `acquire` got, if each of them is certain to be
/// issued right after it: they stand in its block. Nothing otherwise; then each copy expects its
/// own.
std::optional<int64_t> fillBytes(AcquireOp acquire);

/// How a buffer is written or read, for the table of fences.
enum class AccessKind { Tma, Generic, Wgmma };
/// Whether writers of the one kind must execute fence.proxy.async before readers of the other kind
/// are let in: generic writes are ordered for the generic proxy only (PTX ISA 9.0, 8.6 "Proxies");
/// a TMA load's writes are made visible by the phase that it completes (9.7.9.25.5.2).
bool needsProxyFence(AccessKind writer, AccessKind reader);

/// The buffer or slot that a chain of subbuffers comes from: a result of acquire, get,
/// store_acquire, slot or alloc_buffer, or a block argument.
mlir::Value rootBuffer(mlir::Value buffer);

/// The role around an op; null outside roles.
RoleOp roleOf(mlir::Operation *op);
/// The role's first warpgroup in the CTA.
int64_t firstWarpgroup(RoleOp role);

/// Named barriers that the compiler uses: this one plus the warpgroup's index in the CTA (at most
/// eight). Barrier 0 is the CTA's, the ones between are the user's.
inline constexpr int64_t kFirstWarpgroupBarrier = 8;
/// Turns take barriers from this one downwards.
inline constexpr int64_t kLastTurnBarrier = 7;

/// What messages call a ring or an allocation: its `name`, else "ring at gemm.py:20:8".
std::string nameOf(mlir::Operation *allocation);
/// "gemm.py:20:8" for the innermost file location; "an unknown place" without one.
std::string placeOf(mlir::Location loc);

} // namespace girih::wg

#endif // GIRIH_DIALECT_WG_TRANSFORMS_RINGPROTOCOL_H
