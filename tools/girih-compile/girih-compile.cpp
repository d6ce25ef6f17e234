//===- girih-compile.cpp - Compile a module to a kernel package
//------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//

#include "Report.h"
#include "girih/Compiler/CrashGuard.h"
#include "girih/Compiler/Server.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstring>
#include <link.h>
#include <unistd.h>

using namespace girih;
namespace cl = llvm::cl;

static cl::OptionCategory category("girih-compile");
static cl::opt<std::string> inputFile(cl::Positional,
                                      cl::desc("KERNEL.mlir (- for stdin) or KERNELS.py"),
                                      cl::cat(category));
static cl::opt<std::string>
    outputFolder("o",
                 cl::desc("Write NAME.ptx, NAME.cubin (the image: cubin, PTX, locations and "
                          "manifest in one file) and manifest.json into this folder; of a .py file "
                          "a package and a C header"),
                 cl::value_desc("folder"), cl::cat(category));
// Read by girih-export; here for --help.
static cl::list<std::string>
    signatures("signature",
               cl::desc("For a .py file, which girih-export compiles: a call with dtypes in the "
                        "place of arrays, as in 'matmul(bf16, bf16, f32) when M <= 64'"),
               cl::value_desc("call"), cl::cat(category));
static cl::opt<std::string>
    emitKind("emit",
             cl::desc("Print one stage to stdout: tile, wg, nvvm, llvm, ptx, cubin (the image), "
                      "sass (through nvdisasm) or report (resources and times)"),
             cl::value_desc("stage"), cl::cat(category));
static cl::opt<std::string> arch("arch",
                                 cl::desc("Compile for this architecture instead of the one "
                                          "in #nvvm.target"),
                                 cl::value_desc("sm_90a"), cl::cat(category));
static cl::opt<std::string>
    ptxasPath("ptxas",
              cl::desc("The ptxas to run (default: GIRIH_PTXAS, GIRIH_CUDA_HOME/bin, the "
                       "pinned wheel)"),
              cl::value_desc("path"), cl::cat(category));
static cl::opt<bool> remarks("remarks",
                             cl::desc("Say what the passes decided, and where an optimisation did "
                                      "not apply and why"),
                             cl::cat(category));
static cl::opt<bool> timing("timing", cl::desc("Print how long each step and each pass took"),
                            cl::cat(category));
static cl::list<std::string>
    without("without",
            cl::desc("Do without optional steps (comma-separated): the result is "
                     "the same, what ptxas complains of is a remark"),
            cl::value_desc("step"), cl::CommaSeparated, cl::cat(category));
static cl::opt<bool> server("server",
                            cl::desc("Serve requests from stdin on stdout (docs/Compile.md)"),
                            cl::cat(category));

static cl::opt<bool> files(
    "files",
    cl::desc("Print the files that shape what is compiled, one a line: this program, its "
             "libraries of LLVM, ptxas, libdevice, and places where a toolkit would come first"),
    cl::cat(category));

static int fail(const std::string &message) {
  llvm::errs() << "girih-compile: error: " << message << "\n";
  return 1;
}

static void sayLastWords(std::string_view what, std::string_view reproducer) {
  auto say = [](std::string_view text) { (void)!write(STDERR_FILENO, text.data(), text.size()); };
  say("girih-compile: error: the compiler ended: ");
  say(what);
  if (!reproducer.empty()) {
    say("\ngirih-compile: note: the module was written to ");
    say(reproducer);
    say(": please report it");
  }
  say("\n");
}

static bool writeFile(const std::string &path, llvm::StringRef bytes, std::string &error) {
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  if (!code) {
    stream << bytes;
    stream.close();
    code = stream.error();
  }
  if (!code)
    return true;
  stream.clear_error();
  error = "cannot write '" + path + "': " + code.message();
  return false;
}

static int writePackage(const compiler::Result &result) {
  if (auto code = llvm::sys::fs::create_directories(outputFolder))
    return fail("cannot create the folder '" + outputFolder + "': " + code.message());
  const std::pair<std::string, const std::string *> files[] = {
      {result.name + ".ptx", &result.ptx},
      {result.name + ".cubin", &result.image},
      {"manifest.json", &result.manifest}};
  for (const auto &[name, bytes] : files) {
    llvm::SmallString<256> path(outputFolder.getValue());
    llvm::sys::path::append(path, name);
    std::string error;
    if (!writeFile(std::string(path), *bytes, error))
      return fail(error);
  }
  return 0;
}

static int printStage(const compiler::Result &result) {
  llvm::outs() << (emitKind == "tile"    ? result.tile
                   : emitKind == "wg"    ? result.wg
                   : emitKind == "nvvm"  ? result.nvvm
                   : emitKind == "llvm"  ? result.llvm
                   : emitKind == "ptx"   ? result.ptx
                   : emitKind == "sass"  ? result.sass
                   : emitKind == "cubin" ? result.image
                                         : compiler::report(result));
  return 0;
}

