#include "analyze/device/accounts.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "trace/kernel_family.h"

namespace hone::analyze::device {
namespace {

using PartKey = std::tuple<Cause, Rule, std::string>;

struct Booked {
  Part part;
  uint32_t number = 0;
};

uint64_t pair(uint32_t part, uint32_t its) { return uint64_t{part} << 32 | its; }

std::string title_of(const trace::Trace& trace, const Work& work) {
  if (work.op != kNothing) return operator_title(trace.operators[work.op]);
  return trace::kernel_short_name(trace.strings.text(trace.spans.name[work.span]));
}

// The rule of the work that was launched before what comes next: the device waits for what the host does
// about it. None where that is not known.
const DeviceRule* rule_before(const RankTimeline& timeline, const BusySplit& split, const IdlePart& part) {
  if (part.next == kNothing) return nullptr;
  const HostCall* call = timeline.launch_of(timeline.works[part.next]);
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
    for (const Charge& charge : own_.occupancy.charges) {
      window_ = charge.window;
      shown_ = {timeline_.works[charge.work].start_ns, timeline_.works[charge.work].end_ns};
      busy(charge);
    }
    for (const IdlePart& part : own_.idle) {
      window_ = part.window;
      shown_ = {part.start_ns, part.start_ns + static_cast<int64_t>(part.ns)};
      idle(part);
    }
    return finish();
  }

 private:
  void busy(const Charge& charge) {
    const Work& work = timeline_.works[charge.work];
    const double ns = charge.ns();
    if (work.kind == WorkKind::kCollective) return collective(charge, work);
    if (work.kind == WorkKind::kCopyToDevice || work.kind == WorkKind::kCopyToHost)
      return add(Cause::kHostCopy, Rule::kExposedCopies, copy_name(work), ns, charge.work,
                 kind_of_copy(work));
    const WorkSplit& split = own_.split.works[charge.work];
    const std::string name = title(work);
    if (!is_busy(split.cause())) return add(split.cause(), split.rule, name, ns, charge.work);
    for (int i = 0; i < kBusyCauses; ++i)
      if (split.share[static_cast<std::size_t>(i)] > 0)
        add(static_cast<Cause>(i), rule_of_part(static_cast<Cause>(i), split.rule), name,
            ns * split.share[static_cast<std::size_t>(i)], charge.work, charge.work, ns);
  }

  // Time of a work of which no more is known than its cause is its cause's.
  static Rule rule_of_part(Cause cause, Rule rule) {
    return rule == general_rule(row_of(rule).cause) ? general_rule(cause) : rule;
  }

  // Until the last rank arrives a collective is waiting, then it is communication.
  void collective(const Charge& charge, const Work& work) {
    const std::string name = trace::kernel_short_name(trace_.strings.text(trace_.spans.name[work.span]));
    const double waited = waited_ns(study_, rank_, charge);
    const WorkSplit& split = own_.split.works[charge.work];
    const bool pipeline = is_point_to_point(trace_, work);
    add(pipeline ? Cause::kBubble : Cause::kStraggler, pipeline ? Rule::kPipelineBubble : Rule::kLateRank,
        name, waited, charge.work);
    add(Cause::kComm, split.cause() == Cause::kComm ? split.rule : Rule::kExposedCommunication, name,
        charge.ns() - waited, charge.work, kind_of_collective(trace_, work));
  }

  void idle(const IdlePart& part) {
    const IdleAccount account = account_of(study_, rank_, part);
    // Gaps before works of the device that are counted themselves count nothing.
    const uint32_t counted = is_busy(account.cause)  ? kNothing
                             : part.span != kNothing ? part.span
                                                     : part.next;
    add(account.cause, account.rule, account.name, part.ns, part.next, counted, part.ns,
        kind_of(part, account));
  }

  PartKind kind_of(const IdlePart& part, const IdleAccount& account) const {
    if (account.cause == Cause::kComm && part.next != kNothing &&
        timeline_.works[part.next].kind == WorkKind::kCollective)
      return kind_of_collective(trace_, timeline_.works[part.next]);
    return part.span == kNothing
               ? PartKind()
               : kind_of_call(account.cause, trace_.strings.text(trace_.spans.name[part.span]));
  }

