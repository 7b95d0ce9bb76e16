#include "analyze/device/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/statistics.h"

namespace hone::analyze::device {
namespace {

// What a graph's works leave between them, and what a wait costs when there is nothing to wait for.
constexpr double kGraphGapNs = 1'000;
constexpr double kEmptyWaitNs = 2'000;

// What recording each node of a CUDA graph costs the host that launches it, and the device between two nodes;
// and how long a launch takes at least. Measured on an H200 (bench/results/graph-launch-2026-11-22.json).
constexpr double kNodeHostNs = 600;
constexpr double kNodeDeviceNs = 200;
constexpr double kGraphLaunchNs = 5'000;
// Of a call and the time before it, what is the recorder's at most.
constexpr double kMostOfCall = 0.8;

// The collectives of all ranks in one run.
struct CollectiveState {
  int arrived = 0;
  double last_ns = 0;
};

// One rank being simulated.
class Runner {
 public:
  Runner(const Program& program, const Change& change, int rank)
      : program_(program),
        concerned_(change.without_on < 0 || change.without_on == rank),
        timeline_(*program.timeline),
        change_(change),
        work_ns_(of_rank(change.work_ns, rank)),
        joined_(of_rank(change.joined, rank)),
        added_ns_(of_rank(change.added_ns, rank)),
        host_(program.start_ns),
        free_(timeline_.streams.size(), 0),
        ends_(program.works.size(), 0),
        step_end_(timeline_.steps.size(), 0) {
    start_ = timeline_.steps.empty() || change.host_alone
                 ? host_
                 : static_cast<double>(timeline_.steps.front().start_ns);
    if (change.host_alone) return;
    for (uint32_t i : program.preloaded) finish(i, static_cast<double>(timeline_.works[i].end_ns));
  }

  // Runs until done or until a collective waits for other ranks. Returns whether it got anywhere.
  bool advance(std::vector<CollectiveState>& collectives, std::span<const int> expected,
               std::span<const double> transfer, bool alone) {
    bool moved = false;
    while (item_ < program_.items.size()) {
      const Item& item = program_.items[item_];
      if (!begun_) {
        begin(item);
        moved = true;
      }
      if (item.kind == ItemKind::kLaunch) {
        const HostCall& call = timeline_.calls[item.call];
        for (; launched_ < call.works; ++launched_) {
          const uint32_t work = timeline_.launched[call.first_work + launched_];
          if (!run_work(work, collectives, expected, transfer, alone)) return moved;
          moved = true;
        }
      }
      finish_item(item);
      ++item_;
      begun_ = false;
      launched_ = 0;
    }
    return moved;
  }

  bool done() const { return item_ == program_.items.size(); }
  const std::vector<double>& step_ends() const { return step_end_; }
  double start_ns() const { return start_; }

 private:
  template <typename T>
  static std::span<const T> of_rank(const std::vector<std::vector<T>>& all, int rank) {
    return static_cast<std::size_t>(rank) < all.size()
               ? std::span<const T>(all[static_cast<std::size_t>(rank)])
               : std::span<const T>();
  }

  bool gone(Activity activity) const {
    return concerned_ && change_.without[static_cast<std::size_t>(activity)];
  }

  double new_ns(uint32_t work) const {
    const Work& recorded = timeline_.works[work];
    if (change_.collectives_free && recorded.kind == WorkKind::kCollective) return 0;
    const bool copies = recorded.kind == WorkKind::kCopyToDevice || recorded.kind == WorkKind::kCopyToHost;
    if (change_.copies_ahead && copies) return 0;
    return work_ns_.empty() ? program_.works[work].ns : work_ns_[work];
  }

  // Whether nothing of this launch is left.
  bool dropped(const Item& item) const {
    if (item.kind != ItemKind::kLaunch || work_ns_.empty()) return false;
    const HostCall& call = timeline_.calls[item.call];
    for (uint32_t k = 0; k < call.works; ++k)
      if (work_ns_[timeline_.launched[call.first_work + k]] >= 0) return false;
    return call.works > 0;
  }

  // Whether all works of this launch are launched with those before them.
  bool joined(const Item& item) const {
    if (item.kind != ItemKind::kLaunch || joined_.empty()) return false;
    const HostCall& call = timeline_.calls[item.call];
    for (uint32_t k = 0; k < call.works; ++k)
      if (joined_[timeline_.launched[call.first_work + k]] == 0) return false;
    return call.works > 0;
  }

  bool launches_collective(const Item& item) const {
    if (item.kind != ItemKind::kLaunch) return false;
    const HostCall& call = timeline_.calls[item.call];
    return call.works > 0 &&
           timeline_.works[timeline_.launched[call.first_work]].kind == WorkKind::kCollective;
  }

  // Whether the host still spends its time on an activity before a call.
  bool remains(const Item& item, Activity activity) const {
    if (!is_issuing(activity)) return !gone(activity);
    if (change_.launches_free || gone(Activity::kIssue) || dropped(item) || joined(item)) return false;
    return activity == Activity::kIssue || !change_.collectives_free;
  }

