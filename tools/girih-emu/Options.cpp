// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Options.h"

#include <charconv>
#include <cstdlib>
#include <functional>
#include <stdexcept>

namespace girih::emu::tool {

namespace {

struct Option {
  const char *name;
  /// What stands for its value in the help; nullptr: it takes none.
  const char *value;
  const char *help;
  /// Whether a replay repeats it.
  bool repeat;
  std::function<void(Options &, const std::string &)> set;
};

uint64_t number(const char *option, const std::string &text, uint64_t low, uint64_t high) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high)
    throw std::runtime_error(std::string(option) + " is '" + text + "': expected a number from " +
                             std::to_string(low) + " to " + std::to_string(high));
  return value;
}

void setLaunch(Options &options, const char *name, const std::string &value) {
  if (std::string problem = setLaunchOption(options.launch, name, value); !problem.empty())
    throw std::runtime_error(std::string("--") + name + " is '" + value + "': " + problem);
}

const std::vector<Option> &table() {
  static const std::vector<Option> options = {
      {"--entry", "NAME", "the kernel to run; may be left out when the file has one", false,
       [](Options &o, const std::string &v) { o.entry = v; }},
      {"--args", "FILE", "JSON with grid, block, arrays and arguments (below)", false,
       [](Options &o, const std::string &v) { o.args = v; }},
      {"--seed", "S", "the interleaving to run, 0 by default; a seed is a run, always the same",
       false, [](Options &o, const std::string &v) { setLaunch(o, "seed", v); }},
      {"--seeds", "N", "search: N seeds from S on, until one finds something", false,
       [](Options &o, const std::string &v) {
         o.seeds = number("--seeds", v, 1, uint64_t(1) << 32);
       }},
      {"--adversary", "NAME", "who runs first (below); 'all' runs every seed under each", false,
       [](Options &o, const std::string &v) {
         o.adversaries.clear();
         if (v == "all") {
           for (const AdversaryName &entry : adversaryNames())
             o.adversaries.push_back(entry.value);
           return;
         }
         setLaunch(o, "adversary", v);
         o.adversaries.push_back(o.launch.adversary);
       }},
      {"--numerics", "NAME", "tensor cores: hopper or exact; default: GIRIH_NUMERICS", true,
       [](Options &o, const std::string &v) { setLaunch(o, "numerics", v); }},
      {"--model", "NAME", "memory model: practice or strict; default: GIRIH_MODEL", true,
       [](Options &o, const std::string &v) { setLaunch(o, "model", v); }},
      {"--contract", "0|1", "fuse products and sums as ptxas may; default: GIRIH_CONTRACT or 0",
       true, [](Options &o, const std::string &v) { setLaunch(o, "contract", v); }},
      {"--contractions", nullptr, "list the products and sums that ptxas may fuse, and stop", false,
       [](Options &o, const std::string &) { o.contractions = true; }},
      {"--no-checks", nullptr, "faster, and finds only what stops the program", true,
       [](Options &o, const std::string &) { o.launch.checks = false; }},
      {"--counters", nullptr, "print bank conflicts and uncoalesced accesses of the last run",
       false, [](Options &o, const std::string &) { o.launch.counters = true; }},
      {"--threads", "T", "host threads, 1 by default; they change no result", false,
       [](Options &o, const std::string &v) {
         o.launch.threads = static_cast<unsigned>(number("--threads", v, 1, 1024));
       }},
      {"--sms", "N", "multiprocessors of the device, 132 by default", true,
       [](Options &o, const std::string &v) {
         o.device.multiprocessors =
             static_cast<uint32_t>(number("--sms", v, 1, DeviceOptions().multiprocessors));
       }},
      {"--ctas", "LIST", "a sample of the grid: CTAs and ranges such as 0:8,last", true,
       [](Options &o, const std::string &v) { setLaunch(o, "ctas", v); }},
      {"--trace", "FILE", "writes the run for Perfetto (with --seeds: a file for each run)", false,
       [](Options &o, const std::string &v) { setLaunch(o, "trace", v); }},
      {"--json", nullptr, "findings as JSON, one object a line", false,
       [](Options &o, const std::string &) { o.json = true; }},
      {"--check", nullptr, "only load the file, and list every statement that is not modelled",
       false, [](Options &o, const std::string &) { o.check = true; }},
      {"--time-load", nullptr, "only load the file, and print how long that takes as JSON", false,
       [](Options &o, const std::string &) { o.timeLoad = true; }},
      {"--help", nullptr, "this text", false,
       [](Options &o, const std::string &) { o.help = true; }},
  };
  return options;
}

/// Text for a POSIX shell.
std::string quoted(const std::string &text) {
  if (!text.empty() &&
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                             "_-./=:,+@%") == std::string::npos)
    return text;
  std::string result = "'";
  for (char ch : text)
    result += ch == '\'' ? std::string("'\\''") : std::string(1, ch);
  return result + "'";
}

