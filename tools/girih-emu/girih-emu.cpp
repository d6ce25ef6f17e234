// girih-emu: runs a kernel of a PTX file on the emulated device and prints what it finds.
//
//   girih-emu kernel.ptx --entry NAME --args spec.json [--seed S | --seeds N] [--threads T]
//             [--no-checks] [--json] [--adversary
//             none|async-late|async-early|starve-one|producers-first|consumers-first]
//
// Exit status: 0 silent, 1 findings, 2 a mistake in the call, the PTX or the spec.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Spec.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

using namespace girih::emu;

namespace {

struct Options {
  std::string ptx, entry, args, adversaryName;
  uint64_t seed = 0, seeds = 1;
  LaunchOptions launch;
  bool json = false;
};

uint64_t number(const std::string &option, const std::string &text) {
  char *end = nullptr;
  uint64_t value = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || *end)
    throw std::runtime_error(option + " needs a number, not '" + text + "'");
  return value;
}

Adversary adversary(const std::string &name) {
  const char *names[] = {"none",       "async-late",      "async-early",
                         "starve-one", "producers-first", "consumers-first"};
  for (int i = 0; i < 6; ++i)
    if (name == names[i])
      return static_cast<Adversary>(i);
  throw std::runtime_error(
      "no adversary is named '" + name +
      "' (none, async-late, async-early, starve-one, producers-first, consumers-first)");
}

Options parse(int argc, char **argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    std::string a = argv[i];
    auto value = [&] {
      if (++i == argc)
        throw std::runtime_error(a + " needs a value");
      return std::string(argv[i]);
    };
    if (a == "--entry")
      o.entry = value();
    else if (a == "--args")
      o.args = value();
    else if (a == "--seed")
      o.seed = number(a, value());
    else if (a == "--seeds")
      o.seeds = number(a, value());
    else if (a == "--threads")
      o.launch.threads = static_cast<unsigned>(number(a, value()));
    else if (a == "--adversary")
      o.launch.adversary = adversary(o.adversaryName = value());
    else if (a == "--no-checks")
      o.launch.checks = false;
    else if (a == "--json")
      o.json = true;
    else if (a[0] == '-' || !o.ptx.empty())
      throw std::runtime_error("unknown argument '" + a + "'");
    else
      o.ptx = a;
  }
  if (o.ptx.empty() || o.args.empty())
    throw std::runtime_error(
        "usage: girih-emu kernel.ptx --entry NAME --args spec.json [--seed S] [--seeds N] "
        "[--threads T] [--no-checks] [--json] [--adversary NAME]");
  return o;
}

int run(const Options &o) {
  std::ifstream in(o.ptx);
  std::stringstream text;
  text << in.rdbuf();
  if (!in)
    throw std::runtime_error("cannot read " + o.ptx);
  Device device;
  auto module = device.loadModule(text.str(), {o.ptx, {}});
  std::string entry = o.entry;
  if (entry.empty()) {
    if (module->kernels().size() != 1)
      throw std::runtime_error(o.ptx + " has " + std::to_string(module->kernels().size()) +
                               " kernels; name one with --entry");
    entry = module->kernels()[0];
  }
  const Function &kernel = module->kernel(entry);
  tool::Spec spec(o.args);
  for (uint64_t seed = o.seed; seed < o.seed + o.seeds; ++seed) {
    LaunchConfig config = spec.prepare(device, kernel.attributes());
    config.options = o.launch;
    config.options.seed = seed;
    auto start = std::chrono::steady_clock::now();
    LaunchResult result = device.launch(kernel, config);
    double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (!result.clean()) {
      if (o.json)
        for (const Finding &f : result.findings)
          std::printf("%s\n", f.json().c_str());
      else
        std::printf("%s\n\n", result.render().c_str());
      std::printf("replay: girih-emu %s --entry %s --args %s --seed %llu%s%s\n", o.ptx.c_str(),
                  entry.c_str(), o.args.c_str(), static_cast<unsigned long long>(seed),
                  o.adversaryName.empty() ? "" : " --adversary ", o.adversaryName.c_str());
      return 1;
    }
    if (seed + 1 == o.seed + o.seeds) {
      std::fprintf(stderr,
                   "%llu seed(s), nothing found; the last ran %.1f ms, %llu warp instructions, "
                   "trace %016llx\n",
                   static_cast<unsigned long long>(o.seeds), ms,
                   static_cast<unsigned long long>(result.stats.warpInstructions),
                   static_cast<unsigned long long>(result.traceHash));
      spec.finish(device);
    }
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception &e) {
    std::fprintf(stderr, "girih-emu: %s\n", e.what());
    return 2;
  }
}
