//===- Report.cpp - A compilation in words for a reader
//--------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//

#include "Report.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace girih;

std::string compiler::timeTable(const Result &result) {
  std::string text;
  llvm::raw_string_ostream out(text);
  const Timings &time = result.timings;
  const std::pair<const char *, double> rows[] = {{"parse", time.parse},
                                                  {"passes", time.passes},
                                                  {"llvm", time.llvm},
                                                  {"ptxas", time.ptxas},
                                                  {"total", time.total}};
  for (auto [name, milliseconds] : rows)
    out << llvm::format("%-7s %8.1f ms\n", name, milliseconds);
  for (const PassTime &row : result.passTimes)
    out << llvm::format("  %-32s %8.2f ms\n", row.pass.c_str(), row.milliseconds);
  return text;
}

std::string compiler::report(const Result &result) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const target::FunctionResources &kernel : result.resources)
    out << "kernel " << kernel.name << "\n"
        << "  registers a thread at launch  " << kernel.registers << "\n"
        << "  spilled bytes                 " << kernel.spillStoreBytes + kernel.spillLoadBytes
        << "\n"
        << "  stack bytes                   " << kernel.stackBytes << "\n"
        << "  static shared bytes           " << kernel.staticSharedBytes << "\n";
  out << "dynamic shared bytes            " << result.dynamicSharedBytes << "\n";
  out << "ptxas messages                  " << result.ptxasMessages.size() << "\n";
  for (const target::PtxasMessage &message : result.ptxasMessages)
    out << "  " << (message.code.empty() ? "" : "(" + message.code + ") ") << message.text << "\n";
  out << timeTable(result);
  return text;
}
