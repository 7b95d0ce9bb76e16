// What is said of a foreign program that runs on the host alone, or of which only the host was recorded:
// what is known is its operators' time; whether they could be faster takes roofs, which its trace has not.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyze/findings.h"
#include "analyze/profile.h"

namespace hone::analyze {

// Whether the program gave work to a device of which nothing was recorded. Its step can then not be judged:
// what the host waits for is not in the trace.
bool device_is_missing(const trace::Trace& trace);
// Whether the file was cut off before the first call to the device that its head names.
bool ends_before_device(const trace::Trace& trace);

Verdict host_program_verdict(const Analysis& analysis, bool device_missing);
// What was not recorded or is not known, and what to do about it.
std::vector<std::string> host_program_warnings(const trace::Trace& trace, const StepProfile& profile);

// The operators' time by phase of the program, longest first.
std::vector<PhaseShare> host_phases(const trace::Trace& trace, const StepProfile& profile);

}  // namespace hone::analyze
