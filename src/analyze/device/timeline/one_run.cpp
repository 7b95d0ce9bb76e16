#include "analyze/device/timeline/one_run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/statistics.h"
#include "core/units.h"
#include "trace/link/steps.h"

namespace hone::analyze::device {
namespace {

// Ranks that work together have steps of one length.
constexpr double kOtherPace = 2;
// Collectives that end on all ranks at once do so within a tenth of this, in one run; in two runs of the same
// program the ends drift apart by their steps' jitter.
constexpr double kEndsApartNs = 200'000;
constexpr double kEndsApartShare = 0.01;  // of the step
constexpr std::size_t kEnoughEnds = 3;
constexpr double kFewOdd = 0.1;  // collectives that may differ: at the ends of recordings some are missing

double step_ns(const RankTimeline& timeline) {
  std::vector<double> times;
  for (const DeviceStep& step : timeline.steps) times.push_back(step.ms() * 1e6);
  return times.empty() ? 0 : median(times);
}

// Two ranks compared; `collectives` are of these two alone.
class Pair {
 public:
  Pair(const trace::Trace& trace, std::span<const RankTimeline> two, const MessageCounts& messages_a,
       const MessageCounts& messages_b)
      : trace_(trace),
        a_(two[0]),
        b_(two[1]),
        messages_a_(messages_a),
        messages_b_(messages_b),
        collectives_(match_collectives(trace, two, false)) {}

  // Why they cannot be of one run; empty: nothing speaks against it.
  std::string doubt() const {
    for (const std::string& why : {numbers(), pace(), counts(), messages(), kinds(), ends()})
      if (!why.empty()) return why;
    return {};
  }

 private:
  // Numbers that the program gave to its steps.
  std::string numbers() const {
    if (!trace::steps_found(trace_.meta).numbered_by_program()) return {};
    for (const DeviceStep& a : a_.steps)
      for (const DeviceStep& b : b_.steps)
        if (a.step == b.step) return {};
    return fmt::format("it has the steps {} to {}, rank {} has {} to {}", b_.steps.front().step,
                       b_.steps.back().step, a_.rank, a_.steps.front().step, a_.steps.back().step);
  }

  std::string pace() const {
    const double a = step_ns(a_), b = step_ns(b_);
    if (std::max(a, b) < kOtherPace * std::min(a, b)) return {};
    return fmt::format("its steps take {}, those of rank {} {}: ranks that work together step together",
                       format_ms(b * 1e-6), a_.rank, format_ms(a * 1e-6));
  }

  // Collectives of whole groups in the steps that both have, by step; not those at the ends, which the
  // recording may have cut.
  std::map<int32_t, int> collectives_by_step(const RankTimeline& timeline) const {
    std::map<int32_t, int> found;
    for (const DeviceStep& step : timeline.steps) found[step.step] = 0;
    for (const Work& work : timeline.works)
      if (work.kind == WorkKind::kCollective && work.step != trace::kNoStep && !is_message(trace_, work)) {
        const trace::Collective* detail = trace::find_detail(trace_.collectives, work.span);
        if (detail != nullptr && detail->group_size != 0 && detail->group_size != of_all_) continue;
        if (const auto at = found.find(work.step); at != found.end()) ++at->second;
      }
    return found;
  }

  std::string counts() const {
    const std::map<int32_t, int> a = collectives_by_step(a_), b = collectives_by_step(b_);
    int same = 0, other = 0;
    std::pair<int, int> example;
    for (const auto& [step, count] : a) {
      const auto at = b.find(step);
      if (at == b.end()) continue;
      (at->second == count ? same : other)++;
      if (at->second != count) example = {count, at->second};
    }
    if (other <= same) return {};
    return fmt::format("it runs {} collectives in a step in which rank {} runs {}", example.second, a_.rank,
                       example.first);
  }

  // In the directions that both are ends of.
  std::string messages() const {
    int same = 0, other = 0;
    std::pair<int, int> example;
    for (const auto& [key, count] : messages_a_) {
      const auto at = messages_b_.find(key);
      if (at == messages_b_.end()) continue;
      (at->second == count ? same : other)++;
      if (at->second != count) example = {count, at->second};
    }
    if (other <= same) return {};
    return fmt::format("of the messages between it and rank {} it has {} a step, the latter {}", a_.rank,
                       example.second, example.first);
  }

