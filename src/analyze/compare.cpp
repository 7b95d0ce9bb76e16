#include "analyze/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analyze/match_operators.h"
#include "analyze/rules.h"
#include "core/units.h"

namespace hone::analyze {
namespace {

// Where neither run has this part of its operators' time in operators that the other ran, it is said.
constexpr double kSameProgram = 0.5;

double part_drift(const Analysis& a, const Analysis& b) { return std::max(kPartDrift, drift(a, b)); }

// One sample a step: the times of the operators together.
void add_samples(std::vector<double>& sum, const std::vector<double>& samples) {
  if (sum.size() < samples.size()) sum.resize(samples.size());
  for (std::size_t k = 0; k < samples.size(); ++k) sum[k] += samples[k];
}

// What operators of the two runs are compared within.
struct Frame {
  std::size_t a_count = 0;  // operators of the first run
  std::size_t a_steps = 0, b_steps = 0;
  double step_ms = 0;
  double drift = 0;
};

OperatorChange change_of(const std::vector<const OperatorTime*>& all, const std::vector<std::size_t>& members,
                         const Frame& frame) {
  OperatorChange change;
  // An operator that a run does not have takes no time in each of its steps.
  std::vector<double> a_samples(frame.a_steps), b_samples(frame.b_steps);
  for (std::size_t i : members) {
    const OperatorTime& op = *all[i];
    bool first = i < frame.a_count;
    (first ? change.a : change.b).push_back(op.name);
    (first ? change.a_ms : change.b_ms) += op.ms.median;
    add_samples(first ? a_samples : b_samples, op.samples_ms);
    if (change.kind.empty() || !first) change.kind = op.kind;
  }
  const double least_ms =
      std::max(frame.drift * std::max(change.a_ms, change.b_ms), kPartOfStep * frame.step_ms);
  change.difference = difference(a_samples, b_samples, least_ms);
  return change;
}

std::vector<OperatorChange> compare_operators(const Analysis& a, const Analysis& b) {
  std::vector<const OperatorTime*> all;
  for (const OperatorTime& op : a.operators) all.push_back(&op);
  for (const OperatorTime& op : b.operators) all.push_back(&op);
  std::vector<OperatorChange> changes;
  const Frame frame{a.operators.size(), a.step.samples_ms.size(), b.step.samples_ms.size(),
                    std::max(a.step.ms.median, b.step.ms.median), part_drift(a, b)};
  const bool foreign = a.subject != Subject::kPlan || b.subject != Subject::kPlan;
  for (const OperatorSet& members : foreign ? match_by_inputs(all, frame.a_count) : match_by_model(all))
    changes.push_back(change_of(all, members, frame));
  std::stable_sort(changes.begin(), changes.end(), [](const OperatorChange& x, const OperatorChange& y) {
    return std::abs(x.b_ms - x.a_ms) > std::abs(y.b_ms - y.a_ms);
  });
  return changes;
}

// The rank whose ledger is shown.
int shown_rank(const Analysis& analysis) {
  return analysis.ranks.size() == 1 ? analysis.ranks.front() : analysis.ledger_rank;
}

// How long an operator takes in a run, on ranks that are not shown or on the one that is.
struct Found {
  std::vector<int> ranks;
  double ms = 0;
  std::vector<double> samples_ms;
};

using OperatorKey = std::pair<std::string_view, std::string_view>;  // kind, name

template <typename Row>
OperatorKey key_of(const Row& row) {
  return {row.kind, row.name};
}

// The operators of all ranks of a run, which must outlive this.
class AllRanks {
 public:
  explicit AllRanks(const Analysis& run) {
    none_.samples_ms.resize(run.step.samples_ms.size());
    for (const OperatorTime& row : run.operators) {  // several of one name: in several phases of the step
      Found& found = operators_.try_emplace(key_of(row), none_).first->second;
      found.ranks = {shown_rank(run)};
      found.ms += row.ms.median;
      add_samples(found.samples_ms, row.samples_ms);
    }
    for (const ElsewhereOperator& row : run.elsewhere)
      operators_[key_of(row)] = {row.ranks, row.ms, row.samples_ms};
  }

