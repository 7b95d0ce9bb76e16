#include "analyze/device/accounts.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "trace/kernel_family.h"
#include "trace/source_line.h"

namespace hone::analyze::device {
namespace {

using EntryKey = std::tuple<Cause, Rule, std::string>;

struct Booked {
  AccountEntry entry;
  uint32_t number = 0;
};

uint64_t pair(uint32_t entry, uint32_t its) { return uint64_t{entry} << 32 | its; }

std::string title_of(const Study& study, std::size_t rank, const Work& work) {
  if (work.op != kNothing) return operator_title(study, rank, work.op);
  return trace::kernel_short_name(study.trace->strings.text(study.trace->spans.name[work.span]));
}

// The rule of the work that was launched before what comes next: the device waits for what the host does
// about it. None where that is not known.
const DeviceRule* rule_before(const RankTimeline& timeline, const BusySplit& split,
                              const IdleInterval& interval) {
  if (interval.next == kNothing) return nullptr;
  const HostCall* call = timeline.launch_of(timeline.works[interval.next]);
  if (call == nullptr || call->first_work == 0) return nullptr;
  return &row_of(split.works[timeline.launched[call->first_work - 1]].rule);
}

// Launched by a call that had launched another work before it: the host has done its part.
bool is_within_a_launch(const RankTimeline& timeline, uint32_t work) {
  const HostCall* call = timeline.launch_of(timeline.works[work]);
  return call != nullptr && call->works > 1 && timeline.launched[call->first_work] != work;
}

class Bookkeeper {
 public:
  Bookkeeper(const Study& study, std::size_t rank)
      : study_(study),
        trace_(*study.trace),
        timeline_(study.timelines[rank]),
        own_(study.ranks[rank]),
        rank_(static_cast<uint32_t>(rank)),
        drawn_(static_cast<uint32_t>(typical_window(study, rank))) {}

  Accounts run() {
    for (std::vector<double>& row : window_ms_) row.resize(own_.typical.weight.size());
    add_up_calls();
    for (const BusyInterval& interval : own_.occupancy.busy) {
      window_ = interval.window;
      shown_ = {timeline_.works[interval.work].start_ns, timeline_.works[interval.work].end_ns};
      busy(interval);
    }
    for (const IdleInterval& interval : own_.idle) {
      window_ = interval.window;
      shown_ = {interval.start_ns, interval.start_ns + static_cast<int64_t>(interval.ns)};
      idle(interval);
    }
    return finish();
  }

 private:
  void busy(const BusyInterval& interval) {
    const Work& work = timeline_.works[interval.work];
    const double ns = interval.ns();
    if (work.kind == WorkKind::kCollective) return collective(interval, work);
    if (work.kind == WorkKind::kCopyToDevice || work.kind == WorkKind::kCopyToHost)
      return add(Cause::kHostCopy, Rule::kExposedCopies, copy_name(work), ns, interval.work,
                 traits_of_copy(work));
    const WorkSplit& split = own_.split.works[interval.work];
    const std::string name = title(work);
    if (!is_busy(split.cause())) return add(split.cause(), split.rule, name, ns, interval.work);
    for (int i = 0; i < kBusyCauses; ++i)
      if (split.share[static_cast<std::size_t>(i)] > 0)
        if (AccountEntry* entry =
                add(static_cast<Cause>(i), rule_of_entry(static_cast<Cause>(i), split.rule), name,
                    ns * split.share[static_cast<std::size_t>(i)], interval.work, interval.work, ns)) {
          add_costs(work, ns, *entry);
          add_caller(work.op, ns * split.share[static_cast<std::size_t>(i)], *entry);
        }
  }

  void add_caller(uint32_t op, double ns, AccountEntry& entry) const {
    if (op == kNothing) return;
    const std::vector<std::string>& provenance = trace_.operators[op].provenance;
    const CodePlace place(trace::source_line(provenance), trace::package_line(provenance));
    if (!place.first.empty() || !place.second.empty())
      entry.callers[place] += own_.typical.part_ms(window_, ns);
  }

  // The operator that the host was in, else the one whose work the device waits for.
  uint32_t operator_of(const IdleInterval& interval) const {
    if (interval.span != kNothing && trace_.spans.op[interval.span].valid())
      return trace_.spans.op[interval.span].index;
    return interval.next == kNothing ? kNothing : timeline_.works[interval.next].op;
  }

  // What each call of an operator takes on the device, changes of layout left out.
  void add_up_calls() {
    call_ns_.assign(timeline_.executions, 0);
    for (const Work& work : timeline_.works)
      if (work.execution != kNothing && computes(work))
        call_ns_[work.execution] += static_cast<double>(work.ns());
  }

  bool computes(const Work& work) const { return !trace_.kernel(work.span).changes_layout(); }

  void add_costs(const Work& work, double ns, AccountEntry& entry) {
    if (work.op == kNothing || work.execution == kNothing || !computes(work)) return;
    const trace::Operator& op = trace_.operators[work.op];
    const double all_ns = call_ns_[work.execution], ms = own_.typical.part_ms(window_, ns);
    if (all_ns <= 0 || (op.bytes() <= 0 && op.flops <= 0)) return;
    entry.working_ms += ms;
    entry.bytes += op.bytes() * ms * 1e6 / all_ns;
    entry.flops += op.flops * ms * 1e6 / all_ns;
  }

