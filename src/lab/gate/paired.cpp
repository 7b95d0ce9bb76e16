#include "lab/gate/paired.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include <fmt/core.h>

namespace hone::lab {
namespace {

constexpr int kFirstLook = 12;  // the fewest blocks at which a level of 1 - kLookLevel can be reached
constexpr int kMaxCallsPerSlot = 1 << 20;

Error interrupted_comparison() { return {ErrorCode::kCancelled, "paired comparison: interrupted"}; }

// Runs the slots of one comparison and remembers their times.
class Interleaver {
 public:
  Interleaver(const Workload& a, const Workload& b, const PairedOptions& options)
      : workloads_{&a, &b}, options_(options), coin_(options.seed) {}

  // Runs both once to warm up and sets how often a slot repeats the call.
  Status warm_up();
  // Runs one block; adds its log ratio and its times.
  Status run_block(PairedResult& result, std::vector<double>& log_ratios);
  int calls_per_slot() const { return calls_; }

 private:
  Result<int64_t> time_calls(int which, int calls);
  Status settle(int which);

  std::array<const Workload*, 2> workloads_;
  const PairedOptions& options_;
  std::mt19937_64 coin_;
  int calls_ = 1;
  int last_ = -1;
  bool settles_ = true;
};

Result<int64_t> Interleaver::time_calls(int which, int calls) {
  if (options_.keep_going && !options_.keep_going()) return interrupted_comparison();
  const Workload& work = *workloads_[static_cast<std::size_t>(which)];
  const int64_t start = options_.clock();
  for (int i = 0; i < calls; ++i) HONE_CHECK(work());
  return options_.clock() - start;
}

Status Interleaver::settle(int which) {
  const int64_t start = options_.clock();
  do HONE_CHECK(time_calls(which, 1));
  while (options_.clock() - start < options_.settle_ns);
  return {};
}

Status Interleaver::warm_up() {
  HONE_ASSIGN(const int64_t first_a_ns, time_calls(0, 1));
  HONE_ASSIGN(const int64_t first_b_ns, time_calls(1, 1));
  if (std::min(first_a_ns, first_b_ns) >= 2 * options_.settled_ns && options_.settle_ns == 0) {
    settles_ = false;  // long enough, even if half of it was the first time's
    last_ = 1;
    return {};
  }
  // Both get the same number of calls a slot: enough for the faster one.
  for (;;) {
    HONE_ASSIGN(const int64_t a_ns, time_calls(0, calls_));
    HONE_ASSIGN(const int64_t b_ns, time_calls(1, calls_));
    const int64_t shorter = std::max<int64_t>(1, std::min(a_ns, b_ns));
    last_ = 1;
    settles_ = options_.settle && (options_.settle_ns > 0 || shorter < options_.settled_ns * calls_);
    if (shorter >= options_.min_slot_ns || calls_ >= kMaxCallsPerSlot) return {};
    const int64_t wanted = (options_.min_slot_ns * calls_ + shorter - 1) / shorter;
    // At least doubling ends the loop soon; at most ×16 keeps one lucky reading from overshooting far.
    calls_ = static_cast<int>(std::clamp<int64_t>(wanted, int64_t{calls_} * 2, int64_t{calls_} * 16));
  }
}

Status Interleaver::run_block(PairedResult& result, std::vector<double>& log_ratios) {
  if (options_.before_block) {
    options_.before_block(static_cast<int>(log_ratios.size()));
    last_ = -1;  // neither is what ran last
  }
  const int outer = static_cast<int>(coin_() >> 63);  // 0: A B B A, 1: B A A B
  double log_ratio = 0;
  for (int which : {outer, 1 - outer, 1 - outer, outer}) {
    if (settles_ && which != last_) HONE_CHECK(settle(which));
    last_ = which;
    HONE_ASSIGN(const int64_t elapsed, time_calls(which, calls_));
    const double call_ns = static_cast<double>(std::max<int64_t>(1, elapsed)) / calls_;
    (which == 0 ? result.a_ms : result.b_ms).push_back(call_ns * 1e-6);
    log_ratio += (which == 0 ? 0.5 : -0.5) * std::log(call_ns);
  }
  log_ratios.push_back(log_ratio);
  result.block_ratios.push_back(std::exp(log_ratio));
  if (!options_.after_block) return {};
  last_ = -1;
  return options_.after_block(static_cast<int>(log_ratios.size()) - 1);
}

Interval ratio_interval(const std::vector<double>& log_ratios, double level) {
  const Interval logs = signed_rank_interval(log_ratios, level);
  return {std::exp(logs.median), std::exp(logs.low), std::exp(logs.high), level};
}

bool precise_enough(const Interval& ratio, double precision) {
  return std::log(ratio.high / ratio.low) / 2 <= std::log1p(precision);
}

bool is_look(int blocks) {
  int look = kFirstLook;
  while (look < blocks) look *= 2;
  return look == blocks;
}

Status check_options(const PairedOptions& options) {
  if (!(options.level > 0.5) || !(options.level < 1))
    return invalid(fmt::format("paired comparison: level {} is not between 0.5 and 1", options.level));
  if (options.min_blocks < 1 || options.max_blocks < options.min_blocks)
    return invalid(fmt::format("paired comparison: blocks {}..{} are not a range", options.min_blocks,
                               options.max_blocks));
  return {};
}

}  // namespace

std::string_view speed_change_name(SpeedChange change) {
  switch (change) {
    case SpeedChange::kFaster:
      return "faster";
    case SpeedChange::kSlower:
      return "slower";
    case SpeedChange::kNoDifference:
      return "no_difference";
  }
  return "no_difference";
}

SpeedChange judge_ratio(const Interval& ratio, double min_effect) {
  if (ratio.low > 1 + min_effect) return SpeedChange::kFaster;
  if (ratio.high < 1 / (1 + min_effect)) return SpeedChange::kSlower;
  return SpeedChange::kNoDifference;
}

Result<PairedResult> run_paired(const Workload& a, const Workload& b, const PairedOptions& options) {
  HONE_CHECK(check_options(options));
  const int64_t start = options.clock();
  Interleaver interleaver(a, b, options);
  HONE_CHECK(interleaver.warm_up());

  const ContentionMeter meter;
  PairedResult result;
  result.level = options.level;
  result.calls_per_slot = interleaver.calls_per_slot();
  std::vector<double> log_ratios;
  double allowed_error = 1 - options.level;
  while (result.stopped.empty()) {
    HONE_CHECK(interleaver.run_block(result, log_ratios));
    const int blocks = static_cast<int>(log_ratios.size());
    const double spent =
        static_cast<double>(options.clock() - start) / static_cast<double>(options.budget_ns);
    if (blocks >= options.max_blocks) {
      result.stopped = "enough blocks";
    } else if (blocks >= options.min_blocks && spent >= 1) {
      result.stopped = "time is up";
    } else if (is_look(blocks) && allowed_error > 2 * kLookLevel) {
      result.looks++;
      allowed_error -= kLookLevel;
      result.ratio = ratio_interval(log_ratios, 1 - kLookLevel);
      if (blocks >= options.min_blocks && precise_enough(result.ratio, options.precision))
        result.stopped = "precise enough";
    }
    const double done = std::max(std::min(spent, 1.0), static_cast<double>(blocks) / options.max_blocks);
    if (options.progress && !options.progress(result.stopped.empty() ? done : 1.0))
      return interrupted_comparison();
  }
  if (result.stopped != "precise enough") result.ratio = ratio_interval(log_ratios, 1 - allowed_error);
  result.change = judge_ratio(result.ratio, options.min_effect);
  result.contention = meter.share();
  return result;
}

std::string ratio_text(const Interval& ratio) {
  // A third decimal where two would hide how narrow the interval is, or on which side of 1 it ends.
  const auto near_one = [](double bound) { return std::abs(bound - 1) < 0.005; };
  const bool fine = ratio.high < 1.02 * ratio.low || near_one(ratio.low) || near_one(ratio.high);
  const int decimals = fine ? 3 : 2;
  return fmt::format("{0:.{3}f}× ({1:.{3}f}–{2:.{3}f})", ratio.median, ratio.low, ratio.high, decimals);
}

Result<SelfComparison> compare_with_itself(const Workload& workload, int comparisons,
                                           const PairedOptions& options) {
  SelfComparison self;
  std::mt19937_64 seeds(options.seed);
  for (int i = 0; i < comparisons; ++i) {
    PairedOptions own = options;
    own.seed = seeds();
    own.progress = [&](double done) {
      return !options.progress || options.progress((i + done) / comparisons);
    };
    HONE_ASSIGN(PairedResult result, run_paired(workload, workload, own));
    self.comparisons++;
    self.interval_halfway.push_back(std::log(result.ratio.high / result.ratio.low) / 2);
    if (result.change != SpeedChange::kNoDifference) {
      self.claimed++;
      self.claims.push_back(std::move(result));
    }
  }
  return self;
}

}  // namespace hone::lab
