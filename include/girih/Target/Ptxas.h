//===- Ptxas.h - Assemble PTX, and listen to what ptxas says
//-------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ptxas reports what ruins a kernel (wgmma serialised, setmaxnreg ignored, spills) as `info` lines
// with exit status 0, and --warning-as-error does not see them. So it runs with -v and its output
// is parsed: an advisory with a number, a warning, a stack frame or a spill is an error unless
// PtxasAllowed.txt lists it with a reason.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_TARGET_PTXAS_H
#define GIRIH_TARGET_PTXAS_H

#include "girih/Target/Diagnostic.h"
#include "girih/Target/Toolchain.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace girih::target {

/// One line that ptxas printed and that is no plain statistics.
struct PtxasMessage {
  enum class Kind { Info, Warning, Error };
  Kind kind = Kind::Info;
  std::string code;     ///< "C7508", or empty
  std::string text;     ///< without the "ptxas info :" in front
  std::string function; ///< the kernel that it names or that was being compiled, or empty
  unsigned line = 0;    ///< in the PTX, 0 if not given
};

/// What ptxas -v says of a kernel or of a function that stayed a call. Sizes in bytes.
struct FunctionResources {
  std::string name;
  bool isKernel = false;
  int64_t registers = 0; ///< per thread, at entry
  int64_t stackBytes = 0;
  int64_t spillStoreBytes = 0;
  int64_t spillLoadBytes = 0;
  int64_t staticSharedBytes = 0;
  int64_t barriers = 0;
};

struct PtxasOutput {
  std::vector<PtxasMessage> messages;
  std::vector<FunctionResources> functions;

  /// The entry for `name`; null if ptxas printed none.
  const FunctionResources *find(std::string_view name) const;
};

/// Parses what ptxas -v printed. A line that the parser does not know becomes a message of kind
/// Info without a code, except the statistics listed in the implementation: nothing is dropped
/// unseen.
PtxasOutput parsePtxasOutput(std::string_view text);

/// An entry of the allow-list.
struct AllowedMessage {
  std::string code;     ///< "C7508", or "STACK" for a stack frame
  std::string contains; ///< text that the message must contain, empty matches all; of a stack frame
                        ///< a name that the PTX must use
  std::string reason;
};

/// Parses an allow-list: one entry a line, `CODE | text that the message must contain | reason` or
/// `STACK | name that the PTX uses | reason`;
/// empty lines and lines that begin with # are skipped. A line that does not parse is put into
/// `errors`.
std::vector<AllowedMessage> parseAllowList(std::string_view text, std::vector<std::string> &errors);

/// The text of the list that girih was built with, lib/Target/PtxasAllowed.txt.
std::string_view builtinAllowListText();

/// That list.
const std::vector<AllowedMessage> &builtinAllowList();

/// What of `output` must stop a compilation, as diagnostics that name the kernel and, where ptxas
/// gave a PTX line, the user's line through the .loc above it and `table`.
std::vector<Diagnostic> judge(const PtxasOutput &output, std::string_view ptx,
                              const image::LocationTable &table,
                              const std::vector<AllowedMessage> &allowed);

/// The location number of the last .loc at or above line `line` of `ptx` (lines count from 1)
/// within the same function; 0 if there is none.
uint32_t locationNumberAt(std::string_view ptx, unsigned line);

struct PtxasRun {
  bool ok = false;     ///< ptxas ran and its exit status was 0
  std::string cubin;   ///< empty unless ok
  std::string text;    ///< all that it printed
  PtxasOutput output;  ///< `text`, parsed
  std::string failure; ///< why ptxas could not be run or what signal ended it; empty otherwise
};

/// Runs `ptxas -v -arch=<arch>` on `ptx`, with `more` options; everything goes through memory.
PtxasRun runPtxas(const Toolchain &tools, std::string_view ptx, const std::string &arch,
                  const std::vector<std::string> &more = {});

} // namespace girih::target

#endif // GIRIH_TARGET_PTXAS_H
