#include "trace/import/kineto/assemble.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "trace/import/kineto/memory.h"

namespace hone::trace::kineto {
namespace {

constexpr int64_t kDay = int64_t{86'400} * 1'000'000'000;

// Where a row is.
struct Place {
  int64_t start_ns;
  uint32_t chunk;  // of all chunks, in the file's order
  uint32_t row;
};

struct ChunkOf {
  Rows* rows;
  uint32_t reading;
};

std::vector<ChunkOf> chunks_in_order(std::span<Reading> readings) {
  std::vector<ChunkOf> chunks;
  for (uint32_t i = 0; i < readings.size(); ++i)
    for (Rows& rows : readings[i].chunks) chunks.push_back({&rows, i});
  std::sort(chunks.begin(), chunks.end(),
            [](const ChunkOf& a, const ChunkOf& b) { return a.rows->chunk < b.rows->chunk; });
  return chunks;
}

template <typename Table>
std::size_t count_of(const std::vector<ChunkOf>& chunks, Table Rows::*table) {
  std::size_t count = 0;
  for (const ChunkOf& chunk : chunks) count += (chunk.rows->*table).size();
  return count;
}

// A start time in the middle of all: what lies far from it is damage.
int64_t middle(const std::vector<ChunkOf>& chunks) {
  std::vector<int64_t> starts;
  starts.reserve(count_of(chunks, &Rows::rows));
  for (const ChunkOf& chunk : chunks)
    for (const EventRow& row : chunk.rows->rows) starts.push_back(row.start_ns);
  if (starts.empty()) return 0;
  const auto at = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
  std::nth_element(starts.begin(), at, starts.end());
  return *at;
}

std::vector<Place> places_in_order(const std::vector<ChunkOf>& chunks, Faults& faults) {
  const int64_t center = middle(chunks);
  std::vector<Place> places;
  places.reserve(count_of(chunks, &Rows::rows));
  for (uint32_t c = 0; c < chunks.size(); ++c)
    for (uint32_t r = 0; r < chunks[c].rows->rows.size(); ++r) {
      const EventRow& row = chunks[c].rows->rows[r];
      if (row.start_ns < center - kDay || row.start_ns > center + kDay || row.duration_ns > kDay)
        faults.far_away.add(c, fmt::format("start {} ns, duration {} ns", row.start_ns, row.duration_ns));
      else
        places.push_back({row.start_ns, c, r});
    }
  const auto duration = [&](const Place& place) {
    return chunks[place.chunk].rows->rows[place.row].duration_ns;
  };
  // Enclosing spans before what they enclose, else as the file has them.
  std::sort(places.begin(), places.end(), [&](const Place& a, const Place& b) {
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    if (duration(a) != duration(b)) return duration(a) > duration(b);
    return a.chunk != b.chunk ? a.chunk < b.chunk : a.row < b.row;
  });
  return places;
}

// A stream runs one thing at a time: of records of the same work, that launched by one call, at one time,
// only the first stays. `places` are in order.
void leave_out_repeated(const std::vector<ChunkOf>& chunks, std::span<const Reading> readings,
                        std::vector<Place>& places, Faults& faults) {
  constexpr std::size_t kLookBack = 64;  // works that begin and end together on different streams
  const auto row_of = [&](const Place& place) -> const EventRow& {
    return chunks[place.chunk].rows->rows[place.row];
  };
  const auto same = [&](const Place& a, const Place& b) {
    const EventRow &x = row_of(a), &y = row_of(b);
    const Reading &of_x = readings[chunks[a.chunk].reading], &of_y = readings[chunks[b.chunk].reading];
    return x.correlation == y.correlation && x.category == y.category &&
           of_x.sink.tracks()[x.track] == of_y.sink.tracks()[y.track] &&
           of_x.sink.texts().text(x.name) == of_y.sink.texts().text(y.name);
  };
  std::size_t kept = 0, first_of_time = 0;  // among those kept: the first with this start and duration
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place place = places[i];
    const EventRow& row = row_of(place);
    if (kept == 0 || places[first_of_time].start_ns != place.start_ns ||
        row_of(places[first_of_time]).duration_ns != row.duration_ns)
      first_of_time = kept;
    const Reading& reading = readings[chunks[place.chunk].reading];
    bool repeated = false;
    if (row.correlation != 0 && row.duration_ns > 0 && reading.sink.tracks()[row.track].stream)
      for (std::size_t k = std::max(first_of_time, kept - std::min(kept, kLookBack)); k < kept && !repeated;
           ++k)
        repeated = same(places[k], place);
    if (repeated)
      faults.repeated.add(place.chunk, "");
    else
      places[kept++] = place;
  }
  places.resize(kept);
}

// Tracks of the whole file, and which of them each thread's numbers mean.
class Tracks {
 public:
  Tracks(std::span<Reading> readings, const std::vector<ChunkOf>& chunks, Trace& trace) : trace_(trace) {
    std::vector<std::vector<std::size_t>> uses(readings.size());
    for (std::size_t i = 0; i < readings.size(); ++i) uses[i].resize(readings[i].sink.tracks().size());
    for (const ChunkOf& chunk : chunks)
      for (const EventRow& row : chunk.rows->rows) ++uses[chunk.reading][row.track];
    std::map<TrackKey, std::size_t> spans_of;
    for (std::size_t i = 0; i < readings.size(); ++i)
      for (std::size_t t = 0; t < uses[i].size(); ++t)
        if (uses[i][t] > 0) spans_of[readings[i].sink.tracks()[t]] += uses[i][t];
    for (const Reading& reading : readings) take_labels(reading.sink.labels());
    add_processes(spans_of);
    for (const auto& [key, spans] : spans_of) ids_[key] = add(key);
    for (const Reading& reading : readings) {
      std::vector<TrackId>& meaning = meanings_.emplace_back();
      for (const TrackKey& key : reading.sink.tracks()) {
        const auto at = ids_.find(key);
        meaning.push_back(at == ids_.end() ? TrackId{} : at->second);
      }
    }
  }

