// The report's files beside a run: report.html, report.md, report.json (or explain.*), each whole or not at
// all.
#pragma once

#include <filesystem>
#include <span>

#include "analyze/compare.h"
#include "analyze/findings.h"
#include "analyze/program_report.h"
#include "analyze/training/compare_training.h"
#include "analyze/training/training_run.h"
#include "core/result.h"

namespace hone::report {

// Creates the folder if need be; returns the path of the HTML file, which is what a user opens.
Result<std::filesystem::path> write_lab_report(const std::filesystem::path& folder,
                                               const analyze::LabReport& report);
Result<std::filesystem::path> write_explanation(const std::filesystem::path& folder,
                                                const analyze::Analysis& analysis, const Roofs& roofs);
constexpr const char* kPatchFile = "changes.diff";  // of a program's report

// lab.json, report.html, and kPatchFile where there is something to write.
Result<std::filesystem::path> write_program_report(const std::filesystem::path& folder,
                                                   const analyze::ProgramReport& report);
// report.html.
Result<std::filesystem::path> write_training_report(const std::filesystem::path& folder,
                                                    const analyze::TrainingRun& run);
// compare.json, compare.md, compare.html.
Result<std::filesystem::path> write_comparison(const std::filesystem::path& folder,
                                               const analyze::Comparison& comparison);
// compare.json, compare.html.
Result<std::filesystem::path> write_training_comparison(const std::filesystem::path& folder,
                                                        const analyze::TrainingComparison& comparison,
                                                        std::span<const analyze::TrainingRun> a,
                                                        std::span<const analyze::TrainingRun> b);

}  // namespace hone::report
