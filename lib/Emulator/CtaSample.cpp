// Reads which CTAs of a grid to run.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Emulator/Device.h"

#include <charconv>

namespace girih::emu {

std::vector<CtaRange> parseCtas(std::string_view text) {
  auto wrong = [&](std::string_view part) {
    return DeviceError(
        ErrorCode::InvalidValue,
        "'" + std::string(part) +
            "' names no CTAs; expected a number, a range such as 0:8 (the end is not "
            "part of it), or last, separated by commas");
  };
  auto number = [&](std::string_view part, std::string_view whole) {
    uint64_t value = 0;
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value == CtaRange::last)
      throw wrong(whole);
    return value;
  };
  std::vector<CtaRange> ranges;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, comma - at);
    at = comma + 1;
    if (part == "last") {
      ranges.push_back({CtaRange::last, CtaRange::last});
      continue;
    }
    const size_t colon = part.find(':');
    CtaRange range;
    if (colon == std::string_view::npos) {
      range.first = number(part, part);
      range.end = range.first + 1;
    } else {
      const std::string_view end = part.substr(colon + 1);
      range.first = number(part.substr(0, colon), part);
      range.end = end.empty() || end == "last" ? CtaRange::last : number(end, part);
      if (range.end <= range.first)
        throw wrong(part);
    }
    ranges.push_back(range);
  }
  return ranges;
}

} // namespace girih::emu
