// What the events of one file say, before they are ordered and put together as a Trace: rows that name texts
// and tracks by numbers of the thread that read them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/details.h"
#include "trace/trace.h"

namespace hone::trace::kineto {

inline constexpr uint32_t kNoDetail = 0xffffffffu;

struct EventRow {
  int64_t start_ns = 0;  // since the file's base time
  int64_t duration_ns = 0;
  uint64_t correlation = 0;
  uint32_t track = 0;
  uint32_t name = 0;
  uint32_t detail = kNoDetail;  // its row in the table of its category: calls, launches or copies
  Category category = Category::kOther;
};

// One side of an arrow from a forward call to the backward call that belongs to it.
struct Flow {
  uint64_t id = 0;
  int64_t at_ns = 0;
  uint32_t track = 0;
  bool begins = false;
};

// A tensor's memory was taken or given back.
struct MemoryRow {
  int64_t at_ns = 0;
  int64_t bytes = 0;  // negative: given back
  uint64_t address = 0;
  int64_t allocated = -1, reserved = -1;  // of the device after it
  int32_t device = -1;                    // -1: the host
  uint32_t track = 0;
};

// The events of one chunk, in the file's order. Details have a row's number as their span.
struct Rows {
  std::size_t chunk = 0;
  std::vector<EventRow> rows;
  std::vector<Call> calls;
  std::vector<Launch> launches;
  std::vector<Copy> copies;
  std::vector<Collective> collectives;
  std::vector<Flow> flows;
  std::vector<MemoryRow> memory;

  // Keeps the room.
  void clear() {
    rows.clear();
    calls.clear();
    launches.clear();
    copies.clear();
    collectives.clear();
    flows.clear();
    memory.clear();
  }
};

struct TrackKey {
  int64_t pid = 0;  // of a stream: the device
  int64_t tid = 0;  // of a stream: its id
  bool stream = false;
  friend bool operator==(const TrackKey&, const TrackKey&) = default;
  friend auto operator<=>(const TrackKey&, const TrackKey&) = default;
};

// "process_name", "thread_name" and "process_labels" rows.
struct Label {
  enum class Kind : uint8_t { kProcess, kProcessLabels, kThread };
  Kind kind = Kind::kProcess;
  int64_t pid = 0;
  int64_t tid = 0;
  std::string text;
};

// Something that was wrong with some events: how many, and the first in the file.
struct Fault {
  uint64_t count = 0;
  uint64_t offset = 0;  // of the first, in the file
  std::string example;

  void add(uint64_t at, std::string_view what) {
    if (count++ > 0 && at >= offset) return;
    offset = at;
    example = what.substr(0, 120);
  }
  void add(const Fault& other) {
    if (other.count == 0) return;
    if (count == 0 || other.offset < offset) {
      offset = other.offset;
      example = other.example;
    }
    count += other.count;
  }
};

struct Faults {
  Fault repaired;         // the event was read after its text was mended
  Fault lost;             // its text could not be mended
  Fault cut_off;          // the file ends inside it
  Fault no_time;          // no number as its start
  Fault no_microseconds;  // a number as its start that no clock shows in µs
  Fault no_duration;      // none, or no number: taken as 0
  Fault negative;         // duration below 0: taken as 0
  Fault repeated;         // work of a device that stands in the file more than once
  Fault far_away;         // a day or more from the others
  Fault unknown_kind;     // a category or phase that hone does not know
  Fault unknown_inputs;   // inputs of a call that are not as PyTorch writes them

  void add(const Faults& other) {
    repaired.add(other.repaired);
    lost.add(other.lost);
    cut_off.add(other.cut_off);
    no_time.add(other.no_time);
    no_microseconds.add(other.no_microseconds);
    no_duration.add(other.no_duration);
    negative.add(other.negative);
    repeated.add(other.repeated);
    far_away.add(other.far_away);
    unknown_kind.add(other.unknown_kind);
    unknown_inputs.add(other.unknown_inputs);
  }
};

}  // namespace hone::trace::kineto
