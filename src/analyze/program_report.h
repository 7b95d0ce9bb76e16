// What `hone lab -- COMMAND` found out about somebody else's program: the input of every form of its report. Plain data; it is
// filled by lab/program and put into words by report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/findings.h"

namespace hone::analyze {

enum class ChangeOutcome : uint8_t {
  kKept,
  kOffered,  // faster a sample, but of another training: the user's to choose
  kNoGain,
  kOtherNumbers,  // what is computed changed beyond what is allowed
  kRefused,       // by the change itself: unsafe here, or the program has it
  kFailed,        // the program ended with an error, or its steps could not be measured
  kUndecided,     // measured, but in too little time to tell
  kNotTried,      // the budget did not suffice
};

// The step without and with something, measured in turn: in runs of their own, or in blocks of steps of one run.
struct PairedSteps {
  std::vector<double> before_ms, after_ms;     // one each a pair
  Estimate speedup{1, 1, 1};                   // before ÷ after; low and high are of its interval
  bool has_interval = true;                    // false: of one pair of runs, which has none
  double least_speedup = 1, most_speedup = 1;  // of the pairs
  bool within_one_run = false;

  bool measured() const { return !before_ms.empty(); }
};

// What was computed with something, beside what the unchanged program computes.
struct ComparedNumbers {
  bool same = false;
  double difference = 0;  // relative, the largest of any step
  double allowed = 0;
  int steps = 0;         // that were compared; 0: nothing was
  std::string sentence;  // what was compared and how it stands
};

struct ProgramChange {
  std::string name;  // what programs know it by
  std::string title;
  std::string because;           // the finding that advises it; empty: none does
  double predicted_gain_ms = 0;  // of the step; 0: none was predicted
  std::string why_not_predicted;
  // Of the step that the unchanged program takes, made shorter by what was kept before. Its interval is that of `steps`.
  std::optional<Estimate> measured_gain_ms;
  ChangeOutcome outcome = ChangeOutcome::kNotTried;
  std::string why;   // the outcome, in a sentence
  std::string did;   // what the change said that it did
  std::string diff;  // what a person would write for it alone
  PairedSteps steps;
  ComparedNumbers numbers;
};

// One run of the program.
struct ProgramRun {
  std::vector<std::string> changes;   // in force from its start
  std::vector<std::string> switched;  // and those that were switched in it
  double seconds = 0, first_step_s = 0,
         ended_s = 0;  // all of it; until its first step; from the request to end to its end
  double step_ms = 0;  // 0: not measured
};

struct ProgramReport {
  std::vector<std::string> command;
  Analysis baseline;          // of the unchanged program, as `hone profile` recorded it
  std::string baseline_page;  // its own report, relative to this one's folder; empty: there is none
  Estimate step_ms;           // of the unchanged program, over all its runs
  std::optional<double>
      noise;  // standard deviation of the step from run to run, as a share; nothing: none ran twice
  std::vector<ProgramChange> changes;  // in the order in which they were tried
  PairedSteps together;                // the unchanged program against all that was kept
  ComparedNumbers numbers;
  // Losses of the first steps, one curve a run; empty: of a program that has none.
  std::vector<double> unchanged_losses, unchanged_again_losses, changed_losses;
  std::string diff;                // all that was kept, as a patch
  std::string patch_folder;        // in which its paths begin
  std::string patch_file;          // in which it is written; empty: nowhere
  std::string why_nothing;         // nothing could be tried
  std::vector<std::string> notes;  // what the reader must know: of ranks, of seeds
  int runs = 0;                    // of the program
  std::vector<ProgramRun> each_run;
  bool interrupted = false;
  double baseline_s = 0;  // that observing the unchanged program took
  double seconds = 0, budget_s = 0;
};

}  // namespace hone::analyze
