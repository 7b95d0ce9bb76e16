#include "trace/perfetto/samples.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "trace/sampled_metrics.h"

namespace hone::trace::perfetto {
namespace {

constexpr uint64_t kSampleBit = uint64_t{1} << 62;
constexpr uint64_t kAboutBit = uint64_t{1} << 63;  // kAboutUuid
constexpr int kMetricBits = 16;

}  // namespace

uint64_t sample_track_uuid(const SampleTrack& track) {
  return kSampleBit | uint64_t{track.series} << kMetricBits | track.metric;
}

std::optional<SampleTrack> sample_track(uint64_t uuid) {
  if ((uuid & kSampleBit) == 0 || (uuid & kAboutBit) != 0) return std::nullopt;
  return SampleTrack{static_cast<uint32_t>(uuid >> kMetricBits),
                     static_cast<uint32_t>(uuid & ((1u << kMetricBits) - 1))};
}

SampleTrackWords sample_track_words(const Trace& trace, const SampleTrack& track) {
  const DeviceSamples& samples = trace.samples[track.series];
  const std::string_view name = trace.strings.text(samples.metrics[track.metric]);
  const SampledMetric* metric = sampled_metric(name);
  const std::string_view label = metric == nullptr ? name : metric->label;
  return {fmt::format("GPU {}: {}", samples.device, label), std::string(metric ? metric->unit : "")};
}

Annotation from_samples(const Trace& trace) {
  Annotation::Array rows;
  for (const DeviceSamples& samples : trace.samples) {
    Annotation::Array metrics;
    for (const StringId metric : samples.metrics)
      metrics.items.push_back({"", std::string(trace.strings.text(metric))});
    rows.items.push_back({"", Annotation::Dict{{
                                  {"rank", int64_t{samples.rank}},
                                  {"device", int64_t{samples.device}},
                                  {"interval_ns", samples.interval_ns},
                                  {"metrics", std::move(metrics)},
                              }}});
  }
  return {"samples", std::move(rows)};
}

void to_samples(const Annotation& from, Trace& trace) {
  const auto* rows = std::get_if<Annotation::Array>(&from.value);
  if (rows == nullptr) return;
  for (const Annotation& row : rows->items) {
    DeviceSamples samples;
    samples.rank = static_cast<int>(row.integer("rank"));
    samples.device = static_cast<int>(row.integer("device"));
    samples.interval_ns = row.integer("interval_ns");
    for (const Annotation& metric : row.items("metrics"))
      if (const auto* name = std::get_if<std::string>(&metric.value))
        samples.metrics.push_back(trace.strings.intern(*name));
    trace.samples.push_back(std::move(samples));
  }
}

// The first metric has an event for each sample, the others where they change; from the end of a sample that none follows
// they are 0.
std::vector<SampleEvent> sample_events(const Trace& trace) {
  std::vector<SampleEvent> events;
  for (uint32_t series = 0; series < trace.samples.size(); ++series) {
    const DeviceSamples& samples = trace.samples[series];
    const auto metrics = static_cast<uint32_t>(samples.metrics.size());
    std::vector<double> last(metrics, 0);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto row = samples.row(i);
      for (uint32_t metric = 0; metric < metrics; ++metric)
        if (metric == 0 || row[metric] != last[metric])
          events.push_back({{series, metric}, samples.start_ns[i], row[metric], false});
      last.assign(row.begin(), row.end());
      if (i + 1 < samples.size() && samples.start_ns[i + 1] == samples.end_ns[i]) continue;
      for (uint32_t metric = 0; metric < metrics; ++metric)
        if (metric == 0 || last[metric] != 0)
          events.push_back({{series, metric}, samples.end_ns[i], 0, true});
      last.assign(metrics, 0);
    }
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const SampleEvent& a, const SampleEvent& b) { return a.time_ns < b.time_ns; });
  return events;
}

Status SampleEvents::add(const SampleEvent& event) {
  const auto [series, metric] = event.track;
  if (series >= trace_.samples.size() || metric >= trace_.samples[series].metrics.size())
    return corrupt("a sample of a device of which nothing is known");
  series_.resize(trace_.samples.size());
  Open& open = series_[series];
  if (metric == 0) {
    HONE_CHECK(close(series, event.time_ns));
    open.start_ns = event.time_ns;
    open.open = !event.ends;
    if (event.ends || open.row.empty()) open.row.assign(trace_.samples[series].metrics.size(), 0);
  }
  if (!event.ends && open.open) open.row[metric] = event.value;
  return {};
}

Status SampleEvents::close(uint32_t series, int64_t time_ns) {
  Open& open = series_[series];
  if (!std::exchange(open.open, false) || trace_.samples[series].add(open.start_ns, time_ns, open.row))
    return {};
  return corrupt("samples of a device are out of order, or no numbers");
}

Status SampleEvents::finish() {
  if (std::any_of(series_.begin(), series_.end(), [](const Open& open) { return open.open; }))
    return corrupt("a sample of a device begins and never ends: the file is truncated");
  return {};
}

}  // namespace hone::trace::perfetto
