#include "lab/ceilings/gpu/gpu_probe.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/clock.h"
#include "core/statistics.h"

namespace hone::lab {
namespace {

constexpr double kShortest = 1e-9;  // s: no work is done in less, whatever a clock says
constexpr std::size_t kMostInGraph = 4096;
constexpr int kReplaysForNvml = 16;  // longer than NVML needs for an answer

std::optional<double> median_of(std::vector<double> values) {
  return values.empty() ? std::nullopt : std::optional(quantile(values, 0.5));
}

struct GpuStates {
  std::vector<double> sm_mhz, watts;
  void add(const GpuState& state) {
    if (state.sm_mhz) sm_mhz.push_back(*state.sm_mhz);
    if (state.watts) watts.push_back(*state.watts);
  }
  GpuState medians() const { return {median_of(sm_mhz), median_of(watts)}; }
};

}  // namespace

Rate rate_of(const GpuTimes& times, double amount) {
  if (times.seconds.empty()) return {};
  const auto [low, high] = std::minmax_element(times.seconds.begin(), times.seconds.end());
  return {amount / quantile(times.seconds, 0.5), amount / *high, amount / *low};
}

Duration duration_of(const GpuTimes& times) {
  if (times.seconds.empty()) return {};
  const auto [low, high] = std::minmax_element(times.seconds.begin(), times.seconds.end());
  return {quantile(times.seconds, 0.5), *low, *high};
}

// Runs of one work in a recording.
struct GpuProbe::Repeated : runtime::Sequence {
  Repeated(const GpuWork& w, std::size_t r) : work(w), runs(r) {}
  Status enqueue(runtime::Queue& queue) override {
    for (std::size_t i = 0; i < runs; ++i) HONE_CHECK(work(static_cast<runtime::CudaQueue&>(queue)));
    return {};
  }
  const GpuWork& work;
  std::size_t runs;
  std::unique_ptr<runtime::Recording> recording;
};

Result<std::unique_ptr<GpuProbe>> GpuProbe::make(const std::shared_ptr<runtime::CudaDevice>& device,
                                                 const GpuRoofSizes& sizes) {
  HONE_ASSIGN(std::unique_ptr<runtime::Queue> queue, device->make_queue());
  return std::unique_ptr<GpuProbe>(new GpuProbe(std::move(queue), device->context()->pci_bus_id(), sizes));
}

Result<double> GpuProbe::seconds_between(const runtime::Event& from, const runtime::Event& to) {
  HONE_ASSIGN(const double us, queue_->microseconds(from, to));
  return std::max(us * 1e-6, kShortest);
}

// As many runs as take `seconds`, by the second of two alone: the first brings code to the device.
Result<std::unique_ptr<GpuProbe::Repeated>> GpuProbe::record(const GpuWork& work, double seconds) {
  HONE_ASSIGN(const std::unique_ptr<runtime::Event> begin, queue_->make_event());
  HONE_ASSIGN(const std::unique_ptr<runtime::Event> end, queue_->make_event());
  double alone = 0;
  for (int i = 0; i < 2; ++i) {
    HONE_CHECK(queue_->record(*begin));
    HONE_CHECK(work(*queue_));
    HONE_CHECK(queue_->record(*end));
    HONE_CHECK(queue_->wait());
    HONE_ASSIGN(alone, seconds_between(*begin, *end));
  }
  const double runs = std::clamp(std::ceil(seconds / alone), 1.0, static_cast<double>(kMostInGraph));
  auto repeated = std::make_unique<Repeated>(work, static_cast<std::size_t>(runs));
  HONE_ASSIGN(repeated->recording, queue_->make_recording(*repeated));
  return repeated;
}

Result<GpuTimes> GpuProbe::in_bursts(const GpuWork& work, double rest_s, int readings) {
  HONE_ASSIGN(const std::unique_ptr<Repeated> repeated, record(work, sizes_.replay_s));
  HONE_ASSIGN(const std::unique_ptr<runtime::Event> begin, queue_->make_event());
  HONE_ASSIGN(const std::unique_ptr<runtime::Event> end, queue_->make_event());
  GpuTimes times;
  GpuStates states;
  for (int i = 0; i < readings; ++i) {
    if (rest_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(rest_s));
    HONE_CHECK(repeated->recording->replay());  // out of the rest, and the host ahead of the device
    HONE_CHECK(queue_->record(*begin));
    HONE_CHECK(repeated->recording->replay());
    HONE_CHECK(queue_->record(*end));
    if (i + 1 == readings) {  // NVML takes its time, and is to see the device at this work
      for (int more = 0; more < kReplaysForNvml; ++more) HONE_CHECK(repeated->recording->replay());
      states.add(watch_.now());
    }
    HONE_CHECK(queue_->wait());
    HONE_ASSIGN(const double taken, seconds_between(*begin, *end));
    times.seconds.push_back(taken / static_cast<double>(repeated->runs));
  }
  times.state = states.medians();
  return times;
}

Result<GpuTimes> GpuProbe::without_rest(const GpuWork& work, double seconds) {
  HONE_ASSIGN(const std::unique_ptr<Repeated> repeated, record(work, sizes_.replay_s));
  // Replays given before the host waits, and asks NVML meanwhile: the device never waits.
  constexpr auto kAhead = static_cast<std::size_t>(kReplaysForNvml);
  std::vector<std::unique_ptr<runtime::Event>> marks;
  for (std::size_t i = 0; i <= kAhead; ++i) {
    HONE_ASSIGN(marks.emplace_back(), queue_->make_event());
  }
  std::vector<double> all;
  GpuStates states;
  const int64_t begun = now_ns();
  while (static_cast<double>(now_ns() - begun) * 1e-9 < seconds || all.empty()) {
    HONE_CHECK(repeated->recording->replay());
    HONE_CHECK(queue_->record(*marks[0]));
    for (std::size_t i = 1; i <= kAhead; ++i) {
      HONE_CHECK(repeated->recording->replay());
      HONE_CHECK(queue_->record(*marks[i]));
    }
    if (static_cast<double>(now_ns() - begun) * 1e-9 > seconds / 2) states.add(watch_.now());
    HONE_CHECK(queue_->wait());
    for (std::size_t i = 1; i <= kAhead; ++i) {
      HONE_ASSIGN(const double taken, seconds_between(*marks[i - 1], *marks[i]));
      all.push_back(taken / static_cast<double>(repeated->runs));
    }
  }
  GpuTimes times;
  times.seconds.assign(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  times.state = states.medians();
  return times;
}

Result<double> GpuProbe::once(const GpuWork& work) {
  HONE_ASSIGN(const GpuTimes times, in_bursts(work, 0, 2));
  return *std::min_element(times.seconds.begin(), times.seconds.end());
}

}  // namespace hone::lab
