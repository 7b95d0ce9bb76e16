#include "analyze/ledger.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include <fmt/args.h>
#include <fmt/format.h>

#include "analyze/attribution.h"
#include "analyze/program_facts.h"
#include "analyze/rules.h"
#include "core/units.h"

namespace hone::analyze {
namespace {

constexpr std::size_t kNamedOperators = 3;  // a row names its largest operators, not all of them

constexpr double kWorthSaying = 0.01;  // below this share a part of a row is not mentioned

// An operator's part of a row.
struct Part {
  const OperatorProfile* profile;
  double ms;
  double gain_ms;
};

// A row being filled.
struct Account {
  double ms = 0;
  std::vector<Part> parts;
};
using Accounts = std::array<Account, kCauseCount>;

Account& of(Accounts& accounts, Cause cause) { return accounts[static_cast<std::size_t>(cause)]; }

void add(Accounts& accounts, Cause cause, const OperatorProfile& op, double ms, double gain_ms = 0) {
  if (ms <= 0) return;
  of(accounts, cause).ms += ms;
  of(accounts, cause).parts.push_back({&op, ms, gain_ms});
}

Accounts collect(const StepProfile& profile) {
  Accounts accounts;
  for (const OperatorProfile& op : profile.operators) {
    add(accounts, Cause::kFloor, op, op.split.floor_ms);
    add(accounts, Cause::kLayout, op, op.split.layout_ms);
    add(accounts, Cause::kAvoidableTraffic, op, op.split.avoidable_ms);
    add(accounts, Cause::kKernelInefficiency, op, op.split.inefficiency_ms,
        op.split.recoverable_inefficiency_ms);
    add(accounts, Cause::kUnjudged, op, op.split.unjudged_ms);
  }
  for (Cause cause : all_causes()) {
    Account& account = of(accounts, cause);
    account.ms += profile.waiting_ms[static_cast<std::size_t>(cause)];
    std::stable_sort(account.parts.begin(), account.parts.end(),
                     [](const Part& a, const Part& b) { return a.ms > b.ms; });
  }
  return accounts;
}

// What of a gap between operators of a program on the host stays, or was the recorder's.
double kept_of_gap_us(const StepProfile& profile) {
  return kDispatchFloorUs + (profile.without_recorder ? 0 : kHostRecorderUs);
}

double gain_of(const CauseRule& rule, const Account& account, const StepProfile& profile) {
  switch (rule.gain) {
    case Gain::kNone:
      return 0;
    case Gain::kShareOfRow:
      return rule.recoverable * account.ms;
    case Gain::kAboveDispatch:
      return std::max(0.0, account.ms - profile.gaps * kDispatchFloorUs * 1e-3);
    case Gain::kAboveRecorder:
      return std::max(0.0, account.ms - profile.gaps * kept_of_gap_us(profile) * 1e-3);
    case Gain::kAboveAttainable:
      break;
  }
  double gain = 0;
  for (const Part& part : account.parts) gain += part.gain_ms;
  return std::min(gain, account.ms);
}

// Whether most of a row are broadcasts that are written out.
bool repeats(const trace::Trace& trace, const Account& account) {
  double ms = 0;
  for (const Part& part : account.parts)
    if (writes_out_broadcast(trace.operators[part.profile->op])) ms += part.ms;
  return ms > account.ms / 2;
}

// The words for a row.
const CauseRule& rule_for(Cause cause, const trace::Trace& trace, const StepProfile& profile,
                          const Account& account, Subject subject) {
  if (cause == Cause::kFloor && !profile.judged) return unjudged_busy();
  if (cause == Cause::kAvoidableTraffic && repeats(trace, account)) return written_broadcasts();
  return rule_of(cause, subject);
}

using Arguments = fmt::dynamic_format_arg_store<fmt::format_context>;

// The words of a rule with numbers filled in; what a template may name is in rules.h.
std::string fill(std::string_view text, const Arguments& arguments) { return fmt::vformat(text, arguments); }

void put(Arguments& arguments, const char* name, const std::string& value) {
  arguments.push_back(fmt::arg(name, value));
}

std::string superfluous_words(double ms, double row_ms) {
  if (ms < kWorthSaying * row_ms) return {};
  return fmt::format("; {} of it is arithmetic that a faster algorithm does without", format_ms(ms));
}

// Why a kernel near its own roof may still be far above the floor.
std::string algorithm_words(const trace::Operator& op) {
  if (!op.algorithm.empty()) return fmt::format(" ({})", op.algorithm);
  double fewer = op.flops / std::max(1.0, op.fewest_flops());
  if (fewer < kFasterAlgorithm) return {};
  return fmt::format("; {} needs {:.1f} times fewer FLOPs", faster_algorithm(op.op_class), fewer);
}

Arguments row_arguments(const trace::Trace& trace, const Account& account, const StepProfile& profile,
                        Cause cause) {
  double flops = 0, bytes = 0, avoidable = 0, superfluous_ms = 0;
  for (const Part& part : account.parts) {
    const trace::Operator op = step_operator(trace, *part.profile);
    flops += cause == Cause::kFloor ? op.fewest_flops() : op.kernel_flops();
    superfluous_ms += part.profile->split.algorithm_ms;
    bytes += op.bytes();
    avoidable += std::min(op.avoidable_bytes, op.bytes());
  }
  std::size_t count =
      cause == Cause::kLaunch ? static_cast<std::size_t>(profile.gaps + 0.5) : account.parts.size();
  Arguments arguments;
  put(arguments, "ms", fixed_ms(account.ms, profile.step_ms));
  put(arguments, "share", format_percent(profile.step_ms > 0 ? account.ms / profile.step_ms : 0));
  put(arguments, "count", fmt::format("{}", count));
  put(arguments, "gaps", counted(static_cast<double>(count), "gap"));
  put(arguments, "gap", format_ms(count > 0 ? account.ms / static_cast<double>(count) : 0));
  put(arguments, "kept", fmt::format("{:g} µs", kept_of_gap_us(profile)));
  put(arguments, "whose",
      profile.without_recorder ? "Python and the framework's own work"
                               : "Python, the framework's own work, and the profiler's");
  put(arguments, "issuing", profile.without_recorder ? "issuing" : "issuing and recording");
  put(arguments, "flops", format_flops(flops));
  put(arguments, "bytes", format_bytes(cause == Cause::kFloor ? bytes - avoidable : bytes));
  put(arguments, "avoidable", format_bytes(avoidable));
  put(arguments, "superfluous", superfluous_words(superfluous_ms, account.ms));
  auto largest = account.parts.empty() ? trace::OperatorClass::kOther
                                       : trace.operators[account.parts.front().profile->op].op_class;
  put(arguments, "attainable", format_percent(attainable_fraction(largest)));
  return arguments;
}

// What advice says of the program, beside the numbers of its row.
void add_advice(const ProgramFacts& program, const std::optional<Loading>& loading, bool named,
                Arguments& arguments) {
  put(arguments, "batches", loading ? loading_advice(*loading, false) : batch_advice(program, false));
  put(arguments, "kernels", cpu_kernel_advice(program));
  put(arguments, "fewer", small_operator_advice(program));
  put(arguments, "one_order", cpu_order_advice(program));
  put(arguments, "unnamed", unnamed_code_advice(program, named));
}

Arguments part_arguments(const trace::Operator& op, const Part& part, double step_ms) {
  const OperatorProfile& profile = *part.profile;
  Arguments arguments;
  put(arguments, "name", op.name);
  put(arguments, "kind", op.kind);
  put(arguments, "ms", fixed_ms(part.ms, step_ms));
  put(arguments, "op_ms", fixed_ms(profile.ms.median, step_ms));
  put(arguments, "bytes", format_bytes(op.bytes()));
  put(arguments, "flops", format_flops(op.flops));
  put(arguments, "avoidable", format_bytes(std::min(op.avoidable_bytes, op.bytes())));
  put(arguments, "fuses_with", op.fuses_with.empty() ? std::string("its neighbour") : op.fuses_with);
  put(arguments, "roof", roof_name(op, profile.roof));
  put(arguments, "floor", fixed_ms(profile.floor.ms(), step_ms));
  put(arguments, "floor_roof", roof_name(op, profile.floor));
  put(arguments, "fraction", format_percent(profile.fraction_of_roof()));
  put(arguments, "algorithm", algorithm_words(op));
  put(arguments, "implementation", op.implementation.empty() ? std::string("its kernel") : op.implementation);
  return arguments;
}

std::vector<std::string> evidence_of(const CauseRule& rule, const trace::Trace& trace, const Account& account,
                                     const StepProfile& profile) {
  std::vector<std::string> evidence = {
      fill(rule.summary, row_arguments(trace, account, profile, rule.cause))};
  if (rule.operator_evidence.empty()) return evidence;
  double named_ms = 0;
  std::size_t named = std::min(kNamedOperators, account.parts.size());
  for (std::size_t i = 0; i < named; ++i) {
    const Part& part = account.parts[i];
    evidence.push_back(fill(rule.operator_evidence,
                            part_arguments(step_operator(trace, *part.profile), part, profile.step_ms)));
    named_ms += part.ms;
  }
  if (account.parts.size() > named)
    evidence.push_back(fmt::format("and {} more: {}", account.parts.size() - named,
                                   fixed_ms(std::max(0.0, account.ms - named_ms), profile.step_ms)));
  return evidence;
}

// When operators ran, on whatever track.
class OperatorTimes {
 public:
  explicit OperatorTimes(const trace::SpanTable& spans) {
    std::vector<std::pair<int64_t, int64_t>> all;
    for (uint32_t row = 0; row < spans.size(); ++row)
      if (runs_operator(spans, row)) all.emplace_back(spans.row(row).start_ns, spans.row(row).end_ns());
    std::sort(all.begin(), all.end());
    for (const auto& [from, to] : all) {
      if (united_.empty() || from > united_.back().second)
        united_.emplace_back(from, to);
      else
        united_.back().second = std::max(united_.back().second, to);
    }
  }
  // Of an interval, while none ran.
  int64_t outside_ns(int64_t from, int64_t to) const {
    int64_t outside = to - from;
    auto at = std::upper_bound(united_.begin(), united_.end(),
                               std::pair(from, std::numeric_limits<int64_t>::max()));
    if (at != united_.begin()) --at;
    for (; at != united_.end() && at->first < to; ++at)
      outside -= std::max<int64_t>(0, std::min(to, at->second) - std::max(from, at->first));
    return outside;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> united_;
};

// What a plan waited for, by the names that whoever recorded it gave the waits: while no operator ran, as what a device is
// busy for anyway is no waiting.
void tell_waits(const trace::Trace& trace, Cause cause, double step_ms, std::vector<std::string>& evidence) {
  const OperatorTimes operators(trace.spans);
  std::map<std::string_view, double> waits_ms;
  double steps = 0;
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    const trace::Span span = trace.spans.row(i);
    if (span.category == trace::Category::kStep) ++steps;
    if (span.step != trace::kNoStep && waiting_cause(span.category) == cause)
      waits_ms[trace.name(span)] +=
          static_cast<double>(operators.outside_ns(span.start_ns, span.end_ns())) * 1e-6;
  }
  for (const auto& [name, ms] : waits_ms)
    evidence.push_back(
        fmt::format("{}: {} a step on average", name, fixed_ms(ms / std::max(1.0, steps), step_ms)));
}

// One sample a step: each operator's time of that step as far as it belongs to the row.
std::vector<double> samples_of(const Account& account, std::vector<double> waiting) {
  for (const Part& part : account.parts) {
    const double share = part.profile->ms.median > 0 ? part.ms / part.profile->ms.median : 0;
    const std::vector<double>& samples = part.profile->samples_ms;
    for (std::size_t k = 0; k < std::min(samples.size(), waiting.size()); ++k)
      waiting[k] += samples[k] * share;
  }
  return waiting;
}

}  // namespace

std::vector<LedgerRow> make_ledger(const trace::Trace& trace, const StepProfile& profile, Subject subject,
                                   const LinesByCause& lines, const std::optional<Loading>& loading) {
  std::vector<LedgerRow> ledger;
  const ProgramFacts program = facts_of(trace);
  Accounts accounts = collect(profile);
  for (Cause cause : all_causes()) {
    const Account& account = of(accounts, cause);
    if (account.ms <= 0) continue;
    const CauseRule& rule = rule_for(cause, trace, profile, account, subject);
    LedgerRow row;
    row.cause = cause;
    row.ms = account.ms;
    row.share = profile.step_ms > 0 ? account.ms / profile.step_ms : 0;
    if (!is_busy(cause)) row.lines = lines[static_cast<std::size_t>(cause)];
    Arguments arguments = row_arguments(trace, account, profile, cause);
    add_advice(program, loading, !row.lines.empty(), arguments);
    row.evidence = evidence_of(rule, trace, account, profile);
    if (subject == Subject::kPlan && !is_busy(cause)) tell_waits(trace, cause, profile.step_ms, row.evidence);
    tell_lines(row.lines, row.evidence);
    row.fix = fill(rule.fix.of(subject == Subject::kPlan ? trace::Framework::kHone : trace.meta.framework),
                   arguments);
    row.rule = rule.id;
    row.predicted_gain_ms = gain_of(rule, account, profile);
    if (cause == Cause::kInput && loading) {
      row.evidence.insert(row.evidence.begin() + 1, loading_evidence(*loading));
      if (loading->helps()) row.predicted_gain_ms = std::min(row.predicted_gain_ms, loading->gain_ms());
    }
    row.title = fill(rule.title, arguments);
    row.caveat = fill(rule.caveat, arguments);
    row.samples_ms = samples_of(account, profile.waiting_samples_ms[static_cast<std::size_t>(cause)]);
    ledger.push_back(std::move(row));
  }
  return ledger;
}

std::vector<Finding> make_findings(std::span<const LedgerRow> ledger, Subject subject) {
  std::vector<Finding> findings;
  for (const LedgerRow& row : ledger)
    if (row.cause != Cause::kFloor && row.share >= rule_of(row.cause, subject).threshold)
      findings.push_back({row.rule,
                          row.cause,
                          row.title,
                          row.evidence,
                          row.fix,
                          row.caveat,
                          row.predicted_gain_ms,
                          row.gain_is_bound,
                          row.ms,
                          {},
                          row.lines});
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return a.predicted_gain_ms > b.predicted_gain_ms;
  });
  return findings;
}

Verdict make_verdict(std::span<const LedgerRow> ledger, double step_ms) {
  Verdict verdict;
  const LedgerRow* worst = nullptr;
  for (const LedgerRow& row : ledger)
    if (worst == nullptr || row.predicted_gain_ms > worst->predicted_gain_ms) worst = &row;
  if (worst != nullptr && step_ms > 0) {
    verdict.recoverable_ms = worst->predicted_gain_ms;
    verdict.share = worst->predicted_gain_ms / step_ms;
  }
  if (verdict.share <= kHealthyShare) {
    verdict.sentence = fmt::format("Healthy: no single cause could win back more than {:g} % of the {} step.",
                                   kHealthyShare * 100, fixed_ms(step_ms, step_ms));
    return verdict;
  }
  verdict.cause = worst->cause;
  verdict.sentence = fmt::format(
      "{} is the largest recoverable cost: {} of the {} step ({}); fixing it should win about {}.",
      cause_title(worst->cause), fixed_ms(worst->ms, step_ms), fixed_ms(step_ms, step_ms),
      format_percent(worst->share), fixed_ms(worst->predicted_gain_ms, step_ms));
  return verdict;
}

}  // namespace hone::analyze
