// The numbers that people steer by, as a table: each with its target and its formula.
#pragma once

#include <string_view>
#include <vector>

#include "analyze/device/accounts.h"
#include "analyze/device/operators.h"
#include "analyze/device/study.h"
#include "analyze/findings.h"

namespace hone::analyze::device {

// For the headline rank; those of collectives only where there are any. What was sampled of its device (null: nothing) stands
// for what is otherwise estimated.
std::vector<Metric> device_metrics(const Study& study, const Accounts& accounts, const OperatorTables& tables,
                                   const std::vector<CollectiveSummary>& collectives,
                                   const SampledDevice* sampled = nullptr);

// The row `name` of the table ("gpu_busy_share") with a value that was measured by other means: its label, unit and
// target, for whoever else judges by them. Throws std::out_of_range where the table has no such row.
Metric judged_metric(std::string_view name, double value);

// How long works wait between the call that launches them and their start: the median, in ms. Near 0: the
// device waits for the host.
double run_ahead_ms(const RankTimeline& timeline);

}  // namespace hone::analyze::device
