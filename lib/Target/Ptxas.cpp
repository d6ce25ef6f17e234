//===- Ptxas.cpp - Run ptxas, parse and judge what it prints
//--------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//

#include "girih/Target/Ptxas.h"
#include "girih/Target/ChildProcess.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Regex.h"

using namespace girih;
using namespace girih::target;

//===--------------------------------------------------------------------------------------------===//
// Parsing
//===--------------------------------------------------------------------------------------------===//

const FunctionResources *PtxasOutput::find(std::string_view name) const {
  for (const FunctionResources &function : functions)
    if (function.name == name)
      return &function;
  return nullptr;
}

namespace {
class Parser {
public:
  PtxasOutput run(llvm::StringRef text) {
    llvm::SmallVector<llvm::StringRef, 64> lines;
    text.split(lines, '\n');
    for (llvm::StringRef line : lines)
      if (!line.trim().empty() && !statistics(line) && !message(line))
        add(PtxasMessage::Kind::Info, line.trim(), 0);
    return std::move(output);
  }

private:
  FunctionResources &function(llvm::StringRef name) {
    for (FunctionResources &known : output.functions)
      if (known.name == name)
        return known;
    output.functions.push_back({});
    output.functions.back().name = name.str();
    return output.functions.back();
  }

  static bool match(const char *pattern, llvm::StringRef line) {
    return llvm::Regex(pattern).match(line, &groups());
  }
  static llvm::SmallVector<llvm::StringRef, 8> &groups() {
    thread_local llvm::SmallVector<llvm::StringRef, 8> found;
    return found;
  }
  static int64_t number(unsigned group) {
    int64_t value = 0;
    (void)groups()[group].getAsInteger(10, value);
    return value;
  }

  /// The lines that -v prints for every kernel.
  bool statistics(llvm::StringRef line) {
    if (match("Compiling entry function '([^']+)'", line)) {
      current = groups()[1].str();
      function(current).isKernel = true;
      return true;
    }
    if (match("Function properties for ([^ ]+)", line)) {
      properties = groups()[1].str();
      function(properties);
      return true;
    }
    if (match("([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads",
              line)) {
      FunctionResources &at = function(properties);
      at.stackBytes = number(1);
      at.spillStoreBytes = number(2);
      at.spillLoadBytes = number(3);
      return true;
    }
    if (match("Used ([0-9]+) registers", line)) {
      FunctionResources &at = function(current);
      at.registers = number(1);
      if (match("used ([0-9]+) barriers", line))
        at.barriers = number(1);
      if (match("([0-9]+) bytes smem", line))
        at.staticSharedBytes = number(1);
      return true;
    }
    return match("bytes gmem|Compile time = ", line);
  }

  /// "ptxas info    : text", "ptxas FILE, line N; error   : text"; "fatal" counts as an error.
  bool message(llvm::StringRef line) {
    if (!match("^ptxas (.*line ([0-9]+); *)?(info|warning|error|fatal) *: (.*)$", line))
      return false;
    llvm::StringRef word = groups()[3];
    auto kind = word == "info"      ? PtxasMessage::Kind::Info
                : word == "warning" ? PtxasMessage::Kind::Warning
                                    : PtxasMessage::Kind::Error;
    unsigned ptxLine = groups()[2].empty() ? 0 : static_cast<unsigned>(number(2));
    add(kind, groups()[4].trim(), ptxLine);
    return true;
  }

  void add(PtxasMessage::Kind kind, llvm::StringRef text, unsigned line) {
    PtxasMessage result;
    result.kind = kind;
    result.line = line;
    if (match("^\\((C[0-9]+)\\) *", text)) {
      result.code = groups()[1].str();
      text = text.drop_front(groups()[0].size());
    }
    result.text = text.str();
    // A quoted name first: "crossing function boundary at a call in the function 'k'" names k.
    if (match("function '([^']+)'", text) || match("function ([A-Za-z_$%][A-Za-z0-9_$]*)", text))
      result.function = groups()[1].str();
    if (line == 0 && match("line ([0-9]+)", text))
      result.line = static_cast<unsigned>(number(1));
    output.messages.push_back(std::move(result));
  }

