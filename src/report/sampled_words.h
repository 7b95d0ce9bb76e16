// Words for devices whose hardware counters were sampled over time. Every form of the report says them alike.
#pragma once

#include <string>
#include <vector>

#include "analyze/findings.h"

namespace hone::report {

// "43.1 %", "1.24 TB/s", "1.98 GHz".
std::string sampled_text(const analyze::SampledFigure& figure, double value);

// The course of a step as a line of bars, from its beginning to its end; empty where that is not known. Shares are drawn against
// 100 %, all else against its largest part.
std::string course_text(const analyze::SampledFigure& figure);

// Those that say something: links that carry nothing are left out.
std::vector<analyze::SampledFigure> told_figures(const analyze::SampledDevice& device);

// "GPU 0, sampled every 100 µs over 98 steps of 10.1 ms".
std::string sampled_heading(const analyze::SampledDevice& device);

// The devices that are shown: of the rank whose ledger is.
std::vector<analyze::SampledDevice> shown_devices(const analyze::Analysis& analysis);

}  // namespace hone::report
