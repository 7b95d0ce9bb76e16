#include "analyze/device/diagnosis/diagnose.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/args.h>
#include <fmt/format.h>

#include "analyze/device/diagnosis/calling_lines.h"
#include "analyze/device/diagnosis/counted.h"
#include "analyze/device/diagnosis/remedies.h"
#include "analyze/device/diagnosis/verdict.h"
#include "analyze/device/gain_numbers.h"
#include "analyze/device/host/sampled.h"
#include "analyze/device/ranks.h"
#include "analyze/device/rules/tables.h"
#include "analyze/host_lines.h"
#include "analyze/loading.h"
#include "analyze/program_facts.h"
#include "analyze/rules.h"
#include "core/units.h"
#include "trace/kernel_family.h"

namespace hone::analyze::device {
namespace {

// An entry with this share of its works has all of them.
constexpr double kNearlyWhole = 0.97;
constexpr std::size_t kNamedParts = 3;
constexpr double kWorthNaming = 0.01;  // of the time that evidence is given for
constexpr double kMostAdvised = 0.75;  // of what a row can win
// A gain that is nearly all of the time that its fix is about is held up by nothing.
constexpr double kHeldByNothing = 0.9;
// A fix that may win this much more than the least is told with both gains.
constexpr double kWorthARange = 1.25;
constexpr double kWorthARangeOfStep = 0.02;
// A repair that wins this share of another is not mentioned beside it.
constexpr double kNearlyAsMuch = 0.85;

using Arguments = fmt::dynamic_format_arg_store<fmt::format_context>;

void put(Arguments& arguments, const char* name, std::string value) {
  arguments.push_back(fmt::arg(name, std::move(value)));
}

std::string fill(std::string_view text, const Arguments& arguments) { return fmt::vformat(text, arguments); }

// What the shown rank has other than the late one: "mm 24×8 · 8×8" beside "mm 72×8 · 8×8" is "24×8 · 8×8".
std::string other_inputs(const RankOperator& row) {
  std::size_t word = 0;
  for (std::size_t i = 0; i < std::min(row.name.size(), row.shown_name.size()); ++i) {
    if (row.name[i] != row.shown_name[i]) break;
    if (row.name[i] == ' ') word = i + 1;
  }
  return row.shown_name.substr(word);
}

class Diagnoser {
 public:
  Diagnoser(const Study& study, const Accounts& accounts, const Gains& gains,
            std::span<const RankOperator> late)
      : study_(study),
        accounts_(accounts),
        gains_(gains),
        own_(study.ranks[study.headline]),
        straggler_(gains.straggler()),
        late_(late),
        program_(traits_of(study, gains)),
        facts_(facts_of(*study.trace)) {
    if (accounts[static_cast<std::size_t>(Cause::kBubble)].ms > 0) bubble_ = gains.bubble_gain();
    loading_ = loading_of(study.trace->meta, study.timelines[study.headline].rank, step(),
                          accounts[static_cast<std::size_t>(Cause::kInput)].ms,
                          study.timelines[study.headline].stalls.recur);
    lines_ =
        lines_of_idle_host(*study.trace, study.timelines[study.headline], study.activities[study.headline]);
  }

  Diagnosis run() {
    for (Cause cause : all_causes()) {
      const Account& account = accounts_[static_cast<std::size_t>(cause)];
      if (account.ms <= 0) continue;
      diagnosis_.ledger.push_back(row(cause, account));
      double& gain = diagnosis_.ledger.back().predicted_gain_ms;
      // What is advised of a row is what the row can win, where next to nothing else is: else two numbers would stand for one
      // gain.
      if (const double advised = find(cause, account, diagnosis_.ledger.back());
          advised > kMostAdvised * gain)
        gain = advised;
    }
    std::stable_sort(
        diagnosis_.findings.begin(), diagnosis_.findings.end(),
        [](const Finding& a, const Finding& b) { return a.predicted_gain_ms > b.predicted_gain_ms; });
    diagnosis_.verdict = judge(study_, gains_, diagnosis_.ledger, program_);
    advise_on_verdict();
    diagnosis_.loading = std::move(loading_);
    return std::move(diagnosis_);
  }

 private:
  double step() const { return own_.typical.ms; }
  // As the ledger writes it; what is too short for that, as it is.
  std::string in_step(double ms) const {
    const std::string text = fixed_ms(ms, step());
    return text.front() == '<' ? format_ms(ms) : text;
  }

