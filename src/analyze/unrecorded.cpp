#include "analyze/unrecorded.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"

namespace hone::analyze {
namespace {

template <typename Wanted>
std::vector<double> times_of(const trace::Meta& meta, int rank, const Stalls& stalls, Wanted&& wanted) {
  std::vector<double> ms;
  for (const trace::BlockSteps& block : meta.block_steps) {
    if (block.rank != rank || !wanted(block)) continue;
    const double told_ns = stalls.recur && block.median_ns > 0 ? block.median_ns : block.mean_ns;
    ms.push_back(told_ns * 1e-6 + stalls.cost_ms());
  }
  return ms;
}

}  // namespace

std::optional<MeasuredSteps> measured_steps(const trace::Meta& meta, int rank, const Stalls& stalls) {
  constexpr std::size_t kFewestParts = 2;
  const auto of_mode = [](trace::BlockMode mode) {
    return [mode](const trace::BlockSteps& block) { return block.mode == mode; };
  };
  const std::vector<double> untouched = times_of(meta, rank, stalls, of_mode(trace::BlockMode::kUntouched));
  const std::vector<double> later = times_of(meta, rank, stalls, of_mode(trace::BlockMode::kLeftAlone));
  const std::vector<double> recorded =
      times_of(meta, rank, stalls, [](const trace::BlockSteps& block) { return block.shown; });
  MeasuredSteps measured;
  measured.attached = untouched.size() < kFewestParts;
  const std::vector<double>& alone = measured.attached ? later : untouched;
  if (alone.size() < kFewestParts || recorded.empty()) return std::nullopt;
  measured.unrecorded = median_estimate(alone);
  measured.recorded = median_estimate(recorded);
  measured.cost = shift_estimate(alone, recorded);
  measured.parts = static_cast<int>(alone.size());
  measured.with_operators =
      std::any_of(meta.block_steps.begin(), meta.block_steps.end(), [&](const trace::BlockSteps& block) {
        return block.rank == rank && block.shown && block.mode != trace::BlockMode::kTimeline;
      });
  if (!measured.attached && later.size() >= kFewestParts)
    measured.left_behind = shift_estimate(untouched, later);
  return measured;
}

std::string longer_alone(const MeasuredSteps& measured, double recorded_ms) {
  const double alone = measured.unrecorded.median;
  if (alone <= kLongerAlone * recorded_ms) return {};
  return fmt::format(
      "steps that nobody recorded took {}, longer than the {} of those that were recorded. No recorder makes "
      "a program "
      "faster: the machine was not equally free, or the program did not do the same all the time. What is "
      "told is of "
      "the recorded steps",
      fixed_ms(alone, alone), fixed_ms(recorded_ms, alone));
}

void tell_measured(const MeasuredSteps& measured, StepTime& step) {
  step.unrecorded_ms = measured.unrecorded;
  step.unrecorded_measured = true;
  step.recorder_ms = measured.cost.change;
  const double ms = step.ms.median;
  if (measured.attached)
    step.notes.emplace_back(
        "the program gave no marks before the recorder was attached: the step without it was measured while "
        "nothing was recorded, but an attached recorder may still slow a step that waits for launches");
  else if (measured.left_behind && measured.left_behind->sure && measured.left_behind->change.median > 0)
    step.notes.push_back(
        fmt::format("steps that were left alone later take {} longer than before anything was recorded: the "
                    "cost of an attached recorder, or a drift of the program",
                    fixed_ms(measured.left_behind->change.median, ms)));
}

}  // namespace hone::analyze
