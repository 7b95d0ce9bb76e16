#include "analyze/device/timeline/evidence.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analyze/withhold.h"
#include "core/statistics.h"
#include "core/units.h"

namespace hone::analyze::device {
namespace {

constexpr double kMatters = 0.05;  // complete recordings lack nothing: every launch has its kernel
constexpr double kTooMuch = 0.25;
// Recorders that count in whole microseconds write 0 for the shortest kernels.
constexpr double kTimeless = 0.5;
constexpr double kTornStep = 0.9;  // works of a whole step, as a share of the others' median

// What the host launched in a step, what ran of it, and what ran without a launch.
struct Tally {
  double launches = 0;
  double launches_without_work = 0;
  double works = 0;
  double works_without_launch = 0;
  double works_of_one_launch = 0;  // beyond the first of each call that launches one
  double works_without_time = 0;

  void add(const Tally& other) {
    launches += other.launches;
    launches_without_work += other.launches_without_work;
    works += other.works;
    works_without_launch += other.works_without_launch;
    works_of_one_launch += other.works_of_one_launch;
    works_without_time += other.works_without_time;
  }
  double missing_works() const { return launches > 0 ? launches_without_work / launches : 0; }
  double missing_launches() const { return share(works_without_launch); }
  double share(double of_works) const { return works > 0 ? of_works / works : 0; }
};

// Calls that always run something: copies and fills of no bytes do not.
bool launches_kernels(std::string_view call) {
  return call.find("LaunchKernel") != std::string_view::npos ||
         call.find("GraphLaunch") != std::string_view::npos;
}

bool launches_one(std::string_view call) { return call.find("LaunchKernel") != std::string_view::npos; }

// When the rank captures graphs: what any of its threads launches then may run later, or never.
class Captures {
 public:
  Captures(const trace::Trace& trace, const RankTimeline& timeline) {
    std::unordered_map<uint32_t, bool> begins;  // by name of a call that begins or ends one
    for (uint32_t name = 0; name < trace.strings.size(); ++name) {
      const std::string_view text = trace.strings.text(trace::StringId{name});
      if (text.find("StreamBeginCapture") != std::string_view::npos) begins[name] = true;
      if (text.find("StreamEndCapture") != std::string_view::npos) begins[name] = false;
    }
    std::vector<std::pair<int64_t, bool>> calls;
    for (std::size_t row = 0; row < trace.spans.size() && !begins.empty(); ++row) {
      const trace::StringId name = trace.spans.name[row];
      if (trace.spans.category[row] != trace::Category::kRuntime || !name.valid() ||
          trace.tracks[trace.spans.track[row].index].rank != timeline.rank)
        continue;
      if (const auto call = begins.find(name.index); call != begins.end())
        calls.emplace_back(trace.spans.start_ns[row], call->second);
    }
    std::sort(calls.begin(), calls.end());
    for (std::size_t i = 1; i < calls.size(); ++i)
      if (calls[i - 1].second) intervals_.emplace_back(calls[i - 1].first, calls[i].first);
  }

  bool cover(int64_t ns) const {
    const auto after = std::upper_bound(intervals_.begin(), intervals_.end(), std::pair(ns, INT64_MAX));
    return after != intervals_.begin() && ns < std::prev(after)->second;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> intervals_;  // by start; they do not overlap
};

std::map<int32_t, Tally> tally(const trace::Trace& trace, const RankTimeline& timeline) {
  std::map<int32_t, Tally> tallies;
  for (const DeviceStep& step : timeline.steps) tallies[step.step] = {};
  std::unordered_set<uint64_t> ran;
  std::vector<char> called(timeline.calls.size(), 0);
  for (const Work& work : timeline.works) {
    ran.insert(trace.spans.correlation[work.span]);
    const auto at = tallies.find(work.step);
    if (at == tallies.end()) continue;
    ++at->second.works;
    at->second.works_without_launch += work.call == kNothing;
    at->second.works_without_time += work.ns() <= 0;
    if (work.call == kNothing) continue;
    if (called[work.call] != 0 &&
        launches_one(trace.strings.text(trace.spans.name[timeline.calls[work.call].span])))
      ++at->second.works_of_one_launch;
    called[work.call] = 1;
  }
  const Captures captures(trace, timeline);
  std::vector<char> launches(trace.strings.size(), 2);  // by name; 2: not asked yet
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    const trace::StringId name = trace.spans.name[row];
    if (trace.spans.category[row] != trace::Category::kRuntime || !name.valid() ||
        trace.spans.correlation[row] == 0 || trace.tracks[trace.spans.track[row].index].rank != timeline.rank)
      continue;
    if (launches[name.index] == 2) launches[name.index] = launches_kernels(trace.strings.text(name)) ? 1 : 0;
    const auto at = tallies.find(trace.spans.step[row]);
    if (launches[name.index] == 0 || at == tallies.end()) continue;
    const bool runs = ran.contains(trace.spans.correlation[row]);
    if (!runs && captures.cover(trace.spans.start_ns[row])) continue;
    ++at->second.launches;
    at->second.launches_without_work += !runs;
  }
  return tallies;
}

// When the last thing that the rank did was over; ranges and functions enclose what is no longer there.
int64_t last_end(const trace::Trace& trace, const RankTimeline& timeline) {
  int64_t last = 0;
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    const trace::Category category = trace.spans.category[row];
    if (category != trace::Category::kStep && category != trace::Category::kRegion &&
        category != trace::Category::kFunction &&
        trace.tracks[trace.spans.track[row].index].rank == timeline.rank)
      last = std::max(last, trace.spans.start_ns[row] + trace.spans.duration_ns[row]);
  }
  return last;
}

// The part of the last step that comes after that.
double tail_share(const RankTimeline& timeline, int64_t last) {
  const DeviceStep& step = timeline.steps.back();
  const auto length = static_cast<double>(step.host_end_ns - step.host_start_ns);
  return length > 0 ? std::clamp(static_cast<double>(step.host_end_ns - last) / length, 0.0, 1.0) : 0;
}

// Whether the recording ends within the last step.
bool is_torn(const RankTimeline& timeline, std::map<int32_t, Tally>& tallies, int64_t last_ns) {
  if (tail_share(timeline, last_ns) > kMatters) return true;
  const Tally& last = tallies[timeline.steps.back().step];
  if (last.missing_works() > kMatters) return true;
  std::vector<double> others;
  for (std::size_t k = 0; k + 1 < timeline.steps.size(); ++k)
    others.push_back(tallies[timeline.steps[k].step].works);
  return last.works < kTornStep * median(others);
}

// PyTorch writes all operators of the host first, then the calls of the device's runtime thread by thread: of
// what a cut-off file lacks the operators are still there. The share of those in the steps that come after
// the last such call of their thread.
double silent_share(const trace::Trace& trace, const RankTimeline& timeline) {
  const trace::SpanTable& spans = trace.spans;
  std::vector<int64_t> last_call(trace.tracks.size(), -1);
  std::unordered_set<int32_t> steps;
  for (const DeviceStep& step : timeline.steps) steps.insert(step.step);
  for (std::size_t row = 0; row < spans.size(); ++row)
    if (spans.category[row] == trace::Category::kRuntime) {
      int64_t& last = last_call[spans.track[row].index];
      last = std::max(last, spans.start_ns[row]);
    }
  double operators = 0, silent = 0;
  for (std::size_t row = 0; row < spans.size(); ++row) {
    const uint32_t track = spans.track[row].index;
    if (spans.category[row] != trace::Category::kOperator || !steps.contains(spans.step[row]) ||
        trace.tracks[track].rank != timeline.rank || trace.tracks[track].kind != trace::TrackKind::kThread)
      continue;
    ++operators;
    silent += spans.start_ns[row] > last_call[track];
  }
  return operators > 0 ? silent / operators : 0;
}

}  // namespace

