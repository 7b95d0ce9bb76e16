// Which collectives of different ranks are the same one. Starts tell who was late, once the ranks' clocks are
// brought together (clocks.h).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

struct Arrival {
  uint32_t rank = 0;  // index into the timelines
  uint32_t work = 0;
  double start_ns = 0;
  double end_ns = 0;
};

struct MatchedCollective {
  std::vector<Arrival> ranks;  // two or more
  double first_ns = 0;         // arrivals
  double last_ns = 0;
  double end_ns = 0;

  // From the last arrival to the end: what the collective itself took.
  double transfer_ns() const { return end_ns > last_ns ? end_ns - last_ns : 0; }
};

struct MatchedCollectives {
  std::vector<MatchedCollective> all;
  std::vector<std::vector<uint32_t>> of;  // by rank and work: index into `all`; kNothing: none

  const MatchedCollective* find(uint32_t rank, uint32_t work) const {
    return of[rank][work] == kNothing ? nullptr : &all[of[rank][work]];
  }
};

// Collectives match by process group, step and place in the step's order of launches. Groups are the same if
// they have one name and, where the files say that, the same members.
// `messages`: sends and receives, too.
MatchedCollectives match_collectives(const trace::Trace& trace, std::span<const RankTimeline> timelines,
                                     bool messages = true);
// Messages of a rank by direction (a number of two ranks) and step. What one end counts the other counts,
// too.
using MessageCounts = std::map<std::pair<uint32_t, int32_t>, int>;
std::vector<MessageCounts> count_messages(const trace::Trace& trace, std::span<const RankTimeline> timelines);
// Whether all ranks leave a collective together, by its kernel: of a broadcast or a reduction to one rank
// some are done earlier.
bool ends_at_once(const trace::Trace& trace, const Work& work);
// A send or a receive.
bool is_message(const trace::Trace& trace, const Work& work);

// Whether a collective is a send or a receive, as between stages of a pipeline.
bool is_point_to_point(const trace::Trace& trace, const Work& work);

}  // namespace hone::analyze::device
