// Which spans make up which step, and how long steps take.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/findings.h"
#include "analyze/stalls.h"
#include "trace/trace.h"

namespace hone::analyze {

// One step: the span that marks it, and the rows of the span table that belong to it (without the mark
// itself).
struct StepWindow {
  int32_t step = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  trace::TrackId track;
  std::vector<uint32_t> rows;

  double ms() const { return static_cast<double>(end_ns - start_ns) * 1e-6; }
};

// The steps of `rank` that the trace marks (spans of category kStep), in order of time. Which other spans
// belong to a step is what their `step` column says: whoever wrote the trace knew best (work on a device may
// end after the range that caused it).
std::vector<StepWindow> find_steps(const trace::Trace& trace, int rank);

// Where the steps of a program stall again and again. What begins a block of a recording is held up by the recorder.
Stalls stalls_of(const trace::Meta& meta, int rank, std::span<const StepWindow> steps);

StepTime step_time(std::span<const StepWindow> steps, const Stalls& stalls = {});

// Says in the notes which steps took much longer than the median, or that steps stall. `numbers`: of the steps of `samples_ms`.
void note_outliers(std::span<const int32_t> numbers, StepTime& time);

// The mean of the steps is told, `stalls` being those of the samples that recur.
void tell_stalls(const Stalls& stalls, StepTime& time);

// "that these are the program's steps is 60 % sure", where what they were found by is not sure enough to go without saying.
std::string doubt_in_steps(const StepTime& time);

// The steps whose time lies between the quartiles: what a typical step looks like, without the warm-up and
// the interrupted ones; where steps stall again and again, all that count. Indices into `steps`; never empty unless `steps` is.
std::vector<std::size_t> central_steps(std::span<const StepWindow> steps, const Stalls& stalls = {});

// The step whose time is nearest to the median.
std::size_t typical_step(std::span<const StepWindow> steps);

}  // namespace hone::analyze