  // The recorder's part of the time of an activity before a call.
  double recording(const Item& item, std::size_t activity) const {
    const Recorder& recorder = change_.recorder;
    const double began = item.operators[activity];
    const double inside = std::min((1 - recorder.operator_share) * item.operators_ns[activity],
                                   (began + 1) * recorder.most_ns);  // one may have begun before
    return std::min(inside + recorder.gaps * program_.operator_gap_ns * began,
                    recorder.most_share * item.before_ns[activity]);
  }

  double calling(const Item& item) const {
    if (gone(item.activity) || dropped(item) || joined(item)) return 0;
    if (change_.collectives_free && launches_collective(item)) return 0;
    if (change_.launches_free && item.activity == Activity::kIssue) return 0;
    const bool bound = change_.most_launch_ns > 0 && item.kind == ItemKind::kLaunch && !is_graph(item);
    return bound ? std::min(item.call_ns, change_.most_launch_ns) : item.call_ns;
  }

  static bool is_issuing(Activity activity) {
    return activity == Activity::kIssue || activity == Activity::kCommunicate;
  }

  bool is_graph(const Item& item) const {
    return item.kind == ItemKind::kLaunch && timeline_.calls[item.call].works > 1;
  }

  // The recorder's part of a call and of the time before it.
  double recording_call(const Item& item, double ns) const {
    const bool recorded = item.kind == ItemKind::kLaunch || item.kind == ItemKind::kWait;
    return recorded ? std::min(change_.recorder.call_ns, kMostOfCall * ns) : 0;
  }

  // What launching a graph takes without the recorder.
  double without_nodes(const Item& item, double ns) const {
    if (change_.recorder.most_ns <= 0 || !is_graph(item)) return ns;
    return std::max(std::min(ns, kGraphLaunchNs), ns - kNodeHostNs * timeline_.calls[item.call].works);
  }

  // What the change adds to the host before the call.
  double added(const Item& item) const {
    if (item.kind != ItemKind::kLaunch || added_ns_.empty()) return 0;
    const HostCall& call = timeline_.calls[item.call];
    double ns = 0;
    for (uint32_t k = 0; k < call.works; ++k) ns += added_ns_[timeline_.launched[call.first_work + k]];
    return ns;
  }

  // The host reaches the call.
  void begin(const Item& item) {
    begun_ = true;
    double before = 0;
    for (std::size_t i = 0; i < kActivityCount; ++i)
      if (remains(item, static_cast<Activity>(i))) before += item.before_ns[i] - recording(item, i);
    call_ns_ = without_nodes(item, calling(item));
    const double recorded = recording_call(item, before + call_ns_);
    const double of_call = std::min(recorded, kMostOfCall * call_ns_);
    host_ += before - (recorded - of_call) + added(item);
    launch_from_ = host_;
    call_ns_ -= of_call;
  }

  bool run_work(uint32_t i, std::vector<CollectiveState>& collectives, std::span<const int> expected,
                std::span<const double> transfer, bool alone) {
    const double ns = new_ns(i);
    const ProgramWork& work = program_.works[i];
    if (ns < 0) {
      ends_[i] = 0;
      return true;
    }
    run_unlaunched_before(i);
    const double start = start_of(i);
    if (change_.host_alone) {
      finish(i, start);
      return true;
    }
    if (work.collective == kNothing || change_.collectives_free) {
      finish(i, start + ns);
      return true;
    }
    const double carried = transfer[work.collective] * carried_share(i, ns);
    if (change_.ranks_level) {
      finish(i, start + carried);
      return true;
    }
    CollectiveState& collective = collectives[work.collective];
    if (!registered_) {
      ++collective.arrived;
      collective.last_ns = std::max(collective.last_ns, start);
      registered_ = true;
    }
    if (collective.arrived < expected[work.collective] && !alone) return false;
    registered_ = false;
    finish(i, std::max(collective.last_ns, start) + carried);
    return true;
  }

  // Works on its stream before it whose launches nobody saw.
  void run_unlaunched_before(uint32_t i) {
    before_.clear();
    for (uint32_t at = program_.works[i].unlaunched; at != kNothing && ends_[at] == 0;
         at = program_.works[at].unlaunched)
      before_.push_back(at);
    for (; !before_.empty(); before_.pop_back()) {
      const uint32_t at = before_.back();
      finish(at, free_[timeline_.works[at].stream] + std::max(0.0, new_ns(at)));
    }
  }

  // The time of a collective's transfer when its work is given another time.
  double carried_share(uint32_t i, double ns) const {
    return work_ns_.empty() || program_.works[i].ns <= 0 ? 1 : ns / program_.works[i].ns;
  }

