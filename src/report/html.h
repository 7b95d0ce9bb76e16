// The report as one HTML file: no network, no fonts, no files beside it; light and dark; readable on a phone;
// complete without script. Page parts are in html/, charts in svg/.
#pragma once

#include <span>
#include <string>

#include "analyze/compare.h"
#include "analyze/findings.h"
#include "analyze/program_report.h"
#include "analyze/training/compare_training.h"
#include "analyze/training/training_run.h"

namespace hone::report {

std::string lab_html(const analyze::LabReport& report);
// One analysed run, without a comparison. `roofs` are those of the machine that ran it.
std::string explain_html(const analyze::Analysis& analysis, const Roofs& roofs);
std::string program_html(const analyze::ProgramReport& report);
std::string training_html(const analyze::TrainingRun& run);
std::string compare_html(const analyze::Comparison& comparison);
// `a` and `b` are what was compared: their curves are drawn.
std::string compare_training_html(const analyze::TrainingComparison& comparison,
                                  std::span<const analyze::TrainingRun> a,
                                  std::span<const analyze::TrainingRun> b);

}  // namespace hone::report
