// Traces: JSON that Perfetto reads, the tracks, and an order of events that is known beforehand.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GemmHarness.h"
#include "KernelHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

using namespace girih::emu;
using namespace girih::emu::test;
using nlohmann::json;

namespace {

/// Warp 1 counts a while and then arrives at the mbarrier that warp 0 waits for.
const std::string kBody =
    "mov.u32 %r5, buf; setp.ne.u32 %p9, %r0, 0; @!%p9 mbarrier.init.shared::cta.b64 [%r5], 1; "
    "bar.sync 0; setp.lt.u32 %p1, %r0, 32; @%p1 bra W; mov.u32 %r6, 0; L: add.u32 %r6, %r6, 1; "
    "setp.lt.u32 %p2, %r6, 5000; @%p2 bra L; setp.ne.u32 %p3, %r0, 32;\n"
    "@!%p3 mbarrier.arrive.shared::cta.b64 _, [%r5]; bra E;\n"
    "W: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r5], 0; @!%p0 bra W; E:";

json traceOf(uint64_t seed, uint64_t events = 200000) {
  LaunchOptions options;
  options.seed = seed;
  options.traceEvents = events;
  Device device;
  auto module = device.loadModule(kernelText(kBody, {.module = ".shared .align 8 .b8 buf[64];"}),
                                  {"test.ptx", {}});
  uint64_t address = device.allocate(4);
  LaunchConfig config;
  config.block = {64, 1, 1};
  config.params = &address;
  config.paramBytes = 8;
  config.options = options;
  std::string text;
  config.options.traceSink = [&](std::string_view part) { text += part; };
  EXPECT_TRUE(device.launch(module->kernel("k"), config).clean());
  return json::parse(text);
}

/// Names of the tracks of a CTA.
std::map<uint32_t, std::string> tracks(const json &trace, uint64_t process = 0) {
  std::map<uint32_t, std::string> result;
  for (const json &e : trace["traceEvents"])
    if (e["ph"] == "M" && e["name"] == "thread_name" && e["pid"] == process)
      result[e["tid"]] = e["args"]["name"];
  return result;
}

TEST(Trace, AnArrivalReleasesItsWaiter) {
  unsigned waits = 0;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    const json trace = traceOf(seed);
    std::map<uint32_t, std::string> names = tracks(trace);
    EXPECT_EQ(names[0], "warp 0");
    EXPECT_EQ(names[33], "warp 1");
    // The last wait of warp 0 for the mbarrier.
    const json *wait = nullptr;
    for (const json &e : trace["traceEvents"])
      if (e["ph"] == "X" && e["tid"] == 0 && e["name"] == "waits for phase 0 of mbarrier 0x400")
        wait = &e;
    if (!wait)
      continue; // it has returned early, and warp 0 was not tried again before the arrival
    ++waits;
    EXPECT_EQ((*wait)["args"]["ptx_line"], 11)
        << "four lines before the kernel, four of its head, two of the body";
    const uint64_t end = (*wait)["ts"].get<uint64_t>() + (*wait)["dur"].get<uint64_t>();
    EXPECT_GT(end, 5000u) << "warp 1 has counted before";
    bool released = false;
    for (const json &start : trace["traceEvents"])
      for (const json &stop : trace["traceEvents"])
        if (start["ph"] == "s" && stop["ph"] == "f" && start["id"] == stop["id"] &&
            stop["tid"] == 0 && stop["ts"] == end) {
          released = true;
          EXPECT_NE(start["tid"], 0) << "by warp 1, or the lanes of it that arrive";
          EXPECT_LE(start["ts"].get<uint64_t>(), end);
          EXPECT_GE(start["ts"].get<uint64_t>(), (*wait)["ts"].get<uint64_t>());
        }
    EXPECT_TRUE(released) << seed;
  }
  EXPECT_GE(waits, 4u);
}

TEST(Trace, SpansOfATrackDoNotOverlap) {
  const json trace = traceOf(3);
  std::map<uint32_t, std::vector<std::pair<uint64_t, uint64_t>>> spans;
  for (const json &e : trace["traceEvents"])
    if (e["ph"] == "X")
      spans[e["tid"]].push_back({e["ts"], e["ts"].get<uint64_t>() + e["dur"].get<uint64_t>()});
  EXPECT_GE(spans.size(), 2u);
  for (auto &[track, list] : spans) {
    std::sort(list.begin(), list.end());
    for (size_t i = 1; i < list.size(); ++i)
      EXPECT_LE(list[i - 1].second, list[i].first) << track;
  }
}

TEST(Trace, IsBoundedAndSaysSo) {
  const json trace = traceOf(0, 3);
  unsigned events = 0;
  for (const json &e : trace["traceEvents"])
    events += e["ph"] != "M";
  EXPECT_EQ(events, 3u);
  EXPECT_GT(trace["otherData"]["events_left_out"], 0);
  EXPECT_EQ(traceOf(0)["otherData"]["events_left_out"], 0);
}

TEST(Trace, ShowsCopiesAndProducts) {
  std::ifstream in(std::string(GIRIH_EMULATOR_INPUTS) + "/gemm_ws.ptx");
  std::stringstream ptx;
  ptx << in.rdbuf();
  auto run = [&](unsigned threads) {
    Gemm gemm(128, 128, 128, true);
    LaunchOptions options;
    options.seed = 1;
    options.threads = threads;
    std::string text;
    options.traceSink = [&](std::string_view part) { text += part; };
    EXPECT_TRUE(gemm.run(ptx.str(), 2, options).clean());
    return text;
  };
  const std::string text = run(1);
  EXPECT_EQ(text, run(2)) << "whatever the number of host threads";
  const json trace = json::parse(text);
  std::map<uint32_t, std::string> names = tracks(trace);
  EXPECT_EQ(names[100000], "copies");
  EXPECT_EQ(names[100002], "wgmma of warps 4 to 7");
}

TEST(Trace, FilesAreNumbered) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "girih-trace";
  std::filesystem::create_directories(folder);
  Device device;
  auto module = device.loadModule(kernelText("", {}), {"test.ptx", {}});
  uint64_t address = device.allocate(4);
  LaunchConfig config;
  config.block = {32, 1, 1};
  config.params = &address;
  config.paramBytes = 8;
  config.options.trace = (folder / "out.json").string();
  device.launch(module->kernel("k"), config);
  device.launch(module->kernel("k"), config);
  for (const char *name : {"out.json", "out.2.json"}) {
    std::ifstream file(folder / name);
    EXPECT_TRUE(json::accept(file)) << name;
  }
  std::filesystem::remove_all(folder);
  config.options.trace = (folder / "gone" / "out.json").string();
  EXPECT_THROW(device.launch(module->kernel("k"), config), DeviceError);
}

} // namespace
