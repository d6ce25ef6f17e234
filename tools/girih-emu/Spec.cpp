// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Spec.h"
#include "girih/Emulator/TensorMap.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <initializer_list>

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

/// Bytes of a number as the kernel takes it, and whether it fits.
std::vector<uint8_t> scalarBytes(const std::string &kind, const json &content) {
  auto bytesOf = [](const auto &value) {
    std::vector<uint8_t> bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    return bytes;
  };
  if (kind == "f32")
    return bytesOf(content.get<float>());
  if (kind == "f64")
    return bytesOf(content.get<double>());
  const unsigned bits = static_cast<unsigned>(std::stoul(kind.substr(1)));
  const std::string problem = "{\"" + kind + "\": " + content.dump() + "} does not fit";
  if (!content.is_number_integer())
    throw wrong("{\"" + kind + "\": " + content.dump() + "} is no integer");
  uint64_t value = 0;
  if (kind[0] == 'u') {
    if (!content.is_number_unsigned())
      throw wrong(problem);
    value = content.get<uint64_t>();
    if (bits < 64 && value >> bits)
      throw wrong(problem);
  } else {
    if (content.is_number_unsigned() && content.get<uint64_t>() > INT64_MAX)
      throw wrong(problem);
    const int64_t number = content.get<int64_t>();
    if (bits < 64 && (number < -(int64_t(1) << (bits - 1)) || number >= int64_t(1) << (bits - 1)))
      throw wrong(problem);
    value = static_cast<uint64_t>(number);
  }
  std::vector<uint8_t> bytes = bytesOf(value);
  bytes.resize(bits / 8);
  return bytes;
}

std::vector<uint8_t> fromHex(const std::string &text) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    uint8_t byte = 0;
    const char *end = text.data() + std::min(i + 2, text.size());
    auto [at, error] = std::from_chars(text.data() + i, end, byte, 16);
    if (error != std::errc() || at != text.data() + i + 2)
      throw wrong("\"bytes\" needs pairs of hexadecimal digits, not \"" + text + "\"");
    bytes.push_back(byte);
  }
  return bytes;
}

/// Refuses keys that nothing reads: a misspelt one would be ignored silently.
void expectKeys(const json &object, const std::string &where,
                std::initializer_list<const char *> known) {
  for (const auto &[key, value] : object.items()) {
    std::string list;
    bool found = false;
    for (const char *name : known) {
      found |= key == name;
      list += (list.empty() ? "" : ", ") + std::string(name);
    }
    if (!found)
      throw wrong("\"" + key + "\" is no key of " + where + " (" + list + ")");
  }
}

} // namespace

Spec::Spec(const std::string &path) : folder(std::filesystem::path(path).parent_path()) {
  std::ifstream in(path);
  if (!in)
    throw wrong("cannot read " + path);
  try {
    const json spec = json::parse(in);
    expectKeys(spec, "the spec", {"grid", "block", "cluster", "shared", "arrays", "args"});
    config.grid = dim(spec, "grid", true);
    config.block = dim(spec, "block", true);
    if (spec.contains("cluster"))
      config.cluster = dim(spec, "cluster", false);
    config.dynamicSharedBytes = spec.value("shared", 0u);
    const json arrays = spec.value("arrays", json::object());
    for (const auto &[name, value] : arrays.items())
      readArray(name, value);
    for (const json &value : spec.value("args", json::array())) {
      if (!value.is_object() || value.size() != 1)
        throw wrong("each argument is an object with one key");
      readArgument(value.begin().key(), value.begin().value());
    }
  } catch (const json::exception &e) {
    throw wrong(path + ": " + e.what());
  }
}

void Spec::readArray(const std::string &name, const json &value) {
  expectKeys(value, "array \"" + name + "\"",
             {"file", "dtype", "shape", "out", "variable", "undefined"});
  Item &item = items[name];
  if (value.contains("file")) {
    item.array = readNpy((folder / value.at("file").get<std::string>()).string());
  } else {
    item.array.dtype = value.at("dtype").get<std::string>();
    item.array.shape = value.at("shape").get<std::vector<uint64_t>>();
    if (item.array.dtype.size() < 3 || item.array.itemBytes() == 0)
      throw wrong("dtype \"" + item.array.dtype + "\" of \"" + name +
                  "\" is none; NumPy writes them as \"<f4\"");
    item.array.data.resize(item.array.count() * item.array.itemBytes());
  }
  if (value.contains("out"))
    item.out = (folder / value.at("out").get<std::string>()).string();
  item.variable = value.value("variable", "");
  item.undefined = value.value("undefined", false);
}

