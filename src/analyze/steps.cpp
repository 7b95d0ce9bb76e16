#include "analyze/steps.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/estimate.h"
#include "core/statistics.h"
#include "core/units.h"

namespace hone::analyze {
namespace {

std::vector<double> times_of(std::span<const StepWindow> steps) {
  std::vector<double> times;
  for (const StepWindow& step : steps) times.push_back(step.ms());
  return times;
}

// That steps stall, what that costs, and that the mean is told.
void note_stalls(StepTime& time) {
  const StalledSteps& stalls = *time.stalls;
  const double mean = stalls.typical_ms + stalls.cost_ms;
  time.notes.push_back(
      fmt::format("{} of {} steps take more than {} times as long as the median, {}: they come again and "
                  "again and cost {} a "
                  "step, so that what is told is the mean of the steps, {}",
                  stalls.count, time.samples_ms.size(), kMuchLonger, fixed_ms(stalls.typical_ms, mean),
                  fixed_ms(stalls.cost_ms, mean), fixed_ms(mean, mean)));
}

}  // namespace

std::vector<StepWindow> find_steps(const trace::Trace& trace, int rank) {
  const trace::SpanTable& spans = trace.spans;
  auto of_rank = [&](std::size_t row) { return trace.tracks[spans.track[row].index].rank == rank; };
  std::vector<StepWindow> steps;
  for (std::size_t i = 0; i < spans.size(); ++i)
    if (spans.category[i] == trace::Category::kStep && of_rank(i) && spans.duration_ns[i] > 0)
      steps.push_back(
          {spans.step[i], spans.start_ns[i], spans.start_ns[i] + spans.duration_ns[i], spans.track[i], {}});
  std::sort(steps.begin(), steps.end(),
            [](const StepWindow& a, const StepWindow& b) { return a.start_ns < b.start_ns; });
  std::unordered_map<int32_t, std::size_t> index;
  for (std::size_t k = 0; k < steps.size(); ++k) index.emplace(steps[k].step, k);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (spans.category[i] == trace::Category::kStep || !of_rank(i)) continue;
    if (auto found = index.find(spans.step[i]); found != index.end())
      steps[found->second].rows.push_back(static_cast<uint32_t>(i));
  }
  return steps;
}

Stalls stalls_of(const trace::Meta& meta, int rank, std::span<const StepWindow> steps) {
  std::vector<char> follows;
  const trace::RecordingBlock* before = nullptr;
  for (const StepWindow& step : steps) {
    const trace::RecordingBlock* block = trace::block_at(meta.blocks, rank, step.start_ns);
    follows.push_back(meta.blocks.empty() || block == before ? 1 : 0);
    before = block;
  }
  return find_stalls(times_of(steps), follows);
}

StepTime step_time(std::span<const StepWindow> steps, const Stalls& stalls) {
  StepTime time;
  time.samples_ms = times_of(steps);
  time.ms = median_estimate(time.samples_ms);
  if (stalls.recur) tell_stalls(stalls, time);
  time.count = static_cast<int>(steps.size());
  time.how_found = "marks in the trace";
  return time;
}

void tell_stalls(const Stalls& stalls, StepTime& time) {
  std::vector<double> counted;
  for (const std::size_t k : stalls.counted) counted.push_back(time.samples_ms[k]);
  time.ms = mean_estimate(counted);
  time.stalls = {stalls.count, stalls.typical_ms, stalls.cost_ms()};
}

void note_outliers(std::span<const int32_t> numbers, StepTime& time) {
  constexpr std::size_t kMostNamed = 4;
  if (time.stalls) return note_stalls(time);
  if (time.samples_ms.size() < 3) return;
  std::vector<std::size_t> outliers;
  for (std::size_t k = 0; k < time.samples_ms.size(); ++k)
    if (time.samples_ms[k] > kMuchLonger * time.ms.median) outliers.push_back(k);
  const auto text_of = [&](std::size_t k) { return fixed_ms(time.samples_ms[k], time.ms.median); };
  if (outliers.size() > kMostNamed) {
    const std::size_t longest = *std::max_element(
        outliers.begin(), outliers.end(),
        [&](std::size_t a, std::size_t b) { return time.samples_ms[a] < time.samples_ms[b]; });
    time.notes.push_back(fmt::format(
        "{} of {} steps took more than {} times the median, the longest, step {}, {}", outliers.size(),
        time.samples_ms.size(), kMuchLonger, numbers[longest], text_of(longest)));
    return;
  }
  for (const std::size_t k : outliers)
    time.notes.push_back(fmt::format("step {} took {}{}", numbers[k], text_of(k),
                                     k == 0 ? ": warm-up, or the wait for it" : ": an outlier"));
}

std::string doubt_in_steps(const StepTime& time) {
  constexpr double kSureEnough = 0.75;
  if (time.how_found.empty() || time.confidence >= kSureEnough) return {};
  return fmt::format("that these are the program's steps is only {:.0f} % sure", time.confidence * 100);
}

std::vector<std::size_t> central_steps(std::span<const StepWindow> steps, const Stalls& stalls) {
  if (stalls.recur) return stalls.counted;
  std::vector<double> times = times_of(steps);
  double low = quantile(times, 0.25), high = quantile(times, 0.75);
  std::vector<std::size_t> central;
  for (std::size_t k = 0; k < times.size(); ++k)
    if (low <= times[k] && times[k] <= high) central.push_back(k);
  // Two steps have no time between their quartiles.
  if (central.empty() && !steps.empty()) central.push_back(typical_step(steps));
  return central;
}

std::size_t typical_step(std::span<const StepWindow> steps) {
  std::vector<double> times = times_of(steps);
  double middle = median(times);
  std::size_t best = 0;
  for (std::size_t k = 1; k < times.size(); ++k)
    if (std::abs(times[k] - middle) < std::abs(times[best] - middle)) best = k;
  return best;
}

}  // namespace hone::analyze
