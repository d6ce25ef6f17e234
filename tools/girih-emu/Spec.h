// What girih-emu runs a kernel on: the JSON file given with --args.
//
//   {"grid": [4, 1, 1], "block": [384, 1, 1], "cluster": [1, 1, 1], "shared": 131120,
//    "arrays": {"a": {"file": "a.npy"}, "c": {"dtype": "<f4", "shape": [128, 128], "out":
//    "c.npy"}}, "args": [{"pointer": "a"}, {"i32": 7}, {"f32": 0.5},
//             {"map": {"array": "c", "type": "f32", "box": [32, 64], "swizzle": 128}}]}
//
// Files are relative to the JSON file. Arrays without a file start as zeros; `out` names where the
// result goes. A map describes its array from the innermost dimension outwards; NumPy has no bf16,
// so `type` says what a uint16 means.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_TOOLS_EMU_SPEC_H
#define GIRIH_TOOLS_EMU_SPEC_H

#include "Npy.h"
#include "girih/Emulator/Device.h"

#include <map>

namespace girih::emu::tool {

class Spec {
public:
  /// Reads the file and its arrays. Throws std::runtime_error that names the key at fault.
  explicit Spec(const std::string &path);

  /// Copies the arrays to the device (the first time allocating them) and packs the parameters.
  LaunchConfig prepare(Device &device, const FunctionAttributes &attributes);
  /// Copies results back and writes those that have a file.
  void finish(Device &device);

private:
  struct Item {
    Array array;
    std::string out;
    uint64_t address = 0;
  };
  struct Argument {
    enum class Kind { Pointer, Scalar, Map } kind = Kind::Scalar;
    std::string array;
    uint64_t bits = 0;
    uint32_t bytes = 0;
    int type = 0, swizzle = 0, fill = 0;
    std::vector<uint32_t> box;
  };
  void encodeMap(const Argument &argument, uint8_t *bytes) const;

  std::map<std::string, Item> items;
  std::vector<Argument> arguments;
  LaunchConfig config;
  std::vector<uint8_t> params;
};

} // namespace girih::emu::tool

#endif // GIRIH_TOOLS_EMU_SPEC_H
