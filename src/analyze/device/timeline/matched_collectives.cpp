#include "analyze/device/timeline/matched_collectives.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "trace/span_nesting.h"

namespace hone::analyze::device {
namespace {

using Key = std::tuple<uint32_t, int32_t, int>;  // group, step, ordinal

// A send and the receive that belongs to it, by the range that the framework puts around both: "nccl:send
// 0->1", "nccl:recv 1<-0". Both ends count the messages of one direction in the same order.
class Channels {
 public:
  explicit Channels(const trace::Trace& trace) : trace_(trace) {}

  // A number that no process group has; kNothing for collectives of a whole group.
  uint32_t of(const RankTimeline& timeline, const Work& work) {
    const HostCall* call = timeline.launch_of(work);
    if (call == nullptr || !is_message(trace_, work)) return kNothing;
    if (!nesting_) {
      nesting_.emplace(trace_);
      known_.assign(trace_.spans.size(), std::nullopt);
    }
    uint32_t channel = kNothing;
    path_.clear();
    for (uint32_t row = call->span; row != trace::kNoSpan && channel == kNothing;
         row = nesting_->parent(row)) {
      if (known_[row]) {
        channel = *known_[row];
        break;
      }
      path_.push_back(row);
      channel = named(row);
    }
    for (const uint32_t row : path_) known_[row] = channel;
    return channel;
  }

 private:
  uint32_t named(uint32_t row) const {
    const auto ends = trace::message_ends(trace_.strings.text(trace_.spans.name[row]));
    return ends ? number(ends->from, ends->to) : kNothing;
  }

  static uint32_t number(int from, int to) {
    return 0x80000000u | (static_cast<uint32_t>(from) & 0x7fffu) << 16 |
           (static_cast<uint32_t>(to) & 0xffffu);
  }

  const trace::Trace& trace_;
  std::optional<trace::SpanNesting> nesting_;  // only where something is sent
  // By row: the channel that it or a span around it names, so that all questions together visit each once.
  std::vector<std::optional<uint32_t>> known_;
  std::vector<uint32_t> path_;  // rows that the last question passed
};

// Numbers for process groups: those of different members may have one name on different ranks.
class Groups {
 public:
  explicit Groups(const trace::Trace& trace) : trace_(trace) {}

  uint32_t of(int rank, trace::StringId name) {
    if (!name.valid()) return kNothing;
    const auto [known, is_new] = numbers_.try_emplace({rank, name.index}, 0);
    if (is_new)
      known->second = static_cast<uint32_t>(
          members_.try_emplace({name.index, members_of(rank, name)}, members_.size()).first->second);
    return known->second;
  }

 private:
  std::vector<int> members_of(int rank, trace::StringId name) const {
    for (const trace::RankInfo& info : trace_.meta.ranks) {
      if (info.rank != rank) continue;
      for (const trace::ProcessGroup& group : info.groups)
        if (group.name == trace_.strings.text(name)) return group.ranks;
    }
    return {};
  }

  const trace::Trace& trace_;
  std::map<std::pair<int, uint32_t>, uint32_t> numbers_;                  // by rank and name
  std::map<std::pair<uint32_t, std::vector<int>>, std::size_t> members_;  // by name and members
};

std::map<Key, std::vector<Arrival>> gather(const trace::Trace& trace, std::span<const RankTimeline> timelines,
                                           bool messages) {
  std::map<Key, std::vector<Arrival>> found;
  Channels channels(trace);
  Groups groups(trace);
  for (uint32_t rank = 0; rank < timelines.size(); ++rank) {
    std::map<std::pair<uint32_t, int32_t>, int> ordinals;
    for (uint32_t work : timelines[rank].launched) {
      const Work& collective = timelines[rank].works[work];
      if (collective.kind != WorkKind::kCollective || collective.step == trace::kNoStep) continue;
      if (!messages && is_message(trace, collective)) continue;
      const trace::Collective* detail = trace::find_detail(trace.collectives, collective.span);
      const uint32_t channel = channels.of(timelines[rank], collective);
      const uint32_t group = channel != kNothing ? channel
                             : detail == nullptr ? kNothing
                                                 : groups.of(timelines[rank].rank, detail->group);
      const int ordinal = ordinals[{group, collective.step}]++;
      found[{group, collective.step, ordinal}].push_back(
          {rank, work, static_cast<double>(collective.start_ns), static_cast<double>(collective.end_ns)});
    }
  }
  std::erase_if(found, [](const auto& entry) { return entry.second.size() < 2; });
  return found;
}

}  // namespace

std::vector<MessageCounts> count_messages(const trace::Trace& trace,
                                          std::span<const RankTimeline> timelines) {
  std::vector<MessageCounts> all;
  Channels channels(trace);
  for (const RankTimeline& timeline : timelines) {
    MessageCounts& counts = all.emplace_back();
    for (uint32_t i : timeline.launched) {
      const Work& work = timeline.works[i];
      if (work.kind != WorkKind::kCollective || work.step == trace::kNoStep) continue;
      if (const uint32_t channel = channels.of(timeline, work); channel != kNothing)
        ++counts[{channel, work.step}];
    }
  }
  return all;
}

bool ends_at_once(const trace::Trace& trace, const Work& work) {
  return trace::ends_at_once(trace.kernel(work.span).collective);
}

bool is_message(const trace::Trace& trace, const Work& work) {
  return trace.kernel(work.span).collective == trace::CollectiveKind::kMessage;
}

MatchedCollectives match_collectives(const trace::Trace& trace, std::span<const RankTimeline> timelines,
                                     bool messages) {
  MatchedCollectives collectives;
  for (const RankTimeline& timeline : timelines) collectives.of.emplace_back(timeline.works.size(), kNothing);
  std::map<Key, std::vector<Arrival>> found = gather(trace, timelines, messages);
  for (auto& [key, arrivals] : found) {
    MatchedCollective collective;
    for (const Arrival& arrival : arrivals)
      collectives.of[arrival.rank][arrival.work] = static_cast<uint32_t>(collectives.all.size());
    auto by_start = [](const Arrival& a, const Arrival& b) { return a.start_ns < b.start_ns; };
    auto by_end = [](const Arrival& a, const Arrival& b) { return a.end_ns < b.end_ns; };
    const auto [first, last] = std::minmax_element(arrivals.begin(), arrivals.end(), by_start);
    collective.first_ns = first->start_ns;
    collective.last_ns = last->start_ns;
    collective.end_ns = std::max_element(arrivals.begin(), arrivals.end(), by_end)->end_ns;
    collective.ranks = std::move(arrivals);
    collectives.all.push_back(std::move(collective));
  }
  return collectives;
}

bool is_point_to_point(const trace::Trace& trace, const Work& work) {
  const trace::Collective* detail = trace::find_detail(trace.collectives, work.span);
  const bool named = detail != nullptr && detail->name.valid();
  return (named ? detail->kind : trace.kernel(work.span).collective) == trace::CollectiveKind::kMessage;
}

}  // namespace hone::analyze::device
