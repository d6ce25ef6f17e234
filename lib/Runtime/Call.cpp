//===- Call.cpp - A call of a program, launched again and again
//----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "HostPlan.h"

#include <cstdio>

namespace girih::runtime {
namespace {

void printToStdout(const std::string &text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

/// Frees what a launch allocated, whichever way it ends.
struct Release {
  HostPlan &plan;
  const Device &device;
  ~Release() { plan.release(device); }
};

} // namespace

Call::Call(Program &program)
    : program(program), plan(std::make_unique<HostPlan>(program.manifest())) {}

Call::~Call() = default;

void Call::set(unsigned parameter, const ArrayArgument &array) { plan->set(parameter, array); }
void Call::set(unsigned parameter, int64_t integer) { plan->set(parameter, integer); }
void Call::set(unsigned parameter, double real) { plan->set(parameter, real); }
void Call::set(unsigned parameter, Absent nothing) { plan->set(parameter, nothing); }

void Call::setCtas(const Device &device, int64_t count) {
  int64_t most = device.multiprocessorCount();
  if (count != 0 && !plan->asksForMultiprocessors())
    throw LaunchError(program.manifest().name +
                      ": ctas is for persistent kernels, and this one has one CTA for each tile; "
                      "gr.tiles(..., ctas=gr.sms()) makes it persistent");
  if (count < 0 || count > most)
    throw LaunchError(program.manifest().name + ": ctas is " + std::to_string(count) +
                      ", expected 1 to " + std::to_string(most) +
                      ", the number of multiprocessors");
  plan->setMultiprocessors(count == 0 ? most : count);
}

Wait Call::launch(Device &device, cuda::CUstream stream, const Interrupted &interrupted,
                  const Print &print) {
  device.announce();
  Device::Turn turn = device.takeTurn(interrupted);
  if (!device.isMine(turn))
    return Wait::Stopped;
  device.enter();
  program.load(device);
  Release release{*plan, device};
  device.noteLaunch(program.internedName);
  bool isCaptured = stream && stream == device.capturing();
  if (isCaptured)
    plan->requireNoAllocation();
  plan->run(device, program.functions, stream);
  if (isCaptured)
    return Wait::Done;
  if (!plan->hasRecords() && !device.driver().isEmulated())
    return Wait::Done;
  return finish(device, stream, interrupted, print);
}

/// Waits for the launches, prints what they recorded, throws what they report.
Wait Call::finish(Device &device, cuda::CUstream stream, const Interrupted &interrupted,
                  const Print &print) {
  if (!plan->hasRecords())
    return device.synchronize(stream, interrupted);
  auto report = [&] {
    plan->report(device, print ? print : printToStdout,
                 [&](const Step &step) { return program.resolve(step); });
  };
  Wait outcome;
  try {
    outcome = device.synchronize(stream, interrupted);
  } catch (const DeviceError &) {
    // What was printed until then helps, and a failed assertion says more than what came of it. The
    // memory of a GPU cannot be read after an error.
    if (device.driver().isEmulated())
      report();
    throw;
  }
  if (outcome == Wait::Done)
    report();
  return outcome;
}

} // namespace girih::runtime