  std::vector<const AccountEntry*> entries_of(const Account& account, Rule rule) const {
    std::vector<const AccountEntry*> entries;
    for (const AccountEntry& entry : account.entries)
      if (entry.rule == rule) entries.push_back(&entry);
    return entries;
  }

  // A rule wins nothing of the time of its works that another cause has.
  double gain_of(const Account& account, Rule rule) const {
    if (row_of(rule).cause != account.cause) return 0;
    const double most = rule == Rule::kInputWaits ? most_of(account.cause) : account.of(rule);
    return std::min({account.of(rule), gains_.of(rule), most});
  }

  // Other processes for the data loader win less than the whole wait for it.
  double most_of(Cause cause) const {
    const double ms = accounts_[static_cast<std::size_t>(cause)].ms;
    return cause == Cause::kInput && loading_ && loading_->helps() ? loading_->gain_ms() : ms;
  }

  Arguments row_arguments(double ms, const std::vector<const AccountEntry*>& entries, double gain) const {
    Arguments arguments;
    const double count = total_count(entries);
    double works = 0, busy = 0;
    for (const BusyInterval& interval : own_.occupancy.busy)
      busy += own_.typical.part_ms(interval.window, interval.ns());
    const RankTimeline& timeline = study_.timelines[study_.headline];
    for (const Work& work : timeline.works) works += work.step != trace::kNoStep && timeline.in_ledger(work);
    works /= static_cast<double>(std::max<std::size_t>(1, timeline.steps.size()));
    put(arguments, "ms", in_step(ms));
    put(arguments, "share", format_percent(step() > 0 ? ms / step() : 0));
    arguments.push_back(fmt::arg("count", Counted{count}));
    put(arguments, "mean", format_ms(count > 0 ? ms / count : ms));
    put(arguments, "step", in_step(step()));
    put(arguments, "gain", in_step(gain));
    arguments.push_back(fmt::arg("kernels", Counted{works}));
    put(arguments, "busy", format_percent(step() > 0 ? busy / step() : 0));
    put(arguments, "rank", fmt::format("{}", straggler_.number));
    put(arguments, "doing", straggler_.doing);
    put(arguments, "remedy", remedy());
    put(arguments, "outcome", program_.trains ? "loss curve" : "outputs");
    put(arguments, "copies", copy_remedy(entries));
    put(arguments, "exchange", exchange_remedy(entries, program_));
    put(arguments, "images", image_remedy(inputs_of(entries)));
    put(arguments, "one_order", order_examples(program_));
    put(arguments, "waits", wait_remedy(entries));
    put(arguments, "files", file_remedy(entries));
    put(arguments, "micro_batches", micro_batch_remedy(bubble_.best.micro_batches));
    put(arguments, "turns", loop_remedy(own_.loops, program_));
    put(arguments, "graph", launch_remedy(program_));
    put(arguments, "masters",
        program_.trains ? " (weights in bf16, their f32 copies in the optimizer)" : " (weights in bf16)");
    put(arguments, "batches", loading_ ? loading_advice(*loading_, true) : batch_advice(facts_, true));
    put(arguments, "optimizer", optimizer_advice(facts_));
    put(arguments, "unnamed",
        unnamed_code_advice(facts_, !lines_[static_cast<std::size_t>(Cause::kHostOther)].empty()));
    return arguments;
  }

  std::vector<const Inputs*> inputs_of(const std::vector<const AccountEntry*>& entries) const {
    std::vector<const Inputs*> inputs;
    for (const AccountEntry* entry : entries)
      if (entry->op != kNothing) inputs.push_back(&own_.split.uses.rows[entry->op].inputs);
    return inputs;
  }

  std::string remedy() const {
    if (straggler_.cause != Cause::kFloor)
      return "look at what only its host does: input, files, logging, other programs on its cores";
    if (straggler_.extra_work)
      return "take what it alone computes out of the step, do it less often, or share it out";
    return "balance batches by tokens, not by sequences, and experts by a capacity; where the work is equal, "
           "look at its clocks";
  }

