#include "trace/perfetto/writer.h"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include "core/file.h"
#include "trace/perfetto/annotation.h"
#include "trace/perfetto/fields.h"
#include "trace/perfetto/lanes.h"
#include "trace/perfetto/samples.h"
#include "trace/perfetto/slice.h"
#include "trace/perfetto/tables.h"

namespace hone::trace {
namespace perfetto {
namespace {

using protozero::pbf_writer;

constexpr uint32_t kSequence = 1;  // all packets are of one writer
constexpr std::size_t kFlushBytes = std::size_t{1} << 20;

// Perfetto merges processes of one pid and threads of one tid; ranks of different hosts may share them.
class UniqueNumbers {
 public:
  int32_t take(int64_t wanted) {
    auto number = static_cast<int32_t>(wanted & 0x7fffffff);
    while (!taken_.insert(number).second) number = 0x40000000 + next_++;
    return number;
  }

 private:
  std::set<int32_t> taken_;
  int32_t next_ = 0;
};

// Processes of several ranks mostly go by one name.
std::string process_name(const Trace& trace, const Track& track) {
  return trace.meta.ranks.size() > 1 ? fmt::format("rank {}: {}", track.rank, track.name) : track.name;
}

std::string descriptor(const Track& track, uint64_t uuid, uint64_t parent, int32_t pid, int32_t tid,
                       const std::string& process_name) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_uint64(TrackField::uuid, uuid);
  if (track.kind == TrackKind::kProcess) {
    pbf_writer process(writer, TrackField::process);
    process.add_int32(ProcessField::pid, pid);
    process.add_string(ProcessField::name, process_name);
  } else if (track.kind == TrackKind::kThread) {
    pbf_writer thread(writer, TrackField::thread);
    thread.add_int32(ThreadField::pid, pid);
    thread.add_int32(ThreadField::tid, tid);
    thread.add_string(ThreadField::name, track.name);
  } else {
    writer.add_string(TrackField::name, track.name);
    writer.add_uint64(TrackField::parent_uuid, parent);
  }
  return bytes;
}

std::string lane_descriptor(uint64_t uuid, uint64_t parent, const std::string& name) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_uint64(TrackField::uuid, uuid);
  writer.add_string(TrackField::name, name);
  if (parent != 0) writer.add_uint64(TrackField::parent_uuid, parent);
  return bytes;
}

void add_interned(pbf_writer& data, Tag field, uint64_t iid, std::string_view name) {
  pbf_writer entry(data, field);
  entry.add_uint64(InternedEntryField::iid, iid);
  entry.add_string(InternedEntryField::name, name.data(), name.size());
}

std::string interned_data(const Trace& trace) {
  std::string bytes;
  pbf_writer writer(bytes);
  for (int i = 0; i < kCategoryCount; ++i)
    add_interned(writer, InternedField::event_categories, static_cast<uint64_t>(i) + 1,
                 category_name(static_cast<Category>(i)));
  for (uint32_t i = 0; i < trace.strings.size(); ++i)
    add_interned(writer, InternedField::event_names, uint64_t{i} + 1, trace.strings.text({i}));
  return bytes;
}

class Writer {
 public:
  Writer(const Trace& trace, AtomicFile& file) : trace_(trace), file_(file) {}

  Status run() {
    HONE_CHECK(start());
    HONE_CHECK(tracks());
    std::vector<LaneEvent> events = lane_events(trace_.spans);
    HONE_CHECK(lanes(events));
    const std::vector<SampleEvent> samples = sample_events(trace_);
    const int64_t first = events.empty() ? 0 : events.front().time_ns;
    HONE_CHECK(about(samples.empty() ? first : std::min(first, samples.front().time_ns)));
    HONE_CHECK(counters());
    auto next = samples.begin();
    for (const LaneEvent& event : events) {
      for (; next != samples.end() && next->time_ns < event.time_ns; ++next) HONE_CHECK(sample(*next));
      HONE_CHECK(slice(event));
    }
    for (; next != samples.end(); ++next) HONE_CHECK(sample(*next));
    return file_.write(buffer_);
  }

 private:
  // One packet: `fill` adds what is in it.
  template <typename Fill>
  Status packet(uint32_t flags, Fill fill) {
    {
      pbf_writer trace_writer(buffer_);
      pbf_writer writer(trace_writer, TraceField::packet);
      writer.add_uint32(PacketField::sequence_id, kSequence);
      writer.add_uint32(PacketField::sequence_flags, flags);
      fill(writer);
    }
    if (buffer_.size() < kFlushBytes) return {};
    Status written = file_.write(buffer_);
    buffer_.clear();
    return written;
  }

  Status start() {
    return packet(kStateCleared, [&](pbf_writer& writer) {
      writer.add_message(PacketField::interned_data, interned_data(trace_));
    });
  }

  Status describe(const std::string& bytes) {
    return packet(kNeedsState,
                  [&](pbf_writer& writer) { writer.add_message(PacketField::track_descriptor, bytes); });
  }

