// What a target can do, asked by name. Built from a gpu.module's #nvvm.target, so that no pass
// compares architecture numbers: adding an architecture means adding a row here.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_TARGET_TARGETFEATURES_H
#define GIRIH_TARGET_TARGETFEATURES_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace girih::target {

class TargetFeatures {
public:
  /// `chip` as in #nvvm.target, "sm_90a" for example. The suffix counts: what is specific to an
  /// architecture exists on the "a" target alone.
  explicit TargetFeatures(llvm::StringRef chip) : name(chip) {
    if (!chip.consume_front("sm_"))
      return;
    chip.consumeInteger(10, number);
    specific = chip == "a";
  }

  llvm::StringRef chip() const { return name; }

  /// cp.async.bulk.tensor and mbarrier transaction counts (PTX ISA 9.0, 9.7.9.25.5.2: sm_90 and
  /// higher).
  bool hasTma() const { return number >= 90; }
  /// wgmma.mma_async (9.7.15.5: sm_90a alone).
  bool hasWgmma() const { return number == 90 && specific; }
  /// setmaxnreg (9.7.19.5: sm_90a, sm_100a and their families).
  bool hasSetMaxRegisters() const { return number >= 90 && specific; }
  /// stmatrix (9.7.14.5.16: sm_90 and higher).
  bool hasStoreMatrix() const { return number >= 90; }
  /// Shared memory that one CTA may use, in bytes (CUDA C++ Programming Guide, table "Technical
  /// Specifications per Compute Capability": 227 KB for 9.0 and 10.0).
  int64_t sharedBytesPerBlock() const { return 227 * 1024; }

private:
  llvm::StringRef name;
  unsigned number = 0;
  bool specific = false;
};

} // namespace girih::target

#endif // GIRIH_TARGET_TARGETFEATURES_H