  // The operators that make a rank late, each against the rank that waits.
  std::vector<std::string> longer_on_late_rank() const {
    std::vector<std::string> lines;
    const int shown = study_.timelines[study_.headline].rank;
    for (const RankOperator& row : late_) {
      if (row.late_ms <= row.shown_ms || lines.size() >= kNamedParts) continue;
      const std::string late_calls = counted(row.late_calls, "call"),
                        shown_calls = counted(row.shown_calls, "call");
      if (row.shown_calls <= 0)
        lines.push_back(
            fmt::format("{}: {} in {}, none on rank {}", row.name, in_step(row.late_ms), late_calls, shown));
      else
        lines.push_back(fmt::format("{}: {} in {}; rank {} takes {} in {}{}", row.name, in_step(row.late_ms),
                                    late_calls, shown, in_step(row.shown_ms), shown_calls,
                                    row.shown_name.empty() ? "" : " on " + other_inputs(row)));
    }
    return lines;
  }

  // Which of two repairs the gain of a straggler is of.
  std::vector<std::string> about_straggler() const {
    std::vector<std::string> lines = longer_on_late_rank();
    const auto [removed, shared] = gains_.can_predict() ? gains_.straggler_gain() : Gains::StragglerGain{};
    if (shared <= 0) return lines;
    lines.push_back(fmt::format(
        "without what it does longer, the step takes {} less; with that shared out over the {} ranks, "
        "{} less. The {} is what is predicted, because {}",
        in_step(removed), study_.timelines.size(), in_step(shared),
        straggler_.extra_work ? "first" : "second",
        straggler_.extra_work ? "the others do not do it at all"
                              : "it does the same as the others, but longer"));
    return lines;
  }

  // Work that cannot go may be done while the device works.
  std::vector<std::string> about_host_work(double removed) const {
    const double beside = gains_.of_host_work_beside_device();
    if (!gains_.can_predict() || beside > kNearlyAsMuch * removed) return {};
    return {fmt::format(
        "taken out of the step, it saves {}, which is what is predicted; done on the same thread while "
        "the device works, it saves {}",
        in_step(removed), in_step(beside))};
  }

  // What of the longest stage smaller micro-batches do not shrink, where that is said at all.
  std::vector<std::string> about_bubble() const {
    const Stage& stage = bubble_.longest;
    if (!gains_.can_predict() || stage.device_ms <= 0) return {};
    const std::string most =
        bubble_.ms > 0
            ? fmt::format("the gain is that of {} micro-batches", bubble_.best.micro_batches)
            : fmt::format("split into up to {} parts the step would be no shorter", kMostMicroBatches);
    return {fmt::format(
        "of the {} that the longest stage takes, {} are kernels that do not fill the device, which "
        "smaller micro-batches do not shrink, and its host takes {} to issue each: {}",
        in_step(stage.ms(1)), in_step(stage.fixed_ms), in_step(stage.host_again_ms), most)};
  }

  // What else is known of a part: its rate, or what it is compared with.
  std::string detail(Cause cause, const AccountEntry& entry) const {
    if (cause == Cause::kFloor || entry.op == kNothing || !is_busy(cause)) return {};
    const OperatorUse& use = own_.split.uses.rows[entry.op];
    std::string kernel =
        entry.kernel == kNothing
            ? std::string()
            : trace::kernel_short_name(study_.trace->strings.text(trace::StringId{entry.kernel}), 40);
    if (use.work_ns <= 0 || (converts(entry) && use.is_product))
      return kernel.empty() ? "" : fmt::format(" ({})", kernel);
    const double per_s = entry.working_ms > 0 ? 1e3 / entry.working_ms : 0;
    if (use.is_product && entry.flops * per_s > 0)
      return fmt::format(" ({}, {} in {})", kernel, format_flop_rate(entry.flops * per_s),
                         trace::kernel_math_type(use.math));
    if (entry.bytes * per_s > 0)
      return fmt::format(" ({}, {})", kernel, format_byte_rate(entry.bytes * per_s));
    return fmt::format(" ({})", kernel);
  }

  // The operator's rate is not that of a kernel which only puts its data into another order.
  bool converts(const AccountEntry& entry) const {
    return entry.kernel != kNothing && study_.trace->kernel(trace::StringId{entry.kernel}).changes_layout();
  }

