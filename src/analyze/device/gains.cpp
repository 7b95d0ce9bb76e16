#include "analyze/device/gains.h"

#include <algorithm>

#include "analyze/device/busy/busy_rules.h"
#include "analyze/device/gain_numbers.h"
#include "analyze/device/timeline/matched_collectives.h"
#include "analyze/rules.h"

namespace hone::analyze::device {
namespace {

bool& without(Change& change, Activity activity) {
  return change.without[static_cast<std::size_t>(activity)];
}

bool is_of_optimizer(const trace::Trace& trace, const Work& work) {
  return work.op != kNothing && trace.operators[work.op].phase == trace::Phase::kOptimizer;
}

// A launch that lasts longer waits until the device has taken up earlier ones.
constexpr double kMostLaunchNs = 30'000;

// Whether half of the work would take half of the time. A product may reach a good part of its roof with
// fewer blocks than there are multiprocessors, where each goes over many tiles.
bool fills_device(const trace::Trace& trace, const BusySplit& split, const GpuRoofs& roofs,
                  const Work& work) {
  const auto ns = static_cast<double>(work.ns());
  if (ns < kShortWorkNs) return false;
  const trace::Launch* launch = trace::find_detail(trace.launches, work.span);
  if (launch == nullptr || roofs.multiprocessors == 0) return true;
  const double blocks = static_cast<double>(launch->grid[0]) * launch->grid[1] * launch->grid[2];
  if (blocks <= 0 || blocks >= roofs.multiprocessors) return true;
  if (work.op == kNothing) return false;
  const OperatorUse& use = split.uses.rows[work.op];
  return use.is_product && use.roof_ns * split.uses.part(work) >= kPoorProduct * ns;
}

}  // namespace

Gains::Gains(const Study& study, const Accounts& accounts)
    : study_(study),
      replay_(study.programs, study.collectives),
      straggler_(find_straggler(study, accounts)),
      bubble_ms_(accounts[static_cast<std::size_t>(Cause::kBubble)].ms) {
  const double recorded = study.ranks[study.headline].typical.recorded_ms;
  measured_ = study.ranks[study.headline].measured;
  if (measured_)
    calibrate();
  else
    predict_unrecorded(recorded);
  slows_ = base_ms_ < kRecorderMatters * recorded;
  if (has_launches() && can_predict())
    host_ms_ = scale_ * replay_.step_ms(without_recorder(of_host_alone(), kOperatorGaps));
}

void Gains::predict_unrecorded(double recorded_ms) {
  auto unrecorded = [&](double operator_gaps) {
    return can_predict() ? replay_.step_ms(without_recorder({}, operator_gaps)) : recorded_ms;
  };
  base_ms_ = replayed_ms_ = unrecorded(kOperatorGaps);
  const bool slows = base_ms_ < kRecorderMatters * recorded_ms;
  low_ms_ = lowest_ms_ = slows ? std::min(base_ms_, unrecorded(kMostOperatorGaps)) : base_ms_;
  high_ms_ = highest_ms_ = slows ? std::max(base_ms_, unrecorded(kFewestOperatorGaps)) : base_ms_;
  if (!slows) return;
  low_ms_ -= kRunsApart * base_ms_;
  high_ms_ = std::max(base_ms_, std::min(high_ms_ + kRunsApart * base_ms_, recorded_ms));
}

// The recorder works where calls into the device's runtime are entered and left. What one costs is what makes the replay
// as much shorter as unrecorded steps were than recorded ones; where that does not explain it (nothing waits
// for the host), the replay is scaled as a whole.
void Gains::calibrate() {
  constexpr int kHalvings = 12;
  base_ms_ = measured_->unrecorded.median;
  low_ms_ = measured_->unrecorded.low;
  high_ms_ = measured_->unrecorded.high;
  if (const double recorded = study_.ranks[study_.headline].typical.recorded_ms;
      !longer_alone(*measured_, recorded).empty())
    base_ms_ = low_ms_ = high_ms_ = recorded;  // what is told is of the recorded steps
  replayed_ms_ = base_ms_;
  if (!can_predict()) return;
  const auto replayed = [&](double call_ns) {
    call_ns_ = call_ns;
    return replay_.step_ms(without_recorder({}, kOperatorGaps));
  };
  const double as_recorded = replayed(0);
  const double target = as_recorded * std::min(1.0, base_ms_ / measured_->recorded.median);
  double low = 0, high = kMostCallNs;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (replayed(middle) > target ? low : high) = middle;
  }
  replayed_ms_ = replayed(low);
  if (as_recorded - replayed_ms_ < 0.5 * (as_recorded - target)) replayed_ms_ = replayed(0);
  if (replayed_ms_ > 0) scale_ = base_ms_ / replayed_ms_;
}

