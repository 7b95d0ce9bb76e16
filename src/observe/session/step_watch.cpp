#include "observe/session/step_watch.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/statistics.h"
#include "observe/session/call_ids.h"
#include "trace/link/period.h"

namespace hone::observe {
namespace {

namespace segments = trace::segments;

// The last steps and as many before them must take equally long within this share.
constexpr std::size_t kSettledSteps = 5;
constexpr double kSettledShare = 0.10;
// So many repetitions make a period.
constexpr double kFewestPeriods = 3;

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
    case segments::MarkKind::kApiCall:
      return 4;
  }
  return 5;
}

double median_of_last(std::span<const double> values, std::size_t skip) {
  const std::size_t end = values.size() - skip;
  return median(values.subspan(end - kSettledSteps, kSettledSteps));
}

bool is_known(std::string_view call) {
  const CallId id = call_id(call);
  return id.runtime != 0 || id.driver != 0;
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
      if (const auto mark = record.at.as<segments::Mark>()) {
        marks_[{record.pid, mark->what, mark->name, mark->tid}].push_back(mark->time_ns);
        if (first_mark_ns_ == 0 || mark->time_ns < first_mark_ns_) first_mark_ns_ = mark->time_ns;
      }
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

void StepWatch::forget_work() {
  launches_.clear();
  kernels_.clear();
  operators_.clear();
}

Rhythm StepWatch::by_marks() const {
  std::map<int, std::size_t> marks_of;
  for (const auto& [source, times] : marks_) marks_of[std::get<0>(source)] += times.size();
  const auto rank = [&](const auto& entry) {
    const auto& [pid, kind, name, tid] = entry.first;
    return std::tuple(entry.second.size() >= 3 ? 0 : 1, order_of(kind),
                      -static_cast<int64_t>(marks_of.at(pid)), -static_cast<int64_t>(entry.second.size()));
  };
  const auto best = std::min_element(marks_.begin(), marks_.end(),
                                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  Rhythm rhythm;
  if (best == marks_.end() || best->second.size() < 2) return rhythm;
  std::vector<int64_t> times = best->second;
  std::sort(times.begin(), times.end());
  std::vector<double> intervals;
  for (std::size_t i = 1; i < times.size(); ++i)
    intervals.push_back(static_cast<double>(times[i] - times[i - 1]));
  rhythm.pid = std::get<0>(best->first);
  rhythm.steps = static_cast<double>(intervals.size());
  rhythm.settled = has_settled(intervals);
  const std::size_t used = std::min(intervals.size(), 2 * kSettledSteps);
  rhythm.step_ns = std::llround(median(std::span(intervals).last(used)));
  rhythm.marks_a_step = static_cast<double>(marks_of.at(rhythm.pid)) / static_cast<double>(times.size());
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
  std::unordered_map<uint32_t, uint32_t> kernel_of;
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

Rhythm StepWatch::by_work(const SegmentTail& tail) const {
  Rhythm best;
  std::size_t most = 0;
  for (const auto* of : {&launches_, &kernels_, &operators_})
    for (const auto& [pid, rows] : *of) {
      if (pid == best.pid) continue;
      const Work work = work_of(pid);
      if (work.times.size() <= most) continue;
      const trace::link::Period period = trace::link::find_period(work.symbols);
      const double steps = period.found() ? static_cast<double>(work.symbols.size()) / period.length : 0;
      if (steps < kFewestPeriods) continue;
      most = work.times.size();
      best = {};
      best.pid = pid;
      best.steps = steps;
      best.settled = true;  // nothing tells
      best.step_ns = std::llround(static_cast<double>(work.times.back() - work.times.front()) / steps);
    }
  if (!best.known()) return best;
  const auto calls = launches_.find(best.pid);
  if (calls == launches_.end()) return best;
  std::map<uint32_t, double> count;
  for (const Launch& call : calls->second) count[call.name] += 1;
  constexpr double kOnce = 0.15;  // as a share: the piece that was seen begins and ends within steps
  for (const auto& [name, times] : count)
    if (const std::string_view call = tail.name(best.pid, name);
        std::abs(times / best.steps - 1) <= kOnce + 1 / best.steps && best.call_a_step.empty() &&
        is_known(call))
      best.call_a_step = call;
  return best;
}

}  // namespace hone::observe
