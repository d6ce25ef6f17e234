// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Emulator/Finding.h"
#include "Emulator/Text.h"

#include <cstdio>

namespace girih::emu {

namespace {
void quote(std::string &out, const std::string &text) {
  out += '"';
  for (unsigned char ch : text) {
    if (ch == '"' || ch == '\\') {
      out += '\\';
      out += static_cast<char>(ch);
    } else if (ch < 0x20) {
      char buffer[8];
      std::snprintf(buffer, sizeof(buffer), "\\u%04x", ch);
      out += buffer;
    } else {
      out += static_cast<char>(ch);
    }
  }
  out += '"';
}
/// Long instructions (wgmma with 128 registers) would bury the report.
std::string shorten(const std::string &text) {
  std::string flat;
  bool space = false;
  for (char ch : text) {
    bool blank = ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r';
    if (blank && space)
      continue;
    flat += blank ? ' ' : ch;
    space = blank;
  }
  if (flat.size() > 110)
    flat = flat.substr(0, 80) + " ... " + flat.substr(flat.size() - 25);
  return flat;
}
} // namespace

std::string Finding::render() const {
  std::string text = kind + (severity == Severity::Note ? " (note): " : ": ") + message;
  if (count > 1)
    text += " [" + std::to_string(count) + " times]";
  for (const Site &s : sites) {
    text += "\n  " + s.action;
    if (!s.space.empty() && s.bytes)
      text += " " + s.space + " " + hex(s.address) + " (" + std::to_string(s.bytes) + " bytes)";
    text += ": CTA (" + std::to_string(s.cta.x) + "," + std::to_string(s.cta.y) + "," +
            std::to_string(s.cta.z) + ")";
    if (s.warp >= 0)
      text += " warp " + std::to_string(s.warp);
    if (s.lane >= 0)
      text += " lane " + std::to_string(s.lane);
    bool first = true;
    for (size_t begin = 0; begin < s.source.size();) {
      size_t end = s.source.find('\n', begin);
      if (end == std::string::npos)
        end = s.source.size();
      text += std::string("\n    ") + (first ? "at " : "called from ") +
              s.source.substr(begin, end - begin);
      first = false;
      begin = end + 1;
    }
    if (s.ptxLine)
      text += "\n    PTX line " + std::to_string(s.ptxLine) + ": " + shorten(s.ptxText);
  }
  if (!hint.empty())
    text += "\n  hint: " + hint;
  return text;
}

std::string Finding::json() const {
  std::string out = "{\"kind\":";
  quote(out, kind);
  out += severity == Severity::Note ? ",\"severity\":\"note\"" : ",\"severity\":\"error\"";
  out += ",\"message\":";
  quote(out, message);
  out += ",\"hint\":";
  quote(out, hint);
  out += ",\"count\":" + std::to_string(count) + ",\"sites\":[";
  bool first = true;
  for (const Site &s : sites) {
    out += first ? "{" : ",{";
    first = false;
    out += "\"action\":";
    quote(out, s.action);
    out += ",\"ptx_line\":" + std::to_string(s.ptxLine) + ",\"ptx\":";
    quote(out, s.ptxText);
    out += ",\"source\":";
    quote(out, s.source);
    out += ",\"cta\":[" + std::to_string(s.cta.x) + "," + std::to_string(s.cta.y) + "," +
           std::to_string(s.cta.z) + "]";
    out += ",\"warp\":" + std::to_string(s.warp) + ",\"lane\":" + std::to_string(s.lane) +
           ",\"space\":";
    quote(out, s.space);
    out +=
        ",\"address\":" + std::to_string(s.address) + ",\"bytes\":" + std::to_string(s.bytes) + "}";
  }
  return out + "]}";
}

const std::vector<FindingKind> &findingKinds() {
  static const std::vector<FindingKind> kinds = {
      {"assertion", "an assertion of the program failed"},
      {"async-exit", "a CTA exits before asynchronous copies into or out of its shared memory are "
                     "known to be over"},
      {"async-overwrite",
       "an operand of an asynchronous operation is overwritten while it may still be read"},
      {"async-race",
       "shared memory is read before the asynchronous copy that writes it has completed"},
      {"atomic-space", "an atomic operation on memory that has none"},
      {"barrier-count", "participants of a barrier disagree on its count, or too many arrive"},
      {"barrier-invalid", "a barrier number or thread count that does not exist"},
      {"branch-index", "brx.idx with an index that its table of labels does not have"},
      {"bulk-copy-invalid", "size or address of a bulk copy is not a multiple of 16"},
      {"call-target", "an indirect call of something that is not a function that it can call"},
      {"cluster-exit",
       "a CTA exits while others of its cluster may still access its shared memory"},
      {"cp-async-invalid", "a cp.async that reads more bytes than it copies"},
      {"deadlock", "nobody can make progress"},
      {"divergent-aligned", "an .aligned instruction is executed by a part of a warp"},
      {"global-out-of-bounds", "an access to global memory that no allocation holds"},
      {"global-race", "two accesses to global memory that nothing orders"},
      {"heap", "free of an address that malloc did not return"},
      {"livelock", "threads poll and nothing changes any more"},
      {"local-out-of-bounds", "an access past a thread's local memory"},
      {"mbarrier-address", "an mbarrier that does not lie in shared memory"},
      {"mbarrier-arrivals", "arrivals at an mbarrier exceed or fall short of its count"},
      {"mbarrier-bytes", "transaction bytes of an mbarrier are over, or can no longer reach zero"},
      {"mbarrier-count", "an mbarrier is initialised with an impossible count"},
      {"mbarrier-nocomplete", "an arrival with .noComplete completes a phase"},
      {"mbarrier-overrun",
       "a phase of an mbarrier completes before anybody waited for the one before"},
      {"mbarrier-overwritten", "the memory of an mbarrier is written by something else"},
      {"mbarrier-parity", "a wait for a phase of an mbarrier in which nobody arrives"},
      {"mbarrier-phase", "a wait for a phase of an mbarrier that is long over"},
      {"mbarrier-reinit", "an mbarrier is initialised again while in use"},
      {"mbarrier-remote", "an operation that another CTA's mbarrier does not have"},
      {"mbarrier-uninitialised", "an mbarrier is used before its initialisation"},
      {"misaligned", "an address is not a multiple of the access size"},
      {"missing-proxy-fence",
       "an asynchronous operation reads what ordinary stores wrote, without fence.proxy.async"},
      {"missing-wgmma-fence", "a wgmma uses registers written since the last wgmma.fence"},
      {"multicast-mask", "a multicast names CTAs that the cluster does not have"},
      {"param-out-of-bounds", "a read past the kernel's parameters"},
      {"param-write", "a write to a kernel parameter"},
      {"remote-store-invalid", "an asynchronous store whose mbarrier lies in another CTA"},
      {"setmaxnreg-direction", "setmaxnreg.inc lowers or .dec raises the register count"},
      {"setmaxnreg-partial", "setmaxnreg is executed by a part of a warpgroup"},
      {"setmaxnreg-pool", "setmaxnreg waits for registers that never come free"},
      {"shared-out-of-bounds", "an access outside the CTA's shared memory"},
      {"shared-race", "two accesses to shared memory that nothing orders"},
      {"sparse-metadata",
       "the metadata of a sparse matrix name positions that PTX does not define"},
      {"stack", "a lane's stack is used up, or restored to where it was not"},
      {"stopped", "the launch was cancelled: where its warps were"},
      {"tensor-copy-invalid", "a tensor copy whose operands do not fit together"},
      {"tensor-map-invalid", "the bytes named as a tensor map are none"},
      {"tensormap-fence", "a tensor map is used without the fences that make its edit visible"},
      {"trap", "the program executed a trap"},
      {"undefined-value", "a value that was never defined reaches an address, a branch, a barrier, "
                          "a matrix operand or global memory"},
      {"uninitialised-shared",
       "a wgmma or an asynchronous store reads shared memory that was never written"},
      {"use-after-free", "an access to global memory that was freed"},
      {"warp-mask", "a member mask names lanes that do not execute the instruction"},
      {"wgmma-descriptor", "a wgmma descriptor that is not documented or leaves shared memory"},
      {"wgmma-mismatch", "lanes or warps of a warpgroup give a wgmma different operands"},
      {"wgmma-partial-warpgroup", "wgmma in a warpgroup of fewer than four warps"},
      {"wgmma-register-in-flight", "a register of a wgmma in flight is used"},
  };
  return kinds;
}

} // namespace girih::emu
