//===- Diagnostic.h - What the compiler has to say to a user
//------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One form for every message, whichever layer it came from: an MLIR verifier, a pass of ours,
// LLVM's backend or ptxas. A place is a chain of calls, since a line in a helper says little
// without the line that called it.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_TARGET_DIAGNOSTIC_H
#define GIRIH_TARGET_DIAGNOSTIC_H

#include "girih/Image/LocationTable.h"

#include <cstdint>
#include <string>
#include <vector>

namespace girih::target {

/// A place in the user's source; lines and columns as the front end counts them.
struct Place {
  std::string function; ///< empty where the location names no function
  std::string file;
  int64_t line = 0;
  int64_t column = 0;
};

enum class Severity { Error, Warning, Remark, Note };

/// "error", "warning", "remark" or "note".
const char *severityName(Severity severity);

struct Diagnostic {
  Severity severity = Severity::Error;
  std::string message;
  std::vector<Place> places; ///< innermost first; empty if there is no place
  std::vector<Diagnostic> notes;
};

/// An error without a place.
Diagnostic makeError(std::string message);

/// The places of the location `number` of `table`, innermost first.
std::vector<Place> placesOf(const image::LocationTable &table, uint32_t number);

/// "gemm.py:20:8: error: message", then a line for each caller and each note. Ends with a newline.
std::string render(const Diagnostic &diagnostic);

} // namespace girih::target

#endif // GIRIH_TARGET_DIAGNOSTIC_H
