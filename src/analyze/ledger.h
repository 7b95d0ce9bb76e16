// The ledger of a step, the findings that follow from it, and the verdict.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyze/findings.h"
#include "analyze/host_lines.h"
#include "analyze/profile.h"

namespace hone::analyze {

// One row a cause that takes time, in the order of Cause. The rows add up to the profile's step: they are a
// partition of its parts. Evidence, fix and gain come from the rules. `lines` has what the host was at by cause, while no
// operator ran; `loading` what is known of its input.
std::vector<LedgerRow> make_ledger(const trace::Trace& trace, const StepProfile& profile, Subject subject,
                                   const LinesByCause& lines,
                                   const std::optional<Loading>& loading = std::nullopt);

// The rows that their rules find worth saying, largest gain first.
std::vector<Finding> make_findings(std::span<const LedgerRow> ledger, Subject subject = Subject::kPlan);

// The cause with the largest recoverable time; healthy when none exceeds kHealthyShare of the step.
Verdict make_verdict(std::span<const LedgerRow> ledger, double step_ms);

}  // namespace hone::analyze
