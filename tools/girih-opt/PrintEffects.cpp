// --wg-print-effects: what each op says of itself through the three op interfaces, as remarks at
// the op. For those who write an op or ask why the protocol checker says what it says.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PrintEffects.h"

#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace girih::wg;

static StringRef nameOf(BarrierEffect::Kind kind) {
  switch (kind) {
  case BarrierEffect::Kind::Init:
    return "initialises";
  case BarrierEffect::Kind::Wait:
    return "waits for";
  case BarrierEffect::Kind::Arrive:
    return "arrives at";
  case BarrierEffect::Kind::Expect:
    return "expects bytes at";
  case BarrierEffect::Kind::Complete:
    return "completes bytes at";
  case BarrierEffect::Kind::Sync:
    return "arrives at and waits for";
  }
  llvm_unreachable("every kind has a name");
}

static StringRef nameOf(BarrierEffect::Side side) {
  switch (side) {
  case BarrierEffect::Side::Full:
    return "the full barrier of";
  case BarrierEffect::Side::Empty:
    return "the empty barrier of";
  case BarrierEffect::Side::Raw:
    return "the barrier";
  case BarrierEffect::Side::Named:
    return "the named barrier";
  }
  llvm_unreachable("every side has a name");
}

static StringRef nameOf(AsyncEffect::Kind kind) {
  switch (kind) {
  case AsyncEffect::Kind::Start:
    return "starts";
  case AsyncEffect::Kind::Commit:
    return "closes a group of";
  case AsyncEffect::Kind::Retire:
    return "retires";
  case AsyncEffect::Kind::Fence:
    return "fences";
  }
  llvm_unreachable("every kind has a name");
}

static StringRef nameOf(AsyncEffect::Engine engine) {
  switch (engine) {
  case AsyncEffect::Engine::TmaLoad:
    return "TMA load";
  case AsyncEffect::Engine::TmaStore:
    return "TMA store";
  case AsyncEffect::Engine::Wgmma:
    return "wgmma";
  case AsyncEffect::Engine::All:
    return "the generic proxy off from the asynchronous one";
  }
  llvm_unreachable("every engine has a name");
}

namespace {

struct PrintEffects : PassWrapper<PrintEffects, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintEffects)

  StringRef getArgument() const final { return "wg-print-effects"; }
  StringRef getDescription() const final {
    return "Say of each op what it does to barriers, asynchronous work and buffers";
  }

  void runOnOperation() final {
    AsmState names(getOperation());
    auto nameOfValue = [&](Value value) {
      std::string text;
      llvm::raw_string_ostream os(text);
      value.printAsOperand(os, names);
      return text;
    };
    getOperation()->walk([&](Operation *op) {
      if (auto barriers = dyn_cast<BarrierEffectOpInterface>(op))
        for (const BarrierEffect &effect : barriers.getBarrierEffects()) {
          InFlightDiagnostic remark = op->emitRemark(nameOf(effect.kind))
                                      << " " << nameOf(effect.side) << " "
                                      << nameOfValue(effect.object);
          if (effect.index)
            remark << "[" << nameOfValue(effect.index) << "]";
          if (effect.parity)
            remark << " with parity " << nameOfValue(effect.parity);
          if (effect.bytes)
            remark << ", " << effect.bytes << " of them";
          if (effect.everyCta)
            remark << ", in every CTA of the cluster";
        }
      if (auto async = dyn_cast<AsyncEffectOpInterface>(op))
        for (const AsyncEffect &effect : async.getAsyncEffects()) {
          InFlightDiagnostic remark = op->emitRemark(nameOf(effect.kind))
                                      << " " << nameOf(effect.engine);
          if (effect.token)
            remark << " of " << nameOfValue(effect.token);
          if (effect.kind == AsyncEffect::Kind::Retire)
            remark << " but for " << effect.inFlight << " groups"
                   << (effect.onlyReads ? ", as far as reading goes" : "");
        }
      if (auto buffers = dyn_cast<BufferAccessOpInterface>(op))
        for (const BufferAccess &access : buffers.getBufferAccesses())
          op->emitRemark(access.kind == BufferAccess::Kind::Read ? "reads " : "writes ")
              << nameOfValue(access.buffer) << " through the "
              << (access.proxy == BufferAccess::Proxy::Async ? "asynchronous" : "generic")
              << " proxy" << (access.outlivesOp ? ", until it is retired" : "");
    });
  }
};

} // namespace

void girih::registerPrintEffects() { PassRegistration<PrintEffects>(); }
