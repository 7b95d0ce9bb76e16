#include "analyze/attribution.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analyze/rules.h"

namespace hone::analyze {
namespace {

using trace::Category;

struct Boundary {
  int64_t time_ns;
  uint32_t row;
  bool begins;
};

// The open spans of one track. What is asked of it never walks through all of them: profiles hold call stacks
// of any depth.
struct OpenTrack {
  std::vector<uint32_t> rows;  // latest begun last; the last is open, below it some may have ended
  // Operators with costs within which none has run yet that does their work: least work first.
  std::set<std::pair<double, uint32_t>> whole_by_flops;
  std::set<std::pair<double, uint32_t>> whole_by_bytes;
};

// Begin and end of every span of the step, clipped to it. At equal times ends come first, so that a span of
// no length is never open.
std::vector<Boundary> boundaries(const trace::SpanTable& spans, const StepWindow& step) {
  std::vector<Boundary> result;
  for (uint32_t row : step.rows) {
    int64_t start = std::max(spans.start_ns[row], step.start_ns);
    int64_t end = std::min(spans.start_ns[row] + spans.duration_ns[row], step.end_ns);
    if (start >= end) continue;
    result.push_back({start, row, true});
    result.push_back({end, row, false});
  }
  std::sort(result.begin(), result.end(), [&](const Boundary& a, const Boundary& b) {
    if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
    if (a.begins != b.begins) return !a.begins;
    // Where spans begin together, the longer encloses the other.
    if (spans.duration_ns[a.row] != spans.duration_ns[b.row])
      return spans.duration_ns[a.row] > spans.duration_ns[b.row];
    return a.row < b.row;
  });
  return result;
}

constexpr double kComputes = 8;  // FLOPs a byte, from which an operator is one of arithmetic

class Sweep {
 public:
  Sweep(const trace::Trace& trace, const StepWindow& step, int64_t long_gap_ns)
      : trace_(trace), spans_(trace.spans), step_(step), long_gap_ns_(static_cast<double>(long_gap_ns)) {
    result_.operator_ns.resize(trace.operators.size());
    result_.operator_runs.resize(trace.operators.size());
    result_.total_ns = static_cast<double>(step.end_ns - step.start_ns);
  }

  Attribution run() {
    int64_t time = step_.start_ns;
    for (const Boundary& boundary : boundaries(spans_, step_)) {
      segment(time, boundary.time_ns);
      time = boundary.time_ns;
      boundary.begins ? open(boundary.row) : close(boundary.row);
    }
    segment(time, step_.end_ns);
    result_.waiting_ns[static_cast<std::size_t>(Cause::kHostOther)] += pending_gap_ns_;  // after the last
    return std::move(result_);
  }

 private:
  void open(uint32_t row) {
    const std::size_t at = track_of(row);
    OpenTrack& track = tracks_[at];
    if (const auto cause = waiting_cause(spans_.category[row])) ++waits_[static_cast<std::size_t>(*cause)];
    track.rows.push_back(row);
    if (runs_operator(spans_, row)) count(row, track);
    note_running(at);
  }

  void close(uint32_t row) {
    const std::size_t at = track_of(row);
    OpenTrack& track = tracks_[at];
    if (const auto cause = waiting_cause(spans_.category[row])) --waits_[static_cast<std::size_t>(*cause)];
    ended_.insert(row);
    while (!track.rows.empty() && ended_.erase(track.rows.back()) > 0) track.rows.pop_back();
    if (runs_operator(spans_, row)) forget_whole(row, track);
    note_running(at);
  }

  void note_running(std::size_t at) {
    const std::vector<uint32_t>& rows = tracks_[at].rows;
    if (!rows.empty() && runs_operator(spans_, rows.back()))
      running_.insert(at);
    else
      running_.erase(at);
  }

  const trace::Operator& operator_of(uint32_t row) const { return trace_.operators[spans_.op[row].index]; }

  void forget_whole(uint32_t row, OpenTrack& track) {
    track.whole_by_flops.erase({operator_of(row).flops, row});
    track.whole_by_bytes.erase({operator_of(row).bytes(), row});
  }

  // Counts an operator that begins. Those around it do not count of which it does what they count as their own
  // work, half of it at least, and not a small thing on the side.
  void count(uint32_t row, OpenTrack& track) {
    result_.operator_runs[spans_.op[row].index] += 1;
    const trace::Operator& part = operator_of(row);
    for (auto [whole, work] :
         {std::pair{&track.whole_by_flops, part.flops}, std::pair{&track.whole_by_bytes, part.bytes()}}) {
      while (!whole->empty() && work >= 0.5 * whole->begin()->first) {
        const uint32_t around = whole->begin()->second;
        result_.operator_runs[spans_.op[around].index] -= 1;
        forget_whole(around, track);
      }
    }
    if (part.flops > 0) track.whole_by_flops.insert({part.flops, row});
    // Who moves as much as an operator that computes need not have computed for it: a copy of a product's bias.
    if (part.bytes() > 0 && part.flops < kComputes * part.bytes())
      track.whole_by_bytes.insert({part.bytes(), row});
  }

  std::size_t track_of(uint32_t row) {
    const auto [found, added] = track_index_.try_emplace(spans_.track[row].index, tracks_.size());
    if (added) tracks_.emplace_back();
    return found->second;
  }

  void segment(int64_t from, int64_t to) {
    if (from >= to) return;
    const auto length = static_cast<double>(to - from);
    running_.empty() ? waiting(length) : busy(length);
  }

  void busy(double length) {
    settle_gap();
    result_.busy_ns += length;
    for (const std::size_t at : running_)
      result_.operator_ns[spans_.op[tracks_[at].rows.back()].index] +=
          length / static_cast<double>(running_.size());
  }

  // Where several causes are open, the first of them takes it.
  void waiting(double length) {
    const auto cause = std::find_if(waits_.begin(), waits_.end(), [](int64_t spans) { return spans > 0; });
    if (cause != waits_.end())
      result_.waiting_ns[static_cast<std::size_t>(cause - waits_.begin())] += length;
    else
      pending_gap_ns_ += length;
  }

  // An operator begins: the gap before it was `launch`, unless it was before the first, or long.
  void settle_gap() {
    const bool launches = any_operator_ && pending_gap_ns_ < long_gap_ns_;
    const Cause cause = launches ? Cause::kLaunch : Cause::kHostOther;
    if (pending_gap_ns_ > 0 && launches) ++result_.gaps;
    result_.waiting_ns[static_cast<std::size_t>(cause)] += pending_gap_ns_;
    pending_gap_ns_ = 0;
    any_operator_ = true;
  }

  const trace::Trace& trace_;
  const trace::SpanTable& spans_;
  const StepWindow& step_;
  double long_gap_ns_;
  std::vector<OpenTrack> tracks_;
  std::unordered_map<uint32_t, std::size_t> track_index_;  // in tracks_, by track
  std::set<std::size_t> running_;                          // tracks whose innermost span runs an operator
  std::array<int64_t, kCauseCount> waits_{};               // open spans of each cause of waiting
  std::unordered_set<uint32_t> ended_;                     // that others, begun later, outlive
  Attribution result_;
  double pending_gap_ns_ = 0;
  bool any_operator_ = false;
};

}  // namespace

Attribution attribute(const trace::Trace& trace, const StepWindow& step, int64_t long_gap_ns) {
  return Sweep(trace, step, long_gap_ns).run();
}

}  // namespace hone::analyze