  TrackId of(uint32_t reading, uint32_t number) const { return meanings_[reading][number]; }

 private:
  void take_labels(const std::vector<Label>& labels) {
    for (const Label& label : labels) {
      if (label.kind == Label::Kind::kProcess) process_names_[label.pid] = label.text;
      if (label.kind == Label::Kind::kThread) thread_names_[{label.pid, label.tid}] = label.text;
    }
  }

  // The process that drives the devices is the one with most spans.
  void add_processes(const std::map<TrackKey, std::size_t>& spans_of) {
    std::map<int64_t, std::size_t> spans;
    for (const auto& [key, count] : spans_of)
      if (!key.stream && key.pid >= 0) spans[key.pid] += count;
    std::size_t most = 0;
    for (const auto& [pid, count] : spans) {
      if (count <= most) continue;
      most = count;
      main_pid_ = pid;
    }
    if (spans.empty()) spans[main_pid_] = 0;
    for (const auto& [pid, count] : spans) {
      const auto name = process_names_.find(pid);
      processes_[pid] =
          trace_.add_track({TrackKind::kProcess,
                            name == process_names_.end() ? fmt::format("process {}", pid) : name->second,
                            {},
                            pid,
                            pid});
    }
  }

  TrackId add(const TrackKey& key) {
    const int64_t pid = key.stream || key.pid < 0 ? main_pid_ : key.pid;
    const auto name = thread_names_.find({key.pid, key.tid});
    Track track;
    track.kind = key.stream ? TrackKind::kStream : TrackKind::kThread;
    track.process = processes_.at(pid);
    track.pid = pid;
    track.tid = key.tid;
    track.device = key.stream ? static_cast<int>(std::clamp<int64_t>(key.pid, 0, 1'000'000)) : -1;
    if (name != thread_names_.end() && !name->second.empty())
      track.name = name->second;
    else if (key.stream)
      track.name = key.tid < 0 ? "whole context" : fmt::format("stream {}", key.tid);
    else
      track.name = key.pid < 0 ? "profiler" : fmt::format("thread {}", key.tid);
    return trace_.add_track(std::move(track));
  }

  Trace& trace_;
  int64_t main_pid_ = 0;
  std::map<int64_t, std::string> process_names_;
  std::map<std::pair<int64_t, int64_t>, std::string> thread_names_;
  std::map<int64_t, TrackId> processes_;
  std::map<TrackKey, TrackId> ids_;
  std::vector<std::vector<TrackId>> meanings_;
};

// The trace's ids of the threads' texts, made when they are first used.
class Texts {
 public:
  Texts(std::span<Reading> readings, StringTable& strings) : readings_(readings), strings_(strings) {
    for (const Reading& reading : readings) ids_.emplace_back(reading.sink.texts().size());
  }
  StringId of(uint32_t reading, uint32_t number) {
    if (number == Interner::kNone) return {};
    StringId& id = ids_[reading][number];
    if (!id.valid()) id = strings_.intern(readings_[reading].sink.texts().text(number));
    return id;
  }

