// st.async and red.async: a value that travels to the shared memory of a CTA of the cluster and
// completes its bytes at an mbarrier there (PTX ISA 9.0, 9.7.9.13 "st.async", 9.7.13.7
// "red.async").
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_MACHINE_REMOTESTORE_H
#define GIRIH_EMULATOR_MACHINE_REMOTESTORE_H

#include "Emulator/Machine/Async.h"
#include "girih/Emulator/Reduction.h"

namespace girih::emu {

/// The value of one lane.
struct RemoteStore : AsyncOp {
  Cta *target = nullptr;
  uint32_t destination = 0, bytes = 0;
  uint32_t barrier = 0; ///< offset of the mbarrier in the target
  uint8_t data[16] = {};
  uint16_t undefined = 0;    ///< bytes of `data` that hold nothing defined
  ReduceFn reduce = nullptr; ///< red.async

  bool advance(Cluster &cluster) override;
  bool signals(const Cta &cta, uint32_t offset) const override {
    return &cta == target && offset == barrier;
  }
  bool fills(const Cta &cta) const override { return &cta == target; }
  bool writes(const Cta &cta, uint32_t offset, uint32_t size) const override {
    return &cta == target && offset + size > destination && offset < destination + bytes;
  }
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_MACHINE_REMOTESTORE_H
