// A recorded rank as a program to simulate: what binds what, read off the recording. Used by replay.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analyze/device/host/host_activity.h"
#include "analyze/device/timeline/matched_collectives.h"
#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

// A work with what its start waits for besides its stream and its launch.
struct ProgramWork {
  double ns = 0;            // as recorded
  double queue_gap_ns = 0;  // after the work before it on its stream, when that is what it waits for
  double latency_ns = 0;    // after the start of its launch, when that is what it waits for
  std::array<uint32_t, 2> after = {kNothing, kNothing};  // works on other streams; a start after their ends
  std::array<double, 2> after_gap_ns = {0, 0};
  // The work before it on its stream, where no launch of that was recorded: it runs whenever this one's turn comes.
  uint32_t unlaunched = kNothing;
  uint32_t collective = kNothing;  // of a collective: which one it is, the same for all ranks
  uint32_t step = kNothing;        // index into RankTimeline::steps
};

enum class ItemKind : uint8_t { kLaunch, kWait, kHold, kStepEnd };

// Something that the host does, and the time since the thing before.
struct Item {
  ItemKind kind = ItemKind::kHold;
  std::array<double, kActivityCount> before_ns{};     // by activity
  std::array<double, kActivityCount> operators_ns{};  // of it, that in operators themselves
  std::array<double, kActivityCount> operators{};     // how many of them began in it
  double call_ns = 0;                                 // of the call itself, as far as it does not wait
  Activity activity = Activity::kIssue;               // of the call
  uint32_t call = kNothing;                           // index into RankTimeline::calls
  uint32_t waits_for = kNothing;  // the work whose end the call waits for; a launch: its own copy
  double ahead_ns = 0;            // so long before that end the call returns
  uint32_t step = 0;              // of kStepEnd
};

struct Program {
  const RankTimeline* timeline = nullptr;
  double start_ns = 0;
  double operator_gap_ns = 0;  // as in HostActivity
  std::vector<Item> items;
  std::vector<ProgramWork> works;  // as RankTimeline::works
  std::vector<uint32_t>
      preloaded;  // works launched before the first step, as far as is known: end when they did
};

// MatchedCollectives (collectives of several ranks) are numbered by the caller.
// One a rank, as the other arguments; `timelines` must outlive them.
std::vector<Program> make_programs(const trace::Trace& trace, std::span<const RankTimeline> timelines,
                                   std::span<const HostActivity> activities,
                                   const MatchedCollectives& collectives);

}  // namespace hone::analyze::device