  Status tracks() {
    HONE_CHECK(describe(lane_descriptor(kAboutUuid, 0, "hone")));
    UniqueNumbers pids, tids;
    std::vector<int32_t> pid_of(trace_.tracks.size());
    for (uint32_t i = 0; i < trace_.tracks.size(); ++i)
      if (trace_.tracks[i].kind == TrackKind::kProcess) pid_of[i] = pids.take(trace_.tracks[i].pid);
    for (uint32_t i = 0; i < trace_.tracks.size(); ++i) {
      const Track& track = trace_.tracks[i];
      uint32_t process = track.process.valid() ? track.process.index : i;
      int32_t tid = track.kind == TrackKind::kThread ? tids.take(track.tid) : 0;
      uint64_t parent = track.process.valid() ? track_uuid(process, 0) : 0;
      HONE_CHECK(describe(
          descriptor(track, track_uuid(i, 0), parent, pid_of[process], tid, process_name(trace_, track))));
    }
    return {};
  }

  // Descriptors of the lanes beyond the first of their track.
  Status lanes(const std::vector<LaneEvent>& events) {
    std::set<uint64_t> described;
    for (const LaneEvent& event : events) {
      if (event.lane == 0) continue;
      uint32_t track = trace_.spans.track[event.row].index;
      uint64_t uuid = track_uuid(track, event.lane);
      if (!described.insert(uuid).second) continue;
      HONE_CHECK(describe(lane_descriptor(uuid, track_uuid(track, 0), trace_.tracks[track].name)));
    }
    return {};
  }

  Status about(int64_t time_ns) {
    return packet(kNeedsState, [&](pbf_writer& writer) {
      writer.add_uint64(PacketField::timestamp, static_cast<uint64_t>(time_ns));
      pbf_writer event(writer, PacketField::track_event);
      event.add_int32(EventField::type, kInstant);
      event.add_uint64(EventField::track_uuid, kAboutUuid);
      event.add_string(EventField::name, kAboutName.data(), kAboutName.size());
      event.add_message(EventField::debug_annotations, encode(tables_to_annotation(trace_)));
    });
  }

  Status slice(const LaneEvent& lane_event) {
    return packet(kNeedsState, [&](pbf_writer& writer) {
      Span span = trace_.spans.row(lane_event.row);
      writer.add_uint64(PacketField::timestamp, static_cast<uint64_t>(lane_event.time_ns));
      pbf_writer event(writer, PacketField::track_event);
      event.add_int32(EventField::type, lane_event.begins ? kSliceBegin : kSliceEnd);
      event.add_uint64(EventField::track_uuid, track_uuid(span.track.index, lane_event.lane));
      if (!lane_event.begins) return;
      event.add_uint64(EventField::category_iids, static_cast<uint64_t>(span.category) + 1);
      if (span.name.valid()) event.add_uint64(EventField::name_iid, uint64_t{span.name.index} + 1);
      if (span.correlation != 0) event.add_fixed64(EventField::flow_ids, span.correlation);
      for (const Annotation& annotation : slice_annotations(trace_, lane_event.row))
        event.add_message(EventField::debug_annotations, encode(annotation));
    });
  }

  Status counters() {
    for (uint32_t series = 0; series < trace_.samples.size(); ++series)
      for (uint32_t metric = 0; metric < trace_.samples[series].metrics.size(); ++metric)
        HONE_CHECK(describe(counter_descriptor({series, metric})));
    return {};
  }

  Status sample(const SampleEvent& sample) {
    return packet(kNeedsState, [&](pbf_writer& writer) {
      writer.add_uint64(PacketField::timestamp, static_cast<uint64_t>(sample.time_ns));
      pbf_writer event(writer, PacketField::track_event);
      event.add_int32(EventField::type, kCounter);
      event.add_uint64(EventField::track_uuid, sample_track_uuid(sample.track));
      if (sample.ends)
        event.add_int64(EventField::counter_value, 0);
      else
        event.add_double(EventField::double_counter_value, sample.value);
    });
  }

  // Beneath the process of its rank.
  std::string counter_descriptor(const SampleTrack& track) const {
    const SampleTrackWords words = sample_track_words(trace_, track);
    std::string bytes;
    pbf_writer writer(bytes);
    writer.add_uint64(TrackField::uuid, sample_track_uuid(track));
    writer.add_string(TrackField::name, words.name);
    for (uint32_t i = 0; i < trace_.tracks.size(); ++i)
      if (trace_.tracks[i].kind == TrackKind::kProcess &&
          trace_.tracks[i].rank == trace_.samples[track.series].rank) {
        writer.add_uint64(TrackField::parent_uuid, track_uuid(i, 0));
        break;
      }
    pbf_writer counter(writer, TrackField::counter);
    counter.add_string(CounterField::unit_name, words.unit);
    return bytes;
  }

  const Trace& trace_;
  AtomicFile& file_;
  std::string buffer_;
};

}  // namespace
}  // namespace perfetto

Status write_perfetto(const Trace& trace, const std::filesystem::path& path) {
  HONE_CHECK(trace.validate());
  HONE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  perfetto::Writer writer(trace, file);
  HONE_CHECK(writer.run());
  return file.commit();
}

}  // namespace hone::trace
