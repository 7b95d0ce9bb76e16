#include "trace/sampled_metrics.h"

#include <iterator>

namespace hone::trace {
namespace {

using enum Sampled;

// docs.nvidia.com/cupti/main/main.html, "PM Sampling Metric Table".
constexpr SampledMetric kSampledMetrics[] = {
    {kComputeActive, "compute engine active", "%", {"gr__cycles_active.sum.pct_of_peak_sustained_elapsed"}},
    {kSmActive, "multiprocessors active", "%", {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed"}},
    {kTensorActive,
     "tensor cores active",
     "%",
     {"sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
      "sm__pipe_shared_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed"}},
    {kIssueActive,
     "instructions issued",
     "%",
     {"sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed"}},
    {kWarpsActive,
     "warps resident",
     "%",
     {"tpc__warps_active_realtime.avg.pct_of_peak_sustained_elapsed",
      "sm__warps_active_realtime.avg.pct_of_peak_sustained_elapsed"}},
    {kDramRead,
     "DRAM read",
     "B/s",
     {"dram__bytes_read.sum.per_second", "dram__bytes_op_read.sum.per_second"}},
    {kDramWritten,
     "DRAM written",
     "B/s",
     {"dram__bytes_write.sum.per_second", "dram__bytes_op_write.sum.per_second"}},
    {kPcieReceived, "PCIe received", "B/s", {"pcie__read_bytes.sum.per_second"}},
    {kPcieSent, "PCIe sent", "B/s", {"pcie__write_bytes.sum.per_second"}},
    {kNvlinkReceived, "NVLink received", "B/s", {"nvlrx__bytes.sum.per_second"}},
    {kNvlinkSent, "NVLink sent", "B/s", {"nvltx__bytes.sum.per_second"}},
    {kSmClock, "multiprocessor clock", "Hz", {"gpc__cycles_elapsed.avg.per_second"}},
};
static_assert(std::size(kSampledMetrics) == kSampledCount);

}  // namespace

std::span<const SampledMetric> sampled_metrics() { return kSampledMetrics; }

const SampledMetric* sampled_metric(std::string_view name) {
  for (const SampledMetric& metric : kSampledMetrics)
    for (const std::string_view known : metric.names)
      if (!known.empty() && known == name) return &metric;
  return nullptr;
}

std::optional<std::size_t> column_of(const DeviceSamples& samples, const StringTable& strings, Sampled what) {
  for (std::size_t i = 0; i < samples.metrics.size(); ++i)
    if (const SampledMetric* metric = sampled_metric(strings.text(samples.metrics[i]));
        metric != nullptr && metric->what == what)
      return i;
  return std::nullopt;
}

}  // namespace hone::trace
