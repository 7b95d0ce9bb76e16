#include "observe/session/sampling.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/file.h"
#include "observe/control.h"
#include "trace/sampled_metrics.h"

namespace hone::observe {
namespace {

constexpr int64_t kLongestInterval = 1'000'000;  // ns
constexpr int64_t kSamplesAStep = 200;
// What a trace holds of each device without being mostly that. Each sample costs a thread of the program some 60 µs: 5000 a
// second keep it busy for a third.
constexpr double kMostSamples = 5'000;

}  // namespace

int64_t sampling_interval_ns(int64_t step_ns) {
  const double sampled_ns = std::max(kSampledSeconds * 1e9, kSampledSteps * static_cast<double>(step_ns));
  const int64_t shortest = std::llround(sampled_ns / kMostSamples);
  return std::max(std::min(step_ns / kSamplesAStep, kLongestInterval), shortest) / 1000 * 1000;
}

std::string sampling_request(std::span<const uint32_t> devices, int64_t interval_ns) {
  std::string request;
  for (const trace::SampledMetric& metric : trace::sampled_metrics()) {
    request += "metric";
    for (const std::string_view name : metric.names)
      if (!name.empty()) request += fmt::format(" {}", name);
    request += '\n';
  }
  for (const uint32_t device : devices) request += fmt::format("sample {} {}\n", device, interval_ns);
  return request;
}

Status write_sampling_request(const std::filesystem::path& run_folder, int pid, const std::string& request) {
  const std::filesystem::path folder = run_folder / kSamplingFolder;
  HONE_CHECK(make_folder(folder));
  return write_file(folder / std::to_string(pid), request);
}

}  // namespace hone::observe
