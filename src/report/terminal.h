// The report for a terminal: tables that line up in 80 to 100 columns, the ledger as bars, colour where
// wanted.
#pragma once

#include <string>

#include "analyze/compare.h"
#include "analyze/findings.h"
#include "analyze/program_report.h"
#include "analyze/training/compare_training.h"

namespace hone::report {

struct TerminalStyle {
  std::size_t width = 96;
  bool colour = false;
};
// For the file behind `descriptor`: coloured on a terminal that wants it (NO_COLOR unset, TERM not "dumb"),
// as wide as the terminal within 80 to 100 columns.
TerminalStyle terminal_style(int descriptor);

// All end with a line break.
std::string lab_terminal(const analyze::LabReport& report, const TerminalStyle& style);
std::string explain_terminal(const analyze::Analysis& analysis, const TerminalStyle& style);
std::string program_terminal(const analyze::ProgramReport& report, const TerminalStyle& style);
std::string compare_terminal(const analyze::Comparison& comparison, const TerminalStyle& style);
std::string compare_training_terminal(const analyze::TrainingComparison& comparison,
                                      const TerminalStyle& style);

}  // namespace hone::report