  PtxasOutput output;
  std::string current;    ///< the kernel that is being compiled
  std::string properties; ///< whose stack frame the next line gives
};
} // namespace

PtxasOutput target::parsePtxasOutput(std::string_view text) {
  return Parser().run(llvm::StringRef(text.data(), text.size()));
}

uint32_t target::locationNumberAt(std::string_view ptx, unsigned line) {
  llvm::StringRef rest(ptx.data(), ptx.size());
  uint32_t number = 0;
  for (unsigned at = 1; at <= line && !rest.empty(); ++at) {
    auto [text, after] = rest.split('\n');
    rest = after;
    llvm::StringRef trimmed = text.ltrim();
    if (trimmed.starts_with(".visible") || trimmed.starts_with(".entry") ||
        trimmed.starts_with(".func") || trimmed.starts_with(".weak"))
      number = 0;
    size_t position = text.rfind(".loc");
    if (position == llvm::StringRef::npos)
      continue;
    llvm::SmallVector<llvm::StringRef, 4> fields;
    text.drop_front(position + 4).split(fields, ' ', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef &field : fields)
      field = field.trim(" \t;");
    if (fields.size() == 1) // LLVM separates the three numbers by blanks, but a tab comes first
      continue;
    unsigned column = 0;
    if (fields.size() >= 3 && !fields[2].getAsInteger(10, column))
      number = column;
  }
  return number;
}

//===--------------------------------------------------------------------------------------------===//
// The allow-list
//===--------------------------------------------------------------------------------------------===//

std::vector<AllowedMessage> target::parseAllowList(std::string_view text,
                                                   std::vector<std::string> &errors) {
  std::vector<AllowedMessage> allowed;
  llvm::SmallVector<llvm::StringRef, 16> lines;
  llvm::StringRef(text.data(), text.size()).split(lines, '\n');
  unsigned count = 0;
  for (llvm::StringRef line : lines) {
    ++count;
    line = line.trim();
    if (line.empty() || line.starts_with("#"))
      continue;
    llvm::SmallVector<llvm::StringRef, 3> fields;
    line.split(fields, '|', 2);
    if (fields.size() != 3 || !llvm::Regex("^(C[0-9]+|STACK)$").match(fields[0].trim()) ||
        fields[2].trim().empty() || (fields[0].trim() == "STACK" && fields[1].trim().empty())) {
      errors.push_back("line " + std::to_string(count) +
                       ": expected 'CODE | text | reason' or 'STACK | name | reason', found '" +
                       line.str() + "'");
      continue;
    }
    allowed.push_back({fields[0].trim().str(), fields[1].trim().str(), fields[2].trim().str()});
  }
  return allowed;
}

std::string_view target::builtinAllowListText() {
  return
#include "PtxasAllowed.inc"
      ;
}

const std::vector<AllowedMessage> &target::builtinAllowList() {
  static const std::vector<AllowedMessage> allowed = [] {
    std::vector<std::string> errors; // a unit test holds the file to none
    return parseAllowList(builtinAllowListText(), errors);
  }();
  return allowed;
}

//===--------------------------------------------------------------------------------------------===//
// Judging
//===--------------------------------------------------------------------------------------------===//

static bool isAllowed(const PtxasMessage &message, const std::vector<AllowedMessage> &allowed) {
  for (const AllowedMessage &entry : allowed)
    if (entry.code == message.code && message.text.find(entry.contains) != std::string::npos)
      return true;
  return false;
}

/// Whether the module uses something that is known to need a stack frame.
static bool mayHaveStack(std::string_view ptx, const std::vector<AllowedMessage> &allowed) {
  return llvm::any_of(allowed, [&](const AllowedMessage &entry) {
    return entry.code == "STACK" && ptx.find(entry.contains) != std::string_view::npos;
  });
}

