// Recording, and the JSON of the Trace Event Format.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Trace.h"

#include "Emulator/Machine/Machine.h"
#include "Emulator/Text.h"

namespace girih::emu {

void TraceRecorder::ran(uint32_t rank, uint32_t warp, uint32_t id, bool whole, uint32_t lane,
                        uint32_t pc, uint64_t begin, uint64_t end, const Fragment *now) {
  const uint64_t who = uint64_t(rank) << 56 ^ uint64_t(warp) << 48 ^ id;
  begin += offset;
  end += offset;
  auto [entry, fresh] = open.try_emplace(who);
  Open &o = entry->second;
  const uint32_t track = whole ? TraceTrack::warp(warp) : TraceTrack::part(warp, lane);
  auto close = [&](uint64_t until) {
    events.push_back({o.waits ? TraceEvent::Kind::Wait : TraceEvent::Kind::Run, o.wait, rank,
                      o.track, o.pc, o.since, std::max(until, o.since + 1), o.object, o.value});
  };
  if (!fresh && (o.waits || o.track != track)) {
    close(begin);
    if (o.waits)
      if (auto release = lastRelease.find(key(o.wait, rank, o.object));
          release != lastRelease.end() && release->second.number > o.seen) {
        const Actor &by = release->second.by;
        // Numbers of flows are the cluster's; TraceText makes them the launch's.
        const uint64_t flow = ++releases;
        events.push_back({TraceEvent::Kind::FlowStart, o.wait, by.rank, by.track, o.pc, by.time,
                          by.time, flow, 0});
        events.push_back(
            {TraceEvent::Kind::FlowEnd, o.wait, rank, track, o.pc, begin, begin, flow, 0});
      }
    fresh = true;
  }
  if (fresh)
    o = {track, pc, begin, false, Wait::Ready, 0, 0, 0};
  if (!now) {
    close(end);
    open.erase(entry);
    return;
  }
  if (now->wait != Wait::Ready) {
    close(end);
    uint64_t object = 0;
    if (now->wait == Wait::Mbarrier || now->wait == Wait::Barrier)
      object = now->object;
    else if (now->wait == Wait::Bulk)
      object = warp;
    else if (now->wait == Wait::Wgmma)
      object = warp / 4;
    o = {track, now->pc, end, true, now->wait, object, now->value, releases};
  }
}

void TraceRecorder::unit(uint32_t rank, uint32_t track, uint32_t pc, uint64_t step) {
  act(rank, track, step);
  events.push_back({TraceEvent::Kind::Unit, Wait::Ready, rank, track, pc, step + offset,
                    step + offset + 1, 0, 0});
}

void TraceRecorder::released(Wait wait, uint32_t rank, uint64_t object) {
  lastRelease[key(wait, rank, object)] = {actor, ++releases};
}

namespace {
std::string quoted(std::string_view text) {
  std::string out = "\"";
  bool space = false;
  for (char ch : text) {
    if (out.size() > 160)
      break;
    const bool blank = static_cast<unsigned char>(ch) <= ' ';
    if (blank && space)
      continue;
    space = blank;
    if (ch == '"' || ch == '\\')
      out += '\\';
    out += blank ? ' ' : ch;
  }
  return out + '"';
}

std::string waitName(const TraceEvent &e) {
  switch (e.wait) {
  case Wait::Mbarrier:
    return "waits for phase " + std::to_string(e.value) + " of mbarrier " + hex(e.detail);
  case Wait::Barrier:
    return "waits at barrier " + std::to_string(e.detail);
  case Wait::Cluster:
    return "waits at the cluster barrier";
  case Wait::Bulk:
    return "waits for its copies";
  case Wait::Wgmma:
    return "waits for wgmma";
  case Wait::Registers:
    return "waits for registers";
  case Wait::Ordered:
    return "waits for global memory";
  case Wait::WarpSync:
    return "waits for lanes of its warp";
  case Wait::Grid:
    return "waits for the launches before";
  case Wait::Ready:
    break;
  }
  return "waits";
}
} // namespace

const std::string &TraceText::sourceOf(uint32_t pc) {
  auto [entry, fresh] = sources.try_emplace(pc);
  if (fresh && pc < kernel.info.size()) {
    const InstrInfo &info = kernel.info[pc];
    std::string source = kernel.module->source(info.location);
    entry->second = source.empty() ? "PTX line " + std::to_string(info.line)
                                   : source.substr(0, source.find('\n'));
  }
  return entry->second;
}

void TraceText::add(std::string event) { text += (text.empty() ? "" : ",\n") + event; }

void TraceText::nameTracks(const Cluster &cluster, const TraceEvent &e) {
  const uint64_t process = cluster.linearId() * cluster.launch.clusterSize + e.rank;
  auto metadata = [&](const char *what, const std::string &name, uint32_t track) {
    add(std::string("{\"ph\":\"M\",\"name\":\"") + what + "\",\"pid\":" + std::to_string(process) +
        ",\"tid\":" + std::to_string(track) + ",\"args\":{\"name\":" + quoted(name) + "}}");
  };
  if (named.try_emplace({process, ~0u}, true).second) {
    const Dim3 id = cluster.ctaId(cluster.linearId(), e.rank);
    metadata("process_name",
             "CTA (" + std::to_string(id.x) + "," + std::to_string(id.y) + "," +
                 std::to_string(id.z) + ")",
             0);
  }
  if (!named.try_emplace({process, e.track}, true).second)
    return;
  const uint32_t warp = e.track / 33, part = e.track % 33;
  metadata("thread_name",
           e.track == TraceTrack::copies ? "copies"
           : e.track > TraceTrack::copies
               ? "wgmma of warps " + std::to_string((e.track - TraceTrack::wgmma) * 4) + " to " +
                     std::to_string((e.track - TraceTrack::wgmma) * 4 + 3)
           : part ? "warp " + std::to_string(warp) + ", from lane " + std::to_string(part - 1)
                  : "warp " + std::to_string(warp),
           e.track);
}

void TraceText::take(const Cluster &cluster, TraceRecorder &recorder) {
  for (const TraceEvent &e : recorder.events) {
    if (count >= limit) {
      ++left;
      continue;
    }
    ++count;
    nameTracks(cluster, e);
    const uint64_t process = cluster.linearId() * cluster.launch.clusterSize + e.rank;
    const std::string where = "\"pid\":" + std::to_string(process) +
                              ",\"tid\":" + std::to_string(e.track) +
                              ",\"ts\":" + std::to_string(e.begin);
    if (e.kind == TraceEvent::Kind::FlowStart || e.kind == TraceEvent::Kind::FlowEnd) {
      const bool end = e.kind == TraceEvent::Kind::FlowEnd;
      add(std::string("{\"ph\":\"") + (end ? "f\",\"bp\":\"e" : "s") +
          "\",\"name\":\"release\",\"cat\":\"release\",\"id\":" +
          std::to_string(cluster.linearId() << 32 ^ e.detail) + "," + where + "}");
      continue;
    }
    const std::string name = e.kind == TraceEvent::Kind::Wait ? waitName(e) : sourceOf(e.pc);
    std::string event = "{\"ph\":\"X\",\"name\":" + quoted(name) + ",\"cat\":\"" +
                        (e.kind == TraceEvent::Kind::Wait  ? "wait"
                         : e.kind == TraceEvent::Kind::Run ? "run"
                                                           : "unit") +
                        "\"," + where + ",\"dur\":" + std::to_string(e.end - e.begin);
    if (e.pc < kernel.info.size())
      event += ",\"args\":{\"line\":" + quoted(sourceOf(e.pc)) +
               ",\"ptx_line\":" + std::to_string(kernel.info[e.pc].line) +
               ",\"ptx\":" + quoted(kernel.info[e.pc].text) + "}";
    add(event + "}");
  }
  recorder.events.clear();
}

std::string TraceText::finish() const {
  std::string note = "time in instructions of a cluster";
  if (left)
    note += "; " + std::to_string(left) + " more events were left out (limit " +
            std::to_string(limit) + ")";
  return "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"kernel\":" + quoted(kernel.attributes.name) +
         ",\"note\":" + quoted(note) + ",\"events_left_out\":" + std::to_string(left) +
         "},\"traceEvents\":[\n" + text + "\n]}\n";
}

} // namespace girih::emu
