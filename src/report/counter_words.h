// Words for kernels under the hardware counters. Every form of the report says them alike.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/compare_counters.h"
#include "analyze/findings.h"

namespace hone::report {

std::string figure_text(const analyze::CounterFigure& figure);  // "71.5 %", "16.0 MiB", "12.5 µs"
// "512 blocks of 256 threads, 40 registers, 16 KiB of shared memory; 3 launches counted".
std::string launch_text(const analyze::CountedKernel& kernel);
// In the order in which they are shown, those that this kernel has.
std::vector<std::string_view> figure_sections(const analyze::CountedKernel& kernel);
// "kernel_faults.cu:88", or "gather + 0x1f0" where the source is not known.
std::string place_text(const analyze::HotLine& line);
// "waiting for data from global or local memory".
std::string stall_text(const analyze::HotLine& line);
// Why places stand there for lines; empty: they do not, or the kernel was not sampled.
std::string lines_note(const analyze::CountedKernel& kernel);
// "Hot lines, of 20412 samples".
std::string lines_title(const analyze::CountedKernel& kernel);
std::string kernel_gain_text(
    const analyze::KernelFinding& finding);  // "about 12.5 µs of a launch"; empty: none
// A value and its change in the second run: "×0.14", "+12.5 points"; empty where nothing can be said.
std::string figure_text(std::optional<double> value, const std::string& unit);
std::string figure_change_text(const analyze::FigureChange& row);
bool has_changed(const analyze::FigureChange& row);  // by a hundredth or more
// "646 µs → 92.0 µs, 7.02× faster; uncoalesced is gone".
std::string kernel_change_text(const analyze::KernelChange& row);
// The hottest line of each run: "hottest line: transpose.cu:17 (61 %, waiting for data from global or local memory) → …";
// empty where one of them was not sampled.
std::string hot_line_change_text(const analyze::KernelChange& row);
// How the numbers of this section came about. `once`: as CountedKernel.
std::string_view counters_note(bool once);
std::string_view counters_note(const analyze::Analysis& analysis);

// Of which plan the report of an experiment shows kernels under the counters: of the result, or of the baseline where that has
// none. It may have none either.
const analyze::Analysis& counted_side(const analyze::LabReport& report);

}  // namespace hone::report
