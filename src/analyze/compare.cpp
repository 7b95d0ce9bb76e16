#include "analyze/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/estimate.h"
#include "analyze/rules.h"
#include "core/units.h"

namespace hone::analyze {
namespace {

constexpr int kFewSteps = 10;
constexpr double kWorthNaming = 0.03;  // of the step: a smaller change of a few steps is nobody's news

// Whether all of `a` lie above all of `b`, or the other way round.
bool are_apart(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return false;
  const auto [a_low, a_high] = std::minmax_element(a.begin(), a.end());
  const auto [b_low, b_high] = std::minmax_element(b.begin(), b.end());
  return *a_low > *b_high || *b_low > *a_high;
}

// That n and m samples of one distribution come apart by chance: two of the C(n + m, n) orders do.
double chance_of_apart(std::size_t n, std::size_t m) {
  double orders = 1;
  for (std::size_t i = 1; i <= n; ++i) orders *= static_cast<double>(m + i) / static_cast<double>(i);
  return std::min(1.0, 2 / orders);
}

// Sets of indices that can be merged (union-find with path halving).
class Groups {
 public:
  explicit Groups(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0u); }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void merge(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

using Sets = std::map<std::size_t, std::vector<std::size_t>>;

Sets sets_of(Groups& groups, std::size_t count) {
  Sets sets;
  for (std::size_t i = 0; i < count; ++i) sets[groups.find(i)].push_back(i);
  return sets;
}

// Joins what has the same key.
class Joining {
 public:
  explicit Joining(Groups& groups) : groups_(groups) {}
  void join(const std::string& key, std::size_t i) {
    const auto [found, added] = first_.emplace(key, i);
    if (!added) groups_.merge(i, found->second);
  }

 private:
  Groups& groups_;
  std::unordered_map<std::string, std::size_t> first_;
};

// Operators of both runs that share a name or a node of the model, as sets of indices: those of `a` first,
// then those of `b`.
Sets match(const std::vector<const OperatorTime*>& all) {
  Groups groups(all.size());
  Joining joining(groups);
  for (std::size_t i = 0; i < all.size(); ++i) {
    // An operator that knows where it came from is matched by that: names of generated operators repeat by
    // chance.
    if (all[i]->provenance.empty()) joining.join(all[i]->name, i);
    for (const std::string& source : all[i]->provenance) joining.join(source, i);
  }
  return sets_of(groups, all.size());
}

// Operators of foreign programs: by kind, inputs and phase, which their names say. What then stands alone on
// its side is matched by kind: another batch size or type gives every operator other inputs.
Sets match_by_inputs(const std::vector<const OperatorTime*>& all, std::size_t a_count) {
  Groups groups(all.size());
  Joining by_name(groups);
  for (std::size_t i = 0; i < all.size(); ++i) by_name.join(all[i]->kind + " " + all[i]->name, i);
  Joining by_kind(groups);
  for (const auto& [root, members] : sets_of(groups, all.size()))
    if (members.front() >= a_count || members.back() < a_count)
      by_kind.join(all[members.front()]->kind, root);
  return sets_of(groups, all.size());
}

// One sample a step: the times of the operators together.
void add_samples(std::vector<double>& sum, const std::vector<double>& samples) {
  if (sum.size() < samples.size()) sum.resize(samples.size());
  for (std::size_t k = 0; k < samples.size(); ++k) sum[k] += samples[k];
}

OperatorChange change_of(const std::vector<const OperatorTime*>& all, const std::vector<std::size_t>& members,
                         std::size_t a_count, std::size_t a_steps, std::size_t b_steps) {
  OperatorChange change;
  // An operator that a run does not have takes no time in each of its steps.
  std::vector<double> a_samples(a_steps), b_samples(b_steps);
  for (std::size_t i : members) {
    const OperatorTime& op = *all[i];
    bool first = i < a_count;
    (first ? change.a : change.b).push_back(op.name);
    (first ? change.a_ms : change.b_ms) += op.ms.median;
    add_samples(first ? a_samples : b_samples, op.samples_ms);
    if (change.kind.empty() || !first) change.kind = op.kind;
  }
  const Shift shift = shift_estimate(a_samples, b_samples);
  change.change_ms = shift.change;
  change.sure = shift.sure;
  change.apart = are_apart(a_samples, b_samples);
  return change;
}

std::vector<OperatorChange> compare_operators(const Analysis& a, const Analysis& b) {
  std::vector<const OperatorTime*> all;
  for (const OperatorTime& op : a.operators) all.push_back(&op);
  for (const OperatorTime& op : b.operators) all.push_back(&op);
  std::vector<OperatorChange> changes;
  const bool foreign = a.coverage.has_value() || b.coverage.has_value();
  for (const auto& [root, members] : foreign ? match_by_inputs(all, a.operators.size()) : match(all))
    changes.push_back(
        change_of(all, members, a.operators.size(), a.step.samples_ms.size(), b.step.samples_ms.size()));
  std::stable_sort(changes.begin(), changes.end(), [](const OperatorChange& x, const OperatorChange& y) {
    return std::abs(x.b_ms - x.a_ms) > std::abs(y.b_ms - y.a_ms);
  });
  return changes;
}

std::vector<CauseChange> compare_ledgers(const Analysis& a, const Analysis& b) {
  std::vector<CauseChange> changes;
  for (Cause cause : all_causes()) {
    CauseChange change{cause, 0, 0};
    for (const LedgerRow& row : a.ledger)
      if (row.cause == cause) change.a_ms = row.ms;
    for (const LedgerRow& row : b.ledger)
      if (row.cause == cause) change.b_ms = row.ms;
    if (change.a_ms > 0 || change.b_ms > 0) changes.push_back(change);
  }
  return changes;
}

std::string sentence_of(const Comparison& result) {
  bool faster = result.change_ms.median < 0;
  double factor = faster ? result.ratio : 1 / result.ratio;
  const bool worth_naming = std::abs(result.change_ms.median) >= kWorthNaming * result.a_ms.median;
  if (!result.sure && result.apart && worth_naming)
    return fmt::format(
        "The second run is probably {:.2f}× {}: {} became {} in every step; of so few steps chance alone "
        "would "
        "make that of equal programs in {} of cases.",
        factor, faster ? "faster" : "slower", format_ms(result.a_ms.median), format_ms(result.b_ms.median),
        format_percent(result.chance));
  if (!result.sure)
    return fmt::format("No difference that these measurements can show: {} against {}.",
                       format_ms(result.a_ms.median), format_ms(result.b_ms.median));
  return fmt::format("The second run is {:.2f}× {}: {} became {} (change {} to {}).", factor,
                     faster ? "faster" : "slower", format_ms(result.a_ms.median),
                     format_ms(result.b_ms.median), format_ms(result.change_ms.low),
                     format_ms(result.change_ms.high));
}

// What the steps would be without the recorder, where it matters to one of them; empty where not.
std::string without_recorder(const Analysis& a, const Analysis& b) {
  const auto step_ms = [](const Analysis& analysis) {
    const auto at = analysis.metrics.find("unrecorded_step_ms");
    return at == analysis.metrics.end() ? analysis.step.ms.median : at->second;
  };
  const double before = step_ms(a), after = step_ms(b);
  const auto matters = [](double unrecorded, const Analysis& analysis) {
    return unrecorded < kRecorderMatters * analysis.step.ms.median;
  };
  if (after <= 0 || (!matters(before, a) && !matters(after, b))) return {};
  return fmt::format(
      "recording slows these programs unequally: without the recorder their steps take about {} and {}, "
      "{:.3g} times as fast",
      format_ms(before), format_ms(after), before / after);
}

}  // namespace

Comparison compare(const Analysis& a, const Analysis& b) {
  Comparison result;
  result.a = a.source;
  result.b = b.source;
  result.a_ms = a.step.ms;
  result.b_ms = b.step.ms;
  const Shift shift = shift_estimate(a.step.samples_ms, b.step.samples_ms);
  result.change_ms = shift.change;
  result.sure = shift.sure;
  result.apart = are_apart(a.step.samples_ms, b.step.samples_ms);
  if (result.apart) result.chance = chance_of_apart(a.step.samples_ms.size(), b.step.samples_ms.size());
  result.a_verdict = a.verdict.sentence;
  result.b_verdict = b.verdict.sentence;
  result.ratio = b.step.ms.median > 0 ? a.step.ms.median / b.step.ms.median : 1;
  result.ledger = compare_ledgers(a, b);
  result.operators = compare_operators(a, b);
  result.sentence = sentence_of(result);
  if (std::min(a.step.count, b.step.count) < kFewSteps)
    result.caveats.push_back(fmt::format(
        "few steps ({} and {}): intervals are wide and may be too narrow still", a.step.count, b.step.count));
  if (const std::string unrecorded = without_recorder(a, b); !unrecorded.empty())
    result.caveats.push_back(unrecorded);
  if (a.device != b.device)
    result.caveats.push_back(fmt::format("the runs used different devices: {} and {}", a.device, b.device));
  return result;
}

}  // namespace hone::analyze