std::string row(const std::string &left, const std::string &right) {
  constexpr size_t width = 20;
  return "  " + left + std::string(left.size() < width ? width - left.size() : 1, ' ') + right +
         "\n";
}

} // namespace

Options parseOptions(const std::vector<std::string> &arguments) {
  Options options;
  for (auto [variable, option] :
       {std::pair("GIRIH_NUMERICS", "numerics"), std::pair("GIRIH_MODEL", "model"),
        std::pair("GIRIH_CONTRACT", "contract")})
    if (const char *value = std::getenv(variable); value && *value)
      if (std::string problem = setLaunchOption(options.launch, option, value); !problem.empty())
        throw std::runtime_error(std::string(variable) + " is '" + value + "': " + problem);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &name = arguments[i];
    if (name.empty() || name[0] != '-') {
      if (!options.ptx.empty())
        throw std::runtime_error("two PTX files, '" + options.ptx + "' and '" + name + "'");
      options.ptx = name;
      continue;
    }
    const Option *option = nullptr;
    for (const Option &known : table())
      if (name == known.name)
        option = &known;
    if (!option)
      throw std::runtime_error("there is no option '" + name + "'; --help lists them");
    if (option->value && i + 1 == arguments.size())
      throw std::runtime_error(name + " needs " + option->value);
    const std::string value = option->value ? arguments[++i] : "";
    option->set(options, value);
    if (option->repeat) {
      options.repeated.push_back(name);
      if (option->value)
        options.repeated.push_back(value);
    }
  }
  if (options.help)
    return options;
  if (options.ptx.empty() ||
      (options.args.empty() && !options.check && !options.timeLoad && !options.contractions))
    throw std::runtime_error(
        std::string(options.ptx.empty() ? "which PTX file?" : "--args is missing.") +
        " Usage: girih-emu FILE.ptx --entry NAME --args spec.json; --help lists "
        "the options");
  if (options.adversaries.empty())
    options.adversaries.push_back(options.launch.adversary);
  if (options.launch.seed + (options.seeds - 1) < options.launch.seed)
    throw std::runtime_error("--seed and --seeds together pass 2^64 - 1");
  return options;
}

std::string helpText() {
  std::string text =
      "girih-emu FILE.ptx --entry NAME --args spec.json [option ...]\n\n"
      "Runs a kernel of a PTX file on the emulated Hopper device, on NumPy arrays, and prints what "
      "is "
      "wrong with it.\n"
      "Exit status: 0 nothing found, 1 a finding, 2 a mistake in the call, the PTX or the spec.\n\n"
      "Options:\n";
  for (const Option &option : table())
    text += row(option.value ? std::string(option.name) + " " + option.value : option.name,
                option.help);
  text += "\nAdversaries:\n";
  for (const AdversaryName &entry : adversaryNames())
    text += row(entry.name, entry.summary);
  text +=
      "\nThe spec, with files relative to it:\n"
      "  {\"grid\": [4, 1, 1], \"block\": [128], \"cluster\": [2], \"shared\": 49152,\n"
      "   \"arrays\": {\"a\": {\"file\": \"a.npy\"},\n"
      "              \"c\": {\"dtype\": \"<f4\", \"shape\": [64, 64], \"out\": \"c.npy\"},\n"
      "              \"t\": {\"file\": \"t.npy\", \"variable\": \"table\"}},\n"
      "   \"args\": [{\"pointer\": \"a\"}, {\"pointer\": null}, {\"i32\": 7}, {\"f32\": 0.5}, "
      "{\"bytes\": \"00ff\"},\n"
      "            {\"map\": {\"array\": \"c\", \"type\": \"f32\", \"box\": [32, 64], \"swizzle\": "
      "128}}]}\n"
      "  arrays     file: a .npy file; without one, zeros of dtype and shape (\"undefined\": true "
      "leaves "
      "the\n"
      "             memory as it is). out: where the result goes. variable: the array is a .global "
      "or "
      ".const\n"
      "             variable of the module.\n"
      "  args       one object a parameter: pointer, i8 to i64, u8 to u64, f32, f64, bytes (in "
      "hexadecimal), or map, a\n"
      "             tensor map of a whole array: type (u8 ... bf16, tf32), box outermost first and "
      "swizzle (0, 32,\n"
      "             64, 128); also \"nan_fill\": true and \"element_strides\".\n";
  return text;
}

std::string replayCommand(const Options &options, const std::string &entry, uint64_t seed,
                          Adversary adversary) {
  std::string text = "girih-emu " + quoted(options.ptx) + " --entry " + quoted(entry) + " --args " +
                     quoted(options.args) + " --seed " + std::to_string(seed);
  for (const AdversaryName &entry : adversaryNames())
    if (entry.value == adversary && adversary != Adversary::None)
      text += std::string(" --adversary ") + entry.name;
  for (const std::string &word : options.repeated)
    text += " " + quoted(word);
  return text;
}

} // namespace girih::emu::tool
