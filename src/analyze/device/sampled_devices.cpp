#include "analyze/device/sampled_devices.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace hone::analyze::device {
namespace {

using trace::DeviceSamples, trace::SampledStep;

constexpr std::size_t kParts = 100;  // of a step

// JSON's names, in the order of trace::Sampled.
constexpr std::array<std::string_view, trace::kSampledCount> kFigureNames = {
    "compute_active", "sm_active",     "tensor_active", "issue_active",    "warps_active", "dram_read",
    "dram_written",   "pcie_received", "pcie_sent",     "nvlink_received", "nvlink_sent",  "sm_clock"};

// Sums of values times the time that they stand for.
struct TimedSums {
  explicit TimedSums(std::size_t metrics) : sums(metrics, 0) {}

  void add(std::span<const double> row, double ns) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += row[i] * ns;
    total_ns += ns;
  }
  double mean(std::size_t metric) const { return total_ns > 0 ? sums[metric] / total_ns : 0; }

  std::vector<double> sums;
  double total_ns = 0;
};

class SampledSteps {
 public:
  SampledSteps(const DeviceSamples& samples, const std::vector<SampledStep>& all) : samples_(samples) {
    for (const SampledStep& step : all)
      if (step.rank == samples.rank && step.start_ns >= samples.start_ns.front() &&
          step.end_ns <= samples.end_ns.back())
        steps_.push_back(step);
    whole_ = TimedSums(samples.metrics.size());
    parts_.assign(kParts, TimedSums(samples.metrics.size()));
  }

  void run() {
    std::size_t first = 0;
    for (const SampledStep& step : steps_) {
      while (first < samples_.size() && samples_.end_ns[first] <= step.start_ns) ++first;
      for (std::size_t i = first; i < samples_.size() && samples_.start_ns[i] < step.end_ns; ++i)
        add(i, step);
    }
    if (!steps_.empty() && whole_.total_ns > 0) return;
    steps_.clear();
    for (std::size_t i = 0; i < samples_.size(); ++i) whole_.add(samples_.row(i), duration(i));
  }

  const std::vector<SampledStep>& steps() const { return steps_; }
  double mean(std::size_t metric) const { return whole_.mean(metric); }
  // Empty where no step is known, or where some part of it was never sampled.
  std::vector<double> profile(std::size_t metric) const {
    std::vector<double> profile;
    for (const TimedSums& part : parts_)
      if (part.total_ns > 0) profile.push_back(part.mean(metric));
    if (steps_.empty() || profile.size() < kParts) profile.clear();
    return profile;
  }

 private:
  double duration(std::size_t sample) const {
    return static_cast<double>(samples_.end_ns[sample] - samples_.start_ns[sample]);
  }

  // The part of the sample that lies in the step, spread over the parts of the step that it lies in.
  void add(std::size_t sample, const SampledStep& step) {
    const auto length = static_cast<double>(step.end_ns - step.start_ns);
    const double from =
        static_cast<double>(std::max(samples_.start_ns[sample], step.start_ns) - step.start_ns);
    const double to = static_cast<double>(std::min(samples_.end_ns[sample], step.end_ns) - step.start_ns);
    const auto row = samples_.row(sample);
    whole_.add(row, to - from);
    const double part_ns = length / kParts;
    auto part = static_cast<std::size_t>(from / part_ns);
    for (; part < kParts && static_cast<double>(part) * part_ns < to; ++part) {
      const double begin = static_cast<double>(part) * part_ns;
      const double ns = std::min(to, begin + part_ns) - std::max(from, begin);
      if (ns > 0) parts_[part].add(row, ns);
    }
  }

  const DeviceSamples& samples_;
  std::vector<SampledStep> steps_;
  TimedSums whole_{0};
  std::vector<TimedSums> parts_;
};

double most_of(const DeviceSamples& samples, std::size_t metric) {
  double most = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) most = std::max(most, samples.row(i)[metric]);
  return most;
}

SampledDevice sampled_device(const trace::Trace& trace, const DeviceSamples& samples) {
  SampledDevice device;
  device.rank = samples.rank;
  device.device = samples.device;
  device.samples = static_cast<double>(samples.size());
  device.interval_us = static_cast<double>(samples.interval_ns) * 1e-3;
  SampledSteps steps(samples, trace.meta.sampled_steps);
  steps.run();
  device.steps = static_cast<double>(steps.steps().size());
  for (const SampledStep& step : steps.steps())
    device.step_ms += static_cast<double>(step.end_ns - step.start_ns) * 1e-6 / device.steps;
  for (const trace::SampledMetric& metric : trace::sampled_metrics()) {
    const auto column = trace::column_of(samples, trace.strings, metric.what);
    if (!column) continue;
    SampledFigure figure;
    figure.name = kFigureNames[static_cast<std::size_t>(metric.what)];
    figure.label = metric.label;
    figure.unit = metric.unit;
    figure.mean = steps.mean(*column);
    figure.most = most_of(samples, *column);
    figure.profile = steps.profile(*column);
    device.figures.push_back(std::move(figure));
  }
  return device;
}

}  // namespace

std::vector<SampledDevice> sampled_devices(const trace::Trace& trace) {
  std::vector<SampledDevice> devices;
  for (const DeviceSamples& samples : trace.samples)
    if (samples.size() > 0) devices.push_back(sampled_device(trace, samples));
  return devices;
}

std::optional<double> sampled_mean(const SampledDevice& device, trace::Sampled what) {
  for (const SampledFigure& figure : device.figures)
    if (figure.name == kFigureNames[static_cast<std::size_t>(what)]) return figure.mean;
  return std::nullopt;
}

const SampledDevice* find_sampled(const std::vector<SampledDevice>& devices, int rank, int device) {
  const auto at = std::find_if(devices.begin(), devices.end(), [&](const SampledDevice& each) {
    return each.rank == rank && each.device == device;
  });
  return at == devices.end() ? nullptr : &*at;
}

}  // namespace hone::analyze::device