// Operators of steps that were recorded without them are those of other steps (link/carry_operators.h): here they cost
// nothing.
Change Gains::without_recorder(Change change, double operator_gaps) const {
  change.recorder = {kOperatorShare, kRecordNs, operator_gaps, kMostRecorded, call_ns_};
  if (measured_ && !measured_->with_operators) {
    change.recorder.operator_share = 1;
    change.recorder.gaps = 0;
  }
  return change;
}

bool Gains::can_predict() const { return replay_.error() < kUsableReplay; }

double Gains::with(Change change) const {
  const double without = replay_.step_ms(without_recorder(std::move(change), kOperatorGaps));
  return scale_ * std::max(0.0, replayed_ms_ - without);
}

Gains::Range Gains::of_together(std::span<const Rule> rules) const {
  constexpr double kAllOfIt = 0.9;
  Change change;
  change.work_ns = targets(rules);
  change.added_ns = casts_ns([&](const WorkSplit& split) {
    return row_of(split.rule).adds_casts && std::find(rules.begin(), rules.end(), split.rule) != rules.end();
  });
  Range range;
  range.ms = range.least_ms = range.most_ms = of_works(change.work_ns, change.added_ns);
  if (!has_launches() || !can_predict()) return range;
  range.held_by_host = range.ms < kAllOfIt * spared_ms(change.work_ns);
  if (!slows_ || measured_) return range;
  const auto gain = [&](double before_ms, double operator_gaps) {
    return before_ms - replay_.step_ms(without_recorder(change, operator_gaps));
  };
  range.least_ms = std::clamp(gain(highest_ms_, kFewestOperatorGaps), 0.0, range.ms);
  range.most_ms = std::max(range.ms, gain(lowest_ms_, kMostOperatorGaps));
  return range;
}

double Gains::of_works(std::vector<std::vector<double>> work_ns,
                       std::vector<std::vector<double>> added_ns) const {
  if (!has_launches() || !can_predict()) return spared_ms(work_ns);
  Change change;
  change.work_ns = std::move(work_ns);
  change.added_ns = std::move(added_ns);
  return with(std::move(change));
}

std::vector<std::vector<double>> Gains::casts_of(Cause cause) const {
  for (int i = 0; i < kRuleCount; ++i)
    if (const DeviceRule& row = row_of(static_cast<Rule>(i)); row.cause == cause && row.adds_casts)
      return casts_ns([](const WorkSplit& split) { return row_of(split.rule).adds_casts; });
  return {};
}

std::vector<std::vector<double>> Gains::casts_ns(
    const std::function<bool(const WorkSplit&)>& of_products) const {
  const trace::Trace& trace = *study_.trace;
  if (!host_ms_ || trace.meta.framework != trace::Framework::kPyTorch) return {};
  const bool trains =
      std::any_of(trace.operators.begin(), trace.operators.end(),
                  [](const trace::Operator& op) { return op.phase == trace::Phase::kBackward; });
  std::vector<std::vector<double>> all;
  for (std::size_t rank = 0; rank < study_.ranks.size(); ++rank) {
    const RankTimeline& timeline = study_.timelines[rank];
    const BusySplit& split = study_.ranks[rank].split;
    const auto works =
        static_cast<double>(std::count_if(timeline.works.begin(), timeline.works.end(),
                                          [](const Work& work) { return work.step != trace::kNoStep; }));
    const double a_launch_ns =
        works > 0 ? *host_ms_ * 1e6 * static_cast<double>(timeline.steps.size()) / works : 0;
    const double each_ns = a_launch_ns * (trains ? kLaunchesOfCasts : kLaunchesOfCastsInference);
    std::vector<double> added(timeline.works.size(), 0);
    for (std::size_t i = 0; i < timeline.works.size(); ++i) {
      const uint32_t op = timeline.works[i].op;
      if (op != kNothing && split.uses.rows[op].is_product && of_products(split.works[i]) &&
          trace.operators[op].phase != trace::Phase::kBackward)
        added[i] = each_ns;
    }
    all.push_back(std::move(added));
  }
  return all;
}

