// Findings as JSON, schema 1: for programs. Fields are added over time; none changes its meaning.
#pragma once

#include <string>

#include "analyze/compare.h"
#include "analyze/findings.h"
#include "analyze/program_report.h"
#include "analyze/training/compare_training.h"

namespace hone::report {

std::string lab_json(const analyze::LabReport& report);           // report.json
std::string explain_json(const analyze::Analysis& analysis);      // explain.json
std::string program_json(const analyze::ProgramReport& report);   // lab.json
std::string compare_json(const analyze::Comparison& comparison);  // compare.json
std::string compare_training_json(const analyze::TrainingComparison& comparison);

}  // namespace hone::report