  const trace::Collective* detail(const RankTimeline& timeline, const Arrival& at) const {
    const trace::Collective* found = trace::find_detail(trace_.collectives, timeline.works[at.work].span);
    return found != nullptr && found->name.valid() && found->elements_in > 0 ? found : nullptr;
  }

  std::string kinds() const {
    double known = 0, odd = 0;
    std::string example;
    for (const MatchedCollective& collective : collectives_.all) {
      const auto *a = detail(a_, collective.ranks[0]), *b = detail(b_, collective.ranks[1]);
      if (a == nullptr || b == nullptr) continue;
      ++known;
      const std::string_view name = trace_.strings.text(a->name);
      const bool same = a->name == b->name && a->dtype == b->dtype &&
                        (!trace::sizes_agree(a->kind) || a->elements_in == b->elements_in);
      if (same) continue;
      ++odd;
      example = fmt::format("{} of {:.0f} elements stands where rank {} has {} of {:.0f}",
                            trace_.strings.text(b->name), b->elements_in, a_.rank, name, a->elements_in);
    }
    return odd > kFewOdd * known ? fmt::format("its collectives differ: {}", example) : std::string();
  }

  std::string ends() const {
    std::vector<double> apart;
    for (const MatchedCollective& collective : collectives_.all) {
      if (!ends_at_once(trace_, a_.works[collective.ranks[0].work])) continue;
      apart.push_back(collective.ranks[0].end_ns - collective.ranks[1].end_ns);
    }
    if (apart.size() < kEnoughEnds) return {};
    const double clocks = median(apart);
    for (double& each : apart) each = std::abs(each - clocks);
    const double middle = median(apart);
    if (middle < std::max(kEndsApartNs, kEndsApartShare * step_ns(a_))) return {};
    return fmt::format(
        "its collectives end {} before or after those of rank {} (median of {}, clocks aligned), although "
        "a collective ends for all ranks at once",
        format_ms(middle * 1e-6), a_.rank, apart.size());
  }

  const trace::Trace& trace_;
  const RankTimeline &a_, &b_;
  const MessageCounts &messages_a_, &messages_b_;
  MatchedCollectives collectives_;
  uint32_t of_all_ = [this] {
    int world = 0;
    for (const trace::RankInfo& info : trace_.meta.ranks) world = std::max(world, info.world_size);
    return static_cast<uint32_t>(world);
  }();
};

// By rank: why it does not go with `reference`.
std::vector<std::string> doubts_against(const trace::Trace& trace, std::vector<RankTimeline>& timelines,
                                        const std::vector<MessageCounts>& messages, std::size_t reference) {
  std::vector<std::string> doubts(timelines.size());
  for (std::size_t other = 0; other < timelines.size(); ++other) {
    if (other == reference) continue;
    std::vector<RankTimeline> two(2);
    std::swap(two[0], timelines[reference]);
    std::swap(two[1], timelines[other]);
    doubts[other] = Pair(trace, two, messages[reference], messages[other]).doubt();
    std::swap(two[0], timelines[reference]);
    std::swap(two[1], timelines[other]);
  }
  return doubts;
}

}  // namespace

OneRun ranks_of_one_run(const trace::Trace& trace, std::vector<RankTimeline> timelines) {
  OneRun run;
  const std::vector<MessageCounts> messages = count_messages(trace, timelines);
  std::vector<std::string> fewest;
  std::size_t least = timelines.size();
  for (std::size_t reference = 0; reference < timelines.size() && 2 * least >= timelines.size();
       ++reference) {
    std::vector<std::string> doubts = doubts_against(trace, timelines, messages, reference);
    const auto strange = static_cast<std::size_t>(
        std::count_if(doubts.begin(), doubts.end(), [](const std::string& why) { return !why.empty(); }));
    if (strange >= least) continue;
    least = strange;
    fewest = std::move(doubts);
  }
  for (std::size_t rank = 0; rank < timelines.size(); ++rank) {
    if (fewest[rank].empty())
      run.timelines.push_back(std::move(timelines[rank]));
    else
      run.of_other_runs.push_back({timelines[rank].rank, std::move(fewest[rank])});
  }
  return run;
}

}  // namespace hone::analyze::device
