// What removing a cause would win, by replaying the recorded ranks without it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "analyze/cause.h"
#include "analyze/device/accounts.h"
#include "analyze/device/pipeline.h"
#include "analyze/device/ranks.h"
#include "analyze/device/replay/replay.h"
#include "analyze/device/rules/tables.h"
#include "analyze/device/study.h"
#include "analyze/unrecorded.h"

namespace hone::analyze::device {

class Gains {
 public:
  // `accounts` are those of the headline rank. `study` must outlive this.
  Gains(const Study& study, const Accounts& accounts);

  // In ms a step, of the program without a recorder in it.
  double of(Cause cause) const;
  double of(Rule rule) const;
  // The largest of those rules of a cause that do all turns of a loop in one call.
  double of_joined_turns(Cause cause) const;
  // What launching the step as one graph would win once a cause is removed, beyond what that wins; nothing
  // where it cannot be told.
  std::optional<double> of_graph_after(Cause cause) const;
  // What doing the host's own work while the device works would win; removing it wins of(kHostOther).
  double of_host_work_beside_device() const;
  // What removing rules of busy time would win together, and what that lies within where it is the host that holds the step
  // up after the fix: for recording may have cost that more than supposed, or less.
  struct Range {
    double ms = 0, least_ms = 0, most_ms = 0;
    bool held_by_host = false;  // the step wins less than the device, which then waits for the host
  };
  Range of_together(std::span<const Rule> rules) const;
  // What other times of works would win (by rank; negative: gone), with time of the host added before their launches, both in ns. Where
  // no launch was recorded (counters' tables, device-only traces) nothing can be replayed: then what the works themselves become
  // shorter.
  double of_works(std::vector<std::vector<double>> work_ns, std::vector<std::vector<double>> added_ns) const;
  // Time of the host that autocast adds before the launches of these products, by rank and work, in ns; empty: it cannot be told.
  std::vector<std::vector<double>> casts_ns(const std::function<bool(const WorkSplit&)>& of_products) const;
  // What the host needs to issue the step if it never waits for the device; nothing where it cannot be told.
  std::optional<double> host_ms() const { return host_ms_; }
  // The step without the recorder: as it was measured, else as it is replayed without the recorder's cost.
  double unrecorded_ms() const { return base_ms_; }
  const std::optional<MeasuredSteps>& measured() const { return measured_; }
  // The interval of what was measured; else within what it lies for most programs: hosts and programs differ in what a
  // record costs them.
  double low_unrecorded_ms() const { return low_ms_; }
  double high_unrecorded_ms() const { return high_ms_; }
  // Whether the recorder makes the step longer by so much that both have to be told.
  bool recorder_slows() const { return slows_; }
  // How far the replay is from what was recorded.
  double error() const { return replay_.error(); }
  // What removing the host's waits would win of the step as recorded, as a part of the step that users run.
  double recorded_sync_ms() const;
  const Straggler& straggler() const { return straggler_; }
  // What it is worth to take away what makes a rank late, and to share that out over the ranks; of(straggler)
  // is one of them.
  struct StragglerGain {
    double removed_ms = 0;
    double shared_ms = 0;  // 0: time of a host, which cannot be shared
  };
  StragglerGain straggler_gain() const;
  // How the ranks that take turns on a batch would share it, and what the longest of them then takes anew for
  // every micro-batch; of no micro-batches where that cannot be predicted.
  struct BubbleGain {
    Pipelining best;
    Stage longest;
    double ms = 0;
  };
  BubbleGain bubble_gain() const;
  // Whether the replay is near enough to the recording to predict anything. If not, gains are what they are
  // at most: what works would become shorter, and all of a cause's idle time.
  bool can_predict() const;
  // Whether collectives are so small that their number costs more than their bytes.
  bool small_messages() const;
  // Whether the headline rank has launches, and with them anything to replay.
  bool has_launches() const;

 private:
  void predict_unrecorded(double recorded_ms);
  void calibrate();
  Change without_recorder(Change change, double operator_gaps) const;
  double with(Change change) const;
  Change without_cause(Cause cause) const;
  static Change of_host_alone();
  std::vector<std::vector<double>> targets_of(const std::function<bool(const WorkSplit&)>& changes) const;
  std::vector<std::vector<double>> targets(Cause cause) const;
  std::vector<std::vector<double>> targets(std::span<const Rule> rules) const;
  double of_parts(Cause cause, GainModel gain) const;
  std::vector<std::vector<double>> casts_of(Cause cause) const;
  double spared_ms(
      const std::vector<std::vector<double>>& work_ns) const;  // by the device, of the headline rank

  // The loops' works, but for the first turn's: the loops of copies from the host, or all others.
  std::vector<std::vector<char>> joined_loops(bool copies) const;
  std::vector<std::vector<double>> joined_work_ns(const std::vector<std::vector<char>>& joined) const;
  std::vector<Stage> stages() const;
  double fixed_ms(std::size_t rank) const;
  double again_share(std::size_t rank) const;
  int turns(std::size_t rank) const;
  double comm_share() const;
  double without_communication(double all_ms) const;  // all_ms: were it free

  const Study& study_;
  Replay replay_;
  Straggler straggler_;
  double bubble_ms_ = 0;
  std::optional<MeasuredSteps> measured_;
  double call_ns_ = 0;      // what writing down a call costs, where that could be measured
  double replayed_ms_ = 0;  // the step without the recorder, as it is replayed
  double scale_ = 1;        // from the replay to what was measured
  double base_ms_ = 0;
  double low_ms_ = 0;
  double high_ms_ = 0;
  // The step as replayed where the recorder costs its host as much as it may, and as little.
  double lowest_ms_ = 0, highest_ms_ = 0;
  bool slows_ = false;
  std::optional<double> host_ms_;
};

}  // namespace hone::analyze::device
