//===- Records.h - What kernels tell the host: prints and failed assertions
//----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel leaves records in a workspace of the call, in whatever order its threads run. Sorted,
// they make the same text on every device.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_LIB_RUNTIME_RECORDS_H
#define GIRIH_LIB_RUNTIME_RECORDS_H

#include "girih/Runtime/Manifest.h"

namespace girih::runtime {

/// One record as it lies in memory (docs/Dialects/Plan.md, plan.records).
struct Record {
  uint32_t site = 0, cta = 0, element = 0, reserved = 0;
  uint64_t value = 0, reserved2 = 0;
};
static_assert(sizeof(Record) == 32);

/// Bytes before the first record; the first word counts the records that asked for a place.
constexpr size_t recordsHeader = 16;

/// The lines that a plan's prints make of records, and its first failed assertion.
struct Report {
  std::string text;
  const Step *failed = nullptr; ///< an Assert
  std::string failedAt;         ///< " (cta 3)"
};

/// Sorts records by CTA, visit (how many records of that CTA, site and element came before), site
/// and element, and formats them. `sites` are the plan's Print and Assert steps; `dropped` is how
/// many records found no place.
Report makeReport(const std::vector<Record> &records, const std::vector<const Step *> &sites,
                  uint64_t dropped);

/// A number of a type as text that reads back as the same number: "1.5", "-3", "True".
std::string numberText(DType type, uint64_t bits);

} // namespace girih::runtime

#endif // GIRIH_LIB_RUNTIME_RECORDS_H
