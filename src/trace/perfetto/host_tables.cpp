#include "trace/perfetto/host_tables.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace hone::trace::perfetto {
namespace {

Annotation whole(std::string_view name, int64_t value) { return {std::string(name), value}; }

// A column: `of` takes the value out of a row.
template <typename Row, typename Of>
Annotation column(std::string_view name, const std::vector<Row>& rows, Of of) {
  Annotation::Array values;
  for (const Row& row : rows) values.items.push_back(whole("", static_cast<int64_t>(of(row))));
  return {std::string(name), std::move(values)};
}

std::vector<int64_t> whole_numbers(const Annotation& from, std::string_view name) {
  std::vector<int64_t> numbers;
  for (const Annotation& item : from.items(name)) {
    const auto* value = std::get_if<int64_t>(&item.value);
    numbers.push_back(value == nullptr ? 0 : *value);
  }
  return numbers;
}

uint32_t place(int64_t value) {
  return static_cast<uint32_t>(std::clamp<int64_t>(value, 0, std::numeric_limits<uint32_t>::max()));
}

// A value of an enumeration with so many; a later version's is the first.
template <typename Value>
Value one_of(int64_t value, int count) {
  return static_cast<Value>(value >= 0 && value < count ? value : 0);
}

// The columns of host_use beside rank, block and processes.
constexpr std::array<std::pair<std::string_view, double HostUse::*>, 11> kUse = {{
    {"seconds", &HostUse::seconds},
    {"main_running_s", &HostUse::main_running_s},
    {"main_in_line_s", &HostUse::main_in_line_s},
    {"cpu_s", &HostUse::cpu_s},
    {"disk_wait_s", &HostUse::disk_wait_s},
    {"minor_faults", &HostUse::minor_faults},
    {"major_faults", &HostUse::major_faults},
    {"bytes_read", &HostUse::bytes_read},
    {"bytes_written", &HostUse::bytes_written},
    {"bytes_received", &HostUse::bytes_received},
    {"bytes_sent", &HostUse::bytes_sent},
}};

}  // namespace

Annotation from_stacks(const Trace& trace) {
  const StackTable& stacks = trace.stacks;
  Annotation::Array frames;
  for (const Frame& frame : stacks.frames)
    frames.items.push_back({"", Annotation::Dict{{
                                    {"function", std::string(trace.strings.text(frame.function))},
                                    {"file", std::string(trace.strings.text(frame.file))},
                                    whole("line", frame.line),
                                    whole("kind", static_cast<int64_t>(frame.kind)),
                                    whole("owner", static_cast<int64_t>(frame.owner)),
                                    {"role", std::string(frame_role_name(frame.role))},
                                }}});
  const auto sample = [&](std::string_view name, auto of) { return column(name, stacks.samples, of); };
  return {"stacks", Annotation::Dict{{
                        {"frames", std::move(frames)},
                        column("stacked", stacks.stacked, [](FrameId frame) { return frame.index; }),
                        sample("time_ns", [](const StackSample& row) { return row.time_ns; }),
                        sample("track", [](const StackSample& row) { return row.track.index; }),
                        sample("state", [](const StackSample& row) { return row.state; }),
                        sample("first", [](const StackSample& row) { return row.first; }),
                        sample("python", [](const StackSample& row) { return row.python; }),
                        sample("native", [](const StackSample& row) { return row.native; }),
                    }}};
}

void to_stacks(const Annotation& from, Trace& trace) {
  StackTable& stacks = trace.stacks;
  for (const Annotation& item : from.items("frames")) {
    Frame frame;
    frame.function = trace.strings.intern(item.text("function"));
    frame.file = trace.strings.intern(item.text("file"));
    frame.line = static_cast<int32_t>(std::clamp<int64_t>(item.integer("line"), 0, INT32_MAX));
    frame.kind = one_of<FrameKind>(item.integer("kind"), kFrameKindCount);
    frame.owner = one_of<FrameOwner>(item.integer("owner"), kFrameOwnerCount);
    frame.role = frame_role_from_name(item.text("role")).value_or(FrameRole::kNone);
    stacks.frames.push_back(frame);
  }
  for (const int64_t frame : whole_numbers(from, "stacked")) stacks.stacked.push_back({place(frame)});
  const std::vector<int64_t> times = whole_numbers(from, "time_ns"), tracks = whole_numbers(from, "track"),
                             states = whole_numbers(from, "state"), firsts = whole_numbers(from, "first"),
                             python = whole_numbers(from, "python"), native = whole_numbers(from, "native");
  const std::size_t rows =
      std::min({times.size(), tracks.size(), states.size(), firsts.size(), python.size(), native.size()});
  for (std::size_t i = 0; i < rows; ++i)
    stacks.samples.push_back({times[i],
                              {place(tracks[i])},
                              one_of<ThreadState>(states[i], kThreadStateCount),
                              place(firsts[i]),
                              place(python[i]),
                              place(native[i])});
}

Annotation from_host_use(const Trace& trace) {
  Annotation::Array rows;
  for (const HostUse& use : trace.host_use) {
    Annotation::Dict row{
        {whole("rank", use.rank), whole("block", use.block), whole("processes", use.processes)}};
    for (const auto& [name, field] : kUse) row.entries.push_back({std::string(name), use.*field});
    rows.items.push_back({"", std::move(row)});
  }
  return {"host_use", Annotation::Dict{{{"rows", std::move(rows)}}}};
}

void to_host_use(const Annotation& from, Trace& trace) {
  for (const Annotation& item : from.items("rows")) {
    HostUse use;
    use.rank = static_cast<int>(item.integer("rank"));
    use.block = place(item.integer("block"));
    use.processes = static_cast<int32_t>(place(item.integer("processes")) & INT32_MAX);
    for (const auto& [name, field] : kUse) use.*field = item.real(name);
    trace.host_use.push_back(use);
  }
}

}  // namespace hone::trace::perfetto