  // "8 × 187 µs = 1.49 ms in 40 kernels": calls of the operator, where each has a part in it, with its
  // kernels where they are more. What the timeline shows is the whole of them: ", of which 1.20 ms" says what
  // of it is meant.
  std::string times(const AccountEntry& entry) const {
    const bool called = entry.op != kNothing && entry.calls > 0 && entry.count >= 0.99 * entry.calls;
    const double count = called ? entry.calls : entry.count;
    if (count <= 0) return in_step(entry.ms);
    std::string text = in_step(entry.whole);
    if (const std::string often = count_text(count); often != "1")
      text = fmt::format("{} × {} = {}", often, format_ms(entry.whole / count), text);
    if (called && count_text(entry.count) != count_text(entry.calls))
      text += fmt::format(" in {}", counted(entry.count, "kernel"));
    if (entry.gap_ms > kWorthNaming * entry.whole)
      text += fmt::format(" with {} of gaps before them", in_step(entry.gap_ms));
    if (entry.ms < kNearlyWhole * entry.whole) text += fmt::format(", of which {}", in_step(entry.ms));
    return text;
  }

  // What the gain of a cause is the gain of.
  std::vector<std::string> about_gain(Cause cause, double gain) const {
    if (cause == Cause::kStraggler) return about_straggler();
    if (cause == Cause::kBubble) return about_bubble();
    if (cause == Cause::kInput && loading_) return {loading_evidence(*loading_)};
    return cause == Cause::kHostOther ? about_host_work(gain) : std::vector<std::string>();
  }

  std::vector<std::string> evidence(const DeviceRule& rule, const std::vector<const AccountEntry*>& entries,
                                    const Arguments& whole, double gain) const {
    std::vector<std::string> lines = {fill(rule.summary, whole)};
    for (std::string& line : about_gain(rule.cause, gain)) lines.push_back(std::move(line));
    if (rule.item.empty()) return lines;
    std::size_t named = 0;
    double rest = 0, all = 0;
    for (const AccountEntry* entry : entries) all += entry->ms;
    for (const AccountEntry* entry : entries) {
      const bool small = named > 0 && entry->ms < kWorthNaming * all;
      if (named >= kNamedParts || entry->name.empty() || small) {
        rest += entry->ms;
        continue;
      }
      Arguments arguments;
      put(arguments, "name", entry->name);
      put(arguments, "ms", in_step(entry->ms));
      arguments.push_back(fmt::arg("count", Counted{entry->count}));
      put(arguments, "times", times(*entry));
      put(arguments, "mean", format_ms(entry->count > 0 ? entry->ms / entry->count : entry->ms));
      put(arguments, "detail", detail(rule.cause, *entry));
      lines.push_back(entry->count > 0 ? fill(rule.item, arguments)
                                       : fmt::format("{}: {}", entry->name, in_step(entry->ms)));
      ++named;
    }
    if (entries.size() > named && rest > kWorthNaming * all && named > 0)
      lines.push_back(fmt::format("and {} more: {}", entries.size() - named, in_step(rest)));
    return lines;
  }

  std::vector<FindingPart> named(const std::vector<const AccountEntry*>& entries) const {
    constexpr std::size_t kMost = 10;
    std::vector<FindingPart> rows;
    for (const AccountEntry* entry : entries)
      if (!entry->name.empty() && rows.size() < kMost)
        rows.push_back({entry->name, entry->ms, entry->count, place_of(*entry)});
    return rows;
  }

  // In the step that is drawn, which begins at 0.
  std::optional<TimelinePlace> place_of(const AccountEntry& entry) const {
    if (entry.shown_end_ns <= entry.shown_start_ns) return std::nullopt;
    const int64_t zero =
        study_.timelines[study_.headline].steps[typical_window(study_, study_.headline)].start_ns;
    return TimelinePlace{static_cast<double>(entry.shown_start_ns - zero) * 1e-6,
                         static_cast<double>(entry.shown_end_ns - entry.shown_start_ns) * 1e-6};
  }

  static double total_count(const std::vector<const AccountEntry*>& entries) {
    double count = 0;
    for (const AccountEntry* entry : entries) count += entry->count;
    return count;
  }

  std::string caveat(const DeviceRule& rule, const Arguments& arguments) const {
    std::string text = fill(rule.caveat.of(study_.trace->meta.framework), arguments);
    if (program_.trains && !rule.training_caveat.empty())
      text += (text.empty() ? "" : "; ") + fill(rule.training_caveat, arguments);
    if (gains_.error() > kTrustedReplay)
      text +=
          fmt::format("{}the replay misses the recorded step by {}: {}", text.empty() ? "" : "; ",
                      format_percent(gains_.error()),
                      gains_.can_predict() ? "the gain is less sure"
                                           : "how much a fix wins cannot be predicted, only an upper bound");
    return text;
  }

