#include "observe/session/step_watch.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/statistics.h"
#include "observe/session/call_ids.h"
#include "trace/link/period.h"
#include "trace/link/waits.h"

namespace hone::observe {
namespace {

namespace segments = trace::segments;

// The last steps and as many before them must take equally long within this share.
constexpr std::size_t kSettledSteps = 5;
constexpr double kSettledShare = 0.10;
// So many repetitions make a period.
constexpr double kFewestPeriods = 3;
// Marks count as long as the next is not overdue by so many of their intervals and this time. Those that surely come
// once a step may pause, for a validation; but a module that is captured in a CUDA graph is not called any more.
struct Overdue {
  double intervals = 0;
  int64_t ns = 0;
};
constexpr Overdue kUnsureOverdue = {5, 1'000'000'000}, kSureOverdue = {20, 5'000'000'000};
constexpr std::size_t kFewestUnsure = 5;
// What repeats for less than this share of the time that was watched is no step: a program that starts copies its weights one
// after the other.
constexpr double kThroughout = 0.5;
// The program is past its start once so much of what it launches was launched in an earlier look, too.
constexpr double kFamiliarShare = 0.9;
// A call that comes several times a step can be counted, too.
constexpr double kMostCallsAStep = 8;

// The surest kind first: an optimizer steps once for each step of a training, while a data loader may load several
// batches for one, and a module may be called several times.
int order_of(segments::MarkKind kind) {
  switch (kind) {
    case segments::MarkKind::kUser:
      return 0;
    case segments::MarkKind::kOptimizer:
      return 1;
    case segments::MarkKind::kModule:
      return 2;
    case segments::MarkKind::kData:
      return 3;
    case segments::MarkKind::kRange:
      return 4;
    case segments::MarkKind::kHostWait:
      return 5;
    case segments::MarkKind::kApiCall:
    case segments::MarkKind::kComing:
    case segments::MarkKind::kTraining:
      break;
  }
  return 6;
}

bool is_sure(segments::MarkKind kind) { return order_of(kind) < order_of(segments::MarkKind::kRange); }

bool have_stopped(segments::MarkKind kind, const std::vector<int64_t>& times, int64_t now_ns) {
  const Overdue overdue = is_sure(kind) ? kSureOverdue : kUnsureOverdue;
  if (times.size() < 2) return now_ns - times.front() > 4 * overdue.ns;
  const double interval =
      static_cast<double>(times.back() - times.front()) / static_cast<double>(times.size() - 1);
  return static_cast<double>(now_ns - times.back() - overdue.ns) > overdue.intervals * interval;
}

double median_of_last(std::span<const double> values, std::size_t skip) {
  const std::size_t end = values.size() - skip;
  return median(values.subspan(end - kSettledSteps, kSettledSteps));
}

bool is_known(std::string_view call) {
  const CallId id = call_id(call);
  return id.runtime != 0 || id.driver != 0;
}

bool lasts(int64_t first_ns, int64_t last_ns, int64_t watched_ns) {
  return static_cast<double>(last_ns - first_ns) >= kThroughout * static_cast<double>(watched_ns);
}

bool has_settled(std::span<const double> intervals) {
  if (intervals.size() < 2 * kSettledSteps) return false;
  const double last = median_of_last(intervals, 0), before = median_of_last(intervals, kSettledSteps);
  return std::abs(last - before) <= kSettledShare * last;
}

}  // namespace

void StepWatch::see(const SegmentRecord& record) {
  switch (record.at.kind()) {
    case segments::Kind::kMark:
      if (const auto mark = record.at.as<segments::Mark>()) see_mark(record.pid, *mark);
      break;
    case segments::Kind::kApiCall:
      if (const auto call = record.at.as<segments::ApiCall>())
        launches_[record.pid].push_back({call->start_ns, call->name, call->correlation});
      break;
    case segments::Kind::kKernel:
      if (const auto kernel = record.at.as<segments::Kernel>())
        kernels_[record.pid].push_back({kernel->start_ns, kernel->name, kernel->correlation});
      break;
    case segments::Kind::kRange:
      if (const auto range = record.at.as<segments::Range>();
          range && range->what == segments::RangeKind::kOperator)
        operators_[record.pid].push_back({range->start_ns, range->name, 0});
      break;
    default:
      break;
  }
}

void StepWatch::see_mark(int pid, const segments::Mark& mark) {
  if (mark.what == segments::MarkKind::kComing || mark.what == segments::MarkKind::kTraining) return;
  if (mark.what == segments::MarkKind::kApiCall) {
    watched_[pid].push_back({mark.time_ns, mark.name, mark.launches});
  } else {
    marks_[{pid, mark.what, mark.name, mark.tid}].push_back(mark.time_ns);
  }
}

void StepWatch::forget_work() {
  for (const auto* of : {&kernels_, &operators_})
    for (const auto& [pid, rows] : *of)
      for (const Launch& row : rows) familiar_.emplace(pid, row.name);
  watched_.clear();
  launches_.clear();
  kernels_.clear();
  operators_.clear();
}

bool StepWatch::saw_familiar_work() const {
  double all = 0, familiar = 0;
  for (const auto* of : {&kernels_, &operators_})
    for (const auto& [pid, rows] : *of)
      for (const Launch& row : rows) {
        all += 1;
        familiar += familiar_.contains({pid, row.name}) ? 1 : 0;
      }
  return familiar > kFamiliarShare * all;
}

bool StepWatch::sure_marks_go_on(int64_t now_ns) const {
  return std::any_of(marks_.begin(), marks_.end(), [&](const auto& entry) {
    const segments::MarkKind kind = std::get<1>(entry.first);
    return is_sure(kind) && !have_stopped(kind, entry.second, now_ns);
  });
}

std::map<int, std::size_t> StepWatch::marks_by_process() const {
  std::map<int, std::size_t> marks_of;
  for (const auto& [source, times] : marks_) marks_of[std::get<0>(source)] += times.size();
  return marks_of;
}

// The end where none goes on.
StepWatch::Marks::const_iterator StepWatch::marks_of_steps(int64_t now_ns) const {
  const std::map<int, std::size_t> marks_of = marks_by_process();
  // Of what is surely a step's the most; of what may be a part of one the rarest, which encloses the others.
  const auto rank = [&](const auto& entry) {
    const auto& [pid, kind, name, tid] = entry.first;
    const auto count = static_cast<int64_t>(entry.second.size());
    const bool sure = is_sure(kind), enough = entry.second.size() >= (sure ? 3 : kFewestUnsure);
    return std::tuple(enough ? 0 : 1, order_of(kind), sure ? -static_cast<int64_t>(marks_of.at(pid)) : 0,
                      sure ? -count : count);
  };
  auto best = marks_.end();
  for (auto at = marks_.begin(); at != marks_.end(); ++at) {
    if (have_stopped(std::get<1>(at->first), at->second, now_ns)) continue;
    if (best == marks_.end() || rank(*at) < rank(*best)) best = at;
  }
  return best;
}

std::vector<double> StepWatch::steps_by_marks(int64_t from_ns, int64_t now_ns) const {
  const auto marks = marks_of_steps(now_ns);
  if (marks == marks_.end()) return {};
  std::vector<int64_t> times = marks->second;
  std::sort(times.begin(), times.end());
  std::vector<double> steps;
  for (std::size_t i = 1; i < times.size(); ++i)
    if (times[i - 1] >= from_ns) steps.push_back(static_cast<double>(times[i] - times[i - 1]));
  return steps;
}

Rhythm StepWatch::by_marks(int64_t now_ns) const {
  Rhythm rhythm;
  const auto best = marks_of_steps(now_ns);
  if (best == marks_.end() || best->second.size() < 2) return rhythm;
  const std::vector<double> intervals = steps_by_marks(INT64_MIN, now_ns);
  rhythm.pid = std::get<0>(best->first);
  rhythm.sure = is_sure(std::get<1>(best->first));
  rhythm.first_ns = *std::min_element(best->second.begin(), best->second.end());
  rhythm.steps = static_cast<double>(intervals.size());
  rhythm.settled = has_settled(intervals);
  const std::size_t used = std::min(intervals.size(), 2 * kSettledSteps);
  rhythm.step_ns = std::llround(median(std::span(intervals).last(used)));
  rhythm.marks_a_step =
      static_cast<double>(marks_by_process().at(rhythm.pid)) / static_cast<double>(best->second.size());
  return rhythm;
}

// Launches with the kernels that they launch, or kernels alone, or operators alone.
StepWatch::Work StepWatch::work_of(int pid) const {
  const auto rows = [pid](const std::map<int, std::vector<Launch>>& of) {
    const auto found = of.find(pid);
    return found == of.end() ? std::vector<Launch>() : found->second;
  };
  std::vector<Launch> events, calls = rows(launches_);
  const std::vector<Launch> kernels = rows(kernels_);
  std::unordered_map<uint64_t, uint32_t> kernel_of;
  for (const Launch& kernel : kernels) kernel_of.try_emplace(kernel.correlation, kernel.name);
  for (const Launch& call : calls)
    if (const auto found = kernel_of.find(call.correlation); found != kernel_of.end())
      events.push_back({call.time_ns, found->second, 0});
  if (events.empty()) events = kernels.empty() ? rows(operators_) : kernels;
  std::sort(events.begin(), events.end(),
            [](const Launch& a, const Launch& b) { return a.time_ns < b.time_ns; });
  Work work;
  for (const Launch& event : events) {
    work.times.push_back(event.time_ns);
    work.symbols.push_back(event.name);
  }
  return work;
}

// The call that comes once in a step, or as few times as can be: one that waits rather than another.
std::string StepWatch::call_a_step(const SegmentTail& tail, const Rhythm& rhythm,
                                   const std::map<int, std::vector<Launch>>& calls) const {
  const auto found = calls.find(rhythm.pid);
  if (found == calls.end()) return {};
  std::map<uint32_t, double> count;
  for (const Launch& call : found->second) count[call.name] += 1;
  constexpr double kOnce = 0.15;  // as a share: the piece that was seen begins and ends within steps
  std::string best;
  std::pair<double, int> least{kMostCallsAStep + 1, 0};
  for (const auto& [name, times] : count) {
    const std::string_view call = tail.name(rhythm.pid, name);
    const double a_step = times / rhythm.steps, whole = std::max(1.0, std::round(a_step));
    if (!is_known(call) || std::abs(a_step / whole - 1) > kOnce + 1 / rhythm.steps) continue;
    const std::pair rank{whole, call.find("Synchronize") == call.npos ? 1 : 0};
    if (rank >= least) continue;
    least = rank;
    best = call;
  }
  return best;
}

// A call with what was launched since the one before it, as CUPTI counts, is a symbol; where that differs too much from
// step to step, the call alone.
Rhythm StepWatch::by_calls(const SegmentTail& tail, int64_t watched_ns) const {
  Rhythm best;
  std::size_t most = 0;
  for (const auto& [pid, calls] : watched_) {
    if (calls.size() <= most) continue;
    if (!lasts(calls.front().time_ns, calls.back().time_ns, watched_ns)) continue;
    for (const bool with_launches : {true, false}) {
      std::map<std::pair<uint32_t, uint64_t>, uint32_t> known;
      std::vector<uint32_t> symbols;
      for (std::size_t i = 1; i < calls.size(); ++i) {
        const uint64_t launched = with_launches ? calls[i].correlation - calls[i - 1].correlation : 0;
        symbols.push_back(known.try_emplace({calls[i].name, launched}, known.size()).first->second);
      }
      const trace::link::Period period = trace::link::find_period(symbols);
      const double steps = period.found() ? static_cast<double>(symbols.size()) / period.length : 0;
      if (steps < 2 * kFewestPeriods) continue;
      Rhythm rhythm;
      rhythm.pid = pid;
      rhythm.steps = steps;
      rhythm.settled = true;
      rhythm.sure = false;
      rhythm.first_ns = calls.front().time_ns;
      rhythm.step_ns =
          std::llround(static_cast<double>(calls.back().time_ns - calls.front().time_ns) / steps);
      rhythm.call_a_step = call_a_step(tail, rhythm, watched_);
      if (rhythm.call_a_step.empty()) continue;
      best = std::move(rhythm);
      most = calls.size();
      break;
    }
  }
  return best;
}

// Of launches that repeat after a few the waits say more (trace/link/waits.h).
void StepWatch::period_by_waits(const SegmentTail& tail, Rhythm& rhythm) const {
  const auto calls = launches_.find(rhythm.pid);
  if (calls == launches_.end()) return;
  const Work work = work_of(rhythm.pid);
  std::map<uint32_t, std::vector<uint32_t>> places;
  for (const Launch& call : calls->second)
    if (tail.name(rhythm.pid, call.name).find("Synchronize") != std::string_view::npos)
      places[call.name].push_back(static_cast<uint32_t>(
          std::upper_bound(work.times.begin(), work.times.end(), call.time_ns) - work.times.begin()));
  double longest = 0;
  for (auto& [name, before] : places) {
    std::sort(before.begin(), before.end());
    const trace::link::WaitPeriod period = trace::link::find_wait_period(before);
    if (period.length <= longest) continue;
    longest = period.length;
    rhythm.steps = static_cast<double>(work.times.size()) / longest;
  }
}

Rhythm StepWatch::by_work(const SegmentTail& tail, int64_t watched_ns) const {
  Rhythm best;
  std::set<int> pids;
  for (const auto* of : {&launches_, &kernels_, &operators_})
    for (const auto& [pid, rows] : *of) pids.insert(pid);
  std::size_t most = 0;
  for (const int pid : pids) {
    const Work work = work_of(pid);
    if (work.times.size() <= most || !lasts(work.times.front(), work.times.back(), watched_ns)) continue;
    const trace::link::Period period = trace::link::find_period(work.symbols);
    Rhythm rhythm;
    rhythm.pid = pid;
    // One kernel or operator again and again is no step.
    if (period.length > 1.5) rhythm.steps = static_cast<double>(work.symbols.size()) / period.length;
    if (period.length < trace::link::kShortPeriod) period_by_waits(tail, rhythm);
    if (rhythm.steps < kFewestPeriods) continue;
    most = work.times.size();
    best = rhythm;
    best.settled = true;  // nothing tells
    best.sure = false;
    best.step_ns = std::llround(static_cast<double>(work.times.back() - work.times.front()) / best.steps);
  }
  if (best.known()) best.call_a_step = call_a_step(tail, best, launches_);
  return best;
}

}  // namespace hone::observe
