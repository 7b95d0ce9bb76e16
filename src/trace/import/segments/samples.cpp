#include "trace/import/segments/samples.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace hone::trace::segments {
namespace {

constexpr uint32_t kMostMetrics = 256;
constexpr uint32_t kMostSampledDevices = 1'000'000;

}  // namespace

bool SampleSeries::read(const DeviceSamples& record, std::string_view following,
                        const std::function<StringId(uint32_t)>& name_of) {
  if (record.metrics == 0 || record.metrics > kMostMetrics) return false;
  const std::size_t name_bytes = (record.metrics * sizeof(uint32_t) + 7) / 8 * 8;
  const std::size_t row_bytes = sizeof(DeviceSample) + record.metrics * sizeof(double);
  if (following.size() < name_bytes || (following.size() - name_bytes) / row_bytes < record.samples)
    return false;
  trace::DeviceSamples piece;
  piece.device = static_cast<int>(std::min(record.device, kMostSampledDevices));
  piece.interval_ns = std::max<int64_t>(record.interval_ns, 0);
  for (uint32_t i = 0; i < record.metrics; ++i) {
    uint32_t name = kNoName;
    std::memcpy(&name, following.data() + i * sizeof(name), sizeof(name));
    piece.metrics.push_back(name_of(name));
  }
  std::vector<double> values(record.metrics);
  const char* at = following.data() + name_bytes;
  for (uint32_t i = 0; i < record.samples; ++i, at += row_bytes) {
    DeviceSample sample;
    std::memcpy(&sample, at, sizeof(sample));
    std::memcpy(values.data(), at + sizeof(sample), values.size() * sizeof(double));
    piece.add(sample.start_ns, sample.end_ns, values);
  }
  pieces_.push_back(std::move(piece));
  return true;
}

std::vector<trace::DeviceSamples> SampleSeries::finish(int64_t first_ns) && {
  std::vector<trace::DeviceSamples> series;
  for (const trace::DeviceSamples& piece : pieces_) {
    auto at = std::find_if(series.begin(), series.end(), [&](const trace::DeviceSamples& each) {
      return each.device == piece.device && each.metrics == piece.metrics;
    });
    if (at == series.end())
      at = series.insert(at, {0, piece.device, piece.interval_ns, piece.metrics, {}, {}, {}});
    for (std::size_t i = 0; i < piece.size(); ++i)
      at->add(piece.start_ns[i] - first_ns, piece.end_ns[i] - first_ns, piece.row(i));
  }
  std::erase_if(series, [](const trace::DeviceSamples& each) { return each.size() == 0; });
  return series;
}

}  // namespace hone::trace::segments
