#include "trace/perfetto/reader.h"

#include <optional>
#include <unordered_map>

#include <fmt/format.h>
#include <protozero/exception.hpp>

#include "core/file.h"
#include "trace/checked_reader.h"
#include "trace/perfetto/annotation.h"
#include "trace/perfetto/fields.h"
#include "trace/perfetto/samples.h"
#include "trace/perfetto/slice.h"
#include "trace/perfetto/tables.h"

namespace hone::trace {
namespace perfetto {
namespace {

// A TrackEvent as far as hone uses it.
struct Event {
  int32_t type = 0;
  uint64_t track_uuid = 0;
  uint64_t category_iid = 0;
  uint64_t name_iid = 0;
  uint64_t correlation = 0;
  std::optional<double> value;  // of a counter
  std::string_view name;
  std::vector<protozero::data_view> annotations;
};

Event parse_event(protozero::data_view bytes) {
  Event event;
  CheckedReader reader(bytes);
  while (reader.next()) {
    switch (reader.tag()) {
      case EventField::type:
        event.type = reader.get_int32();
        break;
      case EventField::track_uuid:
        event.track_uuid = reader.get_uint64();
        break;
      case EventField::category_iids:
        event.category_iid = reader.get_uint64();
        break;
      case EventField::name_iid:
        event.name_iid = reader.get_uint64();
        break;
      case EventField::flow_ids:
        event.correlation = reader.get_fixed64();
        break;
      case EventField::double_counter_value:
        event.value = reader.get_double();
        break;
      case EventField::name: {
        protozero::data_view view = reader.get_view();
        event.name = {view.data(), view.size()};
        break;
      }
      case EventField::debug_annotations:
        event.annotations.push_back(reader.get_view());
        break;
      default:
        reader.skip();
    }
  }
  return event;
}

class Reader {
 public:
  Result<Trace> run(std::string_view bytes) {
    CheckedReader reader(bytes.data(), bytes.size());
    while (reader.next()) {
      if (reader.tag() != TraceField::packet) {
        reader.skip();
        continue;
      }
      HONE_CHECK(packet(reader.get_view()));
    }
    if (!has_tables_)
      return unsupported(
          "a Perfetto trace that hone did not write (it has no 'about this trace' event); give the recording "
          "that it was made from");
    for (const auto& [uuid, open] : open_)
      if (!open.empty()) return corrupt("a slice begins and never ends: the file is truncated");
    // A file cut between two packets is well-formed: only the count tells.
    if (static_cast<int64_t>(trace_.spans.size()) != expected_spans_)
      return corrupt(
          fmt::format("{} of {} spans: the file is truncated", trace_.spans.size(), expected_spans_));
    HONE_CHECK(samples_.finish());
    HONE_CHECK(trace_.validate());
    return std::move(trace_);
  }

 private:
  Status packet(protozero::data_view bytes) {
    uint64_t time = 0;
    std::optional<protozero::data_view> event;
    CheckedReader reader(bytes);
    while (reader.next()) {
      switch (reader.tag()) {
        case PacketField::timestamp:
          time = reader.get_uint64();
          break;
        case PacketField::interned_data:
          HONE_CHECK(interned(reader.get_view()));
          break;
        case PacketField::track_event:
          event = reader.get_view();
          break;
        default:
          reader.skip();
      }
    }
    return event ? track_event(parse_event(*event), static_cast<int64_t>(time)) : Status{};
  }

  Status interned(protozero::data_view bytes) {
    CheckedReader reader(bytes);
    while (reader.next()) {
      if (reader.tag() != InternedField::event_names && reader.tag() != InternedField::event_categories) {
        reader.skip();
        continue;
      }
      bool is_name = reader.tag() == InternedField::event_names;
      CheckedReader entry(reader.get_view());
      uint64_t iid = 0;
      std::string name;
      while (entry.next()) {
        switch (entry.tag()) {
          case InternedEntryField::iid:
            iid = entry.get_uint64();
            break;
          case InternedEntryField::name:
            name = entry.get_string();
            break;
          default:
            entry.skip();
        }
      }
      if (is_name)
        names_[iid] = trace_.strings.intern(name);
      else
        categories_[iid] = category_from_name(name).value_or(Category::kOther);
    }
    return {};
  }

  Status track_event(const Event& event, int64_t time_ns) {
    if (event.track_uuid == kAboutUuid && event.name == kAboutName) {
      if (has_tables_) return corrupt("two 'about this trace' events");
      has_tables_ = true;
      for (protozero::data_view bytes : event.annotations) {
        Annotation tables = decode(bytes);
        HONE_CHECK(tables_from_annotation(tables, trace_));
        expected_spans_ = tables.integer("spans");
      }
      return {};
    }
    if (!has_tables_)
      return unsupported(
          "a Perfetto trace that hone did not write (it does not begin with its tables); give the recording "
          "that it was made from");
    if (event.type == kSliceBegin) return begin(event, time_ns);
    if (event.type == kSliceEnd) return end(event, time_ns);
    if (const auto track = sample_track(event.track_uuid); track && event.type == kCounter)
      return samples_.add({*track, time_ns, event.value.value_or(0), !event.value});
    return {};
  }

  Status begin(const Event& event, int64_t time_ns) {
    if (uuid_track(event.track_uuid) >= trace_.tracks.size())
      return corrupt(fmt::format("a slice on track {} that is not there", event.track_uuid));
    Span span;
    span.start_ns = time_ns;
    span.track = {static_cast<uint32_t>(uuid_track(event.track_uuid))};
    if (auto name = names_.find(event.name_iid); name != names_.end()) span.name = name->second;
    if (auto found = categories_.find(event.category_iid); found != categories_.end())
      span.category = found->second;
    span.correlation = event.correlation;
    open_[event.track_uuid].push_back(trace_.spans.size());
    trace_.spans.add(span);
    for (protozero::data_view bytes : event.annotations) read_slice_annotation(decode(bytes), trace_);
    return {};
  }

  Status end(const Event& event, int64_t time_ns) {
    std::vector<std::size_t>& open = open_[event.track_uuid];
    if (open.empty()) return corrupt("a slice ends that never began");
    std::size_t row = open.back();
    open.pop_back();
    trace_.spans.duration_ns[row] = time_ns - trace_.spans.start_ns[row];
    return {};
  }

  Trace trace_;
  SampleEvents samples_{trace_};
  bool has_tables_ = false;
  int64_t expected_spans_ = 0;
  std::unordered_map<uint64_t, StringId> names_;
  std::unordered_map<uint64_t, Category> categories_;
  std::unordered_map<uint64_t, std::vector<std::size_t>> open_;
};

}  // namespace
}  // namespace perfetto

Result<Trace> parse_perfetto(std::string_view bytes) {
  try {
    return perfetto::Reader().run(bytes);
  } catch (const protozero::exception& error) {
    return corrupt(fmt::format("no Perfetto trace, or a part of one ({}); hone explain --out writes it anew",
                               error.what()));
  }
}

Result<Trace> read_perfetto(const std::filesystem::path& path) {
  HONE_ASSIGN(auto file, MappedFile::open(path));
  Result<Trace> trace = parse_perfetto(file->text());
  if (!trace.ok()) return trace.error().within(path.string());
  return trace;
}

}  // namespace hone::trace