static void printVersion(llvm::raw_ostream &out) {
  out << "girih-compile, LLVM " LLVM_VERSION_STRING ", ptxas "
      << target::ptxasVersion(target::findToolchain()).value_or("not found") << "\n";
}

static int compileFile(const target::Toolchain &tools) {
  if (inputFile.empty())
    return fail("no input file: girih-compile KERNEL.mlir -o FOLDER, or --help");
  if (!signatures.empty())
    return fail("--signature is for .py files: a module says itself what it is compiled for");
  if (outputFolder.empty() && emitKind.empty())
    return fail("nothing to do: say -o FOLDER for a package or --emit=STAGE to print one");
  compiler::Options options;
  options.arch = arch;
  options.fileName = inputFile;
  options.tools = tools;
  options.remarks = remarks;
  options.timing = timing;
  std::vector<std::string> known = compiler::Compiler::optionalSteps();
  for (const std::string &step : without) {
    if (!llvm::is_contained(known, step))
      return fail("'" + step + "' is no optional step: --without takes " + llvm::join(known, ", "));
    options.without.push_back(step);
  }
  bool whole = emitKind == "cubin" || emitKind == "report";
  if (!emitKind.empty() && !whole &&
      (emitKind == "image" || !options.emit.set(emitKind.getValue())))
    return fail("unknown stage '" + emitKind +
                "': --emit takes tile, wg, nvvm, llvm, ptx, cubin, sass or report");
  if (whole || !outputFolder.empty())
    options.emit.image = true;
  if (options.emit.image) {
    options.emit.ptx = true;
    // Said before any work is done: nothing in the module can help it.
    if (auto why = target::whyNoPtxas(tools))
      return fail(*why);
  }
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(inputFile, /*IsText=*/true);
  if (!buffer)
    return fail("cannot read '" + inputFile + "': " + buffer.getError().message());

  compiler::installCrashGuard(sayLastWords);
  compiler::CrashScope scope((*buffer)->getBuffer());
  compiler::Compiler compiler;
  compiler::Result result = compiler.compile((*buffer)->getBuffer(), options);
  for (const target::Diagnostic &diagnostic : result.diagnostics)
    llvm::errs() << target::render(diagnostic);
  if (timing)
    llvm::errs() << compiler::timeTable(result);
  if (!result.ok)
    return 1;
  int status = outputFolder.empty() ? 0 : writePackage(result);
  return status == 0 && !emitKind.empty() ? printStage(result) : status;
}

/// stdout becomes stderr, so that nothing a library prints can get between the frames.
static int runServer(const target::Toolchain &tools) {
  int out = dup(STDOUT_FILENO);
  if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return fail("the server needs open stdin, stdout and stderr");
  return compiler::serve(STDIN_FILENO, out, tools);
}

/// Called for each library in the process.
static int printLibrary(dl_phdr_info *info, size_t, void *) {
  llvm::StringRef name = llvm::sys::path::filename(info->dlpi_name);
  if (name.starts_with("libMLIR") || name.starts_with("libLLVM"))
    llvm::outs() << info->dlpi_name << "\n";
  return 0;
}

static int printFiles(const target::Toolchain &tools) {
  llvm::outs() << llvm::sys::fs::getMainExecutable(nullptr, nullptr) << "\n";
  dl_iterate_phdr(printLibrary, nullptr);
  llvm::outs() << tools.ptxas << "\n" << tools.libdevice << "\n" << tools.nvrtc << "\n";
  for (const std::string &missing : tools.missing)
    llvm::outs() << missing << "\n";
  return 0;
}

/// Becomes girih-export, which reads the same arguments: Python files are read by Python.
static int exportKernels(char **argv) {
  llvm::SmallString<256> path(
      llvm::sys::path::parent_path(llvm::sys::fs::getMainExecutable(nullptr, nullptr)));
  llvm::sys::path::append(path, "girih-export");
  execv(path.c_str(), argv);
  return fail("cannot start '" + std::string(path) + "', which compiles Python files: " +
              std::strerror(errno) + "; it comes with girih's Python package");
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (llvm::StringRef(argv[i]).ends_with(".py"))
      return exportKernels(argv);
  cl::HideUnrelatedOptions(category);
  cl::AddExtraVersionPrinter(printVersion);
  cl::ParseCommandLineOptions(
      argc, argv,
      "girih-compile: from a module in the tile, wg or nvvm phase to PTX, cubin and manifest\n\n"
      "  girih-compile kernel.mlir -o out/       writes the image\n"
      "  girih-compile kernel.mlir --emit=ptx    prints one stage\n"
      "  girih-compile kernels.py --signature 'softmax(f32, f32)' -o out/\n"
      "                                          runs girih-export, which writes a package\n"
      "  girih-compile --server                  is a compiler worker\n");
  target::Toolchain tools = target::findToolchain(ptxasPath);
  if (files)
    return printFiles(tools);
  return server ? runServer(tools) : compileFile(tools);
}
