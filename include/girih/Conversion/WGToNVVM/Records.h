// The attributes by which wg-collect-records tells the conversion where records go.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_CONVERSION_WGTONVVM_RECORDS_H
#define GIRIH_CONVERSION_WGTONVVM_RECORDS_H

#include "llvm/ADT/StringRef.h"

namespace girih::wg {

/// On a kernel: [number of the parameter that points to its records, how many fit].
inline constexpr llvm::StringLiteral kRecordsAttr = "wg.records";
/// On a tile.print or tile.assert: its site.
inline constexpr llvm::StringLiteral kSiteAttr = "wg.site";
/// On a tile.print: its integers have no sign.
inline constexpr llvm::StringLiteral kUnsignedAttr = "wg.unsigned";

} // namespace girih::wg

#endif // GIRIH_CONVERSION_WGTONVVM_RECORDS_H
