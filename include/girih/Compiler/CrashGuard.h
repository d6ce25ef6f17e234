//===- CrashGuard.h - The last words of a compiler
//------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's backend ends the process for what it cannot select, and a bug may end it by a signal.
// Neither may be silent: the guard writes the module that was being compiled to a file and says
// where, then lets the process die, since LLVM's state cannot be trusted afterwards.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_COMPILER_CRASHGUARD_H
#define GIRIH_COMPILER_CRASHGUARD_H

#include <string>
#include <string_view>

namespace girih::compiler {

/// Installs the handlers for the process, once. `last` is called with what happened ("LLVM ERROR:
/// Cannot select ...", "signal 11 (Segmentation fault)") and the reproducer's path ("" if it could
/// not be written); after a signal it runs in the handler, so it may do little more than write.
void installCrashGuard(void (*last)(std::string_view what, std::string_view reproducer));

/// While it lives, `text` is what a reproducer holds. Not nested.
class CrashScope {
public:
  explicit CrashScope(std::string_view text);
  ~CrashScope();
  CrashScope(const CrashScope &) = delete;
  CrashScope &operator=(const CrashScope &) = delete;
};

} // namespace girih::compiler

#endif // GIRIH_COMPILER_CRASHGUARD_H
