// Words for what only traces of devices have: metrics and their targets, coverage, how steps were found.
// Every form of the report says them alike.
#pragma once

#include <string>
#include <vector>

#include "analyze/advice.h"
#include "analyze/findings.h"

namespace hone::report {

std::string metric_value(const analyze::Metric& metric);  // "71.5 %", "0.30 ms", "1,204 a step"
std::string_view metric_mark(
    const analyze::Metric& metric);  // "reached", "missed", "doubtful"; empty: no target
std::string metric_target(const analyze::Metric& metric);  // "≥ 90 %"; empty: none
// How it is computed, after why it is doubtful, where it is.
std::string metric_detail(const analyze::Metric& metric);

// "matrix product, cuBLAS, bf16 on tensor cores; launched by aten::mm and 2 more", with that many columns of
// the operator's name.
std::string kernel_detail(const analyze::KernelTime& row, std::size_t name_columns);

// "99.6 % of the device's time is linked to the operator that launched it, …"
std::string coverage_sentence(const analyze::Coverage& coverage);

// "29.5 ms to 30.4 ms over 9 steps", "1 step".
std::string range_text(const analyze::StepTime& step);

// "72.4 % of roof", "above its roof"; empty: unknown.
std::string link_share(const analyze::CollectiveSummary& row);

// "Device time by phase: forward 9.1 ms (31 %), backward 18.0 ms (60 %)"; empty: unknown.
std::string phases_text(const analyze::Analysis& analysis);

// What to do about the verdict's cause, and what that wins where it is less than the verdict speaks of; empty
// where nothing is to be done.
std::string advice_text(const analyze::Advice& advice, double step_ms);
std::string first_fix(const analyze::Analysis& analysis);
// The first clause of that as a headline, with what it wins; empty where nothing is to be done. Fixes begin with
// what to do, so that their first clause, to a colon or semicolon outside brackets, is an action.
std::string headline_action(const analyze::Analysis& analysis);

// How gains go together; empty where there are not several.
std::string gains_note(const analyze::Analysis& analysis);

// "9 steps of 29.8 ms (29.5 ms to 30.4 ms), found by ProfilerStep ranges"; where the step without the recorder was
// measured, a second sentence about that.
std::string steps_sentence(const analyze::StepTime& step);

// "3", "0, device 1": a line of the ranks.
std::string rank_text(const analyze::RankSummary& row);
// How late a rank comes to the collective where it is latest, and how late to most of them; "–" without any.
std::string latest_text(const analyze::RankSummary& row, double step_ms);
std::string usually_late_text(const analyze::RankSummary& row);
bool has_lateness(const analyze::Analysis& analysis);
// What the columns of lateness mean.
std::string_view lateness_note();

// Findings are advice where there is a verdict.
std::string_view findings_heading(const analyze::Analysis& analysis);
// "about 7.10 ms, 24 % of the step", "… of the step without the recorder"; empty where the gain would read as
// nothing.
std::string gain_sentence(const analyze::Finding& row, const analyze::Analysis& analysis);
// The step that predicted gains are a part of: as it is without the recorder, where that slows it so
// much that the report says so; else the one that every other share is of.
double gained_from_ms(const analyze::Analysis& analysis);

}  // namespace hone::report
