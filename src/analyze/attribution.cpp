#include "analyze/attribution.h"

#include <algorithm>
#include <optional>

#include "analyze/rules.h"

namespace hone::analyze {
namespace {

using trace::Category;

struct Boundary {
  int64_t time_ns;
  uint32_t row;
  bool begins;
};

// The open spans of one track, latest begun last.
struct OpenTrack {
  trace::TrackId track;
  std::vector<uint32_t> rows;
  std::vector<uint32_t> divided;  // those within which an operator with costs ran
};

bool runs_operator(const trace::SpanTable& spans, uint32_t row) {
  return spans.op[row].valid() &&
         (spans.category[row] == Category::kOperator || spans.category[row] == Category::kKernel);
}

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

class Sweep {
 public:
  Sweep(const trace::Trace& trace, const StepWindow& step) : trace_(trace), spans_(trace.spans), step_(step) {
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
    OpenTrack& track = track_of(row);
    if (runs_operator(spans_, row)) count(row, track);
    track.rows.push_back(row);
  }
  void close(uint32_t row) {
    std::erase(track_of(row).rows, row);
    std::erase(track_of(row).divided, row);
  }

  bool has_costs(uint32_t row) const {
    const trace::Operator& op = trace_.operators[spans_.op[row].index];
    return op.flops > 0 || op.bytes() > 0;
  }

  // Whether `inner` does what `outer` counts as its own work, and not a small thing on the side.
  bool does_the_work_of(uint32_t inner, uint32_t outer) const {
    const trace::Operator& part = trace_.operators[spans_.op[inner].index];
    const trace::Operator& whole = trace_.operators[spans_.op[outer].index];
    return (whole.flops > 0 && part.flops >= 0.5 * whole.flops) ||
           (whole.bytes() > 0 && part.bytes() >= 0.5 * whole.bytes());
  }

  void count(uint32_t row, OpenTrack& track) {
    result_.operator_runs[spans_.op[row].index] += 1;
    if (!has_costs(row)) return;
    for (uint32_t around : track.rows) {
      if (!runs_operator(spans_, around) || !does_the_work_of(row, around)) continue;
      if (std::find(track.divided.begin(), track.divided.end(), around) != track.divided.end()) continue;
      track.divided.push_back(around);
      result_.operator_runs[spans_.op[around].index] -= 1;
    }
  }

  OpenTrack& track_of(uint32_t row) {
    for (OpenTrack& track : tracks_)
      if (track.track == spans_.track[row]) return track;
    return tracks_.emplace_back(OpenTrack{spans_.track[row], {}, {}});
  }

  void segment(int64_t from, int64_t to) {
    if (from >= to) return;
    auto length = static_cast<double>(to - from);
    int running = 0;
    for (const OpenTrack& track : tracks_)
      running += !track.rows.empty() && runs_operator(spans_, track.rows.back()) ? 1 : 0;
    running > 0 ? busy(length, running) : waiting(length);
  }

  void busy(double length, int running) {
    settle_gap();
    result_.busy_ns += length;
    for (const OpenTrack& track : tracks_)
      if (!track.rows.empty() && runs_operator(spans_, track.rows.back()))
        result_.operator_ns[spans_.op[track.rows.back()].index] += length / running;
  }

  void waiting(double length) {
    std::optional<Cause> cause;
    for (const OpenTrack& track : tracks_)
      for (uint32_t row : track.rows)
        if (auto named = waiting_cause(spans_.category[row]))
          cause = cause ? std::min(*cause, *named) : named;
    if (cause)
      result_.waiting_ns[static_cast<std::size_t>(*cause)] += length;
    else
      pending_gap_ns_ += length;
  }

  // An operator begins: the gap before it was `launch`, unless it was before the first.
  void settle_gap() {
    Cause cause = any_operator_ ? Cause::kLaunch : Cause::kHostOther;
    if (pending_gap_ns_ > 0 && any_operator_) ++result_.gaps;
    result_.waiting_ns[static_cast<std::size_t>(cause)] += pending_gap_ns_;
    pending_gap_ns_ = 0;
    any_operator_ = true;
  }

  const trace::Trace& trace_;
  const trace::SpanTable& spans_;
  const StepWindow& step_;
  std::vector<OpenTrack> tracks_;
  Attribution result_;
  double pending_gap_ns_ = 0;
  bool any_operator_ = false;
};

}  // namespace

Attribution attribute(const trace::Trace& trace, const StepWindow& step) { return Sweep(trace, step).run(); }

}  // namespace hone::analyze
