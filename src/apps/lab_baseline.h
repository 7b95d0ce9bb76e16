// The unchanged program under `hone profile`: where a loop on somebody else's program begins.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "analyze/findings.h"
#include "apps/command.h"
#include "apps/lab_program.h"
#include "core/result.h"
#include "lab/program/trial.h"

namespace hone::apps {

// In the folder of the loop.
inline constexpr const char* kLabBaseline = "baseline";
inline constexpr const char* kLabRuns = "runs";
inline constexpr const char* kLabFirstRun =
    "runs/000";  // what the baseline computed; those after it have numbers

struct LabBaseline {
  lab::Trial computed;  // what the program computed meanwhile, if that was seen
  std::optional<analyze::Analysis> analysis;
  std::string why_none;  // in a sentence without its end
  // What we end with where there is no analysis: as shells count, the status of the program if it ended by itself.
  int exit_status = 1;
};

// Ends the program, where it has not shown what its steps are after `limit_s`. What a program without an analysis said, it says again on our
// streams: without hone it would have. Errors: it cannot be started; the folder cannot be written.
Result<LabBaseline> observe_baseline(const LabProgramOptions& options, double limit_s, ProgressBar& bar);

}  // namespace hone::apps
