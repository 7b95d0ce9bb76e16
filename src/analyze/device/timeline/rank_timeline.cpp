#include "analyze/device/timeline/rank_timeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "analyze/device/timeline/executions.h"
#include "core/statistics.h"
#include "trace/link/roles.h"

namespace hone::analyze::device {
namespace {

using trace::Category;

bool is_work(const trace::Trace& trace, std::size_t row) {
  if (trace.tracks[trace.spans.track[row].index].kind != trace::TrackKind::kStream) return false;
  switch (trace.spans.category[row]) {
    case Category::kKernel:
    case Category::kMemcpy:
    case Category::kMemset:
    case Category::kCommunication:
      return true;
    default:
      return false;
  }
}

bool is_call(Category category) {
  return category == Category::kRuntime || category == Category::kSynchronization ||
         category == Category::kAllocation;
}

bool on_host(trace::MemoryKind kind) {
  return kind == trace::MemoryKind::kPageable || kind == trace::MemoryKind::kPinned;
}

WorkKind copy_kind(const trace::Copy* copy) {
  if (copy == nullptr) return WorkKind::kCopyOnDevice;
  if (on_host(copy->from)) return WorkKind::kCopyToDevice;
  return on_host(copy->to) ? WorkKind::kCopyToHost : WorkKind::kCopyOnDevice;
}

WorkKind work_kind(Category category, const trace::Copy* copy) {
  switch (category) {
    case Category::kCommunication:
      return WorkKind::kCollective;
    case Category::kMemset:
      return WorkKind::kMemset;
    case Category::kMemcpy:
      return copy_kind(copy);
    default:
      return WorkKind::kKernel;
  }
}

// The place of `id` in `known`, appended if new. Ranks have few streams and threads.
uint32_t place_of(std::vector<trace::TrackId>& known, trace::TrackId id) {
  for (uint32_t i = 0; i < known.size(); ++i)
    if (known[i] == id) return i;
  known.push_back(id);
  return static_cast<uint32_t>(known.size() - 1);
}

// When the device is through with works, by when they were launched.
class Drain {
 public:
  Drain(const RankTimeline& timeline, const std::vector<const Work*>& works) {
    for (const Work* work : works)
      if (const HostCall* call = timeline.launch_of(*work)) ends_.emplace_back(call->start_ns, work->end_ns);
    std::sort(ends_.begin(), ends_.end());
  }

  // `time_ns` must not go back. 0: nothing was launched before.
  int64_t of_launches_before(int64_t time_ns) {
    for (; next_ < ends_.size() && ends_[next_].first < time_ns; ++next_)
      end_ns_ = std::max(end_ns_, ends_[next_].second);
    return end_ns_;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> ends_;
  std::size_t next_ = 0;
  int64_t end_ns_ = 0;
};

class RankTimelineBuilder {
 public:
  RankTimelineBuilder(const trace::Trace& trace, int rank) : trace_(trace), spans_(trace.spans) {
    result_.rank = rank;
  }

  RankTimeline run() {
    collect_works();
    rank_devices();
    collect_calls();
    drop_bystanders();
    join();
    number_executions(trace_, result_);
    find_windows();
    return std::move(result_);
  }

 private:
  const trace::Track& track(std::size_t row) const { return trace_.tracks[spans_.track[row].index]; }

  void collect_works() {
    for (std::size_t row = 0; row < spans_.size(); ++row) {
      if (!is_work(trace_, row) || track(row).rank != result_.rank) continue;
      const auto span = static_cast<uint32_t>(row);
      const trace::Copy* copy =
          spans_.category[row] == Category::kMemcpy ? trace::find_detail(trace_.copies, span) : nullptr;
      Work work;
      work.span = span;
      work.start_ns = spans_.start_ns[row];
      work.end_ns = work.start_ns + spans_.duration_ns[row];
      work.stream = place_of(result_.streams, spans_.track[row]);
      work.device = track(row).device;
      work.kind = work_kind(spans_.category[row], copy);
      work.pageable = copy != nullptr && (copy->from == trace::MemoryKind::kPageable ||
                                          copy->to == trace::MemoryKind::kPageable);
      work.step = spans_.step[row];
      work.op = spans_.op[row].valid() ? spans_.op[row].index : kNothing;
      if (spans_.correlation[row] != 0) wanted_.push_back(spans_.correlation[row]);
      result_.works.push_back(work);
    }
    std::sort(wanted_.begin(), wanted_.end());
    std::stable_sort(result_.works.begin(), result_.works.end(),
                     [](const Work& a, const Work& b) { return a.start_ns < b.start_ns; });
  }

