//===- LocationTable.cpp - From location numbers in PTX to lines of the user's source
//----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON is read here and nowhere in the header, so that users of the library need no JSON headers.
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Image/LocationTable.h"

#include <nlohmann/json.hpp>

namespace girih::image {

using nlohmann::json;

std::string ResolvedFrame::text() const {
  std::string place = std::to_string(line) + ":" + std::to_string(column);
  return file.empty() ? function + "+" + place : file + ":" + place;
}

LocationTable LocationTable::parse(std::string_view text) {
  LocationTable table;
  try {
    json root = json::parse(text);
    if (int64_t version = root.at("version").get<int64_t>(); version != 1)
      throw Error("the location table has version " + std::to_string(version) +
                  ", this library reads version 1");
    for (const json &function : root.at("functions"))
      table.functions.push_back({function.at("name").get<std::string>(),
                                 function.at("file").get<std::string>(),
                                 function.at("line").get<int64_t>()});
    for (const json &chain : root.at("locations")) {
      std::vector<Frame> frames;
      for (const json &frame : chain) {
        frames.push_back(
            {frame.at(0).get<uint32_t>(), frame.at(1).get<int64_t>(), frame.at(2).get<int64_t>()});
        if (frames.back().function >= table.functions.size())
          throw Error("the location table is damaged: location " +
                      std::to_string(table.locations.size() + 1) + " names function " +
                      std::to_string(frames.back().function) + " of " +
                      std::to_string(table.functions.size()));
      }
      if (frames.empty())
        throw Error("the location table is damaged: location " +
                    std::to_string(table.locations.size() + 1) + " has no frames");
      table.locations.push_back(std::move(frames));
    }
  } catch (const json::exception &error) {
    throw Error(std::string("the location table is damaged: ") + error.what());
  }
  return table;
}

std::string LocationTable::print() const {
  json root = {{"version", 1}, {"functions", json::array()}, {"locations", json::array()}};
  for (const Function &function : functions)
    root["functions"].push_back(
        {{"name", function.name}, {"file", function.file}, {"line", function.line}});
  for (const std::vector<Frame> &chain : locations) {
    json frames = json::array();
    for (const Frame &frame : chain)
      frames.push_back(json::array({frame.function, frame.line, frame.column}));
    root["locations"].push_back(std::move(frames));
  }
  // File names are bytes on Linux: one that is not UTF-8 must not make a kernel unusable.
  return root.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<ResolvedFrame> LocationTable::resolve(uint32_t number) const {
  std::vector<ResolvedFrame> chain;
  if (number == 0 || number > locations.size())
    return chain;
  for (const Frame &frame : locations[number - 1]) {
    const Function &function = functions[frame.function];
    bool known = !function.file.empty();
    chain.push_back({function.name, function.file,
                     known ? function.line + frame.line - 1 : frame.line, frame.column});
  }
  return chain;
}

std::string LocationTable::text(uint32_t number) const {
  std::vector<ResolvedFrame> chain = resolve(number);
  std::string text;
  for (const ResolvedFrame &frame : chain) {
    if (!text.empty())
      text += ", called from ";
    text += frame.text();
    // With one frame the reader knows the function from the kernel's name.
    if (chain.size() > 1 && !frame.file.empty())
      text += " (in " + frame.function + ")";
  }
  return text;
}

void LocationTable::setSource(std::string_view name, std::string_view file, int64_t line) {
  for (Function &function : functions) {
    if (function.name != name)
      continue;
    function.file = file;
    function.line = line;
  }
}

} // namespace girih::image
