// One run of the program in which one change after another is switched off and on between blocks of steps: a start of the program
// for all of them. What is faster stays in force for those after it. What it computes is not compared here, as the run has
// gone on for long by then.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/program/acceptance.h"
#include "lab/program/experiment.h"

namespace hone::lab {

struct SwitchingOptions {
  double least_gain = 0.02;
  bool on_device = true;
  double patience_s = 300;                      // until orders are carried out
  std::function<double(bool any_kept)> left_s;  // for what is tried here
  std::function<bool(const std::string& what)> goes_on;
};

class SwitchingSession {
 public:
  // `queue`: what to try, in this order; `kept`: what is in force from the start. All of `queue` can be switched.
  SwitchingSession(std::vector<Candidate> queue, std::vector<std::string> kept, const Acceptance& acceptance,
                   SwitchingOptions options);

  // Names of all that may be ordered.
  std::vector<std::string> switched() const;
  std::optional<SwitchOrder> direct(const Trial& so_far, double seconds);
  // The run has ended: the change that was being tried then is judged by what is there.
  void finish(const Trial& done);

  const std::vector<TriedChange>& tried() const { return tried_; }
  const std::vector<std::string>& kept() const { return kept_; }
  const std::vector<Candidate>& left() const { return left_; }  // of which nothing can be said

 private:
  bool settle(const Trial& so_far, double seconds);
  bool next(const Trial& so_far, double seconds);
  void judge(const PairedRuns& runs);
  void conclude();
  void try_instead(const Candidate& candidate);
  bool was_tried(const Change& change) const;
  bool may_follow(const Change& change) const;
  double expected_s(const Change& change) const;
  bool has_time_for(const Candidate& candidate) const;

  std::deque<Candidate> queue_;
  std::vector<std::string> kept_;
  const Acceptance& acceptance_;
  SwitchingOptions options_;
  std::vector<TriedChange> tried_;
  std::vector<Candidate> left_;
  std::optional<TriedChange> current_;
  SwitchOrder order_;
  double began_s_ = 0, limit_s_ = 0;
  std::vector<double> took_s_;  // orders that were decided
  bool interrupted_ = false;
};

// Whether a change can be switched beside what has been kept: what is compiled would be compiled again.
bool can_be_switched(const Change& change, const std::vector<std::string>& kept);
// Seconds of a run that it takes, as far as is known before any was switched.
double expected_switching_s(const Change& change);
bool group_is_taken(const Change& change, const std::vector<std::string>& kept);

}  // namespace hone::lab