std::vector<std::vector<double>> Gains::targets_of(
    const std::function<bool(const WorkSplit&)>& changes) const {
  std::vector<std::vector<double>> all;
  for (std::size_t rank = 0; rank < study_.ranks.size(); ++rank) {
    std::vector<double> ns;
    const std::vector<WorkSplit>& splits = study_.ranks[rank].split.works;
    for (std::size_t i = 0; i < splits.size(); ++i)
      ns.push_back(changes(splits[i]) ? splits[i].target_ns
                                      : static_cast<double>(study_.timelines[rank].works[i].ns()));
    all.push_back(std::move(ns));
  }
  return all;
}

std::vector<std::vector<double>> Gains::targets(Cause cause) const {
  return targets_of([&](const WorkSplit& split) { return split.cause() == cause; });
}

std::vector<std::vector<double>> Gains::targets(std::span<const Rule> rules) const {
  return targets_of([&](const WorkSplit& split) {
    return std::find(rules.begin(), rules.end(), split.rule) != rules.end();
  });
}

double Gains::of(Rule rule) const {
  const DeviceRule& row = row_of(rule);
  switch (row.gain) {
    case GainModel::kNone:
    case GainModel::kUnknown:
      return 0;
    case GainModel::kWorks:
    case GainModel::kWithoutWorks:
    case GainModel::kShorterWorks:
      return of_works(targets(std::span(&rule, 1)),
                      row.adds_casts ? casts_ns([&](const WorkSplit& split) { return split.rule == rule; })
                                     : std::vector<std::vector<double>>());
    case GainModel::kJoinedTurns:
      if (can_predict()) break;
      [[fallthrough]];
    case GainModel::kCause:
      return of(row.cause);
  }
  Change change;
  change.joined = joined_loops(row.cause == Cause::kHostCopy);
  if (row.cause == Cause::kLaunch) change.work_ns = joined_work_ns(change.joined);
  without(change, Activity::kCopy) = row.cause == Cause::kHostCopy;
  return with(std::move(change));
}

// The largest of the rules of a cause whose gain is reckoned so; 0: there are none.
double Gains::of_parts(Cause cause, GainModel gain) const {
  double most = 0;
  for (int i = 0; i < kRuleCount; ++i) {
    const DeviceRule& row = row_of(static_cast<Rule>(i));
    if (row.cause == cause && row.gain == gain) most = std::max(most, of(row.rule));
  }
  return most;
}

double Gains::of_joined_turns(Cause cause) const { return of_parts(cause, GainModel::kJoinedTurns); }

bool Gains::has_launches() const {
  const std::vector<HostCall>& calls = study_.timelines[study_.headline].calls;
  return std::any_of(calls.begin(), calls.end(), [](const HostCall& call) { return call.works > 0; });
}

double Gains::spared_ms(const std::vector<std::vector<double>>& work_ns) const {
  const RankTimeline& timeline = study_.timelines[study_.headline];
  double spared_ns = 0;
  for (std::size_t i = 0; i < timeline.works.size(); ++i)
    if (timeline.works[i].step != trace::kNoStep && timeline.in_ledger(timeline.works[i]))
      spared_ns += static_cast<double>(timeline.works[i].ns()) - std::max(0.0, work_ns[study_.headline][i]);
  return std::max(0.0, spared_ns) * 1e-6 /
         static_cast<double>(std::max<std::size_t>(1, timeline.steps.size()));
}

