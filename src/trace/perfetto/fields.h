// Field numbers of the Perfetto trace protobufs that hone writes and reads (perfetto/protos,
// perfetto_trace.proto). https://perfetto.dev/docs/reference/synthetic-track-event describes how they are
// meant to be used.
#pragma once

#include <cstdint>

#include <protozero/types.hpp>

namespace hone::trace::perfetto {

using Tag = protozero::pbf_tag_type;

struct TraceField {
  static constexpr Tag packet = 1;
};

struct PacketField {
  static constexpr Tag timestamp = 8;  // ns
  static constexpr Tag sequence_id = 10;
  static constexpr Tag track_event = 11;
  static constexpr Tag interned_data = 12;
  static constexpr Tag sequence_flags = 13;
  static constexpr Tag track_descriptor = 60;
};
inline constexpr uint32_t kStateCleared = 1;
inline constexpr uint32_t kNeedsState = 2;

struct TrackField {
  static constexpr Tag uuid = 1;
  static constexpr Tag name = 2;
  static constexpr Tag process = 3;
  static constexpr Tag thread = 4;
  static constexpr Tag parent_uuid = 5;
  static constexpr Tag counter = 8;
};

struct CounterField {
  static constexpr Tag unit_name = 6;
};

struct ProcessField {
  static constexpr Tag pid = 1;
  static constexpr Tag name = 6;
};

struct ThreadField {
  static constexpr Tag pid = 1;
  static constexpr Tag tid = 2;
  static constexpr Tag name = 5;
};

struct EventField {
  static constexpr Tag category_iids = 3;
  static constexpr Tag debug_annotations = 4;
  static constexpr Tag type = 9;
  static constexpr Tag name_iid = 10;
  static constexpr Tag track_uuid = 11;
  static constexpr Tag name = 23;
  static constexpr Tag counter_value = 30;  // whole
  static constexpr Tag double_counter_value = 44;
  static constexpr Tag flow_ids = 47;  // fixed64
};
inline constexpr int32_t kSliceBegin = 1;
inline constexpr int32_t kSliceEnd = 2;
inline constexpr int32_t kInstant = 3;
inline constexpr int32_t kCounter = 4;

struct InternedField {
  static constexpr Tag event_categories = 1;
  static constexpr Tag event_names = 2;
};

struct InternedEntryField {  // the same in EventCategory and EventName
  static constexpr Tag iid = 1;
  static constexpr Tag name = 2;
};

struct AnnotationField {
  static constexpr Tag uint_value = 3;
  static constexpr Tag int_value = 4;
  static constexpr Tag double_value = 5;
  static constexpr Tag string_value = 6;
  static constexpr Tag name = 10;
  static constexpr Tag dict_entries = 11;
  static constexpr Tag array_values = 12;
};

// How hone numbers the tracks it writes. A track's spans that overlap without nesting go to further lanes of
// it, because Perfetto's slices must nest.
inline constexpr uint64_t kAboutUuid = uint64_t{1} << 63;
constexpr uint64_t track_uuid(uint32_t track, uint32_t lane) {
  return (static_cast<uint64_t>(lane) << 32) | (static_cast<uint64_t>(track) + 1);
}
constexpr uint64_t uuid_track(uint64_t uuid) { return (uuid & 0xffffffffu) - 1; }

}  // namespace hone::trace::perfetto
