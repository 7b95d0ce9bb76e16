// The one list of what an analysis holds and of what its tables hold (table.h). Where a field is missing
// here, no form has it.
#pragma once

#include "report/description/table.h"

namespace hone::report {

// The members of explain.json in their order.
const Fields<analyze::Analysis>& analysis_fields();

// The rows of its tables (ledger_fields.cpp, operator_fields.cpp, device_fields.cpp, rank_fields.cpp).
const Fields<analyze::LedgerRow>& ledger_fields();
const Fields<analyze::ChangeGain>& change_fields();
const Fields<analyze::Finding>& finding_fields();
const Fields<analyze::TopOperator>& top_fields();
const Fields<analyze::OperatorTime>& operator_fields();
const Fields<analyze::ElsewhereOperator>& elsewhere_fields();
const Fields<analyze::KernelTime>& kernel_fields();
const Fields<analyze::CountedKernel>& counted_kernel_fields();
const Fields<analyze::HotLine>& hot_line_fields();
const Fields<analyze::SampledFigure>& sampled_figure_fields();
const Fields<analyze::SampledDevice>& sampled_device_fields();
const Fields<analyze::CounterFigure>& counter_figure_fields();
const Fields<analyze::KernelFinding>& kernel_finding_fields();
const Fields<analyze::Metric>& metric_fields();
const Fields<analyze::PhaseShare>& phase_fields();
const Fields<analyze::PathSegment>& path_fields();
const Fields<analyze::Coverage>& coverage_fields();
const Fields<analyze::LeftOutRank>& left_out_fields();
const Fields<analyze::RankSummary>& rank_fields();
const Fields<analyze::RankOperator>& rank_operator_fields();
const Fields<analyze::LateRank>& late_rank_fields();
const Fields<analyze::CollectiveSummary>& collective_fields();

}  // namespace hone::report
