// The tables of an analysis as a form shows them; which columns and in which words is in analysis.h's list.
#pragma once

#include "report/description/grid.h"

namespace hone::report {

Grid ledger_grid(const analyze::Analysis& analysis, Form form);
Grid top_grid(const analyze::Analysis& analysis, Form form);
// The first `most` kernels.
Grid kernel_grid(const analyze::Analysis& analysis, Form form, std::size_t most);
// Kernels under the counters, a row each; the figures of one, and of one section of it.
Grid counted_grid(const analyze::Analysis& analysis, Form form);
Grid figure_grid(const analyze::Analysis& analysis, const analyze::CountedKernel& kernel,
                 std::string_view section, Form form);
// The hot lines of one.
Grid hot_line_grid(const analyze::Analysis& analysis, const analyze::CountedKernel& kernel, Form form);
// The counters of a device that was sampled over time.
Grid sampled_grid(const analyze::Analysis& analysis, const analyze::SampledDevice& device, Form form);
Grid metric_grid(const analyze::Analysis& analysis, Form form);
Grid phase_grid(const analyze::Analysis& analysis, Form form);
// Intervals of the critical path in the order given.
Grid path_grid(const analyze::Analysis& analysis, Form form, const std::vector<analyze::PathSegment>& rows);
Grid rank_grid(const analyze::Analysis& analysis, Form form);
// For an analysis with a late rank.
Grid late_rank_grid(const analyze::Analysis& analysis, Form form);
Grid collective_grid(const analyze::Analysis& analysis, Form form);

}  // namespace hone::report