 private:
  std::span<Reading> readings_;
  StringTable& strings_;
  std::vector<std::vector<StringId>> ids_;
};

void add_details(const Rows& rows, const EventRow& row, uint32_t at, uint32_t span, uint32_t reading,
                 Texts& texts, Trace& trace) {
  if (row.category == Category::kOperator) {
    Call call = rows.calls[row.detail];
    call.span = span;
    call.inputs = texts.of(reading, call.inputs.index);
    trace.calls.push_back(call);
  } else if (row.category == Category::kMemcpy || row.category == Category::kMemset) {
    Copy copy = rows.copies[row.detail];
    copy.span = span;
    trace.copies.push_back(copy);
  } else {
    Launch launch = rows.launches[row.detail];
    launch.span = span;
    trace.launches.push_back(launch);
  }
  if (row.category != Category::kCommunication) return;
  if (const Collective* found = find_detail(rows.collectives, at)) {
    Collective collective = *found;
    collective.span = span;
    collective.name = texts.of(reading, collective.name.index);
    collective.group = texts.of(reading, collective.group.index);
    trace.collectives.push_back(collective);
  }
}

// Where no call carries a sequence number, the arrows from forward to backward calls number them.
void number_by_flows(const std::vector<ChunkOf>& chunks, const Tracks& tracks, int64_t first_ns,
                     Trace& trace) {
  const auto numbered = [](const Call& call) { return call.sequence != kNoSequence; };
  if (std::any_of(trace.calls.begin(), trace.calls.end(), numbered)) return;
  std::map<std::pair<uint32_t, int64_t>, int64_t> numbers;  // by track and time
  for (const ChunkOf& chunk : chunks)
    for (const Flow& flow : chunk.rows->flows)
      if (const TrackId track = tracks.of(chunk.reading, flow.track); track.valid())
        numbers[{track.index, flow.at_ns - first_ns}] = static_cast<int64_t>(flow.id);
  if (numbers.empty()) return;
  for (Call& call : trace.calls) {
    const auto at = numbers.find({trace.spans.track[call.span].index, trace.spans.start_ns[call.span]});
    if (at != numbers.end()) call.sequence = at->second;
  }
}

void add_groups(std::span<Reading> readings, const Header& header, RankInfo& info) {
  info.groups = header.groups;
  std::map<std::string, ProcessGroup> seen;  // by name: the order does not depend on the threads
  for (const Reading& reading : readings)
    for (const ProcessGroup& group : reading.sink.groups()) seen.try_emplace(group.name, group);
  for (const auto& entry : seen) {
    const auto known = [&](const ProcessGroup& other) { return other.name == entry.first; };
    if (std::none_of(info.groups.begin(), info.groups.end(), known)) info.groups.push_back(entry.second);
  }
}

}  // namespace

ImportedFile assemble(std::span<Reading> readings, const Header& header, Faults& faults) {
  ImportedFile file;
  Trace& trace = file.trace;
  const std::vector<ChunkOf> chunks = chunks_in_order(readings);
  std::vector<Place> places = places_in_order(chunks, faults);
  leave_out_repeated(chunks, readings, places, faults);
  const int64_t first = places.empty() ? 0 : places.front().start_ns;
  const Tracks tracks(readings, chunks, trace);
  Texts texts(readings, trace.strings);
  trace.spans.reserve(places.size());
  trace.calls.reserve(count_of(chunks, &Rows::calls));
  trace.launches.reserve(count_of(chunks, &Rows::launches));
  trace.copies.reserve(count_of(chunks, &Rows::copies));
  for (const Place& place : places) {
    const ChunkOf& chunk = chunks[place.chunk];
    const EventRow& row = chunk.rows->rows[place.row];
    const auto span = static_cast<uint32_t>(trace.spans.size());
    trace.spans.add({row.start_ns - first,
                     row.duration_ns,
                     tracks.of(chunk.reading, row.track),
                     texts.of(chunk.reading, row.name),
                     row.category,
                     kNoStep,
                     {},
                     row.correlation});
    if (row.detail != kNoDetail) add_details(*chunk.rows, row, place.row, span, chunk.reading, texts, trace);
  }
  number_by_flows(chunks, tracks, first, trace);
  std::vector<MemoryOnTrack> memory;
  for (const ChunkOf& chunk : chunks)
    for (MemoryRow row : chunk.rows->memory) {
      if (row.at_ns < first - kDay || row.at_ns > first + kDay) continue;
      row.at_ns -= first;
      memory.push_back({row, tracks.of(chunk.reading, row.track)});
    }
  trace.memory = memory_history(trace, std::move(memory));

  RankInfo info;
  info.rank = header.rank.value_or(0);
  info.world_size = header.world_size;
  info.backend = header.backend;
  add_groups(readings, header, info);
  trace.meta.ranks.push_back(std::move(info));
  trace.meta.devices = header.devices;
  trace.meta.notes = header.notes;
  trace.meta.block_steps = header.steps;
  if (header.host_use) trace.host_use.push_back(*header.host_use);
  file.rank = header.rank;
  file.has_epoch = header.base_ns.has_value();
  file.epoch_ns = header.base_ns.value_or(0) + first;
  return file;
}

}  // namespace hone::trace::kineto
