// Which part of the time belongs to which step, and how that was found: by marks of the profiler
// (ProfilerStep ranges), by marks that the recorder noted once a step, by a range of the program that repeats (NVTX,
// record_function), or by the repeating sequence of work; never by gaps in time, which are not steps.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/link/launches.h"
#include "trace/link/recorded_steps.h"
#include "trace/link/roles.h"
#include "trace/trace.h"

namespace hone::trace {

inline constexpr std::string_view kProfilerSteps = "ProfilerStep ranges";
// Marked with their numbers in the recording itself, as StepTraceAnnotation of JAX does.
inline constexpr std::string_view kMarkedSteps = "steps that the program marked";

// How the steps of a linked trace were found.
struct StepsFound {
  std::string how;                 // kProfilerSteps, "ranges named 'train_step'", …
  double confidence = 0;           // 0 to 1; 1: marked
  std::vector<std::string> notes;  // what to know before trusting them

  // Whether the program gave its steps their numbers.
  bool numbered_by_program() const { return how == kProfilerSteps || how == kMarkedSteps; }

  friend bool operator==(const StepsFound&, const StepsFound&) = default;
};

// As link_trace wrote it into Meta::notes. Empty `how` in a trace that was not linked.
StepsFound steps_found(const Meta& meta);

namespace link {

struct MarkedRanks {
  bool numbered_by_hone = false;  // each rank from its own beginning
  // Of each rank whose recorder took turns: all steps in recorded blocks, of which some are shown.
  std::map<int, std::vector<StepInterval>> recorded = {};
};

// Marks the steps of every rank with kStep spans, unless some span already is one, and notes in Meta::notes how. Fills
// in Meta::block_steps.
MarkedRanks mark_steps(Trace& trace, const SpanNesting& nesting, std::span<const DeviceWork> work,
                       const std::vector<Role>& roles);

// Adds something to know before trusting them.
void note_on_steps(Trace& trace, std::string text);

// Fills Span::step, where it is not set: of host spans by the step within which they begin, of device work by
// the step that launched it; where the launch was not recorded, by the work before it on its stream.
void assign_steps(Trace& trace, std::span<const DeviceWork> work);

// Names of ranges without what makes each occurrence unique: "batch 17" → "batch #".
std::string without_numbers(std::string_view name);

}  // namespace link
}  // namespace hone::trace