void Spec::readArgument(const std::string &kind, const json &content) {
  Argument a;
  if (kind == "pointer") {
    a.kind = Argument::Kind::Pointer;
    if (!content.is_null())
      a.array = content.get<std::string>();
  } else if (kind == "map") {
    expectKeys(content, "a map",
               {"array", "type", "box", "swizzle", "nan_fill", "element_strides"});
    a.kind = Argument::Kind::Map;
    a.array = content.at("array").get<std::string>();
    a.type = tensorType(content.at("type").get<std::string>());
    a.box = content.at("box").get<std::vector<uint32_t>>();
    a.elementStrides = content.value("element_strides", std::vector<uint32_t>(a.box.size(), 1));
    const int swizzle = content.value("swizzle", 0);
    constexpr int widths[] = {0, 32, 64, 128};
    a.swizzle = static_cast<int>(std::find(widths, widths + 4, swizzle) - widths);
    if (a.swizzle == 4)
      throw wrong("swizzle " + std::to_string(swizzle) + " does not exist (0, 32, 64, 128)");
    a.fill = content.value("nan_fill", false);
  } else if (kind == "bytes") {
    a.bytes = fromHex(content.get<std::string>());
  } else {
    constexpr const char *scalars[] = {"i8",  "i16", "i32", "i64", "u8",
                                       "u16", "u32", "u64", "f32", "f64"};
    if (std::find(std::begin(scalars), std::end(scalars), kind) == std::end(scalars))
      throw wrong(
          "\"" + kind +
          "\" is no kind of argument (pointer, map, bytes, i8 to i64, u8 to u64, f32, f64)");
    a.bytes = scalarBytes(kind, content);
  }
  if (!a.array.empty() && !items.count(a.array))
    throw wrong("no array is named \"" + a.array + "\"");
  arguments.push_back(std::move(a));
}

void Spec::encodeMap(const Argument &argument, uint8_t *bytes) const {
  const Item &item = items.at(argument.array);
  uint32_t rank = static_cast<uint32_t>(item.array.shape.size());
  if (argument.box.size() != rank || argument.elementStrides.size() != rank)
    throw wrong("the box of \"" + argument.array + "\" has " + std::to_string(argument.box.size()) +
                " extents and " + std::to_string(argument.elementStrides.size()) +
                " element strides, the array " + std::to_string(rank) + " dimensions");
  // A map counts dimensions from the innermost.
  std::vector<uint64_t> dims(item.array.shape.rbegin(), item.array.shape.rend()), strides;
  std::vector<uint32_t> box(argument.box.rbegin(), argument.box.rend()),
      steps(argument.elementStrides.rbegin(), argument.elementStrides.rend());
  uint64_t pitch = item.array.itemBytes();
  for (uint32_t i = 0; i + 1 < rank; ++i)
    strides.push_back(pitch *= dims[i]);
  TiledMapArguments map;
  map.dataType = argument.type;
  map.rank = rank;
  map.globalAddress = item.address;
  map.globalDim = dims.data();
  map.globalStrides = strides.data();
  map.boxDim = box.data();
  map.elementStrides = steps.data();
  map.swizzle = argument.swizzle;
  map.oobFill = argument.fill;
  if (std::string problem = encodeTiled(map, bytes); !problem.empty())
    throw wrong("the map of \"" + argument.array + "\": " + problem);
}

void Spec::place(Device &device, const Module &module) {
  for (auto &[name, item] : items) {
    if (!item.address && item.variable.empty())
      item.address = device.allocate(std::max<uint64_t>(1, item.array.data.size()));
    if (!item.address) {
      std::optional<AllocationInfo> found = module.variable(item.variable);
      if (!found)
        throw wrong("the module has no variable \"" + item.variable + "\"");
      if (found->bytes != item.array.data.size())
        throw wrong("variable \"" + item.variable + "\" has " + std::to_string(found->bytes) +
                    " bytes, array \"" + name + "\" " + std::to_string(item.array.data.size()));
      item.address = found->address;
    }
    if (!item.undefined)
      device.copyToDevice(item.address, item.array.data.data(), item.array.data.size());
  }
}

LaunchConfig Spec::prepare(Device &device, const Module &module,
                           const FunctionAttributes &attributes) {
  place(device, module);
  if (arguments.size() != attributes.params.size())
    throw wrong(std::to_string(arguments.size()) + " arguments, the kernel takes " +
                std::to_string(attributes.params.size()));
  params.assign(attributes.paramBytes, 0);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument &a = arguments[i];
    const ParamInfo &p = attributes.params[i];
    std::vector<uint8_t> bytes = a.bytes;
    if (a.kind == Argument::Kind::Map) {
      bytes.resize(kTensorMapBytes);
      encodeMap(a, bytes.data());
    } else if (a.kind == Argument::Kind::Pointer) {
      const uint64_t address = a.array.empty() ? 0 : items.at(a.array).address;
      bytes.resize(sizeof(address));
      std::memcpy(bytes.data(), &address, sizeof(address));
    }
    if (bytes.size() != p.size)
      throw wrong("argument " + std::to_string(i) + " has " + std::to_string(bytes.size()) +
                  " bytes, parameter " + p.name + " has " + std::to_string(p.size));
    std::memcpy(params.data() + p.offset, bytes.data(), bytes.size());
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