  std::string_view fix_of(const DeviceRule& rule) const { return rule.fix.of(study_.trace->meta.framework); }

  static std::string joined(const std::string& text, const std::string& more) {
    return text.empty() || more.empty() ? text + more : text + "; " + more;
  }

  // Rules of one cause that advise the same: told under the first of them.
  struct Advised {
    const DeviceRule* row = nullptr;
    std::string fix;
    double ms = 0;
    double gain_ms = 0;
    std::vector<Rule> rules = {};
    std::vector<const AccountEntry*> entries = {};
  };

  // What shortens the device's work wins no more than the host then allows, and how fast it is without the
  // recorder is not known well.
  std::string held_by_host(const Advised& advised, double told_ms) const {
    if (!is_busy(advised.row->cause)) return {};
    const Gains::Range gain = gains_.of_together(advised.rules);
    const std::optional<double> host = gains_.host_ms();
    if (!host || !gain.held_by_host || told_ms >= kHeldByNothing * advised.ms) return {};
    std::string text = fmt::format(
        "the step wins less than its kernels: the device then waits for the host, which needs about {} to "
        "issue a "
        "step",
        in_step(*host));
    const double least = std::min(gain.least_ms, told_ms), most = std::min(advised.ms, gain.most_ms);
    if (gain.most_ms > gain.least_ms && most - least > kWorthARangeOfStep * step() &&
        most > kWorthARange * least)
      text += fmt::format("; how fast it is without the recorder is not known well: the fix wins {}",
                          fixed_range(least, most, step()));
    return text;
  }

  LedgerRow row(Cause cause, const Account& account) const {
    std::vector<const AccountEntry*> entries;
    for (const AccountEntry& entry : account.entries) entries.push_back(&entry);
    const DeviceRule& rule = row_of(cause, account.main_rule());
    const DeviceRule& general = row_of(general_rule(cause));
    LedgerRow row;
    row.cause = cause;
    row.ms = account.ms;
    row.share = step() > 0 ? account.ms / step() : 0;
    row.predicted_gain_ms = std::min({account.ms, gains_.of(cause), most_of(cause)});
    const Arguments whole = row_arguments(account.ms, entries, row.predicted_gain_ms);
    row.evidence = evidence(general, entries, whole, row.predicted_gain_ms);
    row.fix = fill(fix_of(rule), whole);
    row.rule = rule.id;
    row.title = fill(general.title, whole);
    row.caveat = caveat(rule, whole);
    row.gain_is_bound = is_bound(cause);
    row.lines = lines_[static_cast<std::size_t>(cause)];
    tell_lines(row.lines, row.evidence);
    row.samples_ms = account.window_ms;
    return row;
  }

  // What cannot be predicted; and communication of a job of which ranks are missing may be waiting for them.
  bool is_bound(Cause cause) const {
    return !gains_.can_predict() || (cause == Cause::kComm && !program_.all_ranks);
  }

  // One finding an advice that matters by itself and wins something. Together they win no more than the row: what is
  // said first takes its part first. Returns what they win together.
  double find(Cause cause, const Account& account, const LedgerRow& row) {
    if (cause == Cause::kFloor || step() <= 0) return 0;
    double left = row.predicted_gain_ms;
    bool first = true;  // the lines are the cause's: they are told once
    for (const Advised& advised : advised_of(account)) {
      const DeviceRule& rule = *advised.row;
      const double ms = advised.ms, gain = std::min(left, advised.gain_ms);
      const bool no_remedy = rule.gain == GainModel::kUnknown;
      if (ms / step() < rule.threshold || (!no_remedy && gain < kWorthSaying * gains_.unrecorded_ms()))
        continue;
      left -= gain;
      const Arguments whole = row_arguments(ms, advised.entries, gain);
      diagnosis_.findings.push_back(
          {std::string(rule.id), cause, fill(rule.title, whole), evidence(rule, advised.entries, whole, gain),
           advised.fix, joined(caveat(rule, whole), held_by_host(advised, gain)), gain, is_bound(cause), ms,
           named(advised.entries), row.lines, calling_lines(advised.entries), rule.effort});
      Finding& finding = diagnosis_.findings.back();
      if (finding.effort != Effort::kSetting && are_of_packages(finding.called_from))
        finding.effort = Effort::kPackage;
      if (std::exchange(first, false)) tell_lines(row.lines, finding.evidence);
      if (const std::string callers = calling_lines_text(finding.called_from, step()); !callers.empty())
        finding.evidence.insert(finding.evidence.begin() + 1, callers);
    }
    return row.predicted_gain_ms - left;
  }