  void rank_devices() {
    constexpr double kIdleDevice = 0.01;  // of the time that the busiest works
    std::map<int, double> time;
    for (const Work& work : result_.works)
      time[work.device] += work.kind == WorkKind::kCollective ? 1 : static_cast<double>(work.ns());
    for (const auto& [device, ns] : time) result_.devices.push_back(device);
    std::stable_sort(result_.devices.begin(), result_.devices.end(),
                     [&](int a, int b) { return time[a] > time[b]; });
    const double longest = time.empty() ? 0 : time[result_.devices.front()];
    std::erase_if(result_.devices, [&](int device) { return time[device] < kIdleDevice * longest; });
  }

  // Calls that launched something, waited, or took or gave back memory; other calls cost the host time but
  // bind nothing.
  void collect_calls() {
    for (std::size_t row = 0; row < spans_.size(); ++row) {
      const Category category = spans_.category[row];
      if (!is_call(category) || track(row).rank != result_.rank ||
          track(row).kind == trace::TrackKind::kStream)
        continue;
      const uint64_t id = spans_.correlation[row];
      const bool launches = id != 0 && std::binary_search(wanted_.begin(), wanted_.end(), id);
      if (category == Category::kRuntime && !launches) continue;
      HostCall call;
      call.span = static_cast<uint32_t>(row);
      call.start_ns = spans_.start_ns[row];
      call.end_ns = call.start_ns + spans_.duration_ns[row];
      call.thread = place_of(result_.threads, spans_.track[row]);
      call.kind = launches                                 ? CallKind::kLaunch
                  : category == Category::kSynchronization ? CallKind::kWait
                                                           : CallKind::kAllocation;
      result_.calls.push_back(call);
    }
    std::stable_sort(result_.calls.begin(), result_.calls.end(),
                     [](const HostCall& a, const HostCall& b) { return a.start_ns < b.start_ns; });
  }

  // Threads that launch nothing (a watchdog, a loader that pins memory) do not hold the device up.
  void drop_bystanders() {
    std::vector<char> launches(result_.threads.size(), 0);
    for (const HostCall& call : result_.calls)
      if (call.kind == CallKind::kLaunch) launches[call.thread] = 1;
    std::vector<uint32_t> place(result_.threads.size(), kNothing);
    std::vector<trace::TrackId> kept;
    for (uint32_t i = 0; i < launches.size(); ++i) {
      if (launches[i] == 0) continue;
      place[i] = static_cast<uint32_t>(kept.size());
      kept.push_back(result_.threads[i]);
    }
    result_.threads = std::move(kept);
    std::erase_if(result_.calls, [&](const HostCall& call) { return place[call.thread] == kNothing; });
    for (HostCall& call : result_.calls) call.thread = place[call.thread];
  }

  void join() {
    using ById = std::pair<uint64_t, uint32_t>;  // the first of several calls with one id launched
    std::vector<ById> launches;
    for (uint32_t i = 0; i < result_.calls.size(); ++i)
      if (result_.calls[i].kind == CallKind::kLaunch)
        launches.emplace_back(spans_.correlation[result_.calls[i].span], i);
    std::sort(launches.begin(), launches.end());
    std::vector<uint32_t>& launched = result_.launched;
    for (uint32_t i = 0; i < result_.works.size(); ++i) {
      Work& work = result_.works[i];
      const uint64_t id = spans_.correlation[work.span];
      const auto found = std::lower_bound(launches.begin(), launches.end(), ById{id, 0});
      if (id == 0 || found == launches.end() || found->first != id) continue;
      work.call = found->second;
      launched.push_back(i);
    }
    std::stable_sort(launched.begin(), launched.end(),
                     [&](uint32_t a, uint32_t b) { return result_.works[a].call < result_.works[b].call; });
    for (uint32_t at = 0; at < launched.size(); ++at) {
      HostCall& call = result_.calls[result_.works[launched[at]].call];
      if (call.works++ == 0) call.first_work = at;
    }
  }

