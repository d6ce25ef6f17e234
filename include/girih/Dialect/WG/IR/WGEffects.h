// What the three op interfaces of the wg dialect talk about: effects on barriers, asynchronous
// work, buffer accesses; and the resources on which memory effects act.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_WGEFFECTS_H
#define GIRIH_DIALECT_WG_IR_WGEFFECTS_H

#include "mlir/IR/Value.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace girih::wg {

struct GlobalResource : mlir::SideEffects::Resource::Base<GlobalResource> {
  llvm::StringRef getName() override { return "girih.wg.global"; }
};
struct SharedResource : mlir::SideEffects::Resource::Base<SharedResource> {
  llvm::StringRef getName() override { return "girih.wg.shared"; }
};
struct BarrierResource : mlir::SideEffects::Resource::Base<BarrierResource> {
  llvm::StringRef getName() override { return "girih.wg.barrier"; }
};
struct AsyncProxyResource : mlir::SideEffects::Resource::Base<AsyncProxyResource> {
  llvm::StringRef getName() override { return "girih.wg.async_proxy"; }
};
struct ExecutionResource : mlir::SideEffects::Resource::Base<ExecutionResource> {
  llvm::StringRef getName() override { return "girih.wg.execution"; }
};

/// Who brings an effect about, of the threads that reach the op.
enum class Issuer {
  Threads,   ///< each of them
  Warpgroup, ///< one thread of each warpgroup, always the same
  Role,      ///< one thread of the role, always the same
  Warp,      ///< the lanes of each warp together, once
};

/// One thing that an op does to a barrier.
struct BarrierEffect {
  enum class Kind {
    Init,     ///< sets the arrival count
    Wait,     ///< blocks until the phase completes
    Arrive,   ///< counts one arrival (of each executing thread, or of the role as the ring says)
    Expect,   ///< adds to the bytes that the phase waits for
    Complete, ///< a copy that the op starts will complete its bytes there
    Sync,     ///< arrives and waits (named barriers)
  };
  /// Which barrier of `object`: a ring has a full and an empty one per slot.
  enum class Side { Full, Empty, Raw, Named };

  Kind kind;
  Side side;
  mlir::Value
      object; ///< the ring, the store ring, the barrier, the turns, or the named barrier's id
  mlir::Value index = {};  ///< the cursor, or the index into an array of barriers
  mlir::Value parity = {}; ///< of a raw wait
  int64_t bytes = 0;       ///< of an Expect or a Complete; 0: derived from the copies into the slot
  int64_t count = 1;       ///< of an Init the arrivals of a phase, of a named barrier its threads
  Issuer issuer = Issuer::Threads;
  bool everyCta = false; ///< at the same barrier of each CTA of the cluster
};

/// One thing that an op does to asynchronous work.
struct AsyncEffect {
  enum class Kind {
    Start,  ///< issues work that goes on after the op
    Commit, ///< closes a group
    Retire, ///< waits until at most `inFlight` groups (or bytes of a barrier's phase) are
            ///< outstanding
    Fence,  ///< orders what the executing threads did through the generic proxy before what is done
            ///< through the asynchronous one
  };
  enum class Engine {
    TmaLoad,  ///< completes on an mbarrier
    TmaStore, ///< completes by bulk group
    Wgmma,    ///< completes by wgmma group
    All,      ///< of a Fence
  };

  Kind kind;
  Engine engine;
  mlir::Value token = {}; ///< the pending tile of a wgmma, the buffer of a copy
  int64_t inFlight = 0;   ///< of a Retire by group
  bool onlyReads =
      false; ///< of a Retire of stores: the source has been read, the writes need not be visible
  Issuer issuer = Issuer::Threads;
};

/// One access of a buffer.
struct BufferAccess {
  enum class Kind { Read, Write };
  enum class Proxy { Generic, Async };
  enum class Part {
    Whole,         ///< all of the buffer
    WarpgroupRows, ///< of a role of n warpgroups each its n-th part of the rows
    CtaShare,      ///< of a cluster of n CTAs each its n-th part
    Tile,          ///< what the layout of `tile` gives the executing threads
  };

  Kind kind;
  Proxy proxy;
  mlir::Value buffer;
  bool outlivesOp =
      false; ///< takes place at some time until the work that the op starts is retired
  Part part = Part::Whole;
  mlir::Type tile = {}; ///< of a Tile: the tensor, with its layout
  Issuer issuer = Issuer::Threads;
  bool everyCta = false; ///< the same buffer in each CTA of the cluster
};

} // namespace girih::wg

#endif // GIRIH_DIALECT_WG_IR_WGEFFECTS_H
