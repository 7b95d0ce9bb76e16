// One run of the program with some changes made: how long a step takes, what was computed, what the changes said.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
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

struct Trial;

struct TrialOptions {
  std::filesystem::path folder;  // for this run, new
  std::vector<std::string> command;
  observe::RecorderFiles recorder;
  std::vector<int> blocked_signals;
  std::vector<std::string> changes;
  uint64_t seed = 1;
  int compared_steps = 20;  // whose losses are kept, before anything is measured
  double warm_up_s = 2, measured_s = 5, patience_s = 300;
  std::function<bool()> keep_going;
  // Asked when the compared steps are over; false: the program is ended, and nothing more is measured.
  std::function<bool(const Trial&)> worth_measuring;
  // Of `changes`: it is switched off and on between blocks of steps (python/hone_apply/switching.py) until `enough` of them are
  // seen, `seconds` after the start. Empty: none is.
  std::string switched;
  std::function<bool(const SwitchedBlocks&, double seconds)> enough;
};

struct Trial {
  std::vector<double> steps_ms;
  double step_ms = 0;  // see typical_step; 0: not measured
  std::string why_none;
  std::optional<int> exit_status;
  Computed computed;
  std::vector<AppliedChange> changes;
  int ranks = 1;          // processes that the program consists of; losses, outputs and edits are the first's
  SwitchedBlocks blocks;  // whole pairs alone
  double seconds = 0, first_step_s = 0;

  bool measured() const { return step_ms > 0; }
  // What it said last, of several ranks the one in which it was not made; nullptr: nothing.
  const AppliedChange* said(const std::string& change) const;
};

// The median over stretches of ten steps of their means: what comes every few steps is in it, one pause is not.
double typical_step(const std::vector<double>& steps_ms);

// Errors: the program cannot be started; the folder cannot be written.
Result<Trial> run_trial(const TrialOptions& options);

// What a log of python/hone_apply says (log.py); lines that are none of its are passed over.
void read_applied(const std::string& log, Trial& trial);

}  // namespace hone::lab