std::string Evidence::missing() const {
  if (missing_works > kMatters)
    return fmt::format("{} of the kernels that the host launched", format_percent(missing_works));
  if (missing_launches > kMatters && (missing_launches < 1 || cut_off))
    return fmt::format("the launches of {} of the device's work", format_percent(missing_launches));
  if (silent > kMatters)
    return fmt::format("the launches of {} of the host's operators", format_percent(silent));
  if (tail > kMatters) return fmt::format("the last {} of the only step", format_percent(tail));
  if (lost > kMatters) return fmt::format("{} of all records", format_percent(lost));
  if (unclear > kMatters)
    return fmt::format("the launches of {} of the device's work: its correlation ids are not unique",
                       format_percent(unclear));
  if (timeless > kTimeless)
    return fmt::format("the length of {} of the device's work: it takes no time", format_percent(timeless));
  return {};
}

bool Evidence::enough() const {
  return std::max({missing_works, silent, tail, lost, unclear}) < kTooMuch && timeless <= kTimeless;
}

Evidence weigh_evidence(const trace::Trace& trace, RankTimeline& timeline) {
  Evidence evidence;
  evidence.cut_off = trace.meta.cut_off;
  std::map<int32_t, Tally> tallies = tally(trace, timeline);
  const int64_t last = evidence.cut_off ? last_end(trace, timeline) : 0;
  while (evidence.cut_off && timeline.steps.size() > 1 && is_torn(timeline, tallies, last)) {
    for (Work& work : timeline.works)
      if (work.step == timeline.steps.back().step) work.step = trace::kNoStep;
    timeline.steps.pop_back();
    ++evidence.torn_steps;
  }
  Tally all;
  for (const DeviceStep& step : timeline.steps) all.add(tallies[step.step]);
  evidence.missing_works = all.missing_works();
  evidence.missing_launches = all.missing_launches();
  evidence.unclear = all.share(all.works_of_one_launch);
  evidence.timeless = all.share(all.works_without_time);
  if (evidence.cut_off) {
    evidence.silent = silent_share(trace, timeline);
    evidence.tail = tail_share(timeline, last);
  }
  const auto lost = static_cast<double>(trace.meta.lost + trace.meta.dropped);
  const auto held = static_cast<double>(trace.spans.size());
  evidence.lost = lost > 0 ? lost / (lost + held) : 0;
  return evidence;
}

void qualify(const Evidence& evidence, Analysis& analysis) {
  if (evidence.torn_steps > 0)
    analysis.warnings.push_back(fmt::format("{} step{} at the end left out: the recording ends within {}",
                                            evidence.torn_steps, evidence.torn_steps == 1 ? "" : "s",
                                            evidence.torn_steps == 1 ? "it" : "them"));
  const std::string missing = evidence.missing();
  if (missing.empty()) return;
  const std::string_view where = evidence.cut_off ? "the file, which ends early," : "the recording";
  if (evidence.enough()) {
    analysis.verdict.judged = false;
    analysis.verdict.sentence = fmt::format(
        "As far as {} goes: {}", evidence.cut_off ? "the file" : "the recording", analysis.verdict.sentence);
    analysis.warnings.push_back(
        fmt::format("{} lacks {}: the time in which they ran looks idle or unaccounted for; record again",
                    where, missing));
    return;
  }
  withhold_verdict(
      fmt::format("No verdict: {} lacks {}. Record again, with fewer steps if the file was too large.", where,
                  missing),
      analysis);
}

}  // namespace hone::analyze::device
