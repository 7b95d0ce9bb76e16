// The ledger as a waterfall: one row a cause, each bar beginning where the one above ended, so that the rows
// visibly add up to the step. Before and after stand in one row.
#pragma once

#include "analyze/findings.h"
#include "report/svg/chart.h"

namespace hone::report::svg {

// `after` may be null: one bar a row.
Markup waterfall(const analyze::Analysis& before, const analyze::Analysis* after, const Canvas& canvas);

}  // namespace hone::report::svg