double Gains::of(Cause cause) const {
  if (!can_predict() && cause != Cause::kFloor && !is_busy(cause))
    return study_.ranks[study_.headline].typical.ms;
  if (cause == Cause::kFloor) return 0;
  if (is_busy(cause)) return of_works(targets(cause), casts_of(cause));
  if (cause == Cause::kBubble) return bubble_gain().ms;
  if (cause == Cause::kStraggler)
    return straggler_.extra_work || straggler_.cause != Cause::kFloor ? straggler_gain().removed_ms
                                                                      : straggler_gain().shared_ms;
  const double gain = with(without_cause(cause));
  if (cause == Cause::kComm) return without_communication(gain);
  return cause == Cause::kLaunch ? std::max(gain, of_joined_turns(cause)) : gain;
}

std::optional<double> Gains::of_graph_after(Cause cause) const {
  if (!can_predict() || cause == Cause::kStraggler || cause == Cause::kBubble) return std::nullopt;
  Change change = without_cause(cause);
  const double alone = with(change);
  change.launches_free = true;
  return std::max(0.0, with(std::move(change)) - alone);
}

// Side by side the host and the device take as long as the longer of them takes by itself.
double Gains::of_host_work_beside_device() const {
  if (!can_predict()) return 0;
  const RankStudy& own = study_.ranks[study_.headline];
  double device_ms = 0;
  for (const BusyInterval& interval : own.occupancy.busy)
    device_ms += own.typical.part_ms(interval.window, interval.ns());
  return std::max(0.0, std::min(base_ms_ - device_ms, with(of_host_alone())));
}

Change Gains::of_host_alone() {
  Change change;
  without(change, Activity::kWait) = true;
  change.host_alone = true;
  change.most_launch_ns = kMostLaunchNs;
  return change;
}

// No change for causes that one change to the replay does not remove (a straggler, a bubble).
Change Gains::without_cause(Cause cause) const {
  Change change;
  switch (cause) {
    case Cause::kFloor:
    case Cause::kUnjudged:
    case Cause::kStraggler:
    case Cause::kBubble:
      break;
    case Cause::kPrecision:
    case Cause::kLayout:
    case Cause::kAvoidableTraffic:
    case Cause::kKernelInefficiency:
      change.work_ns = targets(cause);
      break;
    case Cause::kLaunch:
      change.launches_free = true;
      break;
    case Cause::kHostSync:
      without(change, Activity::kWait) = true;
      change.work_ns = targets(cause);
      break;
    case Cause::kInput:
      without(change, Activity::kInput) = true;
      break;
    case Cause::kIo:
      without(change, Activity::kIo) = true;
      break;
    case Cause::kHostCopy:
      without(change, Activity::kCopy) = true;
      change.copies_ahead = true;
      change.joined = joined_loops(true);
      break;
    case Cause::kAllocator:
      without(change, Activity::kAllocate) = true;
      break;
    case Cause::kCompile:
      without(change, Activity::kCompile) = true;
      change.work_ns = targets(cause);
      break;
    case Cause::kHostOther:
      without(change, Activity::kOther) = true;
      break;
    case Cause::kComm:
      change.collectives_free = true;
      break;
  }
  return change;
}

// What a loop does turn by turn one call can do for all turns: the first turn's launches remain.
std::vector<std::vector<char>> Gains::joined_loops(bool copies) const {
  std::vector<std::vector<char>> all;
  for (std::size_t rank = 0; rank < study_.ranks.size(); ++rank) {
    const RankTimeline& timeline = study_.timelines[rank];
    std::vector<char> joined(timeline.works.size(), 0);
    for (const Loop& loop : study_.ranks[rank].loops.loops)
      for (uint32_t k = loop.first_turn; k < loop.works && loop.copies == copies; ++k)
        joined[timeline.launched[loop.first + k]] = 1;
    all.push_back(std::move(joined));
  }
  return all;
}

