//===- Server.cpp - The compiler worker
//-------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//

#include "girih/Compiler/Server.h"
#include "girih/Compiler/CrashGuard.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

using namespace girih;
using namespace girih::compiler;
using target::Diagnostic;
using target::makeError;
namespace json = llvm::json;

//===--------------------------------------------------------------------------------------------===//
// Replies
//===--------------------------------------------------------------------------------------------===//

/// JSON strings are UTF-8; a message may quote bytes of the user's file that are not.
static std::string utf8(llvm::StringRef text) {
  return json::isUTF8(text) ? text.str() : json::fixUTF8(text);
}

static json::Object toJSON(const Diagnostic &diagnostic) {
  json::Array places, notes;
  for (const target::Place &place : diagnostic.places)
    places.push_back(json::Object{{"function", utf8(place.function)},
                                  {"file", utf8(place.file)},
                                  {"line", place.line},
                                  {"column", place.column}});
  for (const Diagnostic &note : diagnostic.notes)
    notes.push_back(toJSON(note));
  return json::Object{{"severity", target::severityName(diagnostic.severity)},
                      {"message", utf8(diagnostic.message)},
                      {"locations", std::move(places)},
                      {"notes", std::move(notes)}};
}

static json::Object resourcesJSON(const Result &result) {
  int64_t registers = 0, spills = 0, stack = 0, shared = 0;
  for (const target::FunctionResources &kernel : result.resources) {
    registers = std::max(registers, kernel.registers);
    spills += kernel.spillStoreBytes + kernel.spillLoadBytes;
    stack = std::max(stack, kernel.stackBytes);
    shared = std::max(shared, kernel.staticSharedBytes);
  }
  json::Array messages;
  for (const target::PtxasMessage &message : result.ptxasMessages)
    messages.push_back(
        utf8(message.code.empty() ? message.text : "(" + message.code + ") " + message.text));
  return json::Object{{"registers", registers},
                      {"spill_bytes", spills},
                      {"stack_bytes", stack},
                      {"shared_bytes", shared + result.dynamicSharedBytes},
                      {"ptxas_messages", std::move(messages)}};
}

