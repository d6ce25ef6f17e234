//===- ChildProcess.h - Run one of NVIDIA's tools
//-------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Input, output and messages go through anonymous files in memory (memfd_create), passed as
// /proc/self/fd/N: nothing to name, nothing to remove, nothing left behind if the compiler is
// killed. Linux only, as girih is.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_TARGET_CHILDPROCESS_H
#define GIRIH_TARGET_CHILDPROCESS_H

#include <string>
#include <string_view>
#include <vector>

namespace girih::target {

struct ChildProcess {
  int status = -1;      ///< exit status; -1 if the program did not run or was ended by a signal
  std::string failure;  ///< why it did not run, or which signal ended it; empty otherwise
  std::string output;   ///< what it wrote to the file "{output}"
  std::string messages; ///< stdout and stderr together
};

/// Runs `program` with `arguments`, in which "{input}" stands for the path of a file with `input`
/// and
/// "{output}" for the path of an empty file. Its stdin is /dev/null. Waits for its end.
ChildProcess runChild(const std::string &program, const std::vector<std::string> &arguments,
                      std::string_view input = {});

} // namespace girih::target

#endif // GIRIH_TARGET_CHILDPROCESS_H
