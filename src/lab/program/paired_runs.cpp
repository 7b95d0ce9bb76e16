#include "lab/program/paired_runs.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace hone::lab {
namespace {

struct Look {
  std::size_t pairs;
  double level;  // of the interval
};
// The first is all that six pairs can say: each of them on one side.
constexpr Look kLooks[] = {{6, 0.968}, {12, 0.98}, {24, 0.97}};
constexpr double kLastLevel = 0.95;

std::vector<double> log_ratios(const std::vector<double>& before, const std::vector<double>& after) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i)
    ratios.push_back(std::log(before[i] / after[i]));
  return ratios;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

PairedRuns first_pairs(const PairedRuns& runs, std::size_t count) {
  PairedRuns first = runs;
  first.before_ms.resize(std::min(count, first.before_ms.size()));
  first.after_ms.resize(first.before_ms.size());
  return first;
}

bool is_gain(const Interval& speedup, double least_gain) {
  return speedup.low > 1 && speedup.median >= 1 + least_gain;
}

}  // namespace

double PairedRuns::speedup() const {
  const std::vector<double> ratios = log_ratios(before_ms, after_ms);
  if (ratios.empty()) return 1;
  return std::exp(within_one_run ? signed_rank_interval(ratios, kLastLevel).median : mean_of(ratios));
}

double PairedRuns::least_speedup() const {
  const std::vector<double> ratios = log_ratios(before_ms, after_ms);
  return ratios.empty() ? 1 : std::exp(*std::min_element(ratios.begin(), ratios.end()));
}

double PairedRuns::most_speedup() const {
  const std::vector<double> ratios = log_ratios(before_ms, after_ms);
  return ratios.empty() ? 1 : std::exp(*std::max_element(ratios.begin(), ratios.end()));
}

Interval PairedRuns::interval(double noise, double level) const {
  const std::vector<double> ratios = log_ratios(before_ms, after_ms);
  if (ratios.empty()) return {1, 1, 1, level};
  Interval of_logs{mean_of(ratios), 0, 0, level};
  if (!has_interval()) {
    of_logs.low = of_logs.high = of_logs.median;
  } else if (within_one_run) {
    of_logs = signed_rank_interval(ratios, level);
  } else {
    const double error = 2 * noise * std::sqrt(2 / static_cast<double>(ratios.size()));
    of_logs.low = of_logs.median - error;
    of_logs.high = of_logs.median + error;
  }
  return {std::exp(of_logs.median), std::exp(of_logs.low), std::exp(of_logs.high), level};
}

BlocksSay judge_blocks(const PairedRuns& runs, double least_gain) {
  const std::size_t pairs = std::min(runs.before_ms.size(), runs.after_ms.size());
  const Look* last = nullptr;
  for (const Look& look : kLooks)
    if (look.pairs <= pairs) last = &look;
  if (last == nullptr) return BlocksSay::kGoOn;
  const Interval speedup = first_pairs(runs, last->pairs).interval(0, last->level);
  if (is_gain(speedup, least_gain)) return BlocksSay::kFaster;
  const bool hopeless = speedup.high < 1 + least_gain || speedup.median < 1;
  return hopeless || last == std::prev(std::end(kLooks)) ? BlocksSay::kNotFaster : BlocksSay::kGoOn;
}

BlocksSay judge_last_blocks(const PairedRuns& runs, double least_gain) {
  const BlocksSay said = judge_blocks(runs, least_gain);
  if (said != BlocksSay::kGoOn) return said;
  return runs.before_ms.size() >= kFewestBlocks && is_gain(runs.interval(0, kLastLevel), least_gain)
             ? BlocksSay::kFaster
             : BlocksSay::kNotFaster;
}

}  // namespace hone::lab