  // What is on no rank takes no time in each of the steps.
  const Found& find(const OperatorKey& key) const {
    const auto found = operators_.find(key);
    return found == operators_.end() ? none_ : found->second;
  }

 private:
  std::map<OperatorKey, Found> operators_;
  Found none_;
};

std::vector<ElsewhereChange> compare_elsewhere(const Analysis& a, const Analysis& b) {
  std::vector<ElsewhereChange> changes;
  if (a.ranks != b.ranks || !a.elsewhere_known || !b.elsewhere_known) return changes;
  const AllRanks of_a(a), of_b(b);
  const double least_ms = kPartOfStep * std::max(a.step.ms.median, b.step.ms.median);
  std::set<OperatorKey> told;
  for (const Analysis* run : {&a, &b})
    for (const ElsewhereOperator& op : run->elsewhere) {
      if (op.stands_for_shown || !told.insert(key_of(op)).second) continue;
      const Found &first = of_a.find(key_of(op)), &second = of_b.find(key_of(op));
      const double longest = std::max(first.ms, second.ms);
      if (longest < least_ms) continue;
      ElsewhereChange change{op.name, op.kind, first.ranks, second.ranks, first.ms, second.ms, {}};
      change.difference =
          difference(first.samples_ms, second.samples_ms, std::max(part_drift(a, b) * longest, least_ms));
      changes.push_back(std::move(change));
    }
  std::stable_sort(changes.begin(), changes.end(), [](const ElsewhereChange& x, const ElsewhereChange& y) {
    return std::abs(x.b_ms - x.a_ms) > std::abs(y.b_ms - y.a_ms);
  });
  return changes;
}

// A row that a recording does not have takes no time in each of its steps.
const LedgerRow* row_of(const Analysis& analysis, Cause cause) {
  const auto at = std::find_if(analysis.ledger.begin(), analysis.ledger.end(),
                               [cause](const LedgerRow& row) { return row.cause == cause; });
  return at == analysis.ledger.end() ? nullptr : &*at;
}

std::vector<double> samples_of(const LedgerRow* row, const Analysis& analysis) {
  return row != nullptr ? row->samples_ms : std::vector<double>(analysis.step.samples_ms.size());
}

// What a rule's row of the ledger has where nothing of it was worth a finding.
double unfound_ms(const Analysis& analysis, const std::string& rule) {
  for (const LedgerRow& row : analysis.ledger)
    if (row.rule == rule) return row.ms;
  return 0;
}

std::vector<RuleChange> compare_findings(const Analysis& a, const Analysis& b) {
  std::vector<RuleChange> changes;
  const auto change_of = [&](const Finding& finding) -> RuleChange& {
    const auto at = std::find_if(changes.begin(), changes.end(),
                                 [&](const RuleChange& row) { return row.rule == finding.rule; });
    return at != changes.end() ? *at : changes.emplace_back(RuleChange{finding.rule, finding.cause});
  };
  for (const Finding& finding : a.findings) {
    change_of(finding).a_ms += finding.ms;
    change_of(finding).a_gain_ms += finding.predicted_gain_ms;
  }
  for (const Finding& finding : b.findings) {
    change_of(finding).b_ms += finding.ms;
    change_of(finding).b_gain_ms += finding.predicted_gain_ms;
  }
  for (RuleChange& row : changes) {
    if (row.a_ms <= 0) row.a_ms = unfound_ms(a, row.rule);
    if (row.b_ms <= 0) row.b_ms = unfound_ms(b, row.rule);
  }
  std::stable_sort(changes.begin(), changes.end(), [](const RuleChange& x, const RuleChange& y) {
    return std::abs(x.b_ms - x.a_ms) > std::abs(y.b_ms - y.a_ms);
  });
  return changes;
}

double unrecorded_ms(const Analysis& analysis) {
  return analysis.step.unrecorded_ms ? analysis.step.unrecorded_ms->median : analysis.step.ms.median;
}

bool recorder_matters(const Analysis& analysis) {
  return unrecorded_ms(analysis) < kRecorderMatters * analysis.step.ms.median;
}

std::string factor_words(double a_ms, double b_ms) {
  const double factor = std::max(a_ms, b_ms) / std::min(a_ms, b_ms);
  return format_factor(factor) + (b_ms < a_ms ? " faster" : " slower");
}

// By which both are written, as the tables write them.
double longer_step_ms(const Analysis& a, const Analysis& b) {
  return std::max(a.step.ms.median, b.step.ms.median);
}

Estimate unrecorded(const Analysis& analysis) {
  return analysis.step.unrecorded_ms.value_or(analysis.step.ms);
}

bool lie_apart(const Estimate& a, const Estimate& b) { return a.high < b.low || b.high < a.low; }

std::string with_range(const Estimate& estimate, double step_ms) {
  return fmt::format("{} ({})", fixed_ms(estimate.median, step_ms),
                     fixed_range(estimate.low, estimate.high, step_ms));
}

// What the steps would be without the recorder, where it slows one of them visibly and they differ; empty
// where not: what is predicted of two that cannot be told apart would tell them apart. Unless their ranges
// do.
std::string without_recorder(const Comparison& result, const Analysis& a, const Analysis& b) {
  const double before = unrecorded_ms(a), after = unrecorded_ms(b);
  if (before <= 0 || after <= 0 || (!recorder_matters(a) && !recorder_matters(b))) return {};
  const double step = longer_step_ms(a, b);
  if (result.difference.certainty == Certainty::kNone) {
    const bool differ = result.difference.sure || result.difference.apart;
    if (!differ || !lie_apart(unrecorded(a), unrecorded(b))) return {};
    return fmt::format(
        " But without the recorder the steps take about {} and {}, ranges that lie apart: the second is "
        "probably {}.",
        with_range(unrecorded(a), step), with_range(unrecorded(b), step), pace(before, after));
  }
  return fmt::format(" Without the recorder the steps take about {} and {}: the second is {}.",
                     fixed_ms(before, step), fixed_ms(after, step), pace(before, after));
}

// The recorder slows the one so much more than the other that which is faster depends on it.
bool depends_on_recorder(const Comparison& result, const Analysis& a, const Analysis& b) {
  const double before = unrecorded_ms(a), after = unrecorded_ms(b);
  if (before <= 0 || after <= 0 || (!recorder_matters(a) && !recorder_matters(b))) return false;
  const bool certain =
      result.difference.certainty == Certainty::kSure || result.difference.certainty == Certainty::kLikely;
  const double recorded = b.step.ms.median - a.step.ms.median;
  return certain && recorded * (after - before) < 0 && std::abs(after - before) > kDeviceDrift * before;
}

// How the steps of a recording were found, without what is particular to it.
std::string way_of_finding(const Analysis& analysis) {
  return analysis.step.how_found.substr(0, analysis.step.how_found.find_first_of(":'"));
}

std::string steps_of(const Analysis& analysis, double step_ms) {
  return fmt::format("{} ({})", fixed_ms(analysis.step.ms.median, step_ms),
                     counted(analysis.step.count, "step"));
}

std::string which(bool first, bool second, std::string_view all) {
  return std::string(first && second ? all : first ? "the first recording" : "the second recording");
}

std::string not_compared(const Analysis& a, const Analysis& b) {
  if (a.lacked_cpu() || b.lacked_cpu()) {
    const auto lacked = [](const Analysis& analysis, std::string_view which) {
      return analysis.lacked_cpu()
                 ? fmt::format("in the {} for {} of the time", which, format_percent(analysis.without_cpu))
                 : std::string();
    };
    const std::string first = lacked(a, "first"), second = lacked(b, "second");
    return fmt::format(
        "Not compared: {} against {}, but the main thread had no CPU {}{}{}, and what that changes cannot be "
        "told from "
        "what the programs change. Record both again with the machine to themselves.",
        fixed_ms(a.step.ms.median, longer_step_ms(a, b)), fixed_ms(b.step.ms.median, longer_step_ms(a, b)),
        first, !first.empty() && !second.empty() ? ", " : "", second);
  }
  const bool first_busy = a.contention.disturbed(), second_busy = b.contention.disturbed();
  if (first_busy || second_busy)
    return fmt::format(
        "Not compared: {} {} taken while the machine was busy ({}); record again when it is quiet.",
        which(first_busy, second_busy, "both recordings"), first_busy && second_busy ? "were" : "was",
        contention_text(first_busy && a.contention.waited >= b.contention.waited ? a.contention
                        : second_busy                                            ? b.contention
                                                                                 : a.contention));
  return fmt::format("Not compared: {} lacks too much of what ran.",
                     which(!a.verdict.given, !b.verdict.given, "each of the recordings"));
}

// Whether the change is too small beside that of recordings of one program, rather than beside what their
// own steps show.
bool within_drift(const Comparison& result) {
  return std::abs(result.difference.change_ms.median) <
         result.drift * std::min(result.a_ms.median, result.b_ms.median);
}

std::string sentence_of(const Comparison& result, const Analysis& a, const Analysis& b) {
  const double step = longer_step_ms(a, b);
  const std::string first = fixed_ms(a.step.ms.median, step), second = fixed_ms(b.step.ms.median, step);
  const std::string both = fmt::format("{} against {}", first, second);
  const std::string became = fmt::format("{} became {}", first, second);
  const Difference& difference = result.difference;
  if (!result.comparable) return not_compared(a, b);
  if (!result.same_steps)
    return fmt::format(
        "The steps of the two were found in different ways and may not be the same work: {}, so nothing is "
        "said about which is faster.",
        both);
  if (depends_on_recorder(result, a, b))
    return fmt::format(
        "Not clear which is faster: {} as recorded, but the recorder slows the two unequally; without it the "
        "steps take about {} and {}. Record both with {}.",
        became, fixed_ms(unrecorded_ms(a), step), fixed_ms(unrecorded_ms(b), step),
        a.step.unrecorded_measured || b.step.unrecorded_measured
            ? "hone profile, which measures the step without the recorder"
            : "record_shapes=False and with_stack=False");
  switch (difference.certainty) {
    case Certainty::kTooFew:
      return fmt::format(
          "Too few steps to tell a difference from chance: {} against {}. Record {} or more of each.",
          steps_of(a, step), steps_of(b, step), steps_to_be_sure());
    case Certainty::kSure:
      return fmt::format("The second is {}: {} (change {}).",
                         factor_words(a.step.ms.median, b.step.ms.median), became,
                         fixed_range(difference.change_ms.low, difference.change_ms.high, step));
    case Certainty::kLikely:
      return fmt::format(
          "The second is probably {}: {}. Every step of one is longer than every step of the other, which {} "
          "against {} steps of equal programs show in {} of cases; record {} or more of each to be sure.",
          factor_words(a.step.ms.median, b.step.ms.median), became, a.step.count, b.step.count,
          format_percent(difference.chance), steps_to_be_sure());
    case Certainty::kNone:
      break;
  }
  if ((difference.sure || difference.apart) && within_drift(result))
    return fmt::format(
        "No difference that one recording of each can show: {}. Recordings of one program{} differ by up to "
        "{:.0f} %.",
        both, result.drift > kDeviceDrift ? " whose host sets the pace" : "", result.drift * 100);
  if (difference.sure || difference.apart)
    return fmt::format(
        "No difference that these steps can show: {}. The steps of one recording differ as much among "
        "themselves.",
        both);
  return fmt::format("No difference that these steps can show: {}.", both);
}

// How much of the time of a run's operators is that of operators which the other ran, too.
double common_share(const std::vector<OperatorChange>& operators, double OperatorChange::*ms) {
  double common = 0, all = 0;
  for (const OperatorChange& row : operators) {
    all += row.*ms;
    if (!row.a.empty() && !row.b.empty()) common += row.*ms;
  }
  return all > 0 ? common / all : 1;
}

// What lies between operators where the program does little there (device/host/operator_gap.h); 0: not known.
double operator_gap_us(const Analysis& analysis) {
  const auto found = analysis.figures.find("operator_gap_us");
  return found == analysis.figures.end() ? 0 : found->second;
}

// A compiler does much between the operators that it looks at.
bool compiles(const Analysis& analysis) {
  constexpr double kLittle = 0.02;
  const LedgerRow* row = row_of(analysis, Cause::kCompile);
  return row != nullptr && row->share > kLittle;
}

// Where the host sets the pace, steps tell as much of the host as of the program. Two programs cannot be
// told apart from two hosts: only of nearly the same operators something is said.
std::string unequal_hosts(const Comparison& result, const Analysis& a, const Analysis& b,
                          double common_share) {
  constexpr double kUnequal = 1.4, kEqualPrograms = 0.9;
  const double first = operator_gap_us(a), second = operator_gap_us(b);
  if (compiles(a) || compiles(b)) return {};
  if (common_share < kEqualPrograms || result.drift <= kDeviceDrift || first <= 0 || second <= 0) return {};
  const double ratio = std::max(first, second) / std::min(first, second);
  if (ratio < kUnequal) return {};
  return fmt::format(
      "the host seems to have been {:.1f} times as slow in the {} recording, measured where the program "
      "does little ({:.2f} µs between operators against {:.2f} µs), so part of the change is the host's; "
      "record both on one host, one right after the other",
      ratio, first > second ? "first" : "second", std::max(first, second), std::min(first, second));
}

// FLOPs of matrix products and convolutions, which no compiler leaves out; 0: not known well.
double product_flops(const Analysis& analysis) {
  constexpr double kKnown = 0.8;
  if (analysis.coverage && analysis.coverage->costed_share < kKnown) return 0;
  double flops = 0;
  for (const OperatorTime& row : analysis.operators)
    if (row.op_class == trace::OperatorClass::kMatrix || row.op_class == trace::OperatorClass::kConvolution)
      flops += row.flops;
  return flops;
}

std::string unequal_work(const Analysis& a, const Analysis& b) {
  constexpr double kUnequal = 1.1;
  const double first = product_flops(a), second = product_flops(b);
  if (first <= 0 || second <= 0 || std::max(first, second) < kUnequal * std::min(first, second)) return {};
  return fmt::format(
      "their steps do different work: {} in products and convolutions against {}; where that is not the "
      "change, compare the time of one sample",
      format_flops(first), format_flops(second));
}

std::vector<std::string> caveats_of(const Comparison& result, const Analysis& a, const Analysis& b) {
  std::vector<std::string> caveats;
  if (!result.same_steps)
    caveats.push_back(
        fmt::format("steps found differently: the first by {}, the second by {}; mark the steps of both with "
                    "profiler.step()",
                    a.step.how_found, b.step.how_found));
  const double of_a = common_share(result.operators, &OperatorChange::a_ms);
  const double of_b = common_share(result.operators, &OperatorChange::b_ms);
  if (std::max(of_a, of_b) < kSameProgram)
    caveats.push_back(
        fmt::format("few operators in common ({} of the first's time, {} of the second's): two programs, "
                    "or one that was compiled or rewritten in between",
                    format_percent(of_a), format_percent(of_b)));
  const bool foreign = a.subject != Subject::kPlan && b.subject != Subject::kPlan;
  if (const std::string unequal = unequal_work(a, b); foreign && !unequal.empty()) caveats.push_back(unequal);
  if (a.ranks.size() == 1 && b.ranks.size() == 1 && a.ranks != b.ranks)
    caveats.push_back(
        fmt::format("rank {} against rank {}: ranks of one run are explained together (hone explain A B)",
                    a.ranks.front(), b.ranks.front()));
  else if (result.a_rank != result.b_rank)
    caveats.push_back(fmt::format(
        "rank {} of the first is shown beside rank {} of the second{}: their ledgers and operators are "
        "those of different ranks",
        result.a_rank, result.b_rank,
        a.ranks.size() > 1 && b.ranks.size() > 1 ? ", in each the one that waits longest for the others"
                                                 : ""));
  if (a.ranks.size() != b.ranks.size())
    caveats.push_back(fmt::format("{} rank{} against {}: the ledgers are of one rank each", a.ranks.size(),
                                  a.ranks.size() == 1 ? "" : "s", b.ranks.size()));
  if (const std::string unequal = unequal_hosts(result, a, b, std::min(of_a, of_b)); !unequal.empty())
    caveats.push_back(unequal);
  if (a.device != b.device)
    caveats.push_back(fmt::format("different devices: {} and {}", a.device, b.device));
  return caveats;
}

// Nothing is sure of steps that may not be the same work.
void take_back(Comparison& result) {
  const auto unsure = [](Difference& difference) { difference = {.change_ms = difference.change_ms}; };
  unsure(result.difference);
  for (CauseChange& row : result.ledger) unsure(row.difference);
  for (OperatorChange& row : result.operators) unsure(row.difference);
  for (ElsewhereChange& row : result.elsewhere) unsure(row.difference);
}

}  // namespace

// Rows trade time with each other: what of a row is news is a share of the step.
std::vector<CauseChange> compare_ledgers(const Analysis& a, const Analysis& b) {
  std::vector<CauseChange> changes;
  const double least_ms = part_drift(a, b) * std::max(a.step.ms.median, b.step.ms.median);
  for (Cause cause : all_causes()) {
    const LedgerRow *before = row_of(a, cause), *after = row_of(b, cause);
    if (before == nullptr && after == nullptr) continue;
    CauseChange change{cause, before != nullptr ? before->ms : 0, after != nullptr ? after->ms : 0, {}};
    change.difference = difference(samples_of(before, a), samples_of(after, b), least_ms);
    changes.push_back(std::move(change));
  }
  return changes;
}

Comparison compare(const Analysis& a, const Analysis& b) {
  Comparison result;
  result.a = a.source;
  result.b = b.source;
  result.a_ms = a.step.ms;
  result.b_ms = b.step.ms;
  result.a_unrecorded_ms = a.step.unrecorded_ms;
  result.b_unrecorded_ms = b.step.unrecorded_ms;
  result.comparable = a.verdict.given && b.verdict.given && !a.lacked_cpu() && !b.lacked_cpu();
  result.same_steps = way_of_finding(a) == way_of_finding(b);
  result.drift = drift(a, b);
  result.difference = difference(a.step.samples_ms, b.step.samples_ms,
                                 result.drift * std::min(a.step.ms.median, b.step.ms.median));
  result.a_verdict = a.verdict.sentence;
  result.b_verdict = b.verdict.sentence;
  result.a_advice = first_advice(a);
  result.b_advice = first_advice(b);
  result.ratio = b.step.ms.median > 0 ? a.step.ms.median / b.step.ms.median : 1;
  result.a_rank = shown_rank(a);
  result.b_rank = shown_rank(b);
  if (!result.comparable) {  // what is not compared stands side by side nowhere
    result.difference = {};
    result.sentence = sentence_of(result, a, b);
    return result;
  }
  result.ledger = compare_ledgers(a, b);
  result.findings = compare_findings(a, b);
  result.operators = compare_operators(a, b);
  result.kernels = compare_counters(a, b);
  result.elsewhere = compare_elsewhere(a, b);
  if (!result.same_steps) take_back(result);
  result.sentence = sentence_of(result, a, b);
  if (result.same_steps && result.difference.certainty != Certainty::kTooFew &&
      !depends_on_recorder(result, a, b))
    result.sentence += without_recorder(result, a, b);
  result.caveats = caveats_of(result, a, b);
  return result;
}

std::string pace(double a_ms, double b_ms) {
  if (!(a_ms > 0) || !(b_ms > 0)) return "no measure of the other";
  const double factor = std::max(a_ms, b_ms) / std::min(a_ms, b_ms);
  if (factor < 1 + kDeviceDrift) return "as fast";
  return factor_words(a_ms, b_ms);
}

}  // namespace hone::analyze