std::string compiler::replyJSON(const std::string &id, const Result &result,
                                const std::vector<std::string> &emit, std::string &blobs) {
  const std::pair<llvm::StringRef, const std::string *> available[] = {
      {"image", &result.image}, {"ptx", &result.ptx}, {"llvm", &result.llvm},
      {"tile", &result.tile},   {"wg", &result.wg},   {"nvvm", &result.nvvm},
      {"sass", &result.sass}};
  json::Array list;
  for (const std::string &name : emit)
    for (auto [known, bytes] : available)
      if (name == known && !bytes->empty()) {
        list.push_back(json::Array{name, static_cast<int64_t>(bytes->size())});
        blobs += *bytes;
      }
  json::Array diagnostics;
  for (const Diagnostic &diagnostic : result.diagnostics)
    diagnostics.push_back(toJSON(diagnostic));
  const Timings &time = result.timings;
  json::Array passes;
  for (const PassTime &row : result.passTimes)
    passes.push_back(json::Array{row.pass, row.milliseconds});
  json::Array steps;
  for (const std::string &step : Compiler::optionalSteps())
    steps.push_back(step);
  json::Object reply{{"ok", result.ok},
                     {"resources", resourcesJSON(result)},
                     {"timings_ms", json::Object{{"parse", time.parse},
                                                 {"passes", time.passes},
                                                 {"llvm", time.llvm},
                                                 {"ptxas", time.ptxas},
                                                 {"total", time.total}}},
                     {"passes_ms", std::move(passes)},
                     {"optional_steps", std::move(steps)},
                     {"diagnostics", std::move(diagnostics)},
                     {"blobs", std::move(list)}};
  // The id is any JSON value and comes back as it was.
  if (auto value = json::parse(id))
    reply["id"] = std::move(*value);
  else
    llvm::consumeError(value.takeError());
  if (!result.manifest.empty()) {
    if (auto manifest = json::parse(result.manifest))
      reply["manifest"] = std::move(*manifest);
    else
      llvm::consumeError(manifest.takeError());
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << json::Value(std::move(reply));
  return text;
}

//===--------------------------------------------------------------------------------------------===//
// Frames
//===--------------------------------------------------------------------------------------------===//

/// Reads `size` bytes; fewer only at the end of the input.
static size_t readBytes(int in, char *data, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t count = read(in, data + done, size - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    done += static_cast<size_t>(count);
  }
  return done;
}

static bool writeBytes(int out, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = write(out, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

static void putLength(char *to, uint32_t length) {
  for (unsigned i = 0; i < 4; ++i)
    to[i] = static_cast<char>(length >> (8 * i));
}

static bool writeReply(int out, const std::string &text, std::string_view blobs) {
  char head[4];
  putLength(head, static_cast<uint32_t>(text.size()));
  return writeBytes(out, {head, 4}) && writeBytes(out, text) && writeBytes(out, blobs);
}

//===--------------------------------------------------------------------------------------------===//
// A crash in the middle of a request
//===--------------------------------------------------------------------------------------------===//

namespace {
/// What the crash handler needs, all of it prepared before the compilation begins.
struct Pending {
  int out = -1;
  bool active = false;
  char id[256] = "null";
} pending;

/// A JSON string in a fixed buffer.
class FixedText {
public:
  void raw(std::string_view text) {
    for (char c : text)
      if (size < sizeof(buffer))
        buffer[size++] = c;
  }
  void escaped(std::string_view text) {
    for (char c : text) {
      unsigned char byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte >= 0x7f)
        raw(" ");
      else if (c == '"' || c == '\\')
        raw("\\"), raw({&c, 1});
      else
        raw({&c, 1});
    }
  }
  std::string_view text() const { return {buffer, size}; }

private:
  char buffer[16384];
  size_t size = 0;
};
} // namespace

static void lastReply(std::string_view what, std::string_view reproducer) {
  FixedText note;
  note.raw("girih-compile: the compiler ended: ");
  note.raw(what);
  note.raw("\n");
  (void)writeBytes(STDERR_FILENO, note.text());
  if (!pending.active)
    return;
  FixedText reply;
  reply.raw("{\"id\":");
  reply.raw(pending.id);
  reply.raw(",\"ok\":false,\"blobs\":[],\"crashed\":true,\"diagnostics\":[{\"severity\":\"error\","
            "\"message\":\"the compiler ended: ");
  reply.escaped(what);
  if (reproducer.empty()) {
    reply.raw("\",\"locations\":[],\"notes\":[]}]}");
  } else {
    reply.raw("\",\"locations\":[],\"notes\":[{\"severity\":\"note\",\"message\":\"the module was "
              "written to ");
    reply.escaped(reproducer);
    reply.raw(": please report it\",\"locations\":[],\"notes\":[]}]}]}");
  }
  char head[4];
  putLength(head, static_cast<uint32_t>(reply.text().size()));
  (void)(writeBytes(pending.out, {head, 4}) && writeBytes(pending.out, reply.text()));
}

//===--------------------------------------------------------------------------------------------===//
// Requests
//===--------------------------------------------------------------------------------------------===//

namespace {
struct Request {
  std::string id = "null"; ///< as JSON
  std::string mlir;
  std::vector<std::string> emit;
  Options options;
};
} // namespace

/// Names of optional steps, checked; on a mistake a message.
static std::string parseWithout(const json::Value &value, std::vector<std::string> &without) {
  const json::Array *names = value.getAsArray();
  if (!names)
    return "the option 'without' is no list";
  std::vector<std::string> known = Compiler::optionalSteps();
  for (const json::Value &element : *names) {
    std::string name = element.getAsString().value_or("").str();
    if (!llvm::is_contained(known, name))
      return "'" + name + "' is no optional step: expected " + llvm::join(known, ", ");
    without.push_back(name);
  }
  return "";
}

static std::string parseOption(llvm::StringRef name, const json::Value &value, Options &options) {
  if (name == "without")
    return parseWithout(value, options.without);
  if (name != "remarks" && name != "timing")
    return "unknown option '" + name.str() + "': expected remarks, timing or without";
  std::optional<bool> on = value.getAsBoolean();
  if (!on)
    return "the option '" + name.str() + "' is no boolean";
  (name == "remarks" ? options.remarks : options.timing) = *on;
  return "";
}

/// The request in `text`; on a mistake a message, with Request::id set if it could be read.
static std::string parseRequest(llvm::StringRef text, Request &request) {
  auto value = json::parse(text);
  if (!value)
    return "the request is not JSON: " + llvm::toString(value.takeError());
  json::Object *object = value->getAsObject();
  if (!object)
    return "the request is no JSON object";
  if (const json::Value *id = object->get("id")) {
    request.id.clear();
    llvm::raw_string_ostream(request.id) << *id;
  }
  auto mlir = object->getString("mlir");
  if (!mlir)
    return "the request has no string \"mlir\", the module's text";
  request.mlir = mlir->str();
  if (const json::Value *arch = object->get("arch")) {
    auto name = arch->getAsString();
    if (!name)
      return "the request's \"arch\" is no string";
    request.options.arch = name->str();
  }
  const json::Array *emit = object->getArray("emit");
  if (!emit || emit->empty())
    return "the request has no list \"emit\": expected some of image, ptx, llvm, tile, wg, nvvm, "
           "sass";
  for (const json::Value &element : *emit) {
    std::string name = element.getAsString().value_or("").str();
    if (!request.options.emit.set(name))
      return "\"emit\" asks for '" + name +
             "', expected some of image, ptx, llvm, tile, wg, nvvm, sass";
    request.emit.push_back(name);
  }
  if (const json::Value *options = object->get("options")) {
    const json::Object *fields = options->getAsObject();
    if (!fields)
      return "the request's \"options\" is no JSON object";
    for (const auto &[key, value] : *fields)
      if (std::string mistake = parseOption(key, value, request.options); !mistake.empty())
        return mistake;
  }
  return "";
}

static bool answer(Compiler &compiler, const target::Toolchain &tools, llvm::StringRef frame,
                   int out) {
  Request request;
  request.options.tools = tools;
  std::string mistake = parseRequest(frame, request);
  Result result;
  if (!mistake.empty()) {
    result.diagnostics.push_back(makeError(mistake));
  } else {
    std::string_view id = "null"; // a client with ids this long can do without one
    if (request.id.size() < sizeof(pending.id))
      id = request.id;
    pending.id[id.copy(pending.id, sizeof(pending.id) - 1)] = '\0';
    pending.active = true;
    CrashScope scope(request.mlir);
    result = compiler.compile(request.mlir, request.options);
    pending.active = false;
  }
  std::string blobs;
  std::string reply = replyJSON(request.id, result, request.emit, blobs);
  return writeReply(out, reply, blobs);
}

int compiler::serve(int in, int out, const target::Toolchain &tools) {
  setpgid(0, 0);
  signal(SIGINT, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  pending.out = out;
  installCrashGuard(lastReply);

  Compiler compiler;
  compiler.warmUp();
  std::string frame;
  while (true) {
    char head[4];
    size_t got = readBytes(in, head, 4);
    if (got == 0)
      return 0;
    uint32_t length = 0;
    for (unsigned i = 0; i < got; ++i)
      length |= static_cast<uint32_t>(static_cast<unsigned char>(head[i])) << (8 * i);
    if (got == 4 && length <= maxFrameBytes) {
      frame.resize(length);
      got = readBytes(in, frame.data(), length);
      if (got == length) {
        if (!answer(compiler, tools, frame, out))
          return 1;
        continue;
      }
    }
    // Where the next frame begins cannot be known any more.
    Result result;
    result.diagnostics.push_back(makeError(length > maxFrameBytes
                                               ? "a frame of " + std::to_string(length) +
                                                     " bytes: expected a little-endian u32 "
                                                     "length of at most " +
                                                     std::to_string(maxFrameBytes) + ", then JSON"
                                               : "the input ended in the middle of a frame"));
    std::string blobs;
    writeReply(out, replyJSON("null", result, {}, blobs), blobs);
    return 1;
  }
}
