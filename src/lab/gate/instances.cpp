#include "lab/gate/instances.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace hone::lab {
namespace {

// The two-sided quantile of Student's t with 2 or 4 degrees of freedom, in closed form (Shaw, "Sampling
// Student's T distribution", J. Computational Finance 9 (2006), §3).
double student_quantile(double level, int freedom) {
  if (freedom == 2) return level * std::sqrt(2 / (1 - level * level));
  const double p = (1 + level) / 2;
  const double alpha = std::sqrt(4 * p * (1 - p));
  return 2 * std::sqrt(std::cos(std::acos(alpha) / 3) / alpha - 1);
}

// The median log ratio of the blocks in which each instance of one side ran. Ratios, not times: what drifts
// is gone from them; the other side's instances come up equally often with each.
std::vector<double> medians_of(const std::vector<double>& block_ratios,
                               const std::vector<std::size_t>& instance_of, std::size_t instances) {
  std::vector<double> medians;
  for (std::size_t instance = 0; instance < instances; ++instance) {
    std::vector<double> logs;
    for (std::size_t block = 0; block < block_ratios.size(); ++block)
      if (instance_of[block] == instance) logs.push_back(std::log(block_ratios[block]));
    medians.push_back(median(logs));
  }
  return medians;
}

double square_deviations(const std::vector<double>& values) {
  double mean = 0, sum = 0;
  for (double value : values) mean += value / static_cast<double>(values.size());
  for (double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

}  // namespace

std::vector<int> making_order(int instances) {
  std::vector<int> order;
  for (int i = 0; i < instances; ++i) {
    order.push_back(i % 2);
    order.push_back(1 - i % 2);
  }
  return order;
}

Result<PairedResult> run_paired_instances(std::span<const Workload> a, std::span<const Workload> b,
                                          const PairedOptions& options) {
  const std::size_t count = a.size();
  if (count != b.size() || count < 2 || count > 3)
    return invalid(
        fmt::format("paired comparison: {} and {} instances; give 2 or 3 of each", count, b.size()));
  std::size_t at_a = 0, at_b = 0;
  std::vector<std::size_t> ran_a, ran_b;  // by block
  PairedOptions rotating = options;
  // Every pair of instances comes up once in count² blocks, and every instance once in each `count` of them.
  rotating.before_block = [&](int block) {
    const auto turn = static_cast<std::size_t>(block);
    at_a = turn % count;
    at_b = (turn + turn / count) % count;
    ran_a.push_back(at_a);
    ran_b.push_back(at_b);
  };
  rotating.min_blocks = std::max(options.min_blocks, static_cast<int>(2 * count));
  HONE_ASSIGN(PairedResult result,
              run_paired([&] { return a[at_a](); }, [&] { return b[at_b](); }, rotating));

  const double instances = static_cast<double>(count);
  const int freedom = 2 * static_cast<int>(count) - 2;
  const double deviations = square_deviations(medians_of(result.block_ratios, ran_a, count)) +
                            square_deviations(medians_of(result.block_ratios, ran_b, count));
  const double error = std::sqrt(deviations / freedom * 2 / instances);
  const double half = std::exp(student_quantile(options.level, freedom) * error);
  result.ratio.low = std::min(result.ratio.low, result.ratio.median / half);
  result.ratio.high = std::max(result.ratio.high, result.ratio.median * half);
  result.change = judge_ratio(result.ratio, options.min_effect);
  return result;
}

}  // namespace hone::lab
