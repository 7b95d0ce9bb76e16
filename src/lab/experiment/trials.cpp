#include "lab/experiment/trials.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "core/statistics.h"
#include "lab/experiment/arena_gain.h"
#include "lab/experiment/pass_row.h"
#include "lab/gate/gate.h"

namespace hone::lab {
namespace {

using analyze::PassRow;
using graph::Graph;
using runtime::Plan;

// The second look at what is carried asks for more than the first, so that looking twice claims a difference
// that is not there hardly more often than looking once.
constexpr double kSecondLookLevel = 0.975;
constexpr int kSecondLookBlocks = 7;  // fewer can claim nothing at that level

// Gains below this share of the step are not to be seen in the fewest blocks.
constexpr double kSmallGain = 0.02;

class Trials {
 public:
  Trials(const Graph& baseline, Plan& baseline_plan, std::size_t groups, const TrialSteps& steps)
      : baseline_plan_(baseline_plan),
        steps_(steps),
        groups_(groups),
        step_ms_(steps.step_ms),
        baseline_graph_(baseline),
        kept_graph_(baseline),
        current_graph_(baseline) {}

  Status try_all(const std::vector<std::string>& groups);
  TrialResults take() && {
    for (const std::size_t row : carried_) rows_[row].undecided = true;
    return {std::move(kept_graph_), std::move(kept_plan_), std::move(kept_groups_), std::move(rows_),
            std::move(combinations_)};
  }

 private:
  // The group at place `index` of all.
  Status try_group(const std::string& group, std::size_t index);
  // What is carried is kept or dropped, all of it, after a measurement of `seconds` or as long as it takes.
  Status settle_carried(double seconds, double done);
  // What was slower alone, once more, where a later group finds more to do behind it.
  Status reconsider_slower();
  bool was_slower(std::size_t row) const {
    return std::find(slower_.begin(), slower_.end(), row) != slower_.end();
  }
  Plan& kept_plan() { return kept_plan_ != nullptr ? *kept_plan_ : baseline_plan_; }
  // Names of what is carried.
  std::vector<std::string> carried() const;
  // Groups whose passes a plan of the current graph has in it; with `group`, if that is tried now.
  std::vector<std::string> groups_with(const std::string& group) const;
  bool worth_measuring(const PassRow& row, const TrialComparison& comparison, std::size_t index) const;
  Status carry_unmeasured(Graph graph, std::unique_ptr<Plan> plan);
  void carry(Graph graph, std::unique_ptr<Plan> plan);
  void judge(const std::string& group, const PairedResult& speed, const NumericReport& numbers, Graph graph,
             std::unique_ptr<Plan> plan);
  void keep(Graph graph, std::unique_ptr<Plan> plan);

