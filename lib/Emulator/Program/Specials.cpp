// Special registers (PTX ISA 9.0, chapter 10).
//
// Those whose value is fixed for a lane are ordinary registers that are filled when the warp
// starts; clocks are read by an instruction of their own.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Lanes.h"
#include "Emulator/Machine/Machine.h"

namespace girih::emu {

namespace {

struct SpecialName {
  const char *name;
  Special special;
};
constexpr SpecialName specialNames[] = {
    {"%tid.x", Special::TidX},
    {"%tid.y", Special::TidY},
    {"%tid.z", Special::TidZ},
    {"%ntid.x", Special::NtidX},
    {"%ntid.y", Special::NtidY},
    {"%ntid.z", Special::NtidZ},
    {"%ctaid.x", Special::CtaidX},
    {"%ctaid.y", Special::CtaidY},
    {"%ctaid.z", Special::CtaidZ},
    {"%nctaid.x", Special::NctaidX},
    {"%nctaid.y", Special::NctaidY},
    {"%nctaid.z", Special::NctaidZ},
    {"%laneid", Special::LaneId},
    {"%warpid", Special::WarpId},
    {"%nwarpid", Special::NwarpId},
    {"%smid", Special::SmId},
    {"%nsmid", Special::NsmId},
    {"%lanemask_eq", Special::LanemaskEq},
    {"%lanemask_lt", Special::LanemaskLt},
    {"%lanemask_le", Special::LanemaskLe},
    {"%lanemask_gt", Special::LanemaskGt},
    {"%lanemask_ge", Special::LanemaskGe},
    {"%clusterid.x", Special::ClusteridX},
    {"%clusterid.y", Special::ClusteridY},
    {"%clusterid.z", Special::ClusteridZ},
    {"%nclusterid.x", Special::NclusteridX},
    {"%nclusterid.y", Special::NclusteridY},
    {"%nclusterid.z", Special::NclusteridZ},
    {"%cluster_ctaid.x", Special::ClusterCtaidX},
    {"%cluster_ctaid.y", Special::ClusterCtaidY},
    {"%cluster_ctaid.z", Special::ClusterCtaidZ},
    {"%cluster_nctaid.x", Special::ClusterNctaidX},
    {"%cluster_nctaid.y", Special::ClusterNctaidY},
    {"%cluster_nctaid.z", Special::ClusterNctaidZ},
    {"%cluster_ctarank", Special::ClusterCtarank},
    {"%cluster_nctarank", Special::ClusterNctarank},
    {"%dynamic_smem_size", Special::DynamicSmemSize},
    {"%total_smem_size", Special::TotalSmemSize},
    {"%aggr_smem_size", Special::AggrSmemSize},
    {"%reserved_smem_offset_begin", Special::ReservedSmemBegin},
    {"%reserved_smem_offset_end", Special::ReservedSmemEnd},
    {"%reserved_smem_offset_cap", Special::ReservedSmemCap},
    {"%reserved_smem_offset_0", Special::ReservedSmem0},
    {"%reserved_smem_offset_1", Special::ReservedSmem1},
    {"%is_explicit_cluster", Special::IsExplicitCluster},
};

struct ClockName {
  const char *name;
  uint8_t width; ///< of the register
  uint8_t shift; ///< bits of the counter that come first
  bool nanoseconds;
};
constexpr ClockName clockNames[] = {
    {"%clock", 4, 0, false},      {"%clock_hi", 4, 32, false},     {"%clock64", 8, 0, false},
    {"%globaltimer", 8, 0, true}, {"%globaltimer_lo", 4, 0, true}, {"%globaltimer_hi", 4, 32, true},
};

/// %globaltimer when a launch begins: some moment of the year 2026 in Unix time. Programs that take
/// differences do not mind, and those that read its upper half see that it has one.
constexpr uint64_t kStartTime = 1'780'000'000'000'000'000;

/// Clocks count what the cluster executes: they advance with every read, and the same seed gives
/// the same values.
template <typename T> Step readClock(Context &c, const Instr &in) {
  uint64_t now = c.cluster.readClock();
  if (in.sign)
    now = kStartTime + now * 1000; // nanoseconds, coarse
  T t[32];
  std::fill(std::begin(t), std::end(t), static_cast<T>(now >> in.sub));
  storeLanes(c, in.d[0], t);
  return Step::Next;
}

Step takeLowerHalf(Context &c, const Instr &in) {
  return lanes1<uint16_t, uint32_t>(c, in, [](uint32_t v) { return static_cast<uint16_t>(v); });
}

} // namespace

Src Decoder::lowerHalf(Src source) {
  Instr narrow;
  narrow.exec = takeLowerHalf;
  narrow.s[0] = source;
  narrow.d[0] = temporary(2);
  narrow.writeSlots[0] = slotOf(narrow.d[0]);
  append(narrow);
  return narrow.d[0];
}

Src Decoder::special(std::string_view name, unsigned width, uint8_t *anyWidth) {
  auto fits = [&](unsigned actual) {
    if (anyWidth)
      *anyWidth = static_cast<uint8_t>(actual);
    else if (width != actual)
      fail("'" + std::string(name) + "' has " + std::to_string(8 * actual) + " bits, " +
           std::to_string(8 * width) + " are needed");
    return anyWidth || width == actual;
  };
  for (const ClockName &row : clockNames)
    if (name == row.name) {
      if (!fits(row.width))
        return 0;
      Instr read;
      read.exec = row.width == 8 ? ExecFn(readClock<uint64_t>) : ExecFn(readClock<uint32_t>);
      read.d[0] = temporary(row.width);
      read.writeSlots[0] = slotOf(read.d[0]);
      read.sub = row.shift;
      read.sign = row.nanoseconds;
      append(read);
      return read.d[0];
    }
  // 10.28: not part of a CUDA graph.
  if (name == "%current_graph_exec")
    return fits(8) ? constant(0, 8) : 0;
  // 10.9: 64 bits, of which a 32-bit move takes the lower half.
  if (name == "%gridid")
    return specialRegister(!anyWidth && width == 4 ? Special::GridIdLow : Special::GridId,
                           !anyWidth && width == 4 ? 4 : 8, anyWidth);
  for (const SpecialName &row : specialNames)
    if (name == row.name) {
      // 10: legacy code reads the lower half with 16-bit moves.
      if (!anyWidth && width == 2)
        return lowerHalf(specialRegister(row.special, 4, nullptr));
      return fits(4) ? specialRegister(row.special, 4, nullptr) : 0;
    }
  // 10, %envreg: defined by the driver, which is us. CUDA's keeps the address of a cooperative
  // launch's workspace there, and zero for other launches; cooperative groups trap on a grid
  // without one.
  if (name.substr(0, 7) == "%envreg") {
    const std::string_view digits = name.substr(7);
    unsigned number = 0;
    for (char ch : digits)
      number = ch >= '0' && ch <= '9' && number < 32 ? number * 10 + unsigned(ch - '0') : 99;
    if (!digits.empty() && number < 32)
      return fits(4) ? constant(0, 4) : 0;
  }
  if (name.substr(0, 3) == "%pm")
    fail("'" + std::string(name) + "' is not modelled: there are no performance counters");
  else
    fail("special register '" + std::string(name) +
         "' is not modelled (or is no declared register)");
  return 0;
}

Src Decoder::specialRegister(Special which, unsigned width, uint8_t *anyWidth) {
  if (anyWidth)
    *anyWidth = static_cast<uint8_t>(width);
  auto [entry, fresh] = specialOffset.try_emplace(static_cast<int>(which), 0);
  if (fresh) {
    entry->second = temporary(width);
    kernel.specials.push_back({which, entry->second});
  }
  return entry->second;
}

} // namespace girih::emu
