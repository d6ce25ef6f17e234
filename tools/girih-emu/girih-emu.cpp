// girih-emu: runs a kernel of a PTX file on the emulated device and prints what it finds.
// Options.cpp has the options, Spec.h what the kernel runs on.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Options.h"
#include "Spec.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

using namespace girih::emu;

namespace {

std::string readText(const std::string &path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  if (!in)
    throw std::runtime_error("cannot read " + path);
  return text.str();
}

void print(const tool::Options &options, const LaunchResult &result) {
  if (!options.json) {
    std::printf("%s\n\n", result.render().c_str());
    return;
  }
  for (const Finding &finding : result.findings)
    std::printf("%s\n", finding.json().c_str());
}

/// Loads the file a few times and says how long the fastest took: for benchmarks.
int timeLoad(const tool::Options &options) {
  const std::string text = readText(options.ptx);
  double best = 0;
  for (int i = 0; i < 7; ++i) {
    Device device(options.device);
    auto start = std::chrono::steady_clock::now();
    auto module = device.loadModule(text, {options.ptx, {}});
    double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    best = i == 0 || ms < best ? ms : best;
  }
  std::printf("{\"bytes\":%zu,\"load_ms\":%.3f}\n", text.size(), best);
  return 0;
}

int run(const tool::Options &options) {
  if (options.timeLoad)
    return timeLoad(options);
  Device device(options.device);
  auto module = device.loadModule(readText(options.ptx),
                                  {options.ptx, {}, options.check ? size_t(0) : size_t(20)});
  if (options.check)
    return 0;
  std::string entry = options.entry;
  if (entry.empty()) {
    if (module->kernels().size() != 1)
      throw std::runtime_error(options.ptx + " has " + std::to_string(module->kernels().size()) +
                               " kernels; name one with --entry");
    entry = module->kernels()[0];
  }
  const Function &kernel = module->kernel(entry);
  if (options.contractions) {
    for (const Contraction &pair : kernel.contractions())
      std::printf("%s:%u: %s\n%s:%u: %s\n\n", options.ptx.c_str(), pair.mulLine, pair.mul.c_str(),
                  options.ptx.c_str(), pair.addLine, pair.add.c_str());
    return 0;
  }
  tool::Spec spec(options.args);
  double ms = 0;
  LaunchResult result;
  for (uint64_t i = 0; i < options.seeds; ++i) {
    for (Adversary adversary : options.adversaries) {
      const uint64_t seed = options.launch.seed + i;
      LaunchConfig config = spec.prepare(device, *module, kernel.attributes());
      config.options = options.launch;
      config.options.seed = seed;
      config.options.adversary = adversary;
      auto start = std::chrono::steady_clock::now();
      result = device.launch(kernel, config);
      ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
               .count();
      // What the kernel printed; beside JSON it would be in the way.
      std::fputs(result.printed.c_str(), options.json ? stderr : stdout);
      if (!result.clean()) {
        print(options, result);
        std::fprintf(options.json ? stderr : stdout, "replay: %s\n",
                     tool::replayCommand(options, entry, seed, adversary).c_str());
        return 1;
      }
    }
  }
  if (options.launch.counters)
    std::printf("%s", result.renderCounters().c_str());
  std::fprintf(stderr,
               "%llu run(s), nothing found; the last took %.1f ms, %llu warp instructions, "
               "trace %016llx\n",
               static_cast<unsigned long long>(options.seeds * options.adversaries.size()), ms,
               static_cast<unsigned long long>(result.stats.warpInstructions),
               static_cast<unsigned long long>(result.traceHash));
  spec.finish(device);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  try {
    tool::Options options = tool::parseOptions({argv + 1, argv + argc});
    if (options.help) {
      std::fputs(tool::helpText().c_str(), stdout);
      return 0;
    }
    return run(options);
  } catch (const std::exception &e) {
    std::fprintf(stderr, "girih-emu: %s\n", e.what());
    return 2;
  }
}
