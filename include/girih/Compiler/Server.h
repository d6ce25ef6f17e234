//===- Server.h - The compiler worker
//--------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process that stays warm and compiles what comes through a pipe, so that the user's process
// never loads LLVM. docs/Compile.md describes the protocol; in short: a frame is a little-endian
// u32 length and that many bytes of JSON, a reply's frame is followed by the bytes of its blobs.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_COMPILER_SERVER_H
#define GIRIH_COMPILER_SERVER_H

#include "girih/Compiler/Compiler.h"

namespace girih::compiler {

/// No request is longer; a length above it means that the two sides have lost each other.
inline constexpr uint32_t maxFrameBytes = 256u << 20;

/// Serves requests from the descriptor `in` until its end, and writes replies to `out`. Leaves the
/// terminal's process group and ignores SIGINT: Ctrl-C is the client's to handle. Returns the exit
/// status: 0 at a clean end of input, 1 if the input is no sequence of frames.
int serve(int in, int out, const target::Toolchain &tools);

/// The reply to a request with that id, as JSON, and the bytes of its blobs in order. `emit` names
/// the blobs that were asked for.
std::string replyJSON(const std::string &id, const Result &result,
                      const std::vector<std::string> &emit, std::string &blobs);

} // namespace girih::compiler

#endif // GIRIH_COMPILER_SERVER_H
