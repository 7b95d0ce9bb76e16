// One run of a program of which nothing is recorded: how long its steps take by its own marks, once it is warm. The program is
// ended then.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "observe/session/recorder_files.h"

namespace hone::observe {

struct TimedRunOptions {
  std::filesystem::path folder =
      {};  // is there; gets the segments with the marks, and what the program says (output.log)
  std::vector<std::string> command = {};
  RecorderFiles recorder = {};
  std::vector<std::pair<std::string, std::string>> environment = {};  // beside what the marks need
  std::vector<int> blocked_signals = {};                              // as ProgramStart
  int first_steps = 0;    // left out, at least: what is to be compared step by step lies there
  double warm_up_s = 2;   // left out, at least, from the first step on
  double measured_s = 5;  // of steps; longer until there are fewest_steps, less where they take equally long
  int fewest_steps = 12;
  double patience_s = 300;      // for all of it
  double marks_within_s = 300;  // two steps must have been marked; measured or not
  // The program times itself: it runs until this says so, and its steps are not looked at.
  std::function<bool()> enough = {};
  std::function<bool()> keep_going = {};  // false: the program is ended at once
  // Asked once the program is warm; false: it is ended, and nothing is measured.
  std::function<bool()> worth_measuring = {};
};

struct TimedRun {
  std::vector<double> steps_ms;  // measured, in order of time; empty: `why_none`
  std::string why_none;
  std::optional<int> exit_status;  // as shells count, if the program ended by itself
  double seconds = 0;              // of the whole run
  double first_step_s = 0;         // until the first step had ended
  double ended_s = 0;              // from the request to end to its end
};

inline constexpr const char* kOutputLog =
    "output.log";  // standard output and error, one after the other as they come

// Errors: the program cannot be started; the folder cannot be written.
Result<TimedRun> time_steps(const TimedRunOptions& options);

}  // namespace hone::observe
