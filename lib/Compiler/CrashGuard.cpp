//===- CrashGuard.cpp - The last words of a compiler
//----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//

#include "girih/Compiler/CrashGuard.h"

#include "llvm/Support/ErrorHandling.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace girih;

namespace {
// All that the signal handler touches is prepared beforehand: it must not allocate.
struct State {
  void (*last)(std::string_view, std::string_view) = nullptr;
  char path[512] = "";
  const char *text = nullptr;
  size_t size = 0;
} state;

/// Writes the module; false if there is none or the file cannot be written.
bool writeReproducer() {
  if (!state.text)
    return false;
  int file = open(state.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0)
    return false;
  size_t done = 0;
  while (done < state.size) {
    ssize_t count = write(file, state.text + done, state.size - done);
    if (count <= 0)
      break;
    done += static_cast<size_t>(count);
  }
  close(file);
  return done == state.size;
}

void finish(std::string_view what) {
  std::string_view path = writeReproducer() ? std::string_view(state.path) : std::string_view();
  if (state.last)
    state.last(what, path);
}

void onFatalError(void *, const char *reason, bool) {
  char what[4096];
  int size = std::snprintf(what, sizeof(what), "LLVM ERROR: %s", reason);
  finish({what, std::min<size_t>(static_cast<size_t>(size), sizeof(what) - 1)});
  _exit(1);
}

void onSignal(int number) {
  const char *name = "a signal";
  switch (number) {
  case SIGSEGV:
    name = "signal SIGSEGV (invalid memory access)";
    break;
  case SIGABRT:
    name = "signal SIGABRT (abort)";
    break;
  case SIGBUS:
    name = "signal SIGBUS";
    break;
  case SIGILL:
    name = "signal SIGILL";
    break;
  case SIGFPE:
    name = "signal SIGFPE";
    break;
  case SIGTRAP:
    name = "signal SIGTRAP";
    break;
  }
  finish(name);
  signal(number, SIG_DFL);
  raise(number);
}
} // namespace

void compiler::installCrashGuard(void (*last)(std::string_view, std::string_view)) {
  state.last = last;
  const char *folder = std::getenv("GIRIH_REPRODUCER_DIR");
  if (!folder || !*folder)
    folder = std::getenv("TMPDIR");
  if (!folder || !*folder)
    folder = "/tmp";
  std::snprintf(state.path, sizeof(state.path), "%s/girih-reproducer-%d.mlir", folder,
                static_cast<int>(getpid()));
  llvm::install_fatal_error_handler(onFatalError);
  // A stack of its own: an overflowing stack is one of the crashes.
  static char stack[64 * 1024];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_ONSTACK | SA_RESETHAND | SA_NODEFER;
  for (int number : {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGTRAP})
    sigaction(number, &action, nullptr);
}

compiler::CrashScope::CrashScope(std::string_view text) {
  state.size = text.size();
  state.text = text.data();
}

compiler::CrashScope::~CrashScope() { state.text = nullptr; }
