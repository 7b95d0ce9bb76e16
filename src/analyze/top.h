// Operators one by one: the full table, the top K with the reason in words, and their points on the roofline.
#pragma once

#include <string>
#include <vector>

#include "analyze/findings.h"
#include "analyze/profile.h"

namespace hone::analyze {

std::vector<OperatorTime> operator_times(const trace::Trace& trace, const StepProfile& profile);

std::vector<TopOperator> top_operators(const trace::Trace& trace, const StepProfile& profile,
                                       const CostContext& context, int count);

// Operators with known FLOPs and bytes.
std::vector<RooflinePoint> roofline_points(const trace::Trace& trace, const StepProfile& profile);

// Why the operator takes the time it takes, in words with the numbers that show it.
std::string why(const trace::Operator& op, const OperatorProfile& profile, const CostContext& context);

}  // namespace hone::analyze
