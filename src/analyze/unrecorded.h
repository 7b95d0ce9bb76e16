// The step as it is when nobody records it, measured: before a recorder that takes turns recorded anything.
#pragma once

#include <optional>
#include <string>

#include "analyze/estimate.h"
#include "analyze/stalls.h"
#include "trace/trace.h"

namespace hone::analyze {

// In ms a step, on the host; estimates are over the means of blocks, or of parts of a long one.
struct MeasuredSteps {
  Estimate unrecorded;
  Estimate recorded;            // of the blocks whose steps are shown
  Shift cost;                   // how much longer the recorded steps are
  int parts = 0;                // that `unrecorded` is over
  bool with_operators = false;  // that is how the recorded steps were recorded
  // The program gave no marks before anything was recorded, so that the steps were measured in later blocks in which
  // nothing was: what the recorder leaves behind is in them.
  bool attached = false;
  // How much longer steps are that were left alone later than those before anything was recorded: what an attached
  // recorder costs, and how the program drifted. Nothing: one of them is not known.
  std::optional<Shift> left_behind = {};
};

// Of one rank. Nothing: fewer than two parts were left alone, or none was recorded. Where steps stall again and again, of which
// a part of a few steps has one or none: what its other steps take, and what stalls cost a step of the recording, for waiting takes
// as long with a recorder as without.
std::optional<MeasuredSteps> measured_steps(const trace::Meta& meta, int rank, const Stalls& stalls = {});

// From here on steps that nobody recorded take longer than recorded ones, and not by chance.
inline constexpr double kLongerAlone = 1.1;
// What there is to say where steps that nobody recorded took longer than recorded ones of `recorded_ms`; else empty.
std::string longer_alone(const MeasuredSteps& measured, double recorded_ms);

// Puts that into the step, whose recorded time must be there, with what to know before trusting it.
void tell_measured(const MeasuredSteps& measured, StepTime& step);

}  // namespace hone::analyze