  double start_of(uint32_t i) const {
    const ProgramWork& work = program_.works[i];
    const uint32_t stream = timeline_.works[i].stream;
    const bool follows = launched_ > 0;  // a node of a graph, after another
    double gap = change_.launches_free ? std::min(work.queue_gap_ns, kGraphGapNs) : work.queue_gap_ns;
    if (follows && change_.recorder.most_ns > 0) gap = std::max(gap / 2, gap - kNodeDeviceNs);
    double start = launch_from_ + (change_.launches_free ? kGraphGapNs
                                   : follows             ? 0
                                             : without_nodes(program_.items[item_], work.latency_ns));
    if (free_[stream] > 0) start = std::max(start, free_[stream] + gap);
    for (std::size_t k = 0; k < work.after.size(); ++k)
      if (work.after[k] != kNothing && ends_[work.after[k]] > 0 &&
          !(change_.copies_ahead && timeline_.works[work.after[k]].kind == WorkKind::kCopyToDevice))
        start = std::max(start, ends_[work.after[k]] + work.after_gap_ns[k]);
    return start;
  }

  void finish(uint32_t i, double end) {
    const Work& work = timeline_.works[i];
    ends_[i] = end;
    free_[work.stream] = std::max(free_[work.stream], end);
    if (const uint32_t step = program_.works[i].step; step != kNothing)
      step_end_[step] = std::max(step_end_[step], end);
  }

  // The host leaves the call.
  void finish_item(const Item& item) {
    if (item.kind == ItemKind::kStepEnd) {
      step_end_[item.step] = std::max(step_end_[item.step], host_);
      return;
    }
    const bool waits = item.waits_for != kNothing && !gone(item.activity) &&
                       !(change_.copies_ahead && item.activity == Activity::kCopy);
    if (waits && ends_[item.waits_for] > 0) host_ = std::max(host_, ends_[item.waits_for] - item.ahead_ns);
    if (gone(item.activity) && item.kind == ItemKind::kWait) host_ += kEmptyWaitNs;
    host_ += call_ns_;
  }

  const Program& program_;
  bool concerned_;  // by `without`
  const RankTimeline& timeline_;
  const Change& change_;
  std::span<const double> work_ns_;
  std::span<const char> joined_;
  std::span<const double> added_ns_;
  double host_;
  double start_ = 0;  // of the first step
  double launch_from_ = 0;
  double call_ns_ = 0;
  std::vector<double> free_;      // by stream
  std::vector<double> ends_;      // by work
  std::vector<uint32_t> before_;  // run_unlaunched_before
  std::vector<double> step_end_;
  std::size_t item_ = 0;
  uint32_t launched_ = 0;  // works of the item that are launched
  bool begun_ = false;
  bool registered_ = false;  // at the collective that it waits for
};

// How long each step takes from the end of the step before to its own end. `start`: of the first one.
std::vector<double> step_times_ms(std::span<const double> ends, double start) {
  std::vector<double> times;
  for (const double end : ends) {
    times.push_back(std::max(0.0, end - start) * 1e-6);
    start = std::max(start, end);
  }
  return times;
}

}  // namespace

Replay::Replay(std::span<const Program> programs, const MatchedCollectives& collectives)
    : programs_(programs) {
  for (const MatchedCollective& collective : collectives.all) {
    transfer_ns_.push_back(collective.transfer_ns());
    expected_.push_back(static_cast<int>(collective.ranks.size()));
  }
  double total = 0;
  for (const Program& program : programs) {
    std::vector<double> times;
    for (const DeviceStep& step : program.timeline->steps) times.push_back(step.ms());
    total += program.timeline->average_step_ms(times);
  }
  recorded_ms_ = programs.empty() ? 0 : total / static_cast<double>(programs.size());
  unchanged_ms_ = step_ms();
}

std::vector<double> Replay::rank_steps_ms(const Change& change) const {
  std::vector<CollectiveState> collectives(transfer_ns_.size());
  std::vector<Runner> runners;
  runners.reserve(programs_.size());
  for (std::size_t rank = 0; rank < programs_.size(); ++rank)
    runners.emplace_back(programs_[rank], change, static_cast<int>(rank));
  auto all_done = [&] {
    return std::all_of(runners.begin(), runners.end(), [](const Runner& runner) { return runner.done(); });
  };
  bool alone = false;  // a collective that some rank's recording lacks waits for nobody
  while (!all_done()) {
    bool moved = false;
    for (Runner& runner : runners)
      moved = runner.advance(collectives, expected_, transfer_ns_, alone && !moved) || moved;
    alone = !moved;
  }
  std::vector<double> steps;
  for (std::size_t rank = 0; rank < runners.size(); ++rank)
    steps.push_back(programs_[rank].timeline->average_step_ms(
        step_times_ms(runners[rank].step_ends(), runners[rank].start_ns())));
  return steps;
}

double Replay::step_ms(const Change& change) const {
  const std::vector<double> steps = rank_steps_ms(change);
  return steps.empty() ? 0 : std::reduce(steps.begin(), steps.end()) / static_cast<double>(steps.size());
}

double Replay::error() const {
  return recorded_ms_ > 0 ? std::abs(unchanged_ms_ - recorded_ms_) / recorded_ms_ : 0;
}

}  // namespace hone::analyze::device
