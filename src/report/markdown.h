// The report as Markdown: for issues, pull requests and archives.
#pragma once

#include <string>

#include "analyze/compare.h"
#include "analyze/findings.h"

namespace hone::report {

std::string lab_markdown(const analyze::LabReport& report);
std::string explain_markdown(const analyze::Analysis& analysis);
std::string compare_markdown(const analyze::Comparison& comparison);

}  // namespace hone::report
