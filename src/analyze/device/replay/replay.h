// A small simulation of a recorded program: the host's calls in order with the time between them, the works
// they launch in the order of their streams, waits, and collectives that begin when the last rank has
// arrived. Run unchanged it gives the recorded step again; run without a cause it predicts what removing the
// cause is worth. What hides behind what is the point: of two things that overlap, removing one wins nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analyze/device/host/host_activity.h"
#include "analyze/device/replay/replay_program.h"
#include "analyze/device/timeline/matched_collectives.h"
#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

// What recording cost, to be taken away again: programs that issue many operators run slower while recorded.
struct Recorder {
  double operator_share = 1;  // of the host's time in operators themselves, what is the program's own
  double most_ns = 0;         // of an operator's time, what one record costs at most; 0: as recorded
  double gaps = 0;            // what entering and leaving an operator costs, in HostActivity::operator_gap_ns
  double most_share = 1;      // of any time of the host, what is the recorder's at most
  double call_ns = 0;         // what writing down one call into the device's runtime costs
};

// What is different from the recording.
struct Change {
  Recorder recorder;
  std::array<bool, kActivityCount> without{};  // host time of these activities, and waits, is gone
  bool launches_free = false;                  // the step is one launch, as a CUDA graph is
  bool copies_ahead = false;                   // copies from the host neither block it nor delay the device
  bool collectives_free = false;               // collectives take no time of the device or of the host
  int without_on = -1;                         // only on this rank (index); -1: on all
  bool ranks_level = false;                    // no rank waits for another
  // What launching one work takes the host at most, because more is waiting for room in a queue of the device
  // that is less full then; 0: as recorded.
  double most_launch_ns = 0;
  // No work takes time, and no rank waits for another: what the host needs to issue the step. Then the time
  // begins with its own, however far the device was behind.
  bool host_alone = false;
  // By rank and work, where not empty: the work's time in ns; negative: it is not launched, and neither its
  // launch nor the host's time before it exist.
  std::vector<std::vector<double>> work_ns;
  // By rank and work, where not empty: time of the host that is added before its launch, in ns.
  std::vector<std::vector<double>> added_ns;
  // By rank and work, where not empty: launched together with the work before it, so that neither its launch
  // nor the host's time before it exist.
  std::vector<std::vector<char>> joined;
};

class Replay {
 public:
  // One a rank, whose collectives are in `collectives`. `programs` must outlive this.
  Replay(std::span<const Program> programs, const MatchedCollectives& collectives);

  // The time of the step that is told (RankTimeline::average_step_ms); over ranks the mean.
  double step_ms(const Change& change = {}) const;
  // The same of each rank.
  std::vector<double> rank_steps_ms(const Change& change) const;
  // The same quantity read off the recording.
  double recorded_ms() const { return recorded_ms_; }
  // How far the replay is from the recording, as a fraction of it.
  double error() const;

 private:
  std::span<const Program> programs_;
  std::vector<double> transfer_ns_;  // by collective
  std::vector<int> expected_;        // ranks by collective
  double recorded_ms_ = 0;
  double unchanged_ms_ = 0;
};

}  // namespace hone::analyze::device
