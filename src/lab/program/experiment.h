// The loop on somebody else's program: changes that its baseline advises are made one at a time on top of what was kept, each
// timed against the program without it, and kept if steps got shorter and the numbers stayed. What can be switched between steps is
// timed in blocks of steps of one run, the rest in runs of their own taken in turn.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "lab/program/change.h"
#include "lab/program/computed.h"
#include "lab/program/paired_runs.h"
#include "lab/program/trial.h"

namespace hone::lab {

// One run of the program.
struct TrialRequest {
  std::vector<std::string> changes;
  std::vector<std::string> switched = {};  // as TrialOptions
  Direct direct = {};
  std::function<bool(const Trial&)> worth_measuring = {};
  double patience_s = 300;
  double marks_within_s = 300;  // two of its steps
  int processes = 0;            // as TrialOptions
};
using RunTrial = std::function<Result<Trial>(const TrialRequest&)>;

struct ProgramExperimentOptions {
  double budget_s = 900;
  int fewest_pairs = 3, most_pairs = 6;  // of runs, for a change that seems to win
  bool on_device = true;                 // the program uses one
  bool unasked = true;                   // look at what no finding advises, too (change.h)
  // What a run of the unchanged program has shown already: the baseline. Without losses and outputs: nothing.
  Trial observed = {};
  double baseline_s = 300;   // that it took, and in which its steps were seen
  bool convolves = true;     // it has convolutions, for all that is known
  double least_gain = 0.02;  // of the step: less is not worth a line
  // Told what is being done and how far it is; false: stop.
  std::function<bool(double fraction, const std::string& what)> progress;
};

enum class Outcome {
  kKept,
  kOffered,  // more samples a second, of another training: the user's to choose
  kNoGain,
  kOtherNumbers,  // what is computed changed beyond what is allowed
  kRefused,       // by the change itself: unsafe here, or the program has it
  kCrashed,       // the program ended with an error, or its steps could not be measured
  kUndecided,     // measured, but in too little time to tell
  kNotTried,      // the budget did not suffice
};

// Nothing of it was done: "12 s of the budget were left for it, and it needs about 32 s (--budget)".
std::string why_not_tried(double left_s, double needed_s);

struct TriedChange {
  Candidate candidate;
  Outcome outcome = Outcome::kNotTried;
  PairedRuns runs;
  Computed computed;  // in its last run
  SameNumbers numbers;
  double gain_ms = 0;  // measured, of the step that stood before it
  std::string why;     // in a sentence, for people
  std::string text;    // what the change said that it did
  std::vector<Edit> edits;
};

// One run, for who asks where the time went.
struct RunMade {
  std::vector<std::string> changes;   // in force from its start
  std::vector<std::string> switched;  // and those that were switched in it
  double seconds = 0, first_step_s = 0, ended_s = 0;
  double step_ms = 0;  // 0: not measured
};

struct ProgramExperiment {
  std::vector<double> unchanged_ms;  // the step of the unchanged program, a run each
  double noise = 0;                  // that intervals of runs are reckoned with (run_noise.h)
  std::optional<double>
      spread;  // standard deviation of the step from run to run, as a share; nothing: none ran twice
  std::vector<TriedChange> changes;
  PairedRuns together;  // the unchanged program against all that was kept
  SameNumbers numbers;
  Computed unchanged, again;  // by two runs of the unchanged program
  Computed changed;           // with all that was kept
  std::vector<RunMade> runs;  // of the program
  int ranks = 1;              // that it consists of
  std::string why_nothing;    // nothing could be tried
  int failed_with = 0;        // exit status of the unchanged program, where that is why; 0: it did not fail
  bool interrupted = false;
  double seconds = 0;
};

Result<ProgramExperiment> run_program_experiment(const std::vector<Candidate>& candidates,
                                                 const RunTrial& run_trial,
                                                 const ProgramExperimentOptions& options);

}  // namespace hone::lab
