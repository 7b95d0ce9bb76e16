// The paired speed test: is B faster than A, by how much, how sure. A and B run interleaved in one process,
// so that whatever disturbs the machine disturbs both.
//
// Design. One block runs A B B A or B A A B, drawn by a fair coin. Its log ratio (mean of log A − mean of log
// B) cancels any linear drift within the block. The coin is what makes the test sound: if A and B are equally
// fast, then whatever the machine did at those four moments (heavy-tailed, drifting, autocorrelated), the
// coin alone decided which of them was charged for it; so, given their sizes, the signs of the blocks' log
// ratios are independent fair coins. That is exactly the null distribution of the Wilcoxon signed-rank test
// (randomisation inference: Fisher, "The Design of Experiments", ch. 3; Hollander, Wolfe and Chicken,
// "Nonparametric Statistical Methods", §3.1–3.3). The interval inverts that test, with the Hodges-Lehmann
// estimate in it; the only assumption is that the effect is a factor. Nothing is dropped as an outlier.
//
// Stopping. The test looks after 12, 24, 48, … blocks and stops there if the ratio is known precisely enough.
// Every such look spends kLookLevel of the error that `level` allows (Haybittle-Peto; Bonferroni), so looking
// early doesn't inflate it. Stopping because time is up is free: a block's total time does not depend on the
// coin.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/contention.h"
#include "core/result.h"
#include "core/statistics.h"

namespace hone::lab {

// What runs: one call is one step. A failing call ends the comparison with that error.
using Workload = std::function<Status()>;
// Called with the share of the work done, in [0, 1]; false cancels.
using Progress = std::function<bool(double)>;

enum class SpeedChange : uint8_t { kFaster, kSlower, kNoDifference };  // of B against A
std::string_view speed_change_name(SpeedChange change);                // "faster", "slower", "no_difference"

inline constexpr double kLookLevel = 0.001;  // error that one early look may spend

// What an interval of a ratio says, where differences below `min_effect` are none.
SpeedChange judge_ratio(const Interval& ratio, double min_effect);

inline constexpr int kLeastBlocks = 6;  // of a comparison: fewer can claim nothing at 95 %

struct PairedOptions {
  double level = 0.95;
  int64_t budget_ns =
      2'000'000'000;   // aim for the whole comparison; min_blocks run even when they take longer
  int min_blocks = 8;  // of four slots each; not below kLeastBlocks at 95 %
  int max_blocks = 384;
  int64_t min_slot_ns =
      100'000;                // a slot repeats the call until it takes this long: the clock must not matter
  double precision = 0.005;   // stop early when the interval is within ± this share of the ratio
  double min_effect = 0.002;  // smaller differences are never claimed (code placement alone makes them)
  // After a change of workload run one unmeasured call: caches as in steady use. Not where both workloads
  // take longer than `settled_ns` a call: filling the caches anew, a millisecond or so, is nothing to that.
  bool settle = true;
  int64_t settled_ns = 50'000'000;
  int64_t settle_ns = 0;  // … and more, until this has passed: what the other left running must end
  uint64_t seed = 1;      // of the coin
  // Called before each block with its number, where the workloads differ from block to block (instances.h).
  std::function<void(int block)> before_block;
  // Called after each block with its number: what is to happen under the same conditions without being timed.
  // An error ends the comparison.
  std::function<Status(int block)> after_block;
  Progress progress;  // told after each block
  // Asked before every slot; false cancels. A block of a slow workload takes too long to wait for its end.
  std::function<bool()> keep_going;
  std::function<int64_t()> clock = now_ns;
};

struct PairedResult {
  Interval ratio;  // time of A / time of B; above 1: B is faster. `median` is the Hodges-Lehmann estimate.
  SpeedChange change = SpeedChange::kNoDifference;
  std::vector<double> block_ratios;  // one a block, in the order they ran; none left out
  std::vector<double> a_ms, b_ms;    // time of one call, two a block each
  int calls_per_slot = 1;
  int looks = 0;        // how often the data were looked at before the end
  double level = 0.95;  // of the claim; ratio.level is the stricter one that the interval was computed at
  std::string stopped;  // why it ended: "precise enough", "time is up", "enough blocks"
  // What other programs took meanwhile. The claim stands all the same, of this machine as busy as it was;
  // on a quiet one the two may compare otherwise.
  ContentionShare contention;
};

Result<PairedResult> run_paired(const Workload& a, const Workload& b, const PairedOptions& options = {});

// "1.18× (1.15–1.21)".
std::string ratio_text(const Interval& ratio);

// How often a comparison of a workload with itself claims a difference: the check of the test itself.
struct SelfComparison {
  int comparisons = 0;
  int claimed = 0;                   // comparisons that claimed a difference
  std::vector<PairedResult> claims;  // those
  std::vector<double>
      interval_halfway;  // each comparison's half-width relative to the ratio: what it could see
};
// Runs `comparisons` A/A comparisons of `workload`; each has its own seed, derived from options.seed.
Result<SelfComparison> compare_with_itself(const Workload& workload, int comparisons,
                                           const PairedOptions& options = {});

}  // namespace hone::lab
