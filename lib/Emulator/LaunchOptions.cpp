// Options of a launch as text: one table for the driver library, girih-emu and Python.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Emulator/Device.h"

#include <charconv>

namespace girih::emu {

namespace {

template <typename Names, typename Value>
std::string choose(const Names &names, std::string_view text, Value &value) {
  std::string expected;
  for (const auto &entry : names) {
    if (std::string_view(entry.name) == text) {
      value = entry.value;
      return {};
    }
    expected += (expected.empty() ? "" : ", ") + std::string(entry.name);
  }
  return "expected one of " + expected;
}

struct NumericsName {
  Numerics value;
  const char *name;
};
constexpr NumericsName numericsNames[] = {{Numerics::Exact, "exact"}, {Numerics::Hopper, "hopper"}};

struct ModelName {
  MemoryModel value;
  const char *name;
};
constexpr ModelName modelNames[] = {{MemoryModel::Practice, "practice"},
                                    {MemoryModel::Strict, "strict"}};

} // namespace

const std::vector<AdversaryName> &adversaryNames() {
  static const std::vector<AdversaryName> names = {
      {Adversary::None, "none", "seeded random"},
      {Adversary::AsyncLate, "async-late", "asynchronous operations as late as allowed"},
      {Adversary::AsyncEarly, "async-early", "asynchronous operations as early as allowed"},
      {Adversary::StarveOne, "starve-one", "one warp runs only when nothing else can"},
      {Adversary::ProducersFirst, "producers-first", "low-numbered warps first"},
      {Adversary::ConsumersFirst, "consumers-first", "high-numbered warps first"},
      {Adversary::TxPieces, "tx-pieces",
       "copies complete their bytes in as many pieces as possible"},
      {Adversary::CtasReversed, "ctas-reversed", "the last CTA starts, runs and commits first"},
      {Adversary::LanesSingly, "lanes-singly", "lanes that part at a branch run one at a time"},
  };
  return names;
}

std::string setLaunchOption(LaunchOptions &options, std::string_view name, std::string_view value) {
  if (name == "seed") {
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), options.seed);
    return error == std::errc() && end == value.data() + value.size()
               ? ""
               : "expected a number from 0 to 2^64 - 1";
  }
  if (name == "adversary") {
    return choose(adversaryNames(), value, options.adversary);
  }
  if (name == "numerics")
    return choose(numericsNames, value, options.numerics);
  if (name == "model")
    return choose(modelNames, value, options.model);
  if (name == "trace") {
    options.trace = value;
    return {};
  }
  if (name == "ctas") {
    try {
      options.ctas = value.empty() ? std::vector<CtaRange>() : parseCtas(value);
    } catch (const DeviceError &) {
      return "expected CTAs such as 0:8,last (numbers, ranges without their end, last)";
    }
    return {};
  }
  if (name == "checks" || name == "contract") {
    if (value != "0" && value != "1")
      return "expected 0 or 1";
    (name == "checks" ? options.checks : options.contract) = value == "1";
    return {};
  }
  return "expected one of the options seed, adversary, numerics, model, checks, contract, ctas, "
         "trace";
}

} // namespace girih::emu