// One call for all turns fills the device, which the small works of a turn do not: what they take above what
// a good kernel takes for the same work goes.
std::vector<std::vector<double>> Gains::joined_work_ns(const std::vector<std::vector<char>>& joined) const {
  std::vector<std::vector<double>> all;
  for (std::size_t rank = 0; rank < study_.ranks.size(); ++rank) {
    const RankTimeline& timeline = study_.timelines[rank];
    const BusySplit& split = study_.ranks[rank].split;
    std::vector<double> times;
    for (std::size_t i = 0; i < timeline.works.size(); ++i) {
      const Work& work = timeline.works[i];
      auto ns = static_cast<double>(work.ns());
      if (joined[rank][i] != 0 && work.op != kNothing && split.uses.rows[work.op].floor_ns > 0) {
        const OperatorUse& use = split.uses.rows[work.op];
        const double good = use.is_product ? kGoodProduct : kGoodTraffic;
        ns = std::min(ns, use.enough_ns * split.uses.part(work) / good);
      }
      times.push_back(ns);
    }
    all.push_back(std::move(times));
  }
  return all;
}

// Where no rank waits for another, each takes as long as its own work: without the extra work all take as
// long as the longest of the others, with it shared out as long as their mean.
Gains::StragglerGain Gains::straggler_gain() const {
  if (straggler_.cause == Cause::kLaunch) return {};  // what slows launching is a cause of its own
  Change change;
  for (int i = 0; i < kActivityCount; ++i)
    if (straggler_.cause != Cause::kFloor && activity_cause(static_cast<Activity>(i)) == straggler_.cause) {
      change.without_on = static_cast<int>(straggler_.rank);
      without(change, static_cast<Activity>(i)) = true;
    }
  if (change.without_on >= 0) return {with(std::move(change)), 0};
  change.ranks_level = true;
  const std::vector<double> steps = replay_.rank_steps_ms(without_recorder(change, kOperatorGaps));
  double longest = 0, total = 0;
  for (std::size_t rank = 0; rank < steps.size(); ++rank) {
    total += steps[rank];
    if (rank != straggler_.rank) longest = std::max(longest, steps[rank]);
  }
  const double mean = total / static_cast<double>(std::max<std::size_t>(1, steps.size()));
  return {scale_ * std::max(0.0, replayed_ms_ - longest), scale_ * std::max(0.0, replayed_ms_ - mean)};
}

// Ranks are stages by what each takes where none waits for another; devices of one process are alike, as far
// as is known.
std::vector<Stage> Gains::stages() const {
  const std::size_t devices = study_.timelines[study_.headline].devices.size();
  Change alone;
  alone.ranks_level = true;
  alone.most_launch_ns = kMostLaunchNs;
  const std::vector<double> both = replay_.rank_steps_ms(without_recorder(alone, kOperatorGaps));
  alone.host_alone = true;
  const std::vector<double> hosts = replay_.rank_steps_ms(without_recorder(alone, kOperatorGaps));
  std::vector<Stage> all;
  for (std::size_t rank = 0; rank < study_.timelines.size(); ++rank)
    all.push_back({both[rank], fixed_ms(rank), hosts[rank], hosts[rank] * again_share(rank)});
  if (all.size() > 1 || devices < 2) return all;
  all.front().device_ms = std::max(0.0, base_ms_ - bubble_ms_);
  return std::vector<Stage>(devices, all.front());
}

// What kernels that leave a part of the device idle take in a step of the rank, except those of the optimizer.
double Gains::fixed_ms(std::size_t rank) const {
  const RankTimeline& timeline = study_.timelines[rank];
  const BusySplit& split = study_.ranks[rank].split;
  double ns = 0;
  for (const Work& work : timeline.works) {
    if (work.step == trace::kNoStep || !timeline.in_ledger(work) || work.kind == WorkKind::kCollective)
      continue;
    if (!is_of_optimizer(*study_.trace, work) && !fills_device(*study_.trace, split, study_.roofs, work))
      ns += static_cast<double>(work.ns());
  }
  return ns * 1e-6 / static_cast<double>(std::max<std::size_t>(1, timeline.steps.size()));
}

