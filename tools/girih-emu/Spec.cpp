// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Spec.h"
#include "girih/Emulator/TensorMap.h"

#include <nlohmann/json.hpp>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace girih::emu::tool {

using nlohmann::json;

namespace {

std::runtime_error wrong(const std::string &what) { return std::runtime_error("--args: " + what); }

Dim3 dim(const json &spec, const char *key, bool required) {
  if (!spec.contains(key)) {
    if (required)
      throw wrong(std::string("\"") + key + "\" is missing");
    return {};
  }
  std::vector<uint32_t> v = spec.at(key).get<std::vector<uint32_t>>();
  v.resize(3, 1);
  return {v[0], v[1], v[2]};
}

int tensorType(const std::string &name) {
  for (int i = 0; i <= static_cast<int>(TensorDataType::TF32Ftz); ++i)
    if (name == dataTypeName(static_cast<TensorDataType>(i)))
      return i;
  throw wrong("tensor type \"" + name + "\" does not exist");
}

} // namespace

Spec::Spec(const std::string &path) {
  std::ifstream in(path);
  if (!in)
    throw wrong("cannot read " + path);
  json spec;
  try {
    spec = json::parse(in);
    config.grid = dim(spec, "grid", true);
    config.block = dim(spec, "block", true);
    if (spec.contains("cluster"))
      config.cluster = dim(spec, "cluster", false);
    config.dynamicSharedBytes = spec.value("shared", 0u);
    std::filesystem::path folder = std::filesystem::path(path).parent_path();
    const json arrays = spec.value("arrays", json::object());
    for (const auto &[name, value] : arrays.items()) {
      Item &item = items[name];
      if (value.contains("file")) {
        item.array = readNpy((folder / value.at("file").get<std::string>()).string());
      } else {
        item.array.dtype = value.at("dtype").get<std::string>();
        item.array.shape = value.at("shape").get<std::vector<uint64_t>>();
        item.array.data.resize(item.array.count() * item.array.itemBytes());
      }
      if (value.contains("out"))
        item.out = (folder / value.at("out").get<std::string>()).string();
    }
    for (const json &value : spec.value("args", json::array())) {
      if (!value.is_object() || value.size() != 1)
        throw wrong("each argument is an object with one key");
      const std::string key = value.begin().key();
      const json &content = value.begin().value();
      Argument a;
      if (key == "pointer") {
        a.kind = Argument::Kind::Pointer;
        a.array = content.get<std::string>();
      } else if (key == "map") {
        a.kind = Argument::Kind::Map;
        a.array = content.at("array").get<std::string>();
        a.type = tensorType(content.at("type").get<std::string>());
        a.box = content.at("box").get<std::vector<uint32_t>>();
        int swizzle = content.value("swizzle", 0);
        a.swizzle = swizzle == 128 ? 3 : swizzle == 64 ? 2 : swizzle == 32 ? 1 : 0;
        a.fill = content.value("nan_fill", false);
      } else if (key == "i32" || key == "u32" || key == "i64" || key == "u64") {
        a.bits =
            key[0] == 'i' ? static_cast<uint64_t>(content.get<int64_t>()) : content.get<uint64_t>();
        a.bytes = key.substr(1) == "32" ? 4 : 8;
      } else if (key == "f32") {
        a.bits = std::bit_cast<uint32_t>(content.get<float>());
        a.bytes = 4;
      } else if (key == "f64") {
        a.bits = std::bit_cast<uint64_t>(content.get<double>());
        a.bytes = 8;
      } else {
        throw wrong("\"" + key +
                    "\" is no kind of argument (pointer, map, i32, u32, i64, u64, f32, f64)");
      }
      if (a.kind != Argument::Kind::Scalar && !items.count(a.array))
        throw wrong("no array is named \"" + a.array + "\"");
      arguments.push_back(std::move(a));
    }
  } catch (const json::exception &e) {
    throw wrong(path + ": " + e.what());
  }
}

void Spec::encodeMap(const Argument &argument, uint8_t *bytes) const {
  const Item &item = items.at(argument.array);
  uint32_t rank = static_cast<uint32_t>(item.array.shape.size());
  if (argument.box.size() != rank)
    throw wrong("the box of \"" + argument.array + "\" has " + std::to_string(argument.box.size()) +
                " extents, the array " + std::to_string(rank));
  std::vector<uint64_t> dims(item.array.shape.rbegin(), item.array.shape.rend()), strides;
  uint64_t pitch = item.array.itemBytes();
  for (uint32_t i = 0; i + 1 < rank; ++i)
    strides.push_back(pitch *= dims[i]);
  std::vector<uint32_t> ones(rank, 1);
  TiledMapArguments map;
  map.dataType = argument.type;
  map.rank = rank;
  map.globalAddress = item.address;
  map.globalDim = dims.data();
  map.globalStrides = strides.data();
  map.boxDim = argument.box.data();
  map.elementStrides = ones.data();
  map.swizzle = argument.swizzle;
  map.oobFill = argument.fill;
  if (std::string problem = encodeTiled(map, bytes); !problem.empty())
    throw wrong("the map of \"" + argument.array + "\": " + problem);
}

LaunchConfig Spec::prepare(Device &device, const FunctionAttributes &attributes) {
  for (auto &[name, item] : items) {
    if (!item.address)
      item.address = device.allocate(std::max<uint64_t>(1, item.array.data.size()));
    device.copyToDevice(item.address, item.array.data.data(), item.array.data.size());
  }
  if (arguments.size() != attributes.params.size())
    throw wrong(std::to_string(arguments.size()) + " arguments, the kernel takes " +
                std::to_string(attributes.params.size()));
  params.assign(attributes.paramBytes, 0);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument &a = arguments[i];
    const ParamInfo &p = attributes.params[i];
    uint32_t bytes = a.kind == Argument::Kind::Map       ? kTensorMapBytes
                     : a.kind == Argument::Kind::Pointer ? 8
                                                         : a.bytes;
    if (bytes != p.size)
      throw wrong("argument " + std::to_string(i) + " has " + std::to_string(bytes) +
                  " bytes, parameter " + p.name + " has " + std::to_string(p.size));
    uint64_t bits = a.kind == Argument::Kind::Pointer ? items.at(a.array).address : a.bits;
    if (a.kind == Argument::Kind::Map)
      encodeMap(a, params.data() + p.offset);
    else
      std::memcpy(params.data() + p.offset, &bits, bytes);
  }
  config.params = params.data();
  config.paramBytes = params.size();
  return config;
}

void Spec::finish(Device &device) {
  for (auto &[name, item] : items) {
    if (item.out.empty())
      continue;
    Array result = item.array;
    device.copyFromDevice(result.data.data(), item.address, result.data.size());
    writeNpy(item.out, result);
  }
}

} // namespace girih::emu::tool