  // `counted`: what a part's count counts, so that what comes in pieces counts once: a work, or the span of a
  // wait; kNothing counts nothing. `whole_ns`: what the work takes in all, of which the part has `ns`.
  void add(Cause cause, Rule rule, const std::string& name, double ns, uint32_t work, uint32_t counted,
           double whole_ns, PartKind kind = {}) {
    if (ns <= 0) return;
    window_ms_[static_cast<std::size_t>(cause)][window_] += ns * 1e-6;
    if (!own_.typical.counts(window_)) return;
    Booked& booked = parts_[{cause, rule, name}];
    Part& part = booked.part;
    if (part.ms == 0) {
      part.name = name;
      part.rule = rule;
      part.kind = kind;
      booked.number = static_cast<uint32_t>(parts_.size());
    }
    if (window_ == drawn_ && shown_.second - shown_.first > part.shown_end_ns - part.shown_start_ns)
      std::tie(part.shown_start_ns, part.shown_end_ns) = shown_;
    part.ms += own_.typical.part_ms(window_, ns);
    part.whole += own_.typical.part_ms(window_, whole_ns);
    if (work != kNothing) {
      const Work& row = timeline_.works[work];
      if (part.op == kNothing) part.op = row.op;
      if (row.execution != kNothing && executions_.insert(pair(booked.number, row.execution)).second)
        part.calls += own_.typical.weight[window_];
      const uint32_t kernel = trace_.spans.name[row.span].index;
      const double kernel_ns = kernel_ns_[pair(booked.number, kernel)] += ns;
      if (part.kernel == kNothing || kernel_ns > kernel_ns_[pair(booked.number, part.kernel)])
        part.kernel = kernel;
    }
    if (counted == kNothing || !counted_.insert(pair(booked.number, counted)).second) return;
    part.count += own_.typical.weight[window_];
  }

  void add(Cause cause, Rule rule, const std::string& name, double ns, uint32_t work, PartKind kind = {}) {
    add(cause, rule, name, ns, work, work, ns, kind);
  }

  std::string title(const Work& work) const { return title_of(trace_, work); }

  std::string copy_name(const Work& work) const {
    return fmt::format("{} copy {}", work.pageable ? "pageable" : "pinned",
                       work.kind == WorkKind::kCopyToDevice ? "host → device" : "device → host");
  }

  Accounts finish() {
    Accounts accounts;
    for (auto& [key, booked] : parts_) {
      Account& account = accounts[static_cast<std::size_t>(std::get<Cause>(key))];
      account.ms += booked.part.ms;
      account.parts.push_back(std::move(booked.part));
    }
    for (std::size_t cause = 0; cause < kCauseCount; ++cause) {
      accounts[cause].cause = static_cast<Cause>(cause);
      accounts[cause].window_ms = std::move(window_ms_[cause]);
    }
    for (Account& account : accounts)
      std::stable_sort(account.parts.begin(), account.parts.end(),
                       [](const Part& a, const Part& b) { return a.ms > b.ms; });
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
  std::map<PartKey, Booked> parts_;
  // Of pairs of a part and of something that it has.
  std::unordered_map<uint64_t, double> kernel_ns_;
  std::unordered_set<uint64_t> counted_, executions_;
};

}  // namespace

double Account::of(Rule rule) const {
  double total = 0;
  for (const Part& part : parts)
    if (part.rule == rule) total += part.ms;
  return total;
}

Rule Account::main_rule() const {
  Rule best = general_rule(cause);
  for (int i = 0; i < kRuleCount; ++i)
    if (of(static_cast<Rule>(i)) > of(best)) best = static_cast<Rule>(i);
  return best;
}

Accounts make_accounts(const Study& study, std::size_t rank) { return Bookkeeper(study, rank).run(); }

IdleAccount account_of(const Study& study, std::size_t rank, const IdlePart& part) {
  const RankStudy& own = study.ranks[rank];
  const Work* next = part.next == kNothing ? nullptr : &study.timelines[rank].works[part.next];
  IdleAccount account{part.cause, general_rule(part.cause), {}};
  if (part.cause == Cause::kLaunch && next != nullptr) {
    const DeviceRule& rule = row_of(own.split.works[part.next].rule);
    if (next->kind == WorkKind::kCollective)
      account = {Cause::kComm, general_rule(Cause::kComm), {}};
    else if (rule.scope != Scope::kWorks)
      account = {rule.cause, rule.rule, {}};
    account.name = title_of(*study.trace, *next);
    if (account.cause != Cause::kLaunch) return account;
    const Loop* loop = own.loops.of_work(part.next);
    if (is_within_a_launch(study.timelines[rank], part.next))
      account.rule = Rule::kGapsInGraphs;
    else if (loop != nullptr)
      account = {loop->copies ? Cause::kHostCopy : Cause::kLaunch,
                 loop->copies ? Rule::kCopiesInLoops : Rule::kLaunchesInLoops,
                 fmt::format("{} turns of {}", loop->turns, loop->name)};
  } else if (part.others && next != nullptr) {
    account.rule = Rule::kDevicesInTurn;
    account.name = title_of(*study.trace, *next);
  } else if (part.span != kNothing) {
    account.name = std::string(study.trace->strings.text(study.trace->spans.name[part.span]));
    const DeviceRule* before = rule_before(study.timelines[rank], own.split, part);
    if (before != nullptr && before->scope == Scope::kWithGapsAndWaits && before->cause == part.cause)
      account.rule = before->rule;
  }
  return account;
}

std::string operator_title(const trace::Operator& op) {
  const std::string_view kind = trace::operator_word(op.kind);
  return op.geometry.empty() ? std::string(kind) : fmt::format("{} {}", kind, op.geometry);
}

}  // namespace hone::analyze::device