// The share of what the rank launches that is not the optimizer's.
double Gains::again_share(std::size_t rank) const {
  double all = 0, again = 0;
  for (const Work& work : study_.timelines[rank].works) {
    ++all;
    again += !is_of_optimizer(*study_.trace, work);
  }
  return all > 0 ? again / all : 1;
}

// How often in a step the rank works between what it receives and sends: intervals of works that are long
// enough to be a part of the batch.
int Gains::turns(std::size_t rank) const {
  constexpr double kLeastOfLongest = 0.1;
  const RankTimeline& timeline = study_.timelines[rank];
  std::vector<double> intervals(1, 0);
  int32_t step = trace::kNoStep;
  for (const uint32_t i : timeline.launched) {
    const Work& work = timeline.works[i];
    if (work.step == trace::kNoStep || is_of_optimizer(*study_.trace, work)) continue;
    if (work.step != step) intervals.push_back(0);
    step = work.step;
    if (work.kind != WorkKind::kCollective)
      intervals.back() += static_cast<double>(work.ns());
    else if (is_point_to_point(*study_.trace, work) && intervals.back() > 0)
      intervals.push_back(0);
  }
  const double least = kLeastOfLongest * *std::max_element(intervals.begin(), intervals.end());
  const auto long_ones =
      std::count_if(intervals.begin(), intervals.end(), [&](double ns) { return ns > 0 && ns >= least; });
  return std::max(1, static_cast<int>(long_ones / std::max<std::ptrdiff_t>(1, std::ssize(timeline.steps))));
}

Gains::BubbleGain Gains::bubble_gain() const {
  if (!can_predict()) return {};
  const std::vector<Stage> all = stages();
  int fewest = all.size() > study_.timelines.size() ? 1 : turns(0);
  for (std::size_t rank = 1; rank < study_.timelines.size(); ++rank) fewest = std::min(fewest, turns(rank));
  if (all.empty()) return {};
  // The replay of the whole may miss by more than the wait that is to be divided.
  const double now_ms = all[all.size() > study_.headline ? study_.headline : 0].device_ms + bubble_ms_;
  const Pipelining best = best_pipelining(all, fewest, kMostMicroBatches, now_ms);
  return {best, *longest_stage(all, best.micro_batches), std::clamp(now_ms - best.ms, 0.0, bubble_ms_)};
}

// Reductions and gathers that are repeated can be left out; of the rest much can be hidden, or left out where
// it is wider or more than what is needed. The copies around a gather go with it, and are no collectives.
double Gains::without_communication(double all_ms) const {
  const double repeated = of_parts(Cause::kComm, GainModel::kWithoutWorks);
  return std::max(repeated + comm_share() * std::max(0.0, all_ms - repeated),
                  of_parts(Cause::kComm, GainModel::kShorterWorks));
}

// Hidden communication is not free: its kernels take multiprocessors and bandwidth from the work that hides
// it, and the last bucket stays exposed. Many small collectives cost latency, which larger ones do not have.
double Gains::comm_share() const { return small_messages() ? kSmallCollectiveGain : kOverlapGain; }

bool Gains::small_messages() const {
  double bytes = 0, count = 0;
  for (const trace::Collective& detail : study_.trace->collectives) {
    bytes +=
        std::max(detail.elements_in, detail.elements_out) * static_cast<double>(dtype_size(detail.dtype));
    ++count;
  }
  return count > 0 && bytes / count < kSmallCollectiveBytes;
}

double Gains::recorded_sync_ms() const {
  if (!can_predict()) return 0;
  Change change;
  without(change, Activity::kWait) = true;
  const TypicalStep& typical = study_.ranks[study_.headline].typical;
  const double scale = typical.recorded_ms > 0 ? typical.ms / typical.recorded_ms : 1;
  return scale * std::max(0.0, replay_.step_ms() - replay_.step_ms(change));
}

}  // namespace hone::analyze::device