  std::vector<Advised> advised_of(const Account& account) const {
    std::vector<Advised> all;
    for (const RuleGain& each : by_gain(account)) {
      const DeviceRule& row = row_of(account.cause, each.row->rule);
      const std::vector<const AccountEntry*> entries = entries_of(account, each.row->rule);
      std::string fix = fill(fix_of(row), row_arguments(each.ms, entries, each.gain_ms));
      auto same = std::ranges::find(all, fix, &Advised::fix);
      if (same == all.end()) same = all.insert(all.end(), {.row = &row, .fix = std::move(fix)});
      same->ms += each.ms;
      same->gain_ms += each.gain_ms;
      same->rules.push_back(each.row->rule);
      same->entries.insert(same->entries.end(), entries.begin(), entries.end());
    }
    for (Advised& advised : all) {
      std::ranges::stable_sort(advised.entries, std::greater(), &AccountEntry::ms);
      // What hides behind what goes together wins more than each by itself.
      if (advised.rules.size() > 1 && advised.row->gain == GainModel::kWorks)
        advised.gain_ms = std::min(advised.ms, gains_.of_together(advised.rules).ms);
    }
    return all;
  }

  struct RuleGain {
    const DeviceRule* row = nullptr;  // whose gain it is
    double ms = 0;
    double gain_ms = 0;
  };

  // Those that have time, the largest gain first, but parts before what they are parts of: what a loop wins
  // is taken from what a graph of the whole step would, and what fewer reductions win from what hiding them
  // all would.
  std::vector<RuleGain> by_gain(const Account& account) const {
    std::vector<RuleGain> rules;
    for (int i = 0; i < kRuleCount; ++i) {
      const auto rule = static_cast<Rule>(i);
      if (const double ms = account.of(rule); ms > 0)
        rules.push_back({&row_of(rule), ms, gain_of(account, rule)});
    }
    std::stable_sort(rules.begin(), rules.end(), [](const RuleGain& a, const RuleGain& b) {
      const bool part = is_part_of_cause(a.row->gain), other = is_part_of_cause(b.row->gain);
      return part != other ? part : a.gain_ms > b.gain_ms;
    });
    return rules;
  }

  // A cause may be the largest while each of its reasons is too small to be a finding: the verdict still says
  // what to do.
  void advise_on_verdict() {
    const auto is_it = [&](const auto& row) { return diagnosis_.verdict.cause == row.cause; };
    if (std::any_of(diagnosis_.findings.begin(), diagnosis_.findings.end(), is_it)) return;
    const auto row = std::find_if(diagnosis_.ledger.begin(), diagnosis_.ledger.end(), is_it);
    if (row != diagnosis_.ledger.end())
      diagnosis_.findings.insert(diagnosis_.findings.begin(), {row->rule,
                                                               row->cause,
                                                               row->title,
                                                               row->evidence,
                                                               row->fix,
                                                               row->caveat,
                                                               row->predicted_gain_ms,
                                                               row->gain_is_bound,
                                                               row->ms,
                                                               {},
                                                               row->lines,
                                                               {},
                                                               Effort::kCode});
  }

  const Study& study_;
  const Accounts& accounts_;
  const Gains& gains_;
  const RankStudy& own_;
  Straggler straggler_;
  std::span<const RankOperator> late_;
  ProgramTraits program_;
  ProgramFacts facts_;
  std::optional<Loading> loading_;
  Gains::BubbleGain bubble_;
  LinesByCause lines_;
  Diagnosis diagnosis_;
};

}  // namespace

Diagnosis diagnose(const Study& study, const Accounts& accounts, const Gains& gains,
                   std::span<const RankOperator> late) {
  return Diagnoser(study, accounts, gains, late).run();
}

}  // namespace hone::analyze::device
