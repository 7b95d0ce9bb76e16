// What an experiment on somebody else's program found, as the data that reports are made of.
#pragma once

#include <string>
#include <vector>

#include "analyze/program_report.h"
#include "core/result.h"
#include "lab/program/experiment.h"

namespace hone::lab {

// `baseline` is what the experiment's candidates came from. Errors: a file that a change would edit cannot be read.
Result<analyze::ProgramReport> describe(const ProgramExperiment& experiment, analyze::Analysis baseline,
                                        std::vector<std::string> command);

}  // namespace hone::lab
