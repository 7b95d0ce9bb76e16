// One run of the program with some changes made: how long a step takes, what was computed, what the changes said.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "lab/program/computed.h"
#include "lab/program/edits.h"
#include "observe/session/recorder_files.h"

namespace hone::lab {

// What a change said of itself in one run.
struct AppliedChange {
  enum class Status { kApplied, kRefused, kFailed };
  std::string name;
  Status status = Status::kApplied;
  std::string text;
  std::optional<Edit> edit;  // what a person would write
  int rank = 0;              // of the process that said it
  bool draws = false;        // it draws random numbers in another order
};

// The step in blocks of one run, with a change and without it; a pair each, next to each other in time.
struct SwitchedBlocks {
  std::vector<double> without_ms, with_ms;
};

// What a run that switches is to do from now on: blocks with a change and without it, while others are in force in both.
struct SwitchOrder {
  int number = 0;  // from 1, another one for each order; 0: nothing yet
  std::string tried;
  std::vector<std::string> in_force;
};

struct Trial;
// Asked again and again: the order that holds now, `seconds` after the start; nothing: the run is ended.
using Direct = std::function<std::optional<SwitchOrder>(const Trial& so_far, double seconds)>;

struct TrialOptions {
  std::filesystem::path folder;  // for this run, new
  std::vector<std::string> command;
  observe::RecorderFiles recorder;
  std::vector<int> blocked_signals;
  std::vector<std::string> changes;
  int processes = 0;  // that the change `workers` gives data loaders; 0: as many as it thinks fit
  uint64_t seed = 1;
  double expected_step_ms = 0;  // 0: not known
  // After how many steps the program begins another epoch, which it waits for; 0: not known, or it does not.
  int epoch_steps = 0;
  double warm_up_s = 1.5, measured_s = 4, patience_s = 300;
  double marks_within_s = 300;  // as observe::TimedRunOptions
  std::function<bool()> keep_going;
  // Asked when the compared steps are over; false: the program is ended, and nothing more is measured.
  std::function<bool(const Trial&)> worth_measuring;
  // Beside `changes`: made ready and not in force, to be switched off and on between blocks of steps
  // (python/hone_apply/switching.py) as `direct` orders. Empty: none is.
  std::vector<std::string> switched;
  Direct direct;
};

// How many steps a run takes for what it takes them for: fewer where they are long.
struct StepCounts {
  int compared = 20;  // whose losses are kept, before anything is measured
  int timed = 12;     // at least
  int block = 4;      // in a block, at least, after as many as
  int settle = 2;     // are left out
};
StepCounts step_counts(double expected_step_ms);

struct Trial {
  std::vector<double> steps_ms;
  double step_ms = 0;  // see typical_step; 0: not measured
  std::string why_none;
  std::optional<int> exit_status;
  Computed computed;
  std::vector<AppliedChange> changes;
  int ranks = 1;  // processes that the program consists of; losses, outputs and edits are the first's
  bool carries_out_orders = false;       // it has come so far
  std::map<int, SwitchedBlocks> blocks;  // by order; whole pairs alone
  double seconds = 0, first_step_s = 0,
         ended_s = 0;  // of the whole run; until its first step; from the request to end to its end

  bool measured() const { return step_ms > 0; }
  // What it said last, of several ranks the one in which it was not made; nullptr: nothing.
  const AppliedChange* said(const std::string& change) const;
};

// The median over stretches of ten steps of their means: what comes every few steps is in it, one pause is not. Where epochs are known,
// stretches are whole ones, as long as there are three.
double typical_step(const std::vector<double>& steps_ms, int epoch_steps = 0);

// Errors: the program cannot be started; the folder cannot be written.
Result<Trial> run_trial(const TrialOptions& options);

// Of a run that others make, with what this returns in its environment: what it computes is kept in `folder`, and nothing is changed.
Result<std::vector<std::pair<std::string, std::string>>> watch_what_is_computed(
    const std::filesystem::path& folder, uint64_t seed);
Trial what_was_computed(const std::filesystem::path& folder);

// What a log of python/hone_apply says (log.py); lines that are none of its are passed over.
void read_applied(const std::string& log, Trial& trial);

}  // namespace hone::lab
