// Parsing of options.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.h"

#include <charconv>
#include <cstdlib>
#include <thread>

namespace girih::cuda {
namespace {

bool parseNumber(std::string_view text, uint64_t low, uint64_t high, uint64_t &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= low && value <= high;
}

constexpr uint32_t kMaxThreads = 1024;

} // namespace

std::string Options::set(std::string_view name, std::string_view value) {
  uint64_t number = 0;
  if (name == "threads") {
    if (!parseNumber(value, 0, kMaxThreads, number))
      return "expected a number of host threads from 1 to 1024, or 0 for all";
    threads = static_cast<unsigned>(number);
    return {};
  }
  if (name == "sms") {
    if (!parseNumber(value, 1, emu::DeviceOptions().multiprocessors, number))
      return "expected a number of multiprocessors from 1 to " +
             std::to_string(emu::DeviceOptions().multiprocessors);
    multiprocessors = static_cast<uint32_t>(number);
    return {};
  }
  std::string problem = emu::setLaunchOption(launch, name, value);
  if (constexpr std::string_view unknown = "expected one of the options ";
      problem.starts_with(unknown))
    problem.insert(unknown.size(), "threads, sms, ");
  return problem;
}

std::string Options::readEnvironment() {
  constexpr struct {
    const char *variable;
    const char *option;
  } variables[] = {{"GIRIH_SEED", "seed"},         {"GIRIH_THREADS", "threads"},
                   {"GIRIH_CHECKS", "checks"},     {"GIRIH_SMS", "sms"},
                   {"GIRIH_NUMERICS", "numerics"}, {"GIRIH_ADVERSARY", "adversary"},
                   {"GIRIH_MODEL", "model"},       {"GIRIH_CONTRACT", "contract"},
                   {"GIRIH_CTAS", "ctas"},         {"GIRIH_TRACE", "trace"}};
  for (const auto &entry : variables) {
    const char *value = std::getenv(entry.variable);
    if (!value || !*value)
      continue;
    if (std::string error = set(entry.option, value); !error.empty())
      return std::string(entry.variable) + " is \"" + value + "\": " + error;
  }
  return {};
}

emu::LaunchOptions Options::forLaunch() const {
  emu::LaunchOptions options = launch;
  unsigned hardware = std::thread::hardware_concurrency();
  options.threads = threads ? threads : hardware ? hardware : 1;
  return options;
}

} // namespace girih::cuda
