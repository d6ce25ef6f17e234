//===- Nvrtc.cpp - CUDA C++ to PTX by NVRTC
//-------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//

#include "girih/Target/DeviceFunctions.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"

#include <dlfcn.h>

using namespace girih;
using namespace girih::target;

namespace {
/// The functions of nvrtc.h that are used. Results are codes, 0 for success.
struct Nvrtc {
  using Program = struct Opaque *;
  int (*createProgram)(Program *, const char *source, const char *name, int headers,
                       const char *const *headerTexts, const char *const *headerNames) = nullptr;
  int (*compileProgram)(Program, int options, const char *const *texts) = nullptr;
  int (*destroyProgram)(Program *) = nullptr;
  int (*getPTXSize)(Program, size_t *) = nullptr;
  int (*getPTX)(Program, char *) = nullptr;
  int (*getProgramLogSize)(Program, size_t *) = nullptr;
  int (*getProgramLog)(Program, char *) = nullptr;
  std::string failure; ///< why it cannot be used

  explicit Nvrtc(const std::string &path) {
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      failure = dlerror();
      return;
    }
    auto find = [&](auto &function, const char *name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (!function)
        failure = path + " has no " + name;
    };
    find(createProgram, "nvrtcCreateProgram");
    find(compileProgram, "nvrtcCompileProgram");
    find(destroyProgram, "nvrtcDestroyProgram");
    find(getPTXSize, "nvrtcGetPTXSize");
    find(getPTX, "nvrtcGetPTX");
    find(getProgramLogSize, "nvrtcGetProgramLogSize");
    find(getProgramLog, "nvrtcGetProgramLog");
  }
};
} // namespace

static std::string textOf(Nvrtc::Program program, int (*size)(Nvrtc::Program, size_t *),
                          int (*get)(Nvrtc::Program, char *)) {
  size_t bytes = 0;
  if (size(program, &bytes) != 0 || bytes == 0)
    return "";
  std::string text(bytes, '\0');
  if (get(program, text.data()) != 0)
    return "";
  text.resize(text.find('\0')); // sizes count the end
  return text;
}

/// NVRTC's errors: "file(line): error: text", followed by lines that show the place.
static void readLog(llvm::StringRef log, std::vector<Diagnostic> &diagnostics) {
  llvm::SmallVector<llvm::StringRef> lines;
  log.split(lines, '\n');
  size_t before = diagnostics.size();
  for (llvm::StringRef line : lines) {
    auto [place, message] = line.split("): ");
    if (!message.consume_front("error: ") && !message.consume_front("catastrophic error: "))
      continue;
    auto [file, number] = place.rsplit('(');
    int64_t at = 0;
    if (number.getAsInteger(10, at))
      continue;
    Diagnostic error = makeError("CUDA C++: " + message.str());
    error.places.push_back({"", file.str(), at, 0});
    diagnostics.push_back(std::move(error));
  }
  if (diagnostics.size() == before)
    diagnostics.push_back(makeError("CUDA C++: " + log.rtrim().str()));
}

std::optional<std::string> target::compileDeviceSource(const DeviceSource &source,
                                                       const Toolchain &tools,
                                                       const std::string &arch,
                                                       std::vector<Diagnostic> &diagnostics) {
  static const Nvrtc nvrtc(tools.nvrtc);
  if (!nvrtc.failure.empty()) {
    diagnostics.push_back(
        makeError("a CUDA C++ function needs NVRTC, which cannot be loaded: " + nvrtc.failure +
                  "; run ./dev setup, which installs the pinned wheels, or set GIRIH_CUDA_HOME"));
    return std::nullopt;
  }
  std::string file = llvm::StringRef(source.file).contains('"') ? "cuda" : source.file;
  std::string text = "#line " + std::to_string(source.line) + " \"" + file + "\"\n" +
                     source.source + "\n#line 1 \"girih\"\n" + llvm::join(source.wrappers, "\n") +
                     "\n";
  // Without -rdc it drops what no kernel in it calls.
  std::vector<std::string> options = {"-arch=" + arch, "-rdc=true", "-default-device",
                                      "-I" + tools.include};
  // Headers in quotes are looked for beside the user's file.
  llvm::StringRef folder = llvm::sys::path::parent_path(source.file);
  if (!folder.empty())
    options.push_back("-I" + folder.str());
  std::vector<const char *> pointers;
  for (const std::string &option : options)
    pointers.push_back(option.c_str());

  Nvrtc::Program program = nullptr;
  if (nvrtc.createProgram(&program, text.c_str(), "girih", 0, nullptr, nullptr) != 0) {
    diagnostics.push_back(makeError("NVRTC takes no program"));
    return std::nullopt;
  }
  std::optional<std::string> ptx;
  if (nvrtc.compileProgram(program, static_cast<int>(pointers.size()), pointers.data()) == 0)
    ptx = textOf(program, nvrtc.getPTXSize, nvrtc.getPTX);
  else
    readLog(textOf(program, nvrtc.getProgramLogSize, nvrtc.getProgramLog), diagnostics);
  nvrtc.destroyProgram(&program);
  return ptx;
}
