//===- LocationTable.h - From location numbers in PTX to lines of the user's source
//------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX carries `.loc <file> <line> <column>`, where the column is the number of a location. The
// table turns the number into a chain of calls, each a function with a line relative to its first
// line: the text of a kernel may move within its file without a new compilation, and the real place
// is filled in before the image is loaded. The table is the only source of call chains, since LLVM
// prints inlined-at as a comment in PTX.
//
// Stored as JSON:
//   {"version": 1,
//    "functions": [{"name": "matmul", "file": "/abs/gemm.py", "line": 12}],
//    "locations": [[[0, 9, 8]], [[1, 2, 4], [0, 10, 8]]]}
// locations[i] has the number i + 1; each is a chain, innermost first, of [function, line, column],
// where line 1 is the function's first line. "file" may be "" and "line" 0: not known yet.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_IMAGE_LOCATIONTABLE_H
#define GIRIH_IMAGE_LOCATIONTABLE_H

#include "girih/Image/Elf.h"

namespace girih::image {

/// A function of the user's source. `file` is empty and `line` 0 where they are not known.
struct Function {
  std::string name;
  std::string file;
  int64_t line = 0; ///< the first line of the function in the file, counted from 1
};

/// A place in a function: `line` counts from 1 at the function's first line, `column` from 0 or 1
/// as the front end that wrote it has it (Python counts columns from 0).
struct Frame {
  uint32_t function = 0; ///< index into LocationTable::functions
  int64_t line = 0;
  int64_t column = 0;
};

/// A frame with its line in the file.
struct ResolvedFrame {
  std::string function;
  std::string file; ///< empty if not known; then `line` is relative to the function
  int64_t line = 0;
  int64_t column = 0;

  /// "gemm.py:20:8", or "matmul+9:8" where the file is not known.
  std::string text() const;
};

struct LocationTable {
  std::vector<Function> functions;
  /// locations[i] is the chain of number i + 1, innermost frame first.
  std::vector<std::vector<Frame>> locations;

  /// Reads the JSON form. Throws Error if it is damaged: not JSON, a version that this library does
  /// not know, a frame that names no function, an empty chain.
  static LocationTable parse(std::string_view json);

  /// The JSON form; parse(print()) gives the same table.
  std::string print() const;

  /// The chain of a location number, innermost frame first; empty if there is no such number (0 is
  /// what instructions without a location have).
  std::vector<ResolvedFrame> resolve(uint32_t number) const;

  /// The chain as one line: "gemm.py:6:4 (in helper), called from gemm.py:21:8 (in matmul)"; empty
  /// if there is no such number.
  std::string text(uint32_t number) const;

  /// Sets file and first line of every function named `name`. A name that is not in the table is no
  /// error: the compiler may have dropped the function.
  void setSource(std::string_view name, std::string_view file, int64_t line);
};

} // namespace girih::image

#endif // GIRIH_IMAGE_LOCATIONTABLE_H