  void find_windows() {
    for (std::size_t row = 0; row < spans_.size(); ++row) {
      if (spans_.category[row] != Category::kStep || track(row).rank != result_.rank) continue;
      if (track(row).kind == trace::TrackKind::kStream || spans_.duration_ns[row] <= 0) continue;
      const int64_t start = spans_.start_ns[row];
      const int64_t end = start + spans_.duration_ns[row];
      const std::string_view name = trace_.strings.text(spans_.name[row]);
      const bool profiler = trace::link::role_of(name, Category::kRegion) == trace::link::Role::kStepMark;
      result_.steps.push_back({spans_.step[row], 0, end, start, end, profiler});
    }
    std::sort(result_.steps.begin(), result_.steps.end(),
              [](const DeviceStep& a, const DeviceStep& b) { return a.host_start_ns < b.host_start_ns; });
    if (result_.steps.empty()) return;
    std::unordered_map<int32_t, std::size_t> index;
    for (std::size_t k = 0; k < result_.steps.size(); ++k) index.emplace(result_.steps[k].step, k);
    std::vector<int64_t> first_work(result_.steps.size(), std::numeric_limits<int64_t>::max());
    std::vector<const Work*> between;  // of no step
    for (const Work& work : result_.works) {
      const auto found = index.find(work.step);
      if (found == index.end()) {
        between.push_back(&work);
        continue;
      }
      int64_t& end = result_.steps[found->second].end_ns;
      end = std::max(end, work.end_ns);
      first_work[found->second] = std::min(first_work[found->second], work.start_ns);
    }
    const int64_t first_start = result_.steps.front().host_start_ns;
    int64_t start = first_start;
    for (const Work* work : between)
      if (launched_before(*work, first_start, first_work[0])) start = std::max(start, work->end_ns);
    Drain drain(result_, between);
    for (std::size_t k = 0; k < result_.steps.size(); ++k) {
      DeviceStep& step = result_.steps[k];
      step.begins_block = k > 0 && block_of(step) != block_of(result_.steps[k - 1]);
      if (step.marked_by_profiler || step.begins_block) {
        start = std::max(start, step.host_start_ns);
        // Or the device is busy with both side by side.
        if (k > 0)
          start = std::max(start, std::min(drain.of_launches_before(step.host_start_ns), first_work[k]));
      }
      step.start_ns = start;
      step.end_ns = std::max(step.end_ns, step.start_ns);
      start = step.end_ns;
    }
    std::erase_if(result_.steps, [](const DeviceStep& step) { return step.end_ns <= step.start_ns; });
  }

  // Of a recorder that takes turns: steps of one block follow each other, steps of two do not.
  const trace::RecordingBlock* block_of(const DeviceStep& step) const {
    return trace::block_at(trace_.meta.blocks, result_.rank, step.host_start_ns);
  }

  // Work whose launch the recording lacks was launched before the recording began, if it ran before all work
  // of the first step.
  bool launched_before(const Work& work, int64_t first_start, int64_t first_work) const {
    if (const HostCall* call = result_.launch_of(work)) return call->start_ns < first_start;
    return work.start_ns < first_work;
  }

  const trace::Trace& trace_;
  const trace::SpanTable& spans_;
  std::vector<uint64_t> wanted_;  // correlations of works, sorted
  RankTimeline result_;
};

}  // namespace

std::vector<int> device_ranks(const trace::Trace& trace) {
  std::set<int> ranks;
  for (std::size_t row = 0; row < trace.spans.size(); ++row)
    if (is_work(trace, row)) ranks.insert(trace.tracks[trace.spans.track[row].index].rank);
  return {ranks.begin(), ranks.end()};
}

double RankTimeline::average_step_ms(std::span<const double> times_ms) const {
  if (stalls.recur) {
    double whole_ms = 0;
    for (const std::size_t k : stalls.counted) whole_ms += times_ms[k];
    return whole_ms / static_cast<double>(std::max<std::size_t>(1, stalls.counted.size()));
  }
  std::vector<double> counted;
  for (std::size_t k = 0; k < times_ms.size(); ++k)
    if (!steps[k].begins_block) counted.push_back(times_ms[k]);
  return median(counted);
}

RankTimeline rank_timeline(const trace::Trace& trace, int rank) {
  RankTimeline timeline = RankTimelineBuilder(trace, rank).run();
  std::vector<double> times_ms;
  std::vector<char> follows;
  for (const DeviceStep& step : timeline.steps) {
    times_ms.push_back(step.ms());
    follows.push_back(step.begins_block ? 0 : 1);
  }
  timeline.stalls = find_stalls(times_ms, follows);
  return timeline;
}

}  // namespace hone::analyze::device