/// "kernel 'k': " in front of a message that does not say itself which kernel it means.
static std::string whose(const PtxasMessage &message, const PtxasOutput &output) {
  std::vector<std::string> kernels;
  for (const FunctionResources &function : output.functions)
    if (function.isKernel)
      kernels.push_back(function.name);
  std::string name = message.function;
  if (name.empty() && kernels.size() == 1)
    name = kernels.front();
  if (!name.empty())
    return "kernel '" + name + "': ";
  if (kernels.empty())
    return "";
  std::string text = "one of the kernels";
  for (size_t i = 0; i < kernels.size(); ++i)
    text += (i ? ", '" : " '") + kernels[i] + "'";
  return text + ": ";
}

std::vector<Diagnostic> target::judge(const PtxasOutput &output, std::string_view ptx,
                                      const image::LocationTable &table,
                                      const std::vector<AllowedMessage> &allowed) {
  std::vector<Diagnostic> diagnostics;
  for (const PtxasMessage &message : output.messages) {
    bool isError = message.kind != PtxasMessage::Kind::Info || !message.code.empty();
    if (!isError || isAllowed(message, allowed))
      continue;
    // The last line after real errors adds nothing.
    if (message.text.find("aborted due to errors") != std::string::npos && !diagnostics.empty())
      continue;
    std::string text = "ptxas: " + whose(message, output);
    if (!message.code.empty())
      text += "(" + message.code + ") ";
    text += message.text;
    if (message.line && message.text.find("line") == std::string::npos)
      text += " (line " + std::to_string(message.line) + " of the PTX)";
    Diagnostic diagnostic = makeError(std::move(text));
    if (message.line)
      diagnostic.places = placesOf(table, locationNumberAt(ptx, message.line));
    diagnostics.push_back(std::move(diagnostic));
  }
  for (const FunctionResources &function : output.functions) {
    int64_t spills = function.spillStoreBytes + function.spillLoadBytes;
    std::string what = (function.isKernel ? "kernel '" : "function '") + function.name + "'";
    if (spills)
      diagnostics.push_back(makeError(
          "ptxas: " + what +
          " spills registers to memory: " + std::to_string(function.spillStoreBytes) +
          " bytes stored and " + std::to_string(function.spillLoadBytes) +
          " bytes loaded, expected none; it has " + std::to_string(function.registers) +
          " registers a thread: use a smaller tile for each warpgroup or more warpgroups"));
    else if (function.stackBytes && !mayHaveStack(ptx, allowed))
      diagnostics.push_back(makeError("ptxas: " + what + " has a stack frame of " +
                                      std::to_string(function.stackBytes) +
                                      " bytes, expected none: an array in it is indexed with a "
                                      "value known only at run time, or "
                                      "a parameter is copied to local memory"));
  }
  return diagnostics;
}

//===--------------------------------------------------------------------------------------------===//
// Running
//===--------------------------------------------------------------------------------------------===//

PtxasRun target::runPtxas(const Toolchain &tools, std::string_view ptx, const std::string &arch,
                          const std::vector<std::string> &more) {
  PtxasRun run;
  if (auto why = whyNoPtxas(tools)) {
    run.failure = *why;
    return run;
  }
  std::vector<std::string> arguments = {"-v", "-arch=" + arch, "{input}", "-o", "{output}"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  ChildProcess child = runChild(tools.ptxas, arguments, ptx);
  run.text = std::move(child.messages);
  run.output = parsePtxasOutput(run.text);
  run.failure = std::move(child.failure);
  run.ok = child.status == 0;
  if (run.ok) {
    run.cubin = std::move(child.output);
    return run;
  }
  bool said = false;
  for (const PtxasMessage &message : run.output.messages)
    said |= message.kind == PtxasMessage::Kind::Error;
  if (run.failure.empty() && !said)
    run.failure = "ptxas failed with status " + std::to_string(child.status) + ": " + run.text;
  return run;
}
