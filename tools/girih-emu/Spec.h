// What girih-emu runs a kernel on: the JSON file given with --args. `girih-emu --help` describes it
// (Options.cpp).
//
// Extents and boxes are given as NumPy does, outermost first. NumPy has no bf16, so a map's `type`
// says what a uint16 means.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_TOOLS_EMU_SPEC_H
#define GIRIH_TOOLS_EMU_SPEC_H

#include "Npy.h"
#include "girih/Emulator/Device.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <map>

namespace girih::emu::tool {

class Spec {
public:
  /// Reads the file and its arrays. Throws std::runtime_error that names the key at fault.
  explicit Spec(const std::string &path);

  /// Copies the arrays to the device (the first time allocating them) and packs the parameters.
  LaunchConfig prepare(Device &device, const Module &module, const FunctionAttributes &attributes);
  /// Copies results back and writes those that have a file.
  void finish(Device &device);

private:
  struct Item {
    Array array;
    std::string out, variable;
    bool undefined = false;
    uint64_t address = 0;
  };
  struct Argument {
    enum class Kind { Pointer, Scalar, Map } kind = Kind::Scalar;
    std::string array;          // empty: a null pointer
    std::vector<uint8_t> bytes; // of a scalar
    int type = 0, swizzle = 0, fill = 0;
    std::vector<uint32_t> box, elementStrides; // outermost first
  };
  void readArray(const std::string &name, const nlohmann::json &value);
  void readArgument(const std::string &kind, const nlohmann::json &content);
  void encodeMap(const Argument &argument, uint8_t *bytes) const;
  void place(Device &device, const Module &module);

  std::filesystem::path folder;
  std::map<std::string, Item> items;
  std::vector<Argument> arguments;
  LaunchConfig config;
  std::vector<uint8_t> params;
};

} // namespace girih::emu::tool

#endif // GIRIH_TOOLS_EMU_SPEC_H
