// What a launch reports about the program it ran.
//
// A finding names a fault by a stable kind and shows every side that took part: the PTX line, the
// user's line that the PTX came from, and who executed it. Tools read the fields; people read
// render().
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_FINDING_H
#define GIRIH_EMULATOR_FINDING_H

#include <cstdint>
#include <string>
#include <vector>

namespace girih::emu {

/// A grid, cluster or block extent, or a position in one.
struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
  bool operator==(const Dim3 &) const = default;
};

/// One side of a finding.
struct Site {
  /// What this side did, e.g. "TMA load wrote" or "waits for phase 1 of the mbarrier".
  std::string action;
  unsigned ptxLine = 0;
  std::string ptxText;
  /// The user's line, or several joined by newlines when the code was inlined (innermost first).
  /// Empty if unknown.
  std::string source;
  Dim3 cta{0, 0, 0};
  int warp = -1;
  /// -1: the whole warp or an asynchronous unit.
  int lane = -1;
  /// "global", "shared", ...; empty if no memory is concerned.
  std::string space;
  uint64_t address = 0;
  uint64_t bytes = 0;
};

enum class Severity {
  Error,
  Note, ///< wrong by the letter of the memory model only; see MemoryModel::Strict
};

/// One report. Kinds are stable names: see findingKinds().
struct Finding {
  std::string kind;
  std::string message;
  std::vector<Site> sites;
  /// What the user can do about it; may be empty.
  std::string hint;
  /// Occurrences of the same kind at the same PTX lines in this launch; only the first is
  /// described.
  uint64_t count = 1;
  Severity severity = Severity::Error;

  /// The text for people: several lines, no trailing newline.
  std::string render() const;
  /// One JSON object with the fields above.
  std::string json() const;
};

/// A kind of finding with one line that explains it.
struct FindingKind {
  const char *name;
  const char *summary;
};
/// All kinds that this library can report.
const std::vector<FindingKind> &findingKinds();

} // namespace girih::emu

#endif // GIRIH_EMULATOR_FINDING_H