  // Time of a work of which no more is known than its cause is its cause's.
  static Rule rule_of_entry(Cause cause, Rule rule) {
    return rule == general_rule(row_of(rule).cause) ? general_rule(cause) : rule;
  }

  // Until the last rank arrives a collective is waiting, then it is communication.
  void collective(const BusyInterval& interval, const Work& work) {
    const std::string name = trace::kernel_short_name(trace_.strings.text(trace_.spans.name[work.span]));
    const double waited = waited_ns(study_, rank_, interval);
    const WorkSplit& split = own_.split.works[interval.work];
    const bool pipeline = is_point_to_point(trace_, work);
    add(pipeline ? Cause::kBubble : Cause::kStraggler, pipeline ? Rule::kPipelineBubble : Rule::kLateRank,
        name, waited, interval.work);
    add(Cause::kComm, split.cause() == Cause::kComm ? split.rule : Rule::kExposedCommunication, name,
        interval.ns() - waited, interval.work, traits_of_collective(trace_, work));
  }

  void idle(const IdleInterval& interval) {
    const IdleAccount account = account_of(study_, rank_, interval);
    // Gaps before works of the device that are counted themselves count nothing.
    const uint32_t counted = is_busy(account.cause)      ? kNothing
                             : interval.span != kNothing ? interval.span
                                                         : interval.next;
    AccountEntry* entry = add(account.cause, account.rule, account.name, interval.ns, interval.next, counted,
                              interval.ns, traits_of(interval, account));
    if (entry == nullptr) return;
    add_caller(operator_of(interval), interval.ns, *entry);
    if (is_busy(account.cause)) entry->gap_ms += own_.typical.part_ms(window_, interval.ns);
  }

  EntryTraits traits_of(const IdleInterval& interval, const IdleAccount& account) const {
    if (account.cause == Cause::kComm && interval.next != kNothing &&
        timeline_.works[interval.next].kind == WorkKind::kCollective)
      return traits_of_collective(trace_, timeline_.works[interval.next]);
    return interval.span == kNothing
               ? EntryTraits()
               : traits_of_call(account.cause, trace_.strings.text(trace_.spans.name[interval.span]));
  }

  // `counted`: what an entry's count counts, so that what comes in pieces counts once: a work, or the span of a
  // wait; kNothing counts nothing. `whole_ns`: what the work takes in all, of which the entry has `ns`. Returns
  // the entry; null: the typical step has nothing of it.
  AccountEntry* add(Cause cause, Rule rule, const std::string& name, double ns, uint32_t work,
                    uint32_t counted, double whole_ns, EntryTraits traits = {}) {
    if (ns <= 0) return nullptr;
    window_ms_[static_cast<std::size_t>(cause)][window_] += ns * 1e-6;
    if (!own_.typical.counts(window_)) return nullptr;
    Booked& booked = entries_[{cause, rule, name}];
    AccountEntry& entry = booked.entry;
    if (entry.ms == 0) {
      entry.name = name;
      entry.rule = rule;
      entry.traits = traits;
      booked.number = static_cast<uint32_t>(entries_.size());
    }
    if (window_ == drawn_ && shown_.second - shown_.first > entry.shown_end_ns - entry.shown_start_ns)
      std::tie(entry.shown_start_ns, entry.shown_end_ns) = shown_;
    entry.ms += own_.typical.part_ms(window_, ns);
    entry.whole += own_.typical.part_ms(window_, whole_ns);
    if (work != kNothing) {
      const Work& row = timeline_.works[work];
      if (entry.op == kNothing) entry.op = row.op;
      if (row.execution != kNothing && executions_.insert(pair(booked.number, row.execution)).second)
        entry.calls += own_.typical.weight[window_];
      const uint32_t kernel = trace_.spans.name[row.span].index;
      const double kernel_ns = kernel_ns_[pair(booked.number, kernel)] += ns;
      if (entry.kernel == kNothing || kernel_ns > kernel_ns_[pair(booked.number, entry.kernel)])
        entry.kernel = kernel;
    }
    if (counted != kNothing && counted_.insert(pair(booked.number, counted)).second)
      entry.count += own_.typical.weight[window_];
    return &entry;
  }

  void add(Cause cause, Rule rule, const std::string& name, double ns, uint32_t work,
           EntryTraits traits = {}) {
    add(cause, rule, name, ns, work, work, ns, traits);
  }

  std::string title(const Work& work) const { return title_of(study_, rank_, work); }

  std::string copy_name(const Work& work) const {
    return fmt::format("{} copy {}", work.pageable ? "pageable" : "pinned",
                       work.kind == WorkKind::kCopyToDevice ? "host → device" : "device → host");
  }