  Plan& baseline_plan_;
  const TrialSteps& steps_;
  std::size_t groups_;
  // Of what was kept last: the baseline's, divided by the speed-ups of what was kept. Every gain is a share of
  // it, so that gains cannot add up to more than the step, however busy the machine was in one comparison.
  double step_ms_;
  const Graph& baseline_graph_;
  Graph kept_graph_;
  Graph current_graph_;              // kept, with what is carried
  std::unique_ptr<Plan> kept_plan_;  // null: the baseline's
  std::vector<std::string> kept_groups_;
  std::unique_ptr<Plan> carried_plan_;  // of current_graph_ while anything is carried
  std::vector<std::size_t> carried_;    // rows
  std::vector<PassRow> rows_;
  std::vector<std::size_t> changes_;  // of each row: how many its passes made
  std::vector<std::size_t> slower_;   // rows that were dropped because they were slower
  std::vector<analyze::PassCombination> combinations_;
};

Status Trials::try_all(const std::vector<std::string>& groups) {
  for (std::size_t i = 0; i < groups.size(); ++i) HONE_CHECK(try_group(groups[i], i));
  HONE_CHECK(settle_carried(steps_.seconds_left(), 1));
  return reconsider_slower();
}

std::vector<std::string> Trials::carried() const {
  std::vector<std::string> names;
  for (std::size_t row : carried_) names.push_back(rows_[row].name);
  return names;
}

std::vector<std::string> Trials::groups_with(const std::string& group) const {
  std::vector<std::string> names = kept_groups_;
  for (const std::string& name : carried()) names.push_back(name);
  if (!group.empty()) names.push_back(group);
  return names;
}

Status Trials::try_group(const std::string& group, std::size_t index) {
  const auto left = static_cast<double>(groups_ - index);
  const double from = static_cast<double>(index) / static_cast<double>(groups_);
  // What saves memory is kept for that: not to bring along what is not known to save time.
  if (passes::aim_of(group) == passes::Aim::kMemory)
    HONE_CHECK(settle_carried(steps_.seconds_left() * left / (left + 1), from));
  HONE_ASSIGN(passes::PipelineResult tried, steps_.apply(current_graph_, group));
  rows_.push_back(make_row(group, tried));
  changes_.push_back(changes_in(tried));
  if (!changed(tried)) return {};
  rows_.back().undecided = true;  // for as long as it is tried
  Result<std::unique_ptr<Plan>> made = steps_.compile(tried.graph, group, from);
  if (!made.ok()) {
    if (made.error().code == ErrorCode::kCancelled) return made.error();
    rows_.back().reason += "; dropped: it makes no plan: " + made.error().message;
    rows_.back().undecided = false;
    return {};
  }
  std::unique_ptr<Plan> plan = *std::move(made);
  TrialComparison comparison;
  comparison.seconds = std::max(steps_.least_seconds, steps_.seconds_left() / left);
  comparison.from = from;
  comparison.to = from + 1 / static_cast<double>(groups_);
  comparison.what = "measuring " + group;
  if (!worth_measuring(rows_.back(), comparison, index)) {
    HONE_CHECK(carry_unmeasured(std::move(tried.graph), std::move(plan)));
  } else {
    HONE_ASSIGN(const PairedResult speed, steps_.compare(kept_plan(), *plan, comparison));
    HONE_ASSIGN(const NumericReport numbers, steps_.check(*plan, groups_with(group)));
    judge(group, speed, numbers, std::move(tried.graph), std::move(plan));
  }
  rows_.back().undecided = false;
  return {};
}

// What follows may build on it, and its gain could not be told from none in the few runs that there is time
// for.
bool Trials::worth_measuring(const PassRow& row, const TrialComparison& comparison, std::size_t index) const {
  const double fewest_seconds = 4e-3 * step_ms_ * comparison.min_blocks;
  return fewest_seconds <= comparison.seconds || std::abs(row.predicted_gain_ms) >= kSmallGain * step_ms_ ||
         index + 1 == groups_ || passes::aim_of(row.name) == passes::Aim::kMemory;
}

Status Trials::carry_unmeasured(Graph graph, std::unique_ptr<Plan> plan) {
  HONE_CHECK(plan->run());
  HONE_ASSIGN(const NumericReport numbers, steps_.check(*plan, groups_with(rows_.back().name)));
  PassRow& row = rows_.back();
  row.max_rel_err = numbers.max_rel_err;
  if (!numbers.passed) {
    row.reason += fmt::format("; dropped: {}", numbers.detail);
    return {};
  }
  row.reason += "; not measured alone: so small a gain takes longer to see than there is time";
  carry(std::move(graph), std::move(plan));
  return {};
}

void Trials::judge(const std::string& group, const PairedResult& speed, const NumericReport& numbers,
                   Graph graph, std::unique_ptr<Plan> plan) {
  PassRow& row = rows_.back();
  const bool for_memory = passes::aim_of(group) == passes::Aim::kMemory;
  if (for_memory) row.arena = arena_gain(kept_graph_, kept_plan(), graph, *plan);
  const GateDecision decision = decide(speed, numbers, arena_change(row.arena));
  row.measured_gain_ms = gain_of(speed, step_ms_);
  row.max_rel_err = numbers.max_rel_err;
  row.kept = decision.kept;
  const std::vector<std::string> before = carried();
  if (decision.kept || for_memory || !numbers.passed || speed.change != SpeedChange::kNoDifference) {
    row.reason += "; " + decision.reason + arena_words(row.arena);
    if (!decision.kept && numbers.passed && speed.change == SpeedChange::kSlower && !for_memory)
      slower_.push_back(rows_.size() - 1);
    if (!decision.kept) return;
    if (!before.empty()) {
      std::vector<PassRow*> together;
      for (std::size_t earlier : carried_) together.push_back(&rows_[earlier]);
      together.push_back(&row);
      combinations_.push_back(combine(together, speed, step_ms_, decision));
    }
    step_ms_ /= speed.ratio.median;
    kept_groups_ = groups_with(group);
    keep(std::move(graph), std::move(plan));
    return;
  }
  row.reason += fmt::format("; no difference {}, {}", before.empty() ? "alone" : "with " + listed(before),
                            ratio_text(speed.ratio));
  carry(std::move(graph), std::move(plan));
}

// The last row.
void Trials::carry(Graph graph, std::unique_ptr<Plan> plan) {
  carried_.push_back(rows_.size() - 1);
  current_graph_ = std::move(graph);
  carried_plan_ = std::move(plan);
}

void Trials::keep(Graph graph, std::unique_ptr<Plan> plan) {
  carried_.clear();
  carried_plan_.reset();
  current_graph_ = std::move(graph);
  kept_graph_ = current_graph_;
  kept_plan_ = std::move(plan);
}

Status Trials::settle_carried(double seconds, double done) {
  if (carried_.empty()) return {};
  const std::string names = listed(carried());
  HONE_ASSIGN(const PairedResult speed,
              steps_.compare(
                  kept_plan(), *carried_plan_,
                  {std::max(steps_.least_seconds, seconds), kSecondLookLevel, kSecondLookBlocks, done, done,
                   fmt::format("measuring {} {}", names, carried_.size() > 1 ? "together" : "again")}));
  HONE_ASSIGN(const NumericReport numbers, steps_.check(*carried_plan_, groups_with("")));
  const GateDecision decision = decide(speed, numbers);
  if (carried_.size() == 1) {
    PassRow& row = rows_[carried_[0]];
    row.measured_gain_ms = gain_of(speed, step_ms_);
    row.kept = decision.kept;
    row.reason += "; measured again, " + decision.reason;
  } else {
    std::vector<PassRow*> together;
    for (std::size_t row : carried_) together.push_back(&rows_[row]);
    combinations_.push_back(combine(together, speed, step_ms_, decision));
  }
  if (decision.kept) {
    kept_groups_ = groups_with("");
    step_ms_ /= speed.ratio.median;
  }
  Graph graph = decision.kept ? std::move(current_graph_) : kept_graph_;
  keep(std::move(graph), decision.kept ? std::move(carried_plan_) : std::move(kept_plan_));
  return {};
}

Status Trials::reconsider_slower() {
  Graph graph = baseline_graph_;
  std::vector<std::string> groups;
  std::vector<PassRow*> joined;  // what would be kept that is not
  bool more = false;
  for (std::size_t i = 0; i < rows_.size() && !slower_.empty(); ++i) {
    PassRow& row = rows_[i];
    if (row.changed && !row.kept && !was_slower(i)) continue;
    HONE_ASSIGN(passes::PipelineResult tried, steps_.apply(graph, row.name));
    if (!changed(tried)) continue;
    more = more || (!joined.empty() && changes_in(tried) > changes_[i]);
    if (!row.changed) {
      PassRow behind = make_row(row.name, tried);
      behind.reason = fmt::format("{}; behind {}: {}", row.reason, listed(groups), behind.reason);
      row = std::move(behind);
    }
    if (!row.kept) joined.push_back(&row);
    groups.push_back(row.name);
    graph = std::move(tried.graph);
  }
  if (!more) return {};
  HONE_ASSIGN(std::unique_ptr<Plan> plan, steps_.compile(graph, groups.back(), 1));
  std::vector<std::string> names;
  for (const PassRow* row : joined) names.push_back(row->name);
  HONE_ASSIGN(const PairedResult speed,
              steps_.compare(
                  kept_plan(), *plan,
                  {std::max(steps_.least_seconds, steps_.seconds_left()), kSecondLookLevel, kSecondLookBlocks,
                   1, 1, fmt::format("measuring {} before what follows", listed(names))}));
  HONE_ASSIGN(const NumericReport numbers, steps_.check(*plan, groups));
  const GateDecision decision = decide(speed, numbers);
  if (joined.size() == 1) {
    joined[0]->measured_gain_ms = gain_of(speed, step_ms_);
    joined[0]->kept = decision.kept;
    joined[0]->reason += "; measured again with what it lets later groups do, " + decision.reason;
  } else {
    combinations_.push_back(combine(joined, speed, step_ms_, decision));
  }
  if (!decision.kept) return {};
  kept_groups_ = std::move(groups);
  step_ms_ /= speed.ratio.median;
  keep(std::move(graph), std::move(plan));
  return {};
}

}  // namespace

Status run_trials(const Graph& baseline, Plan& baseline_plan, const std::vector<std::string>& groups,
                  const TrialSteps& steps, TrialResults& results) {
  Trials trials(baseline, baseline_plan, groups.size(), steps);
  const Status tried = trials.try_all(groups);
  results = std::move(trials).take();
  return tried;
}

}  // namespace hone::lab
