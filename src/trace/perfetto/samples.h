// Samples of devices (device_samples.h) in a Perfetto trace: what a series holds is a table, each of its metrics is a counter track
// with an event where a value changes, and a whole number says that a sample ends which none follows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "trace/perfetto/annotation.h"
#include "trace/trace.h"

namespace hone::trace::perfetto {

// Which series of Trace::samples, and which of its metrics.
struct SampleTrack {
  uint32_t series = 0;
  uint32_t metric = 0;
};
uint64_t sample_track_uuid(const SampleTrack& track);
// None: another track.
std::optional<SampleTrack> sample_track(uint64_t uuid);

// What people see on it: "GPU 0: DRAM read", "B/s".
struct SampleTrackWords {
  std::string name, unit;
};
SampleTrackWords sample_track_words(const Trace& trace, const SampleTrack& track);

// Without the samples, and back.
Annotation from_samples(const Trace& trace);
void to_samples(const Annotation& from, Trace& trace);

struct SampleEvent {
  SampleTrack track;
  int64_t time_ns = 0;
  double value = 0;
  bool ends = false;  // the sample before ends, and none follows it at once
};

// Of all samples, by time.
std::vector<SampleEvent> sample_events(const Trace& trace);

// Takes the events back in the order in which they were written.
class SampleEvents {
 public:
  // The table of series has been read.
  explicit SampleEvents(Trace& trace) : trace_(trace) {}
  Status add(const SampleEvent& event);
  Status finish();

 private:
  struct Open {
    int64_t start_ns = 0;
    bool open = false;
    std::vector<double> row = {};
  };
  Status close(uint32_t series, int64_t time_ns);

  Trace& trace_;
  std::vector<Open> series_;
};

}  // namespace hone::trace::perfetto