  Accounts finish() {
    Accounts accounts;
    for (auto& [key, booked] : entries_) {
      Account& account = accounts[static_cast<std::size_t>(std::get<Cause>(key))];
      account.ms += booked.entry.ms;
      account.entries.push_back(std::move(booked.entry));
    }
    for (std::size_t cause = 0; cause < kCauseCount; ++cause) {
      accounts[cause].cause = static_cast<Cause>(cause);
      accounts[cause].window_ms = std::move(window_ms_[cause]);
    }
    for (Account& account : accounts)
      std::stable_sort(account.entries.begin(), account.entries.end(),
                       [](const AccountEntry& a, const AccountEntry& b) { return a.ms > b.ms; });
    return accounts;
  }

  const Study& study_;
  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  const RankStudy& own_;
  uint32_t rank_;
  uint32_t drawn_;                       // the window that the reader is shown
  uint32_t window_ = 0;                  // that is being booked
  std::pair<int64_t, int64_t> shown_{};  // from when to when the reader sees what is being booked
  std::array<std::vector<double>, kCauseCount> window_ms_;
  std::map<EntryKey, Booked> entries_;
  // By pairs of an entry and something that it has.
  std::unordered_map<uint64_t, double> kernel_ns_;
  std::unordered_set<uint64_t> counted_, executions_;
  std::vector<double> call_ns_;  // by execution
};

}  // namespace

double Account::of(Rule rule) const {
  double total = 0;
  for (const AccountEntry& entry : entries)
    if (entry.rule == rule) total += entry.ms;
  return total;
}

Rule Account::main_rule() const {
  Rule best = general_rule(cause);
  for (int i = 0; i < kRuleCount; ++i)
    if (of(static_cast<Rule>(i)) > of(best)) best = static_cast<Rule>(i);
  return best;
}

namespace {

void scale(Account& account, double factor) {
  account.ms *= factor;
  for (AccountEntry& entry : account.entries) {
    for (double* amount : {&entry.ms, &entry.whole, &entry.gap_ms, &entry.working_ms}) *amount *= factor;
    for (auto& [place, ms] : entry.callers) ms *= factor;
  }
  for (double& ms : account.window_ms) ms *= factor;
}

// A recorder works on the host: what it adds to a step is time in which the device waits. Only where that is not
// enough the device's own time is shorter without it, too.
void take_recorder_out(Accounts& accounts, const TypicalStep& typical) {
  if (!(typical.ms < typical.recorded_ms)) return;
  double busy = 0, idle = 0;
  for (const Account& account : accounts) (is_busy(account.cause) ? busy : idle) += account.ms;
  const double of_busy = busy > typical.ms ? typical.ms / busy : 1;
  const double of_idle = idle > 0 ? (typical.ms - of_busy * busy) / idle : 0;
  for (Account& account : accounts) scale(account, is_busy(account.cause) ? of_busy : of_idle);
}

}  // namespace

Accounts make_accounts(const Study& study, std::size_t rank) {
  Accounts accounts = Bookkeeper(study, rank).run();
  take_recorder_out(accounts, study.ranks[rank].typical);
  return accounts;
}

IdleAccount account_of(const Study& study, std::size_t rank, const IdleInterval& interval) {
  const RankStudy& own = study.ranks[rank];
  const Work* next = interval.next == kNothing ? nullptr : &study.timelines[rank].works[interval.next];
  IdleAccount account{interval.cause, general_rule(interval.cause), {}};
  if (interval.cause == Cause::kLaunch && next != nullptr) {
    const DeviceRule& rule = row_of(own.split.works[interval.next].rule);
    if (next->kind == WorkKind::kCollective)
      account = {Cause::kComm, general_rule(Cause::kComm), {}};
    else if (rule.scope != Scope::kWorks)
      account = {rule.cause, rule.rule, {}};
    account.name = title_of(study, rank, *next);
    if (account.cause != Cause::kLaunch) return account;
    const Loop* loop = own.loops.of_work(interval.next);
    if (is_within_a_launch(study.timelines[rank], interval.next))
      account.rule = Rule::kGapsInGraphs;
    else if (loop != nullptr)
      account = {loop->copies ? Cause::kHostCopy : Cause::kLaunch,
                 loop->copies ? Rule::kCopiesInLoops : Rule::kLaunchesInLoops,
                 fmt::format("{} turns of {}", loop->turns, loop->name)};
  } else if (interval.others && next != nullptr) {
    account.rule = Rule::kDevicesInTurn;
    account.name = title_of(study, rank, *next);
  } else if (interval.span != kNothing) {
    account.name = std::string(study.trace->strings.text(study.trace->spans.name[interval.span]));
    const DeviceRule* before = rule_before(study.timelines[rank], own.split, interval);
    if (before != nullptr && before->scope == Scope::kWithGapsAndWaits && before->cause == interval.cause)
      account.rule = before->rule;
  }
  return account;
}

std::string operator_title(const Study& study, std::size_t rank, uint32_t op) {
  const std::string_view kind = trace::operator_word(study.trace->operators[op].kind);
  const std::string& geometry = study.ranks[rank].shapes.geometry[op];
  return geometry.empty() ? std::string(kind) : fmt::format("{} {}", kind, geometry);
}

}  // namespace hone::analyze::device
